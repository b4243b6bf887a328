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
    let frequent = |((pair, _), (cycles, n)): (&(Pair, u32), &(u32, u64))| (*n >= LEAST).then_some((*pair, *cycles));
    let frequent: Vec<(Pair, u32)> = shortest.iter().filter_map(frequent).collect();
    // What a rare pair is held to that is not in the table.
    let held_to = |pair: &Pair| {
        let of_producer = frequent.iter().filter(|(known, _)| (known.0, known.1) == (pair.0, pair.1));
        of_producer.map(|(_, cycles)| *cycles).min()
    };
    shortest.retain(|(pair, _), (cycles, n)| *n >= LEAST || held_to(pair).is_some_and(|held_to| *cycles < held_to));
    let mut pairs: Vec<Pair> = shortest.keys().map(|(pair, _)| *pair).collect();
    pairs.dedup();
    let mut out = std::io::stdout().lock();
    writeln!(out, "# Cycles between an instruction and one that reads its result, at least, by chip. Made by")?;
    writeln!(
        out,
        "# examples/latencies.rs of cubins that ptxas wrote; - where the pair occurs rarely, and not sooner than others."
    )?;
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
