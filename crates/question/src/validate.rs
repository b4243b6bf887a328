//! How far predictions are from measured times, by model, GPU and class of rows.
//!
//! Every row of the tables is predicted by every model that is asked, each row alone on its own GPU. Rows to which models
//! or GPUs were fitted stay apart from those to which nothing was. What cannot be predicted is counted with its reason.

pub mod baseline;
pub mod counts;
pub mod gains;
pub mod papers;
pub mod ranges;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use warplens_base::error::{Error, ErrorKind, Result};
use warplens_base::stop;
use warplens_model::{Options, Prediction};
use warplens_session::machines::{self, ComputeCapability, Machine};
use warplens_session::predict::{Choice, measured_on};
use warplens_session::ranges::simulated;
use warplens_session::toolchain::{CodeKind, Search};
use warplens_session::{ExecutionOptions, Generation, Input, Program, Progress};

use crate::measured::{self, Row, Set};
use baseline::Worse;
use counts::Count;
use gains::Gain;
use papers::Papers;
use ranges::Range;

/// A table of measured times.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its file.
    pub name: String,
    rows: Vec<Row>,
    left_out: Option<(usize, String)>,
}

impl Table {
    /// Its rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Keeps the rows for which the function, which is given their places, says so.
    pub fn retain(&mut self, keep: impl Fn(usize, &Row) -> bool) {
        let mut places = 0..;
        self.rows.retain(|row| keep(places.next().expect("places do not end"), row));
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which models answer.
    pub choice: Choice,
    /// Their options.
    pub options: Options,
    /// How kernels are executed.
    pub execution: ExecutionOptions,
    /// The GPUs whose rows are looked at; all without.
    pub gpus: Option<Vec<Machine>>,
    /// The code that is executed and simulated, on GPUs whose machine code is known.
    pub code: CodeKind,
}

/// All errors.
#[derive(Clone, PartialEq, Debug)]
pub struct Validation {
    /// The tables, with the number of their rows.
    pub tables: Vec<(String, usize)>,
    /// Rows of other GPUs than those that were asked about.
    pub n_other_gpus: usize,
    /// Errors of rows that belong together, held-out rows first, then those of tables that do not say.
    pub groups: Vec<Group>,
    /// Every prediction, in the order of the tables.
    pub pairs: Vec<Pair>,
    /// What was counted beside the counters of a profiler, in the order of the tables.
    pub counts: Vec<Count>,
    /// What has no prediction, and why.
    pub not_predicted: Vec<NotPredicted>,
    /// What changes gain, where both rows have a prediction.
    pub gains: Vec<Gain>,
    /// In which ranges measured times lie.
    pub ranges: Vec<Range>,
    /// Where errors are greater than those of a baseline; empty without one.
    pub worse: Vec<Worse>,
}

/// What errors are gathered by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// Whether models were fitted to the rows, where the tables say so.
    pub set: Option<Set>,
    /// Name of the model; `auto` for the preferred one of each row, `given` for predictions that tables hold.
    pub model: String,
    /// Label of the GPU; none for all of them together.
    pub gpu: Option<String>,
    /// What the rows have in common.
    pub class: Option<String>,
}

/// Errors of a model on rows that belong together. An error is the predicted time over the measured one, less 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// What they have in common.
    pub key: Key,
    /// How many they are.
    pub n_rows: usize,
    /// Mean of the absolute errors.
    pub mean_error: f64,
    /// Median of the absolute errors.
    pub median_error: f64,
    /// Mean of the errors: above 0 where times are predicted too long.
    pub bias: f64,
    /// Rank correlation of predicted and measured times (Spearman); none where it is not defined.
    pub rank_correlation: Option<f64>,
    /// The measures of the models' papers.
    pub papers: Papers,
    /// Indices of the pairs with the largest errors, the worst first.
    pub worst: Vec<usize>,
}

/// A measurement and its prediction.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// Table and line.
    pub row: String,
    /// The kernel, or the name of the row.
    pub kernel: String,
    /// Whether models were fitted to the row, where the table says so.
    pub set: Option<Set>,
    /// Name of the model.
    pub model: String,
    /// Label of the GPU.
    pub gpu: String,
    /// What it has in common with others.
    pub class: Option<String>,
    /// The row of which it is a change that does the same work.
    pub instead_of: Option<String>,
    /// Microseconds.
    pub measured_us: f64,
    /// Microseconds.
    pub predicted_us: f64,
    /// Compute capability of the GPU.
    pub generation: String,
    /// The resource that bounds the launch, where the model or the table says so.
    pub bound_by: Option<String>,
    /// How much of the launch was simulated, where something was.
    pub simulated: Option<String>,
}

/// Rows of a table without a prediction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NotPredicted {
    /// The table.
    pub table: String,
    /// The model that refused; none where no model could be asked.
    pub model: Option<String>,
    /// Label of the GPU; none where the rows have none.
    pub gpu: Option<String>,
    /// Why.
    pub reason: String,
    /// How many rows.
    pub n_rows: usize,
    /// The line of the first of them; none where the rows were not read.
    pub line: Option<usize>,
}

/// Worst rows that a group names.
const WORST: usize = 3;

/// Label of predictions that tables hold.
const GIVEN: &str = "given";

impl Pair {
    /// The predicted time over the measured one, less 1.
    pub fn error(&self) -> f64 {
        self.predicted_us / self.measured_us - 1.0
    }

    /// Which errors it is gathered with.
    pub fn key(&self) -> Key {
        let (model, gpu, class) = (self.model.clone(), Some(self.gpu.clone()), self.class.clone());
        Key { set: self.set, model, gpu, class }
    }

    /// Whose range it belongs to, where it is known what bounds it.
    pub fn range_class(&self) -> Option<ranges::Class> {
        let (bound_by, generation) = (self.bound_by.clone()?, self.generation.clone());
        Some(ranges::Class { model: self.model.clone(), bound_by, generation, simulated: self.simulated.clone() })
    }
}

/// The measured tables of the project.
pub fn tables_of_project() -> Vec<Table> {
    let table = |held: measured::Held| Table {
        name: held.name.to_owned(),
        rows: held.rows,
        left_out: held.left_out.map(|(n_rows, reason)| (n_rows, reason.to_owned())),
    };
    measured::held().into_iter().map(table).collect()
}

/// Reads a table of the user.
pub fn table(path: &Path) -> Result<Table> {
    let input = Input::read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let rows = measured::parse(&input.name, &input.text(), folder)?;
    Ok(Table { name: input.name, rows, left_out: None })
}

/// Predicts every row and compares.
pub fn validate(tables: &[Table], request: &Request, progress: &Progress) -> Result<Validation> {
    let (questions, n_other_gpus) = questions(tables, request)?;
    let programs = programs(&questions, request.code)?;
    let mut pairs = Vec::new();
    let mut not_predicted = Vec::new();
    for table in tables {
        not_predicted.extend(table.left_out.as_ref().map(|(n_rows, reason)| NotPredicted {
            table: table.name.clone(),
            model: None,
            gpu: None,
            reason: reason.clone(),
            n_rows: *n_rows,
            line: None,
        }));
    }
    let mut counts = Vec::new();
    for (question, told) in questions.iter().zip(ask_all(&questions, &programs, request, progress)) {
        let told = told?;
        counts.extend(told.counts);
        for (model, result) in told.answers {
            match result {
                Ok(predicted) => pairs.push(question.pair(model.unwrap_or_default(), predicted)),
                Err(reason) => question.add_to(&mut not_predicted, model, reason),
            }
        }
    }
    let tables = tables.iter().map(|table| (table.name.clone(), table.rows.len())).collect();
    let (groups, gains, ranges) = (groups(&pairs), gains::gains(&pairs), ranges::ranges(&pairs));
    Ok(Validation { tables, n_other_gpus, groups, pairs, counts, not_predicted, gains, ranges, worse: Vec::new() })
}

/// A row with its GPU.
struct Question<'t> {
    row: &'t Row,
    machine: Machine,
}

/// What one model says of a row, or why it does not. No model where none could be asked.
type Answers = Vec<(Option<String>, std::result::Result<Predicted, String>)>;

/// What is said of a row.
struct Told {
    answers: Answers,
    counts: Vec<Count>,
}

impl Told {
    const fn answers(answers: Answers) -> Self {
        Self { answers, counts: Vec::new() }
    }
}

/// A prediction, as far as it matters here.
struct Predicted {
    us: f64,
    bound_by: Option<String>,
    simulated: Option<String>,
}

impl Predicted {
    fn of(prediction: &Prediction) -> Self {
        Self {
            us: prediction.seconds().microseconds(),
            bound_by: Some(prediction.limiter().name().to_owned()),
            simulated: simulated(prediction).map(str::to_owned),
        }
    }
}

impl Question<'_> {
    /// CUDA C++ is compiled for the GPU, as far back as current compilers go.
    /// What of the kernels is executed: before compute capability 7.5 no machine code is known.
    fn code(&self, wanted: CodeKind) -> CodeKind {
        if wanted.serves(self.machine.cc) { wanted } else { CodeKind::Generated }
    }

    fn target(&self) -> String {
        self.machine.cc.max(ComputeCapability::new(7, 5)).target()
    }

    fn pair(&self, model: String, predicted: Predicted) -> Pair {
        let row = self.row;
        Pair {
            row: row.place(),
            kernel: row.kernel.clone().unwrap_or_else(|| format!("line {}", row.line)),
            set: row.set,
            model,
            gpu: self.machine.id.clone(),
            class: row.class.clone(),
            instead_of: row.instead_of.clone(),
            measured_us: row.measured_us,
            predicted_us: predicted.us,
            generation: self.machine.cc.to_string(),
            bound_by: predicted.bound_by,
            simulated: predicted.simulated,
        }
    }

    /// Counts the row with those that lack a prediction for the same reason.
    fn add_to(&self, all: &mut Vec<NotPredicted>, model: Option<String>, reason: String) {
        let gpu = Some(self.machine.id.clone());
        let (table, line) = (self.row.table.clone(), Some(self.row.line));
        let of = NotPredicted { table, model, gpu, reason, n_rows: 1, line };
        let is_same = |other: &NotPredicted| {
            (&other.table, &other.model, &other.gpu, &other.reason) == (&of.table, &of.model, &of.gpu, &of.reason)
        };
        match all.iter_mut().find(|other| is_same(other)) {
            Some(same) => same.n_rows += 1,
            None => all.push(of),
        }
    }
}

/// The rows of the GPUs that are asked about, and how many others there are.
fn questions<'t>(tables: &'t [Table], request: &Request) -> Result<(Vec<Question<'t>>, usize)> {
    let mut known: BTreeMap<&str, Machine> = BTreeMap::new();
    let mut questions = Vec::new();
    let mut n_others = 0;
    for row in tables.iter().flat_map(|table| &table.rows) {
        let machine = match known.get(row.gpu.as_str()) {
            Some(machine) => machine.clone(),
            None => known.entry(&row.gpu).or_insert(machines::one(&row.gpu).map_err(|error| at(row, error))?).clone(),
        };
        let is_asked = |asked: &Machine| asked.id == machine.id || asked.id == machine.board();
        if request.gpus.as_ref().is_none_or(|gpus| gpus.iter().any(is_asked)) {
            questions.push(Question { row, machine });
        } else {
            n_others += 1;
        }
    }
    if questions.is_empty() && n_others > 0 {
        let gpus: Vec<&str> = known.values().map(|machine| machine.id.as_str()).collect();
        let error = Error::usage("no row is of a GPU that --gpu names");
        return Err(error.with_help(format!("the rows are of {}", gpus.join(", "))));
    }
    Ok((questions, n_others))
}

/// What is wrong with a row, with its place in front.
fn at(row: &Row, error: Error) -> Error {
    Error { kind: ErrorKind::Input, message: format!("{}: {}", row.place(), error.message), ..error }
}

/// Kernels by where they are and what they are compiled for; those that cannot be read with the reason.
type Programs<'t> = Vec<((&'t measured::Kernels, String, CodeKind), std::result::Result<Program, String>)>;

/// Reads the kernels of all rows, and refuses names that they do not have.
fn programs<'t>(questions: &[Question<'t>], code: CodeKind) -> Result<Programs<'t>> {
    // Where compilers lie is found out once.
    let generated = Search::from_environment();
    let machine = Search { code: CodeKind::Machine, ..generated.clone() };
    let mut programs: Programs<'t> = Vec::new();
    for question in questions {
        let Some(input) = &question.row.input else { continue };
        let key = (input, question.target(), question.code(code));
        let at_key = match programs.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                let search = if key.2 == CodeKind::Machine { &machine } else { &generated };
                let program = question.row.program(&key.1, search).map_err(|error| error.message);
                programs.push((key, program));
                programs.len() - 1
            }
        };
        // A single kernel needs no name, so that a row may have one of its own.
        if let (Ok(program), Some(launch)) = (&programs[at_key].1, &question.row.launch)
            && program.kernels().len() > 1
        {
            program.kernel(launch.kernel.as_deref()).map_err(|error| at(question.row, error))?;
        }
    }
    Ok(programs)
}

/// The answers to all questions in their order, which are spread over the host's threads.
fn ask_all(
    questions: &[Question<'_>],
    programs: &Programs<'_>,
    request: &Request,
    progress: &Progress,
) -> Vec<Result<Told>> {
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<Option<Result<Told>>>> = Mutex::new(questions.iter().map(|_| None).collect());
    let work = || {
        while let Some((number, question)) = questions.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let answer = ask(question, programs, request, progress);
            answers.lock().expect("no thread panicked")[number] = Some(answer);
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..request.execution.threads.max(1)).map(|_| scope.spawn(stop::carried(work))).collect();
        for helper in helpers {
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    let answers = answers.into_inner().expect("no thread panicked");
    answers.into_iter().map(|answer| answer.expect("every question was asked")).collect()
}

fn ask(question: &Question<'_>, programs: &Programs<'_>, request: &Request, progress: &Progress) -> Result<Told> {
    let Question { row, machine } = question;
    if let Some(predicted_us) = row.predicted_us {
        let (bound_by, simulated) = (row.bound_by.clone(), row.simulated.clone());
        let model = row.model.clone().unwrap_or_else(|| GIVEN.to_owned());
        let given = Predicted { us: predicted_us, bound_by, simulated };
        return Ok(Told::answers(vec![(Some(model), Ok(given))]));
    }
    let none = |reason: String| Ok(Told::answers(vec![(None, Err(reason))]));
    let Some(input) = &row.input else { return none("neither `predicted_us` nor `input`".to_owned()) };
    let wanted = (input, question.target(), question.code(request.code));
    let known = programs.iter().find(|(known, _)| *known == wanted);
    let program = match known {
        Some((_, Ok(program))) => program,
        Some((_, Err(reason))) => return none(reason.clone()),
        None => return none("its kernels were not read".to_owned()),
    };
    let gpu = std::slice::from_ref(machine);
    let execution = ExecutionOptions {
        // The rows share the threads.
        threads: 1,
        traced_for: request.choice.traced(gpu),
        generations: Generation::of_all(gpu),
        ..request.execution.clone()
    };
    let measurements = match row.measure(program, &execution, &Search::from_environment(), progress) {
        Ok(measurements) => measurements,
        Err(error) => return none(error.message),
    };
    let measurement = row.chosen(&measurements)?;
    let options = row.options(request.options);
    let analysis = measured_on(measurement, machine, &request.choice, options);
    let label = |answer: &warplens_session::predict::Answer| match request.choice {
        Choice::Auto => "auto".to_owned(),
        Choice::All | Choice::Named(_) | Choice::Alone(_) => answer.model.name().to_owned(),
    };
    let time = |answer: &warplens_session::predict::Answer| match &answer.result {
        Ok(prediction) => Ok(Predicted::of(prediction)),
        Err(refusal) => Err(refusal.to_string()),
    };
    let answers = analysis.answers.iter().map(|answer| (Some(label(answer)), time(answer))).collect();
    Ok(Told { answers, counts: counts::counts(row, measurement, machine, &analysis, options) })
}

/// The errors of each model on each GPU and class, and on all GPUs together where they are several.
fn groups(pairs: &[Pair]) -> Vec<Group> {
    let mut of: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        let (set, model) = (pair.set, pair.model.clone());
        let all = Key { set, model, gpu: None, class: None };
        for key in [all, pair.key()] {
            of.entry(key).or_default().push(at);
        }
    }
    // A sum of one part says nothing new.
    let parts = |key: &Key| of.keys().filter(|other| (other.set, &other.model) == (key.set, &key.model)).count() - 1;
    let shown = of.iter().filter(|(key, _)| key.gpu.is_some() || parts(key) > 1);
    let mut groups: Vec<Group> = shown.map(|(key, members)| group(key.clone(), members, pairs)).collect();
    // The set says most about a number; what all GPUs share comes after the single ones.
    groups.sort_by_key(|group| {
        let set = match group.key.set {
            Some(Set::HeldOut) => 0,
            None => 1,
            Some(Set::Training) => 2,
        };
        (set, group.key.model.clone(), group.key.gpu.is_none())
    });
    groups
}

fn group(key: Key, members: &[usize], pairs: &[Pair]) -> Group {
    let n = members.len() as f64;
    let errors: Vec<f64> = members.iter().map(|&at| pairs[at].error()).collect();
    let of = |time: fn(&Pair) -> f64| -> Vec<f64> { members.iter().map(|&at| time(&pairs[at])).collect() };
    let ranks = measured::rank_correlation(&of(|pair| pair.predicted_us), &of(|pair| pair.measured_us));
    let mut worst = members.to_vec();
    worst.sort_by(|&left, &right| pairs[right].error().abs().total_cmp(&pairs[left].error().abs()));
    worst.truncate(WORST);
    Group {
        key,
        n_rows: members.len(),
        mean_error: mean_error(members.iter().map(|&at| &pairs[at])),
        median_error: median(errors.iter().map(|error| error.abs()).collect()),
        bias: errors.iter().sum::<f64>() / n,
        rank_correlation: Some(ranks).filter(|ranks| ranks.is_finite()),
        papers: Papers::of(members.iter().map(|&at| &pairs[at])),
        worst,
    }
}

/// Mean of the absolute errors.
fn mean_error<'p>(pairs: impl Iterator<Item = &'p Pair>) -> f64 {
    let (n, sum) = pairs.fold((0.0, 0.0), |(n, sum), pair| (n + 1.0, sum + pair.error().abs()));
    sum / n
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 { numbers[middle] } else { (numbers[middle - 1] + numbers[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(model: &str, gpu: &str, set: Option<Set>, measured_us: f64, predicted_us: f64) -> Pair {
        Pair {
            row: "t.csv, line 2".into(),
            kernel: "k".into(),
            set,
            model: model.into(),
            gpu: gpu.into(),
            class: None,
            instead_of: None,
            measured_us,
            predicted_us,
            generation: "9.0".into(),
            bound_by: None,
            simulated: None,
        }
    }

    #[test]
    fn errors_are_those_of_the_definition() {
        let held = Some(Set::HeldOut);
        let pairs = [
            pair("m", "g", held, 10.0, 11.0),
            pair("m", "g", held, 20.0, 16.0),
            pair("m", "g", held, 30.0, 39.0),
            pair("m", "g", held, 40.0, 20.0),
        ];
        let groups = groups(&pairs);
        let [group] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((group.n_rows, group.worst.as_slice()), (4, &[3, 2, 1][..]));
        let close = |left: f64, right: f64| assert!((left - right).abs() < 1e-12, "{left} {right}");
        close(group.mean_error, (0.1 + 0.2 + 0.3 + 0.5) / 4.0);
        close(group.median_error, 0.25);
        close(group.bias, (0.1 - 0.2 + 0.3 - 0.5) / 4.0);
        // Ranks 1 2 4 3 against 1 2 3 4.
        close(group.rank_correlation.unwrap(), 0.8);
    }

    #[test]
    fn the_papers_measures_are_theirs() {
        let close = |left: f64, right: f64| assert!((left - right).abs() < 1e-12, "{left} {right}");
        let of = |pairs: &[Pair]| Papers::of(pairs.iter());
        let found = of(&[pair("m", "g", None, 10.0, 11.0), pair("m", "g", None, 20.0, 10.0)]);
        close(found.geometric_error, (0.1_f64 * 0.5).sqrt());
        close(found.accuracy, (10.0 / 11.0 + 0.5) / 2.0);
        close(found.geometric_accuracy, (10.0 / 11.0 * 0.5_f64).sqrt());
        // A predicted throughput of 10/11 and of twice the measured one.
        close(found.throughput_accuracy, 1.0 - (1.0 / 11.0 + 1.0) / 2.0);
        let exact = of(&[pair("m", "g", None, 10.0, 10.0)]);
        assert_eq!((exact.accuracy, exact.throughput_accuracy), (1.0, 1.0));
        assert!(exact.geometric_error > 0.0, "one exact row does not hide the others");
    }

    #[test]
    fn rows_that_were_fitted_stay_apart_and_gpus_are_summed_up() {
        let (held, training) = (Some(Set::HeldOut), Some(Set::Training));
        let pairs =
            [pair("m", "g", held, 1.0, 2.0), pair("m", "h", held, 1.0, 4.0), pair("m", "g", training, 1.0, 1.0)];
        let groups = groups(&pairs);
        let errors: Vec<(Option<Set>, Option<&str>, f64)> =
            groups.iter().map(|group| (group.key.set, group.key.gpu.as_deref(), group.mean_error)).collect();
        let expected = [(held, Some("g"), 1.0), (held, Some("h"), 3.0), (held, None, 2.0), (training, Some("g"), 0.0)];
        assert_eq!(errors, expected);
        assert!(groups.iter().all(|group| group.rank_correlation.is_none()), "no two measured times differ");
    }

    fn request(model: &str, gpus: Option<&str>) -> Request {
        let mut execution = ExecutionOptions::new();
        execution.threads = 2;
        let gpus = gpus.map(|list| machines::select(list).unwrap());
        let code = CodeKind::default();
        Request { choice: Choice::parse(model).unwrap(), options: Options::default(), execution, gpus, code }
    }

    #[test]
    fn rows_of_the_project_are_predicted_or_named() {
        let mut tables = tables_of_project();
        // A few rows of each GPU; the whole takes minutes.
        tables.iter_mut().for_each(|table| table.rows = table.rows.iter().step_by(50).cloned().collect());
        let n_rows: usize = tables.iter().map(|table| table.rows.len()).sum();
        let validation = validate(&tables, &request("roofline", None), &Progress::default()).unwrap();
        assert_eq!((validation.pairs.len(), n_rows), (n_rows, 27));
        // The kernels of the summation are not those that were measured, so that these may be faster than the bound;
        // and a kernel may reach more than the bandwidth of the triad, which is that of the bound.
        let mut streaming = validation.pairs.iter().filter(|pair| pair.class.as_deref() == Some("streaming"));
        assert!(streaming.all(|pair| pair.error() < 0.12), "the roofline is a bound");
        let reasons: Vec<&str> = validation.not_predicted.iter().map(|of| of.table.as_str()).collect();
        assert_eq!(reasons, ["validation/measured/pointer-chase.csv", "validation/measured/l1-strides.csv"]);
    }

    fn table_of(text: &str) -> Table {
        let rows = measured::parse("t.csv", text, Path::new("nowhere")).unwrap();
        Table { name: "t.csv".into(), rows, left_out: None }
    }

    #[test]
    fn what_cannot_be_predicted_is_counted_with_its_reason() {
        let text = "gpu,measured_us,predicted_us,input\nh200,1,2,\nh200,1,,k.ptx\nh200,2,,k.ptx\nv100-pcie,1,,\n";
        let found = validate(&[table_of(text)], &request("roofline", None), &Progress::default()).unwrap();
        assert_eq!((found.pairs.len(), found.pairs[0].model.as_str()), (1, GIVEN));
        let reasons: Vec<(&str, usize, Option<usize>)> =
            found.not_predicted.iter().map(|of| (of.reason.as_str(), of.n_rows, of.line)).collect();
        assert_eq!(
            reasons,
            [("nowhere/k.ptx: no such file", 2, Some(3)), ("neither `predicted_us` nor `input`", 1, Some(5))]
        );
        let one = validate(&[table_of(text)], &request("roofline", Some("v100-pcie")), &Progress::default()).unwrap();
        assert_eq!((one.n_other_gpus, one.pairs.len(), one.not_predicted.len()), (3, 0, 1));
    }

    #[test]
    fn unknown_gpus_are_refused_by_name() {
        let message = |text: &str, gpus| {
            validate(&[table_of(text)], &request("roofline", gpus), &Progress::default()).unwrap_err().message
        };
        assert_eq!(message("gpu,measured_us\nh300,1\n", None), "t.csv, line 2: unknown GPU `h300`");
        assert_eq!(message("gpu,measured_us\nh200,1\n", Some("l40")), "no row is of a GPU that --gpu names");
    }
}
