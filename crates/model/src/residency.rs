//! How many warps an SM holds, and how many times the SMs are filled.
//!
//! Occupancy says what fits; a small grid fills less. A grid is dealt out evenly: the busiest SM holds
//! `ceil(CTAs / SMs)` CTAs at most, and decides.

use warplens_machine::{Key, Reader};
use warplens_stats::LaunchShape;

use crate::occupancy::{Carveout, CtaDemand, SharedLimit, SmLimits};
use crate::{Refusal, Waves};

/// Threads of a warp.
pub const THREADS_PER_WARP: f64 = 32.0;

/// How a launch fills a machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Residency {
    /// Resident CTAs of an SM that has work, as far as the grid fills it.
    pub ctas_per_sm: f64,
    /// Warps of a CTA.
    pub warps_per_cta: f64,
    /// SMs that have work.
    pub active_sms: f64,
    /// CTAs of the grid.
    pub ctas: f64,
}

impl Residency {
    /// The residency of a grid of `ctas` where `fits` CTAs fit on each of `n_sms` SMs.
    pub fn new(ctas: f64, warps_per_cta: f64, fits: f64, n_sms: f64) -> Self {
        let filled = (ctas / n_sms).ceil();
        Self { ctas_per_sm: fits.min(filled), warps_per_cta, active_sms: n_sms.min(ctas), ctas }
    }

    /// The residency of a launch.
    pub fn of_launch(launch: &LaunchShape, reader: &mut Reader<'_>) -> Result<Self, Refusal> {
        let fits = fitting_ctas(launch.n_threads(), launch.registers, launch.shared_bytes, reader)?;
        let n_sms = reader.need(Key::SmCount)?;
        Ok(Self::new(launch.n_ctas() as f64, launch.n_warps() as f64, fits, n_sms))
    }

    /// Resident warps of an SM that has work.
    pub fn warps(&self) -> f64 {
        self.ctas_per_sm * self.warps_per_cta
    }

    /// How often the SMs are filled until the grid is done; at least once.
    pub fn waves(&self, waves: Waves) -> f64 {
        let real = (self.ctas / (self.ctas_per_sm * self.active_sms)).max(1.0);
        match waves {
            Waves::Real => real,
            Waves::Whole => real.ceil(),
        }
    }
}

/// Shared memory that an SM is set to where so many CTAs fit on it, also if the grid has fewer: the smallest setting that
/// holds theirs. L1 caches hold as little as that in the pointer chase with one CTA of te42kyfo/gpu-benches: 160 of 192 KiB
/// on A100, 96 of 128 KiB on L40.
pub fn shared_setting(shared_bytes: u64, fits: u32, reader: &mut Reader<'_>) -> Result<u64, Refusal> {
    let limits = SmLimits::read(reader)?;
    let per_cta = (shared_bytes + u64::from(limits.shared_reserved)).next_multiple_of(limits.shared_unit.max(1).into());
    let needed = per_cta * u64::from(fits);
    let settings = limits.shared_sizes.iter().map(|&bytes| u64::from(bytes));
    Ok(settings.filter(|bytes| *bytes >= needed).min().unwrap_or(limits.shared_bytes.into()))
}

/// CTAs that fit on an SM, at least one.
pub fn fitting_ctas(threads: u64, registers: u32, shared_bytes: u64, reader: &mut Reader<'_>) -> Result<f64, Refusal> {
    let limits = SmLimits::read(reader)?;
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let demand = CtaDemand {
        threads: narrow(threads),
        registers,
        static_shared: narrow(shared_bytes),
        dynamic_shared: 0,
        barriers: 1,
    };
    // A launch that asks for more than every CTA may use is one whose kernel opted in.
    let limit =
        if demand.static_shared > limits.max_shared_per_cta { SharedLimit::OptIn } else { SharedLimit::Default };
    let occupancy = limits.occupancy(&demand, limit, Carveout::Default);
    if occupancy.ctas == 0 {
        let by: Vec<&str> = occupancy.limiters().map(|limiter| limiter.name()).collect();
        return Err(Refusal::impossible(format!(
            "a CTA of {threads} threads with {registers} registers each and {shared_bytes} B of shared memory does not \
             fit on an SM of {} ({})",
            reader.machine().id,
            by.join(", ")
        )));
    }
    Ok(f64::from(occupancy.ctas))
}
