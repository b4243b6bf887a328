//! The flags of every verb that asks models about a launch, and the work that they share: GPUs and models are checked
//! before anything takes time, then the launch is measured.

use anyhow::Result;
use clap::Args;
use warplens_session::launch::Launch;
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis, Options};
use warplens_session::profile::Counting;
use warplens_session::statics::{self, Given};
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ExecutionOptions, Measurement, Program};

use crate::command::profile::CountFlag;
use crate::flags::{ExecutionFlags, ExtentFlags, LaunchFlags, StaticFlags};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct AskFlags {
    #[command(flatten)]
    pub(crate) launch: LaunchFlags,
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
    #[command(flatten)]
    pub(crate) execution: ExecutionFlags,
    #[command(flatten)]
    pub(crate) extent: ExtentFlags,
    #[command(flatten)]
    pub(crate) statics: StaticFlags,
}

const DEFAULT_GPU: &str = "h200";
const DEFAULT_MODEL: &str = "auto";

/// What was asked for, checked.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) machines: Vec<Machine>,
    pub(crate) choice: Choice,
    pub(crate) options: Options,
    execution: ExecutionOptions,
    /// What is said about loops and branches, if the launch is not to be run.
    given: Option<Given>,
}

/// A measured input.
#[derive(Debug)]
pub(crate) struct Measured {
    program: Program,
    pub(crate) launches: Vec<Launch>,
    pub(crate) measurements: Vec<Measurement>,
}

impl AskFlags {
    /// Checks what was asked for.
    pub(crate) fn question(&self, threads: Option<u32>) -> Result<Question> {
        let machines = machines::select(&self.gpu)?;
        let choice = Choice::parse(&self.model)?;
        let counts = match self.count {
            CountFlag::Ptx => CountBasis::AsWritten,
            CountFlag::Machine => CountBasis::Machine,
        };
        let strictness = if self.strict { Strictness::Strict } else { Strictness::AllowInferred };
        let options = predict::options(&choice, &self.options, counts, strictness)?;
        let mut execution = self.execution.options(threads)?;
        execution.extent = self.extent.extent()?;
        let given = self.statics.given()?;
        Ok(Question { machines, choice, options, execution, given })
    }

    /// Loads and measures the input.
    pub(crate) fn measure(&self, question: &Question, terminal: &Terminal) -> Result<Measured> {
        let program = self.launch.program(target(&question.machines).as_deref(), terminal)?;
        let launches = self.launch.launches()?;
        let measurements = counts(&program, &launches, question, terminal)?;
        Ok(Measured { program, launches, measurements })
    }

    /// The same question under another verb, as a user would type it.
    pub(crate) fn command(&self, verb: &str, more: &[String]) -> String {
        let mut words = [self.execution.words(), self.extent.words(), self.statics.words()].concat();
        let named = [("--gpu", &self.gpu, DEFAULT_GPU), ("--model", &self.model, DEFAULT_MODEL)];
        for (flag, value, default) in named {
            if value != default {
                words.extend([flag.to_owned(), value.clone()]);
            }
        }
        words.extend(self.options.iter().flat_map(|name| ["--option".to_owned(), name.clone()]));
        if self.strict {
            words.push("--strict".to_owned());
        }
        if self.count == CountFlag::Machine {
            words.extend(["--count".to_owned(), "machine".to_owned()]);
        }
        words.extend_from_slice(more);
        self.launch.command(verb, &words)
    }
}

impl Measured {
    /// Measures other launches of the same input.
    pub(crate) fn again(
        &self,
        launches: &[Launch],
        question: &Question,
        terminal: &Terminal,
    ) -> Result<Vec<Measurement>> {
        counts(&self.program, launches, question, terminal)
    }
}

fn counts(
    program: &Program,
    launches: &[Launch],
    question: &Question,
    terminal: &Terminal,
) -> Result<Vec<Measurement>> {
    let search = Search::from_environment();
    // The models leave virtual instructions out themselves where that is asked for.
    let execution = question.execution.clone();
    if let Some(given) = &question.given {
        return Ok(statics::count(program, launches, given, execution, Counting::Ptx, &search)?);
    }
    let measurements = terminal.with_progress(|progress| {
        warplens_session::measure(program, launches, execution, Counting::Ptx, &search, progress)
    })?;
    Ok(measurements)
}

/// The target for CUDA C++: what the oldest of the GPUs runs, as far back as current compilers go.
fn target(machines: &[Machine]) -> Option<String> {
    const OLDEST: machines::ComputeCapability = machines::ComputeCapability::new(7, 5);
    machines.iter().map(|machine| machine.cc).min().map(|cc| cc.max(OLDEST).target())
}
