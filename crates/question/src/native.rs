//! Machine code that others wrote down, simulated as it is: listings of the GT200 era, and traces in Accel-Sim's format.
//!
//! Nothing is compiled and nothing is emulated. What is simulated is one SM with the CTAs that it is given.

use std::path::Path;

use warplens_base::error::{Error, Result};
use warplens_base::units::Seconds;
use warplens_launch::{KernelName, Launch};
use warplens_machine::{Key, Machine, Reader, Strictness};
use warplens_model::Refusal;
use warplens_model::residency::fitting_ctas;
use warplens_native::{read_listing_with, read_sass_trace};
use warplens_session::Input;
use warplens_sim::{Job, Options, SmConfig, Surroundings, simulate};
use warplens_trace::{Code, CtaId, CtaTrace};

use crate::timing::scale::{self, Scale};
use crate::timing::{Annotated, Answer, annotate};

/// How files are named that hold listings, and those that hold traces.
const ENDINGS: [&str; 2] = ["gt200", "traceg"];

/// CTAs of a listing that one SM may get.
const MAX_CTAS: u32 = 4096;

/// What is asked of one SM.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// Other values for the `.let` names of a listing.
    pub values: Vec<(String, i64)>,
    /// Threads of a CTA; a trace has its own.
    pub threads: Option<u32>,
    /// CTAs of a listing; those of a trace without it.
    pub ctas: Option<u32>,
    /// CTAs that are on the SM at once; as many as fit without it.
    pub resident: Option<u32>,
    /// SMs of the chip that are at work; all without it.
    pub sms: Option<u32>,
    /// Those SMs share the CTAs of the launch that a trace was made of, where `ctas` does not say what one gets.
    pub shares_trace: bool,
}

impl Request {
    /// What one SM of a GPU gets of a launch, whose CTAs are dealt out evenly. A trace needs neither grid nor block.
    pub fn of_launch(launch: &Launch, machine: &Machine, strictness: Strictness) -> Result<Self> {
        let Launch { kernel, grid, block, cluster, shared, registers, arguments, overrides, symbols } = launch;
        let given = [
            ("a name of its kernel", kernel.is_some()),
            ("clusters", cluster.is_some()),
            ("dynamic shared memory", shared.is_some()),
            ("registers that could be set", registers.is_some()),
            ("parameters", !arguments.is_empty() || !overrides.is_empty()),
            ("variables", !symbols.is_empty()),
        ];
        if let Some((what, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(Error::usage(format!("machine code that somebody wrote down has no {what}"))
                .with_help("a listing takes --grid and --block; `warplens dev simulate` sets its names by --set"));
        }
        let all = |extents: [u32; 3]| extents.iter().copied().fold(1, u32::saturating_mul);
        let mut reader = Reader::new(machine, strictness);
        let n_sms = reader.need(Key::SmCount).map_err(|missing| Error::input(missing.to_string()))? as u32;
        let (ctas, sms) = match grid.map(all) {
            Some(n_ctas) => (Some(n_ctas.div_ceil(n_sms.max(1))), n_ctas.min(n_sms)),
            None => (None, n_sms),
        };
        Ok(Self { threads: block.map(all), ctas, sms: Some(sms), shares_trace: true, ..Self::default() })
    }
}

/// Machine code with what its warps executed.
struct Native {
    name: KernelName,
    code: Code,
    ctas: Vec<CtaTrace>,
    threads: u32,
    registers: u32,
    shared_bytes: u64,
    /// The text whose lines the code was read from; lines of a trace are executions.
    text: Option<String>,
    /// SMs that are at work; all without it.
    sms: Option<u32>,
}

/// How an SM of a GPU runs it.
struct Placed {
    config: SmConfig,
    /// CTAs that are there at once, and those that fit.
    resident: u32,
    fits: u32,
    surroundings: Surroundings,
}

/// A question about what one SM of a GPU gets of a listing or a trace.
pub type Ask<T> = fn(&Input, &Request, &Machine, Strictness) -> Result<Answer<T>>;

/// True of a file that is named as those are.
pub fn is_native(path: &Path) -> bool {
    path.extension().is_some_and(|own| ENDINGS.iter().any(|ending| own == *ending))
}

/// Simulates a listing or a trace on one SM of a GPU: what its warps spent, line by line.
pub fn annotated(
    input: &Input,
    request: &Request,
    machine: &Machine,
    strictness: Strictness,
) -> Result<Answer<Annotated>> {
    let native = read(input, request)?;
    let result = native.placed(request, machine, strictness).map(|placed| {
        let outcome = simulate(&placed.config, &native.job(&placed), Options::default());
        Annotated {
            kernel: native.name.clone(),
            gpu: machine.id.clone(),
            time: Seconds(outcome.cycles as f64 / placed.config.clock),
            annotation: annotate::by_input(&input.name, native.text.as_deref(), &native.code, &outcome),
            outcome,
        }
    });
    Ok(Answer { kernel: native.name, gpu: machine.id.clone(), result })
}

/// How a listing or a trace scales from one warp to a full SM of a GPU.
pub fn scaled(input: &Input, request: &Request, machine: &Machine, strictness: Strictness) -> Result<Answer<Scale>> {
    let native = read(input, request)?;
    let result = native.placed(request, machine, strictness).map(|placed| {
        let resident = placed.resident.min(native.ctas.len() as u32);
        Scale {
            kernel: native.name.demangled.clone(),
            gpu: machine.id.clone(),
            clock_hz: placed.config.clock,
            warps_per_cta: native.threads.div_ceil(32),
            most_ctas: resident,
            steps: scale::steps(&placed.config, &native.job(&placed)),
            assumptions: scale::assumptions(None, resident, Some(placed.fits)),
        }
    });
    Ok(Answer { kernel: native.name, gpu: machine.id.clone(), result })
}

impl Native {
    fn placed(
        &self,
        request: &Request,
        machine: &Machine,
        strictness: Strictness,
    ) -> std::result::Result<Placed, Refusal> {
        let mut reader = Reader::new(machine, strictness);
        let config = SmConfig::read(&mut reader, &self.code.timed_classes())?;
        let fits = fitting_ctas(self.threads.into(), self.registers, self.shared_bytes, &mut reader)? as u32;
        let active_sms = self.sms.unwrap_or(config.n_sms).clamp(1, config.n_sms);
        let clusters = (config.n_sms / config.sms_per_cluster.max(1)).max(1);
        let active_in_cluster = active_sms.div_ceil(clusters);
        let surroundings = Surroundings { active_sms, active_in_cluster, ..Surroundings::ALONE };
        Ok(Placed { config, resident: request.resident.unwrap_or(fits).max(1), fits, surroundings })
    }

    fn job<'a>(&'a self, placed: &Placed) -> Job<'a> {
        let Placed { resident, surroundings, .. } = *placed;
        Job { code: &self.code, ctas: &self.ctas, resident, surroundings, footprint: None }
    }
}

fn read(input: &Input, request: &Request) -> Result<Native> {
    let text = input.text();
    let is_trace = text.lines().any(|line| line.starts_with("#BEGIN_TB"));
    if is_trace { of_trace(input, &text, request) } else { of_listing(input, &text, request) }
}

fn of_listing(input: &Input, text: &str, request: &Request) -> Result<Native> {
    let wrong = |problems| Error::input("the listing cannot be read").with_findings(&input.name, text, problems);
    let Some(threads) = request.threads else {
        return Err(Error::usage("how many threads a CTA has is not said in a listing")
            .with_help("add --block N, or --threads N to `dev simulate`"));
    };
    let n_ctas = request.ctas.unwrap_or(1);
    if !(1..=MAX_CTAS).contains(&n_ctas) {
        return Err(Error::usage(format!("one SM is simulated with 1 to {MAX_CTAS} blocks, not {n_ctas}")));
    }
    let values: Vec<(&str, i64)> = request.values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let listing = read_listing_with(text, &values).map_err(wrong)?;
    let ctas = (0..n_ctas).map(CtaId);
    let ctas = listing.traces(ctas, threads).map_err(|problem| wrong(vec![problem]))?;
    let name =
        input.path.as_ref().and_then(|path| path.file_stem()).map_or("listing".into(), |stem| stem.to_string_lossy());
    let registers = u32::from(listing.code.n_registers);
    let (name, text) = (KernelName::new(&name), Some(text.to_owned()));
    let sms = request.sms;
    Ok(Native { name, code: listing.code, ctas, threads, registers, shared_bytes: 0, text, sms })
}

fn of_trace(input: &Input, text: &str, request: &Request) -> Result<Native> {
    if request.threads.is_some() || !request.values.is_empty() {
        return Err(Error::usage("a trace has its own threads, and no names that could be set"));
    }
    let trace = read_sass_trace(text)
        .map_err(|problems| Error::input("the trace cannot be read").with_findings(&input.name, text, problems))?;
    let (mut ctas, header) = (trace.ctas, trace.header);
    let n_ctas = header.grid.count().unwrap_or(u32::MAX);
    let sms = request.sms.filter(|_| request.shares_trace && request.ctas.is_none());
    let share = request.ctas.or(sms.map(|sms| n_ctas.div_ceil(sms.max(1))));
    ctas.truncate(share.map_or(usize::MAX, |most| most as usize));
    Ok(Native {
        name: KernelName::new(&header.kernel),
        code: trace.code,
        ctas,
        threads: header.block.count().unwrap_or(1),
        registers: header.registers,
        shared_bytes: header.shared_bytes.into(),
        text: None,
        sms: sms.map(|sms| sms.min(n_ctas)).or(request.sms),
    })
}
