//! Times from hardware, as a table with the columns `variant`, `time_us` and, where needed, `gpu` and `block`.

use warplens_base::nearest;

use super::Variant;
use warplens_base::error::{Error, Result};
use warplens_launch::{Extents, parse_extents};
use warplens_session::machines::Machine;

/// Measured times by variant, GPU and block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MeasuredTimes {
    name: String,
    rows: Vec<Row>,
}

#[derive(Clone, PartialEq, Debug)]
struct Row {
    line: usize,
    variant: String,
    gpu: Option<String>,
    block: Option<Extents>,
    time_us: f64,
}

const COLUMNS: [&str; 4] = ["variant", "gpu", "block", "time_us"];

impl MeasuredTimes {
    /// Reads CSV with a heading. `name` is what messages call the text.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let wrong = |line: usize, what: String| Error::input(format!("{name}, line {line}: {what}"));
        let mut lines = text.lines().zip(1..).filter(|(line, _)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        let (heading, number) =
            lines.next().ok_or_else(|| Error::input(format!("{name} holds no times")).with_help(HELP))?;
        let heading = fields(heading);
        for column in &heading {
            if !COLUMNS.contains(&column.as_str()) {
                let error = wrong(number, format!("there is no column `{column}`"));
                return Err(match nearest(column, COLUMNS) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help(HELP),
                });
            }
        }
        let position = |column: &str| heading.iter().position(|own| own == column);
        let needed = |column: &str| {
            position(column).ok_or_else(|| wrong(number, format!("the column `{column}` is missing")).with_help(HELP))
        };
        let (variant_at, time_at) = (needed("variant")?, needed("time_us")?);
        let (gpu_at, block_at) = (position("gpu"), position("block"));
        let mut rows: Vec<Row> = Vec::new();
        for (line, number) in lines {
            let fields = fields(line);
            if fields.len() != heading.len() {
                let (own, wanted) = (fields.len(), heading.len());
                return Err(wrong(number, format!("{own} fields, where the heading has {wanted}")));
            }
            let filled = |at: Option<usize>| at.map(|at| fields[at].clone()).filter(|field| !field.is_empty());
            let block = filled(block_at).map(|block| parse_extents("block", &block)).transpose();
            let time: Option<f64> = fields[time_at].parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0);
            let row = Row {
                line: number,
                variant: fields[variant_at].clone(),
                gpu: filled(gpu_at),
                block: block.map_err(|error| wrong(number, error.message))?,
                time_us: time.ok_or_else(|| wrong(number, format!("`{}` is no time", fields[time_at])))?,
            };
            let key = |row: &Row| (row.variant.clone(), row.gpu.clone(), row.block);
            if let Some(before) = rows.iter().find(|before| key(before) == key(&row)) {
                return Err(wrong(number, format!("`{}` has a time already, in line {}", row.variant, before.line)));
            }
            rows.push(row);
        }
        Ok(Self { name: name.to_owned(), rows })
    }

    /// The time of a variant on a GPU. A row without a GPU is of the only one.
    pub(super) fn of(&self, variant: &Variant, machine: &Machine, machines: &[Machine]) -> Option<f64> {
        // The board means its only clock that is compared.
        let n_clocks = machines.iter().filter(|other| other.board() == machine.board()).count();
        let is_of = |row: &&Row| {
            row.variant == variant.name
                && match &row.gpu {
                    Some(own) => *own == machine.id || (n_clocks == 1 && own == machine.board()),
                    None => machines.len() == 1,
                }
                && row.block.is_none_or(|block| variant.measurement.profile.launch.block == block)
                && (row.block.is_some() || variant.block.is_none())
        };
        self.rows.iter().find(is_of).map(|row| row.time_us)
    }

    /// Rows that name nothing that is compared; an error where none does.
    pub(super) fn n_ignored(&self, variants: &[&Variant], machines: &[Machine]) -> Result<usize> {
        let is_used = |row: &&Row| {
            let alone = Self { name: String::new(), rows: vec![(*row).clone()] };
            let on = |machine: &Machine| variants.iter().any(|variant| alone.of(variant, machine, machines).is_some());
            machines.iter().any(on)
        };
        let n_used = self.rows.iter().filter(is_used).count();
        if n_used > 0 {
            return Ok(self.rows.len() - n_used);
        }
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        let message = format!("{}: no row is of a variant and GPU that is compared", self.name);
        Err(Error::input(message).with_help(format!("the variants are {}", names.join(", "))))
    }
}

const HELP: &str = "the columns are variant, time_us, and where needed gpu and block";

/// The fields of a line; quotes keep commas.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.trim_end_matches('\r').chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            _ => field.push(c),
        }
    }
    fields.push(field);
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_tables_are_refused_with_their_line() {
        let message = |text| MeasuredTimes::parse("m.csv", text).map(|_| ()).unwrap_err().message;
        let cases = [
            ("", "m.csv holds no times"),
            ("# nothing\n\n", "m.csv holds no times"),
            ("variant,time\n", "m.csv, line 1: there is no column `time`"),
            ("variant,gpu\n", "m.csv, line 1: the column `time_us` is missing"),
            ("variant,time_us\na,1\nb\n", "m.csv, line 3: 1 fields, where the heading has 2"),
            ("variant,time_us\na,fast\n", "m.csv, line 2: `fast` is no time"),
            ("variant,time_us\na,-1\n", "m.csv, line 2: `-1` is no time"),
            ("variant,time_us\na,1\n\"a\",2\n", "m.csv, line 3: `a` has a time already, in line 2"),
            ("variant,block,time_us\na,big,1\n", "m.csv, line 2: block: `big` is not X, X,Y or X,Y,Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(message(text), expected, "{text}");
        }
        let times = MeasuredTimes::parse("m.csv", "gpu, variant ,time_us\r\nh200,\"a, b\",1.5\r\n").unwrap();
        assert_eq!((times.rows[0].variant.as_str(), times.rows[0].time_us), ("a, b", 1.5));
    }
}
