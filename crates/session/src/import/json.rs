//! Reads `warplens.profile/1`, the document that the `profile` verb writes.
//!
//! A key that is missing is a count that the profile lacks. Derived numbers (shares and means) are not read: whoever
//! edits counts need not compute them anew. Counts that must agree are checked.

use std::collections::{BTreeMap, BTreeSet};

use warplens_base::nearest;
use warplens_base::units::Seconds;
use warplens_isa::{OpClass, Pc, StateSpace};
use warplens_stats::{
    BankRule, CoalescingRule, ConstantCounts, Count, Counted, Coverage, InstructionCounts, LaunchShape, LineCounts,
    MemoryCounts, Profile, RegistersBasis, SharedCounts,
};

use super::node::Node;
use super::sequences;
use crate::error::{Error, Result};
use crate::execution::Emulation;
use crate::measure::{Measured, Measurement, Support};
use crate::program::KernelName;

const SCHEMA: &str = "warplens.profile/1";

/// Keys of one launch.
const KEYS: &[&str] = &[
    "schema",
    "kernel",
    "kernel_demangled",
    "launch",
    "counted",
    "absent",
    "measured",
    "coverage",
    "warps",
    "instructions",
    "thread_instructions",
    "thread_instructions_pred_on",
    "mean_active_lanes",
    "branches",
    "divergent_branches",
    "barriers",
    "high_latency",
    "global",
    "local",
    "shared",
    "constant",
    "distinct_sectors_read",
    "distinct_sectors_written",
    "dram_sectors_read",
    "dram_sectors_written",
    "vector_loads",
    "independent_loads",
    "independent_loads_program_order",
    "overlap_instructions",
    "duplicate_loads",
    "duplicate_share",
    "instruction_parallelism",
    "instruction_parallelism_program_order",
    "reuse",
    "periods",
    "order_dependent",
    "communicates",
    "lines",
    "support",
    "emulation",
    "static",
];

/// Reads a document. `name` is what messages call it.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Measurement>> {
    let value: serde_json::Value = serde_json::from_str(super::without_mark(text)).map_err(|error| {
        let whole = error.to_string();
        let message = whole.split(" at line ").next().unwrap_or(&whole);
        Error::input(format!("{name}, line {}, column {}: {message}", error.line(), error.column()))
    })?;
    let top = Node::top(name, &value);
    let schema = top.need("schema")?.text()?;
    if schema != SCHEMA {
        return Err(top.fail(format!("the schema is `{schema}`; `{SCHEMA}` is needed")));
    }
    let Some(launches) = top.get("launches") else { return Ok(vec![measurement(&top)?]) };
    top.keys(&["schema", "launches"])?;
    let launches = launches.items()?;
    if launches.is_empty() {
        return Err(top.fail("`launches` is empty"));
    }
    launches.iter().map(measurement).collect()
}

fn measurement(node: &Node<'_>) -> Result<Measurement> {
    node.keys(KEYS)?;
    let mut reader = Reader { absent: BTreeSet::new() };
    let kernel = KernelName::new(node.need("kernel")?.text()?);
    let kernel = match node.get("kernel_demangled") {
        Some(demangled) => KernelName { demangled: demangled.text()?.to_owned(), ..kernel },
        None => kernel,
    };
    let profile = reader.profile(node, &kernel.mangled)?;
    Ok(Measurement {
        kernel,
        traces: warplens_sim::traces::Traces::None,
        profile,
        listing: Vec::new(),
        statics: optional(node, "static", super::statics::statics)?,
        emulation: node.get("emulation").filter(|node| !node.is_null()).as_ref().map(emulation).transpose()?,
        support: node.get("support").as_ref().map(support).transpose()?.unwrap_or_default(),
        communicates: node.get("communicates").map_or(Ok(false), |node| node.flag())?,
        measured: node.get("measured").filter(|node| !node.is_null()).as_ref().map(measured).transpose()?,
    })
}

fn emulation(node: &Node<'_>) -> Result<Emulation> {
    node.keys(&["thread_instructions", "warp_instructions", "seconds"])?;
    Ok(Emulation {
        thread_instructions: node.need("thread_instructions")?.count()?,
        warp_instructions: node.need("warp_instructions")?.count()?,
        seconds: node.need("seconds")?.number()?,
    })
}

fn support(node: &Node<'_>) -> Result<Support> {
    node.keys(&["instructions", "share", "unsupported"])?;
    let unsupported = node.need("unsupported")?.items()?;
    let unsupported = unsupported.iter().map(|entry| {
        entry.keys(&["opcode", "reason"])?;
        Ok((entry.need("opcode")?.text()?.to_owned(), entry.need("reason")?.text()?.to_owned()))
    });
    let unsupported = unsupported.collect::<Result<Vec<_>>>()?;
    let instructions = node.need("instructions")?.count()?;
    Ok(Support { instructions, unsupported })
}

fn measured(node: &Node<'_>) -> Result<Measured> {
    node.keys(&["time_us", "device", "target", "profiler"])?;
    let text =
        |key: &str| node.get(key).filter(|node| !node.is_null()).map(|node| node.text().map(str::to_owned)).transpose();
    Ok(Measured {
        time: Seconds(node.need("time_us")?.number()? / 1e6),
        device: text("device")?,
        target: text("target")?,
        profiler: node.get("profiler").map_or(Ok("file"), |profiler| profiler.text())?.to_owned(),
    })
}

/// Reads one profile and notes what it lacks.
struct Reader {
    absent: BTreeSet<Count>,
}

impl Reader {
    /// The value of a key, or the default of its type where the key is missing and `count` is absent with it.
    fn value<T: Default>(
        &mut self,
        node: &Node<'_>,
        key: &str,
        count: Count,
        read: impl FnOnce(&Node<'_>) -> Result<T>,
    ) -> Result<T> {
        match node.get(key) {
            Some(node) => read(&node),
            None => {
                self.absent.insert(count);
                Ok(T::default())
            }
        }
    }

    fn count(&mut self, node: &Node<'_>, key: &str, count: Count) -> Result<u64> {
        self.value(node, key, count, |node| node.count())
    }

    fn profile(&mut self, node: &Node<'_>, kernel: &str) -> Result<Profile> {
        let launch = self.launch(&node.need("launch")?)?;
        let by_rule = |text: &str| CoalescingRule::ALL.into_iter().find(|rule| rule.name() == text);
        let profile = Profile {
            kernel: kernel.to_owned(),
            launch,
            counted: counted(node)?,
            coverage: coverage(node, &launch)?,
            warps: warps(node, &launch)?,
            instructions: self.instructions(node)?,
            thread_instructions: self.count(node, "thread_instructions", Count::ThreadInstructions)?,
            thread_instructions_pred_on: self.count(node, "thread_instructions_pred_on", Count::PredicatedOn)?,
            branches: self.count(node, "branches", Count::Branches)?,
            divergent_branches: self.count(node, "divergent_branches", Count::DivergentBranches)?,
            barriers: self.count(node, "barriers", Count::Barriers)?,
            high_latency: self.value(node, "high_latency", Count::HighLatency, named_counts)?,
            global: self.memory(node, "global", &GLOBAL)?,
            local: self.memory(node, "local", &LOCAL)?,
            shared: self.shared(node)?,
            constant: self.value(node, "constant", Count::Constant, constant)?,
            distinct_sectors_read: self.count(node, "distinct_sectors_read", Count::DistinctSectors)?,
            distinct_sectors_written: self.count(node, "distinct_sectors_written", Count::DistinctSectors)?,
            dram_sectors: dram_sectors(node)?,
            vector_loads: self.count(node, "vector_loads", Count::VectorLoads)?,
            independent_loads: self.value(node, "independent_loads", Count::IndependentLoads, factor)?,
            independent_loads_program_order: self.value(
                node,
                "independent_loads_program_order",
                Count::IndependentLoadsProgramOrder,
                factor,
            )?,
            overlap_instructions: self.count(node, "overlap_instructions", Count::OverlapInstructions)?,
            duplicate_loads: self.value(node, "duplicate_loads", Count::DuplicateLoads, |node| {
                let entry = |(rule, node): (&str, Node<'_>)| {
                    let rule = by_rule(rule).ok_or_else(|| unknown_rule(&node, rule))?;
                    Ok((rule, factor(&node)?.ok_or_else(|| node.fail("a number is needed, not null"))?))
                };
                node.entries()?.into_iter().map(entry).collect()
            })?,
            duplicate_share: node.get("duplicate_share").map_or(Ok(1.0), |node| node.number())?,
            instruction_parallelism: optional(node, "instruction_parallelism", factor)?.flatten(),
            instruction_parallelism_program_order: optional(node, "instruction_parallelism_program_order", factor)?
                .flatten(),
            reuse: optional(node, "reuse", sequences::reuse)?,
            periods: optional(node, "periods", sequences::periods)?,
            order_dependent: node.get("order_dependent").map_or(Ok(false), |node| node.flag())?,
            lines: self
                .value(node, "lines", Count::Lines, |node| node.items()?.iter().map(line).collect::<Result<_>>())?,
            absent: std::mem::take(&mut self.absent),
        };
        if let Some(absent) = node.get("absent") {
            absent.items()?.iter().try_for_each(|name| name.text().map(drop))?;
        }
        check(node, &profile)?;
        Ok(profile)
    }

    fn launch(&mut self, node: &Node<'_>) -> Result<LaunchShape> {
        node.keys(&["grid", "block", "shared_bytes", "registers", "registers_basis"])?;
        let grid = extents(&node.need("grid")?)?;
        let block = extents(&node.need("block")?)?;
        crate::launch::check_extents(grid, block).map_err(|error| node.fail(error.message))?;
        Ok(LaunchShape {
            grid,
            block,
            shared_bytes: self.count(node, "shared_bytes", Count::SharedBytes)?,
            registers: self.value(node, "registers", Count::Registers, |node| node.small_count())?,
            registers_basis: node.get("registers_basis").as_ref().map_or(Ok(RegistersBasis::User), registers_basis)?,
        })
    }

    fn instructions(&mut self, node: &Node<'_>) -> Result<InstructionCounts> {
        let Some(node) = node.get("instructions") else {
            self.absent.extend([Count::Instructions, Count::Classes, Count::Opcodes]);
            return Ok(InstructionCounts::default());
        };
        node.keys(&["total", "by_class", "by_opcode", "virtual_share"])?;
        let by_class = |node: &Node<'_>| {
            let class = |(name, node): (&str, Node<'_>)| {
                let names = OpClass::ALL.iter().map(|class| class.name());
                let class = OpClass::from_name(name).ok_or_else(|| unknown(&node, "class", name, names))?;
                Ok((class, node.count()?))
            };
            node.entries()?.into_iter().map(class).collect()
        };
        Ok(InstructionCounts {
            total: self.count(&node, "total", Count::Instructions)?,
            by_class: self.value(&node, "by_class", Count::Classes, by_class)?,
            by_opcode: self.value(&node, "by_opcode", Count::Opcodes, named_counts)?,
        })
    }

    fn memory(
        &mut self,
        node: &Node<'_>,
        key: &str,
        groups: &MemoryGroups,
    ) -> Result<BTreeMap<CoalescingRule, MemoryCounts>> {
        let entries = node.get(key).map(|node| node.entries()).transpose()?.unwrap_or_default();
        if entries.is_empty() {
            self.absent.extend(groups.all());
        }
        let mut by_rule = BTreeMap::new();
        for (name, node) in entries {
            let rule = coalescing_rule(name, &node)?;
            by_rule.insert(rule, memory(&node, Some((&mut self.absent, groups)))?);
        }
        Ok(by_rule)
    }

    fn shared(&mut self, node: &Node<'_>) -> Result<BTreeMap<BankRule, SharedCounts>> {
        let entries = node.get("shared").map(|node| node.entries()).transpose()?.unwrap_or_default();
        if entries.is_empty() {
            self.absent.extend(SHARED);
        }
        let mut by_rule = BTreeMap::new();
        for (name, node) in entries {
            by_rule.insert(bank_rule(name, &node)?, shared(&node, Some(&mut self.absent))?);
        }
        Ok(by_rule)
    }
}

/// Which counts of memory are known together.
struct MemoryGroups {
    requests: Count,
    kinds: Count,
    transactions: Count,
    lines: Count,
    coalesced: Count,
    bytes: Count,
}

impl MemoryGroups {
    const fn all(&self) -> [Count; 6] {
        [self.requests, self.kinds, self.transactions, self.lines, self.coalesced, self.bytes]
    }
}

const GLOBAL: MemoryGroups = MemoryGroups {
    requests: Count::GlobalRequests,
    kinds: Count::GlobalKinds,
    transactions: Count::GlobalTransactions,
    lines: Count::GlobalLines,
    coalesced: Count::GlobalCoalesced,
    bytes: Count::GlobalBytes,
};

const LOCAL: MemoryGroups = MemoryGroups {
    requests: Count::LocalRequests,
    kinds: Count::LocalKinds,
    transactions: Count::LocalTransactions,
    lines: Count::LocalLines,
    coalesced: Count::LocalCoalesced,
    bytes: Count::LocalBytes,
};

const SHARED: [Count; 5] =
    [Count::SharedRequests, Count::SharedKinds, Count::SharedConflicted, Count::SharedPasses, Count::SharedWavefronts];

/// A count of a group: where it is missing the group is absent, or, without groups, the file is wrong.
fn grouped(node: &Node<'_>, key: &str, group: Option<(&mut BTreeSet<Count>, Count)>) -> Result<u64> {
    match (node.get(key), group) {
        (Some(node), _) => node.count(),
        (None, Some((absent, group))) => {
            absent.insert(group);
            Ok(0)
        }
        (None, None) => Err(node.fail(format!("the key `{key}` is missing"))),
    }
}

fn memory(node: &Node<'_>, mut groups: Option<(&mut BTreeSet<Count>, &MemoryGroups)>) -> Result<MemoryCounts> {
    node.keys(&[
        "requests",
        "loads",
        "stores",
        "atomics",
        "t32",
        "t64",
        "t128",
        "lines",
        "coalesced",
        "uncoalesced",
        "coalesced_transactions",
        "uncoalesced_transactions",
        "ideal_t32",
        "ideal_t64",
        "ideal_t128",
        "bytes_requested",
        "bytes_moved",
    ])?;
    let mut count = |key: &str, group: fn(&MemoryGroups) -> Count| {
        grouped(node, key, groups.as_mut().map(|(absent, groups)| (&mut **absent, group(groups))))
    };
    let ideal = |key: &str| node.get(key).map_or(Ok(0), |node| node.count());
    let mut counts = MemoryCounts {
        requests: count("requests", |groups| groups.requests)?,
        loads: count("loads", |groups| groups.kinds)?,
        stores: count("stores", |groups| groups.kinds)?,
        atomics: count("atomics", |groups| groups.kinds)?,
        t32: count("t32", |groups| groups.transactions)?,
        t64: count("t64", |groups| groups.transactions)?,
        t128: count("t128", |groups| groups.transactions)?,
        lines: count("lines", |groups| groups.lines)?,
        coalesced: count("coalesced", |groups| groups.coalesced)?,
        uncoalesced: count("uncoalesced", |groups| groups.coalesced)?,
        coalesced_transactions: count("coalesced_transactions", |groups| groups.coalesced)?,
        uncoalesced_transactions: count("uncoalesced_transactions", |groups| groups.coalesced)?,
        ideal_t32: ideal("ideal_t32")?,
        ideal_t64: ideal("ideal_t64")?,
        ideal_t128: ideal("ideal_t128")?,
        bytes_requested: count("bytes_requested", |groups| groups.bytes)?,
        bytes_moved: 0,
    };
    counts.bytes_moved = match node.get("bytes_moved") {
        Some(node) => node.count()?,
        None => moved(&counts),
    };
    let is_absent = |group: fn(&MemoryGroups) -> Count| {
        groups.as_ref().is_some_and(|(absent, groups)| absent.contains(&group(groups)))
    };
    let has_requests = !is_absent(|groups| groups.requests);
    let has_transactions = !is_absent(|groups| groups.transactions);
    let has_coalesced = !is_absent(|groups| groups.coalesced);
    let kinds = sum([counts.loads, counts.stores, counts.atomics]);
    if has_requests && !is_absent(|groups| groups.kinds) {
        agree(node, "loads + stores + atomics", kinds, "requests", counts.requests)?;
    }
    if has_requests && has_coalesced {
        let both = sum([counts.coalesced, counts.uncoalesced]);
        agree(node, "coalesced + uncoalesced", both, "requests", counts.requests)?;
    }
    if has_transactions {
        let all = sum([counts.t32, counts.t64, counts.t128]);
        if has_coalesced {
            let both = sum([counts.coalesced_transactions, counts.uncoalesced_transactions]);
            agree(node, "coalesced_transactions + uncoalesced_transactions", both, "t32 + t64 + t128", all)?;
        }
        agree(node, "32 t32 + 64 t64 + 128 t128", moved(&counts), "bytes_moved", counts.bytes_moved)?;
    }
    Ok(counts)
}

const fn moved(counts: &MemoryCounts) -> u64 {
    let bytes = counts.t32.saturating_mul(32).saturating_add(counts.t64.saturating_mul(64));
    bytes.saturating_add(counts.t128.saturating_mul(128))
}

fn shared(node: &Node<'_>, mut absent: Option<&mut BTreeSet<Count>>) -> Result<SharedCounts> {
    node.keys(&["requests", "loads", "stores", "atomics", "conflicted", "passes", "wavefronts", "ideal_wavefronts"])?;
    let mut count = |key: &str, group: Count| grouped(node, key, absent.as_mut().map(|absent| (&mut **absent, group)));
    let counts = SharedCounts {
        requests: count("requests", Count::SharedRequests)?,
        loads: count("loads", Count::SharedKinds)?,
        stores: count("stores", Count::SharedKinds)?,
        atomics: count("atomics", Count::SharedKinds)?,
        conflicted: count("conflicted", Count::SharedConflicted)?,
        passes: count("passes", Count::SharedPasses)?,
        wavefronts: count("wavefronts", Count::SharedWavefronts)?,
        ideal_wavefronts: count("ideal_wavefronts", Count::SharedWavefronts)?,
    };
    let has = |count: Count| absent.as_ref().is_none_or(|absent| !absent.contains(&count));
    if has(Count::SharedRequests) && has(Count::SharedKinds) {
        let kinds = sum([counts.loads, counts.stores, counts.atomics]);
        agree(node, "loads + stores + atomics", kinds, "requests", counts.requests)?;
    }
    if has(Count::SharedRequests) && has(Count::SharedConflicted) {
        within(node, "conflicted", counts.conflicted, "requests", counts.requests)?;
    }
    if has(Count::SharedWavefronts) {
        within(node, "ideal_wavefronts", counts.ideal_wavefronts, "wavefronts", counts.wavefronts)?;
    }
    Ok(counts)
}

fn constant(node: &Node<'_>) -> Result<ConstantCounts> {
    node.keys(&["requests", "passes"])?;
    Ok(ConstantCounts { requests: node.need("requests")?.count()?, passes: node.need("passes")?.count()? })
}

fn counted(node: &Node<'_>) -> Result<Counted> {
    let Some(node) = node.get("counted") else { return Ok(Counted::Ptx) };
    let name = node.text()?;
    let found = Counted::ALL.into_iter().find(|counted| counted.name() == name);
    found.ok_or_else(|| unknown(&node, "basis", name, Counted::ALL.iter().map(|counted| counted.name())))
}

fn coverage(node: &Node<'_>, launch: &LaunchShape) -> Result<Coverage> {
    let n_ctas = launch.n_ctas();
    let Some(node) = node.get("coverage") else {
        return Ok(Coverage { ctas_executed: n_ctas, ctas_total: n_ctas, spread: 0.0 });
    };
    node.keys(&["ctas_executed", "ctas_total", "spread"])?;
    let coverage = Coverage {
        ctas_executed: node.need("ctas_executed")?.count()?,
        ctas_total: node.need("ctas_total")?.count()?,
        spread: spread(&node.need("spread")?)?,
    };
    agree(&node, "ctas_total", coverage.ctas_total, "the CTAs of launch.grid", n_ctas)?;
    within(&node, "ctas_executed", coverage.ctas_executed, "ctas_total", coverage.ctas_total)?;
    Ok(coverage)
}

/// How much the CTAs differ; `"nan"` where only some were looked at as a whole.
fn spread(node: &Node<'_>) -> Result<f64> {
    if node.is("nan") { Ok(f64::NAN) } else { node.number() }
}

fn warps(node: &Node<'_>, launch: &LaunchShape) -> Result<u64> {
    let launched = launch.n_ctas().saturating_mul(launch.n_warps());
    if let Some(warps) = node.get("warps") {
        agree(node, "warps", warps.count()?, "the warps of launch.grid and launch.block", launched)?;
    }
    Ok(launched)
}

fn dram_sectors(node: &Node<'_>) -> Result<Option<[u64; 2]>> {
    match (node.get("dram_sectors_read"), node.get("dram_sectors_written")) {
        (Some(read), Some(written)) => Ok(Some([read.count()?, written.count()?])),
        (None, None) => Ok(None),
        _ => Err(node.fail("dram_sectors_read and dram_sectors_written go together")),
    }
}

/// A mean that is at least a little above zero, or null where there is nothing to take it of.
pub(super) fn factor(node: &Node<'_>) -> Result<Option<f64>> {
    if node.is_null() {
        return Ok(None);
    }
    match node.number()? {
        0.0 => Err(node.fail("the number must be above 0")),
        number => Ok(Some(number)),
    }
}

/// What stands under a key; none where it is missing or null.
fn optional<T>(node: &Node<'_>, key: &str, read: impl FnOnce(&Node<'_>) -> Result<T>) -> Result<Option<T>> {
    node.get(key).filter(|node| !node.is_null()).map(|node| read(&node)).transpose()
}

fn named_counts(node: &Node<'_>) -> Result<BTreeMap<String, u64>> {
    node.entries()?.into_iter().map(|(name, node)| Ok((name.to_owned(), node.count()?))).collect()
}

fn extents(node: &Node<'_>) -> Result<[u32; 3]> {
    let items = node.items()?;
    let [x, y, z] = items.as_slice() else {
        return Err(node.fail(format!("three extents are needed, not {}", items.len())));
    };
    Ok([x.small_count()?, y.small_count()?, z.small_count()?])
}

fn registers_basis(node: &Node<'_>) -> Result<RegistersBasis> {
    const ALL: [RegistersBasis; 4] =
        [RegistersBasis::User, RegistersBasis::Ptxas, RegistersBasis::Estimate, RegistersBasis::Profiler];
    let name = node.text()?;
    let found = ALL.into_iter().find(|basis| basis.name() == name);
    found.ok_or_else(|| unknown(node, "basis", name, ALL.iter().map(|basis| basis.name())))
}

pub(super) fn coalescing_rule(name: &str, node: &Node<'_>) -> Result<CoalescingRule> {
    CoalescingRule::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| unknown_rule(node, name))
}

fn unknown_rule(node: &Node<'_>, name: &str) -> Error {
    unknown(node, "rule", name, CoalescingRule::ALL.iter().map(|rule| rule.name()))
}

fn bank_rule(name: &str, node: &Node<'_>) -> Result<BankRule> {
    let found = BankRule::ALL.into_iter().find(|rule| rule.name() == name);
    found.ok_or_else(|| unknown(node, "rule", name, BankRule::ALL.iter().map(|rule| rule.name())))
}

fn unknown(node: &Node<'_>, what: &str, name: &str, known: impl Iterator<Item = &'static str> + Clone) -> Error {
    let error = node.fail(format!("there is no {what} `{name}`"));
    match nearest(name, known.clone()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help(format!("there are {}", known.collect::<Vec<_>>().join(", "))),
    }
}

fn line(node: &Node<'_>) -> Result<LineCounts> {
    node.keys(&[
        "pc",
        "ptx_line",
        "file",
        "line",
        "opcode",
        "space",
        "executed",
        "threads",
        "divergent",
        "memory",
        "shared",
    ])?;
    let optional = |key: &str| node.get(key).filter(|node| !node.is_null());
    let space = |node: Node<'_>| {
        let name = node.text()?;
        let found = SPACES.into_iter().find(|space| space.name() == name);
        found.ok_or_else(|| unknown(&node, "space", name, SPACES.iter().map(|space| space.name())))
    };
    let memory_rules = node.get("memory").map(|node| node.entries()).transpose()?.unwrap_or_default();
    let memory_rules =
        memory_rules.into_iter().map(|(name, node)| Ok((coalescing_rule(name, &node)?, memory(&node, None)?)));
    let shared_rules = node.get("shared").map(|node| node.entries()).transpose()?.unwrap_or_default();
    let shared_rules = shared_rules.into_iter().map(|(name, node)| Ok((bank_rule(name, &node)?, shared(&node, None)?)));
    Ok(LineCounts {
        pc: Pc(node.get("pc").map_or(Ok(0), |node| node.small_count())?),
        ptx_line: node.need("ptx_line")?.small_count()?,
        source: super::statics::source(node)?,
        opcode: node.need("opcode")?.text()?.to_owned(),
        space: optional("space").map(space).transpose()?,
        executed: node.need("executed")?.count()?,
        threads: node.need("threads")?.count()?,
        divergent: node.need("divergent")?.count()?,
        memory: memory_rules.collect::<Result<_>>()?,
        shared: shared_rules.collect::<Result<_>>()?,
    })
}

const SPACES: [StateSpace; 6] = [
    StateSpace::Generic,
    StateSpace::Global,
    StateSpace::Shared,
    StateSpace::Local,
    StateSpace::Const,
    StateSpace::Param,
];

/// What must hold between counts of different keys.
fn check(node: &Node<'_>, profile: &Profile) -> Result<()> {
    let instructions = &profile.instructions;
    let has = |counts: &[Count]| counts.iter().all(|&count| profile.has(count));
    if has(&[Count::Instructions, Count::Classes]) {
        let classes = sum(instructions.by_class.values().copied());
        within(node, "the sum of instructions.by_class", classes, "instructions.total", instructions.total)?;
    }
    if has(&[Count::Instructions, Count::Opcodes]) {
        let opcodes = sum(instructions.by_opcode.values().copied());
        within(node, "the sum of instructions.by_opcode", opcodes, "instructions.total", instructions.total)?;
    }
    if has(&[Count::ThreadInstructions, Count::PredicatedOn]) {
        let (on, all) = (profile.thread_instructions_pred_on, profile.thread_instructions);
        within(node, "thread_instructions_pred_on", on, "thread_instructions", all)?;
    }
    if has(&[Count::Branches, Count::DivergentBranches]) {
        within(node, "divergent_branches", profile.divergent_branches, "branches", profile.branches)?;
    }
    // Counts that were scaled one by one may exceed their bound by rounding.
    let is_whole = profile.coverage.ctas_executed == profile.coverage.ctas_total;
    if is_whole && has(&[Count::Instructions, Count::ThreadInstructions]) {
        let most = instructions.total.saturating_mul(32);
        within(node, "thread_instructions", profile.thread_instructions, "32 instructions.total", most)?;
    }
    if profile.duplicate_share > 1.0 {
        return Err(node.fail(format!("duplicate_share is {}; a share is at most 1", profile.duplicate_share)));
    }
    Ok(())
}

pub(super) fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

pub(super) fn agree(node: &Node<'_>, left: &str, a: u64, right: &str, b: u64) -> Result<()> {
    if a == b { Ok(()) } else { Err(node.fail(format!("{left} is {a}, but {right} is {b}"))) }
}

fn within(node: &Node<'_>, left: &str, a: u64, right: &str, b: u64) -> Result<()> {
    if a <= b { Ok(()) } else { Err(node.fail(format!("{left} is {a}, more than {right}, which is {b}"))) }
}
