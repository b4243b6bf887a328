//! What is launched: kernel, grid, arguments; as users write it, and bound to a kernel's parameters.
//!
//! A [`Launch`] is what was written, on the command line or in a file. [`Plan`] is the same with every argument turned
//! into bytes and buffers, checked against the kernel.

mod content;
mod element;
mod file;
pub(crate) mod npy;
mod plan;
mod scanner;
mod shape;
mod value;

pub(crate) use file::Script;
pub(crate) use plan::{element_of, extents};

pub use element::{Element, ElementType, Number};
pub use plan::{BufferId, KernelInterface, Plan, PlannedBuffer, PlannedLaunch, PlannedSymbol, Pointer, Words};
pub(crate) use shape::check as check_extents;
pub use shape::{Extents, parse_extents};
pub use value::{Argument, Buffer, Content, Member, Reference, Target, Value};

use crate::error::{Error, ErrorKind, Result};

/// One launch as users write it; what is not said is `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Launch {
    /// Name of the kernel.
    pub kernel: Option<String>,
    /// CTAs.
    pub grid: Option<Extents>,
    /// Threads per CTA.
    pub block: Option<Extents>,
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
    pub(crate) fn without_contents(&self) -> Self {
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

    /// Reads a launch file: one launch or a sequence. `name` is what messages call the text.
    pub fn parse_file(name: &str, text: &str) -> Result<Vec<Self>> {
        file::parse(name, text)
    }

    /// The launches of a file, if one is given, with what the flags say put over them.
    pub fn load(file: Option<&str>, flags: Self) -> Result<Vec<Self>> {
        let Some(path) = file else { return Ok(vec![flags]) };
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::input(format!("{path}: no such launch file")),
            _ => Error::input(format!("cannot read {path}: {error}")),
        })?;
        let mut launches = Self::parse_file(path, &text)?;
        if let [launch] = launches.as_mut_slice() {
            *launch = std::mem::take(launch).overridden_by(flags);
        } else if !flags.is_empty() {
            return Err(Error::usage(format!(
                "{path} holds {} launches; flags can change a single one only",
                launches.len()
            )));
        }
        Ok(launches)
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
    fn flags_go_over_the_file() {
        let [file] =
            Launch::parse_file("l", "grid = 1\nblock = 2\nargs = [\"1\", \"n=2\"]").unwrap().try_into().unwrap();
        let mut flags = Launch { grid: Some([8, 1, 1]), ..Launch::default() };
        flags.add_argument("n=5").unwrap();
        let both = file.overridden_by(flags);
        assert_eq!((both.grid, both.block), (Some([8, 1, 1]), Some([2, 1, 1])));
        assert_eq!((both.arguments.len(), both.overrides.len()), (2, 1));
    }

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
