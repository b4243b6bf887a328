//! Pictures that verbs write beside their result.

use std::path::Path;

use anyhow::Result;
use warplens_report::{Figure, render};
use warplens_session::Error;

use crate::terminal::Terminal;

/// Refuses a path whose ending says no format of pictures, before anything takes time.
pub(crate) fn check(path: Option<&Path>) -> Result<()> {
    match path {
        None => Err(Error::usage("--plot: where to? give -o FILE.svg or -o FILE.png").into()),
        Some(path) if ending(path).is_none() => {
            let message = format!("{}: a picture is written to FILE.svg or FILE.png", path.display());
            Err(Error::usage(message).into())
        }
        Some(_) => Ok(()),
    }
}

/// Writes a figure in the format that the path's ending says.
pub(crate) fn write(figure: &Figure, path: &Path, terminal: &Terminal) -> Result<()> {
    let bytes = match ending(path) {
        Some("png") => render::png::figure(figure),
        _ => render::svg::figure(figure).into_bytes(),
    };
    terminal.file(path, &bytes)
}

fn ending(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    ["svg", "png"].into_iter().find(|own| ending.eq_ignore_ascii_case(own))
}
