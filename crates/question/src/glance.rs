//! A prediction at a glance: how long, what bounds it, which line is to blame, and how much of the GPU is used.
//!
//! Every number is of the prediction that speaks for the GPU. What bounds is the largest of the [`Slice`]s, and the line
//! is the one with most of what bounds, so that no two of them can disagree.

use warplens_base::units::Seconds;
use warplens_machine::{Key, Machine, Reader};
use warplens_model::{Combine, ModelId, Options, Prediction, Resource, Symbol, Term};
use warplens_sim::Stall;

use crate::waits;
pub use crate::waits::WaitLine;
use warplens_session::predict::{Analysis, GpuAnalysis, Range};
use warplens_session::profile::{Count, Family, InstKey, Profile, ScalarType};
use warplens_session::{CodeForm, CountedCode};
use warplens_stats::sector::BYTES as SECTOR;

/// One GPU at a glance.
#[derive(Clone, PartialEq, Debug)]
pub struct Glance {
    /// Identifier of the GPU.
    pub gpu: String,
    /// The model that speaks for it.
    pub model: ModelId,
    /// What was executed and simulated, where that is not the PTX of the input or what CUDA C++ was compiled to.
    pub code: Option<CountedCode>,
    /// Predicted time.
    pub time: Seconds,
    /// Where the time lies by what was validated, if enough was.
    pub range: Option<Range>,
    /// Where the cycles go, the largest share first; at least one.
    pub slices: Vec<Slice>,
    /// What bounds the kernel: one of the slices, or those of one resource together, which they have as their name then.
    pub bound: Slice,
    /// How they make the time.
    pub combine: Combine,
    /// The line with most of what bounds the kernel, where warps were followed.
    pub line: Option<WaitLine>,
    /// Warps on an SM; none where a limit of the GPU is not known.
    pub warps: Option<Warps>,
    /// SMs that get work, and all of them.
    pub sms: Option<(u64, u64)>,
    /// Bytes per second between the chip and device memory.
    pub dram: Option<Rate>,
    /// Floating-point operations per second, by the type with the most of them; none where there are none.
    pub flops: Option<(FloatKind, Rate)>,
    /// The busiest of the issue slots and the lanes, with the share of the time in which it is.
    pub busiest: Option<(Resource, f64)>,
}

/// A part of the time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slice {
    /// What happens.
    pub name: &'static str,
    /// The resource that causes it.
    pub resource: Resource,
    /// Share of the time.
    pub share: f64,
}

/// Warps on an SM.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Warps {
    /// Those that were resident on average, where a simulation found that.
    pub achieved: Option<f64>,
    /// Those that fit.
    pub fit: u32,
    /// Warp slots.
    pub slots: f64,
}

impl Warps {
    /// Share of the slots that can be filled: the theoretical occupancy.
    pub fn possible(&self) -> f64 {
        f64::from(self.fit) / self.slots
    }

    /// Share of the slots: achieved, or else possible.
    pub fn share(&self) -> f64 {
        self.achieved.map_or(self.possible(), |achieved| achieved / self.slots)
    }
}

/// A throughput, and the most that the GPU has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
    /// Per second.
    pub per_second: f64,
    /// The same at the peak, where it is known.
    pub peak: Option<f64>,
}

impl Rate {
    /// Share of the peak.
    pub fn share(&self) -> Option<f64> {
        self.peak.filter(|peak| *peak > 0.0).map(|peak| self.per_second / peak)
    }
}

/// A kind of floating-point arithmetic with a peak of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatKind {
    /// Half precision.
    Fp16,
    /// Single precision.
    Fp32,
    /// Double precision.
    Fp64,
    /// Matrix products.
    Tensor,
}

impl FloatKind {
    const ALL: [Self; 4] = [Self::Fp32, Self::Fp64, Self::Fp16, Self::Tensor];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Fp32 => "fp32",
            Self::Fp64 => "fp64",
            Self::Tensor => "tensor",
        }
    }

    /// Multiply-adds per cycle of an SM.
    const fn lanes(self) -> Key {
        match self {
            Self::Fp16 => Key::LanesFp16,
            Self::Fp32 => Key::LanesFp32,
            Self::Fp64 => Key::LanesFp64,
            Self::Tensor => Key::LanesTensorFma,
        }
    }
}

impl Slice {
    /// What happens, in one or two words.
    pub fn short_name(&self) -> &'static str {
        let name = self.name.strip_prefix("waiting for ").or_else(|| self.name.strip_prefix("waiting at "));
        name.unwrap_or(self.name)
    }

    /// What happens, with the resource where that says more.
    pub fn full_name(&self) -> String {
        match self.name == self.resource.name() {
            true => self.name.to_owned(),
            false => format!("{} ({})", self.name, self.resource.name()),
        }
    }
}

impl Glance {
    /// Where a line is, in words: in the program where that is known, else in the input that was counted.
    pub fn place(&self, line: &WaitLine) -> String {
        match (&line.source, &self.code) {
            (Some((file, number)), _) => format!("{file}:{number}"),
            (None, Some(code)) if code.form == CodeForm::Machine => code.form.place(None, line.input_line),
            (None, _) => format!("line {}", line.input_line),
        }
    }
}

/// The GPUs of an analysis that have an answer.
pub fn glances(analysis: &Analysis, options: Options) -> Vec<Glance> {
    analysis.gpus.iter().filter_map(|gpu| glance(analysis, gpu, options)).collect()
}

/// One GPU at a glance; none where no model answers.
pub fn glance(analysis: &Analysis, gpu: &GpuAnalysis, options: Options) -> Option<Glance> {
    let prediction = gpu.prediction()?;
    let own = analysis.measurement.on(&gpu.machine).ok()?;
    let profile = &own.profile;
    let time = prediction.seconds();
    let mut reader = Reader::new(&gpu.machine, options.strictness);
    let mut peak = |key: Key| reader.need(key).ok();
    let dram = dram_bytes(prediction, profile).filter(|_| time.0 > 0.0).map(|bytes| Rate {
        per_second: bytes / time.0,
        peak: peak(Key::DramPeakBandwidth).or_else(|| peak(Key::DramAchievedBandwidth)),
    });
    let flops = flops(profile).filter(|_| time.0 > 0.0).map(|(kind, operations)| {
        let peak = peak(kind.lanes()).zip(peak(Key::SmCount)).zip(gpu.machine.clock());
        let peak = peak.map(|((lanes, sms), clock)| 2.0 * lanes * sms * clock).filter(|peak| *peak > 0.0);
        (kind, Rate { per_second: operations / time.0, peak })
    });
    Some(Glance {
        gpu: gpu.machine.id.clone(),
        model: prediction.model,
        code: own.code.clone().filter(|code| !code.is_plain()),
        time,
        range: gpu.range.clone(),
        slices: slices(prediction),
        bound: bound(prediction),
        combine: prediction.combine,
        line: line(prediction),
        warps: warps(gpu, prediction),
        sms: sms(&gpu.machine, prediction, profile),
        dram,
        flops,
        busiest: gpu.used().map(|shares| (shares.compute_resource, shares.compute)),
    })
}

fn slice(prediction: &Prediction, term: &Term) -> Slice {
    let whole = prediction.time.0;
    let share = if whole > 0.0 { term.cycles.0 / whole } else { 0.0 };
    Slice { name: term.name, resource: term.resource, share }
}

/// What bounds the kernel: a term, or the terms of one resource together under its name.
pub(crate) fn bound(prediction: &Prediction) -> Slice {
    let terms = prediction.limiting_terms();
    let largest = slice(prediction, terms[0]);
    if terms.len() == 1 {
        return largest;
    }
    let share = terms.into_iter().map(|term| slice(prediction, term).share).sum();
    Slice { name: largest.resource.name(), share, ..largest }
}

/// The terms as shares of the time, the largest first; of equals the first term.
fn slices(prediction: &Prediction) -> Vec<Slice> {
    let mut slices: Vec<Slice> = prediction.terms.iter().map(|term| slice(prediction, term)).collect();
    slices.sort_by(|left, right| right.share.total_cmp(&left.share));
    slices
}

/// The line with most of what bounds the kernel.
fn line(prediction: &Prediction) -> Option<WaitLine> {
    let simulated = prediction.teg()?;
    let mut terms = prediction.limiting_terms();
    // No line of a kernel is to blame for its being launched: what takes most of the rest is next.
    if terms.iter().any(|term| term.resource == Resource::Launch) {
        let others = prediction.terms.iter().filter(|term| term.resource != Resource::Launch);
        terms = others.max_by(|left, right| left.cycles.0.total_cmp(&right.cycles.0)).into_iter().collect();
    }
    let named = |state: &Stall| terms.iter().any(|term| term.parts.iter().any(|part| part.name == state.name()));
    let mut states: Vec<Stall> = Stall::ALL.iter().copied().filter(named).collect();
    if states.is_empty() {
        // Where nothing is waited for, instructions are issued.
        states.push(Stall::Selected);
    }
    let waits = waits::of(&simulated.code, &simulated.outcome);
    waits::largest(&simulated.code, &waits, &states)
}

fn warps(gpu: &GpuAnalysis, prediction: &Prediction) -> Option<Warps> {
    let occupancy = gpu.occupancy.as_ref().filter(|occupancy| occupancy.share > 0.0)?;
    Some(Warps {
        achieved: prediction.teg().map(|simulated| simulated.outcome.achieved_warps()),
        fit: occupancy.warps,
        slots: f64::from(occupancy.warps) / occupancy.share,
    })
}

fn sms(machine: &Machine, prediction: &Prediction, profile: &Profile) -> Option<(u64, u64)> {
    let all = machine.number(Key::SmCount)? as u64;
    let simulated = prediction.teg().map(|simulated| u64::from(simulated.share.active_sms));
    Some((simulated.unwrap_or_else(|| profile.launch.n_ctas().min(all)), all))
}

/// Bytes that device memory moves: as simulated, or else each sector once.
fn dram_bytes(prediction: &Prediction, profile: &Profile) -> Option<f64> {
    let sectors = profile.distinct_sectors_read + profile.distinct_sectors_written;
    let distinct = profile.has(Count::DistinctSectors).then_some((SECTOR * sectors) as f64);
    prediction.quantity(Symbol::DramBytes).or(distinct)
}

/// Floating-point operations of all active lanes, of the kind with the most: additions and multiplications count as one
/// and multiply-adds as two, as Nsight Compute counts them; other operations are what their instructions are made of.
fn flops(profile: &Profile) -> Option<(FloatKind, f64)> {
    let lanes = profile.mean_active_lanes();
    let of = |kind: FloatKind| -> f64 {
        let counted = profile.instructions.by_opcode.iter();
        let each = counted.filter_map(|counted| {
            let (found, per_warp) = operations(&counted.opcode.key, lanes)?;
            (found == kind).then_some(per_warp * counted.count as f64)
        });
        each.sum()
    };
    let all = FloatKind::ALL.map(|kind| (kind, of(kind)));
    let largest = all.into_iter().reduce(|largest, other| if other.1 > largest.1 { other } else { largest })?;
    (largest.1 > 0.0).then_some(largest)
}

/// Operations of one warp instruction.
fn operations(key: &InstKey, lanes: f64) -> Option<(FloatKind, f64)> {
    if let Some(work) = key.tensor_work() {
        return Some((FloatKind::Tensor, 2.0 * f64::from(work.multiply_adds)));
    }
    let per_element = match key.family {
        Family::Add | Family::Sub | Family::Mul => 1.0,
        Family::Fma | Family::Mad => 2.0,
        _ => return None,
    };
    let ty = key.ty().filter(|ty| ty.is_float())?;
    let elements = if ty.is_packed() { 2.0 } else { 1.0 };
    Some((kind_of(ty), per_element * elements * lanes))
}

fn kind_of(ty: ScalarType) -> FloatKind {
    match if ty.is_packed() { ty.bits() / 2 } else { ty.bits() } {
        64 => FloatKind::Fp64,
        32 => FloatKind::Fp32,
        _ => FloatKind::Fp16,
    }
}
