//! Occupancy against NVIDIA's header (data/occupancy/README.md) and against tables made by hand.

use std::path::PathBuf;

use warplens_machine::{Reader, Strictness, builtin};
use warplens_model::occupancy::{Carveout, CtaDemand, Limiter, Occupancy, SharedLimit, SmLimits};

fn limits(design: &str) -> SmLimits {
    let machine = builtin::machine(design).expect("a built-in design").expect("it loads");
    SmLimits::read(&mut Reader::new(&machine, Strictness::Strict)).unwrap_or_else(|missing| panic!("{missing}"))
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", "occupancy"].iter().collect()
}

fn limit_of(occupancy: &Occupancy, limiter: Limiter) -> Option<u32> {
    occupancy.limits.iter().find(|limit| limit.limiter == limiter).and_then(|limit| limit.ctas)
}

const COLUMNS: &str = "threads,registers,static_shared,dynamic_shared,barriers,optin,carveout,\
ctas,by_warps,by_slots,by_registers,by_shared,by_barriers,registers_per_cta,shared_per_cta,limiters";

/// One line of the header's answers against ours; the disagreement in words, if there is one.
fn disagreement(limits: &SmLimits, line: &str) -> Option<String> {
    let cells: Vec<Option<i64>> = line.split(',').map(|cell| cell.parse().ok()).collect();
    let number = |at: usize| u32::try_from(cells[at].expect("a number")).expect("not negative");
    let limit = |at: usize| cells[at].map(|limit| u32::try_from(limit).expect("not negative"));
    let demand = CtaDemand {
        threads: number(0),
        registers: number(1),
        static_shared: number(2),
        dynamic_shared: number(3),
        barriers: number(4),
    };
    let shared = if number(5) == 1 { SharedLimit::OptIn } else { SharedLimit::Default };
    let carveout = match cells[6].expect("a number") {
        -1 => Carveout::Default,
        percent => Carveout::Percent(u8::try_from(percent).expect("a percentage")),
    };
    let ours = limits.occupancy(&demand, shared, carveout);
    let resources = [
        (Limiter::Warps, 8, 1),
        (Limiter::CtaSlots, 9, 8),
        (Limiter::Registers, 10, 2),
        (Limiter::SharedMemory, 11, 4),
        (Limiter::Barriers, 12, 16),
    ];
    let mut same = ours.ctas == number(7) && ours.registers_per_cta == number(13) && ours.shared_per_cta == number(14);
    same &= resources.iter().all(|&(limiter, column, _)| limit_of(&ours, limiter) == limit(column));
    // The header leaves the other resources marked where barriers turn out to be the tighter limit.
    let barriers_alone = ours.limiters().eq([Limiter::Barriers]);
    let bits: u32 =
        ours.limiters().filter_map(|limiter| resources.iter().find(|row| row.0 == limiter)).map(|row| row.2).sum();
    same &= if barriers_alone { number(15) & 16 != 0 } else { bits == number(15) };
    (!same).then(|| format!("{line}\n  {demand:?} {shared:?} {carveout:?} gives {ours:?}"))
}

#[test]
fn agrees_with_the_vendors_header() {
    let mut files = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("the data folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if !name.starts_with("sm_") {
            continue;
        }
        files += 1;
        let limits = limits(&name);
        let text = std::fs::read_to_string(&path).expect("text");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(COLUMNS));
        let rows: Vec<&str> = lines.collect();
        assert_eq!(rows.len(), 2000, "{name}");
        wrong
            .extend(rows.iter().filter_map(|line| disagreement(&limits, line)).map(|found| format!("{name}: {found}")));
    }
    assert_eq!(files, 25);
    assert!(wrong.is_empty(), "{} disagree, first {}", wrong.len(), wrong[0]);
}

#[test]
fn agrees_with_the_calculator_before_kepler() {
    let text = std::fs::read_to_string(folder().join("old_generations.csv")).expect("text");
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.splitn(9, ',').collect();
        let number = |at: usize| cells[at].parse::<u32>().expect("a number");
        let limits = limits(&format!("sm_{}", cells[0].replace('.', "")));
        let demand = CtaDemand {
            threads: number(1),
            registers: number(2),
            static_shared: number(3),
            dynamic_shared: 0,
            barriers: 1,
        };
        let ours = limits.occupancy(&demand, SharedLimit::Default, Carveout::Default);
        assert_eq!(ours.ctas, number(4), "{line}");
        assert_eq!(limit_of(&ours, Limiter::Warps), Some(number(5)), "{line}");
        assert_eq!(limit_of(&ours, Limiter::Registers), cells[6].parse().ok(), "{line}");
        assert_eq!(limit_of(&ours, Limiter::SharedMemory), cells[7].parse().ok(), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 27);
}

#[test]
fn the_thesis_and_the_paper_fill_their_machines() {
    let occupancy = |design: &str, threads, registers, static_shared| {
        let demand = CtaDemand { threads, registers, static_shared, dynamic_shared: 0, barriers: 1 };
        limits(design).occupancy(&demand, SharedLimit::Default, Carveout::Default)
    };
    // 256 threads and few registers: 4 CTAs, 32 warps on GT200 (tables 8 to 10 of the thesis).
    let full = occupancy("sm_13", 256, 10, 64);
    assert_eq!((full.ctas, full.warps, full.share), (4, 32, 1.0));
    assert_eq!(full.limiters().collect::<Vec<_>>(), [Limiter::Warps]);
    // Half the slots for CTAs of 64 threads, of which there are at most 8 (the FMM baseline).
    let fmm = occupancy("sm_13", 64, 24, 64);
    assert_eq!((fmm.ctas, fmm.warps, fmm.share), (8, 16, 0.5));
    assert!(fmm.limiters().eq([Limiter::CtaSlots]));
}

#[test]
fn more_of_anything_never_raises_residency() {
    for design in ["sm_10", "sm_13", "sm_20", "sm_35", "sm_60", "sm_75", "sm_90", "sm_120"] {
        let limits = limits(design);
        for threads in (32..=512).step_by(32) {
            let mut last = u32::MAX;
            for registers in 1..=63 {
                let demand = CtaDemand { threads, registers, static_shared: 1024, dynamic_shared: 0, barriers: 1 };
                let ctas = limits.occupancy(&demand, SharedLimit::Default, Carveout::Default).ctas;
                assert!(ctas <= last, "{design} {demand:?}");
                last = ctas;
            }
        }
    }
}
