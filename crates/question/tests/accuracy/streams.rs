//! The streaming kernels again, with what is measured at full occupancy given: how occupancy, CTA turnaround and latency
//! are predicted by the timing simulation and by the closed forms.
//!
//! All CTAs of these kernels do the same at other addresses. So the traces of a few stand for those that an SM gets, moved
//! to their places.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use warplens_machine::Key;
use warplens_session::machines::{self, Machine};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Extent, Measurement, Program, Progress, measure};
use warplens_sim::traces::{Traced, Traces};
use warplens_stats::TracedCta;
use warplens_trace::{CtaId, CtaTrace};

use warplens_question::measured::stream::{GPUS, KERNELS, Kernel, N, RESIDENT, launch};

use crate::{errors, file, hold, mean, measured, worst};

/// `teg` first.
const MODELS: &[&str] = &["teg", "analyzer", "x-model", "roofline"];
/// CTAs that are simulated.
const SIMULATED: u32 = 32;
/// The CTA that stands for all: the first and the last leave out elements.
const INNER: u32 = 1;
/// Warps of a CTA at full occupancy.
const FULL: u32 = 32;
/// Mean of the absolute errors of the timing simulation that is allowed on a GPU.
const TOLERANCE: f64 = 0.15;

/// A launch as it is recorded when the CTAs of an SM are executed.
fn recorded(program: &Program, kernel: &Kernel, threads: u64, machine: &Machine, shared: u64) -> Measurement {
    let mut options = ExecutionOptions::new();
    options.extent = Extent::Ctas(INNER..INNER + RESIDENT);
    options.traced_for = vec![machine.clone()];
    let mut launch = launch(kernel, threads);
    launch.shared = Some(shared);
    let measurements = measure(program, &[launch], options, Counting::Ptx, &Search::default(), &Progress::default());
    let mut measurement = measurements.expect("the kernel runs").remove(0);
    let Traces::Made(traced) = &measurement.traces else { panic!("it was asked for") };
    let inner = traced.ctas.iter().find(|cta| cta.id() == CtaId(INNER)).expect("it was executed");
    let (inner, left_out) = (inner.trace(), inner.left_out().to_vec());
    let n_sms = machine.number(Key::SmCount).expect("stated") as u32;
    let place = |turn: u32| {
        let id = turn * n_sms;
        let bytes = 8 * threads.cast_signed() * (i64::from(id) - i64::from(INNER));
        let warps = inner.warps.iter();
        let warps = warps.map(|warp| warp.moved(warplens_isa::StateSpace::Global, bytes)).collect();
        TracedCta::new(&CtaTrace { id: CtaId(id), warps }, left_out.clone())
    };
    let ctas: Vec<TracedCta> = (0..SIMULATED).map(place).collect();
    let mut traced = Traced { ctas, ..Traced::clone(traced) };
    let of_board = traced.boards.get_mut(machine.board()).expect("it was traced for it");
    of_board.sms = vec![traced.ctas.iter().map(TracedCta::id).collect()];
    measurement.traces = Traces::Made(Arc::new(traced));
    measurement
}

#[test]
fn streaming_kernels_with_full_occupancy_given() {
    let text = std::fs::read_to_string(file("validation/stream/sm_80.ptx")).unwrap();
    let program = Program::from_ptx("stream", text).unwrap();
    let measured = measured();
    let mut means = String::from("| GPU | kernel |");
    MODELS.iter().for_each(|model| write!(means, " {model} mean | worst |").unwrap());
    means.push_str("\n|---|---|");
    MODELS.iter().for_each(|_| means.push_str("---:|---:|"));
    let mut each = String::new();
    for &(id, name, shared) in GPUS {
        let mut of_gpu: Vec<Vec<f64>> = vec![Vec::new(); MODELS.len()];
        let mut rows: BTreeMap<u32, String> = BTreeMap::new();
        for kernel in KERNELS {
            let of_row = |warps: u32| measured[&(name.to_owned(), kernel.measured.to_owned(), RESIDENT * warps)];
            let mut machine = machines::one(id).unwrap();
            machine.suppose(Key::DramAchievedBandwidth, of_row(FULL), "measured at full occupancy").unwrap();
            let mut of_kernel: Vec<Vec<f64>> = vec![Vec::new(); MODELS.len()];
            for warps in 1..FULL {
                let seconds = 8.0 * N as f64 * kernel.moved / of_row(warps);
                let measurement = recorded(&program, kernel, u64::from(32 * warps), &machine, shared);
                let errors = errors(&measurement, &machine, MODELS, seconds);
                write!(rows.entry(warps).or_default(), " {:.0} |", 100.0 * errors[0]).unwrap();
                of_kernel.iter_mut().zip(errors).for_each(|(all, error)| all.push(error));
            }
            write!(means, "\n| {id} | {} |", kernel.name).unwrap();
            for (of_gpu, errors) in of_gpu.iter_mut().zip(&of_kernel) {
                write!(means, " {:.1} | {:.1} |", 100.0 * mean(errors), 100.0 * worst(errors)).unwrap();
                of_gpu.extend(errors);
            }
        }
        write!(means, "\n| {id} | all |").unwrap();
        for errors in &of_gpu {
            write!(means, " {:.1} | {:.1} |", 100.0 * mean(errors), 100.0 * worst(errors)).unwrap();
        }
        assert!(mean(&of_gpu[0]) <= TOLERANCE, "{id}: {}", mean(&of_gpu[0]));
        write!(each, "\nErrors of `teg` on {id} by resident warps, in percent.\n\n| warps |").unwrap();
        KERNELS.iter().for_each(|kernel| write!(each, " {} |", kernel.name).unwrap());
        each.push_str("\n|---:|");
        KERNELS.iter().for_each(|_| each.push_str("---:|"));
        rows.iter().for_each(|(warps, row)| write!(each, "\n| {} |{row}", RESIDENT * warps).unwrap());
        each.push('\n');
    }
    hold("full occupancy given", &format!("{means}\n{each}"));
}
