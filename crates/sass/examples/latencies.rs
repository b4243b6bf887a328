//! Makes the table of latencies: the fewest cycles that code of ptxas leaves between an instruction of fixed latency and
//! one that reads its result.
//!
//! `cargo run --release -p warplens-sass --example latencies -- CUBIN... > crates/sass/tables/latencies.txt`

use std::collections::BTreeMap;
use std::io::Write as _;

use warplens_sass::container::Cubin;
use warplens_sass::hazards::latency::{Pair, Unit, pair};
use warplens_sass::{CHIPS, hazards, lower};

type Failure = Box<dyn std::error::Error>;

/// Distances that occur more rarely on a chip may all be longer than they have to be.
const LEAST: u64 = 200;

fn main() -> Result<(), Failure> {
    // The fewest cycles, and how often the pair occurs.
    let mut shortest: BTreeMap<(Pair, u32), (u32, u64)> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let cubin = Cubin::read(&std::fs::read(&path)?)?;
        let lowered = lower::lower(&cubin)?;
        for (kernel, _) in lowered.module.kernels() {
            for distance in hazards::distances(&lowered, kernel) {
                let (cycles, n) =
                    shortest.entry((pair(&lowered.module, &distance), cubin.target.sm)).or_insert((distance.cycles, 0));
                *cycles = distance.cycles.min(*cycles);
                *n += 1;
            }
        }
    }
    shortest.retain(|_, (_, n)| *n >= LEAST);
    let mut pairs: Vec<Pair> = shortest.keys().map(|(pair, _)| *pair).collect();
    pairs.dedup();
    let mut out = std::io::stdout().lock();
    writeln!(out, "# Cycles between an instruction and one that reads its result, at least, by chip. Made by")?;
    writeln!(out, "# examples/latencies.rs of cubins that ptxas wrote; - where the pair occurs too rarely.")?;
    writeln!(out, "producer role user {}", CHIPS.map(|chip| chip.to_string()).join(" "))?;
    for pair in pairs {
        let cells =
            CHIPS.map(|chip| shortest.get(&(pair, chip)).map_or("-".to_owned(), |(cycles, _)| cycles.to_string()));
        writeln!(out, "{} {} {} {}", name(pair.0), pair.1, name(pair.2), cells.join(" "))?;
    }
    Ok(())
}

fn name(unit: Unit) -> &'static str {
    Unit::ALL.iter().find(|(_, own)| *own == unit).map_or("", |(name, _)| name)
}
