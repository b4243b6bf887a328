//! What a program launched and copied, with predicted times.
//!
//! ```text
//! Kernels
//! kernel  calls  grid x block  h200 time  bound by     share
//! add        10  256 x 256       31.2 us  DRAM bandwidth  100.0 %
//! ```

use warplens_document::exec as document;
use warplens_document::{Id, Number};
use warplens_question::exec::timeline::{Lane, Spent};
use warplens_question::exec::{Account, Copies, Finding, Kernel, Sampled, direction};
use warplens_session::trail::Check;

use crate::section::{Block, Cell, Column, Section, Table, Unit};

/// Everything, for people; the assumptions where details are wanted.
pub fn sections(account: &Account, checks: &[Check], is_detailed: bool) -> Vec<Section> {
    let mut sections = Vec::new();
    let Sampled { in_part, left_out } = account.sampled;
    if account.kernels.is_empty() {
        let note = match left_out {
            0 => "The program launched no kernel.".to_owned(),
            _ => format!("{left_out} launches were left out: what the program computed is wrong."),
        };
        sections.push(Section::new("kernels", "").note(note));
    } else {
        let mut kernels = Section::new("kernels", "Kernels, by predicted time").with(Block::Table(kernels(account)));
        for (number, gpu) in account.gpus.iter().enumerate() {
            let (seconds, without) = account.total(number);
            let lacking = match without {
                0 => String::new(),
                without => format!("; {without} launches have no prediction"),
            };
            kernels = kernels.note(format!("All launches on {gpu}: {}{lacking}.", micros(seconds)));
        }
        let scaled: u64 = account.kernels.iter().map(|kernel| kernel.scaled).sum();
        if scaled > 0 {
            kernels = kernels.note(format!(
                "Of {scaled} launches only the work is known: their time is that of one like them, in proportion to it."
            ));
        }
        if in_part + left_out > 0 {
            kernels = kernels.note(format!(
                "{in_part} launches were executed in part and {left_out} not at all (--sample): what the program \
                 computed is wrong."
            ));
        }
        sections.push(kernels);
    }
    if !account.copies.is_empty() {
        sections.push(Section::new("copies", "Copies").with(Block::Table(copies(account))));
    }
    if !account.timeline.spans.is_empty() {
        let section = Section::new("timeline", "Time line").note(spent(account));
        let section = match account.assumptions.len() {
            0 => section,
            _ if is_detailed => section.note(format!("Assumptions: {}.", account.assumptions.join("; "))),
            count => section.note(format!("{count} assumptions: -v.")),
        };
        sections.push(section);
    }
    sections.extend(found(account, checks));
    for (id, title, list) in [
        ("unsupported", "Called and not supported", &account.unsupported),
        ("failures", "What went wrong", &account.failures),
    ] {
        if !list.is_empty() {
            sections.push(list.iter().fold(Section::new(id, title), |section, line| section.note(line.clone())));
        }
    }
    sections
}

/// The tables with every digit.
pub fn tables(account: &Account, checks: &[Check]) -> Vec<Section> {
    let mut tables = vec![
        Section::new("kernels", "").with(Block::Table(kernels(account))),
        Section::new("copies", "").with(Block::Table(copies(account))),
    ];
    if !checks.is_empty() {
        tables.push(Section::new("findings", "").with(Block::Table(findings(account))));
    }
    tables
}

/// What checks found; none where nothing was checked.
fn found(account: &Account, checks: &[Check]) -> Option<Section> {
    if checks.is_empty() {
        return None;
    }
    let names = checks.iter().map(|check| check.name()).collect::<Vec<_>>().join(", ");
    let section = Section::new("findings", "Findings");
    Some(match account.findings.len() {
        0 => section.note(format!("Nothing was found ({names}).")),
        _ => section.with(Block::Table(findings(account))),
    })
}

fn findings(account: &Account) -> Table {
    let columns = [("check", "check"), ("where", "place"), ("times", "times"), ("what", "message")];
    let mut table = Table::new(&columns);
    for Finding { check, kernel, place, message, count, .. } in &account.findings {
        let place = match kernel {
            Some(kernel) => format!("{}, {place}", kernel.base()),
            None => place.clone(),
        };
        table.push(vec![Cell::text(check.name()), Cell::text(place), Cell::Count(*count), Cell::text(message.clone())]);
    }
    table
}

/// Name of a stream.
fn stream(number: u32) -> String {
    if number == 0 { "default stream".to_owned() } else { format!("stream {number}") }
}

/// Name of a lane.
pub fn lane(lane: Lane) -> String {
    match lane.branch {
        0 => stream(lane.stream),
        branch => format!("{}, branch {}", stream(lane.stream), branch + 1),
    }
}

/// How the time of the first GPU was spent, as sentences.
pub fn spent(account: &Account) -> String {
    let spent = account.timeline.spent();
    let share = |part: f64| format!("{:.0} %", if spent.total > 0.0 { part / spent.total * 100.0 } else { 0.0 });
    let gpu = account.gpus.first().map_or("", String::as_str);
    format!(
        "{gpu}: {} from the first work to the end of the last; kernels run {} of it, copies between host and device {}, \
         both at once {}; the device waits for the host {}.",
        micros(spent.total / 1e6),
        share(spent.kernels),
        share(spent.copies),
        share(spent.both),
        share(spent.idle),
    )
}

fn micros(seconds: f64) -> String {
    format!("{:.2} us", seconds * 1e6)
}

fn extents(extents: [u32; 3]) -> String {
    let last = extents.iter().rposition(|&extent| extent != 1).unwrap_or(0);
    extents[..=last].iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn kernels(account: &Account) -> Table {
    let mut table = Table::new(&[("kernel", "kernel"), ("calls", "calls"), ("grid x block", "grid_block")]);
    for gpu in &account.gpus {
        table.columns.push(Column::new(&format!("{gpu} time"), &format!("{gpu}_time_us")));
        table.columns.push(Column::new("bound by", &format!("{gpu}_bound_by")));
        table.columns.push(Column::new("share", &format!("{gpu}_share")));
    }
    for kernel in &account.kernels {
        let mut row = vec![
            Cell::text(kernel.name.base()),
            Cell::Count(kernel.calls),
            Cell::text(format!("{} x {}", extents(kernel.grid), extents(kernel.block))),
        ];
        for number in 0..account.gpus.len() {
            let time = kernel.times.get(number);
            let seconds = time.and_then(|time| time.seconds);
            row.push(Cell::optional(seconds.map(|seconds| seconds * 1e6), Unit::Microseconds));
            let bound = time.and_then(|time| time.answer.bound_by.as_deref());
            row.push(bound.map_or(Cell::text("refused"), Cell::text));
            row.push(Cell::optional(share(account, number, seconds), Unit::Share));
        }
        table.push(row);
    }
    table
}

fn share(account: &Account, gpu: usize, seconds: Option<f64>) -> Option<f64> {
    let (total, _) = account.total(gpu);
    seconds.filter(|_| total > 0.0).map(|seconds| seconds / total)
}

fn copies(account: &Account) -> Table {
    let mut table = Table::new(&[("copies", "copies"), ("calls", "calls"), ("bytes", "bytes")]);
    for gpu in &account.gpus {
        table.columns.push(Column::new(&format!("{gpu} time"), &format!("{gpu}_time_us")));
    }
    for (kind, Copies { calls, bytes, seconds }) in &account.copies {
        let mut row = vec![Cell::text(direction(*kind)), Cell::Count(*calls), Cell::Number(*bytes as f64, Unit::Bytes)];
        let time = |seconds: &Option<f64>| Cell::optional(seconds.map(|seconds| seconds * 1e6), Unit::Microseconds);
        row.extend(seconds.iter().map(time));
        table.push(row);
    }
    table
}

/// The document.
pub fn document(account: &Account, command: &[String], exit_code: Option<i32>, checks: &[Check]) -> document::Exec {
    let totals = account.gpus.iter().enumerate().map(|(number, gpu)| {
        let (seconds, calls_without_time) = account.total(number);
        document::ExecutedTotal { gpu: gpu.clone(), time_us: Number(seconds * 1e6), calls_without_time }
    });
    let copies = account.copies.iter().map(|(kind, copies)| document::ExecutedCopies {
        kind: direction(*kind).to_owned(),
        calls: copies.calls,
        bytes: copies.bytes,
        times_us: copies.seconds.iter().copied().map(micros_of).collect(),
    });
    let Spent { total, kernels, copies: transfers, both, idle } = account.timeline.spent();
    let Sampled { in_part, left_out } = account.sampled;
    document::Exec {
        schema: Id::new(),
        command: command.to_vec(),
        exit_code,
        gpus: account.gpus.clone(),
        kernels: account.kernels.iter().map(|kernel| executed(account, kernel)).collect(),
        totals: totals.collect(),
        copies: copies.collect(),
        device: document::ExecutedDevice {
            total_us: Number(total),
            kernels_us: Number(kernels),
            transfers_us: Number(transfers),
            both_us: Number(both),
            idle_us: Number(idle),
        },
        assumptions: account.assumptions.clone(),
        sampled: document::ExecutedSampled { in_part, left_out },
        checks: checks.iter().map(|check| check.name().to_owned()).collect(),
        findings: account.findings.iter().map(finding).collect(),
        unsupported: account.unsupported.clone(),
        failures: account.failures.clone(),
    }
}

fn finding(finding: &Finding) -> document::ExecutedFinding {
    document::ExecutedFinding {
        check: finding.check.name().to_owned(),
        kernel: finding.kernel.as_ref().map(|kernel| kernel.demangled.clone()),
        place: finding.place.clone(),
        message: finding.message.clone(),
        count: finding.count,
        launches: finding.launches,
    }
}

fn micros_of(seconds: Option<f64>) -> Option<Number> {
    seconds.map(|seconds| Number(seconds * 1e6))
}

fn executed(account: &Account, kernel: &Kernel) -> document::ExecutedKernel {
    let times = kernel.times.iter().enumerate().map(|(number, time)| document::ExecutedTime {
        gpu: time.answer.gpu.clone(),
        time_us: micros_of(time.seconds),
        first_us: micros_of(time.first),
        least_us: micros_of(time.least),
        most_us: micros_of(time.most),
        model: time.answer.model.clone(),
        bound_by: time.answer.bound_by.clone(),
        refused: time.answer.refused.clone(),
        share: share(account, number, time.seconds).map(Number),
    });
    document::ExecutedKernel {
        kernel: kernel.name.demangled.clone(),
        mangled: kernel.name.mangled.clone(),
        grid: kernel.grid,
        block: kernel.block,
        dynamic_shared_bytes: kernel.dynamic_shared,
        registers: kernel.registers,
        launched_before: kernel.launched_before,
        calls: kernel.calls,
        scaled_calls: kernel.scaled,
        cases: kernel.cases,
        times: times.collect(),
    }
}
