//! What a model takes from a profile, checked before it is used: profiles from elsewhere lack counts.

use warplens_machine::{Machine, Strictness};
use warplens_stats::{BankRule, Count, Profile};

use crate::assumption::AssumptionId;
use crate::workload::coalescing_rule;
use crate::{Assumption, Options, Refusal};

/// What a model takes from a profile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand<'d> {
    /// Counts without which there is no answer.
    pub(crate) needed: &'d [Count],
    /// Counts of effects that the model can leave out, and says so.
    pub(crate) refining: &'d [Count],
}

impl Demand<'_> {
    /// Refuses what the profile lacks, and says what is left out. Where the machine is to be strict, nothing is left out.
    pub(crate) fn check(
        &self,
        profile: &Profile,
        machine: &Machine,
        options: &Options,
    ) -> Result<Vec<Assumption>, Refusal> {
        let has = |count: &Count| holds(profile, *count, machine, options);
        let mut missing: Vec<Count> = self.needed.iter().copied().filter(|count| !has(count)).collect();
        let left_out: Vec<Count> = self.refining.iter().copied().filter(|count| !has(count)).collect();
        if options.strictness == Strictness::Strict {
            missing.extend(&left_out);
        }
        if !missing.is_empty() {
            return Err(refusal(&missing, machine, options));
        }
        Ok(sentences(&left_out))
    }
}

/// Issue slots and lanes: all instructions before compute capability 2.0, their classes from then on.
pub(crate) fn instructions(machine: &Machine) -> Count {
    if machine.cc.major < 2 { Count::Instructions } else { Count::Classes }
}

fn holds(profile: &Profile, count: Count, machine: &Machine, options: &Options) -> bool {
    if !profile.has(count) {
        return count == Count::DistinctSectors && profile.dram_sectors.is_some();
    }
    // A map without any rule is that of a kernel without such memory.
    let rule = coalescing_rule(machine.cc, options.fermi_l1);
    let name = count.name();
    if name.starts_with("global.") {
        return profile.global.is_empty() || profile.global.contains_key(&rule);
    }
    if name.starts_with("local.") {
        return profile.local.is_empty() || profile.local.contains_key(&rule);
    }
    if name.starts_with("shared.") {
        return profile.shared.is_empty() || profile.shared.contains_key(&BankRule::of(machine.cc.major.into()));
    }
    if count == Count::DuplicateLoads {
        return profile.duplicate_loads.is_empty() || profile.duplicate_loads.contains_key(&rule);
    }
    true
}

/// The name of a count with the rule that it was looked for under.
fn name(count: Count, machine: &Machine, options: &Options) -> String {
    let rule = coalescing_rule(machine.cc, options.fermi_l1).name();
    match count.name().split_once('.') {
        Some((space @ ("global" | "local"), key)) => format!("{space}[\"{rule}\"].{key}"),
        Some(("shared", key)) => {
            format!("shared[\"{}\"].{key}", BankRule::of(machine.cc.major.into()).name())
        }
        _ => count.name().to_owned(),
    }
}

fn refusal(missing: &[Count], machine: &Machine, options: &Options) -> Refusal {
    let missing: Vec<String> = missing.iter().map(|&count| name(count, machine, options)).collect();
    let reason = format!("the profile does not hold {}", missing.join(", "));
    Refusal { missing, reason }
}

fn sentences(left_out: &[Count]) -> Vec<Assumption> {
    let mut sentences = Vec::new();
    let mut names = Vec::new();
    for count in left_out {
        match count {
            Count::IndependentLoads | Count::IndependentLoadsProgramOrder => {
                sentences.push(AssumptionId::OneLoad.plain())
            }
            Count::DuplicateLoads => sentences.push(AssumptionId::NoMerging.plain()),
            count => names.push(count.name()),
        }
    }
    if !names.is_empty() {
        sentences.insert(0, AssumptionId::NotCounted.with(names.join(", ")));
    }
    sentences
}
