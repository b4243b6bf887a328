//! Predictions against measured times: errors by model and GPU, the worst rows, and what was not predicted.
//!
//! ```text
//! Held-out rows: nothing was chosen by them
//! model     GPU      class      rows  mean error  median    bias  rank correlation  worst
//! roofline  a100-80  streaming   191      28.1 %  16.4 %  -28.1 %            0.912  -95.5 %
//! ```

use std::collections::BTreeSet;

use warplens_document::validate as document;
use warplens_document::{Id, Number};
use warplens_question::measured::Set;
use warplens_question::validate::baseline::Worse;
use warplens_question::validate::counts::CountGroup;
use warplens_question::validate::gains::{CLOSE, Gain};
use warplens_question::validate::ranges::{self, Range};
use warplens_question::validate::{Group, NotPredicted, Pair, Validation};

use crate::section::{Block, Cell, Column, Section, Table, Unit};

/// Everything, for people.
pub fn sections(validation: &Validation) -> Vec<Section> {
    let lists = [
        (Some(Set::HeldOut), "held-out", "Held-out rows: nothing was chosen by them"),
        (None, "rows", "Rows of tables that do not say what they are for"),
        (Some(Set::Training), "training", "Training rows: models or parameters may have been chosen by them"),
    ];
    let mut sections = Vec::new();
    for (set, id, title) in lists {
        let groups: Vec<&Group> = validation.groups.iter().filter(|group| group.key.set == set).collect();
        if !groups.is_empty() {
            sections.push(Section::new(id, title).with(Block::Table(errors(&groups, validation))));
        }
    }
    if let Some(last) = sections.pop() {
        sections.push(last.note(
            "An error is the predicted time over the measured one, less 1; mean and median are of absolute errors, bias \
             is the mean with its sign. `worst` is the largest error.",
        ));
    }
    if !validation.groups.is_empty() {
        sections.push(papers_section(&validation.groups));
    }
    if !validation.gains.is_empty() {
        sections.push(gains_section(&validation.gains));
    }
    let counts = validation.count_groups();
    if !counts.is_empty() {
        let section = Section::new("counts", "Counts beside the counters of a profiler");
        sections.push(section.with(Block::Table(counts_table(&counts))).note(
            "An error is the count here over the profiler's, less 1: instructions and bytes of DRAM by `speed-of-light` \
             and `teg`, the others by the execution.",
        ));
    }
    if !validation.worse.is_empty() {
        let section = Section::new("worse", "Further off than the baseline");
        sections.push(section.with(Block::Table(worse(&validation.worse))));
    }
    if validation.ranges.iter().any(|range| range.factors.is_some()) {
        sections.push(ranges_section(&validation.ranges));
    }
    if !validation.pairs.is_empty() {
        sections.push(Section::new("worst", "Worst rows").with(Block::Table(worst(validation))));
    }
    if !validation.not_predicted.is_empty() {
        sections.push(Section::new("not-predicted", "Not predicted").with(Block::Table(left(validation))));
    }
    if validation.n_other_gpus > 0 {
        let note = format!("Rows of GPUs that were not asked about: {}.", validation.n_other_gpus);
        sections.push(Section::new("others", "").note(note));
    }
    sections
}

/// The same tables with every digit.
pub fn tables(validation: &Validation) -> Vec<Section> {
    let all: Vec<&Group> = validation.groups.iter().collect();
    let mut table = errors(&all, validation);
    table.columns.insert(0, Column::new("set", "set"));
    for (row, group) in table.rows.iter_mut().zip(&all) {
        row.insert(0, set(group.key.set));
    }
    let mut gains = gains(&validation.gains);
    gains.columns.extend([("from row", "from_row"), ("to row", "to_row")].map(|(head, key)| Column::new(head, key)));
    for (row, gain) in gains.rows.iter_mut().zip(&validation.gains) {
        row.extend([Cell::text(&gain.from_row), Cell::text(&gain.to_row)]);
    }
    vec![
        Section::new("errors", "").with(Block::Table(table)),
        Section::new("papers", "").with(Block::Table(papers(&all))),
        Section::new("gains", "").with(Block::Table(gains)),
        Section::new("counts", "").with(Block::Table(counts_table(&validation.count_groups()))),
        Section::new("worst", "").with(Block::Table(worst(validation))),
        Section::new("not-predicted", "").with(Block::Table(left(validation))),
        Section::new("ranges", "").with(Block::Table(ranges_table(validation.ranges.iter()))),
        Section::new("worse", "").with(Block::Table(worse(&validation.worse))),
    ]
}

fn counts_table(groups: &[CountGroup]) -> Table {
    let mut table = Table::new(&[
        ("GPU", "gpu"),
        ("class", "class"),
        ("counter", "counter"),
        ("rows", "rows"),
        ("mean error", "mean_error_share"),
        ("bias", "bias_share"),
        ("worst", "worst_error_share"),
        ("of", "worst_kernel"),
    ]);
    for group in groups {
        table.push(vec![
            Cell::text(&group.gpu),
            Cell::text(group.class.as_deref().unwrap_or("-")),
            Cell::text(group.counter.name()),
            Cell::Count(group.n_rows as u64),
            Cell::Number(group.mean_error, Unit::Share),
            Cell::Number(group.bias, Unit::Share),
            Cell::Number(group.worst, Unit::Share),
            Cell::text(&group.worst_row),
        ]);
    }
    table
}

/// The measures of the models' papers, for people: of each model on all its rows, or where these are of one kind on that.
fn papers_section(groups: &[Group]) -> Section {
    let sums: BTreeSet<(Option<Set>, &str)> =
        groups.iter().filter(|group| group.key.gpu.is_none()).map(|group| (group.key.set, &*group.key.model)).collect();
    let is_sum = |group: &&Group| group.key.gpu.is_none() || !sums.contains(&(group.key.set, &*group.key.model));
    let groups: Vec<&Group> = groups.iter().filter(is_sum).collect();
    Section::new("papers", "By the measures of the models' papers").with(Block::Table(papers(&groups))).note(
        "The geometric mean of the errors is Hong and Kim's measure; accuracy is Luo and Suda's (14), the smaller of both \
         times over the larger; accuracy of throughput is the X-model's, 1 less the mean error of the throughput.",
    )
}

fn papers(groups: &[&Group]) -> Table {
    let mut table = Table::new(&[
        ("model", "model"),
        ("GPU", "gpu"),
        ("set", "set"),
        ("rows", "rows"),
        ("geometric error", "geometric_error_share"),
        ("accuracy", "accuracy_share"),
        ("geometric", "geometric_accuracy_share"),
        ("of throughput", "throughput_accuracy_share"),
    ]);
    for group in groups {
        table.push(vec![
            Cell::text(&group.key.model),
            Cell::text(group.key.gpu.as_deref().unwrap_or("all")),
            set(group.key.set),
            Cell::Count(group.n_rows as u64),
            Cell::Number(group.papers.geometric_error, Unit::Share),
            Cell::Number(group.papers.accuracy, Unit::Share),
            Cell::Number(group.papers.geometric_accuracy, Unit::Share),
            Cell::Number(group.papers.throughput_accuracy, Unit::Share),
        ]);
    }
    table
}

/// What changes gain, for people, and how many of the gains are as measured.
fn gains_section(all: &[Gain]) -> Section {
    let mut section = Section::new("gains", "What changes gain").with(Block::Table(gains(all))).note(
        "A gain is the time before over that after; its error is the predicted gain over the measured one, less 1.",
    );
    let models: BTreeSet<&str> = all.iter().map(|gain| gain.model.as_str()).collect();
    for model in models {
        let own = || all.iter().filter(|gain| gain.model == model);
        let (n_close, n, percent) = (own().filter(|gain| gain.is_close()).count(), own().count(), 100.0 * CLOSE);
        section = section.note(format!("{model}: {n_close} of {n} gains within {percent:.0} % of the measured ones."));
    }
    section
}

fn gains(gains: &[Gain]) -> Table {
    let mut table = Table::new(&[
        ("model", "model"),
        ("GPU", "gpu"),
        ("from", "from"),
        ("to", "to"),
        ("set", "set"),
        ("measured", "measured"),
        ("predicted", "predicted"),
        ("error", "error_share"),
    ]);
    for gain in gains {
        table.push(vec![
            Cell::text(&gain.model),
            Cell::text(&gain.gpu),
            Cell::text(&gain.from),
            Cell::text(&gain.to),
            set(gain.set),
            Cell::Number(gain.measured, Unit::One),
            Cell::Number(gain.predicted, Unit::One),
            Cell::Number(gain.error(), Unit::Share),
        ]);
    }
    table
}

/// The ranges that there are, for people.
fn ranges_section(ranges: &[Range]) -> Section {
    let known = || ranges.iter().filter(|range| range.factors.is_some());
    let mut section = Section::new("ranges", "Where measured times lie, from training rows")
        .with(Block::Table(ranges_table(known())))
        .note(
            "The predicted time times `from` and `to` is the range that held the middle 80 % of the training rows; \
             `coverage` is the share of the held-out rows that it holds.",
        );
    let models: BTreeSet<&str> = known().map(|range| range.class.model.as_str()).collect();
    for model in models {
        if let Some((n_rows, share)) = ranges::coverage(ranges, model) {
            let share = 100.0 * share;
            section =
                section.note(format!("All ranges of {model} together hold {share:.0} % of {n_rows} held-out rows."));
        }
    }
    let n_few = ranges.len() - known().count();
    if n_few > 0 {
        section = section.note(format!("Classes with too few training rows for a range: {n_few}."));
    }
    section
}

fn ranges_table<'r>(ranges: impl Iterator<Item = &'r Range>) -> Table {
    let mut table = Table::new(&[
        ("model", "model"),
        ("bound by", "bound_by"),
        ("cc", "generation"),
        ("simulated", "simulated"),
        ("rows", "training_rows"),
        ("from", "least_factor"),
        ("to", "greatest_factor"),
        ("held out", "held_out_rows"),
        ("coverage", "coverage_share"),
    ]);
    for range in ranges {
        let factor = |at: usize| Cell::optional(range.factors.map(|factors| factors[at]), Unit::One);
        table.push(vec![
            Cell::text(&range.class.model),
            Cell::text(&range.class.bound_by),
            Cell::text(&range.class.generation),
            text(range.class.simulated.as_ref()),
            Cell::Count(range.n_training as u64),
            factor(0),
            factor(1),
            Cell::Count(range.n_held_out as u64),
            Cell::optional(range.coverage(), Unit::Share),
        ]);
    }
    table
}

fn worse(groups: &[Worse]) -> Table {
    let mut table = Table::new(&[
        ("model", "model"),
        ("GPU", "gpu"),
        ("class", "class"),
        ("set", "set"),
        ("rows", "rows"),
        ("mean error before", "before_share"),
        ("now", "now_share"),
        ("rows lost", "lost_rows"),
    ]);
    for group in groups {
        let share = |share: f64| Cell::optional(Some(share).filter(|share| share.is_finite()), Unit::Share);
        table.push(vec![
            Cell::text(&group.key.model),
            text(group.key.gpu.as_ref()),
            text(group.key.class.as_ref()),
            set(group.key.set),
            Cell::Count(group.n_rows as u64),
            share(group.before),
            share(group.now),
            Cell::Count(group.n_lost as u64),
        ]);
    }
    table
}

/// What the project's predictions are worth, as a part of its page: a line for each class and GPU, with the errors of
/// `model` on training and on held-out rows, and those of `beside` on the latter.
pub fn summary(validation: &Validation, model: &str, beside: &str) -> String {
    let find = |model: &str, wanted: Set, of: &Group| {
        let is_wanted = |group: &&Group| {
            let key = &group.key;
            (key.model.as_str(), key.set, &key.gpu, &key.class) == (model, Some(wanted), &of.key.gpu, &of.key.class)
        };
        validation.groups.iter().find(is_wanted)
    };
    let percent = |group: Option<&Group>| {
        group.map_or_else(String::new, |group| format!("{:.1} % ({} rows)", 100.0 * group.mean_error, group.n_rows))
    };
    let mut lines = vec![
        format!(
            "| What was measured | On | Mean error of `{model}`, training rows | Held-out rows | Rank correlation there | \
             Mean error of `{beside}` there |"
        ),
        "|---|---|---:|---:|---:|---:|".to_owned(),
    ];
    let own = validation
        .groups
        .iter()
        .filter(|group| group.key.model == model && group.key.set == Some(Set::HeldOut) && group.key.gpu.is_some());
    for group in own {
        let class = group.key.class.as_deref().unwrap_or("all");
        let gpu = group.key.gpu.as_deref().unwrap_or("all");
        let rank = group.rank_correlation.map_or_else(String::new, |rank| format!("{rank:.2}"));
        let [training, other] =
            [(model, Set::Training), (beside, Set::HeldOut)].map(|(model, set)| find(model, set, group));
        let (training, held_out, other) = (percent(training), percent(Some(group)), percent(other));
        lines.push(format!("| {class} | {gpu} | {training} | {held_out} | {rank} | {other} |"));
    }
    lines.join("\n") + "\n"
}

fn errors(groups: &[&Group], validation: &Validation) -> Table {
    let mut table = Table::new(&[
        ("model", "model"),
        ("GPU", "gpu"),
        ("class", "class"),
        ("rows", "rows"),
        ("mean error", "mean_error_share"),
        ("median", "median_error_share"),
        ("bias", "bias_share"),
        ("rank correlation", "rank_correlation"),
        ("worst", "worst_error_share"),
    ]);
    for group in groups {
        let worst = group.worst.first().map(|&at| validation.pairs[at].error());
        table.push(vec![
            Cell::text(&group.key.model),
            Cell::text(group.key.gpu.as_deref().unwrap_or("all")),
            text(group.key.class.as_ref()),
            Cell::Count(group.n_rows as u64),
            Cell::Number(group.mean_error, Unit::Share),
            Cell::Number(group.median_error, Unit::Share),
            Cell::Number(group.bias, Unit::Share),
            Cell::optional(group.rank_correlation, Unit::One),
            Cell::optional(worst, Unit::Share),
        ]);
    }
    table
}

/// The worst rows of each model on each GPU.
fn worst(validation: &Validation) -> Table {
    let mut table = Table::new(&[
        ("model", "model"),
        ("GPU", "gpu"),
        ("set", "set"),
        ("row", "row"),
        ("kernel", "kernel"),
        ("measured", "measured_us"),
        ("predicted", "predicted_us"),
        ("error", "error_share"),
    ]);
    for group in validation.groups.iter().filter(|group| group.key.gpu.is_some()) {
        for pair in group.worst.iter().map(|&at| &validation.pairs[at]) {
            table.push(vec![
                Cell::text(&pair.model),
                Cell::text(&pair.gpu),
                set(pair.set),
                Cell::text(&pair.row),
                Cell::text(&pair.kernel),
                Cell::Number(pair.measured_us, Unit::Microseconds),
                Cell::Number(pair.predicted_us, Unit::Microseconds),
                Cell::Number(pair.error(), Unit::Share),
            ]);
        }
    }
    table
}

fn left(validation: &Validation) -> Table {
    let mut table = Table::new(&[
        ("table", "table"),
        ("model", "model"),
        ("GPU", "gpu"),
        ("rows", "rows"),
        ("first line", "line"),
        ("reason", "reason"),
    ]);
    for of in &validation.not_predicted {
        table.push(vec![
            Cell::text(&of.table),
            text(of.model.as_ref()),
            text(of.gpu.as_ref()),
            Cell::Count(of.n_rows as u64),
            of.line.map_or(Cell::Missing, |line| Cell::Count(line as u64)),
            Cell::text(&of.reason),
        ]);
    }
    table
}

fn text(text: Option<&String>) -> Cell {
    text.map_or(Cell::Missing, Cell::text)
}

fn set(set: Option<Set>) -> Cell {
    set.map_or(Cell::Missing, |set| Cell::text(set.name()))
}

/// The document of the `validate` verb.
pub fn document(validation: &Validation) -> document::Validate {
    let table = |(table, rows): &(String, usize)| document::MeasuredTable { table: table.clone(), rows: *rows as u64 };
    document::Validate {
        schema: Id::new(),
        tables: validation.tables.iter().map(table).collect(),
        rows_of_other_gpus: validation.n_other_gpus as u64,
        groups: validation.groups.iter().map(group).collect(),
        predictions: validation.pairs.iter().map(prediction).collect(),
        not_predicted: validation.not_predicted.iter().map(not_predicted).collect(),
        gains: validation.gains.iter().map(gain).collect(),
        ranges: validation.ranges.iter().map(range).collect(),
        counts: validation.count_groups().iter().map(counter_group).collect(),
        worse_than_baseline: validation.worse.iter().map(worse_group).collect(),
    }
}

fn counter_group(group: &CountGroup) -> document::CounterGroup {
    document::CounterGroup {
        gpu: group.gpu.clone(),
        class: group.class.clone(),
        counter: group.counter.name().to_owned(),
        rows: group.n_rows as u64,
        mean_error_share: Number(group.mean_error),
        bias_share: Number(group.bias),
        worst_error_share: Number(group.worst),
        worst_kernel: group.worst_row.clone(),
    }
}

fn gain(gain: &Gain) -> document::MeasuredGain {
    document::MeasuredGain {
        model: gain.model.clone(),
        gpu: gain.gpu.clone(),
        from: gain.from.clone(),
        from_row: gain.from_row.clone(),
        to: gain.to.clone(),
        to_row: gain.to_row.clone(),
        set: name_of(gain.set),
        measured: Number(gain.measured),
        predicted: Number(gain.predicted),
        error_share: Number(gain.error()),
    }
}

fn range(range: &Range) -> document::ErrorRange {
    let factor = |at: usize| range.factors.map(|factors| Number(factors[at]));
    document::ErrorRange {
        model: range.class.model.clone(),
        bound_by: range.class.bound_by.clone(),
        generation: range.class.generation.clone(),
        simulated: range.class.simulated.clone(),
        training_rows: range.n_training as u64,
        least_factor: factor(0),
        greatest_factor: factor(1),
        held_out_rows: range.n_held_out as u64,
        coverage_share: range.coverage().map(Number),
    }
}

fn worse_group(group: &Worse) -> document::WorseGroup {
    let share = |share: f64| Some(Number(share)).filter(|_| share.is_finite());
    document::WorseGroup {
        set: name_of(group.key.set),
        model: group.key.model.clone(),
        gpu: group.key.gpu.clone(),
        class: group.key.class.clone(),
        rows: group.n_rows as u64,
        before_share: share(group.before),
        now_share: share(group.now),
        lost_rows: group.n_lost as u64,
    }
}

fn name_of(set: Option<Set>) -> Option<String> {
    set.map(|set| set.name().to_owned())
}

fn group(group: &Group) -> document::ErrorGroup {
    document::ErrorGroup {
        set: name_of(group.key.set),
        model: group.key.model.clone(),
        gpu: group.key.gpu.clone(),
        class: group.key.class.clone(),
        rows: group.n_rows as u64,
        mean_error_share: Number(group.mean_error),
        median_error_share: Number(group.median_error),
        bias_share: Number(group.bias),
        rank_correlation: group.rank_correlation.map(Number),
        geometric_error_share: Some(Number(group.papers.geometric_error)),
        accuracy_share: Some(Number(group.papers.accuracy)),
        geometric_accuracy_share: Some(Number(group.papers.geometric_accuracy)),
        throughput_accuracy_share: Some(Number(group.papers.throughput_accuracy)),
        worst: group.worst.iter().map(|&at| at as u64).collect(),
    }
}

fn prediction(pair: &Pair) -> document::MeasuredPrediction {
    document::MeasuredPrediction {
        row: pair.row.clone(),
        kernel: pair.kernel.clone(),
        set: name_of(pair.set),
        model: pair.model.clone(),
        gpu: pair.gpu.clone(),
        class: pair.class.clone(),
        measured_us: Number(pair.measured_us),
        predicted_us: Number(pair.predicted_us),
        error_share: Number(pair.error()),
        bound_by: pair.bound_by.clone(),
        simulated: pair.simulated.clone(),
    }
}

fn not_predicted(of: &NotPredicted) -> document::NotPredicted {
    document::NotPredicted {
        table: of.table.clone(),
        model: of.model.clone(),
        gpu: of.gpu.clone(),
        rows: of.n_rows as u64,
        line: of.line.map(|line| line as u64),
        reason: of.reason.clone(),
    }
}
