//! Measurements from a document.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use warplens_document::profile::{self as document, Counts, Document};
use warplens_document::{Fault, Held, Named, Place, ReadError};
use warplens_isa::Pc;
use warplens_sim::traces::Traces;
use warplens_stats::{
    BankRule, CoalescingRule, ConstantCounts, Count, Counted, Coverage, InstructionCounts, LaunchShape, LineCounts,
    MemoryCounts, Profile, RegistersBasis, SharedCounts,
};

use super::check::{self, Known, agree, within};
use super::groups::{GLOBAL, LOCAL, MemoryGroups, SHARED};
use super::words::Word;
use super::{opcode, origin, recording, statistics};
use crate::machines::ComputeCapability;
use crate::measurement::{Elsewhere, Measurement};
use warplens_base::error::Error;
use warplens_launch::KernelName;

type Result<T> = std::result::Result<T, Fault>;

/// Reads a profile. `name` is what messages call it.
pub(crate) fn read(name: &str, text: &str) -> warplens_base::error::Result<Vec<Measurement>> {
    measurements(document_of(name, text)?).map_err(|fault| wrong(name, fault))
}

/// Reads a document of any kind. `name` is what messages call it.
pub fn document_of<D: warplens_document::Document + DeserializeOwned>(
    name: &str,
    text: &str,
) -> warplens_base::error::Result<D> {
    warplens_document::read(text).map_err(|error| match error {
        ReadError::Syntax { line, column, message } => {
            Error::input(format!("{name}, line {line}, column {column}: {message}"))
        }
        ReadError::Fault(fault) => wrong(name, fault),
    })
}

/// Where a number of registers comes from.
pub fn read_registers_basis(written: document::RegistersBasis) -> RegistersBasis {
    Word::from_written(written)
}

fn wrong(name: &str, fault: Fault) -> Error {
    let error = Error::input(format!("{name}: {}", fault.message));
    match fault.help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

fn measurements(document: Document) -> Result<Vec<Measurement>> {
    let top = Place::default();
    let mut launches = document.0;
    match launches.len() {
        0 => Err(top.fault("`launches` is empty")),
        1 => Ok(vec![measurement(launches.remove(0), &top)?]),
        _ => {
            let list = top.key("launches");
            launches.into_iter().enumerate().map(|(index, launch)| measurement(launch, &list.item(index))).collect()
        }
    }
}

fn measurement(launch: document::Profile, place: &Place) -> Result<Measurement> {
    let kernel = KernelName::new(&launch.kernel);
    let kernel = match launch.kernel_demangled {
        Held(Some(demangled)) => KernelName { demangled, ..kernel },
        Held(None) => kernel,
    };
    let mut reader = Reader { absent: BTreeSet::new() };
    let profile = reader.profile(&kernel.mangled, &launch.launch, launch.counts, place)?;
    let traces = match launch.recording.0 {
        Some(recorded) => recording::read(recorded, &profile, &place.key("recording"))?,
        None => Traces::None,
    };
    let others = launch
        .elsewhere
        .into_iter()
        .enumerate()
        .map(|(at, other)| elsewhere(other, &kernel, &launch.launch, &place.key("elsewhere").item(at)));
    let others = others.collect::<Result<_>>()?;
    let of = launch.origin;
    Ok(Measurement {
        kernel,
        profile,
        traces,
        listing: Vec::new(),
        statics: of.statics.map(|statics| origin::read_statics(statics, &place.key("static"))).transpose()?,
        emulation: of.emulation.as_ref().map(origin::read_emulation),
        support: of.support.0.map(origin::read_support).unwrap_or_default(),
        communicates: of.communicates,
        elsewhere: others,
        race: of.race.map(|race| origin::read_race(race, &place.key("race"))).transpose()?,
        measured: of.measured.map(origin::read_measured),
        code: of.code.0.map(origin::read_code),
        archived: None,
    })
}

/// The same launch on other GPUs.
fn elsewhere(
    written: document::Elsewhere,
    kernel: &KernelName,
    launch: &document::Launch,
    place: &Place,
) -> Result<Elsewhere> {
    let generation = written.generation.0.map(Word::from_written);
    let target = written.target.0.map(|target| {
        ComputeCapability::parse(&target).ok_or_else(|| place.key("target").fault("a target such as `sm_90` is needed"))
    });
    let target = target.transpose()?;
    let launch = written.launch.0.as_ref().unwrap_or(launch);
    let result = match (written.fails, written.counts.0) {
        (Some(reason), None) => Err(reason),
        (None, Some(counts)) => {
            let mut reader = Reader { absent: BTreeSet::new() };
            let profile = reader.profile(&kernel.mangled, launch, counts, &place.key("counts"))?;
            let traces = match written.recording.0 {
                Some(recorded) => recording::read(recorded, &profile, &place.key("recording"))?,
                None => Traces::None,
            };
            let code = written.code.0.map(origin::read_code);
            Ok(Box::new(Measurement { traces, code, ..Measurement::counted(kernel.clone(), profile, None) }))
        }
        _ => return Err(place.fault("one of `fails` and `counts` is needed")),
    };
    Ok(Elsewhere { generation, target, result })
}

/// Reads one profile and notes what it lacks.
struct Reader {
    absent: BTreeSet<Count>,
}

impl Reader {
    /// What is held, or the default of its type where the key is missing and `count` is absent with it.
    fn value<T: Default>(&mut self, held: Held<T>, count: Count) -> T {
        held.0.unwrap_or_else(|| {
            self.absent.insert(count);
            T::default()
        })
    }

    fn profile(&mut self, kernel: &str, launch: &document::Launch, counts: Counts, place: &Place) -> Result<Profile> {
        let launch = self.launch(launch, &place.key("launch"))?;
        let by_rule = |ratios: Named<document::CoalescingRule, warplens_document::Factor>| {
            ratios.0.into_iter().map(|(rule, ratio)| (Word::from_written(rule), ratio.0)).collect()
        };
        let high_latency = self.value(counts.high_latency, Count::HighLatency);
        let constant = counts.constant.0.map(|of| ConstantCounts { requests: of.requests, passes: of.passes });
        let program_order = Count::IndependentLoadsProgramOrder;
        let profile = Profile {
            kernel: kernel.to_owned(),
            launch,
            counted: counts.counted.0.map_or(Counted::Ptx, Word::from_written),
            coverage: coverage(counts.coverage.0.as_ref(), &launch, place)?,
            warps: warps(counts.warps.0, &launch, place)?,
            instructions: self.instructions(counts.instructions.0.unwrap_or_default()),
            thread_instructions: self.value(counts.thread_instructions, Count::ThreadInstructions),
            thread_instructions_pred_on: self.value(counts.thread_instructions_pred_on, Count::PredicatedOn),
            branches: self.value(counts.branches, Count::Branches),
            divergent_branches: self.value(counts.divergent_branches, Count::DivergentBranches),
            barriers: self.value(counts.barriers, Count::Barriers),
            high_latency: opcode::slow_read(high_latency, &place.key("high_latency"))?,
            global: self.memory(counts.global, &GLOBAL, &place.key("global"))?,
            local: self.memory(counts.local, &LOCAL, &place.key("local"))?,
            shared: self.shared(counts.shared, &place.key("shared"))?,
            constant: self.value(Held(constant), Count::Constant),
            distinct_sectors_read: self.value(counts.distinct_sectors_read, Count::DistinctSectors),
            distinct_sectors_written: self.value(counts.distinct_sectors_written, Count::DistinctSectors),
            dram_sectors: dram_sectors(counts.dram_sectors_read.0, counts.dram_sectors_written.0, place)?,
            vector_loads: self.value(counts.vector_loads, Count::VectorLoads),
            independent_loads: self.value(counts.independent_loads, Count::IndependentLoads).map(|mean| mean.0),
            independent_loads_program_order: self
                .value(counts.independent_loads_program_order, program_order)
                .map(|mean| mean.0),
            overlap_instructions: self.value(counts.overlap_instructions, Count::OverlapInstructions),
            duplicate_loads: by_rule(self.value(counts.duplicate_loads, Count::DuplicateLoads)),
            duplicate_share: counts.duplicate_share.0.map_or(1.0, |share| share.0),
            instruction_parallelism: counts.instruction_parallelism.map(|mean| mean.0),
            instruction_parallelism_program_order: counts.instruction_parallelism_program_order.map(|mean| mean.0),
            statistics: statistics::read(counts.statistics, place)?,
            order_dependent: counts.order_dependent,
            lines: self.lines(counts.lines, &place.key("lines"))?,
            absent: std::mem::take(&mut self.absent),
        };
        check::profile(place, &profile)?;
        Ok(profile)
    }

    fn launch(&mut self, launch: &document::Launch, place: &Place) -> Result<LaunchShape> {
        let (grid, block) = (launch.grid.0, launch.block.0);
        warplens_launch::check_extents(grid, block).map_err(|error| place.fault(error.message))?;
        let cluster = launch.cluster.0.map(|cluster| cluster.0);
        let divides =
            |cluster: &[u32; 3]| (0..3).all(|axis| cluster[axis] > 0 && grid[axis].is_multiple_of(cluster[axis]));
        if !cluster.as_ref().is_none_or(divides) {
            return Err(place.fault("the cluster does not divide the grid".to_owned()));
        }
        Ok(LaunchShape {
            grid,
            block,
            cluster,
            shared_bytes: self.value(launch.shared_bytes, Count::SharedBytes),
            registers: self.value(launch.registers, Count::Registers),
            registers_basis: launch.registers_basis.0.map_or(RegistersBasis::User, Word::from_written),
        })
    }

    fn instructions(&mut self, counts: document::Instructions) -> InstructionCounts {
        let by_class = self.value(counts.by_class, Count::Classes).0.into_iter();
        InstructionCounts {
            total: self.value(counts.total, Count::Instructions),
            by_class: by_class.map(|(class, count)| (Word::from_written(class), count)).collect(),
            by_opcode: opcode::read(self.value(counts.by_opcode, Count::Opcodes)),
        }
    }

    fn memory(
        &mut self,
        by_rule: Held<Named<document::CoalescingRule, document::Memory>>,
        groups: &MemoryGroups,
        place: &Place,
    ) -> Result<BTreeMap<CoalescingRule, MemoryCounts>> {
        let rules = by_rule.0.unwrap_or_default().0;
        if rules.is_empty() {
            self.absent.extend(groups.all());
        }
        let mut of_rule = |(rule, written): (document::CoalescingRule, document::Memory)| {
            let mut absent = BTreeSet::new();
            let place = place.key(rule.name());
            let counts = memory(&written, groups, |_, count| {
                absent.insert(count);
                Ok(0)
            })?;
            let known = Known {
                requests: !absent.contains(&groups.requests),
                kinds: !absent.contains(&groups.kinds),
                transactions: !absent.contains(&groups.transactions),
                coalesced: !absent.contains(&groups.coalesced),
            };
            check::memory(&place, &counts, &known)?;
            self.absent.append(&mut absent);
            Ok((Word::from_written(rule), counts))
        };
        rules.into_iter().map(&mut of_rule).collect()
    }

    fn shared(
        &mut self,
        by_rule: Held<Named<document::BankRule, document::Shared>>,
        place: &Place,
    ) -> Result<BTreeMap<BankRule, SharedCounts>> {
        let rules = by_rule.0.unwrap_or_default().0;
        if rules.is_empty() {
            self.absent.extend(SHARED);
        }
        let mut of_rule = |(rule, written): (document::BankRule, document::Shared)| {
            let mut absent = BTreeSet::new();
            let counts = shared(&written, |_, count| {
                absent.insert(count);
                Ok(0)
            })?;
            check::shared(&place.key(rule.name()), &counts, |count| !absent.contains(&count))?;
            self.absent.append(&mut absent);
            Ok((Word::from_written(rule), counts))
        };
        rules.into_iter().map(&mut of_rule).collect()
    }

    fn lines(&mut self, lines: Held<Vec<document::Line>>, place: &Place) -> Result<Vec<LineCounts>> {
        let lines = self.value(lines, Count::Lines).into_iter().enumerate();
        lines.map(|(index, written)| line(written, &place.item(index))).collect()
    }
}

/// Counts of memory; `missing` says what stands in place of a key that is not there.
fn memory(
    written: &document::Memory,
    groups: &MemoryGroups,
    mut missing: impl FnMut(&str, Count) -> Result<u64>,
) -> Result<MemoryCounts> {
    let mut count = |held: Held<u64>, key: &str, group: Count| held.0.map_or_else(|| missing(key, group), Ok);
    let ideal = |held: Held<u64>| held.0.unwrap_or(0);
    let counts = MemoryCounts {
        requests: count(written.requests, "requests", groups.requests)?,
        loads: count(written.loads, "loads", groups.kinds)?,
        stores: count(written.stores, "stores", groups.kinds)?,
        atomics: count(written.atomics, "atomics", groups.kinds)?,
        t32: count(written.t32, "t32", groups.transactions)?,
        t64: count(written.t64, "t64", groups.transactions)?,
        t128: count(written.t128, "t128", groups.transactions)?,
        lines: count(written.lines, "lines", groups.lines)?,
        coalesced: count(written.coalesced, "coalesced", groups.coalesced)?,
        uncoalesced: count(written.uncoalesced, "uncoalesced", groups.coalesced)?,
        coalesced_transactions: count(written.coalesced_transactions, "coalesced_transactions", groups.coalesced)?,
        uncoalesced_transactions: count(
            written.uncoalesced_transactions,
            "uncoalesced_transactions",
            groups.coalesced,
        )?,
        ideal_t32: ideal(written.ideal_t32),
        ideal_t64: ideal(written.ideal_t64),
        ideal_t128: ideal(written.ideal_t128),
        bytes_requested: count(written.bytes_requested, "bytes_requested", groups.bytes)?,
        bytes_moved: 0,
    };
    let bytes_moved = written.bytes_moved.0.unwrap_or_else(|| check::moved(&counts));
    Ok(MemoryCounts { bytes_moved, ..counts })
}

/// Counts of shared memory; `missing` says what stands in place of a key that is not there.
fn shared(written: &document::Shared, mut missing: impl FnMut(&str, Count) -> Result<u64>) -> Result<SharedCounts> {
    let mut count = |held: Held<u64>, key: &str, group: Count| held.0.map_or_else(|| missing(key, group), Ok);
    Ok(SharedCounts {
        requests: count(written.requests, "requests", Count::SharedRequests)?,
        loads: count(written.loads, "loads", Count::SharedKinds)?,
        stores: count(written.stores, "stores", Count::SharedKinds)?,
        atomics: count(written.atomics, "atomics", Count::SharedKinds)?,
        conflicted: count(written.conflicted, "conflicted", Count::SharedConflicted)?,
        passes: count(written.passes, "passes", Count::SharedPasses)?,
        wavefronts: count(written.wavefronts, "wavefronts", Count::SharedWavefronts)?,
        ideal_wavefronts: count(written.ideal_wavefronts, "ideal_wavefronts", Count::SharedWavefronts)?,
    })
}

/// The counts of an instruction; each must be there.
fn line(line: document::Line, place: &Place) -> Result<LineCounts> {
    let needed = |place: Place| move |key: &str, _: Count| Err(place.fault(format!("the key `{key}` is missing")));
    let (memory_place, shared_place) = (place.key("memory"), place.key("shared"));
    let of_memory = line.memory.0.iter().map(|(rule, written)| {
        let place = memory_place.key(rule.name());
        let counts = memory(written, &GLOBAL, needed(place.clone()))?;
        check::memory(&place, &counts, &Known { requests: true, kinds: true, transactions: true, coalesced: true })?;
        Ok((Word::from_written(*rule), counts))
    });
    let of_shared = line.shared.0.iter().map(|(rule, written)| {
        let place = shared_place.key(rule.name());
        let counts = shared(written, needed(place.clone()))?;
        check::shared(&place, &counts, |_| true)?;
        Ok((Word::from_written(*rule), counts))
    });
    Ok(LineCounts {
        pc: Pc(line.pc),
        ptx_line: line.ptx_line,
        memory: of_memory.collect::<Result<_>>()?,
        shared: of_shared.collect::<Result<_>>()?,
        source: origin::source(line.file, line.line, place)?,
        opcode: opcode::spelling(&line.opcode),
        space: line.space.map(Word::from_written),
        executed: line.executed,
        threads: line.threads,
        divergent: line.divergent,
    })
}

fn coverage(written: Option<&document::Coverage>, launch: &LaunchShape, place: &Place) -> Result<Coverage> {
    let n_ctas = launch.n_ctas();
    let Some(written) = written else {
        return Ok(Coverage { ctas_executed: n_ctas, ctas_total: n_ctas, spread: 0.0 });
    };
    let place = place.key("coverage");
    let spread = written.spread.0;
    if spread < 0.0 || spread.is_infinite() {
        return Err(place.key("spread").fault(format!("a number of at least 0 or \"nan\" is needed, not {spread}")));
    }
    agree(&place, "ctas_total", written.ctas_total, "the CTAs of launch.grid", n_ctas)?;
    within(&place, "ctas_executed", written.ctas_executed, "ctas_total", written.ctas_total)?;
    Ok(Coverage { ctas_executed: written.ctas_executed, ctas_total: written.ctas_total, spread })
}

fn warps(written: Option<u64>, launch: &LaunchShape, place: &Place) -> Result<u64> {
    let launched = launch.n_ctas().saturating_mul(launch.n_warps());
    if let Some(warps) = written {
        agree(place, "warps", warps, "the warps of launch.grid and launch.block", launched)?;
    }
    Ok(launched)
}

fn dram_sectors(read: Option<u64>, written: Option<u64>, place: &Place) -> Result<Option<[u64; 2]>> {
    match (read, written) {
        (Some(read), Some(written)) => Ok(Some([read, written])),
        (None, None) => Ok(None),
        _ => Err(place.fault("dram_sectors_read and dram_sectors_written go together")),
    }
}
