//! Occupancy of a kernel against the size of its blocks, its registers and its shared memory, one at a time.

use warplens_model::Options;
use warplens_model::occupancy::{CtaDemand, Limiter, Occupancy, SharedLimit, SmLimits};

use warplens_base::error::{Error, Result};
use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::residency;

const KIB: f64 = 1024.0;
const WARP: u32 = 32;

/// Occupancy of one kernel on one GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Curves {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// Against threads per block, in whole warps.
    pub block: Curve,
    /// Against registers per thread.
    pub registers: Curve,
    /// Against shared memory per block, in KiB.
    pub shared: Curve,
}

/// Occupancy against one quantity.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Quantity and share of the warp slots: every size of a block, else where the share changes, and the last place.
    pub points: Vec<(f64, f64)>,
    /// Ranges of the quantity in which the same resources decide.
    pub ranges: Vec<Range>,
    /// The kernel's own place.
    pub own: (f64, f64),
    /// What decides there.
    pub limiters: Vec<Limiter>,
}

/// A range of a quantity.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// First value.
    pub from: f64,
    /// First value of the next range, or the last value.
    pub to: f64,
    /// The resources that decide.
    pub limiters: Vec<Limiter>,
}

/// The curves of a measured launch.
pub fn curves(measurement: &Measurement, machine: &Machine, options: Options) -> Result<Curves> {
    let missing = |reason: String| Error::input(format!("the occupancy on {} is not known: {reason}", machine.id));
    let (limits, demand, _) = residency(&measurement.profile.launch, machine, options).map_err(missing)?;
    let sizes = (1..=limits.max_threads_per_cta / WARP).map(|warps| warps * WARP);
    let registers = 1..=limits.max_registers_per_thread;
    let step = limits.shared_unit.max(1) as usize;
    let shared = (0..=limits.max_shared_per_cta_optin).step_by(step);
    let one = f64::from;
    Ok(Curves {
        kernel: measurement.kernel.demangled.clone(),
        gpu: machine.id.clone(),
        block: curve(&limits, &demand, sizes, one, demand.threads, |demand, threads| demand.threads = threads, true),
        registers: curve(&limits, &demand, registers, one, demand.registers, |demand, n| demand.registers = n, false),
        shared: curve(
            &limits,
            &demand,
            shared,
            |bytes| f64::from(bytes) / KIB,
            demand.static_shared,
            |demand, bytes| demand.static_shared = bytes,
            false,
        ),
    })
}

fn curve(
    limits: &SmLimits,
    demand: &CtaDemand,
    values: impl Iterator<Item = u32>,
    shown: fn(u32) -> f64,
    own: u32,
    set: fn(&mut CtaDemand, u32),
    keep_all: bool,
) -> Curve {
    let occupancy = |value: u32| {
        let mut demand = *demand;
        set(&mut demand, value);
        occupancy(limits, &demand)
    };
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut ranges: Vec<Range> = Vec::new();
    let mut last = None;
    for value in values {
        let result = occupancy(value);
        let (at, limiters) = (shown(value), result.limiters().collect::<Vec<_>>());
        if keep_all || points.last().is_none_or(|(_, share)| *share != result.share) {
            points.push((at, result.share));
        }
        match ranges.last_mut() {
            Some(range) if range.limiters == limiters => range.to = at,
            before => {
                before.into_iter().for_each(|range| range.to = at);
                ranges.push(Range { from: at, to: at, limiters });
            }
        }
        last = Some((at, result.share));
    }
    points.extend(last.filter(|last| points.last() != Some(last)));
    let own_result = occupancy(own);
    Curve { points, ranges, own: (shown(own), own_result.share), limiters: own_result.limiters().collect() }
}

/// Occupancy with as much shared memory per block as the demand needs an opt-in for.
fn occupancy(limits: &SmLimits, demand: &CtaDemand) -> Occupancy {
    let asked = demand.static_shared.saturating_add(demand.dynamic_shared);
    let limit = if asked > limits.max_shared_per_cta { SharedLimit::OptIn } else { SharedLimit::Default };
    limits.occupancy(demand, limit, warplens_model::occupancy::Carveout::Default)
}
