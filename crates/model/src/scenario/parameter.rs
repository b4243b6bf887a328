//! What a scenario can set, and how a value gets where it belongs.

use warplens_machine::{Key, Scaling};
use warplens_sim::traces::Traces;
use warplens_stats::RegistersBasis;

use super::effect::raise_bandwidth;
use super::{CountSpec, Impossible, Setting, Subject};
use crate::{Change, KnobSpec};

/// Something that a question may change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Parameter {
    /// A machine parameter.
    Machine(Key),
    /// Machine parameters by a short name.
    Alias(&'static AliasSpec),
    /// A field of the launch.
    Launch(&'static LaunchField),
    /// A count.
    Count(&'static CountSpec),
    /// A quantity of one model.
    Knob(&'static KnobSpec),
}

/// A short name of machine parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AliasSpec {
    /// Name that users write.
    pub name: &'static str,
    /// The parameter whose unit a value has.
    pub key: Key,
    /// The parameters that it sets.
    pub about: &'static str,
}

/// Every short name.
pub const ALIASES: &[AliasSpec] = &[
    AliasSpec {
        name: "dram.bandwidth",
        key: Key::DramPeakBandwidth,
        about: "`dram.peak_bandwidth` and `dram.achieved_bandwidth`; a factor scales both, a value is the value of both",
    },
    AliasSpec { name: "bandwidth", key: Key::DramPeakBandwidth, about: "the same as `dram.bandwidth`" },
    AliasSpec {
        name: "clock",
        key: Key::ClockDefault,
        about: "`clock.default`, the clock of predictions; durations outside the SM keep their nanoseconds",
    },
    AliasSpec { name: "latency", key: Key::DramLatency, about: "`dram.latency`" },
    AliasSpec { name: "sms", key: Key::SmCount, about: "`sm.count`" },
];

/// A field of the launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchField {
    /// Name that users write.
    pub name: &'static str,
    /// What it is, and what follows.
    pub about: &'static str,
    /// True where the kernel runs again, as it would do other things.
    pub runs_again: bool,
}

/// Every field of the launch.
pub const LAUNCH_FIELDS: &[LaunchField] = &[
    LaunchField {
        name: "registers",
        about: "registers of a thread; changes the occupancy and nothing else",
        runs_again: false,
    },
    LaunchField {
        name: "shared_bytes",
        about: "shared memory of a CTA in bytes; changes the occupancy and nothing else",
        runs_again: false,
    },
    LaunchField {
        name: "block",
        about: "threads of a CTA, `X[,Y[,Z]]`, or a factor for X; the kernel runs again, with the same grid unless that \
                is set, too",
        runs_again: true,
    },
    LaunchField {
        name: "grid",
        about: "CTAs, `X[,Y[,Z]]`, or a factor for X; the kernel runs again",
        runs_again: true,
    },
];

impl Parameter {
    /// The name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Machine(key) => key.name(),
            Self::Alias(alias) => alias.name,
            Self::Launch(field) => field.name,
            Self::Count(count) => count.name,
            Self::Knob(knob) => knob.name,
        }
    }

    /// The machine parameter whose unit a value has.
    pub fn key(&self) -> Option<Key> {
        match self {
            Self::Machine(key) => Some(*key),
            Self::Alias(alias) => Some(alias.key),
            _ => None,
        }
    }
}

impl Setting {
    /// Changes the subject. Fields of the launch with which the kernel runs again are none of its business.
    pub fn apply(&self, subject: &mut Subject) -> Result<(), Impossible> {
        match self.parameter {
            Parameter::Machine(key) => self.suppose(subject, key),
            Parameter::Alias(alias) if alias.key == Key::DramPeakBandwidth => match self.change {
                Change::Factor(factor) => raise_bandwidth(subject, factor, &self.text),
                Change::Value(_) => {
                    self.suppose(subject, Key::DramPeakBandwidth)?;
                    if subject.machine.number(Key::DramOneWayBandwidth).is_some() {
                        self.suppose(subject, Key::DramOneWayBandwidth)?;
                    }
                    self.suppose(subject, Key::DramAchievedBandwidth)
                }
            },
            Parameter::Alias(alias) => self.suppose(subject, alias.key),
            Parameter::Launch(field) => self.launch(subject, field),
            Parameter::Count(count) => {
                if matches!(subject.traces, Traces::Made(_)) {
                    subject.traces = Traces::Outdated;
                }
                count.set(&mut subject.profile, self.change)
            }
            Parameter::Knob(knob) => {
                subject.knobs.set(knob, self.change);
                Ok(())
            }
        }
    }

    fn suppose(&self, subject: &mut Subject, key: Key) -> Result<(), Impossible> {
        let machine = &mut subject.machine;
        let done = match self.change {
            Change::Factor(factor) => machine.suppose_scaled(key, factor, &self.text),
            Change::Value(cycles) if self.in_cycles && key.scaling() == Scaling::WallTime => {
                let clock = machine.canonical(Key::ClockDefault).map_err(|why| Impossible::new(why.to_string()))?;
                machine.suppose(key, cycles / clock, &self.text)
            }
            Change::Value(number) => machine.suppose(key, number, &self.text),
        };
        done.map_err(|why| Impossible::new(why.reason))
    }

    fn launch(&self, subject: &mut Subject, field: &LaunchField) -> Result<(), Impossible> {
        let launch = &mut subject.profile.launch;
        match field.name {
            "registers" => {
                let registers = self.change.of(f64::from(launch.registers)).round();
                if !(1.0..=255.0).contains(&registers) {
                    return Err(Impossible::new(format!("`registers` would be {registers}; it is between 1 and 255")));
                }
                launch.registers = registers as u32;
                launch.registers_basis = RegistersBasis::User;
            }
            "shared_bytes" => launch.shared_bytes = self.change.of(launch.shared_bytes as f64).round() as u64,
            _ => {}
        }
        Ok(())
    }
}
