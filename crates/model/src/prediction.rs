//! What a model answers: a time that is made of terms, or a refusal that names what is missing.

use warplens_base::units::{Cycles, Hertz, Seconds};
use warplens_machine::{Key, Missing, ParameterRead};
use warplens_sim::Pipe;
use warplens_stats::Coverage;

use crate::luo_suda::walk::Walk;
use crate::teg::Simulated;
use crate::x_model::Solved;
use crate::{Assumption, ModelId, Quantity, Symbol};

/// The answer of a model for one kernel, launch and machine.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Prediction {
    /// The model.
    pub model: ModelId,
    /// Execution time of the launch, as profilers measure it: without what the host and the driver do for it.
    pub time: Cycles,
    /// The clock whose cycles these are.
    pub clock: Hertz,
    /// What the time is made of, the model's order; at least one.
    pub terms: Vec<Term>,
    /// How the terms make the time.
    pub combine: Combine,
    /// The model's quantities by the names of its paper, in the order in which they are computed.
    pub quantities: Vec<Quantity>,
    /// What must hold for the prediction to mean anything.
    pub assumptions: Vec<Assumption>,
    /// Machine parameters that were read, in the order of their first reading.
    pub parameters: Vec<ParameterRead>,
    /// Which CTAs the counts come from; none where the numbers were given.
    pub coverage: Option<Coverage>,
    /// What only this model answers, if there is such a thing.
    pub detail: Option<Detail>,
}

/// What one model alone answers.
#[derive(Clone, PartialEq, Debug)]
pub enum Detail {
    /// The X-model: the machine's state.
    XModel(Box<Solved>),
    /// The MPD/CPD model: the calculate periods of one wave.
    LuoSuda(Box<Walk>),
    /// The timing simulation: the simulated launch.
    Teg(Box<Simulated>),
}

impl Prediction {
    /// Refuses numbers that are not finite or negative. Every model passes its answer through here.
    pub(crate) fn checked(self) -> Result<Self, Refusal> {
        let numbers = [("time", self.time.0), ("clock", self.clock.0)].into_iter();
        let terms = self.terms.iter().flat_map(|term| {
            let parts = term.parts.iter().map(|part| (part.name.as_str(), part.cycles.0));
            std::iter::once((term.name, term.cycles.0)).chain(parts)
        });
        let is_bad = |number: f64| !number.is_finite() || number < 0.0;
        let bad =
            numbers.chain(terms).find(|&(_, number)| is_bad(number)).map(|(name, number)| (name.to_owned(), number));
        let bad = bad.or_else(|| {
            let quantity = self.quantities.iter().find(|quantity| is_bad(quantity.value))?;
            Some((quantity.symbol.to_string(), quantity.value))
        });
        if let Some((name, number)) = bad {
            return Err(Refusal::impossible(format!("{name} comes out as {number}")));
        }
        assert!(!self.terms.is_empty(), "a prediction has terms");
        debug_assert!(
            self.combine.apply(&self.terms).is_none_or(|total| (total.0 - self.time.0).abs() <= 1e-9 * total.0.abs()),
            "the terms of {} make {:?}, not {:?}",
            self.model,
            self.combine.apply(&self.terms),
            self.time
        );
        Ok(self)
    }

    /// The time in seconds.
    pub fn seconds(&self) -> Seconds {
        self.time.at(self.clock)
    }

    /// By which share of a measured time the prediction is off: positive where it is longer. None for a time of 0.
    pub fn error(&self, measured: Seconds) -> Option<f64> {
        (measured.0 > 0.0).then(|| self.seconds().0 / measured.0 - 1.0)
    }

    /// The machine's state, where the X-model answers.
    pub fn x_model(&self) -> Option<&Solved> {
        match self.detail.as_ref()? {
            Detail::XModel(solved) => Some(solved),
            Detail::LuoSuda(_) | Detail::Teg(_) => None,
        }
    }

    /// The calculate periods of one wave, where the MPD/CPD model answers.
    pub fn luo_suda(&self) -> Option<&Walk> {
        match self.detail.as_ref()? {
            Detail::LuoSuda(walk) => Some(walk),
            Detail::XModel(_) | Detail::Teg(_) => None,
        }
    }

    /// The simulated launch, where the timing simulation answers.
    pub fn teg(&self) -> Option<&Simulated> {
        match self.detail.as_ref()? {
            Detail::Teg(simulated) => Some(simulated),
            Detail::XModel(_) | Detail::LuoSuda(_) => None,
        }
    }

    /// The largest term.
    pub fn largest_term(&self) -> &Term {
        let mut terms = self.terms.iter();
        let first = terms.next().expect("a prediction has terms");
        terms.fold(first, |largest, term| if term.cycles > largest.cycles { term } else { largest })
    }

    /// The resource that bounds the kernel: that of the largest term or, where terms add up, the one whose terms make most
    /// of the time together.
    pub fn limiter(&self) -> Resource {
        let largest = self.largest_term().resource;
        if !matches!(self.combine, Combine::Sum) {
            return largest;
        }
        let of = |resource: Resource| -> f64 {
            self.terms.iter().filter(|term| term.resource == resource).map(|term| term.cycles.0).sum()
        };
        let resources = self.terms.iter().map(|term| term.resource);
        resources.fold(largest, |most, other| if of(other) > of(most) { other } else { most })
    }

    /// The terms of the resource that bounds the kernel, the largest first: those that make the time together with it, or
    /// the one that is the time.
    pub fn limiting_terms(&self) -> Vec<&Term> {
        let limiter = self.limiter();
        if !matches!(self.combine, Combine::Sum) {
            return vec![self.largest_term()];
        }
        let mut terms: Vec<&Term> = self.terms.iter().filter(|term| term.resource == limiter).collect();
        terms.sort_by(|left, right| right.cycles.0.total_cmp(&left.cycles.0));
        terms
    }

    /// A quantity, if the model has it.
    pub fn quantity(&self, symbol: Symbol) -> Option<f64> {
        self.quantities.iter().find(|quantity| quantity.symbol == symbol).map(|quantity| quantity.value)
    }

    /// The quantity that a user calls `name`.
    pub fn quantity_called(&self, name: &str) -> Option<f64> {
        self.quantities.iter().find(|quantity| quantity.symbol.to_string() == name).map(|quantity| quantity.value)
    }
}

/// How terms make a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// The largest term is the time.
    Max,
    /// The terms add up to the time.
    Sum,
    /// The terms overlap in part: the time lies between the largest and the sum.
    Overlapped,
}

impl Combine {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "max",
            Self::Sum => "sum",
            Self::Overlapped => "overlapped",
        }
    }

    /// The time that the terms make, where it follows from them alone.
    pub fn apply(self, terms: &[Term]) -> Option<Cycles> {
        let cycles = terms.iter().map(|term| term.cycles.0);
        match self {
            Self::Max => Some(Cycles(cycles.fold(0.0, f64::max))),
            Self::Sum => Some(Cycles(cycles.sum())),
            Self::Overlapped => None,
        }
    }
}

/// One part of a predicted time.
#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    /// What happens in these cycles.
    pub name: &'static str,
    /// The resource that causes them.
    pub resource: Resource,
    /// Cycles of the launch.
    pub cycles: Cycles,
    /// Machine parameters that the term depends on, of those read.
    pub parameters: Vec<Key>,
    /// What the term consists of, where more is known; the parts add up to the term.
    pub parts: Vec<Part>,
}

/// A part of a term.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// What it is: an instruction class, an operation.
    pub name: String,
    /// Cycles of the launch.
    pub cycles: Cycles,
}

macro_rules! resources {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// What a kernel can be bound by.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Resource {
            $($(#[$meta])* $name,)*
        }

        impl Resource {
            /// Every resource.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

resources! {
    /// Computation as a whole: issue slots and lanes.
    Compute "compute";
    /// Issue slots of the warp schedulers.
    Issue "issue slots";
    /// Single-precision lanes.
    Fp32 "fp32 lanes";
    /// Double-precision lanes.
    Fp64 "fp64 lanes";
    /// Half-precision lanes.
    Fp16 "fp16 lanes";
    /// Integer lanes.
    Int "integer lanes";
    /// Lanes of integer multiplication.
    IntMul "integer multiply lanes";
    /// Special-function lanes.
    Sfu "special-function lanes";
    /// Tensor cores.
    Tensor "tensor cores";
    /// Load and store lanes.
    LoadStore "load/store lanes";
    /// Shared-memory bank conflicts.
    SharedMemory "shared-memory bank conflicts";
    /// Bytes per second of device memory.
    DramBandwidth "DRAM bandwidth";
    /// Distance between memory transactions of one SM.
    MemoryTransactions "memory transactions";
    /// Round trip to device memory that too few warps hide.
    DramLatency "DRAM latency";
    /// Bytes per second between an SM and the L2 cache.
    L2Bandwidth "L2 bandwidth";
    /// Atomic operations on one word, which are done one after the other.
    Atomics "atomics on one word";
    /// Results of the same warp that too few warps hide.
    Dependence "dependence latency";
    /// Waiting at barriers.
    Barrier "barriers";
    /// Start and end of the launch, whatever the kernel does.
    Launch "launch latency";
}

impl Resource {
    /// The resource of a pipe that computes; none of a pipe that only hands on.
    pub(crate) const fn of_pipe(pipe: Pipe) -> Option<Self> {
        match pipe {
            Pipe::Fma => Some(Self::Fp32),
            Pipe::Alu | Pipe::Uniform => Some(Self::Int),
            Pipe::Fp64 => Some(Self::Fp64),
            Pipe::Fp16 => Some(Self::Fp16),
            Pipe::Xu => Some(Self::Sfu),
            Pipe::Tensor => Some(Self::Tensor),
            Pipe::Adu => Some(Self::Compute),
            Pipe::Lsu | Pipe::Cbu => None,
        }
    }
}

/// Why a model gives no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// Names of what is missing: machine parameters (with their unit as a suffix), or inputs.
    pub missing: Vec<String>,
    /// The reason as a clause, without a final period.
    pub reason: String,
}

impl Refusal {
    /// A refusal for another reason than something missing.
    pub(crate) fn impossible(reason: impl Into<String>) -> Self {
        Self { missing: Vec::new(), reason: reason.into() }
    }
}

impl From<Missing> for Refusal {
    fn from(missing: Missing) -> Self {
        Self { missing: vec![missing.key.json_name()], reason: missing.to_string() }
    }
}
