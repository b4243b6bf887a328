//! The page about the figures and tables of the papers is true: its commands end well, and its figures are among what they print.
//! Which figure is of which command stands in `validation/papers/figures.txt`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/papers.md")).expect("the page is there")
}

/// What a command prints.
fn printed(words: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warplens")).args(words).current_dir(root()).env_clear().output();
    let output = output.expect("the program runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", words.join(" "));
    String::from_utf8(output.stdout).expect("it prints text")
}

/// Words of a line as a shell takes them: quotes keep spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Numbers of a text; a space between groups of three digits is part of one.
fn numbers(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut numbers = vec![String::new()];
    for (at, &letter) in letters.iter().enumerate() {
        let three = |from: usize| (from..from + 3).all(|at| letters.get(at).is_some_and(char::is_ascii_digit));
        let is_after_digit = at > 0 && letters[at - 1].is_ascii_digit();
        let ends_after_three = three(at + 1) && !letters.get(at + 4).is_some_and(char::is_ascii_digit);
        match letter {
            '0'..='9' | '.' => numbers.last_mut().expect("there is one").push(letter),
            ' ' | '\u{202f}' | '\u{a0}' if is_after_digit && ends_after_three => {}
            _ => numbers.push(String::new()),
        }
    }
    numbers.iter().map(|number| number.trim_matches('.').to_owned()).filter(|number| !number.is_empty()).collect()
}

/// A figure of the page among printed numbers, with its own digits.
fn is_among(figure: &str, printed: &[String]) -> bool {
    let places = figure.split_once('.').map_or(0, |(_, places)| places.len());
    let rounded = |number: &String| number.parse::<f64>().is_ok_and(|number| format!("{number:.places$}") == figure);
    printed.iter().any(rounded)
}

#[test]
fn figures_of_the_page_are_printed_by_its_commands() {
    let page = numbers(&page());
    let text = std::fs::read_to_string(root().join("validation/papers/figures.txt")).expect("the list is there");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut wrong = Vec::new();
    let mut n_figures = 0;
    while let Some(command) = lines.next() {
        let figures = lines.next().and_then(|line| line.strip_prefix("  figures")).expect("a command has figures");
        let output = numbers(&printed(&words(command)));
        for figure in figures.split_whitespace() {
            n_figures += 1;
            let is_of_page = page.iter().any(|number| number == figure);
            if !is_of_page {
                wrong.push(format!("{figure} of `{command}` is not on the page"));
            } else if !is_among(figure, &output) {
                wrong.push(format!("{figure} is not printed by `{command}`"));
            }
        }
    }
    assert!(n_figures > 30 && wrong.is_empty(), "{n_figures} figures; {}", wrong.join("\n"));
}

/// Commands of the page that are whole: without a table of the user and without words that are left out. Those of `compare`
/// over block sizes take minutes.
fn commands() -> BTreeSet<String> {
    let page = page();
    let quoted = page.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("warplens "));
    let is_whole = |command: &&str| {
        let is_shortened = command.contains("TABLE.csv") || command.contains("...");
        let n_words = command.split(' ').count();
        !is_shortened && (n_words > 3 || command.starts_with("gpu show")) && !command.contains("--blocks")
    };
    quoted.filter(is_whole).map(str::to_owned).collect()
}

#[test]
fn commands_of_the_page_end_well() {
    let commands = commands();
    assert!(commands.len() >= 25, "{commands:?}");
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("papers.svg");
    for command in &commands {
        let mut words = words(command);
        if let Some(at) = words.iter().position(|word| word == "FILE.svg") {
            words[at] = picture.to_string_lossy().into_owned();
            words.push("--force".to_owned());
        }
        let output = printed(&words);
        assert!(words.contains(&"-o".to_owned()) || output.lines().count() > 3, "{command} says nothing:\n{output}");
    }
}
