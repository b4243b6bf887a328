//! The predictions that the project held last, as a table of given ones: errors are not to grow beyond them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use warplens_base::error::Result;
use warplens_session::Progress;

use super::{Key, Pair, Request, Table, Validation, mean_error};
use crate::measured;

/// The file, from the root of the project.
pub const NAME: &str = "validation/baseline.csv";
const TEXT: &str = include_str!("../../validation/baseline.csv");

/// Rows whose predictions are further off than they were.
#[derive(Clone, PartialEq, Debug)]
pub struct Worse {
    /// What the rows have in common.
    pub key: Key,
    /// Rows that both have a prediction for.
    pub n_rows: usize,
    /// Mean of their absolute errors in the baseline.
    pub before: f64,
    /// The same now; not a number where there is none.
    pub now: f64,
    /// Rows that have a prediction in the baseline only.
    pub n_lost: usize,
}

/// The baseline of the project, as a table of given predictions.
pub fn of_project() -> Result<Table> {
    Ok(Table { name: NAME.to_owned(), rows: measured::parse(NAME, TEXT, Path::new(""))?, left_out: None })
}

/// The text of a baseline: every prediction as a row of a table that holds it.
pub fn text(validation: &Validation) -> String {
    let mut text =
        String::from("row,kernel,gpu,class,set,measured_us,model,predicted_us,bound_by,simulated,instead_of\n");
    let rows: BTreeSet<&str> = validation.pairs.iter().map(|pair| pair.row.as_str()).collect();
    for pair in &validation.pairs {
        let class = pair.class.as_deref().unwrap_or_default();
        let set = pair.set.map(measured::Set::name).unwrap_or_default();
        let [bound_by, simulated] = [&pair.bound_by, &pair.simulated].map(|name| name.as_deref().unwrap_or_default());
        let instead_of = pair.instead_of.as_deref().filter(|row| rows.contains(row)).unwrap_or_default();
        let [row, kernel, class, instead_of] =
            [&pair.row, &pair.kernel, class, instead_of].map(|field: &str| measured::quoted(field));
        let (gpu, model) = (&pair.gpu, &pair.model);
        let [measured, predicted] = [pair.measured_us, pair.predicted_us].map(|time| digits(time, 6));
        let fields = [&row, &kernel, gpu, &class, set, &measured, model, &predicted, bound_by, simulated, &instead_of];
        writeln!(text, "{}", fields.join(",")).expect("strings take everything");
    }
    text
}

/// A number above 0 with so many digits and no more.
fn digits(number: f64, count: i32) -> String {
    let decimals = (count - 1 - number.log10().floor() as i32).max(0) as usize;
    let text = format!("{number:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Where predictions of rows of `tables` are further off than those of `baseline`, by more than `tolerance` in the mean,
/// or where there is none any more. Rows that the baseline lacks do not count.
pub fn worse(
    baseline: &Table,
    tables: &[Table],
    validation: &Validation,
    request: &Request,
    tolerance: f64,
) -> Result<Vec<Worse>> {
    let asked: BTreeSet<String> = tables.iter().flat_map(|table| &table.rows).map(measured::Row::place).collect();
    let before = super::validate(std::slice::from_ref(baseline), request, &Progress::default())?.pairs;
    let now: BTreeMap<(&str, &str), &Pair> =
        validation.pairs.iter().map(|pair| ((pair.row.as_str(), pair.model.as_str()), pair)).collect();
    let models: BTreeSet<&str> = validation.pairs.iter().map(|pair| pair.model.as_str()).collect();
    let mut groups: BTreeMap<Key, Vec<(&Pair, Option<&Pair>)>> = BTreeMap::new();
    for pair in before.iter().filter(|pair| asked.contains(&pair.row) && models.contains(pair.model.as_str())) {
        let now = now.get(&(pair.row.as_str(), pair.model.as_str())).copied();
        groups.entry(pair.key()).or_default().push((pair, now));
    }
    let all = groups.into_iter().map(|(key, rows)| {
        let both: Vec<(&Pair, &Pair)> = rows.iter().filter_map(|&(before, now)| Some((before, now?))).collect();
        Worse {
            key,
            n_rows: both.len(),
            before: mean_error(both.iter().map(|(before, _)| *before)),
            now: mean_error(both.iter().map(|(_, now)| *now)),
            n_lost: rows.len() - both.len(),
        }
    });
    Ok(all.filter(|group| group.n_lost > 0 || group.now > group.before + tolerance).collect())
}

#[cfg(test)]
mod tests {
    use warplens_model::Options;
    use warplens_session::{Choice, ExecutionOptions};

    use super::super::validate;
    use super::*;

    fn table(text: &str) -> Table {
        Table { name: "t.csv".into(), rows: measured::parse("t.csv", text, Path::new("")).unwrap(), left_out: None }
    }

    fn request() -> Request {
        Request {
            choice: Choice::All,
            options: Options::default(),
            execution: ExecutionOptions::new(),
            gpus: None,
            code: Default::default(),
        }
    }

    fn validated(tables: &[Table]) -> Validation {
        validate(tables, &request(), &Progress::default()).unwrap()
    }

    const HEADER: &str = "row,gpu,measured_us,predicted_us,model,class\n";

    #[test]
    fn what_was_written_is_read_again() {
        let given =
            table(&format!("{HEADER}\"a, line 2\",h200,3,1.23456789,teg,\"x, \"\"y\"\"\"\nb,h200,4e6,4.5e6,teg,\n"));
        let first = validated(&[given]);
        let text = text(&first);
        assert_eq!(text.lines().nth(1).unwrap(), "\"a, line 2\",line 2,h200,\"x, \"\"y\"\"\",,3,teg,1.23457,,,");
        let again = validated(&[table(&text)]);
        let rows =
            |of: &Validation| of.pairs.iter().map(|pair| (pair.row.clone(), pair.class.clone())).collect::<Vec<_>>();
        assert_eq!(rows(&first), rows(&again));
        assert_eq!(again.pairs[1].predicted_us, 4.5e6);
    }

    #[test]
    fn errors_that_grow_and_predictions_that_go_are_worse() {
        let baseline = table(&format!("{HEADER}a,h200,10,11,teg,c\nb,h200,10,9,teg,c\nz,h200,1,9,teg,c\n"));
        let worse = |second: &str, tolerance: f64| {
            let now = table(&format!("{HEADER}a,h200,10,11,teg,c\n{second}\n"));
            let validation = validated(std::slice::from_ref(&now));
            worse(&baseline, &[now], &validation, &request(), tolerance).unwrap()
        };
        assert_eq!(worse("b,h200,10,9,teg,c", 0.0), []);
        let found = worse("b,h200,10,8,teg,c", 0.01);
        assert_eq!((found.len(), found[0].n_rows, found[0].n_lost), (1, 2, 0));
        assert!((found[0].before - 0.1).abs() < 1e-12 && (found[0].now - 0.15).abs() < 1e-12);
        assert_eq!(worse("b,h200,10,8,teg,c", 0.06), [], "within the tolerance");
        // A row that has no prediction any more.
        assert_eq!(worse("b,h200,10,,teg,c", 0.01)[0].n_lost, 1);
    }
}
