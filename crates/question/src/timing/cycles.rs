//! Cycle by cycle: what a few warps did, for a picture and for a trace viewer.

use std::collections::BTreeMap;

use warplens_sim::{Event, Outcome, Stall};
use warplens_trace::Code;

/// What a few warps did in some cycles.
#[derive(Clone, PartialEq, Debug)]
pub struct WarpCycles {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The clock whose cycles these are, in hertz.
    pub clock_hz: f64,
    /// First cycle that is shown, and the one after the last.
    pub window: (u64, u64),
    /// Cycles of the whole simulation.
    pub cycles: u64,
    /// The warps: index of the CTA among those that were simulated, and index of the warp in it.
    pub warps: Vec<(u32, u32)>,
    /// Instructions in the order of warps and issue.
    pub instructions: Vec<Issued>,
}

/// An instruction that a warp issued.
#[derive(Clone, PartialEq, Debug)]
pub struct Issued {
    /// Index in [`WarpCycles::warps`].
    pub warp: usize,
    /// The instruction as the input writes it.
    pub text: String,
    /// Its line in the input; 0 where it has none.
    pub line: u32,
    /// Class of the machine instruction.
    pub class: &'static str,
    /// It accesses memory.
    pub is_access: bool,
    /// Cycle from which the warp waited to issue it.
    pub waits_from: u64,
    /// Why, one reason after the other with its cycles.
    pub waits: Vec<(Stall, u64)>,
    /// Cycle of the issue.
    pub issue: u64,
    /// Cycle in which the result can be used.
    pub done: u64,
}

impl Issued {
    /// Why the warp waited, from which cycle and up to which.
    pub fn spans(&self) -> impl Iterator<Item = (Stall, u64, u64)> + '_ {
        self.waits.iter().scan(self.waits_from, |at, &(stall, cycles)| {
            let start = std::mem::replace(at, *at + cycles);
            Some((stall, start, *at))
        })
    }
}

/// A piece of a warp's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Index in [`WarpCycles::warps`].
    pub warp: usize,
    /// First cycle.
    pub start: u64,
    /// Cycle after the last.
    pub end: u64,
}

/// The events of a simulation inside of a window of cycles.
pub fn cycles(
    kernel: String,
    gpu: String,
    clock_hz: f64,
    window: (u64, u64),
    code: &Code,
    outcome: &Outcome,
) -> WarpCycles {
    let mut by_warp: BTreeMap<(u32, u32), Vec<&Event>> = BTreeMap::new();
    for event in outcome
        .timeline
        .iter()
        .filter(|event| event.waits_from < window.1 && event.done.max(event.issue + 1) > window.0)
    {
        by_warp.entry((event.cta, event.warp)).or_default().push(event);
    }
    let warps: Vec<(u32, u32)> = by_warp.keys().copied().collect();
    let mut instructions = Vec::new();
    for (warp, events) in by_warp.into_values().enumerate() {
        let mut issued: Vec<Issued> = events.into_iter().map(|event| issued(warp, event, code)).collect();
        issued.sort_by_key(|instruction| instruction.issue);
        instructions.extend(issued);
    }
    let end = window.1.min(outcome.cycles);
    WarpCycles { kernel, gpu, clock_hz, window: (window.0.min(end), end), cycles: outcome.cycles, warps, instructions }
}

fn issued(warp: usize, event: &Event, code: &Code) -> Issued {
    let inst = &code.insts[event.inst as usize];
    let place = code.places.get(inst.place as usize);
    Issued {
        warp,
        text: place.map_or_else(|| inst.class.name().to_owned(), |place| place.text.trim().to_owned()),
        line: place.map_or(0, |place| place.line),
        class: inst.class.name(),
        is_access: inst.touches_memory(),
        waits_from: event.waits_from,
        waits: event.waits.into_iter().filter(|(_, cycles)| *cycles > 0).collect(),
        issue: event.issue,
        done: event.done,
    }
}

impl WarpCycles {
    /// When warps issued, inside of the window.
    pub fn issues(&self) -> Vec<Span> {
        let span = |issued: &Issued| self.clipped(issued.warp, issued.issue, issued.issue + 1);
        self.instructions.iter().filter_map(span).collect()
    }

    /// When warps waited for this reason, inside of the window; what follows without a gap is one span.
    pub fn waits(&self, stall: Stall) -> Vec<Span> {
        let waits = self.instructions.iter().flat_map(|issued| issued.spans().map(move |span| (issued.warp, span)));
        let waits = waits.filter(|(_, (reason, _, _))| *reason == stall);
        joined(waits.filter_map(|(warp, (_, start, end))| self.clipped(warp, start, end)))
    }

    /// When at least one memory access of a warp was on its way, inside of the window.
    pub fn in_flight(&self) -> Vec<Span> {
        let accesses = self.instructions.iter().filter(|issued| issued.is_access);
        joined(accesses.filter_map(|issued| self.clipped(issued.warp, issued.issue, issued.done)))
    }

    /// Reasons for which warps waited inside of the window, in the order of the table.
    pub fn stalls(&self) -> Vec<Stall> {
        Stall::ALL.iter().copied().filter(|&stall| !self.waits(stall).is_empty()).collect()
    }

    fn clipped(&self, warp: usize, start: u64, end: u64) -> Option<Span> {
        let (start, end) = (start.max(self.window.0), end.min(self.window.1));
        (start < end).then_some(Span { warp, start, end })
    }
}

/// Spans that touch or overlap become one. They come in the order of warps and starts.
fn joined(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::new();
    for span in spans {
        match all.last_mut() {
            Some(last) if last.warp == span.warp && span.start <= last.end => last.end = last.end.max(span.end),
            _ => all.push(span),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use warplens_trace::{MachineClass, MachineInst};

    fn event(warp: u32, inst: u32, stall: Stall, [waits_from, issue, done]: [u64; 3]) -> Event {
        let waits = [(stall, issue - waits_from), (Stall::Wait, 0), (Stall::Wait, 0), (Stall::Wait, 0)];
        Event { cta: 0, warp, inst, waits_from, waits, issue, done }
    }

    fn shown(window: (u64, u64), timeline: Vec<Event>) -> WarpCycles {
        let load = MachineInst { slot: 0, ..MachineInst::new(MachineClass::Load, 0) };
        let code = Code { insts: vec![load, MachineInst::new(MachineClass::Fp32, 1)], ..Code::default() };
        let outcome = Outcome { cycles: 100, timeline, ..Outcome::default() };
        cycles("k".into(), "g".into(), 1e9, window, &code, &outcome)
    }

    fn span(warp: usize, start: u64, end: u64) -> Span {
        Span { warp, start, end }
    }

    #[test]
    fn spans_are_joined_and_end_with_the_window() {
        let shown = shown(
            (0, 50),
            vec![
                event(3, 0, Stall::NotSelected, [0, 2, 40]),
                event(3, 0, Stall::Wait, [3, 3, 60]),
                event(3, 1, Stall::LongScoreboard, [4, 60, 84]),
                event(0, 0, Stall::Wait, [0, 0, 9]),
                event(0, 1, Stall::LongScoreboard, [1, 9, 33]),
                event(0, 0, Stall::Wait, [90, 91, 99]),
            ],
        );
        assert_eq!(shown.warps, [(0, 0), (0, 3)]);
        assert_eq!(shown.window, (0, 50));
        assert_eq!(shown.stalls(), [Stall::NotSelected, Stall::LongScoreboard]);
        assert_eq!(shown.waits(Stall::LongScoreboard), [span(0, 1, 9), span(1, 4, 50)]);
        assert_eq!(shown.issues(), [span(0, 0, 1), span(0, 9, 10), span(1, 2, 3), span(1, 3, 4)]);
        // The arithmetic is no access, and two loads that overlap are one span.
        assert_eq!(shown.in_flight(), [span(0, 0, 9), span(1, 2, 50)]);
    }

    #[test]
    fn nothing_outside_of_the_window_is_shown() {
        let shown =
            shown((50, 200), vec![event(0, 0, Stall::Wait, [0, 1, 20]), event(1, 1, Stall::Wait, [60, 70, 80])]);
        assert_eq!((shown.window, shown.warps.as_slice()), ((50, 100), [(0, 1)].as_slice()));
    }
}
