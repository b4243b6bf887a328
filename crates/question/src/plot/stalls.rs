//! Why warps do not issue, by scheduler and by line.

use warplens_sim::{Stall, StallCycles};

use crate::timing::{Annotated, Spent};
use warplens_base::error::{Error, Result};

/// Lines that are shown.
const SHOWN: usize = 6;
/// Characters of a line's text that stand below its bar.
const LONGEST: usize = 14;

/// Warp cycles by scheduler and by line.
#[derive(Clone, PartialEq, Debug)]
pub struct Stalls {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// Cycles of the simulation.
    pub cycles: u64,
    /// The whole SM, and each scheduler where there are several.
    pub schedulers: Vec<Column>,
    /// The lines with the largest shares, in the order of the text.
    pub lines: Vec<Column>,
}

/// A bar.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// What stands below it; a line feed parts it.
    pub name: String,
    /// Warp cycles by state.
    pub stalls: StallCycles,
    /// Warp instructions issued.
    pub issued: u64,
    /// Share of the warp cycles of the kernel.
    pub share: f64,
}

impl Column {
    /// Warp cycles in a state for each instruction.
    pub fn per_instruction(&self, stall: Stall) -> Option<f64> {
        (self.issued > 0).then(|| self.stalls.of(stall) as f64 / self.issued as f64)
    }

    /// Warp cycles in a state as a share of all of the kernel.
    pub fn share_of_all(&self, stall: Stall) -> f64 {
        self.share * self.stalls.share(stall)
    }
}

/// The bars of a simulated launch.
pub fn stalls(of: &Annotated) -> Result<Stalls> {
    let outcome = &of.outcome;
    let all = outcome.stalls();
    if all.total() == 0 {
        return Err(Error::input("the simulation issued no instruction"));
    }
    let column = |name: String, stalls: StallCycles, issued: u64| Column {
        name,
        stalls,
        issued,
        share: stalls.total() as f64 / all.total() as f64,
    };
    let mut schedulers = vec![column("SM".to_owned(), all, outcome.issued)];
    if outcome.schedulers.len() > 1 {
        let of_one = outcome.schedulers.iter().enumerate();
        schedulers.extend(of_one.map(|(number, of)| column(format!("scheduler {number}"), of.stalls, of.issued)));
    }
    Ok(Stalls {
        kernel: of.kernel.demangled.clone(),
        gpu: of.gpu.clone(),
        cycles: outcome.cycles,
        schedulers,
        lines: lines(of),
    })
}

fn lines(of: &Annotated) -> Vec<Column> {
    let texts = of.annotation.texts.iter().enumerate();
    let mut all: Vec<(usize, u32, &Spent)> =
        texts.flat_map(|(text, of)| of.lines.iter().map(move |(&line, spent)| (text, line, spent))).collect();
    all.sort_by(|left, right| right.2.share.total_cmp(&left.2.share).then((left.0, left.1).cmp(&(right.0, right.1))));
    all.truncate(SHOWN);
    all.retain(|(_, _, spent)| spent.share > 0.0);
    all.sort_by_key(|&(text, line, _)| (text, line));
    let column = |(text, line, spent): (usize, u32, &Spent)| Column {
        name: format!("line {line}\n{}", shortened(of.annotation.texts[text].line(line))),
        stalls: spent.stalls,
        issued: spent.issued,
        share: spent.share,
    };
    all.into_iter().map(column).collect()
}

/// The first word behind a guard: the opcode of an instruction, something to recognise a line of a program by.
fn shortened(text: &str) -> String {
    let text = text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
