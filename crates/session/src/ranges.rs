//! In which range around an answer the measured time lies, by what was validated.
//!
//! The table `ranges.csv` is made of the predictions in `validation/baseline.csv` (`cargo xtask generate`; how, is said by
//! `warplens_question::validate::ranges`). An answer belongs to a class of it by what bounds the launch, by the compute
//! capability, and by how much of the launch was simulated; one of another class has no range.

use std::sync::LazyLock;

use warplens_base::units::Seconds;
use warplens_model::Prediction;

use crate::machines::Machine;

/// Which answers belong together.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Class {
    /// Name of the model.
    pub model: String,
    /// The resource that bounds the launch.
    pub bound_by: String,
    /// The compute capability.
    pub generation: String,
    /// How much was simulated, where something was.
    pub simulated: Option<String>,
}

/// The range that held most of the validated answers of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// Its lower end.
    pub low: Seconds,
    /// Its upper end.
    pub high: Seconds,
    /// Share of the rows that it held, of those that it was made of.
    pub held: f64,
    /// Rows of the class that it was made of.
    pub n_rows: usize,
    /// Rows of the class that had no part in it, and the share of them that it held; none where there are none.
    pub others: Option<(usize, f64)>,
    /// The class in a few words.
    pub class: String,
}

/// A class of the table with its range.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The class.
    pub class: Class,
    /// Rows that the range was made of, and how many of them it holds.
    pub rows: (usize, usize),
    /// The least and the greatest measured over predicted time.
    pub factors: [f64; 2],
    /// Rows that had no part in it, and how many of them it holds.
    pub others: (usize, usize),
}

/// The table.
const TEXT: &str = include_str!("ranges.csv");

/// Its first line.
pub const COLUMNS: &str = "model,bound_by,cc,simulated,low,high,rows,held,others,others_held";

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| parse(TEXT));

/// Assumptions that are made where less than a launch is simulated, and what such a part is called.
const PARTS: &[(&str, &str)] =
    &[("cut-short", "cut short"), ("wave-by-wave", "carried on"), ("steady-state", "carried on")];

/// How much of the launch was simulated, where something was.
pub fn simulated(prediction: &Prediction) -> Option<&'static str> {
    let is_made = |name: &str| prediction.assumptions.iter().any(|assumption| assumption.id.name() == name);
    prediction.teg()?;
    Some(PARTS.iter().find(|(name, _)| is_made(name)).map_or("whole", |(_, part)| part))
}

impl Class {
    /// That of an answer for a GPU.
    pub fn of(prediction: &Prediction, machine: &Machine) -> Self {
        Self {
            model: prediction.model.name().to_owned(),
            bound_by: prediction.limiter().name().to_owned(),
            generation: machine.cc.to_string(),
            simulated: simulated(prediction).map(str::to_owned),
        }
    }

    fn words(&self) -> String {
        let Self { bound_by, generation, simulated, .. } = self;
        let simulated = simulated.as_ref().map_or_else(String::new, |part| format!(", {part}"));
        format!("bound by {bound_by}, cc {generation}{simulated}")
    }
}

/// The range of an answer, where enough answers of its class were validated.
pub(crate) fn of(prediction: &Prediction, machine: &Machine) -> Option<Range> {
    let class = Class::of(prediction, machine);
    let row = TABLE.iter().find(|row| row.class == class)?;
    let time = |factor: f64| Seconds(prediction.seconds().0 * factor);
    let share = |(n, held): (usize, usize)| held as f64 / n as f64;
    Some(Range {
        low: time(row.factors[0]),
        high: time(row.factors[1]),
        held: share(row.rows),
        n_rows: row.rows.0,
        others: (row.others.0 > 0).then(|| (row.others.0, share(row.others))),
        class: class.words(),
    })
}

/// The text of a table.
pub fn text(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let Row { class, rows, factors: [low, high], others } = row;
        let Class { model, bound_by, generation, simulated } = class;
        let simulated = simulated.as_deref().unwrap_or_default();
        let (n, held, n_others, others_held) = (rows.0, rows.1, others.0, others.1);
        format!("{model},{bound_by},{generation},{simulated},{low:.4},{high:.4},{n},{held},{n_others},{others_held}\n")
    };
    std::iter::once(format!("{COLUMNS}\n")).chain(rows.iter().map(line)).collect()
}

/// The rows of a table that [`text`] wrote; lines that begin with `#` are comments.
fn parse(text: &str) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).skip(1);
    lines.map(|line| row(line).expect("the table is the program's own")).collect()
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let [model, bound_by, generation, simulated, low, high, counts @ ..] = fields.as_slice() else { return None };
    let counts: Vec<usize> = counts.iter().map(|count| count.parse().ok()).collect::<Option<_>>()?;
    let [n, held, n_others, others_held] = counts[..] else { return None };
    let [model, bound_by, generation] = [model, bound_by, generation].map(|text| (*text).to_owned());
    let simulated = Some((*simulated).to_owned()).filter(|part| !part.is_empty());
    Some(Row {
        class: Class { model, bound_by, generation, simulated },
        factors: [low.parse().ok()?, high.parse().ok()?],
        rows: (n, held),
        others: (n_others, others_held),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_launches_are_told_by_assumptions_that_exist() {
        let is_known = |name: &str| warplens_model::AssumptionId::ALL.iter().any(|id| id.name() == name);
        assert_eq!(PARTS.iter().filter(|(name, _)| !is_known(name)).count(), 0, "an assumption has another name");
    }

    #[test]
    fn the_table_is_read_as_it_is_written() {
        assert!(TABLE.len() > 5, "{}", TABLE.len());
        let written = TEXT.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n"));
        assert_eq!(text(&TABLE), written.collect::<String>());
        for Row { class, rows, factors: [low, high], others } in TABLE.iter() {
            assert!(low <= high && rows.1 <= rows.0 && others.1 <= others.0, "{class:?}");
        }
    }

    #[test]
    fn names_fit_into_a_line() {
        assert!(warplens_model::Resource::ALL.iter().all(|resource| !resource.name().contains(',')));
        assert_eq!(row("teg,a,7.0,whole,0.9,1.1,10"), None);
    }
}
