//! How a missing value follows from others.
//!
//! Values of another machine carry over as ratios or as times, never as they are, except between boards of one chip where
//! the value is a property of the SM.

use crate::key::{Key, Scaling};
use crate::machine::Machine;
use crate::reader::{Missing, Reader};
use crate::value::Basis;

/// A way to compute one missing value.
pub(crate) struct Rule {
    /// What is done, for the assumptions.
    pub(crate) name: String,
    /// Computes the value in its canonical unit (seconds where it follows the clock).
    pub(crate) apply: Apply,
}

pub(crate) type Apply = Box<dyn Fn(&mut Reader<'_>) -> Result<f64, Missing>>;

/// The rule for `key` on `machine`, if one applies.
pub(crate) fn rule(machine: &Machine, key: Key) -> Option<Rule> {
    match key {
        Key::DramDepartureDelay32 | Key::DramDepartureDelayVector => Some(departure_delay(machine, 32)),
        Key::DramDepartureDelay64 => Some(departure_delay(machine, 64)),
        Key::DramDepartureDelay128 => Some(departure_delay(machine, 128)),
        Key::HongKimDepartureDelayCoalesced => Some(departure_delay(machine, smallest_transaction(machine, 64))),
        Key::HongKimDepartureDelayUncoalesced => Some(departure_delay(machine, smallest_transaction(machine, 32))),
        Key::DramAchievedBandwidth => achieved_bandwidth(machine),
        Key::LatencyL2 => l2_latency(machine),
        Key::DramLatency => dram_latency(machine).or_else(|| latency_of_sibling(machine, key)),
        Key::DramTurnaround | Key::LatencyL2Far | Key::CtaInterval => latency_of_sibling(machine, key),
        Key::LinkBandwidth => link_bandwidth(machine),
        key if key.group() == "luo_suda" => same_chip(machine, key),
        key => crate::pipeline::rule(machine, key),
    }
}

/// What a value that a rule gives rests on: of a value that was fitted to the timing simulation still that.
pub(crate) fn basis(machine: &Machine, key: Key) -> Basis {
    let of_sibling = nearest(machine, [key]).and_then(|(sibling, _)| sibling.fact(key)).map(|fact| fact.basis);
    match of_sibling {
        Some(Basis::Simulated) if key.group() == "luo_suda" => Basis::Simulated,
        _ => Basis::Inferred,
    }
}

/// Why no rule gives `key`, as a clause.
pub(crate) fn why_none(machine: &Machine, key: Key) -> String {
    const OF_BOARDS: &[&str] = &["sm", "clock", "dram", "hong_kim", "l2", "luo_suda", "launch", "link"];
    let of_board = OF_BOARDS.contains(&key.group()) || key.scaling() == Scaling::WallTime;
    if of_board && machine.siblings.is_empty() && machine.chip.is_none() {
        return "a description of an SM design has no board around it; name a GPU".into();
    }
    match key {
        Key::DramAchievedBandwidth
        | Key::DramLatency
        | Key::DramTurnaround
        | Key::LatencyL2
        | Key::LatencyL2Far
        | Key::CtaInterval => "it was measured neither here nor on a sibling".into(),
        Key::LinkBandwidth => "its memory is that of the host, or nobody says how it is connected".into(),
        key if key.group() == "luo_suda" => "the MPD/CPD model is not calibrated for this chip".into(),
        _ => "the machine file does not state it, and no rule derives it".into(),
    }
}

/// Bytes of the smallest transaction: a 32-byte sector since compute capability 3.0, a 128-byte line on 2.x.
fn smallest_transaction(machine: &Machine, before_fermi: u32) -> u32 {
    match machine.cc.major {
        0 | 1 => before_fermi,
        2 => 128,
        _ => 32,
    }
}

fn departure_delay(machine: &Machine, bytes: u32) -> Rule {
    let bandwidth = if machine.cc.major < 2 { "peak" } else { "achieved" };
    Rule {
        name: format!("departure delay = {bytes} B x SMs x clock / {bandwidth} bandwidth"),
        // In seconds, so the clock drops out here and comes back when the value is read as cycles.
        apply: Box::new(move |reader| Ok(f64::from(bytes) * reader.need(Key::SmCount)? / reader.memory_bandwidth()?)),
    }
}

/// The nearest sibling whose file states all of `keys`, with those values.
fn nearest<const N: usize>(machine: &Machine, keys: [Key; N]) -> Option<(&Machine, [f64; N])> {
    machine.siblings.iter().find_map(|sibling| {
        let mut values = [0.0; N];
        for (value, key) in values.iter_mut().zip(keys) {
            *value = sibling.number(key)?;
        }
        Some((sibling, values))
    })
}

fn achieved_bandwidth(machine: &Machine) -> Option<Rule> {
    let (sibling, [achieved, peak]) = nearest(machine, [Key::DramAchievedBandwidth, Key::DramPeakBandwidth])?;
    let ratio = achieved / peak;
    Some(Rule {
        name: format!("achieved bandwidth = own peak x {ratio:.3}, the achieved share of {}", sibling.name),
        apply: Box::new(move |reader| Ok(ratio * reader.need(Key::DramPeakBandwidth)?)),
    })
}

pub(crate) fn latency_of_sibling(machine: &Machine, key: Key) -> Option<Rule> {
    let (sibling, [seconds]) = nearest(machine, [key])?;
    Some(Rule {
        name: format!("latency of {}, {:.1} ns, in own cycles", sibling.name, seconds * 1e9),
        apply: Box::new(move |_| Ok(seconds)),
    })
}

/// The clock of the L2 cache and of the way to it follows that of the SMs: an H100 of 1755 MHz and an H200 of 1980 MHz
/// need 266 and 273 cycles.
fn l2_latency(machine: &Machine) -> Option<Rule> {
    let (sibling, [seconds]) = nearest(machine, [Key::LatencyL2])?;
    let cycles = seconds * sibling.clock()?;
    Some(Rule {
        name: format!("{cycles:.0} cycles, as on {}", sibling.name),
        apply: Box::new(move |reader| Ok(cycles / reader.clock()?)),
    })
}

/// The way to the L2 cache in cycles, and what comes after it as a time of its own.
fn dram_latency(machine: &Machine) -> Option<Rule> {
    let (sibling, [l2, dram]) = nearest(machine, [Key::LatencyL2, Key::DramLatency])?;
    let (cycles, beyond) = (l2 * sibling.clock()?, dram - l2);
    Some(Rule {
        name: format!(
            "{cycles:.0} cycles to the L2 cache and {:.1} ns beyond it, as on {}",
            beyond * 1e9,
            sibling.name
        ),
        apply: Box::new(move |reader| Ok(cycles / reader.clock()? + beyond)),
    })
}

/// 16 lanes of PCI Express, with 24 bytes of framing around 128 bytes of data (PCI Express base specification: packets of
/// the size that nearly every host allows). The chips of a compute capability have one generation of it; those that share
/// the memory of their host have none.
fn link_bandwidth(machine: &Machine) -> Option<Rule> {
    let cc = machine.cc;
    let (generation, lanes_bytes_per_second) = match (cc.major, cc.minor) {
        (5, 3) | (6, 2) | (7, 2) | (8, 7) | (10, 1) | (11, _) => return None,
        (0 | 1, 0) => (1, 4.0e9),
        (0..=2, _) => (2, 8.0e9),
        (3..=7, _) => (3, 15.754e9),
        (8, _) => (4, 31.508e9),
        _ => (5, 63.015e9),
    };
    // A design has no board around it.
    machine.number(Key::SmCount)?;
    Some(Rule {
        name: format!("PCI Express {generation}.0 x16, packets of 128 B with 24 B around them"),
        apply: Box::new(move |_| Ok(lanes_bytes_per_second * 128.0 / (128.0 + 24.0))),
    })
}

fn same_chip(machine: &Machine, key: Key) -> Option<Rule> {
    let (sibling, [value]) = nearest(machine, [key])?;
    let fact = sibling.fact(key).filter(|fact| fact.basis == Basis::Simulated);
    let source = fact.map_or_else(String::new, |fact| format!(" ({})", fact.source));
    (sibling.chip.is_some() && sibling.chip == machine.chip).then(|| Rule {
        name: format!("the value of {}, which has the same chip{source}", sibling.name),
        apply: Box::new(move |_| Ok(value)),
    })
}
