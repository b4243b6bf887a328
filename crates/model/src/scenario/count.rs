//! Counts that a scenario can set, per warp: one row each.

use std::collections::BTreeMap;

use warplens_isa::OpClass;
use warplens_stats::{CoalescingRule, MemoryCounts, Profile};

use super::Impossible;
use super::edit::{
    Group, edit_memory, requests, scale_accesses, scale_instructions, scale_transactions, scaled, shift_class,
};
use crate::Change;

/// A count that a question may change.
#[derive(Clone, Copy, Debug)]
pub struct CountSpec {
    /// Name that users write.
    pub name: &'static str,
    /// What it counts.
    pub about: &'static str,
    set: fn(&mut Profile, Change) -> Result<(), Impossible>,
}

impl CountSpec {
    /// Changes the count in the profile.
    pub fn set(&self, profile: &mut Profile, change: Change) -> Result<(), Impossible> {
        (self.set)(profile, change)
    }
}

impl PartialEq for CountSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

macro_rules! classes {
    ($($name:literal $class:ident;)*) => {
        /// Every count.
        pub const COUNTS: &[CountSpec] = &[
            CountSpec {
                name: "instructions",
                about: "warp instructions of a warp; memory accesses and barriers among them stay as they are",
                set: set_instructions,
            },
            $(CountSpec {
                name: concat!("instructions.", $name),
                about: concat!("warp instructions of class `", $name, "` of a warp"),
                set: |profile, change| set_class(profile, OpClass::$class, change),
            },)*
            CountSpec {
                name: "requests",
                about: "requests of a warp to global and local memory, with their transactions",
                set: |profile, change| {
                    let factor = factor(change, per_warp_requests(profile), "request to global or local memory")?;
                    let before = requests(profile);
                    edit_memory(profile, |_, counts| scale_accesses(counts, factor));
                    let difference = requests(profile) as i64 - before as i64;
                    shift_class(profile, OpClass::Memory, difference);
                    Ok(())
                },
            },
            CountSpec {
                name: "transactions",
                about: "transactions of a request to global or local memory",
                set: set_transactions,
            },
            CountSpec {
                name: "conflict_wavefronts",
                about: "wavefronts of a warp that bank conflicts in shared memory add",
                set: set_conflicts,
            },
            CountSpec {
                name: "barriers",
                about: "CTA barriers of a warp",
                set: |profile, change| {
                    let after = (change.of(profile.per_warp(profile.barriers)) * profile.warps as f64).round();
                    shift_class(profile, OpClass::Barrier, after as i64 - profile.barriers as i64);
                    profile.barriers = after as u64;
                    Ok(())
                },
            },
            CountSpec {
                name: "independent_loads",
                about: "loads that a warp has in flight before it needs the value of the first, at least 1",
                set: |profile, change| {
                    let Profile { independent_loads, independent_loads_program_order, .. } = profile;
                    if independent_loads.is_none() {
                        return Err(Impossible::new("the kernel has no load of global memory"));
                    }
                    [independent_loads, independent_loads_program_order].into_iter().flatten().try_for_each(|loads| {
                        *loads = at_least_one("independent_loads", change.of(*loads))?;
                        Ok(())
                    })
                },
            },
            CountSpec {
                name: "duplicate_loads",
                about: "loads in flight that fetch the same data, at least 1",
                set: |profile, change| {
                    for rule in CoalescingRule::ALL {
                        let factor = profile.duplicate_loads.entry(rule).or_insert(1.0);
                        *factor = at_least_one("duplicate_loads", change.of(*factor))?;
                    }
                    Ok(())
                },
            },
            CountSpec {
                name: "distinct_sectors",
                about: "distinct 32-byte sectors that a warp reads and writes, as a mean",
                set: |profile, change| {
                    let sectors = profile.distinct_sectors_read + profile.distinct_sectors_written;
                    let factor = factor(change, profile.per_warp(sectors), "access to global memory")?;
                    profile.distinct_sectors_read = scaled(profile.distinct_sectors_read, factor);
                    profile.distinct_sectors_written = scaled(profile.distinct_sectors_written, factor);
                    Ok(())
                },
            },
        ];
    };
}

classes! {
    "fp32" Fp32;
    "fp64" Fp64;
    "fp16" Fp16;
    "int" Int;
    "int_mul" IntMul;
    "sfu" Sfu;
    "convert" Convert;
    "control" Control;
    "warp" Warp;
    "virtual" Virtual;
    "other" Other;
}

/// The factor that makes `now` what is asked for.
fn factor(change: Change, now: f64, what: &str) -> Result<f64, Impossible> {
    match change {
        Change::Factor(factor) => Ok(factor),
        Change::Value(value) if now > 0.0 => Ok(value / now),
        Change::Value(_) => Err(Impossible::new(format!("the kernel has no {what}, whose number could be another"))),
    }
}

fn at_least_one(name: &str, value: f64) -> Result<f64, Impossible> {
    if value >= 1.0 { Ok(value) } else { Err(Impossible::new(format!("`{name}` would be {value}; it is at least 1"))) }
}

fn per_warp_requests(profile: &Profile) -> f64 {
    profile.per_warp(requests(profile))
}

fn set_instructions(profile: &mut Profile, change: Change) -> Result<(), Impossible> {
    let of_group = |group: Group| -> u64 {
        profile.instructions.by_class.iter().filter(|(class, _)| Group::of(**class) == group).map(|(_, n)| n).sum()
    };
    let fixed = profile.per_warp(of_group(Group::Memory) + of_group(Group::Barrier));
    let total = profile.per_warp(profile.instructions.total);
    let wanted = change.of(total);
    if wanted < fixed {
        return Err(Impossible::new(format!(
            "`instructions` would be {wanted} per warp, but {fixed} are memory accesses and barriers, which stay"
        )));
    }
    if total == fixed {
        return Err(Impossible::new("all instructions are memory accesses and barriers, which stay"));
    }
    scale_instructions(profile, Group::Compute, (wanted - fixed) / (total - fixed));
    Ok(())
}

fn set_class(profile: &mut Profile, class: OpClass, change: Change) -> Result<(), Impossible> {
    let now = profile.instructions.of_class(class);
    let after = (change.of(profile.per_warp(now)) * profile.warps as f64).round();
    shift_class(profile, class, after as i64 - now as i64);
    Ok(())
}

fn set_transactions(profile: &mut Profile, change: Change) -> Result<(), Impossible> {
    let mean = |profile: &Profile, rule: CoalescingRule| {
        let both = [profile.global.get(&rule), profile.local.get(&rule)];
        let sum = |count: fn(&MemoryCounts) -> u64| both.iter().flatten().map(|counts| count(counts)).sum::<u64>();
        let (requests, transactions) = (sum(|counts| counts.requests), sum(MemoryCounts::transactions));
        if requests == 0 { 0.0 } else { transactions as f64 / requests as f64 }
    };
    let mut factors = BTreeMap::new();
    for rule in CoalescingRule::ALL {
        factors.insert(rule, factor(change, mean(profile, rule), "request to global or local memory")?);
    }
    edit_memory(profile, |place, counts| scale_transactions(counts, factors[&place.rule]));
    Ok(())
}

fn set_conflicts(profile: &mut Profile, change: Change) -> Result<(), Impossible> {
    let warps = profile.warps.max(1) as f64;
    for (rule, counts) in &mut profile.shared {
        let extra = counts.wavefronts.saturating_sub(counts.ideal_wavefronts);
        let wanted = (change.of(extra as f64 / warps) * warps).round() as u64;
        if counts.requests == 0 && wanted > 0 {
            return Err(Impossible::new("the kernel does not access shared memory"));
        }
        counts.wavefronts = counts.ideal_wavefronts + wanted;
        // Lines keep their shares.
        for line in profile.lines.iter_mut().filter_map(|line| line.shared.get_mut(rule)) {
            let of_line = line.wavefronts.saturating_sub(line.ideal_wavefronts);
            let share = if extra > 0 { of_line as f64 / extra as f64 } else { 0.0 };
            line.wavefronts = line.ideal_wavefronts + scaled(wanted, share);
        }
    }
    Ok(())
}
