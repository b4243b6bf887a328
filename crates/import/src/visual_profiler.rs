//! Logs that the driver's profiler wrote (`CUDA_PROFILE=1`, later `COMPUTE_PROFILE=1`): the data behind the CUDA Visual
//! Profiler.
//!
//! A log begins with lines after `#`, then a line with the names of the columns. Each call of the driver follows as a
//! line, comma-separated (`CUDA_PROFILE_CSV=1`) or as `name=[ value ]` pairs. Hardware counters are those of one SM, or
//! of one TPC, a group of two (cc 1.0, 1.1) or three (1.2, 1.3) SMs. They are brought to the launch by the share of its
//! CTAs that ran there, as Dasgupta's thesis does (table 1: divided by the warps of the SM or of the TPC; here times the
//! warps of the launch).

use std::collections::{BTreeMap, BTreeSet};

use warplens_machine::{Key, Machine, Reader, Strictness, builtin};
use warplens_stats::{
    BankRule, CoalescingRule, Count, Coverage, InstructionCounts, LaunchShape, MemoryCounts, RegistersBasis,
    SharedCounts,
};

use crate::csv;
use crate::csv::without_mark;
use crate::imported::{Imported, Measured, NEVER_COUNTED, Shape};
use crate::nsight::blank;
use warplens_base::error::{Error, Result};
use warplens_launch::KernelName;
use warplens_launch::check_extents;

/// Where a counter sits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// It is no hardware counter.
    Launch,
    /// On one SM.
    Sm,
    /// On one TPC.
    Tpc,
}

/// What becomes of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterSpec {
    /// Name in the log.
    pub(super) name: &'static str,
    /// Where it counts.
    pub(super) scope: Scope,
    /// Compute capabilities that have it.
    pub(super) capability: &'static str,
    /// Key in the profile, empty where the column is not used.
    pub(super) key: &'static str,
    /// How the key follows from it, or why it is not used.
    pub(super) how: &'static str,
}

const fn launch(name: &'static str, key: &'static str, how: &'static str) -> CounterSpec {
    CounterSpec { name, scope: Scope::Launch, capability: "all", key, how }
}

const fn sm(name: &'static str, capability: &'static str, key: &'static str, how: &'static str) -> CounterSpec {
    CounterSpec { name, scope: Scope::Sm, capability, key, how }
}

const fn tpc(name: &'static str, capability: &'static str, key: &'static str, how: &'static str) -> CounterSpec {
    CounterSpec { name, scope: Scope::Tpc, capability, key, how }
}

const NO_SHARE: &str = "the share of the launch that the counters saw";

/// The whole mapping.
pub(super) const COUNTERS: &[CounterSpec] = &[
    launch("method", "kernel", "rows of memory copies are skipped"),
    launch("gputime", "measured.time_us", "in microseconds, as printed"),
    launch("cputime", "", "time of the host"),
    launch("occupancy", "", "follows from the launch and the GPU"),
    launch("gridsizex", "launch.grid", "with gridsizey and gridsizez; also gridsize as a list"),
    launch("threadblocksizex", "launch.block", "with threadblocksizey and threadblocksizez; also threadblocksize"),
    launch("dynsmemperblock", "launch.shared_bytes", "added to stasmemperblock"),
    launch("stasmemperblock", "launch.shared_bytes", "added to dynsmemperblock"),
    launch("regperthread", "launch.registers", ""),
    sm("instructions", "1.x", "instructions.total", ""),
    sm("inst_executed", "2.x", "instructions.total", ""),
    sm("thread_inst_executed_0", "2.x", "thread_instructions", "with its siblings _1 to _3; also thread_inst_executed"),
    sm("branch", "all", "branches", "counts barriers, too, on 1.x"),
    sm("divergent_branch", "all", "divergent_branches", ""),
    sm("gld_request", "1.2 and later", "global.loads", ""),
    sm("gst_request", "1.2 and later", "global.stores", ""),
    tpc("gld_32b", "1.2, 1.3", "global[\"1.2\"].t32", "with gst_32b"),
    tpc("gld_64b", "1.2, 1.3", "global[\"1.2\"].t64", "with gst_64b"),
    tpc("gld_128b", "1.2, 1.3", "global[\"1.2\"].t128", "with gst_128b"),
    tpc("gst_32b", "1.2, 1.3", "global[\"1.2\"].t32", "with gld_32b"),
    tpc("gst_64b", "1.2, 1.3", "global[\"1.2\"].t64", "with gld_64b"),
    tpc("gst_128b", "1.2, 1.3", "global[\"1.2\"].t128", "with gld_128b"),
    tpc("gld_coherent", "1.0, 1.1", "", "whether it counts warps, half-warps or transactions is not documented"),
    tpc("gld_incoherent", "1.0, 1.1", "", "likewise"),
    tpc("gst_coherent", "1.0, 1.1", "", "likewise"),
    tpc("gst_incoherent", "1.0, 1.1", "", "likewise"),
    sm("l1_global_load_hit", "2.x", "global[\"2.0\"].t128", "with l1_global_load_miss and global_store_transaction"),
    sm("l1_global_load_miss", "2.x", "global[\"2.0\"].t128", "with l1_global_load_hit and global_store_transaction"),
    sm("global_store_transaction", "2.x", "global[\"2.0\"].t128", "with the lines of loads"),
    sm("uncached_global_load_transaction", "2.x", "", "transactions of any size; where there are some, L1 is off"),
    tpc("local_load", "1.x", "local.requests", "only where both are 0: what else they count is not documented for 1.x"),
    tpc("local_store", "1.x", "local.requests", "likewise; on 2.x both are requests of one SM"),
    sm("shared_load", "2.x", "shared[\"2.0\"].loads", ""),
    sm("shared_store", "2.x", "shared[\"2.0\"].stores", ""),
    sm("l1_shared_bank_conflict", "2.x", "shared[\"2.0\"].wavefronts", "added to the requests"),
    sm("warp_serialize", "1.x", "", "conflicts of shared and constant memory together"),
    sm("sm_cta_launched", "all", "", NO_SHARE),
    tpc("cta_launched", "1.x", "", NO_SHARE),
    sm("warps_launched", "2.x", "", NO_SHARE),
    sm("threads_launched", "2.x", "", NO_SHARE),
];

/// True for the text of a log.
pub fn is_log(text: &str) -> bool {
    let text = without_mark(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().is_some_and(|line| {
        line.starts_with("# CUDA_PROFILE_LOG_VERSION")
            || line.starts_with("# OPENCL_PROFILE_LOG_VERSION")
            || (is_header(line) && line.contains("gputime"))
    })
}

/// The names of columns stand before the first call. Time stamps come first where they were asked for.
fn is_header(line: &str) -> bool {
    line.split(',').any(|column| column.trim() == "method") && !line.contains("=[")
}

/// Reads a log that messages call `name`. `shape` is taken where the log does not tell the launches.
pub fn read(name: &str, text: &str, shape: &Shape) -> Result<Vec<Imported>> {
    let text = without_mark(text);
    let mut log = Log { name, shape, device: None, columns: Vec::new() };
    let mut launches = Vec::new();
    let mut n_calls = 0;
    let n_lines = text.lines().count();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            log.comment(comment.trim());
        } else if is_header(line) {
            log.columns = line.split(',').map(normal).collect();
        } else if !line.is_empty() {
            let is_last = number == n_lines && !text.ends_with('\n');
            let call = log.call(number, line, is_last)?;
            n_calls += 1;
            if !call.is_copy() {
                launches.push(log.imported(&call)?);
            }
        }
    }
    if launches.is_empty() {
        let error = Error::input(format!("{name} holds no kernel"));
        return Err(match n_calls {
            0 => error.with_help("the log has no line of a call; did the program end by itself?"),
            _ => error.with_help("there are copies of memory only"),
        });
    }
    Ok(launches)
}

/// Lower case, with underscores.
fn normal(column: &str) -> String {
    column.trim().trim_matches('"').to_ascii_lowercase().replace(' ', "_")
}

struct Log<'l> {
    name: &'l str,
    shape: &'l Shape,
    device: Option<String>,
    columns: Vec<String>,
}

/// One line: what was called, and the columns.
struct Call {
    place: String,
    values: BTreeMap<String, String>,
}

impl Call {
    fn method(&self) -> &str {
        self.values.get("method").map_or("", String::as_str)
    }

    fn is_copy(&self) -> bool {
        let method = self.method().to_ascii_lowercase();
        method.starts_with("memcpy") || method.starts_with("memset")
    }

    fn fail(&self, message: impl std::fmt::Display) -> Error {
        Error::input(format!("{}: {message}", self.place))
    }

    /// The number in a column; none where the log does not have it.
    fn number(&self, column: &str) -> Result<Option<f64>> {
        let Some(text) = self.values.get(column).filter(|text| !text.is_empty()) else { return Ok(None) };
        match csv::number(text) {
            Some(number) if number >= 0.0 => Ok(Some(number)),
            Some(number) => Err(self.fail(format!("{column} is {number}; a count cannot be negative"))),
            None => Err(self.fail(format!("{column} is `{text}`, which is no number"))),
        }
    }

    /// The numbers in several columns, all or none.
    fn numbers<const N: usize>(&self, columns: [&str; N]) -> Result<Option<[f64; N]>> {
        let mut numbers = [0.0; N];
        for (number, column) in numbers.iter_mut().zip(columns) {
            match self.number(column)? {
                Some(found) => *number = found,
                None => return Ok(None),
            }
        }
        Ok(Some(numbers))
    }

    /// Extents in columns with the suffixes x, y, z, or as a list in one.
    fn extents(&self, column: &str) -> Result<Option<[u32; 3]>> {
        let wrong = || self.fail(format!("{column} has no whole numbers up to {}", u32::MAX));
        if let Some(list) = self.values.get(column).filter(|list| !list.is_empty()) {
            let numbers: Option<Vec<u32>> =
                list.split([',', ' ']).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect();
            return match *numbers.ok_or_else(wrong)?.as_slice() {
                [x] => Ok(Some([x, 1, 1])),
                [x, y] => Ok(Some([x, y, 1])),
                [x, y, z] => Ok(Some([x, y, z])),
                _ => Err(wrong()),
            };
        }
        let Some(x) = self.number(&format!("{column}x"))? else { return Ok(None) };
        let y = self.number(&format!("{column}y"))?.unwrap_or(1.0);
        let z = self.number(&format!("{column}z"))?.unwrap_or(1.0);
        let whole = |number: f64| (number.fract() == 0.0 && number <= f64::from(u32::MAX)).then_some(number as u32);
        match (whole(x), whole(y), whole(z)) {
            (Some(x), Some(y), Some(z)) => Ok(Some([x, y, z])),
            _ => Err(wrong()),
        }
    }
}

impl Log<'_> {
    fn comment(&mut self, comment: &str) {
        let mut words = comment.split_whitespace();
        if matches!(words.next(), Some("CUDA_DEVICE" | "CUDA_DEVICE_NAME" | "OPENCL_DEVICE")) {
            // A number comes before the name.
            let rest: Vec<&str> = words.collect();
            let is_numbered = rest.first().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()));
            let name = rest[usize::from(is_numbered)..].join(" ");
            self.device = (!name.is_empty()).then_some(name);
        }
    }

    fn call(&self, number: usize, line: &str, is_last: bool) -> Result<Call> {
        let place = format!("{}, line {number}", self.name);
        let cut = || {
            Error::input(format!("{place}: the line is cut"))
                .with_help("the program ended before the log was whole; write it again")
        };
        if line.contains("=[") {
            return Ok(Call { values: pairs(line).ok_or_else(cut)?, place });
        }
        if self.columns.is_empty() {
            return Err(Error::input(format!("{place}: no line with the names of the columns stands before it"))
                .with_help("it begins with `method,gputime`"));
        }
        let records = csv::records(line).map_err(|_| cut())?;
        let fields = records.into_iter().next().map(|record| record.fields).unwrap_or_default();
        if fields.len() > self.columns.len() {
            return Err(Error::input(format!("{place}: {} fields, but {} columns", fields.len(), self.columns.len())));
        }
        // Columns of copies come last and are left out of the lines of kernels.
        if is_last && fields.len() < self.columns.len() {
            return Err(cut());
        }
        let values = self.columns.iter().cloned().zip(fields.into_iter().map(|field| field.trim().to_owned()));
        Ok(Call { values: values.collect(), place })
    }

    fn imported(&self, call: &Call) -> Result<Imported> {
        if call.method().is_empty() {
            return Err(call.fail("no method is named"));
        }
        let kernel = KernelName::new(call.method());
        let machine = self.device.as_deref().and_then(builtin::of_device);
        let mut reader = Counters { call, machine: machine.as_ref(), absent: BTreeSet::new() };
        let launch = reader.launch(self.shape)?;
        let profile = reader.profile(launch, &kernel.mangled)?;
        let time = call.number("gputime")?;
        Ok(Imported {
            kernel,
            profile,
            measured: time.map(|time_us| Measured {
                time_us,
                device: self.device.clone(),
                target: machine.as_ref().map(|machine| machine.cc.target()),
                profiler: "CUDA Visual Profiler".to_owned(),
            }),
        })
    }
}

/// `name=[ value ]` pairs; `None` where one is not whole.
fn pairs(line: &str) -> Option<BTreeMap<String, String>> {
    let mut values = BTreeMap::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (name, behind) = rest.split_once("=[")?;
        let (value, behind) = behind.split_once(']')?;
        values.insert(normal(name), value.trim().to_owned());
        rest = behind.trim_start();
    }
    Some(values)
}

/// Reads the columns of one call.
struct Counters<'c> {
    call: &'c Call,
    machine: Option<&'c Machine>,
    absent: BTreeSet<Count>,
}

/// How many times the launch did what was counted.
#[derive(Clone, Copy)]
struct Scale {
    sm: f64,
    tpc: f64,
}

impl Counters<'_> {
    fn or_absent<T: Default>(&mut self, found: Option<T>, counts: &[Count]) -> T {
        if found.is_none() {
            self.absent.extend(counts);
        }
        found.unwrap_or_default()
    }

    fn launch(&mut self, shape: &Shape) -> Result<LaunchShape> {
        let call = self.call;
        let extents = |column: &str, given: Option<[u32; 3]>, option: &str, flag: &str| {
            call.extents(column)?.or(given).ok_or_else(|| {
                call.fail(format!("the kernel {} has no {column}", call.method()))
                    .with_help(format!("name {option} in the profiler's configuration, or give {flag} X[,Y[,Z]]"))
            })
        };
        let grid = extents("gridsize", shape.grid, "gridsize", "--grid")?;
        let block = extents("threadblocksize", shape.block, "threadblocksize", "--block")?;
        check_extents(grid, block).map_err(|error| call.fail(error.message))?;
        let shared = call.numbers(["dynsmemperblock", "stasmemperblock"])?;
        let registers = call.number("regperthread")?;
        Ok(LaunchShape {
            grid,
            block,
            cluster: None,
            shared_bytes: self
                .or_absent(shared.map(|[dynamic, fixed]| (dynamic + fixed) as u64), &[Count::SharedBytes]),
            registers: self.or_absent(registers.map(|number| number as u32), &[Count::Registers]),
            registers_basis: RegistersBasis::Profiler,
        })
    }

    /// True on compute capability 2.x, by the GPU or by the names of the counters.
    fn is_fermi(&self) -> bool {
        match self.machine {
            Some(machine) => machine.cc.major >= 2,
            None => {
                let names =
                    ["inst_executed", "inst_issued", "warps_launched", "l1_global_load_hit", "l1_global_load_miss"];
                names.iter().any(|name| self.call.values.contains_key(*name))
            }
        }
    }

    /// SMs of a TPC.
    fn sms_per_tpc(&self) -> f64 {
        let is_gt200 = match self.machine {
            Some(machine) => (machine.cc.major, machine.cc.minor) >= (1, 2),
            None => {
                !self.call.values.contains_key("gld_incoherent") && !self.call.values.contains_key("gst_incoherent")
            }
        };
        match (self.is_fermi(), is_gt200) {
            (true, _) => 1.0,
            (false, true) => 3.0,
            (false, false) => 2.0,
        }
    }

    /// The launch over what the counters saw of it. Without a count of what ran there, every SM is taken to have had
    /// its share.
    fn scale(&self, launch: &LaunchShape) -> Result<Scale> {
        let call = self.call;
        let sms_per_tpc = self.sms_per_tpc();
        let n_ctas = launch.n_ctas() as f64;
        let warps = n_ctas * launch.n_warps() as f64;
        let whole = [
            ("sm_cta_launched", n_ctas, 1.0),
            ("warps_launched", warps, 1.0),
            ("threads_launched", n_ctas * launch.n_threads() as f64, 1.0),
            ("cta_launched", n_ctas, sms_per_tpc),
        ];
        for (column, all, sms) in whole {
            let Some(seen) = call.number(column)? else { continue };
            if seen == 0.0 {
                return Err(call
                    .fail(format!("{column} is 0: nothing ran where the counters were read"))
                    .with_help("launch more blocks, so that every SM has work"));
            }
            if seen > all * 1.001 {
                return Err(call.fail(format!("{column} is {seen}, more than the {all} of the launch")));
            }
            return Ok(Scale { sm: all / seen * sms, tpc: all / seen * sms / sms_per_tpc });
        }
        let sms =
            self.machine.and_then(|machine| Reader::new(machine, Strictness::AllowInferred).need(Key::SmCount).ok());
        let sms = sms.ok_or_else(|| {
            call.fail("it is not known which share of the launch the counters saw").with_help(
                "name sm_cta_launched or cta_launched in the profiler's configuration, or keep the line `# CUDA_DEVICE 0 NAME` of a known GPU",
            )
        })?;
        Ok(Scale { sm: sms.min(n_ctas), tpc: (sms / sms_per_tpc).min(n_ctas) })
    }

    fn profile(&mut self, launch: LaunchShape, kernel: &str) -> Result<warplens_stats::Profile> {
        let call = self.call;
        let has_counters =
            COUNTERS.iter().any(|spec| spec.scope != Scope::Launch && call.values.contains_key(spec.name));
        let scale = if has_counters { self.scale(&launch)? } else { Scale { sm: 1.0, tpc: 1.0 } };
        let n_ctas = launch.n_ctas();
        let seen = if has_counters { ((n_ctas as f64 / scale.sm).round() as u64).clamp(1, n_ctas) } else { n_ctas };
        // What other SMs did is not known.
        let spread = if seen < n_ctas { f64::NAN } else { 0.0 };
        let is_fermi = self.is_fermi();
        let on_sm = |number: Option<f64>| number.map(|number| (number * scale.sm).round() as u64);
        let total = match call.number("instructions")? {
            None => call.number("inst_executed")?,
            found => found,
        };
        let threads = match call.number("thread_inst_executed")? {
            None => {
                let parts = ["_0", "_1", "_2", "_3"].map(|part| format!("thread_inst_executed{part}"));
                let parts = call.numbers([&parts[0], &parts[1], &parts[2], &parts[3]])?;
                parts.map(|parts| parts.iter().sum())
            }
            found => found,
        };
        let threads = on_sm(threads);
        let total = on_sm(total);
        let branches = on_sm(call.number("branch")?);
        let divergent = on_sm(call.number("divergent_branch")?);
        let divergent = divergent.filter(|&divergent| branches.is_none_or(|branches| divergent <= branches));
        let global = self.global(scale, is_fermi)?;
        let local = self.local(scale, is_fermi)?;
        let shared = self.shared(scale, is_fermi)?;
        let rule = self.rule(is_fermi);
        let bank_rule = if is_fermi { BankRule::Cc20 } else { BankRule::Cc10 };
        self.absent.extend(NEVER_COUNTED);
        self.absent.extend([
            Count::Classes,
            Count::Opcodes,
            Count::PredicatedOn,
            Count::Barriers,
            Count::HighLatency,
            Count::GlobalBytes,
        ]);
        Ok(warplens_stats::Profile {
            instructions: InstructionCounts {
                total: self.or_absent(total, &[Count::Instructions]),
                ..InstructionCounts::default()
            },
            thread_instructions: self.or_absent(threads, &[Count::ThreadInstructions]),
            branches: self.or_absent(branches, &[Count::Branches]),
            divergent_branches: self.or_absent(divergent, &[Count::DivergentBranches]),
            global: BTreeMap::from([(rule, global)]),
            local: BTreeMap::from([(rule, local)]),
            shared: BTreeMap::from([(bank_rule, shared)]),
            absent: std::mem::take(&mut self.absent),
            ..blank(kernel, launch, Coverage { ctas_executed: seen, ctas_total: n_ctas, spread })
        })
    }

    fn rule(&self, is_fermi: bool) -> CoalescingRule {
        match self.machine {
            Some(machine) => CoalescingRule::of(machine.cc.major.into(), machine.cc.minor.into()),
            None if is_fermi => CoalescingRule::Cc20,
            None if self.sms_per_tpc() > 2.0 => CoalescingRule::Cc12,
            None => CoalescingRule::Cc10,
        }
    }

    fn global(&mut self, scale: Scale, is_fermi: bool) -> Result<MemoryCounts> {
        let call = self.call;
        let whole = |number: f64, scale: f64| (number * scale).round() as u64;
        let requests = call.numbers(["gld_request", "gst_request"])?;
        let requests = requests.map(|numbers| numbers.map(|number| whole(number, scale.sm)));
        let atomics = match call.numbers(["atom_count", "gred_count"])? {
            Some([atomics, reductions]) => whole(atomics + reductions, scale.sm),
            None => 0,
        };
        let transactions = if is_fermi {
            let lines = call.numbers(["l1_global_load_hit", "l1_global_load_miss", "global_store_transaction"])?;
            let is_cached = call.number("uncached_global_load_transaction")?.is_none_or(|number| number == 0.0);
            lines.filter(|_| is_cached).map(|lines| [0, 0, whole(lines.iter().sum(), scale.sm)])
        } else {
            let loads = call.numbers(["gld_32b", "gld_64b", "gld_128b"])?;
            let stores = call.numbers(["gst_32b", "gst_64b", "gst_128b"])?;
            loads
                .zip(stores)
                .map(|(loads, stores)| std::array::from_fn(|size| whole(loads[size] + stores[size], scale.tpc)))
        };
        let [loads, stores] = self.or_absent(requests, &[Count::GlobalRequests, Count::GlobalKinds]);
        let [t32, t64, t128] = self.or_absent(transactions, &[Count::GlobalTransactions]);
        let bytes = |count: u64, size: u64| count.saturating_mul(size);
        Ok(MemoryCounts {
            requests: loads.saturating_add(stores).saturating_add(atomics),
            loads,
            stores,
            atomics,
            t32,
            t64,
            t128,
            bytes_moved: bytes(t32, 32).saturating_add(bytes(t64, 64)).saturating_add(bytes(t128, 128)),
            ..MemoryCounts::default()
        })
    }

    fn local(&mut self, scale: Scale, is_fermi: bool) -> Result<MemoryCounts> {
        let counts = self.call.numbers(["local_load", "local_store"])?;
        let is_unused = counts == Some([0.0, 0.0]);
        let requests = counts.filter(|_| is_fermi || is_unused);
        let requests = requests.map(|numbers| numbers.map(|number| (number * scale.sm).round() as u64));
        let [loads, stores] = self.or_absent(requests, &[Count::LocalRequests, Count::LocalKinds]);
        // No request, no transaction.
        if !is_unused {
            self.absent.insert(Count::LocalTransactions);
        }
        Ok(MemoryCounts { requests: loads.saturating_add(stores), loads, stores, ..MemoryCounts::default() })
    }

    fn shared(&mut self, scale: Scale, is_fermi: bool) -> Result<SharedCounts> {
        let requests = self.call.numbers(["shared_load", "shared_store"])?.filter(|_| is_fermi);
        let requests = requests.map(|numbers| numbers.map(|number| (number * scale.sm).round() as u64));
        let conflicts = self.call.number("l1_shared_bank_conflict")?.filter(|_| is_fermi);
        let conflicts = conflicts.map(|number| (number * scale.sm).round() as u64).filter(|_| requests.is_some());
        let [loads, stores] = self.or_absent(requests, &[Count::SharedRequests, Count::SharedKinds]);
        let requests = loads.saturating_add(stores);
        let wavefronts = conflicts.map(|conflicts| [requests.saturating_add(conflicts), requests]);
        let [wavefronts, ideal_wavefronts] = self.or_absent(wavefronts, &[Count::SharedWavefronts]);
        Ok(SharedCounts { requests, loads, stores, wavefronts, ideal_wavefronts, ..SharedCounts::default() })
    }
}
