//! What is measured to fit the closed models: parameters that mean something in the equations of one model alone, by the
//! micro-benchmarks of its paper.
//!
//! Of the launches of a group every other one is held out. The values are fitted to the rest, and what they are worth is how
//! far off the model is for those that were held out. What an empty kernel takes is taken off every time before, as no closed
//! model knows of a launch.

mod fit;
mod points;

use warplens_model::ModelId;
use warplens_session::machines::Key;

use super::steps::{Point, Shape, far_loads};

pub(super) use fit::{Case, group as fit, launch_us};

/// Parameters that are fitted together, and the launches by which they are.
#[derive(Debug)]
pub struct Group {
    /// Its name, in tables of measured times.
    pub name: &'static str,
    /// The model whose parameters they are.
    pub model: ModelId,
    /// The parameters.
    pub keys: &'static [Key],
    /// What the launches do, as a clause.
    pub what: &'static str,
    /// How values come out of times.
    pub how: How,
    /// Whether the launches tell the parameters of the GPU.
    pub applies: fn(&Shape) -> bool,
    /// The launches.
    pub points: fn(&Shape) -> Vec<Point>,
}

/// How values come out of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Those with which the model comes nearest to the times.
    Nearest,
    /// The difference of two kernels of which one has one instruction more, over how often it does.
    Difference,
}

// A group is told by its name: no two have the same.
impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Group {
    /// The group of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        GROUPS.iter().find(|group| group.name == name)
    }

    /// The parameters of which the launches are, for messages.
    pub fn of_keys(&self) -> String {
        let names: Vec<&str> = self.keys.iter().map(|key| key.name()).collect();
        names.join(", ")
    }
}

const fn has_no_l2(shape: &Shape) -> bool {
    shape.l2_bytes == 0
}

const fn has_l2(shape: &Shape) -> bool {
    shape.l2_bytes > 0
}

const fn always(_: &Shape) -> bool {
    true
}

/// Every group, in the order in which they are fitted: a group reads those before it. That of the transaction-based model is
/// the thesis's: the clock, by a kernel without loads, and then each size of transactions alone; the latency is assumed.
pub const GROUPS: &[Group] = &[
    Group {
        name: "analyzer.clock",
        model: ModelId::Analyzer,
        keys: &[Key::AnalyzerClock],
        what: "multiply-adds without loads",
        how: How::Nearest,
        applies: has_no_l2,
        points: points::no_loads,
    },
    Group {
        name: "analyzer.32",
        model: ModelId::Analyzer,
        keys: &[Key::DramDepartureDelay32],
        what: "loads of 32-byte transactions that no two warps share",
        how: How::Nearest,
        applies: always,
        points: points::loads_of_32,
    },
    Group {
        name: "analyzer.64",
        model: ModelId::Analyzer,
        keys: &[Key::DramDepartureDelay64],
        what: "the same of 64-byte transactions",
        how: How::Nearest,
        applies: has_no_l2,
        points: points::loads_of_64,
    },
    Group {
        name: "analyzer.128",
        model: ModelId::Analyzer,
        keys: &[Key::DramDepartureDelay128],
        what: "the same of 128-byte transactions",
        how: How::Nearest,
        applies: has_no_l2,
        points: points::loads_of_128,
    },
    Group {
        name: "analyzer.vector",
        model: ModelId::Analyzer,
        keys: &[Key::DramDepartureDelayVector],
        what: "loads of vectors of four words",
        how: How::Nearest,
        applies: has_no_l2,
        points: points::loads_of_vectors,
    },
    Group {
        name: "hong-kim.latency",
        model: ModelId::HongKim,
        keys: &[Key::DramLatency, Key::HongKimDepartureDelayUncoalesced, Key::HongKimDepartureDelayCoalesced],
        what: "loops with up to six loads a round, coalesced and not",
        how: How::Nearest,
        applies: has_no_l2,
        points: points::mb,
    },
    Group {
        name: "hong-kim",
        model: ModelId::HongKim,
        keys: &[Key::HongKimDepartureDelayUncoalesced, Key::HongKimDepartureDelayCoalesced],
        what: "loops with up to six loads a round, coalesced and not",
        how: How::Nearest,
        applies: has_l2,
        points: points::mb,
    },
    Group {
        name: "luo-suda.costs",
        model: ModelId::LuoSuda,
        keys: COSTS,
        what: "chains of one warp that differ by one instruction",
        how: How::Difference,
        applies: always,
        points: points::costs,
    },
    Group {
        name: "luo-suda.memory",
        model: ModelId::LuoSuda,
        keys: &[Key::LuoSudaMemory],
        what: "a chain of loads by one warp, none of them from a line that was loaded before",
        how: How::Difference,
        applies: always,
        points: far_loads,
    },
    Group {
        name: "luo-suda.cpd",
        model: ModelId::LuoSuda,
        keys: &[Key::LuoSudaA, Key::LuoSudaB, Key::LuoSudaC, Key::LuoSudaD],
        what: "4 to 1024 additions to a load, over the warps of an SM",
        how: How::Nearest,
        applies: always,
        points: points::cpd,
    },
];

/// What table 1 of Luo and Suda prices.
const COSTS: &[Key] = &[
    Key::LuoSudaAddIntConst,
    Key::LuoSudaAddIntReg,
    Key::LuoSudaAddFloatConst,
    Key::LuoSudaAddFloatReg,
    Key::LuoSudaMulIntConst,
    Key::LuoSudaMulIntReg,
    Key::LuoSudaMulFloatConst,
    Key::LuoSudaMulFloatReg,
    Key::LuoSudaDivIntConst,
    Key::LuoSudaDivIntReg,
    Key::LuoSudaDivFloatConst,
    Key::LuoSudaDivFloatReg,
    Key::LuoSudaNegInt,
    Key::LuoSudaNegFloat,
    Key::LuoSudaMinMax,
    Key::LuoSudaAnd,
    Key::LuoSudaOr,
    Key::LuoSudaNot,
];

/// Kernels that have the instruction which a parameter prices, each with the one that lacks it.
pub(super) fn pairs(key: Key) -> &'static [(&'static str, &'static str)] {
    const INT: &str = "without_int";
    const FLOAT: &str = "without_float";
    match key {
        Key::LuoSudaAddIntConst => &[("add_int_constant", INT), ("sub_int_constant", INT)],
        Key::LuoSudaAddIntReg => &[("add_int_register", INT), ("sub_int_register", INT)],
        Key::LuoSudaAddFloatConst => &[("add_float_constant", FLOAT), ("sub_float_constant", FLOAT)],
        Key::LuoSudaAddFloatReg => &[("add_float_register", FLOAT), ("sub_float_register", FLOAT)],
        Key::LuoSudaMulIntConst => &[("mul_int_constant", INT)],
        Key::LuoSudaMulIntReg => &[("mul_int_register", INT)],
        Key::LuoSudaMulFloatConst => &[("mul_float_constant", FLOAT)],
        Key::LuoSudaMulFloatReg => &[("mul_float_register", FLOAT)],
        Key::LuoSudaDivIntConst => &[("div_int_constant", INT)],
        Key::LuoSudaDivIntReg => &[("div_int_register", INT)],
        Key::LuoSudaDivFloatConst => &[("div_float_constant", FLOAT)],
        Key::LuoSudaDivFloatReg => &[("div_float_register", FLOAT)],
        Key::LuoSudaNegInt => &[("neg_int", INT)],
        Key::LuoSudaNegFloat => &[("neg_float", FLOAT)],
        Key::LuoSudaMinMax => &[
            ("min_int_constant", INT),
            ("min_int_register", INT),
            ("max_int_constant", INT),
            ("max_int_register", INT),
            ("min_float_constant", FLOAT),
            ("min_float_register", FLOAT),
            ("max_float_constant", FLOAT),
            ("max_float_register", FLOAT),
        ],
        Key::LuoSudaAnd => &[("and_int_constant", INT), ("and_int_register", INT)],
        Key::LuoSudaOr => {
            &[("or_int_constant", INT), ("or_int_register", INT), ("xor_int_constant", INT), ("xor_int_register", INT)]
        }
        Key::LuoSudaNot => &[("not_int", INT)],
        _ => &[],
    }
}
