//! What a kernel needs of what limits its occupancy, and where it takes it.

use std::collections::BTreeMap;

use warplens_model::scenario::Subject;
use warplens_model::teg::Simulated;
use warplens_session::profile::{LineCounts, StateSpace};
use warplens_sim::traces::Traces;
use warplens_stats::TracedCta;
use warplens_trace::{MachineInst, RegisterNumber, WARP_SIZE};

use super::Place;
use super::place::of_code;

/// Registers that a thread takes beside those of a piece of code: addresses, counters, what the assembler keeps.
const BESIDE: u32 = 16;
/// Share of the warps' time from which on code is to keep its registers.
const HOT: f64 = 0.1;
/// Share of its registers that a kernel keeps in any case.
const LEAST_SHARE: f64 = 0.25;

/// Bytes of shared memory up to the last that the traced blocks touch; none where nothing is touched or traced.
pub(super) fn shared_bytes(subject: &Subject) -> Option<u64> {
    let Traces::Made(traced) = &subject.traces else { return None };
    let (mut low, mut high) = (u64::MAX, 0);
    for cta in traced.ctas.iter().map(TracedCta::trace) {
        for warp in cta.warps.iter() {
            for access in warp.accesses().filter(|access| access.space == StateSpace::Shared) {
                let mut addresses = [0; WARP_SIZE];
                warp.expand(&access, &mut addresses);
                for lane in access.mask.lanes() {
                    low = low.min(addresses[lane]);
                    high = high.max(addresses[lane] + u64::from(access.element_bytes) * u64::from(access.elements));
                }
            }
        }
    }
    (low < high).then(|| high - low)
}

/// The fewest registers with which code that takes time still finds its own, and the lines whose results are kept where
/// most are.
pub(super) fn registers(simulated: &Simulated, lines: &[LineCounts], now: u32) -> (u32, Vec<Place>) {
    let code = &simulated.code;
    let time = |range: &std::ops::Range<u32>| -> u64 {
        range.clone().map(|at| simulated.outcome.stalls[at as usize].total()).sum()
    };
    let all: u64 = code.blocks.iter().map(time).sum();
    let touched = |range: &std::ops::Range<u32>| {
        let mut registers: Vec<RegisterNumber> = Vec::new();
        for inst in &code.insts[range.start as usize..range.end as usize] {
            registers.extend(code.registers(inst.reads).iter().chain(code.registers(inst.writes)));
        }
        registers.sort_unstable();
        registers.dedup();
        registers.len() as u32
    };
    let hot = code.blocks.iter().filter(|range| time(range) as f64 >= HOT * all as f64);
    let needed = hot.map(|range| peak(simulated, range).min(touched(range))).max().unwrap_or(now) + BESIDE;
    let least = needed.max((f64::from(now) * LEAST_SHARE).ceil() as u32);
    (least, kept(simulated, lines))
}

/// Registers that are live at once inside of a block, of those that it touches.
fn peak(simulated: &Simulated, range: &std::ops::Range<u32>) -> u32 {
    let code = &simulated.code;
    let mut spans: BTreeMap<RegisterNumber, (u32, u32)> = BTreeMap::new();
    for at in range.clone() {
        for register in touched(simulated, &code.insts[at as usize]) {
            spans.entry(register).or_insert((at, at)).1 = at;
        }
    }
    let live = |at: u32| spans.values().filter(|(first, last)| (first..=last).contains(&&at)).count() as u32;
    range.clone().map(live).max().unwrap_or(0)
}

fn touched(simulated: &Simulated, inst: &MachineInst) -> Vec<RegisterNumber> {
    let code = &simulated.code;
    code.registers(inst.reads).iter().chain(code.registers(inst.writes)).copied().collect()
}

/// The lines that write the registers which are in use where most are, from their first use in the text to their last.
fn kept(simulated: &Simulated, lines: &[LineCounts]) -> Vec<Place> {
    let code = &simulated.code;
    let mut spans: BTreeMap<RegisterNumber, (usize, usize)> = BTreeMap::new();
    for (at, inst) in code.insts.iter().enumerate() {
        for register in touched(simulated, inst) {
            spans.entry(register).or_insert((at, at)).1 = at;
        }
    }
    // Changes of the number of registers in use, by place.
    let mut changes = vec![0_i64; code.insts.len() + 1];
    for (first, last) in spans.values() {
        changes[*first] += 1;
        changes[*last + 1] -= 1;
    }
    let mut live = 0;
    let most = changes.iter().enumerate().map(|(at, change)| {
        live += change;
        (live, at)
    });
    let Some((_, most)) = most.max_by_key(|(live, at)| (*live, std::cmp::Reverse(*at))) else { return Vec::new() };
    let is_kept = |at: usize| {
        let writes = code.registers(code.insts[at].writes);
        writes.iter().filter(|register| spans[register].0 <= most && most <= spans[register].1).count()
    };
    of_code(code, lines, |at| is_kept(at) as f64)
}
