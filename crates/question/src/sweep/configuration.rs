//! The configurations of a study: every combination of sizes and of the points of a kernel's space.

use warplens_base::error::{Error, Result};
use warplens_launch::Launch;
use warplens_session::Input;
use warplens_session::machines::Machine;
use warplens_session::predict::{Choice, Options};

use super::study::{Study, StudyKernel};
use crate::tune::{GivenShape, LaunchTemplate, Resolved, Space, SpaceText, Text};

/// Configurations beyond which a study is a slip of the pen.
pub const MOST_CONFIGURATIONS: u64 = 1_000_000;

/// A study with the files that it names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The study.
    pub study: Study,
    /// The program of each kernel.
    pub inputs: Vec<Input>,
    /// The launch of each kernel.
    pub(crate) templates: Vec<LaunchTemplate>,
    /// The GPUs.
    pub machines: Vec<Machine>,
    /// The models that are asked.
    pub choice: Choice,
    /// Their options.
    pub options: Options,
    /// The spaces, in the order of the configurations.
    pub(crate) parts: Vec<Part>,
    /// All configurations.
    configurations: Vec<Configuration>,
}

/// The points of a kernel at one set of sizes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Position of the kernel.
    pub(crate) kernel: usize,
    /// The sizes.
    pub(crate) sizes: Vec<(String, String)>,
    /// The points.
    pub(crate) space: Space,
}

/// A configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Its number, from 0.
    pub number: u64,
    /// Position of its space.
    pub(crate) part: usize,
    /// Its point there.
    pub(crate) choices: Vec<usize>,
    /// What tells it apart in the study, for whoever keeps its rows.
    pub label: String,
}

impl Loaded {
    /// Numbers the configurations. `launches` is what the launch file of each kernel says.
    pub fn new(
        study: Study,
        inputs: Vec<Input>,
        launches: Vec<Launch>,
        machines: Vec<Machine>,
        (choice, options): (Choice, Options),
    ) -> Result<Self> {
        let (mut templates, mut parts) = (Vec::new(), Vec::new());
        for (at, (kernel, launch)) in study.kernels.iter().zip(launches).enumerate() {
            let given = GivenShape { grid: launch.grid, block: launch.block, shared: launch.shared };
            let named = |error: Error| Error {
                message: format!("{}, kernel `{}`: {}", study.name, kernel.name, error.message),
                ..error
            };
            for sizes in combinations(&kernel.sizes) {
                let text = with_sizes(&study, kernel, &sizes);
                let space = Space::new(&text, std::slice::from_ref(&kernel.name), given).map_err(named)?;
                parts.push(Part { kernel: at, sizes, space });
            }
            templates.push(LaunchTemplate::new(launch, &kernel.arguments).map_err(named)?);
        }
        let n_points: u64 = parts.iter().map(|part| part.space.n_points()).fold(0, u64::saturating_add);
        if n_points > MOST_CONFIGURATIONS {
            let message = format!("{}: {n_points} combinations are more than {MOST_CONFIGURATIONS}", study.name);
            return Err(Error::usage(message).with_help("vary less at a time, or make several studies"));
        }
        let configurations = configurations(&study, &parts);
        Ok(Self { study, inputs, templates, machines, choice, options, parts, configurations })
    }

    /// All configurations, in the order of the study. Those that a constraint excludes are none.
    pub fn configurations(&self) -> &[Configuration] {
        &self.configurations
    }
}

fn configurations(study: &Study, parts: &[Part]) -> Vec<Configuration> {
    let mut all = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        for number in 0..part.space.n_points() {
            let choices = part.space.choices(number);
            if matches!(part.space.resolve(&choices), Resolved::Excluded) {
                continue;
            }
            let sizes = part.sizes.iter().map(|(name, value)| format!("{name}={value}"));
            let dimensions = part.space.dimensions();
            let chosen = dimensions
                .iter()
                .map(|dimension| format!("{}={}", dimension.name, dimension.values[choices[dimension.position]]));
            let words: Vec<String> =
                std::iter::once(study.kernels[part.kernel].name.clone()).chain(sizes).chain(chosen).collect();
            all.push(Configuration { number: all.len() as u64, part: at, choices, label: words.join(" ") });
        }
    }
    all
}

/// Every combination of the values, the last size fastest.
fn combinations(sizes: &[(String, Vec<String>)]) -> Vec<Vec<(String, String)>> {
    sizes.iter().fold(vec![Vec::new()], |before, (name, values)| {
        let with = |own: &Vec<(String, String)>, value: &String| {
            own.iter().cloned().chain([(name.clone(), value.clone())]).collect()
        };
        before.iter().flat_map(|own| values.iter().map(move |value| with(own, value))).collect()
    })
}

/// The space of a kernel where its sizes are known numbers, in front of what follows from them.
fn with_sizes(study: &Study, kernel: &StudyKernel, sizes: &[(String, String)]) -> SpaceText {
    let place = format!("{}, kernel `{}`", study.name, kernel.name);
    let sizes = sizes.iter().map(|(name, value)| Text::new(format!("{place}, size"), format!("{name}={value}")));
    SpaceText { lets: sizes.chain(kernel.space.lets.iter().cloned()).collect(), ..kernel.space.clone() }
}
