//! Hong and Kim's figures 14 to 20: their micro-benchmarks (table 4) and the Merge benchmarks (table 5) on their four GPUs,
//! by the counts that the tables print. The figures themselves are bars without numbers, so that what is held here is what
//! the paper's text says of them. The tables are in `validation/hong_kim.md`; `UPDATE=1` rewrites them.

use std::fmt::Write as _;
use std::path::Path;

use warplens_machine::Machine;
use warplens_model::{Given, Options, Prediction, find};

use crate::support::machine;

/// Table 3, in its order.
const GPUS: [&str; 4] = ["8800gtx", "fx5600", "8800gt", "gtx280"];
const GTX280: usize = 3;
/// Rounds of a micro-benchmark's loop.
const ROUNDS: f64 = 601.0;
/// Table 4: loads and computation of a round.
const MICRO: [(&str, f64, f64); 7] = [
    ("Mb1", 0.0, 23.0),
    ("Mb2", 1.0, 17.0),
    ("Mb3", 1.0, 29.0),
    ("Mb4", 2.0, 27.0),
    ("Mb5", 2.0, 35.0),
    ("Mb6", 4.0, 47.0),
    ("Mb7", 6.0, 59.0),
];
/// Threads of a block, of the 4 to 512 that the paper names.
const THREADS: [f64; 8] = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// Sides of the tiles that divide 2000 and fit the range of table 5.
const TILES: [f64; 6] = [4.0, 5.0, 8.0, 10.0, 16.0, 20.0];

/// A row of table 5.
struct Merge {
    name: &'static str,
    /// Threads of the launch: one for each element of the input.
    elements: f64,
    computation: f64,
    memory: f64,
    coalesced: bool,
    registers: f64,
    shared_bytes: f64,
    /// Transactions of an uncoalesced instruction on the GTX 280, which the paper takes from a report that is not among its
    /// pages: those of our kernel of the same name (`warplens predict --model hong-kim --gpu gtx280`).
    per_request_13: f64,
}

const MERGE: [Merge; 5] = [
    Merge {
        name: "Sepia",
        elements: 7000.0 * 7000.0,
        computation: 71.0,
        memory: 6.0,
        coalesced: false,
        registers: 7.0,
        shared_bytes: 52.0,
        per_request_13: 4.0,
    },
    Merge {
        name: "Linear",
        elements: 10000.0 * 10000.0,
        computation: 111.0,
        memory: 30.0,
        coalesced: false,
        registers: 15.0,
        shared_bytes: 60.0,
        per_request_13: 4.565,
    },
    Merge {
        name: "SVM",
        elements: 736.0 * 992.0,
        computation: 10871.0,
        memory: 819.0,
        coalesced: true,
        registers: 9.0,
        shared_bytes: 44.0,
        per_request_13: 2.0,
    },
    Merge {
        name: "Mat. (naive)",
        elements: 2000.0 * 2000.0,
        computation: 12043.0,
        memory: 4001.0,
        coalesced: false,
        registers: 10.0,
        shared_bytes: 88.0,
        per_request_13: 2.0,
    },
    Merge {
        name: "Blackscholes",
        elements: 9e6,
        computation: 137.0,
        memory: 7.0,
        coalesced: false,
        registers: 11.0,
        shared_bytes: 36.0,
        per_request_13: 2.0,
    },
];

/// What the figures show of one prediction.
#[derive(Clone, Copy, Default)]
struct Bars {
    cpi: f64,
    mwp: f64,
    cwp: f64,
    occupancy: f64,
}

fn given(rows: &[(&str, f64)]) -> Given {
    rows.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

fn ask(given: &Given, machine: &Machine) -> Prediction {
    find("hong-kim").unwrap().evaluate(given, Some(machine), &Options::default()).unwrap()
}

/// (25) and what figures 18 to 20 show.
fn bars(given: &Given, machine: &Machine) -> Bars {
    let prediction = ask(given, machine);
    let quantity = |name: &str| prediction.quantity_called(name).unwrap();
    let warps = (given["threads_per_block"] / 32.0).ceil() * given["blocks"] / quantity("Active_SMs");
    let most = if machine.id == GPUS[GTX280] { 32.0 } else { 24.0 };
    Bars {
        cpi: prediction.time.0 / (quantity("Total_insts") * warps),
        mwp: quantity("MWP"),
        cwp: quantity("CWP"),
        occupancy: quantity("N") / most,
    }
}

fn mean(all: &[Bars]) -> Bars {
    let of = |value: fn(&Bars) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    Bars {
        cpi: of(|bars| bars.cpi),
        mwp: of(|bars| bars.mwp),
        cwp: of(|bars| bars.cwp),
        occupancy: of(|bars| bars.occupancy),
    }
}

fn requests(coalesced: bool, memory: f64, per_request: f64) -> [(&'static str, f64); 3] {
    if coalesced {
        [("coal_mem_insts", memory), ("uncoal_mem_insts", 0.0), ("uncoal_per_mw", per_request)]
    } else {
        [("coal_mem_insts", 0.0), ("uncoal_mem_insts", memory), ("uncoal_per_mw", per_request)]
    }
}

impl Merge {
    /// The same work in blocks of `threads`.
    fn bars(&self, gpu: usize, threads: f64) -> Bars {
        let per_request = if gpu == GTX280 { self.per_request_13 } else { 32.0 };
        let mut rows = vec![
            ("threads_per_block", threads),
            ("blocks", (self.elements / threads).ceil()),
            ("registers_per_thread", self.registers),
            ("shared_bytes_per_block", self.shared_bytes),
            ("comp_insts", self.computation),
        ];
        rows.extend(requests(self.coalesced, self.memory, per_request));
        bars(&given(&rows), &machine(GPUS[gpu]))
    }
}

/// Mat. (tiled): a tile of side b takes two loads of each of 2000/b pairs, and a store. Of the printed range both ends say
/// 37 computations for each pair of tiles and 6080 for the 2000 products and the rest.
fn tiled(gpu: usize, side: f64) -> Bars {
    let tiles = 2000.0 / side;
    let mut rows = vec![
        ("threads_per_block", side * side),
        ("blocks", tiles * tiles),
        ("registers_per_thread", 18.0),
        ("shared_bytes_per_block", 3960.0),
        ("comp_insts", 6080.0 + 37.0 * tiles),
        ("synch_insts", 2.0 * tiles),
    ];
    rows.extend(requests(false, 2.0 * tiles + 1.0, if gpu == GTX280 { 2.0 } else { 32.0 }));
    bars(&given(&rows), &machine(GPUS[gpu]))
}

/// All benchmarks of table 5 on a GPU, each the mean over the sizes of its blocks.
fn merge(gpu: usize) -> Vec<(&'static str, Bars)> {
    let over = |bench: &Merge| mean(&THREADS.map(|threads| bench.bars(gpu, threads)));
    let mut all: Vec<(&str, Bars)> = MERGE.iter().map(|bench| (bench.name, over(bench))).collect();
    all.insert(4, ("Mat. (tiled)", mean(&TILES.map(|side| tiled(gpu, side)))));
    all
}

fn micro(gpu: usize, (_, memory, computation): (&str, f64, f64), coalesced: bool) -> Bars {
    // Eight warps in a block, as many blocks as fill the SMs ten times; the paper prints no launch.
    let mut rows = vec![
        ("threads_per_block", 256.0),
        ("blocks", 10.0 * 4.0 * 30.0),
        ("registers_per_thread", 10.0),
        ("comp_insts", ROUNDS * computation),
    ];
    rows.extend(requests(coalesced, ROUNDS * memory, 32.0));
    bars(&given(&rows), &machine(GPUS[gpu]))
}

fn hold(section: &str, table: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/hong_kim.md");
    warplens_literate::hold(&file, section, table);
}

/// Figure 14. The paper: for coalesced accesses the cost of loads is almost hidden; for uncoalesced ones it grows linearly
/// with the number of loads.
#[test]
fn micro_benchmarks() {
    let mut text = String::from("| |");
    GPUS.iter().for_each(|gpu| write!(text, " {gpu} C | UC |").unwrap());
    text.push_str("\n|---|");
    GPUS.iter().for_each(|_| text.push_str("---:|---:|"));
    text.push('\n');
    for bench in MICRO {
        write!(text, "| {} |", bench.0).unwrap();
        for (gpu, id) in GPUS.iter().enumerate() {
            let (coalesced, uncoalesced) = (micro(gpu, bench, true), micro(gpu, bench, false));
            write!(text, " {:.2} | {:.2} |", coalesced.cpi, uncoalesced.cpi).unwrap();
            assert!((4.0 - 1e-9..4.4).contains(&coalesced.cpi), "{}: loads are hidden on {id}", bench.0);
            if bench.1 > 0.0 {
                // Cycles of a load: the departure delay of its 32 transactions.
                let of_a_load = uncoalesced.cpi * (bench.1 + bench.2) / bench.1;
                let delay = if gpu == GTX280 { 32.0 * 40.0 } else { 32.0 * 10.0 };
                assert!((of_a_load / delay - 1.0).abs() < 0.04, "{} on {id}: {of_a_load}", bench.0);
            }
        }
        text.push('\n');
    }
    hold("micro-benchmarks", &text);
}

/// Figures 17 to 20, and what the paper says of them.
#[test]
fn merge_benchmarks() {
    let by_gpu: Vec<Vec<(&str, Bars)>> = (0..GPUS.len()).map(merge).collect();
    type Value = fn(&Bars) -> f64;
    let charts: [(&str, Value); 4] = [
        ("CPI", |bars| bars.cpi),
        ("MWP", |bars| bars.mwp),
        ("CWP", |bars| bars.cwp),
        ("occupancy", |bars| 100.0 * bars.occupancy),
    ];
    for (section, value) in charts {
        let mut text = format!("| |{}\n|---|", GPUS.map(|gpu| format!(" {gpu} |")).concat());
        GPUS.iter().for_each(|_| text.push_str("---:|"));
        text.push('\n');
        for (at, (name, _)) in by_gpu[0].iter().enumerate() {
            write!(text, "| {name} |").unwrap();
            by_gpu.iter().for_each(|all| write!(text, " {:.2} |", value(&all[at].1)).unwrap());
            text.push('\n');
        }
        hold(section, &text);
    }
    let of = |gpu: usize, name: &str| by_gpu[gpu].iter().find(|(own, _)| *own == name).unwrap().1;
    for (gpu, all) in by_gpu.iter().enumerate() {
        let svm = of(gpu, "SVM");
        assert!(all.iter().all(|(_, other)| other.mwp <= svm.mwp), "SVM has the highest MWP on {}", GPUS[gpu]);
        // On the GTX 280 our Blackscholes makes 2 transactions for a request, and its CPI is 4.14.
        let lowest = all.iter().all(|(_, other)| other.cpi >= svm.cpi);
        assert_eq!(lowest, gpu != GTX280, "SVM has the lowest CPI on {}", GPUS[gpu]);
    }
    // The GTX 280 combines the requests of all but SVM, which needs no combining.
    for (at, (name, bars)) in by_gpu[GTX280].iter().enumerate().filter(|(_, (name, _))| *name != "SVM") {
        let others = by_gpu[..GTX280].iter().map(|all| all[at].1);
        assert!(others.clone().all(|other| other.mwp <= bars.mwp), "{name}: MWP is higher on the GTX 280");
        assert!(others.clone().all(|other| other.cpi >= bars.cpi), "{name}: CPI is lower on the GTX 280");
    }
}

/// Figure 20: more than 70 % but for Linear and Mat. (tiled), where blocks are not less than two warps.
#[test]
fn occupancies_are_those_of_the_text() {
    for (gpu, id) in GPUS.iter().enumerate() {
        let of =
            |bench: &Merge| mean(&THREADS[4..].iter().map(|&threads| bench.bars(gpu, threads)).collect::<Vec<_>>());
        for bench in &MERGE {
            let high = of(bench).occupancy > 0.7;
            assert_eq!(high, bench.name != "Linear" || gpu == GTX280, "{} on {id}", bench.name);
        }
        assert!(mean(&TILES.map(|side| tiled(gpu, side))).occupancy < 0.7, "Mat. (tiled) on {id}");
    }
}

/// Figures 15 and 16: with more threads in a block the time falls until the SMs are full, and no further.
#[test]
fn times_over_threads() {
    let mut text = format!("| | GPU |{}\n|---|---|", THREADS.map(|threads| format!(" {threads} |")).concat());
    THREADS.iter().for_each(|_| text.push_str("---:|"));
    text.push('\n');
    for (gpu, id) in [(1, "fx5600"), (GTX280, "gtx280")] {
        for bench in &MERGE {
            let times: Vec<f64> = THREADS
                .iter()
                .map(|&threads| {
                    let bars = bench.bars(gpu, threads);
                    let sms = if gpu == GTX280 { 30.0 } else { 16.0 };
                    let clock = if gpu == GTX280 { 1296e6 } else { 1350e6 };
                    let warps = (threads / 32.0).ceil() * (bench.elements / threads).ceil() / sms;
                    1e3 * bars.cpi * (bench.computation + bench.memory) * warps / clock
                })
                .collect();
            let cells: String = times.iter().map(|time| format!(" {time:.1} |")).collect();
            writeln!(text, "| {} | {id} |{cells}", bench.name).unwrap();
            // A block of 4 threads wastes 28 lanes of its warp.
            assert!(times[0] > 7.9 * times[3] * 0.9, "{} on {id}: {times:?}", bench.name);
            let (least, last) = (times.iter().copied().fold(f64::INFINITY, f64::min), times[7]);
            assert!(last < 1.6 * least, "{} on {id}: {times:?}", bench.name);
        }
    }
    hold("times", &text);
}
