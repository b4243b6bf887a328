//! Launch files: one launch, or a sequence of `[[launch]]` that share buffers.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use warplens_base::{Diagnostic, Span};

use crate::launch::{Launch, LaunchArgument};
use crate::shape;
use warplens_base::error::{Error, ErrorKind, Result};

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a whole number or a list of up to three, such as [16, 16]")]
enum OneOrMany {
    One(u64),
    Many(Vec<u64>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected numbers and strings, such as [\"f32[1024]\", 1024]")]
enum Scalar {
    Integer(i64),
    Float(f64),
    Text(String),
}

/// `symbols = ["NAME=VALUE"]`, or a table `[symbols]`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of \"NAME=VALUE\", or a table of numbers and strings")]
enum Symbols {
    List(Vec<String>),
    Table(BTreeMap<String, Scalar>),
}

impl Default for Symbols {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Scalar {
    fn into_text(self) -> String {
        match self {
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => format!("{number:?}"),
            Self::Text(text) => text,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct LaunchTable {
    input: Option<String>,
    kernel: Option<String>,
    grid: Option<Spanned<OneOrMany>>,
    block: Option<Spanned<OneOrMany>>,
    cluster: Option<Spanned<OneOrMany>>,
    shared: Option<u64>,
    registers: Option<u32>,
    #[serde(default)]
    args: Vec<Scalar>,
    #[serde(default)]
    symbols: Symbols,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sequence {
    launch: Vec<LaunchTable>,
}

/// A launch file whose launches name their inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    launches: Vec<(String, Launch)>,
}

impl Script {
    /// Reads the text of a script that is called `name` in messages.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut launches = Vec::new();
        for (number, (input, launch)) in tables(name, text)?.into_iter().enumerate() {
            let input = input.ok_or_else(|| {
                Error::input(format!("{name}, launch {number}: the key `input` is missing"))
                    .with_help("a script says for each [[launch]] which file it is of: input = \"kernel.ptx\"")
            })?;
            launches.push((input, launch));
        }
        Ok(Self { launches })
    }

    /// Inputs in the order of their first launch, each with its launches. Launches of one input are numbered among
    /// themselves; those of different inputs have no buffer in common.
    pub fn by_input(self) -> Vec<(String, Vec<Launch>)> {
        let mut groups: Vec<(String, Vec<Launch>)> = Vec::new();
        for (input, launch) in self.launches {
            match groups.iter_mut().find(|(name, _)| *name == input) {
                Some((_, launches)) => launches.push(launch),
                None => groups.push((input, vec![launch])),
            }
        }
        groups
    }
}

impl Launch {
    /// Reads a launch file: one launch or a sequence. `name` is what messages call the text.
    pub fn parse_file(name: &str, text: &str) -> Result<Vec<Self>> {
        let launches = tables(name, text)?;
        if let Some(number) = launches.iter().position(|(input, _)| input.is_some()) {
            return Err(Error::usage(format!("{name}, launch {number}: the input is given on the command line"))
                .with_help(format!("a file that names inputs is given in their place: warplens predict {name}")));
        }
        Ok(launches.into_iter().map(|(_, launch)| launch).collect())
    }

    /// The launches of a file with what the flags say put over them.
    pub fn parse_file_with(name: &str, text: &str, flags: Self) -> Result<Vec<Self>> {
        let mut launches = Self::parse_file(name, text)?;
        if let [launch] = launches.as_mut_slice() {
            *launch = std::mem::take(launch).overridden_by(flags);
        } else if !flags.is_empty() {
            return Err(Error::usage(format!(
                "{name} holds {} launches; flags can change a single one only",
                launches.len()
            )));
        }
        Ok(launches)
    }
}

fn tables(name: &str, text: &str) -> Result<Vec<(Option<String>, Launch)>> {
    let is_sequence = text.lines().any(|line| line.trim_start().replace(' ', "").starts_with("[[launch]]"));
    let tables = if is_sequence {
        toml::from_str::<Sequence>(text).map(|sequence| sequence.launch)
    } else {
        toml::from_str::<LaunchTable>(text).map(|table| vec![table])
    };
    let tables = tables.map_err(|error| syntax_error(name, text, &error))?;
    let one = tables.len() == 1;
    let place = |number: usize| if one { name.to_owned() } else { format!("{name}, launch {number}") };
    let read = |(number, mut table): (usize, LaunchTable)| {
        Ok((table.input.take(), launch(&place(number), name, text, table)?))
    };
    tables.into_iter().enumerate().map(read).collect()
}

fn launch(place: &str, name: &str, text: &str, table: LaunchTable) -> Result<Launch> {
    let read = |key: &str, value: Option<Spanned<OneOrMany>>| {
        let Some(value) = value else { return Ok(None) };
        let span = span_of(value.span());
        let numbers = match value.into_inner() {
            OneOrMany::One(number) => vec![number],
            OneOrMany::Many(numbers) => numbers,
        };
        shape::extents(key, &numbers).map(Some).map_err(|error| {
            let finding = Diagnostic::error("A002", span, error.message.clone());
            error.with_findings(name, text, vec![finding])
        })
    };
    let mut launch = Launch {
        kernel: table.kernel,
        grid: read("grid", table.grid)?,
        block: read("block", table.block)?,
        cluster: read("cluster", table.cluster)?,
        shared: table.shared,
        registers: table.registers,
        ..Launch::default()
    };
    // Files of a launch file lie beside it, wherever it is used from.
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    for (index, argument) in table.args.into_iter().enumerate() {
        let place = format!("{place}, argument {index}");
        let mut argument = LaunchArgument::parse(&place, &argument.into_text())?;
        argument.argument.value.resolve_files(folder);
        launch.arguments.push(argument);
    }
    let symbols = match table.symbols {
        Symbols::List(symbols) => symbols,
        Symbols::Table(symbols) => {
            symbols.into_iter().map(|(name, value)| format!("{name}={}", value.into_text())).collect()
        }
    };
    for symbol in symbols {
        launch.add_symbol(&format!("{place}, symbols"), &symbol)?;
    }
    launch.symbols.iter_mut().for_each(|symbol| symbol.value.resolve_files(folder));
    Ok(launch)
}

fn syntax_error(name: &str, text: &str, error: &toml::de::Error) -> Error {
    let span = error.span().map_or(Span::default(), span_of);
    let message = error.message().trim_end_matches('.').replace('\n', "; ");
    let line = warplens_base::LineIndex::new(text).line(span.start);
    let finding = Diagnostic::error("A001", span, message.clone());
    Error::new(ErrorKind::Usage, format!("{name}, line {line}: {message}")).with_findings(name, text, vec![finding])
}

fn span_of(range: std::ops::Range<usize>) -> Span {
    Span::new(u32::try_from(range.start).unwrap_or(u32::MAX), u32::try_from(range.end).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Content, Target, Value};

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
    fn one_launch() {
        let text = "kernel = \"add\"\ngrid = [4, 2]\nblock = 256\nshared = 64\nregisters = 12\n\
                    args = [\"a=f32[4]\", 7, 0.5, \"n=1<<4\"]\nsymbols = [\"k=zeros\"]\n";
        let [launch] = Launch::parse_file("l.toml", text).unwrap().try_into().unwrap();
        assert_eq!(
            (launch.kernel.as_deref(), launch.grid, launch.block),
            (Some("add"), Some([4, 2, 1]), Some([256, 1, 1]))
        );
        assert_eq!((launch.shared, launch.registers), (Some(64), Some(12)));
        let targets: Vec<_> = launch.arguments.iter().map(|argument| argument.argument.target.clone()).collect();
        assert_eq!(targets, [Some(Target::Name("a".into())), None, None, Some(Target::Name("n".into()))]);
        assert_eq!(launch.symbols[0].value, Value::Content(Content::Zeros));
    }

    #[test]
    fn symbols_may_be_a_table() {
        let symbols = |text| {
            let launches = Launch::parse_file("l.toml", text).unwrap();
            launches[0].symbols.iter().map(|symbol| symbol.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(symbols("[symbols]\nscale = 2.5\ntable = \"f32[2]:iota\"\n"), ["scale=2.5", "table=f32[2]:iota"]);
        assert_eq!(symbols("symbols = [\"scale=2.5\"]\n"), ["scale=2.5"]);
    }

    #[test]
    fn a_sequence() {
        let launches =
            Launch::parse_file("l.toml", "[[launch]]\ngrid = 1\n[[launch]]\ngrid = 2\nargs = [\"&0\"]\n").unwrap();
        assert_eq!(launches.iter().map(|launch| launch.grid).collect::<Vec<_>>(), [Some([1, 1, 1]), Some([2, 1, 1])]);
    }

    #[test]
    fn errors_name_the_place() {
        let message = |text| Launch::parse_file("l.toml", text).unwrap_err().message;
        assert_eq!(
            message("grd = 1\n"),
            "l.toml, line 1: unknown field `grd`, expected one of `input`, `kernel`, `grid`, `block`, `cluster`, `shared`, `registers`, `args`, `symbols`"
        );
        assert!(message("grid = \n").starts_with("l.toml, line 1: "));
        assert_eq!(
            message("grid = \"4\"\n"),
            "l.toml, line 1: expected a whole number or a list of up to three, such as [16, 16]"
        );
        assert!(message("args = [true]\n").starts_with("l.toml, line 1: expected numbers and strings"));
        assert!(message("symbols = 4\n").starts_with("l.toml, line 1: expected a list of \"NAME=VALUE\""));
        assert_eq!(message("grid = [1,2,3,4]\n"), "grid has one to three extents, not 4");
        assert_eq!(
            message("args = [\"1\", \"f32[\"]\n"),
            "l.toml, argument 1, column 5: expected a number, but the value ends"
        );
        let in_sequence = "[[launch]]\n[[launch]]\nargs = [\"x\"]\n";
        assert_eq!(message(in_sequence), "l.toml, launch 1, argument 0, column 1: `x` is not a value");
    }
}
