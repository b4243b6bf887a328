//! The pages of the manual that are written from the machines and the parameter table.

use std::fmt::Write as _;

use crate::builtin;
use crate::key::{Key, Scaling, Shape};
use crate::load::LoadError;
use crate::machine::Machine;
use crate::reader::{Reader, Strictness};
use crate::unit::Unit;
use crate::value::Basis;

const OPENING: &str = "\
# Machines

A machine is one file in `machines/`.
Each value has a unit, a source and a basis: how it came about.
`warplens gpu show NAME` prints all of them, `warplens gpu diff A B` the differences.
Values in *italics* are derived by the rules below; `--strict` refuses them.
";

const COLUMNS: &str = "
| name | GPU | target | SMs | clock MHz | peak GB/s | achieved GB/s | DRAM latency ns |
|---|---|---|--:|--:|--:|--:|--:|
";

const NAMES: &str = "
A name is accepted in any case, with `_` or a space for `-`, and as the marketing name; `v100` is `v100-pcie`, `a100` is `a100-80`, `h100` is `h100-sxm`.
`NAME@MHZ` asks for another clock, `sm_90` for every machine of that target, `all` for every machine, `FILE.toml` for a machine of your own.

## How missing values are derived

1. The departure delay of a transaction is its bytes times SMs times clock over the achieved bandwidth; on compute capability 1.x over the peak, as the papers of that time did.
2. The achieved bandwidth is the machine's own measurement, else its own peak times the achieved share of the nearest sibling.
3. A latency beyond the L1 cache is the machine's own, else the nearest sibling's in nanoseconds times the clock.
4. The constants of the MPD/CPD model hold for every board of the chip that they were fitted on.
5. A latency or a queue of the SM, and what passes between two CTAs in the same place, in its own cycles, is the nearest sibling's, else that of the nearest older SM design that states one, else of the nearest newer; compute capability 1.x and 2.x, with a clock of their own for the lanes, and later ones do not mix.
6. A conversion takes as long as a special function and has its lanes, an atomic operation on shared memory as long as a load from it; before compute capability 3.0 an integer product and a predicate take as long as an integer addition.
7. The memory unit of the SM takes an instruction in the time that the warp's lanes need on the lanes of memory instructions.
8. The bandwidth of the L2 cache is that of the nearest sibling per SM and cycle, else what all SMs can take.
9. The time between two rows of a bank of the device memory is the nearest sibling's, else that of the nearest board that states one, older before newer: it is a time of DRAM, which has changed little.
10. Device memory of compute capability 1.x has as many channels per bit of its interface as the board of that time that states them; its latency in the timing simulation is the sibling's, else `dram.latency`.

Values of another board carry over as ratios, as times, or as cycles of the SM's pipelines, never as they are.
A file names its siblings, nearest first.
What no rule gives is missing, and a model that needs it refuses with its name.

## Basis

| basis | meaning |
|---|---|
| vendor | stated by the vendor in a document or header that was read |
| measured | result of a benchmark on the machine, or on another with the same SM design where the source says so |
| fitted | the value that fits a model to measurements |
| compiler | what the vendor's compiler assumes |
| simulator | parameter of a published simulator or model |
| simulated | the value that fits a model to times of this program's own timing simulation, not of a GPU |
| recalled | quoted from memory of a document: check it before citing |
| inferred | derived from other values |
| given | asked for by the user |
| what-if | supposed by a what-if question |

## Parameters

Durations marked with a clock are kept in nanoseconds and follow the clock of the prediction.

| parameter | unit | meaning |
|---|---|---|
";

/// The page about machines, in markdown.
pub fn machines() -> Result<String, LoadError> {
    let mut page = OPENING.to_owned();
    page.push_str(COLUMNS);
    for machine in builtin::all()? {
        page.push_str(&row(&machine));
    }
    page.push_str(NAMES);
    for &key in Key::ALL {
        let _ = writeln!(page, "| `{key}` | {} | {} |", unit(key), key.doc());
    }
    Ok(page)
}

fn row(machine: &Machine) -> String {
    let number = |key: Key, scale: f64, digits: usize| {
        let mut reader = Reader::new(machine, Strictness::AllowInferred);
        let Some(value) = reader.optional(key) else { return "unknown".to_owned() };
        let seconds = key.scaling() == Scaling::WallTime;
        let value = if seconds { machine.clock().map_or(0.0, |hertz| value / hertz) } else { value };
        let text = format!("{:.digits$}", value / scale);
        let derived = reader.readings().parameters.iter().any(|read| read.key == key && read.basis == Basis::Inferred);
        if derived { format!("*{text}*") } else { text }
    };
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} |\n",
        machine.id,
        machine.name,
        machine.cc.target(),
        number(Key::SmCount, 1.0, 0),
        number(Key::ClockDefault, 1e6, 0),
        number(Key::DramPeakBandwidth, 1e9, 1),
        number(Key::DramAchievedBandwidth, 1e9, 0),
        number(Key::DramLatency, 1e-9, 0),
    )
}

fn unit(key: Key) -> String {
    match (key.shape(), key.unit()) {
        (Shape::Word(words), _) => words.join(", "),
        (Shape::Mix, _) => "instructions per lane kind".to_owned(),
        (Shape::Number, Unit::Count) => String::new(),
        (Shape::Number, unit) if key.scaling() == Scaling::WallTime => format!("{}, clock", unit.symbol()),
        (Shape::Number, unit) => unit.symbol().to_owned(),
        (Shape::List, unit) => format!("list of {}", unit.symbol()),
    }
}
