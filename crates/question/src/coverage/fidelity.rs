//! How faithful the emulator is to a GPU in what an instruction computes.

use warplens_ir::{Inst, Module};
use warplens_isa::{Effect, Op, OpClass, Operation, Precision};

/// What is promised about the results of an instruction, the most exact first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fidelity {
    /// Every bit.
    Exact,
    /// Every bit on each generation whose tensor cores are known, and they differ.
    Generation,
    /// The error bound that the instruction set states; a GPU's bits may be others.
    Bound,
    /// As on a GPU the result depends on the order of threads, which is fixed here.
    Order,
}

impl Fidelity {
    pub(super) const ALL: [Self; 4] = [Self::Exact, Self::Generation, Self::Bound, Self::Order];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Generation => "by generation",
            Self::Bound => "within bound",
            Self::Order => "by order",
        }
    }

    /// What the name means, for the page.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Exact => {
                "the results are those that the instruction set defines, bit by bit; each operation is held against a second interpreter that was written from the manual, over all forms and types (`crates/reference/tests/forms.rs`), and kernels of nvcc against results computed apart (`crates/exec/tests/data`)"
            }
            Self::Generation => {
                "products of matrices round as the tensor cores of the target's generation do, where that was measured (`crates/exec/src/semantics/tensor`), tested by vectors from hardware and from models of it, and bit by bit against an H200 in every type and shape, with sparse factors too (`validation/hardware`)"
            }
            Self::Bound => {
                "the instruction set bounds the error and leaves the bits open; ours keep the bound (`crates/exec/tests/semantics`), a GPU's last bits may differ; what textures give is bit by bit that of an H200 (`validation/hardware`), but for linear filters of `s8`, which there now and then give one 32767th less"
            }
            Self::Order => {
                "sums of floats depend on the order in which threads come, on a GPU from run to run; here the order is fixed, so that the result is one that a GPU may give"
            }
        }
    }

    fn of(inst: &Inst) -> Self {
        let of_precision = |precision| match precision {
            Precision::Ieee => Self::Exact,
            Precision::Approx | Precision::Full => Self::Bound,
        };
        match &inst.operation {
            Operation::Div(accuracy) | Operation::Rcp(accuracy) | Operation::Sqrt(accuracy) if inst.ty.is_float() => {
                of_precision(accuracy.precision)
            }
            _ => match (inst.op().class(inst.ty), inst.op().effect()) {
                (OpClass::Sfu, _) => Self::Bound,
                (OpClass::Tensor, _) if matches!(inst.op(), Op::Mma | Op::MmaAsync) => Self::Generation,
                // The instruction set says nothing about how a linear filter rounds.
                _ if matches!(inst.op(), Op::Tex | Op::Tld4) => Self::Bound,
                (_, Effect::Atomic) if inst.ty.is_float() => Self::Order,
                _ => Self::Exact,
            },
        }
    }

    /// The least exact of the instructions of a module.
    pub(super) fn of_module(module: &Module) -> Self {
        super::instructions(module).map(Self::of).max().unwrap_or(Self::Exact)
    }
}
