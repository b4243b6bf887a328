//! Tables of measured times, as users write them.
//!
//! A table is a CSV file whose first line names the columns, in any order: `gpu` and `measured_us` are needed. `kernel`
//! says which kernel or launch a row means. What is predicted is `input` with a launch file (`launch`), or with the
//! launch in the row itself: `grid`, `block`, `shared`, `registers`, and `args`, the arguments with semicolons between
//! them. Paths are relative to the table. `predicted_us` is a prediction that is there already, of `model`, with what
//! bounds the launch (`bound_by`) and how much of it was `simulated`; `row` is a name of the row. `ctas` (`N..M`) says
//! which blocks are executed, where all of them do the same. `class` puts rows together, and `set` says whether models
//! were fitted to a row (`training`) or not (`held-out`). `parameter` is what a calibration finds by the row. `caches` says what they
//! held when the row was launched: what a launch before it left (`as-left`), or nothing (`emptied`), as under a profiler.
//! `instead_of` is the row of which this one is a change that does the same work: a line of the table, or the name of a row.
//!
//! A table to be measured has no times yet: `measured_us` is empty. `read` (`ARGUMENT[:COUNT]`) says what of a buffer is
//! kept, in `values`; `event_us`, `least_us`, `most_us`, `repeats` and `sm_mhz` are written beside the time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use warplens_base::error::{Error, Result};
use warplens_base::nearest;
use warplens_launch::{Extents, Launch, LaunchArgument, parse_extents};
use warplens_model::CachesBefore;
use warplens_session::OutputRequest;

use super::counters::Counter;
use super::{Kernels, Row, Set, line_of};

/// Columns that are understood.
const COLUMNS: [&str; 34] = [
    "row",
    "kernel",
    "gpu",
    "measured_us",
    "predicted_us",
    "model",
    "bound_by",
    "simulated",
    "input",
    "launch",
    "grid",
    "block",
    "shared",
    "registers",
    "args",
    "ctas",
    "class",
    "parameter",
    "clock_cycles",
    "set",
    "caches",
    "instead_of",
    "read",
    "values",
    "event_us",
    "least_us",
    "most_us",
    "repeats",
    "sm_mhz",
    "instructions",
    "thread_fp32",
    "global_loads",
    "shared_wavefronts",
    "dram_bytes",
];

/// What a table needs.
pub(crate) const HELP: &str =
    "its first line names the columns: gpu, measured_us and one of predicted_us, input (with launch and kernel)";

/// Reads a table; `name` stands in messages, and paths in it are relative to `folder`.
pub fn parse(name: &str, text: &str, folder: &Path) -> Result<Vec<Row>> {
    let rows = parse_open(name, text, folder)?;
    match rows.iter().find(|row| row.measured_us.is_nan()) {
        Some(row) => Err(Error::input(format!("{}: no `measured_us`", line_of(name, row.line)))),
        None => Ok(rows),
    }
}

/// Reads a table that may have rows without a time, which is not a number there.
pub(crate) fn parse_open(name: &str, text: &str, folder: &Path) -> Result<Vec<Row>> {
    let mut lines = lines(text);
    let (_, heading) = lines.next().ok_or_else(|| Error::input(format!("{name} is empty")).with_help(HELP))?;
    let columns: Vec<String> = fields(heading);
    for column in &columns {
        if !COLUMNS.contains(&column.as_str())
            && let Some(near) = nearest(column, COLUMNS)
        {
            let error = Error::input(format!("{name}, line 1: unknown column `{column}`"));
            return Err(error.with_help(format!("did you mean `{near}`?")));
        }
    }
    for needed in ["gpu", "measured_us"] {
        if !columns.iter().any(|column| column == needed) {
            return Err(Error::input(format!("{name} has no column `{needed}`")).with_help(HELP));
        }
    }
    let line =
        |(number, line): (usize, &str)| Line { name, number: number + 1, columns: &columns, fields: fields(line) };
    let rows: Vec<Row> = lines.map(|of| line(of).row(folder)).collect::<Result<_>>()?;
    if rows.is_empty() {
        return Err(Error::input(format!("{name} has no row")).with_help(HELP));
    }
    check_changes(name, &rows)?;
    Ok(rows)
}

/// What a row is a change of has to be another row of the same GPU.
fn check_changes(name: &str, rows: &[Row]) -> Result<()> {
    let by_place: BTreeMap<String, &Row> = rows.iter().map(|row| (row.place(), row)).collect();
    for row in rows {
        let Some(other) = &row.instead_of else { continue };
        let what = match by_place.get(other) {
            Some(_) if row.place() == *other => "`instead_of` is the row itself".to_owned(),
            Some(of) if of.gpu == row.gpu => continue,
            Some(of) => format!("`instead_of` is a row of another GPU, {}", of.gpu),
            None => format!("`instead_of` is `{other}`, which is no row of the table"),
        };
        return Err(Error::input(format!("{}: {what}", line_of(name, row.line))));
    }
    Ok(())
}

/// A line with its fields.
struct Line<'t> {
    name: &'t str,
    /// From 1.
    number: usize,
    columns: &'t [String],
    fields: Vec<String>,
}

impl Line<'_> {
    fn row(&self, folder: &Path) -> Result<Row> {
        let input = self.field("input").map(|path| Kernels::File(folder.join(path)));
        let kernel = self.text("kernel");
        Ok(Row {
            table: self.name.to_owned(),
            line: self.number,
            gpu: self.needed("gpu")?.to_owned(),
            measured_us: self.field("measured_us").map_or(Ok(f64::NAN), |text| self.time("measured_us", text))?,
            predicted_us: self.field("predicted_us").map(|text| self.time("predicted_us", text)).transpose()?,
            model: self.text("model"),
            bound_by: self.text("bound_by"),
            simulated: self.text("simulated"),
            name: self.text("row"),
            input,
            launch_file: self.field("launch").map(|path| folder.join(path)),
            launch: self.launch(kernel.as_deref())?,
            kernel,
            ctas: self.read("ctas", range, "N..M with N below M")?,
            class: self.text("class"),
            parameter: self.text("parameter"),
            clock_cycles: self.field("clock_cycles").map(|text| self.time("clock_cycles", text)).transpose()?,
            set: self.read("set", Set::parse, "training or held-out")?,
            caches: self.read("caches", caches_before, "as-left or emptied")?,
            instead_of: self.field("instead_of").map(|row| self.place(row)),
            read: self.field("read").map(OutputRequest::parse).transpose()?,
            counters: self.counters()?,
        })
    }

    fn counters(&self) -> Result<Vec<(Counter, f64)>> {
        let count = |text: &str| text.parse().ok().filter(|count: &f64| count.is_finite() && *count >= 0.0);
        let one = |&counter: &Counter| Ok(self.read(counter.name(), count, "a count")?.map(|count| (counter, count)));
        Counter::ALL.iter().map(one).filter_map(Result::transpose).collect()
    }

    /// The row that is meant by a line of this table, or by a name.
    fn place(&self, row: &str) -> String {
        row.parse().map_or_else(|_| row.to_owned(), |line: usize| line_of(self.name, line))
    }

    /// The launch that the row itself says, if it does.
    fn launch(&self, kernel: Option<&str>) -> Result<Option<Launch>> {
        const EXTENTS: &str = "X, X,Y or X,Y,Z";
        let extents = |text: &str| -> Option<Extents> { parse_extents("", text).ok() };
        let mut launch = Launch {
            grid: self.read("grid", extents, EXTENTS)?,
            block: self.read("block", extents, EXTENTS)?,
            shared: self.read("shared", |text| text.parse().ok(), "a number of bytes")?,
            registers: self.read("registers", |text| text.parse().ok(), "a number of registers")?,
            ..Launch::default()
        };
        let texts = self.field("args").into_iter().flat_map(|texts| texts.split(';'));
        for (number, text) in texts.enumerate() {
            let place = format!("{}, argument {number}", line_of(self.name, self.number));
            launch.arguments.push(LaunchArgument::parse(&place, text.trim())?);
        }
        if launch.is_empty() {
            return Ok(None);
        }
        if self.field("launch").is_some() {
            return Err(self.fail("a launch file and a launch in the row exclude each other"));
        }
        launch.kernel = kernel.map(str::to_owned);
        Ok(Some(launch))
    }

    fn field(&self, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|known| known == column)?;
        self.fields.get(at).map(String::as_str).filter(|field| !field.is_empty())
    }

    fn text(&self, column: &str) -> Option<String> {
        self.field(column).map(str::to_owned)
    }

    fn needed(&self, column: &str) -> Result<&str> {
        self.field(column).ok_or_else(|| self.fail(format!("no `{column}`")))
    }

    fn time(&self, column: &str, text: &str) -> Result<f64> {
        let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        number.ok_or_else(|| self.fail(format!("`{column}` is `{text}`, not a time above 0")))
    }

    fn read<T>(&self, column: &str, parse: impl Fn(&str) -> Option<T>, wanted: &str) -> Result<Option<T>> {
        let Some(text) = self.field(column) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| self.fail(format!("`{column}` is `{text}`, not {wanted}")))
    }

    fn fail(&self, what: impl std::fmt::Display) -> Error {
        Error::input(format!("{}: {what}", line_of(self.name, self.number)))
    }
}

fn caches_before(text: &str) -> Option<CachesBefore> {
    match text {
        "as-left" => Some(CachesBefore::AsLeft),
        "emptied" => Some(CachesBefore::Emptied),
        _ => None,
    }
}

fn range(text: &str) -> Option<Range<u32>> {
    let (start, end) = text.split_once("..")?;
    let (start, end): (u32, u32) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    (start < end).then_some(start..end)
}

/// The lines of a table that are neither empty nor comments, with their numbers from 0; the first names the columns.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

/// A field as it is written: in quotes where it has to be.
pub(crate) fn quoted(field: &str) -> String {
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

/// Fields of a line; quotes keep commas, and a quote in quotes is doubled.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let field = fields.last_mut().expect("there is always a field");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => field.push(c),
        }
    }
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_columns() {
        assert!(Counter::ALL.iter().all(|counter| COLUMNS.contains(&counter.name())));
        let row = rows("gpu,measured_us,dram_bytes,instructions\nh200,1,64,\n").unwrap().remove(0);
        assert_eq!(row.counters, [(Counter::DramBytes, 64.0)]);
        let none = rows("gpu,measured_us,instructions\nh200,1,many\n");
        assert_eq!(none, Err("t.csv, line 2: `instructions` is `many`, not a count".into()));
    }

    fn rows(text: &str) -> std::result::Result<Vec<Row>, String> {
        parse("t.csv", text, Path::new("folder")).map_err(|error| match error.help {
            Some(help) if help != HELP => format!("{}; {help}", error.message),
            _ => error.message,
        })
    }

    #[test]
    fn columns_come_in_any_order() {
        let rows =
            rows("measured_us,gpu,kernel,input,note\n1.5,h200,\"f(int, int)\",a.ptx,\"a \"\"b\"\"\"\n\n2,c1060,,,\n");
        let rows = rows.unwrap();
        assert_eq!((rows[0].line, rows[0].measured_us, rows[0].gpu.as_str()), (2, 1.5, "h200"));
        assert_eq!(rows[0].kernel.as_deref(), Some("f(int, int)"));
        assert_eq!(rows[0].input, Some(Kernels::File("folder/a.ptx".into())));
        assert_eq!((rows[1].line, rows[1].kernel.as_deref()), (4, None));
    }

    #[test]
    fn a_row_may_hold_its_launch() {
        let text = "gpu,measured_us,input,kernel,grid,block,args,ctas,class,set,caches\n\
                    h200,2,a.ptx,f,\"4,2\",32,f32[8]; 5,0..2,mine,held-out,emptied\n";
        let row = rows(text).unwrap().remove(0);
        let launch = row.launch.unwrap();
        assert_eq!((launch.grid, launch.block, launch.arguments.len()), (Some([4, 2, 1]), Some([32, 1, 1]), 2));
        assert_eq!((launch.kernel.as_deref(), row.ctas, row.set), (Some("f"), Some(0..2), Some(Set::HeldOut)));
        assert_eq!(row.class.as_deref(), Some("mine"));
        assert_eq!(row.caches, Some(CachesBefore::Emptied));
        for (column, bad, message) in [
            ("grid", "x", "`grid` is `x`, not X, X,Y or X,Y,Z"),
            ("shared", "-1", "`shared` is `-1`, not a number of bytes"),
            ("ctas", "3..2", "`ctas` is `3..2`, not N..M with N below M"),
            ("set", "test", "`set` is `test`, not training or held-out"),
            ("caches", "cold", "`caches` is `cold`, not as-left or emptied"),
        ] {
            let text = format!("gpu,measured_us,{column}\nh200,1,{bad}\n");
            assert_eq!(rows(&text), Err(format!("t.csv, line 2: {message}")));
        }
        let argument = rows("gpu,measured_us,args\nh200,1,1;f32[\n").unwrap_err();
        assert!(argument.starts_with("t.csv, line 2, argument 1, column 5: "), "{argument}");
        let both = rows("gpu,measured_us,launch,grid\nh200,1,l.toml,3\n").unwrap_err();
        assert_eq!(both, "t.csv, line 2: a launch file and a launch in the row exclude each other");
    }

    #[test]
    fn a_row_may_be_a_change_of_another() {
        let of = |second: &str| {
            let rows = rows(&format!("row,gpu,measured_us,instead_of\n,h200,2,\nb,h200,1,{second}\n,c1060,1,\n"))?;
            Ok::<_, String>(rows[1].instead_of.clone().unwrap())
        };
        assert_eq!(of("2"), Ok("t.csv, line 2".into()));
        assert_eq!(of("\"t.csv, line 2\""), Ok("t.csv, line 2".into()));
        let no_row = "t.csv, line 3: `instead_of` is `t.csv, line 9`, which is no row of the table";
        assert_eq!(of("9"), Err(no_row.into()));
        assert_eq!(of("b"), Err("t.csv, line 3: `instead_of` is the row itself".into()));
        assert_eq!(of("4"), Err("t.csv, line 3: `instead_of` is a row of another GPU, c1060".into()));
    }

    #[test]
    fn bad_files_are_named_with_their_line() {
        assert_eq!(rows(""), Err("t.csv is empty".into()));
        assert_eq!(rows("gpu,measured_us\n"), Err("t.csv has no row".into()));
        assert_eq!(rows("gpu\nh200\n"), Err("t.csv has no column `measured_us`".into()));
        assert_eq!(
            rows("gpu,mesured_us\n"),
            Err("t.csv, line 1: unknown column `mesured_us`; did you mean `measured_us`?".into())
        );
        assert_eq!(
            rows("gpu,measured_us\nh200,-1\n"),
            Err("t.csv, line 2: `measured_us` is `-1`, not a time above 0".into())
        );
        assert_eq!(rows("gpu,measured_us\n,1\n"), Err("t.csv, line 2: no `gpu`".into()));
    }
}
