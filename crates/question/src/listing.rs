//! Counts by line: what a listing of the PTX or of the program shows beside the text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warplens_stats::{BankRule, CoalescingRule};

use warplens_session::{Measurement, Program, files};

/// What the instructions of a line did, all together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineSum {
    /// Instructions executed by warps.
    pub executed: u64,
    /// Thread instructions whose guard was true.
    pub threads: u64,
    /// Transactions of global and local memory.
    pub transactions: u64,
    /// Passes of shared memory.
    pub passes: u64,
}

/// A text with counts for some of its lines.
#[derive(Clone, PartialEq, Debug)]
pub struct CountedText {
    /// What the text is called.
    pub name: String,
    /// The text.
    pub text: String,
    /// Counts by line, from 1.
    pub lines: BTreeMap<u32, LineSum>,
}

impl CountedText {
    /// The most executions of a line.
    pub fn hottest(&self) -> u64 {
        self.lines.values().map(|sum| sum.executed).max().unwrap_or(0)
    }
}

/// The PTX with the counts of a launch, transactions and passes under the given rules.
pub fn ptx(program: &Program, measurement: &Measurement, coalescing: CoalescingRule, bank: BankRule) -> CountedText {
    let lines = sums(measurement, coalescing, bank, |ptx_line, _| Some(ptx_line));
    CountedText { name: program.text_name(), text: program.ptx.clone(), lines }
}

/// The files of the program that the PTX names and that are found, with the counts of a launch. `beside` is the file that
/// was read, in whose folder and the one above files are looked for.
pub fn sources(
    program: &Program,
    beside: Option<&Path>,
    measurement: &Measurement,
    coalescing: CoalescingRule,
    bank: BankRule,
) -> Vec<CountedText> {
    let mut names: Vec<&String> =
        measurement.listing.iter().filter_map(|line| line.source.as_ref().map(|(file, _)| file)).collect();
    names.sort_unstable();
    names.dedup();
    let counted = |name: &String| {
        let text = source_text(program, beside, name)?;
        let of_file =
            |_, source: Option<&(String, u32)>| source.filter(|(file, _)| file == name).map(|&(_, line)| line);
        Some(CountedText { name: name.clone(), text, lines: sums(measurement, coalescing, bank, of_file) })
    };
    names.into_iter().filter_map(counted).collect()
}

/// Sums over instructions and over the lines of the profile, by the line that `line` makes of PTX line and source.
fn sums(
    measurement: &Measurement,
    coalescing: CoalescingRule,
    bank: BankRule,
    line: impl Fn(u32, Option<&(String, u32)>) -> Option<u32>,
) -> BTreeMap<u32, LineSum> {
    let mut sums: BTreeMap<u32, LineSum> = BTreeMap::new();
    for executed in measurement.listing.iter().filter(|executed| executed.executed > 0) {
        let Some(number) = line(executed.ptx_line, executed.source.as_ref()) else { continue };
        let sum = sums.entry(number).or_default();
        sum.executed += executed.executed;
        sum.threads += executed.threads;
    }
    for counts in measurement.profile.lines.iter().filter(|counts| counts.executed > 0) {
        let Some(number) = line(counts.ptx_line, counts.source.as_ref()) else { continue };
        let sum = sums.entry(number).or_default();
        sum.transactions += counts.memory.get(&coalescing).map_or(0, |counts| counts.transactions());
        sum.passes += counts.shared.get(&bank).map_or(0, |counts| counts.passes);
    }
    sums
}

/// The text of a file that the PTX names: the input itself, or a file of that name.
pub(crate) fn source_text(program: &Program, beside: Option<&Path>, name: &str) -> Option<String> {
    let base = Path::new(name).file_name()?;
    if let Some(source) = program.source()
        && Path::new(&program.name).file_name() == Some(base)
    {
        return Some(source.to_owned());
    }
    let folders = beside.into_iter().flat_map(|file| file.ancestors().skip(1).take(2)).map(|folder| folder.join(base));
    let candidates = std::iter::once(PathBuf::from(name)).chain(folders);
    candidates.into_iter().find_map(|path| files::read_to_string(path).ok())
}
