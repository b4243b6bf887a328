//! How many CTAs of a kernel are resident on one SM, and which resource decides it.
//!
//! Each resource of an SM (warp slots, CTA slots, registers, shared memory, barriers) holds a number of CTAs by itself;
//! the smallest number is the residency, and every resource with that number is a limiter. What differs between
//! generations is how much a CTA is charged:
//!
//! - registers are handed out per CTA on compute capability 1.x and per warp since, in multiples of a unit, and since
//!   2.0 within each sub-partition of the SM;
//! - shared memory is handed out in multiples of a granularity, after a part that the system takes, from the part of
//!   the SM's memory that is not given to the L1 cache.
//!
//! The rules are those of NVIDIA's `cuda_occupancy.h` since 3.0, and of the CUDA occupancy calculator before.

use warplens_machine::words::LimitsRegAllocScope;
use warplens_machine::{ComputeCapability, Key, Missing, Reader};

const WARP: u32 = 32;

/// What one SM offers, and in which portions.
#[derive(Clone, PartialEq, Debug)]
pub struct SmLimits {
    /// The generation.
    pub cc: ComputeCapability,
    /// Resident warps.
    pub max_warps: u32,
    /// Resident CTAs.
    pub max_ctas: u32,
    /// Threads of one CTA.
    pub max_threads_per_cta: u32,
    /// Barriers of all resident CTAs together, where they can be a limit.
    pub max_barriers: Option<u32>,
    /// Registers of the SM.
    pub registers: u32,
    /// Registers of one CTA.
    pub max_registers_per_cta: u32,
    /// Registers of one thread.
    pub max_registers_per_thread: u32,
    /// Portion in which registers are handed out.
    pub register_unit: u32,
    /// To whom registers are handed out.
    pub register_scope: LimitsRegAllocScope,
    /// Warps of a CTA are rounded up to a multiple of this in the check of its registers.
    pub warp_granularity: u32,
    /// Sub-partitions, each with its share of the registers.
    pub subpartitions: u32,
    /// Shared memory of the SM at its largest setting, in bytes.
    pub shared_bytes: u32,
    /// Sizes to which the shared memory can be set, ascending, in bytes.
    pub shared_sizes: Vec<u32>,
    /// Shared memory of one CTA, in bytes.
    pub max_shared_per_cta: u32,
    /// Shared memory of one CTA whose kernel opted in to more, in bytes.
    pub max_shared_per_cta_optin: u32,
    /// Portion in which shared memory is handed out, in bytes.
    pub shared_unit: u32,
    /// Shared memory that the system takes from each CTA, in bytes.
    pub shared_reserved: u32,
}

/// What one CTA of a kernel asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CtaDemand {
    /// Threads.
    pub threads: u32,
    /// Registers of each thread.
    pub registers: u32,
    /// Shared memory that the kernel declares, in bytes.
    pub static_shared: u32,
    /// Shared memory that the launch adds, in bytes.
    pub dynamic_shared: u32,
    /// Barriers; 1 for a kernel that names none but the first.
    pub barriers: u32,
}

/// Whether the kernel was allowed more shared memory per CTA than the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedLimit {
    /// At most what every CTA may use.
    Default,
    /// As much as the SM allows one CTA.
    OptIn,
}

/// How the memory that L1 cache and shared memory have in common is split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carveout {
    /// As much shared memory as there can be.
    Default,
    /// At least this share of the largest setting, in percent, rounded up to a setting that exists.
    Percent(u8),
}

/// A resource of an SM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Limiter {
    /// Warp slots, or the largest size of a CTA.
    Warps,
    /// CTA slots.
    CtaSlots,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Barriers.
    Barriers,
}

impl Limiter {
    /// The resource in words.
    pub const fn name(self) -> &'static str {
        match self {
            Limiter::Warps => "warps",
            Limiter::CtaSlots => "CTA slots",
            Limiter::Registers => "registers",
            Limiter::SharedMemory => "shared memory",
            Limiter::Barriers => "barriers",
        }
    }
}

/// How many CTAs one resource holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResourceLimit {
    /// The resource.
    pub limiter: Limiter,
    /// CTAs that it holds; none where the CTA does not use it.
    pub ctas: Option<u32>,
}

/// Theoretical occupancy of one SM.
#[derive(Clone, PartialEq, Debug)]
pub struct Occupancy {
    /// Resident CTAs; 0 where the kernel cannot be launched like this.
    pub ctas: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident warps over warp slots.
    pub share: f64,
    /// Every resource with its own limit.
    pub limits: [ResourceLimit; 5],
    /// Registers that one CTA takes.
    pub registers_per_cta: u32,
    /// Shared memory that one CTA takes, in bytes.
    pub shared_per_cta: u32,
}

impl Occupancy {
    /// The resources that decide the residency.
    pub fn limiters(&self) -> impl Iterator<Item = Limiter> {
        self.limits.iter().filter(|limit| limit.ctas == Some(self.ctas)).map(|limit| limit.limiter)
    }
}

impl SmLimits {
    /// Reads the limits of a machine.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Missing> {
        let mut whole = |key| reader.need(key).map(|number| number as u32);
        Ok(Self {
            max_warps: whole(Key::LimitsMaxWarps)?,
            max_ctas: whole(Key::LimitsMaxBlocks)?,
            max_threads_per_cta: whole(Key::LimitsMaxThreadsPerBlock)?,
            registers: whole(Key::LimitsRegisters)?,
            max_registers_per_cta: whole(Key::LimitsMaxRegistersPerBlock)?,
            max_registers_per_thread: whole(Key::LimitsMaxRegsPerThread)?,
            register_unit: whole(Key::LimitsRegAllocUnit)?,
            warp_granularity: whole(Key::LimitsWarpAllocGranularity)?,
            subpartitions: whole(Key::SmSubpartitions)?,
            shared_bytes: whole(Key::SharedBytes)?,
            max_shared_per_cta: whole(Key::SharedMaxPerBlock)?,
            max_shared_per_cta_optin: whole(Key::SharedMaxPerBlockOptin)?,
            shared_unit: whole(Key::SharedAllocGranularity)?,
            shared_reserved: whole(Key::SharedReservedPerBlock)?,
            // A machine that states no number of barriers is one where they are no limit.
            max_barriers: reader.optional(Key::LimitsMaxBarriers).map(|number| number as u32),
            shared_sizes: reader.list(Key::SharedConfigurable)?.iter().map(|&bytes| bytes as u32).collect(),
            register_scope: reader.word()?,
            cc: reader.machine().cc,
        })
    }

    /// The occupancy of CTAs that ask for `demand`.
    pub fn occupancy(&self, demand: &CtaDemand, limit: SharedLimit, carveout: Carveout) -> Occupancy {
        let warps_per_cta = demand.threads.div_ceil(WARP).max(1);
        let by_warps = if demand.threads > self.max_threads_per_cta { 0 } else { self.max_warps / warps_per_cta };
        let (registers_per_cta, by_registers) = self.by_registers(demand.registers, warps_per_cta);
        let (shared_per_cta, by_shared) = self.by_shared(demand, limit, carveout);
        let by_barriers = self.max_barriers.and_then(|barriers| barriers.checked_div(demand.barriers));
        let limits = [
            ResourceLimit { limiter: Limiter::Warps, ctas: Some(by_warps) },
            ResourceLimit { limiter: Limiter::CtaSlots, ctas: Some(self.max_ctas) },
            ResourceLimit { limiter: Limiter::Registers, ctas: by_registers },
            ResourceLimit { limiter: Limiter::SharedMemory, ctas: by_shared },
            ResourceLimit { limiter: Limiter::Barriers, ctas: by_barriers },
        ];
        let ctas = limits.iter().filter_map(|limit| limit.ctas).min().unwrap_or(self.max_ctas);
        let warps = ctas * warps_per_cta;
        let share = f64::from(warps) / f64::from(self.max_warps);
        Occupancy { ctas, warps, share, limits, registers_per_cta, shared_per_cta }
    }

    /// Registers that a CTA takes, and the CTAs that fit.
    fn by_registers(&self, per_thread: u32, warps: u32) -> (u32, Option<u32>) {
        match self.register_scope {
            LimitsRegAllocScope::Block => {
                let portion = warps.next_multiple_of(self.warp_granularity) * WARP * per_thread;
                let per_cta = portion.next_multiple_of(self.register_unit);
                let fits = per_thread <= self.max_registers_per_thread;
                (per_cta, if fits { self.registers.checked_div(per_cta) } else { Some(0) })
            }
            LimitsRegAllocScope::Warp => {
                let per_warp = (per_thread * WARP).next_multiple_of(self.register_unit);
                // The check at launch takes the warps to be spread over all sub-partitions.
                let checked = per_warp * warps.next_multiple_of(self.checked_granularity());
                let fits = checked <= self.max_registers_per_cta && per_thread <= self.max_registers_per_thread;
                let per_subpartition = (self.registers / self.subpartitions).checked_div(per_warp);
                let ctas = per_subpartition.map(|warps_there| warps_there * self.subpartitions / warps);
                (per_warp * warps, if fits { ctas } else { Some(0) })
            }
        }
    }

    /// Pascal refuses on GP100, with its two sub-partitions, what would not fit the four of its siblings.
    fn checked_granularity(&self) -> u32 {
        if self.cc == ComputeCapability::new(6, 0) { 4 } else { self.warp_granularity }
    }

    /// Shared memory that a CTA takes, and the CTAs that fit.
    fn by_shared(&self, demand: &CtaDemand, limit: SharedLimit, carveout: Carveout) -> (u32, Option<u32>) {
        let asked = demand.static_shared.saturating_add(demand.dynamic_shared).saturating_add(self.shared_reserved);
        let per_cta = asked.checked_next_multiple_of(self.shared_unit).unwrap_or(u32::MAX);
        let allowed = match limit {
            SharedLimit::Default => self.max_shared_per_cta,
            SharedLimit::OptIn => self.max_shared_per_cta_optin,
        };
        if per_cta > allowed + self.shared_reserved {
            return (per_cta, Some(0));
        }
        let preferred = self.preferred_shared(carveout);
        let available = if preferred >= per_cta {
            preferred
        } else if self.cc.major >= 7 {
            self.setting_for(per_cta)
        } else {
            self.shared_bytes
        };
        (per_cta, available.checked_div(per_cta))
    }

    /// The shared memory that a preference selects.
    fn preferred_shared(&self, carveout: Carveout) -> u32 {
        let Carveout::Percent(percent) = carveout else { return self.shared_bytes };
        // Since Volta the share is of the whole; before, it says where between the smallest and the largest setting.
        let low = if self.cc.major >= 7 { 0 } else { self.shared_sizes.first().copied().unwrap_or(0) };
        let part = u64::from(self.shared_bytes - low.min(self.shared_bytes)) * u64::from(percent.min(100)) / 100;
        self.setting_for(low + u32::try_from(part).unwrap_or(u32::MAX))
    }

    /// The smallest setting that holds `bytes`.
    fn setting_for(&self, bytes: u32) -> u32 {
        self.shared_sizes.iter().copied().find(|&size| size >= bytes).unwrap_or(self.shared_bytes)
    }
}
