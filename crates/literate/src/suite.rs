//! Runs a check over the cases of files and compares or rewrites their snapshots.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Case, SNAPSHOT, parse};

/// What a check found out about one case.
#[derive(Default, Debug)]
pub struct Outcome {
    failures: Vec<(usize, String)>,
    snapshots: Vec<String>,
}

impl Outcome {
    /// Reports that the case fails because of what stands at `line` of the file.
    pub fn fail(&mut self, line: usize, message: impl Into<String>) {
        self.failures.push((line, message.into()));
    }

    /// Reports output that the case's next `snapshot` block must hold.
    pub fn snapshot(&mut self, actual: impl Into<String>) {
        let mut actual = actual.into();
        if !actual.is_empty() && !actual.ends_with('\n') {
            actual.push('\n');
        }
        self.snapshots.push(actual);
    }
}

/// Checks every case of every `*.md` file below `directory`, in order of their paths.
///
/// # Panics
/// With the list of all failures (`path:line: message`), when a file cannot be read or is no literate test, and when
/// there is no case at all: a suite that checks nothing must not pass.
#[track_caller]
pub fn check_directory(directory: impl AsRef<Path>, mut check: impl FnMut(&Case, &mut Outcome)) {
    let directory = directory.as_ref();
    let mut files = Vec::new();
    find_markdown(directory, &mut files);
    files.sort();
    let mut n_cases = 0;
    let mut failures = String::new();
    for file in &files {
        n_cases += run_file(file, update_wanted(), &mut check, &mut failures);
    }
    assert!(n_cases > 0, "no literate test below {}", directory.display());
    assert!(failures.is_empty(), "literate tests failed\n{failures}");
}

/// Checks every case of one file.
///
/// # Panics
/// As [`check_directory`] does.
#[track_caller]
pub fn check_file(file: impl AsRef<Path>, mut check: impl FnMut(&Case, &mut Outcome)) {
    let mut failures = String::new();
    let n_cases = run_file(file.as_ref(), update_wanted(), &mut check, &mut failures);
    assert!(n_cases > 0, "no literate test in {}", file.as_ref().display());
    assert!(failures.is_empty(), "literate tests failed\n{failures}");
}

/// True when snapshots are to be rewritten.
fn update_wanted() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| !value.is_empty() && value != "0")
}

fn find_markdown(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{}: {error}", directory.display())).path();
        if path.is_dir() {
            find_markdown(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

/// Checks the cases of one file, appends to `failures` and returns the number of cases.
fn run_file(file: &Path, update: bool, check: &mut impl FnMut(&Case, &mut Outcome), failures: &mut String) -> usize {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let cases = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut edits = Vec::new();
    for case in &cases {
        let mut outcome = Outcome::default();
        check(case, &mut outcome);
        compare(case, &mut outcome, update, &mut edits);
        for (line, message) in outcome.failures {
            let message = message.trim_end().replace('\n', "\n    ");
            writeln!(failures, "{}:{line}: {}: {message}", file.display(), case.title).expect("a string takes all");
        }
    }
    if !edits.is_empty() {
        fs::write(file, apply(&text, &edits)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    cases.len()
}

/// Replacement of the lines `first..first + n_lines` (counted from 1) by a text.
struct Edit {
    first: usize,
    n_lines: usize,
    text: String,
}

/// Holds reported snapshots against the case's blocks: differences become edits or failures.
fn compare(case: &Case, outcome: &mut Outcome, update: bool, edits: &mut Vec<Edit>) {
    let mut blocks = case.blocks_in(SNAPSHOT);
    let mut failures = Vec::new();
    for actual in &outcome.snapshots {
        match blocks.next() {
            Some(block) if block.text == *actual => {}
            Some(block) if update => {
                edits.push(Edit { first: block.line, n_lines: block.text.lines().count(), text: actual.clone() });
            }
            Some(block) => failures.push((block.line, difference(&block.text, actual))),
            None if update => {
                let text = format!("\n```{SNAPSHOT}\n{actual}```\n");
                edits.push(Edit { first: case.last_line + 1, n_lines: 0, text });
            }
            None => failures.push((case.last_line, format!("no snapshot block holds this output:\n{actual}"))),
        }
    }
    failures.extend(blocks.map(|block| (block.line, "a snapshot block that nothing was compared with".to_owned())));
    outcome.failures.extend(failures);
}

/// The lines around the first difference, and the way to accept it.
fn difference(expected: &str, actual: &str) -> String {
    let same = expected.lines().zip(actual.lines()).take_while(|(left, right)| left == right).count();
    let rest = |text: &str| text.lines().skip(same).take(3).map(|line| format!("  {line}\n")).collect::<String>();
    format!(
        "the output differs from the snapshot in its line {}; `UPDATE=1` accepts it\nexpected:\n{}got:\n{}",
        same + 1,
        rest(expected),
        rest(actual)
    )
}

/// The text with its edits, which stand in order of their lines.
fn apply(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').zip(1usize..).peekable();
    for edit in edits {
        while let Some((line, _)) = lines.next_if(|&(_, number)| number < edit.first) {
            result.push_str(line);
        }
        if !result.is_empty() && !result.ends_with('\n') {
            result.push('\n');
        }
        result.push_str(&edit.text);
        for _ in 0..edit.n_lines {
            lines.next();
        }
    }
    result.extend(lines.map(|(line, _)| line));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a check that reports each `run:` line as a snapshot, except that `fail` fails.
    fn run(text: &str, update: bool) -> (String, String) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("suite.md");
        fs::write(&file, text).unwrap();
        let mut failures = String::new();
        let mut check = |case: &Case, outcome: &mut Outcome| {
            for run in &case.runs {
                match &*run.text {
                    "fail" => outcome.fail(run.line, "as it should"),
                    text => outcome.snapshot(text.replace(';', "\n")),
                }
            }
        };
        run_file(&file, update, &mut check, &mut failures);
        (fs::read_to_string(&file).unwrap(), failures.replace(&*file.to_string_lossy(), "suite.md"))
    }

    #[test]
    fn equal_snapshots_pass() {
        let text = "## A\nrun: x;y\n```snapshot\nx\ny\n```\n";
        assert_eq!(run(text, false), (text.to_owned(), String::new()));
    }

    #[test]
    fn differences_name_file_line_and_case() {
        let (_, failures) = run("## A\nrun: x;z\nrun: fail\n```snapshot\nx\ny\n```\n", false);
        let expected = "\
suite.md:3: A: as it should
suite.md:5: A: the output differs from the snapshot in its line 2; `UPDATE=1` accepts it
    expected:
      y
    got:
      z
";
        assert_eq!(failures, expected);
    }

    #[test]
    fn missing_and_superfluous_snapshots_fail() {
        let (_, failures) = run("## A\nrun: x\n\n## B\n```snapshot\n```\n", false);
        let expected = "\
suite.md:2: A: no snapshot block holds this output:
    x
suite.md:6: B: a snapshot block that nothing was compared with
";
        assert_eq!(failures, expected);
    }

    #[test]
    fn update_rewrites_and_adds_blocks_in_place() {
        let before = "# T\n## A\nrun: x;y\n```snapshot\nold\n```\nrun: more\n\nEnd of A.\n## B\nrun: z\n";
        let after = "# T\n## A\nrun: x;y\n```snapshot\nx\ny\n```\nrun: more\n\n```snapshot\nmore\n```\n\nEnd of A.\n\
                     ## B\nrun: z\n\n```snapshot\nz\n```\n";
        assert_eq!(run(before, true), (after.to_owned(), String::new()));
        assert_eq!(run(after, false), (after.to_owned(), String::new()));
    }

    #[test]
    fn a_suite_without_cases_does_not_pass() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("prose.md"), "# No case\n").unwrap();
        let panic = std::panic::catch_unwind(|| check_directory(directory.path(), |_, _| {})).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().starts_with("no literate test below"));
    }
}
