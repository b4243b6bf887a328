//! X-graphs of measured launches, families of f(k), and the graphs of architectures.

use warplens_model::x_model::{self, Family, Graph, Knob, Solved};
pub use warplens_model::x_model::{Bound, Sample, Stability, Units, Width};
use warplens_model::{Change, Detail, ModelId, Options, Refusal, Unit};

use crate::measured::lines_of;
use crate::whatif::{self, Kept, Scenario};
use warplens_base::error::{Error, Result};
use warplens_base::nearest;
use warplens_session::Measurement;
use warplens_session::machines::{Machine, Strictness};
use warplens_session::predict::{Choice, Prediction};

/// Room above the highest place of the curves.
const HEADROOM: f64 = 1.15;
/// The axis ends at this many times the highest supply, though demand may be higher.
const MOST_OF_SUPPLY: f64 = 2.0;
const GIGA: f64 = 1e9;

/// One workload on one machine, as it is and as a question would have it.
#[derive(Clone, PartialEq, Debug)]
pub struct XGraph {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// As things are.
    pub before: Graph,
    /// As they would be.
    pub after: Option<Graph>,
    /// The question, as it was written.
    pub question: String,
    /// Points of f(k) that somebody measured, in the units of the axes.
    pub measured: Vec<(f64, f64)>,
    /// Highest memory throughput on the axis.
    pub top: f64,
    /// Computation throughput at the same height; none where it differs between before and after.
    pub computation_top: Option<f64>,
}

/// The X-graph of a launch on a GPU; `scenario` may change something, but not the grid or the block.
pub fn x_graph(measurement: Measurement, machine: &Machine, options: Options, scenario: &Scenario) -> Result<XGraph> {
    x_graph_kept(measurement, machine, options, scenario, &Kept::default())
}

/// [`x_graph`], with what is kept of the launch.
pub fn x_graph_kept(
    measurement: Measurement,
    machine: &Machine,
    options: Options,
    scenario: &Scenario,
    kept: &Kept,
) -> Result<XGraph> {
    if scenario.runs_again() {
        let error = Error::usage("an X-graph shows one launch: `grid` and `block` belong to --grid and --block");
        return Err(error);
    }
    let kernel = measurement.kernel.demangled.clone();
    let choice = Choice::Alone(vec![ModelId::XModel]);
    let machines = std::slice::from_ref(machine);
    let answer = whatif::run_kept(measurement, None, machines, &choice, options, scenario, kept);
    let gpu = answer.gpus.into_iter().next().expect("one GPU was asked for");
    let model = gpu.models.into_iter().next().expect("one model was asked");
    let before = solved(model.before, &kernel, machine)?.graph();
    let after = match (&gpu.after, model.after) {
        _ if scenario.texts.is_empty() => None,
        (Err(why), _) => return Err(Error::usage(why.reason.clone())),
        (Ok(_), Some(after)) => Some(solved(after, &kernel, machine)?.graph()),
        (Ok(_), None) => None,
    };
    let graphs = || std::iter::once(&before).chain(&after);
    let highest =
        |curve: fn(&Graph) -> &Vec<Sample>| graphs().flat_map(curve).map(|sample| sample.value).fold(0.0, f64::max);
    // Where demand is many times the supply, the axis shows the supply and where demand comes down to it.
    let supply = highest(|graph| &graph.supply);
    let top = HEADROOM * highest(|graph| &graph.demand).max(supply).min(MOST_OF_SUPPLY * supply);
    let intensity = before.state.system.intensity;
    let computation_top = graphs().all(|graph| graph.state.system.intensity == intensity).then_some(intensity * top);
    let question = scenario.texts.join(", ");
    let (gpu, measured) = (machine.id.clone(), Vec::new());
    Ok(XGraph { kernel, gpu, before, after, question, measured, top, computation_top })
}

impl XGraph {
    /// The same graph with measured points, for which the axis grows where they lie higher.
    pub fn with_measured(mut self, points: Vec<(f64, f64)>) -> Self {
        let highest = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        let grown = self.top.max(HEADROOM * highest);
        self.computation_top = self.computation_top.map(|top| top * grown / self.top);
        self.top = grown;
        self.measured = points;
        self
    }
}

/// Reads measured points of f(k): a line `k,value` for each, behind a line that names the columns; `#` begins a comment.
pub fn measured_points(name: &str, text: &str) -> Result<Vec<(f64, f64)>> {
    let mut points = Vec::new();
    for (number, line) in lines_of(text).skip(1) {
        let pair =
            line.split_once(',').and_then(|(k, value)| Some((k.trim().parse().ok()?, value.trim().parse().ok()?)));
        points.push(pair.ok_or_else(|| {
            let error = Error::input(format!("{name}, line {}: `{line}` is no point", number + 1));
            error.with_help("a line is `k,value`: warps in the memory system, and requests per cycle of an SM")
        })?);
    }
    x_model::Points::new(points.iter().copied()).map_err(|bad| Error::input(format!("{name}: {bad}")))?;
    Ok(points)
}

fn solved(result: std::result::Result<Prediction, Refusal>, kernel: &str, machine: &Machine) -> Result<Solved> {
    let place = format!("{kernel} on {}", machine.id);
    match result {
        Ok(prediction) => match prediction.detail {
            Some(Detail::XModel(solved)) => Ok(*solved),
            Some(Detail::LuoSuda(_) | Detail::Teg(_)) | None => {
                Err(Error::input(format!("{place} asks nothing of memory, so that there is no X-graph")))
            }
        },
        Err(refusal) => Err(Error::input(format!("x-model refuses {place}: {}", refusal.reason))),
    }
}

/// f(k) of a launch on a GPU for several values of a knob.
#[derive(Clone, PartialEq, Debug)]
pub struct Curves {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// What the axes count.
    pub units: Units,
    /// Unit of the knob.
    pub knob_unit: Unit,
    /// The curves.
    pub family: Family,
}

/// A knob and the changes of it that are shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Variation {
    knob: Knob,
    changes: Vec<Change>,
}

impl Variation {
    /// Reads `x-model.R=0.5x,1x,2x`; `R=...` means the same.
    pub fn parse(text: &str) -> Result<Self> {
        let usage =
            || Error::usage(format!("--vary {text}: write NAME=VALUE,VALUE,... with values such as 16384 or 2x"));
        let (name, values) = text.split_once('=').ok_or_else(usage)?;
        let full = |name: &str| if name.contains('.') { name.to_owned() } else { format!("x-model.{name}") };
        let knob = Knob::find(&full(name)).ok_or_else(|| unknown(name))?;
        let changes =
            values.split(',').map(|value| Change::parse(value.trim()).ok_or_else(usage)).collect::<Result<_>>()?;
        Ok(Self { knob, changes })
    }

    /// The size of the cache: none, half of it, as it is, twice and four times as much.
    pub fn of_cache() -> Self {
        let changes = [0.0, 0.5, 1.0, 2.0, 4.0].map(Change::Factor).to_vec();
        Self { knob: Knob::CacheBytes, changes }
    }
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = Knob::ALL.iter().map(|knob| knob.spec().name).collect();
    let error = Error::usage(format!("--vary: no quantity `{name}`"));
    match nearest(name, names.iter().copied()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None => error.with_help(format!("there are {}", names.join(", "))),
    }
}

/// The family of a launch on a GPU.
pub fn family(measurement: Measurement, machine: &Machine, options: Options, variation: &Variation) -> Result<Curves> {
    let graph = x_graph(measurement, machine, options, &Scenario::default())?;
    let (system, knob) = (&graph.before.state.system, variation.knob);
    let (spec, place) = (knob.spec(), format!("{} on {}", graph.kernel, graph.gpu));
    let Some(now) = knob.value(system) else {
        let error = Error::input(format!("{place} has no {}: its loads go past the cache", spec.name));
        return Err(error.with_help("--vary x-model.R=0.5x,1x,2x shows another quantity"));
    };
    let values: Vec<f64> = variation.changes.iter().map(|change| change.of(now)).collect();
    let family = x_model::family(system, knob, &values, graph.before.threads);
    if family.curves.is_empty() {
        return Err(Error::usage(format!("--vary: f(k) of {place} exists for none of these values of {}", spec.name)));
    }
    let (kernel, gpu, units) = (graph.kernel, graph.gpu, graph.before.units);
    Ok(Curves { kernel, gpu, units, knob_unit: spec.unit, family })
}

/// The graph of a GPU without a workload.
#[derive(Clone, PartialEq, Debug)]
pub struct Architecture {
    /// Identifier of the GPU.
    pub gpu: String,
    /// Warps that an SM holds at most.
    pub threads: f64,
    /// f(k) by width, in GB/s of the whole GPU, and where it reaches its ceiling.
    pub supply: Vec<ArchitectureSupply>,
    /// g(x) by E, in warp instructions per cycle and SM.
    pub computation: Vec<ArchitectureComputation>,
}

/// f(k) of a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct ArchitectureSupply {
    /// Bytes per thread.
    pub width: Width,
    /// Warps per SM and GB/s.
    pub points: Vec<(f64, f64)>,
    /// delta = R L: warps that saturate memory.
    pub delta: f64,
}

/// g(x) of a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct ArchitectureComputation {
    /// E.
    pub parallelism: f64,
    /// Warps per SM and warp instructions per cycle.
    pub points: Vec<(f64, f64)>,
    /// pi: warps that saturate the lanes.
    pub pi: f64,
}

/// The graph of a GPU for E from 1 to `most`.
pub fn architecture(machine: &Machine, most: u32, strictness: Strictness) -> Result<Architecture> {
    let graph = x_model::architecture(machine, most, strictness)
        .map_err(|refusal| Error::input(format!("{} has no architecture graph: {}", machine.id, refusal.reason)))?;
    let supply = graph.supply.iter().map(|supply| {
        let giga = supply.width.request_bytes() * graph.bytes_per_second / GIGA;
        ArchitectureSupply {
            width: supply.width,
            points: supply.curve.iter().map(|sample| (sample.at, sample.value * giga)).collect(),
            delta: supply.memory.delta(),
        }
    });
    let computation = graph.computation.iter().map(|computation| ArchitectureComputation {
        parallelism: computation.lanes.parallelism,
        points: computation.curve.iter().map(|sample| (sample.at, sample.value)).collect(),
        pi: computation.pi,
    });
    Ok(Architecture {
        gpu: machine.id.clone(),
        threads: graph.threads,
        supply: supply.collect(),
        computation: computation.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_pairs_of_numbers() {
        let read = |text: &str| measured_points("f.csv", text).map_err(|error| error.message);
        assert_eq!(read("# by hand\nk,requests_per_cycle\n2, 0.01\n\n4,0.02\n"), Ok(vec![(2.0, 0.01), (4.0, 0.02)]));
        assert_eq!(read("k,f\n2\n"), Err("f.csv, line 2: `2` is no point".into()));
        assert_eq!(read("k,f\n2,1\n2,3\n"), Err("f.csv: two points lie at 2".into()));
        assert_eq!(read("k,f\n"), Err("f.csv: a measured curve needs a point".into()));
    }
}
