//! A made-up simulation: two warps of a block load, multiply and store.

use warplens_base::units::Seconds;
use warplens_launch::KernelName;
use warplens_question::timing::{Annotated, annotate, cycles, scale};
use warplens_sim::{
    CtaSpan, Event, Outcome, Pipe, SchedulerOutcome, Stall, StallCycles, Traffic, UnitKind, UnitOutcome,
};
use warplens_trace::{Code, MachineClass, MachineInst, Place};

/// The text that the instructions come from.
pub(crate) const TEXT: &str = ".visible .entry k()\n{\n    ld.global.f32 %f1, [%rd1];\n    mul.f32 %f2, %f1, %f1;\n    \
                               st.global.f32 [%rd1], %f2;\n    ret;\n}\n";

/// Instructions of lines 3 to 6; the multiplication is two.
pub(crate) fn code() -> Code {
    let place = |line: u32, text: &str| Place { line, text: text.to_owned(), source: None };
    let inst = |class, place| MachineInst::new(class, place);
    let access = |class, place, slot| MachineInst { slot, ..MachineInst::new(class, place) };
    Code {
        insts: vec![
            access(MachineClass::Load, 0, 0),
            inst(MachineClass::Move, 1),
            inst(MachineClass::Fp32, 1),
            access(MachineClass::Store, 2, 1),
            inst(MachineClass::Exit, 3),
        ],
        places: vec![
            place(3, "ld.global.f32 %f1, [%rd1];"),
            place(4, "mul.f32 %f2, %f1, %f1;"),
            place(5, "st.global.f32 [%rd1], %f2;"),
            place(6, "ret;"),
        ],
        ..Code::default()
    }
}

/// What each warp did, instruction by instruction: waiting from, why, issue, result.
const STREAM: [(u64, Stall, u64, u64); 5] = [
    (0, Stall::Wait, 0, 400),
    (1, Stall::Wait, 2, 6),
    (3, Stall::LongScoreboard, 400, 404),
    (401, Stall::Wait, 404, 640),
    (405, Stall::Drain, 640, 640),
];

/// The simulation.
pub(crate) fn outcome() -> Outcome {
    let mut outcome = Outcome { cycles: 650, issued: 10, executions: vec![2; 5], ..Outcome::default() };
    outcome.stalls = vec![StallCycles::default(); 5];
    let mut schedulers = vec![SchedulerOutcome::default(); 2];
    for (warp, scheduler) in (0u32..).zip(&mut schedulers) {
        let shift = 3 * u64::from(warp);
        for (inst, (waits_from, stall, issue, done)) in (0u32..).zip(STREAM) {
            let stalls = [&mut outcome.stalls[inst as usize], &mut scheduler.stalls];
            for of in stalls {
                of.add(Stall::Selected, 1);
                of.add(stall, issue - waits_from);
            }
            scheduler.issued += 1;
            outcome.timeline.push(Event {
                cta: 0,
                warp,
                inst,
                waits_from: waits_from + shift,
                waits: [(stall, issue - waits_from), (Stall::Wait, 0), (Stall::Wait, 0), (Stall::Wait, 0)],
                issue: issue + shift,
                done: done + shift,
            });
        }
    }
    outcome.schedulers = schedulers;
    outcome.ctas = vec![CtaSpan { start: 0, end: 650, ..CtaSpan::default() }];
    outcome.resident_warp_cycles = 1290;
    outcome.units = vec![
        UnitOutcome { kind: UnitKind::Pipe(Pipe::Fma), count: 2, busy: 4.0 },
        UnitOutcome { kind: UnitKind::DramShare, count: 1, busy: 325.0 },
    ];
    outcome.traffic =
        Traffic { l1_sectors: 8, l1_hits: 2, l2_sectors: 14, l2_hits: 0, dram_bytes: 448, conflict_passes: 0 };
    outcome
}

/// The launch with its lines.
pub(crate) fn annotated() -> Annotated {
    let (code, outcome) = (code(), outcome());
    Annotated {
        kernel: KernelName::new("k"),
        gpu: "a100-80".to_owned(),
        time: Seconds(1.25e-6),
        annotation: annotate::by_input("k.ptx", Some(TEXT), &code, &outcome),
        outcome,
    }
}

/// The warps, cycle by cycle.
pub(crate) fn warps() -> cycles::WarpCycles {
    cycles::cycles("k".into(), "a100-80".into(), 1.41e9, (0, 500), &code(), &outcome())
}

/// A kernel that scales to four warps.
pub(crate) fn scaling() -> scale::Scale {
    let step = |warps: u32, ctas: u32, cycles: u64, stall: Option<Stall>| scale::Step {
        warps,
        ctas,
        cycles,
        issued: 100 * u64::from(warps),
        ipc: f64::from(100 * warps) / cycles as f64,
        speedup: f64::from(warps) * 2400.0 / cycles as f64,
        efficiency: 2400.0 / cycles as f64,
        stop: stall.map(|stall| scale::Stop { stall, growth: 8.0 }),
        busiest: Some((UnitKind::Pipe(Pipe::Fma), (400.0 * f64::from(warps) / cycles as f64).min(1.0))),
    };
    scale::Scale {
        kernel: "k".into(),
        gpu: "a100-80".into(),
        clock_hz: 1.41e9,
        warps_per_cta: 4,
        most_ctas: 4,
        steps: vec![
            step(1, 1, 2400, None),
            step(2, 1, 2400, None),
            step(4, 1, 2500, Some(Stall::NotSelected)),
            step(8, 2, 3300, Some(Stall::MathPipeThrottle)),
            step(16, 4, 6600, Some(Stall::MathPipeThrottle)),
        ],
        assumptions: vec!["every warp does the same".to_owned()],
    }
}
