//! Machine code that others wrote down, simulated as it is: listings of the GT200 era, and traces in Accel-Sim's format.
//!
//! Nothing is compiled and nothing is emulated. What is simulated is one SM with the CTAs that it is given.

use warplens_base::units::Seconds;
use warplens_machine::{Machine, Reader, Strictness};
use warplens_model::residency::fitting_ctas;
use warplens_native::{read_listing_with, read_sass_trace};
use warplens_sim::{Job, Options, SmConfig, Surroundings, simulate as run};
use warplens_trace::{Code, CtaId, CtaTrace};

use crate::timing::{Annotated, annotate};
use warplens_base::error::{Error, Result};
use warplens_launch::KernelName;
use warplens_session::Input;

/// CTAs of a listing that one SM may get.
const MAX_CTAS: u32 = 4096;

/// What is asked.
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
}

/// Machine code with what its warps executed.
struct Native {
    name: String,
    code: Code,
    ctas: Vec<CtaTrace>,
    threads: u32,
    registers: u32,
    shared_bytes: u64,
}

/// Simulates a listing or a trace on one SM of a GPU.
pub fn simulate(input: &Input, request: &Request, machine: &Machine) -> Result<Annotated> {
    let text = input.text();
    let is_trace = text.lines().any(|line| line.starts_with("#BEGIN_TB"));
    let native = if is_trace { of_trace(input, &text, request) } else { of_listing(input, &text, request) }?;
    let mut reader = Reader::new(machine, Strictness::AllowInferred);
    let config = SmConfig::read(&mut reader, &native.code.timed_classes())
        .map_err(|missing| Error::input(missing.to_string()))?;
    let resident = match request.resident {
        Some(resident) => resident,
        None => fitting_ctas(native.threads.into(), native.registers, native.shared_bytes, &mut reader)
            .map_err(|refusal| Error::input(refusal.to_string()))? as u32,
    };
    let active_sms = request.sms.unwrap_or(config.n_sms).clamp(1, config.n_sms);
    let clusters = (config.n_sms / config.sms_per_cluster.max(1)).max(1);
    let surroundings =
        Surroundings { active_sms, active_in_cluster: active_sms.div_ceil(clusters), ..Surroundings::ALONE };
    let job = Job { code: &native.code, ctas: &native.ctas, resident: resident.max(1), surroundings, footprint: None };
    let outcome = run(&config, &job, Options::default());
    // Lines of a trace are executions; what is shown are its instructions.
    let shown = (!is_trace).then_some(text.as_str());
    Ok(Annotated {
        kernel: KernelName::new(&native.name),
        gpu: machine.id.clone(),
        time: Seconds(outcome.cycles as f64 / config.clock),
        annotation: annotate::by_input(&input.name, shown, &native.code, &outcome),
        outcome,
    })
}

fn of_listing(input: &Input, text: &str, request: &Request) -> Result<Native> {
    let wrong = |problems| Error::input("the listing cannot be read").with_findings(&input.name, text, problems);
    let Some(threads) = request.threads else {
        return Err(Error::usage("how many threads a CTA has is not said in a listing").with_help("add `--threads N`"));
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
    Ok(Native { name: name.into_owned(), code: listing.code, ctas, threads, registers, shared_bytes: 0 })
}

fn of_trace(input: &Input, text: &str, request: &Request) -> Result<Native> {
    if request.threads.is_some() || !request.values.is_empty() {
        return Err(Error::usage("a trace has its own threads, and no names that could be set"));
    }
    let trace = read_sass_trace(text)
        .map_err(|problems| Error::input("the trace cannot be read").with_findings(&input.name, text, problems))?;
    let mut ctas = trace.ctas;
    ctas.truncate(request.ctas.map_or(usize::MAX, |most| most as usize));
    let header = trace.header;
    Ok(Native {
        name: header.kernel,
        code: trace.code,
        ctas,
        threads: header.block.count().unwrap_or(1),
        registers: header.registers,
        shared_bytes: header.shared_bytes.into(),
    })
}
