//! What holds of the screen of every example, whatever its numbers are: the snapshots of `tests/cli/screens.md`, which
//! `cli.rs` holds against the program.

use std::path::{Path, PathBuf};

use warplens_literate::Case;

/// Widths at which every example has a screen.
const WIDTHS: [usize; 3] = [60, 80, 120];
/// Lines of a screen of 80 columns, for each GPU.
const MOST_LINES: usize = 24;
/// Lines in which the answer stands.
const FIRST: usize = 8;
/// What stands among the first lines; beside them a range, where the answer has one.
const ANSWER: [&str; 3] = ["time", "bound by", "line"];

/// One screen.
struct Screen {
    title: String,
    width: usize,
    lines: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn screens() -> Vec<Screen> {
    let path = root().join("tests/cli/screens.md");
    let text = std::fs::read_to_string(path).expect("the snapshots can be read");
    let screen = |case: &Case| {
        let width = case.title.split_whitespace().rev().nth(1).and_then(|word| word.parse().ok());
        let snapshot = &case.block("snapshot").expect("a case has a snapshot").text;
        let shown = snapshot.strip_prefix("exit 0\n--- stdout\n").expect("the command ends well and says nothing else");
        let lines = shown.lines().map(str::to_owned).collect();
        Screen { title: case.title.clone(), width: width.expect("a title ends with `at N columns`"), lines }
    };
    warplens_literate::parse(&text).expect("the cases can be read").iter().map(screen).collect()
}

fn of_one_gpu() -> Vec<Screen> {
    screens().into_iter().filter(|screen| !screen.title.starts_with("Several")).collect()
}

impl Screen {
    fn has_field(&self, name: &str, lines: usize) -> bool {
        self.lines.iter().take(lines).any(|line| line.starts_with(&format!("  {name}  ")))
    }

    /// The value of a field, its lines joined.
    fn field(&self, name: &str) -> String {
        let start = self.lines.iter().position(|line| line.starts_with(&format!("  {name}  ")));
        let start = start.unwrap_or_else(|| panic!("{}: no {name}", self.title));
        let more = self.lines[start + 1..].iter().take_while(|line| line.starts_with("    "));
        let value = self.lines[start].trim_start().strip_prefix(name).expect("it was found by its name").trim();
        more.fold(value.to_owned(), |value, line| format!("{value} {}", line.trim()))
    }
}

/// Shares in a text, in percent.
fn shares(text: &str) -> Vec<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let share =
        |pair: &[&str]| pair[1].starts_with('%').then(|| pair[0].trim_start_matches(['<', '(']).parse().ok())?;
    words.windows(2).filter_map(share).collect()
}

#[test]
fn every_example_has_a_screen_of_every_width() {
    let screens = of_one_gpu();
    let folders = std::fs::read_dir(root().join("examples")).expect("the examples can be listed");
    let mut n_examples = 0;
    for folder in folders.map(|folder| folder.expect("a folder can be read").path()) {
        if !folder.join("launch.toml").is_file() {
            continue;
        }
        let name = folder.file_name().expect("it has a name").to_string_lossy().into_owned();
        for width in WIDTHS {
            let title = format!("{name} at {width} columns");
            assert!(screens.iter().any(|screen| screen.title == title), "no screen {title}");
        }
        n_examples += 1;
    }
    assert_eq!(screens.len(), n_examples * WIDTHS.len());
}

#[test]
fn a_screen_keeps_its_width() {
    for screen in screens() {
        for line in &screen.lines {
            assert!(line.chars().count() <= screen.width, "{}: {line}", screen.title);
        }
    }
}

#[test]
fn a_screen_is_short_and_begins_with_the_answer() {
    for screen in of_one_gpu().iter().filter(|screen| screen.width == 80) {
        assert!(screen.lines.len() <= MOST_LINES, "{}: {} lines", screen.title, screen.lines.len());
        for name in ANSWER {
            assert!(screen.has_field(name, FIRST), "{}: no {name} in the first lines", screen.title);
        }
        // A range is never out of sight where there is one.
        assert!(!screen.has_field("range", MOST_LINES) || screen.has_field("range", FIRST), "{}", screen.title);
    }
    for screen in screens().iter().filter(|screen| screen.width == 80 && screen.title.starts_with("Several")) {
        let n_gpus = screen.lines.iter().skip(2).take_while(|line| !line.is_empty()).count();
        assert!(n_gpus > 1 && screen.lines.len() <= MOST_LINES * n_gpus, "{}: {n_gpus} GPUs", screen.title);
    }
}

#[test]
fn what_bounds_is_no_less_than_the_largest_of_the_shares_beside_it() {
    for screen in of_one_gpu() {
        let (bound, cycles) = (screen.field("bound by"), screen.field("cycles"));
        let (of_bound, of_cycles) = (shares(&bound), shares(&cycles));
        let largest = of_cycles.iter().copied().fold(0.0, f64::max);
        // The words are those of the largest share, or of a resource for which several stand.
        let first = cycles.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().trim();
        let is_one = format!(" {bound}").contains(&format!(" {first}"));
        let place = format!("{}: {bound} / {cycles}", screen.title);
        assert!(of_bound.len() == 1 && of_bound[0] >= largest && (of_bound[0] == largest) == is_one, "{place}");
        let is_sum = |n: u32| {
            let chosen = of_cycles.iter().enumerate().filter(|(at, _)| n >> at & 1 == 1);
            (chosen.map(|(_, share)| share).sum::<f64>() - of_bound[0]).abs() < 0.25
        };
        assert!((1..1 << of_cycles.len()).any(is_sum), "{place}");
        assert!(of_cycles.is_sorted_by(|left, right| left >= right), "{}: {cycles}", screen.title);
        assert!(of_cycles.iter().sum::<f64>() <= 100.5, "{}: {cycles}", screen.title);
    }
}
