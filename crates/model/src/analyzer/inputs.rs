//! What the equations take: from a profile, or from the fields of a file.

use warplens_isa::{Family, InstKey, ScalarType};
use warplens_machine::{Key, Reader};

use super::{BarrierWarps, DepartureDelays, Inputs, effective_duplicate_loads};
use crate::compute::{ComputeLoad, flat_issue_cycles, overlap_of, slow_cost, special_cycles};
use crate::given::{Fields, MEMORY_BANDWIDTH};
use crate::hong_kim::{active_blocks_per_sm, launch_fields, require_positive};
use crate::residency::{Residency, THREADS_PER_WARP};
use crate::workload::{Transactions, Workload};
use crate::{InWarp, InputField, Merging, Options, Origin, Reading, Refusal, SpecialFunctions, Unit};

impl Inputs {
    /// The inputs of a profiled kernel; `load` is its computation.
    pub(super) fn of_workload(
        workload: &Workload,
        residency: &Residency,
        load: &ComputeLoad,
        options: &Options,
        reader: &mut Reader<'_>,
    ) -> Result<Self, Refusal> {
        let (transactions, _) = workload.merged();
        Ok(Self {
            threads_per_block: residency.warps_per_cta * THREADS_PER_WARP,
            blocks: residency.ctas,
            active_blocks_per_sm: residency.ctas_per_sm,
            active_sms: residency.active_sms,
            compute_cycles: load.cycles(),
            special_overlap: match options.special_functions {
                SpecialFunctions::Overlapped => load.special_overlap(),
                SpecialFunctions::InLine => 0.0,
            },
            in_warp_overlap: match options.in_warp {
                InWarp::Overlapped => share(workload.overlap_insts, workload.total_insts),
                InWarp::Separate => 0.0,
            },
            warp_mem: workload.mem_insts,
            transactions,
            independent_loads: workload.independent_loads,
            duplicate_loads: workload.duplicate_loads,
            synch_insts: workload.barriers,
            barrier_warps: BarrierWarps::on(Some(reader.machine())),
            freq: reader.clock()?,
            total_mem_bandwidth: reader.memory_bandwidth()?,
            base_mem_latency: reader.need(Key::DramLatency)?,
            dep_delay: departure_delays(&transactions, reader)?,
        })
    }

    /// The inputs of a file, the machine supplying what it leaves out.
    pub(super) fn of_fields(fields: &mut Fields<'_, '_>, options: &Options) -> Self {
        let freq = fields.machine_by("freq", |reader| Ok(reader.tune_clock(Key::AnalyzerClock)?));
        let threads_per_block = fields.required("threads_per_block");
        let blocks = fields.required("blocks");
        let active_blocks_per_sm = active_blocks_per_sm(fields, threads_per_block);
        let active_sms = fields.machine("active_sms", Key::SmCount);
        let warps_per_block = (threads_per_block / THREADS_PER_WARP).ceil();
        let residency = Residency::new(blocks, warps_per_block, active_blocks_per_sm, active_sms);
        let duplicate_loads = duplicate_loads(fields, &residency, options);
        let given = Transactions {
            t32: fields.or("t32", 0.0),
            t64: fields.or("t64", 0.0),
            t128: fields.or("t128", 0.0),
            t32_vector: fields.or("t32_vector", 0.0),
        };
        // Loads of vectors do not merge.
        let merged = Transactions { t32_vector: given.t32_vector, ..given.scaled(1.0 / duplicate_loads.max(1.0)) };
        let mut delay = |name, key, used: f64| {
            if used > 0.0 { fields.machine(name, key) } else { fields.or(name, 0.0) }
        };
        let dep_delay = DepartureDelays {
            d32: delay("dep_delay_32", Key::DramDepartureDelay32, given.t32),
            d64: delay("dep_delay_64", Key::DramDepartureDelay64, given.t64),
            d128: delay("dep_delay_128", Key::DramDepartureDelay128, given.t128),
            d32_vector: delay("dep_delay_vector", Key::DramDepartureDelayVector, given.t32_vector),
        };
        let (compute_cycles, special_overlap) = match fields.optional("compute_cycles") {
            Some(cycles) => (cycles, 0.0),
            None => compute_cycles(fields),
        };
        let in_warp_overlap = match fields.or("overlap_insts", 0.0) {
            overlapping if overlapping > 0.0 && options.in_warp == InWarp::Overlapped => {
                share(overlapping, fields.required("instructions"))
            }
            _ => 0.0,
        };
        Self {
            threads_per_block,
            blocks,
            active_blocks_per_sm,
            active_sms,
            compute_cycles,
            special_overlap: match options.special_functions {
                SpecialFunctions::Overlapped => special_overlap,
                SpecialFunctions::InLine => 0.0,
            },
            in_warp_overlap,
            warp_mem: fields.or("warp_mem", 0.0),
            transactions: merged,
            independent_loads: fields.or("independent_loads", 1.0),
            duplicate_loads,
            synch_insts: fields.or("synch_insts", 0.0),
            barrier_warps: BarrierWarps::on(fields.machine_named()),
            freq,
            total_mem_bandwidth: fields.machine_by("total_mem_bandwidth", |reader| Ok(reader.memory_bandwidth()?)),
            base_mem_latency: fields.machine("base_mem_latency", Key::DramLatency),
            dep_delay,
        }
    }

    /// Refuses numbers that divide others and are 0, and factors below 1.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        require_positive(&[
            ("threads_per_block", self.threads_per_block),
            ("blocks", self.blocks),
            ("active_blocks_per_sm", self.active_blocks_per_sm),
            ("active_sms", self.active_sms),
            ("freq", self.freq),
            ("total_mem_bandwidth", self.total_mem_bandwidth),
            ("base_mem_latency", self.base_mem_latency),
        ])?;
        for (name, factor) in [("independent_loads", self.independent_loads), ("duplicate_loads", self.duplicate_loads)]
        {
            if factor < 1.0 {
                return Err(Refusal::impossible(format!("`{name}` is {factor}; it must be at least 1")));
            }
        }
        if self.warp_mem == 0.0 && self.transactions.count() > 0.0 {
            return Err(Refusal::impossible("there are transactions, but `warp_mem` is 0"));
        }
        Ok(())
    }
}

/// `part` of `all`, at most all of it.
fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { (part / all).min(1.0) } else { 0.0 }
}

/// The given factor, or what the occupancy leaves of an ideal one.
fn duplicate_loads(fields: &mut Fields<'_, '_>, residency: &Residency, options: &Options) -> f64 {
    let Some(ideal) = fields.optional("ideal_duplicate_loads") else {
        return fields.or("duplicate_loads", 1.0);
    };
    let max_warps = fields.machine("max_warps_per_sm", Key::LimitsMaxWarps);
    fields.optional("duplicate_loads").unwrap_or(match merging(options) {
        Merging::Adaptive => effective_duplicate_loads(ideal, residency.warps_per_cta, residency.warps() / max_warps),
        Merging::Full => ideal,
    })
}

/// As printed, the factor is what it is set to.
pub(super) fn merging(options: &Options) -> Merging {
    match options.reading {
        Reading::Documented => options.merging,
        Reading::AsPrinted => Merging::Full,
    }
}

/// Departure delays of the sizes that occur.
fn departure_delays(transactions: &Transactions, reader: &mut Reader<'_>) -> Result<DepartureDelays, Refusal> {
    let mut delay = |count: f64, key| if count > 0.0 { reader.need(key) } else { Ok(0.0) };
    Ok(DepartureDelays {
        d32: delay(transactions.t32, Key::DramDepartureDelay32)?,
        d64: delay(transactions.t64, Key::DramDepartureDelay64)?,
        d128: delay(transactions.t128, Key::DramDepartureDelay128)?,
        d32_vector: delay(transactions.t32_vector, Key::DramDepartureDelayVector)?,
    })
}

/// Compute_cycles of given counts, slow operations and conflicting accesses at their own cost, the rest alike; and what
/// special functions and the rest can share of them.
fn compute_cycles(fields: &mut Fields<'_, '_>) -> (f64, f64) {
    let instructions = fields.required("instructions");
    let issue_cycles = fields.machine_by("issue_cycles", flat_issue_cycles);
    let mut plain = instructions;
    let (mut cycles, mut busy, mut slots) = (0.0, 0.0, 0.0);
    for (count_field, cost_field, family) in [
        ("sqrt_insts", "sqrt_cycles", Family::Sqrt),
        ("rsqrt_insts", "rsqrt_cycles", Family::Rsqrt),
        ("div_insts", "div_cycles", Family::Div),
    ] {
        let operation = InstKey::new(family, ScalarType::F32);
        let count = fields.or(count_field, 0.0);
        if count > 0.0 {
            let cost = fields.machine_by(cost_field, |reader| {
                let lacking = || Refusal::impossible(format!("{} states no cost of {operation}", reader.machine().id));
                let refusal = lacking();
                slow_cost(&operation, reader)?.ok_or(refusal)
            });
            plain -= count;
            cycles += count * cost;
            // Without a GPU nobody knows how much of a division is a special function.
            let special = fields
                .machine_named()
                .map(|_| fields.machine_by("special_cycles", |reader| special_cycles(&operation, cost, reader)));
            busy += count * special.unwrap_or(0.0);
            slots += count * special.map_or(0.0, |special| special.min(issue_cycles));
        }
    }
    let conflicted = fields.or("conflicted_shared_insts", 0.0);
    if conflicted > 0.0 {
        plain -= conflicted;
        cycles += conflicted * fields.required("conflicted_shared_cycles");
    }
    let cycles = plain.max(0.0) * issue_cycles + cycles;
    (cycles, overlap_of(cycles, busy, slots))
}

pub(super) const INPUTS: &[InputField] = launch_fields![
    InputField {
        name: "instructions",
        unit: Unit::One,
        origin: Origin::Derived("not needed where `compute_cycles` is given"),
        about: "warp instructions per warp, memory instructions among them",
    },
    InputField {
        name: "compute_cycles",
        unit: Unit::Cycles,
        origin: Origin::Derived("`instructions` times `issue_cycles`, slow ones at their own cost"),
        about: "cycles that a warp computes",
    },
    InputField { name: "sqrt_insts", unit: Unit::One, origin: Origin::Default(0.0), about: "square roots per warp" },
    InputField {
        name: "rsqrt_insts",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "reciprocal square roots per warp"
    },
    InputField { name: "div_insts", unit: Unit::One, origin: Origin::Default(0.0), about: "float divisions per warp" },
    InputField {
        name: "sqrt_cycles",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::CostSqrtF32),
        about: "cycles of a square root",
    },
    InputField {
        name: "rsqrt_cycles",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::CostRsqrtF32),
        about: "cycles of a reciprocal square root",
    },
    InputField {
        name: "div_cycles",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::CostDivF32),
        about: "cycles of a float division",
    },
    InputField {
        name: "conflicted_shared_insts",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "shared-memory accesses with bank conflicts per warp",
    },
    InputField {
        name: "conflicted_shared_cycles",
        unit: Unit::Cycles,
        origin: Origin::Derived("needed with `conflicted_shared_insts`"),
        about: "mean cycles of a shared-memory access with bank conflicts",
    },
    InputField {
        name: "warp_mem",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "global and local memory requests per warp",
    },
    InputField { name: "t32", unit: Unit::One, origin: Origin::Default(0.0), about: "32-byte transactions per warp" },
    InputField { name: "t64", unit: Unit::One, origin: Origin::Default(0.0), about: "64-byte transactions per warp" },
    InputField { name: "t128", unit: Unit::One, origin: Origin::Default(0.0), about: "128-byte transactions per warp" },
    InputField {
        name: "t32_vector",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "32-byte transactions of vector loads per warp",
    },
    InputField {
        name: "independent_loads",
        unit: Unit::One,
        origin: Origin::Default(1.0),
        about: "loads that a warp has in flight before it needs the first one's value",
    },
    InputField {
        name: "duplicate_loads",
        unit: Unit::One,
        origin: Origin::Derived("from `ideal_duplicate_loads` and the occupancy, 1 without"),
        about: "loads in flight that fetch the same data and merge; divides the transactions of 32, 64 and 128 bytes",
    },
    InputField {
        name: "ideal_duplicate_loads",
        unit: Unit::One,
        origin: Origin::Derived("not needed where `duplicate_loads` is given"),
        about: "loads in flight that fetch the same data, of which the occupancy decides how many merge",
    },
    InputField {
        name: "max_warps_per_sm",
        unit: Unit::One,
        origin: Origin::Machine(Key::LimitsMaxWarps),
        about: "warps that an SM can hold, for the occupancy; needed with `ideal_duplicate_loads`",
    },
    InputField {
        name: "overlap_insts",
        unit: Unit::One,
        origin: Origin::Default(0.0),
        about: "instructions per warp between a load and the first use of its value; `instructions` must be given, too",
    },
    InputField {
        name: "freq",
        unit: Unit::Hertz,
        origin: Origin::MachineBy(&[Key::AnalyzerClock, Key::ClockDefault], "{} where stated, else {}"),
        about: "clock of the SMs",
    },
    InputField {
        name: "total_mem_bandwidth",
        unit: Unit::BytesPerSecond,
        origin: MEMORY_BANDWIDTH,
        about: "bandwidth of device memory",
    },
    InputField {
        name: "base_mem_latency",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::DramLatency),
        about: "round trip to device memory",
    },
    InputField {
        name: "dep_delay_32",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::DramDepartureDelay32),
        about: "distance between two 32-byte transactions",
    },
    InputField {
        name: "dep_delay_64",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::DramDepartureDelay64),
        about: "distance between two 64-byte transactions",
    },
    InputField {
        name: "dep_delay_128",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::DramDepartureDelay128),
        about: "distance between two 128-byte transactions",
    },
    InputField {
        name: "dep_delay_vector",
        unit: Unit::Cycles,
        origin: Origin::Machine(Key::DramDepartureDelayVector),
        about: "distance between two 32-byte transactions of vector loads",
    },
];
