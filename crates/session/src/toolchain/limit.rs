//! How long a compiler may take.

use std::ffi::OsString;

use warplens_base::error::{Error, Result};

/// Seconds that a compiler may take where nothing else is said.
const USUAL_SECONDS: u64 = 300;

/// A limit on the time of one run of a compiler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TimeLimit {
    /// As the user wrote it; read where a compiler is run, so that it is no matter where none is.
    text: Option<OsString>,
}

impl TimeLimit {
    /// The environment variable that sets it.
    pub const VARIABLE: &'static str = "WARPLENS_COMPILER_SECONDS";

    /// What the environment says.
    pub fn from_environment() -> Self {
        Self { text: std::env::var_os(Self::VARIABLE) }
    }

    /// This many seconds.
    pub fn of_seconds(seconds: u64) -> Self {
        Self { text: Some(seconds.to_string().into()) }
    }

    pub(super) fn seconds(&self) -> Result<u64> {
        let Some(text) = &self.text else { return Ok(USUAL_SECONDS) };
        let seconds =
            text.to_str().and_then(|text| text.trim().parse().ok()).filter(|seconds| (1..=86_400).contains(seconds));
        seconds.ok_or_else(|| {
            let text = text.to_string_lossy();
            Error::usage(format!("{}={text}: a compiler's seconds are a whole number from 1 to 86400", Self::VARIABLE))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_seconds() {
        assert_eq!(TimeLimit::default().seconds().ok(), Some(USUAL_SECONDS));
        assert_eq!(TimeLimit::of_seconds(7).seconds().ok(), Some(7));
        for text in ["", "0", "-1", "1.5", "soon", "86401"] {
            let error = TimeLimit { text: Some(text.into()) }.seconds().unwrap_err();
            assert!(error.message.starts_with(&format!("WARPLENS_COMPILER_SECONDS={text}: ")), "{}", error.message);
        }
    }
}
