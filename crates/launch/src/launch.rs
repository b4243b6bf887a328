//! One launch as users write it, on the command line or in a file.

use warplens_base::error::{Error, ErrorKind, Result};

use crate::scanner;
use crate::shape::Extents;
use crate::value::{Argument, Value};

/// One launch as users write it; what is not said is `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: Option<String>,
    /// CTAs.
    pub grid: Option<Extents>,
    /// Threads per CTA.
    pub block: Option<Extents>,
    /// CTAs per cluster.
    pub cluster: Option<Extents>,
    /// Bytes of dynamic shared memory per CTA.
    pub shared: Option<u64>,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Arguments in the order in which they were written.
    pub arguments: Vec<LaunchArgument>,
    /// Arguments put over those, parameter by parameter.
    pub overrides: Vec<LaunchArgument>,
    /// Contents of variables.
    pub symbols: Vec<LaunchSymbol>,
}

/// An argument with the text that it was read from.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchArgument {
    /// What messages call it: `argument 2`.
    pub place: String,
    /// As written.
    pub text: String,
    /// As read.
    pub argument: Argument,
}

/// The content of a variable with the text that it was read from.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchSymbol {
    /// What messages call it.
    pub place: String,
    /// As written.
    pub text: String,
    /// Name of the variable.
    pub name: String,
    /// Its content.
    pub value: Value,
}

impl LaunchArgument {
    /// Reads the text of an argument; `place` is what messages call it.
    pub fn parse(place: &str, text: &str) -> Result<Self> {
        let argument = Argument::parse(text).map_err(|error| value_error(place, text, error))?;
        Ok(Self { place: place.to_owned(), text: text.to_owned(), argument })
    }
}

impl Launch {
    /// The launch with buffers of the same sizes that hold zeros, for those to whom contents do not matter. A buffer
    /// whose content says its size keeps it.
    pub fn without_contents(&self) -> Self {
        let mut launch = self.clone();
        for argument in launch.arguments.iter_mut().chain(&mut launch.overrides) {
            argument.argument.value.clear();
        }
        launch
    }

    /// Adds an argument from the command line.
    pub fn add_argument(&mut self, text: &str) -> Result<()> {
        let place = format!("--arg {}", self.arguments.len());
        self.arguments.push(LaunchArgument::parse(&place, text)?);
        Ok(())
    }

    /// Adds the content of a variable; `place` is what messages call it.
    pub fn add_symbol(&mut self, place: &str, text: &str) -> Result<()> {
        let (name, value) = Argument::parse_symbol(text).map_err(|error| value_error(place, text, error))?;
        self.symbols.push(LaunchSymbol { place: place.to_owned(), text: text.to_owned(), name, value });
        Ok(())
    }

    /// True when nothing was said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This launch with everything that `over` says put over it.
    pub fn overridden_by(mut self, over: Self) -> Self {
        self.kernel = over.kernel.or(self.kernel);
        self.grid = over.grid.or(self.grid);
        self.block = over.block.or(self.block);
        self.cluster = over.cluster.or(self.cluster);
        self.shared = over.shared.or(self.shared);
        self.registers = over.registers.or(self.registers);
        self.symbols.extend(over.symbols);
        self.overrides.extend(over.arguments);
        self.overrides.extend(over.overrides);
        self
    }
}

fn value_error(place: &str, text: &str, error: scanner::ValueError) -> Error {
    let mut all = Error::at(ErrorKind::Usage, place, text, "A003", error.span, error.message);
    if let (Some(findings), Some(help)) = (&mut all.findings, error.help) {
        findings.diagnostics[0].help = Some(help);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_argument_and_column() {
        let mut launch = Launch::default();
        launch.add_argument("1").unwrap();
        let error = launch.add_argument("f32[1<<]").unwrap_err();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ErrorKind::Usage, "--arg 1, column 8: expected a number, found `]`")
        );
        assert_eq!(error.findings.unwrap().text, "f32[1<<]");
    }
}
