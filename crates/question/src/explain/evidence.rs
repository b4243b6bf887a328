//! The quantities that show what bounds a kernel, each in a sentence.

use super::Context;
use crate::digits::short;
use crate::{glance, whatif};
use warplens_model::Symbol;
use warplens_session::predict::{Combine, Prediction};
use warplens_session::profile::{CoalescingRule, MemoryCounts, Profile, StateSpace};

/// A sentence with the numbers behind it.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// What it is about.
    pub id: &'static str,
    /// The sentence, without a final period.
    pub text: String,
    /// Its numbers by name.
    pub values: Vec<(&'static str, f64)>,
}

/// Everything that there is to say, the limiter first.
pub(super) fn of(context: &Context<'_>) -> Vec<Evidence> {
    let parts: [fn(&Context<'_>) -> Option<Evidence>; 11] =
        [limiter, prices, overlap, balance, in_flight, occupancy, transactions, repeats, banks, lanes, barriers];
    parts.iter().filter_map(|part| part(context)).collect()
}

fn evidence(id: &'static str, text: String, values: &[(&'static str, f64)]) -> Option<Evidence> {
    Some(Evidence { id, text, values: values.to_vec() })
}

fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}

/// A term that takes this share of the time bounds a kernel alone.
const MOSTLY: f64 = 0.6;

/// What bounds the kernel, and what it consists of; where it does not take most of the time, the next one, too.
fn limiter(context: &Context<'_>) -> Option<Evidence> {
    let prediction = context.prediction;
    let terms = prediction.limiting_terms();
    let term = terms[0];
    if prediction.time.0 <= 0.0 {
        return None;
    }
    let bound = glance::bound(prediction);
    let (name, share) = (bound.full_name(), bound.share);
    let of_all: f64 = terms.iter().map(|term| term.cycles.0).sum();
    let mut text = match prediction.combine {
        Combine::Max => format!("{name} is the longest of what overlaps, and so the time"),
        _ => format!("{name} takes {} of the time", percent(share)),
    };
    // What takes less than this has something beside it that takes about as much.
    let beside = prediction.terms.iter().filter(|other| other.resource != term.resource);
    let beside = beside.max_by(|left, right| left.cycles.0.total_cmp(&right.cycles.0));
    if let Some(beside) = beside.filter(|_| !matches!(prediction.combine, Combine::Max) && share < MOSTLY) {
        text.push_str(&format!(", and {} {}", beside.name, percent(beside.cycles.0 / prediction.time.0)));
    }
    let mut parts: Vec<(&str, f64)> = match terms.len() {
        1 => term.parts.iter().map(|part| (part.name.as_str(), part.cycles.0)).collect(),
        _ => terms.iter().map(|term| (term.name, term.cycles.0)).collect(),
    };
    parts.retain(|(_, cycles)| *cycles >= 0.05 * of_all);
    parts.sort_by(|left, right| right.1.total_cmp(&left.1));
    if parts.len() > 1 {
        let listed: Vec<String> =
            parts.iter().take(4).map(|(name, cycles)| format!("{name} {}", percent(cycles / of_all))).collect();
        text.push_str(&format!(": {}", listed.join(", ")));
    }
    evidence("limiter", text, &[("share", share)])
}

/// Effects that cost less of the time are not named.
const LEAST_PRICE: f64 = 0.01;

/// What the effects cost that a simulation can leave out.
fn prices(context: &Context<'_>) -> Option<Evidence> {
    context.prediction.teg()?;
    let prices = whatif::of_each(&context.as_is, context.prediction, context.options);
    let costs = prices.iter().filter_map(|price| Some((price.effect?.name(), price.share()?, price.cycles()?)));
    let costs: Vec<_> = costs.filter(|(_, share, _)| *share >= LEAST_PRICE).collect();
    if costs.is_empty() {
        return evidence("prices", "no single effect costs as much as 1 % of the time".to_owned(), &[]);
    }
    let listed = costs.iter().map(|(name, share, cycles)| format!("{name} {} ({cycles:.0} cycles)", percent(*share)));
    let listed: Vec<String> = listed.collect();
    let values: Vec<(&'static str, f64)> = costs.iter().map(|(name, share, _)| (*name, *share)).collect();
    evidence("prices", format!("simulated without it, each of these effects costs: {}", listed.join(", ")), &values)
}

/// MWP against CWP, or the bound of the X-model.
fn overlap(context: &Context<'_>) -> Option<Evidence> {
    let prediction = context.prediction;
    let (mwp, cwp) = (prediction.quantity(Symbol::Mwp)?, prediction.quantity(Symbol::Cwp)?);
    let n = warps(prediction)?;
    let (m, c, all) = (short(mwp), short(cwp), short(n));
    let overlapping = if mwp < n { format!("of {m} of {all} warps") } else { format!("of all {all} warps") };
    let text = match prediction.quantity(Symbol::Case)? as u32 {
        0 => format!("no access to device memory: the {all} warps of an SM compute one after the other"),
        22 => format!("MWP {m} and CWP {c} reach the {all} warps of an SM: too few to keep memory or lanes busy"),
        23 if mwp <= cwp => {
            format!("MWP {m} <= CWP {c}: the memory requests {overlapping} overlap, so the warps wait for memory")
        }
        23 => format!("MWP {m} > CWP {c}, but issuing everything takes longer than memory"),
        _ => format!("MWP {m} > CWP {c}: the memory requests {overlapping} overlap, and computing hides most of them"),
    };
    evidence("overlap", text, &[("MWP", mwp), ("CWP", cwp), ("warps", n)])
}

/// Where the X-model's machine rests.
fn balance(context: &Context<'_>) -> Option<Evidence> {
    let solved = context.prediction.x_model()?;
    let (state, unit) = (&solved.state, solved.units.threads);
    let (n, reached) = (state.system.threads, state.reached());
    let text = format!(
        "of {} {unit} {} wait for memory and {} compute: {} bound",
        short(n),
        short(reached.k),
        short(reached.x),
        state.bound.name()
    );
    evidence("balance", text, &[("n", n), ("k", reached.k), ("x", reached.x)])
}

fn warps(prediction: &Prediction) -> Option<f64> {
    prediction.quantity(Symbol::ActiveWarpsPerSm).or_else(|| prediction.quantity(Symbol::N))
}

/// What limits the requests in flight.
fn in_flight(context: &Context<'_>) -> Option<Evidence> {
    let prediction = context.prediction;
    let quantity = |symbols: [Symbol; 2]| symbols.into_iter().find_map(|symbol| prediction.quantity(symbol));
    let bandwidth = quantity([Symbol::MwpPeakBandwidth, Symbol::MwpPeakBw])?;
    let transactions = prediction.quantity(Symbol::MwpWithoutBwFull)?;
    let warps = prediction.quantity(Symbol::ActiveWarpsForMwp).or_else(|| warps(prediction))?;
    let near = 1.0 + 1e-9;
    let which = if bandwidth <= near * transactions && bandwidth <= near * warps {
        "the bandwidth of device memory"
    } else if transactions <= near * warps {
        "the distance between the transactions of an SM"
    } else {
        "the number of warps and of their independent loads"
    };
    let mut text = format!(
        "requests in flight are limited by {which}: bandwidth allows {}, transactions {}, warps {}",
        short(bandwidth),
        short(transactions),
        short(warps)
    );
    if let (Some(independent), Some(duplicate)) =
        (prediction.quantity(Symbol::IndependentLoads), prediction.quantity(Symbol::DuplicateLoads))
    {
        text.push_str(&format!(
            " (loads of a warp in flight: {}; of the same data: {})",
            short(independent),
            short(duplicate)
        ));
    }
    let values = [("bandwidth", bandwidth), ("transactions", transactions), ("warps", warps)];
    evidence("in-flight", text, &values)
}

fn occupancy(context: &Context<'_>) -> Option<Evidence> {
    let occupancy = context.occupancy?;
    let launch = &context.profile.launch;
    let by: Vec<&str> = occupancy.limiters().map(|limiter| limiter.name()).collect();
    let slots = if occupancy.share > 0.0 { f64::from(occupancy.warps) / occupancy.share } else { 0.0 };
    let mut text = format!(
        "{} of {} warps fit on an SM ({}), limited by {}: {} registers per thread, {} B of shared memory and {} threads per \
         block",
        occupancy.warps,
        short(slots),
        percent(occupancy.share),
        by.join(" and "),
        launch.registers,
        launch.shared_bytes,
        launch.n_threads()
    );
    let here = warps(context.prediction);
    if let Some(filled) = here.filter(|filled| *filled < f64::from(occupancy.warps)) {
        text.push_str(&format!("; the grid of {} blocks fills {} of them", launch.n_ctas(), short(filled)));
    }
    evidence("occupancy", text, &[("warps", f64::from(occupancy.warps)), ("share", occupancy.share)])
}

/// Global and local memory together.
pub(super) fn memory(profile: &Profile, rule: CoalescingRule) -> MemoryCounts {
    let (global, local) = (profile.global.get(&rule), profile.local.get(&rule));
    let sum = |field: fn(&MemoryCounts) -> u64| global.map_or(0, field) + local.map_or(0, field);
    MemoryCounts {
        requests: sum(|counts| counts.requests),
        t32: sum(|counts| counts.t32),
        t64: sum(|counts| counts.t64),
        t128: sum(|counts| counts.t128),
        ideal_t32: sum(|counts| counts.ideal_t32),
        ideal_t64: sum(|counts| counts.ideal_t64),
        ideal_t128: sum(|counts| counts.ideal_t128),
        bytes_requested: sum(|counts| counts.bytes_requested),
        bytes_moved: sum(|counts| counts.bytes_moved),
        ..MemoryCounts::default()
    }
}

fn transactions(context: &Context<'_>) -> Option<Evidence> {
    let counts = memory(context.profile, context.rule);
    if counts.requests == 0 || counts.bytes_moved == 0 {
        return None;
    }
    let per_request = counts.transactions() as f64 / counts.requests as f64;
    let mut text = format!("a memory request takes {} transactions", short(per_request));
    let mut values = vec![("per_request", per_request)];
    if let Some(ideal) = counts.ideal_transactions() {
        let ideal_bytes = 32 * counts.ideal_t32 + 64 * counts.ideal_t64 + 128 * counts.ideal_t128;
        let (fewest, used) = (ideal as f64 / counts.requests as f64, ideal_bytes as f64 / counts.bytes_moved as f64);
        text.push_str(&format!(
            ", its distinct bytes would need {}; {} of the moved bytes are used",
            short(fewest),
            percent(used)
        ));
        values.extend([("fewest_per_request", fewest), ("used_share", used)]);
    }
    evidence("transactions", text, &values)
}

fn repeats(context: &Context<'_>) -> Option<Evidence> {
    let (moved, distinct) = loaded(context)?;
    let times = moved / distinct;
    if times < 1.05 {
        return None;
    }
    let text = format!("each sector of global memory is loaded {} times on average", short(times));
    evidence("repeats", text, &[("times", times)])
}

/// Bytes that loads of global memory move, and distinct ones.
fn loaded(context: &Context<'_>) -> Option<(f64, f64)> {
    of_loads(context, |counts| counts.bytes_moved)
}

/// Bytes that loads of global memory would move if each request's lay side by side, and distinct ones.
pub(super) fn used(context: &Context<'_>) -> Option<(f64, f64)> {
    of_loads(context, |counts| match counts.ideal_transactions() {
        Some(_) => 32 * counts.ideal_t32 + 64 * counts.ideal_t64 + 128 * counts.ideal_t128,
        None => counts.bytes_moved.min(counts.bytes_requested),
    })
}

fn of_loads(context: &Context<'_>, bytes: fn(&MemoryCounts) -> u64) -> Option<(f64, f64)> {
    let loads = context.profile.lines.iter().filter(|line| {
        line.opcode.key.is_load() && matches!(line.space, Some(StateSpace::Global | StateSpace::Generic))
    });
    let sum: u64 = loads.filter_map(|line| line.memory.get(&context.rule)).map(bytes).sum();
    let distinct = 32 * context.profile.distinct_sectors_read;
    (sum > 0 && distinct > 0).then_some((sum as f64, distinct as f64))
}

fn banks(context: &Context<'_>) -> Option<Evidence> {
    let counts = context.profile.shared.get(&context.banks).filter(|counts| counts.requests > 0)?;
    let (wavefronts, ideal) = (counts.wavefronts as f64, counts.ideal_wavefronts as f64);
    if wavefronts <= ideal {
        return evidence(
            "bank-conflicts",
            "shared memory has no bank conflicts".to_owned(),
            &[("wavefronts_over_ideal", 1.0)],
        );
    }
    let text = format!(
        "bank conflicts: shared memory takes {} times the wavefronts that it would need, {} of its requests conflict",
        short(wavefronts / ideal),
        percent(counts.conflicted as f64 / counts.requests as f64)
    );
    evidence("bank-conflicts", text, &[("wavefronts_over_ideal", wavefronts / ideal)])
}

fn lanes(context: &Context<'_>) -> Option<Evidence> {
    let profile = context.profile;
    let lanes = profile.mean_active_lanes();
    if profile.divergent_branches == 0 || lanes <= 0.0 {
        return None;
    }
    let divergent = profile.divergent_branches as f64 / profile.branches.max(1) as f64;
    let text = format!(
        "{} of 32 lanes are active on average; {} of the branches send lanes both ways",
        short(lanes),
        percent(divergent)
    );
    evidence("divergence", text, &[("active_lanes", lanes), ("divergent_share", divergent)])
}

fn barriers(context: &Context<'_>) -> Option<Evidence> {
    let barriers = context.profile.per_warp(context.profile.barriers);
    if barriers == 0.0 {
        return None;
    }
    evidence("barriers", format!("a warp waits at {} barriers", short(barriers)), &[("per_warp", barriers)])
}
