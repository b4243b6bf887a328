//! A GPU that is not there: the timing simulation of a machine whose values are known measures the benchmarks, so that it
//! can be told whether a calibration finds these values.

use warplens_base::error::{Error, Result};
use warplens_launch::Launch;
use warplens_session::machines::{Key, Machine};
use warplens_session::{ExecutionOptions, Progress};

use super::fit::{executed, predicted};
use super::quantum::Quantum;
use super::steps::{STEPS, Shape};
use super::{Timed, plan, program};

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

/// The machine with every parameter that is calibrated changed by chance. Lanes only become fewer: more than a scheduler
/// can keep busy are told by no time.
pub fn perturbed(machine: &Machine, seed: u64) -> Result<Machine> {
    let mut chance = Chance::new(seed);
    let mut perturbed = machine.clone();
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

/// The parameters of all steps.
pub fn keys() -> Vec<Key> {
    STEPS.iter().map(|step| step.key).collect()
}

/// Measures the benchmarks of some parameters of `machine` on `hardware`, which differs from it in values alone. Each time
/// is off by `noise`, as a part of itself, one deviation.
pub fn measured(
    keys: &[Key],
    machine: &Machine,
    hardware: &Machine,
    noise: f64,
    seed: u64,
    execution: &ExecutionOptions,
    progress: &Progress,
) -> Result<Vec<Timed>> {
    let mut chance = Chance::new(seed);
    let program = program();
    let mut timed = Vec::new();
    for (step, points) in plan(machine)?.into_iter().filter(|(step, _)| keys.contains(&step.key)) {
        let launches: Vec<Launch> = points.iter().map(super::Point::launch).collect::<Result<_>>()?;
        for (launch, measurement) in launches.iter().zip(executed(&program, &launches, hardware, execution, progress)?)
        {
            let us = predicted(&measurement, hardware)
                .map_err(|reason| Error::input(format!("{}: {reason}", step.name())))?;
            timed.push(Timed { step, launch: launch.clone(), us: us * (1.0 + noise * chance.normal()) });
        }
    }
    Ok(timed)
}
