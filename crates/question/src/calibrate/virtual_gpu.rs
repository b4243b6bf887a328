//! A GPU that is not there: the timing simulation of a machine whose values are known measures the benchmarks, so that it
//! can be told whether a calibration finds these values.

use warplens_base::error::{Error, Result};
use warplens_model::ModelId;
use warplens_session::machines::{Key, Machine};
use warplens_session::{ExecutionOptions, Progress};

use super::effective::How;
use super::fit::executed;
use super::quantum::Quantum;
use super::steps::{STEPS, Shape};
use super::{Part, Timed, is_held_out, plan};

/// Numbers that look like chance, the same on every host.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// A series of its own for each seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Evenly from 0 to 1 (splitmix64).
    pub fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as f64 / u64::MAX as f64
    }

    /// Normally, with a mean of 0 and a deviation of 1: twelve even numbers less their mean.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }
}

/// Values lie at most so far from those of the machine file.
const LEAST: f64 = 0.75;
const MOST: f64 = 1.25;
/// Of the bandwidth one way, over that of the triad.
const MOST_ONE_WAY: f64 = 1.08;

/// The machine with every physical parameter that is calibrated changed by chance; with a seed of 0 as it is. Lanes only
/// become fewer: more than a scheduler can keep busy are told by no time.
pub fn perturbed(machine: &Machine, seed: u64) -> Result<Machine> {
    let mut chance = Chance::new(seed);
    let mut perturbed = machine.clone();
    if seed == 0 {
        return Ok(perturbed);
    }
    let shape = Shape::of(machine).map_err(|missing| Error::input(missing.to_string()))?;
    for step in STEPS.iter().filter(|step| (step.applies)(&shape)) {
        let Ok(before) = machine.canonical(step.key) else { continue };
        let (least, most, of) = match step.key {
            // What goes one way is never slower than what turns round.
            Key::DramOneWayBandwidth => {
                (1.0, MOST_ONE_WAY, perturbed.canonical(Key::DramAchievedBandwidth).unwrap_or(before))
            }
            key if key.group() == "lanes" => (LEAST, 1.0, before),
            _ => (LEAST, MOST, before),
        };
        let mut number = of * (least + (most - least) * chance.even());
        if let Some(quantum) = Quantum::of(machine, step.key) {
            number = quantum.value(quantum.number(number).round().max(1.0));
        }
        let impossible = |of| Error::input(format!("{of}"));
        perturbed.suppose(step.key, number, "a virtual GPU").map_err(impossible)?;
    }
    Ok(perturbed)
}

/// Measures the benchmarks of the parts for which `wanted` says so on `hardware`, which differs from `machine` in values
/// alone. Each time is off by `noise`, as a part of itself, one deviation.
pub fn measured(
    wanted: impl Fn(Part) -> bool,
    machine: &Machine,
    hardware: &Machine,
    noise: f64,
    seed: u64,
    execution: &ExecutionOptions,
    progress: &Progress,
) -> Result<Vec<Timed>> {
    let mut chance = Chance::new(seed);
    let mut all = Vec::new();
    for (part, points) in plan(machine)?.into_iter().filter(|(part, _)| wanted(*part)) {
        for (number, point) in points.iter().enumerate() {
            let is_held_out = is_held_out(part, number);
            let mut timed =
                Timed { part, launch: point.launch()?, program: None, us: 0.0, is_of_clock: false, is_held_out };
            // One after the other, as what is kept of a long launch is large.
            let measurement = executed(&[&timed], hardware, execution, progress)?.remove(0);
            match measurement.predicted(hardware, ModelId::Teg) {
                Ok(us) => timed.us = us * (1.0 + noise * chance.normal()),
                // What a chip has no instruction for, and nobody knows what becomes of it: its price stays open.
                Err(_) if matches!(part, Part::Group(group) if group.how == How::Difference) => continue,
                Err(reason) => return Err(Error::input(format!("{}: {reason}", part.name()))),
            }
            all.push(timed);
        }
    }
    Ok(all)
}
