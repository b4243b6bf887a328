//! The flags of every verb that asks models about a launch, and the work that they share: GPUs and models are checked
//! before anything takes time, then the launch is measured.

use anyhow::Result;
use clap::Args;
use warplens_launch::Launch;
use warplens_question::explain::Trial;
use warplens_question::native;
use warplens_question::timing::Answer;
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis, ModelId, Options};
use warplens_session::profile::Counting;
use warplens_session::source::Source;
use warplens_session::toolchain::Search;
use warplens_session::{Analysis, Choice, Error, ExecutionOptions, Generation, Input, Measurement, Program};

use crate::command::profile::CountFlag;
use crate::flags::{ExecutionFlags, ExtentFlags, LaunchFlags, StaticFlags, gather};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct AskFlags {
    #[command(flatten)]
    pub(crate) launch: LaunchFlags,
    #[command(flatten)]
    pub(crate) models: ModelFlags,
    #[command(flatten)]
    pub(crate) execution: ExecutionFlags,
    #[command(flatten)]
    pub(crate) extent: ExtentFlags,
    #[command(flatten)]
    pub(crate) statics: StaticFlags,
}

/// The GPUs and the models that are asked.
#[derive(Args, Clone, Debug)]
pub(crate) struct ModelFlags {
    /// GPUs: identifiers, marketing names, sm_XX for all of a target, FILE.toml, ID@MHZ, all
    #[arg(long, value_name = "LIST", default_value = DEFAULT_GPU, help_heading = "Prediction")]
    pub(crate) gpu: String,
    /// Models, or `auto` for the preferred one that answers, or `all`
    #[arg(long, value_name = "NAME|auto|all", default_value = DEFAULT_MODEL, help_heading = "Prediction")]
    pub(crate) model: String,
    /// Switch an option of the models on, such as as-printed
    #[arg(long = "option", value_name = "NAME", help_heading = "Prediction")]
    options: Vec<String>,
    /// Refuse where a machine parameter would have to be derived
    #[arg(long, help_heading = "Prediction")]
    strict: bool,
    /// Which instructions count
    #[arg(long, value_enum, default_value_t = CountFlag::Ptx, help_heading = "Prediction")]
    count: CountFlag,
}

const DEFAULT_GPU: &str = "h200";
const DEFAULT_MODEL: &str = "auto";
/// The timing simulation.
const TEG: ModelId = ModelId::Teg;

/// What was asked for, checked.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) machines: Vec<Machine>,
    pub(crate) choice: Choice,
    pub(crate) options: Options,
    execution: ExecutionOptions,
}

impl Question {
    /// Asks models, and shows how many GPUs are done where that takes long.
    pub(crate) fn predict(&self, measurement: Measurement, choice: &Choice, terminal: &Terminal) -> Analysis {
        terminal.with_progress_of("GPUs", |progress| {
            predict::predict_watched(measurement, &self.machines, choice, self.options, progress)
        })
    }
}

/// A measured input.
#[derive(Debug)]
pub(crate) struct Measured {
    /// What can be executed again: the program, unless the counts come from elsewhere or from several programs.
    pub(crate) program: Option<Box<Program>>,
    /// The launches of the program.
    pub(crate) launches: Vec<Launch>,
    pub(crate) measurements: Vec<Measurement>,
}

impl AskFlags {
    /// Checks what was asked for.
    pub(crate) fn question(&self, threads: Option<u32>) -> Result<Question> {
        self.question_about(&self.models, threads)
    }

    /// The same about these GPUs, unless the user names others.
    pub(crate) fn question_of_gpus(&self, gpus: &str, threads: Option<u32>) -> Result<Question> {
        match self.models.gpu == DEFAULT_GPU {
            true => self.question_about(&ModelFlags { gpu: gpus.to_owned(), ..self.models.clone() }, threads),
            false => self.question(threads),
        }
    }

    fn question_about(&self, models: &ModelFlags, threads: Option<u32>) -> Result<Question> {
        let machines = machines::select(&models.gpu)?;
        let (choice, options) = models.choice()?;
        let mut execution = self.execution.options(threads)?;
        execution.extent = self.extent.extent()?;
        execution.statics = self.statics.given()?;
        execution.traced_for = choice.traced(&machines);
        execution.generations = Generation::of_all(&machines);
        Ok(Question { machines, choice, options, execution })
    }

    /// The same for a verb that only the timing simulation answers.
    pub(crate) fn question_of_teg(&self, threads: Option<u32>) -> Result<Question> {
        let teg = Choice::Named(vec![TEG]);
        let models = ModelFlags { model: TEG.name().to_owned(), ..self.models.clone() };
        if self.models.model != DEFAULT_MODEL && Choice::parse(&self.models.model)? != teg {
            let message = format!("--model {}: only {TEG} follows warps through time", self.models.model);
            return Err(Error::usage(message).into());
        }
        self.question_about(&models, threads)
    }

    /// True where the timing simulation alone is asked.
    pub(crate) fn is_of_teg(&self) -> bool {
        self.is_of(TEG)
    }

    /// True where this model alone is asked.
    pub(crate) fn is_of(&self, model: ModelId) -> bool {
        self.models.model == model.name()
    }

    /// Loads and measures the input.
    pub(crate) fn measure(&self, question: &Question, terminal: &Terminal) -> Result<Measured> {
        let sources = self.launch.sources(&question.machines, terminal)?;
        let (program, launches) = match sources.as_slice() {
            [Source::Program { program, launches }] => (Some(program.clone()), launches.clone()),
            _ => (None, Vec::new()),
        };
        // The models leave virtual instructions out themselves where that is asked for.
        let measurements =
            gather(sources, &self.execution, &self.extent, &question.execution, Counting::Ptx, terminal)?;
        Ok(Measured { program, launches, measurements })
    }

    /// What the timing simulation answers to machine code that somebody wrote down, of which nothing is executed; none
    /// where the input is something else.
    pub(crate) fn native<T>(&self, question: &Question, ask: native::Ask<T>) -> Result<Option<Vec<Answer<T>>>> {
        if !native::is_native(&self.launch.input) {
            return Ok(None);
        }
        let input = Input::read(&self.launch.input)?;
        let strictness = question.options.strictness;
        let launches = self.launch.launches()?;
        let pairs = launches.iter().flat_map(|launch| question.machines.iter().map(move |machine| (launch, machine)));
        let answers = pairs.map(|(launch, machine)| {
            ask(&input, &native::Request::of_launch(launch, machine, strictness)?, machine, strictness)
        });
        Ok(Some(answers.collect::<Result<_, Error>>()?))
    }

    /// The same question under another verb, as a user would type it.
    pub(crate) fn command(&self, verb: &str, more: &[String]) -> String {
        let mut words = [self.execution.words(), self.extent.words(), self.statics.words()].concat();
        let models = &self.models;
        let named = [("--gpu", &models.gpu, DEFAULT_GPU), ("--model", &models.model, DEFAULT_MODEL)];
        for (flag, value, default) in named {
            if value != default {
                words.extend([flag.to_owned(), value.clone()]);
            }
        }
        words.extend(models.words());
        words.extend_from_slice(more);
        self.launch.command(verb, &words)
    }
}

impl ModelFlags {
    /// The flags besides GPUs and models that were given, as a user would type them.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.options.iter().flat_map(|name| ["--option".to_owned(), name.clone()]).collect();
        if self.strict {
            words.push("--strict".to_owned());
        }
        if self.count == CountFlag::Machine {
            words.extend(["--count".to_owned(), "machine".to_owned()]);
        }
        words
    }

    /// The models and their options.
    pub(crate) fn choice(&self) -> Result<(Choice, Options)> {
        let choice = Choice::parse(&self.model)?;
        let counts = match self.count {
            CountFlag::Ptx => CountBasis::AsWritten,
            CountFlag::Machine => CountBasis::Machine,
        };
        let strictness = if self.strict { Strictness::Strict } else { Strictness::AllowInferred };
        let options = predict::options(&choice, &self.options, counts, strictness)?;
        Ok((choice, options))
    }
}

impl Measured {
    /// The program and the launches behind a measurement, to try changes; none where nothing can run again.
    pub(crate) fn trial<'a>(&'a self, number: usize, question: &'a Question) -> Option<Trial<'a>> {
        let (program, launches) = (self.program.as_deref()?, self.launches.as_slice());
        Some(Trial { program, launches, number, options: &question.execution })
    }

    /// Measures other launches of the same input.
    pub(crate) fn again(
        &self,
        launches: &[Launch],
        question: &Question,
        terminal: &Terminal,
    ) -> Result<Vec<Measurement>> {
        let program = self.program.as_deref().ok_or_else(|| {
            Error::usage("the counts come from a file: the kernel cannot run again with another grid or block")
        })?;
        let search = Search::from_environment();
        let measurements = terminal.with_progress(|progress| {
            warplens_session::measure(program, launches, question.execution.clone(), Counting::Ptx, &search, progress)
        })?;
        Ok(measurements)
    }
}
