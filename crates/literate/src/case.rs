//! From markdown text to cases.

use std::fmt;

/// One heading with what stands below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// Text of the heading.
    pub title: String,
    /// Line of the heading, counted from 1.
    pub line: usize,
    /// Fenced blocks in order.
    pub blocks: Vec<Block>,
    /// `run:` lines in order.
    pub runs: Vec<RunLine>,
    /// Last line of the case's last block or `run:` line, or of its heading: where a missing snapshot is added.
    pub(crate) last_line: usize,
}

/// A fenced block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// First word after the fence; empty when there is none.
    pub lang: String,
    /// Words after the language, such as a file name.
    pub name: String,
    /// The lines inside, each with its line feed.
    pub text: String,
    /// Line of the first line inside, counted from 1.
    pub line: usize,
}

/// A line `run: TEXT` outside a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunLine {
    /// What follows `run:`, trimmed.
    pub text: String,
    /// Its line, counted from 1.
    pub line: usize,
}

/// Why a text is no literate test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line at fault, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: &'static str,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

impl Case {
    /// The first block in `lang`.
    pub fn block(&self, lang: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.lang == lang)
    }

    /// All blocks in `lang`, in order.
    pub fn blocks_in<'a>(&'a self, lang: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().filter(move |block| block.lang == lang)
    }
}

/// Splits markdown into cases.
///
/// # Errors
/// A fence that is never closed, and a block or `run:` line above the first case, which no test would ever look at.
pub fn parse(text: &str) -> Result<Vec<Case>, ParseError> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = text.lines().zip(1usize..);
    while let Some((line, number)) = lines.next() {
        if let Some(title) = heading(line) {
            cases.push(Case {
                title: title.to_owned(),
                line: number,
                blocks: Vec::new(),
                runs: Vec::new(),
                last_line: number,
            });
        } else if let Some((fence, info)) = opening_fence(line) {
            let block = read_block(&mut lines, fence, info, number)?;
            let case = cases.last_mut().ok_or(ParseError { line: number, message: "a block above the first case" })?;
            case.last_line = block.line + block.text.lines().count();
            case.blocks.push(block);
        } else if let Some(text) = line.strip_prefix("run:") {
            let message = "a `run:` line above the first case";
            let case = cases.last_mut().ok_or(ParseError { line: number, message })?;
            case.last_line = number;
            case.runs.push(RunLine { text: text.trim().to_owned(), line: number });
        }
    }
    Ok(cases)
}

/// Reads up to the closing fence. A closing fence is at least as long as the opening one and carries no words.
fn read_block<'a>(
    lines: &mut impl Iterator<Item = (&'a str, usize)>,
    fence: usize,
    info: &str,
    opened_at: usize,
) -> Result<Block, ParseError> {
    let (lang, name) = info.split_once(char::is_whitespace).unwrap_or((info, ""));
    let mut text = String::new();
    for (line, _) in lines {
        if opening_fence(line).is_some_and(|(length, info)| length >= fence && info.is_empty()) {
            return Ok(Block { lang: lang.to_owned(), name: name.trim().to_owned(), text, line: opened_at + 1 });
        }
        text.push_str(line);
        text.push('\n');
    }
    Err(ParseError { line: opened_at, message: "a block that is never closed" })
}

/// Title of a heading that opens a case.
fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let depth = line.len() - title.len();
    (depth >= 2 && title.starts_with(' ')).then(|| title.trim())
}

/// Number of backticks and the words after them.
fn opening_fence(line: &str) -> Option<(usize, &str)> {
    let info = line.trim_start_matches('`');
    let length = line.len() - info.len();
    (length >= 3 && !info.contains('`')).then(|| (length, info.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
# Shifts

Prose.

## First case
```ptx
shl.b32 %d, %a, %b;

```
run: a=1 == d=2
run:a=2 == d=4

### Second
````toml launch file
```
````
```snapshot
```
";

    #[test]
    fn blocks_and_runs_belong_to_the_heading_above() {
        let cases = parse(SAMPLE).unwrap();
        assert_eq!(
            cases.iter().map(|case| (&*case.title, case.line)).collect::<Vec<_>>(),
            [("First case", 5), ("Second", 13)]
        );
        assert_eq!(cases[0].block("ptx").unwrap().text, "shl.b32 %d, %a, %b;\n\n");
        assert_eq!(cases[0].block("ptx").unwrap().line, 7);
        assert_eq!(
            cases[0].runs,
            [RunLine { text: "a=1 == d=2".into(), line: 10 }, RunLine { text: "a=2 == d=4".into(), line: 11 },]
        );
        assert!(cases[0].block("toml").is_none());
    }

    #[test]
    fn longer_fences_hold_shorter_ones_and_names_follow_the_language() {
        let cases = parse(SAMPLE).unwrap();
        let toml = cases[1].block("toml").unwrap();
        assert_eq!((&*toml.name, &*toml.text, toml.line), ("launch file", "```\n", 15));
        assert_eq!(cases[1].block("snapshot").unwrap().text, "");
        assert_eq!(cases[1].last_line, 18);
    }

    #[test]
    fn what_no_test_would_look_at_is_an_error() {
        let error = |text| parse(text).unwrap_err().to_string();
        assert_eq!(error("# Title\n```ptx\n```\n"), "line 2: a block above the first case");
        assert_eq!(error("run: a=1\n"), "line 1: a `run:` line above the first case");
        assert_eq!(error("## Case\n```ptx\nret;\n"), "line 2: a block that is never closed");
    }
}
