//! What an instruction costs: the paper's table 1, and the nearest row of it for every other kind of instruction.

use std::collections::BTreeMap;

use warplens_isa::{Family, StateSpace};
use warplens_machine::{Key, Reader};
use warplens_stats::{CostKind, NumberKind};

use crate::Refusal;

/// The row of the table that stands for a kind of instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Where the machine holds its cost.
    pub key: Key,
    /// The table has this very kind; else it is the nearest that it has.
    pub exact: bool,
}

/// Groups of rows that the table splits by type and operand.
#[derive(Clone, Copy)]
enum Group {
    Add,
    Mul,
    Div,
    Neg,
    MinMax,
    And,
    Or,
    Not,
    /// A plain instruction of one operand: what `not` costs.
    Plain,
    /// Operands that come as fast as registers: what adding them costs.
    Operand,
    /// A constant as operand.
    Constant,
}

/// The row of a computation instruction.
///
/// Instructions outside the table take the nearest row: multiply-adds that of a multiplication, conversions, moves,
/// branches, barriers, parameter and constant loads, and memory instructions that access nothing that of `not`;
/// comparisons and selections that of `min`; shifts and bit operations that of `or`; remainders and square roots that of
/// a division; the other special functions that of a float multiplication; shared memory, whose operands come as fast as
/// registers on this chip, that of an addition of registers. The table is of 32 bits; other widths take the same row.
pub fn of_computation(kind: &CostKind) -> Row {
    use Family as F;
    let (group, exact) = match kind.family {
        F::Add | F::Sub => (Group::Add, true),
        F::Mul => (Group::Mul, true),
        F::Div => (Group::Div, true),
        F::Neg => (Group::Neg, true),
        F::Min | F::Max => (Group::MinMax, true),
        F::And => (Group::And, true),
        F::Or | F::Xor => (Group::Or, true),
        F::Not => (Group::Not, true),
        F::Mad | F::Fma | F::Madc => (Group::Mul, false),
        F::Addc | F::Subc | F::Sad | F::Dp4a | F::Dp2a => (Group::Add, false),
        F::Abs => (Group::Neg, false),
        F::Mul24 | F::Mad24 | F::Rcp | F::Rsqrt | F::Sin | F::Cos | F::Ex2 | F::Lg2 | F::Tanh => {
            // A 24-bit multiplication is what the float multiplier does.
            return Row { key: by_operand(kind, Key::LuoSudaMulFloatConst, Key::LuoSudaMulFloatReg), exact: false };
        }
        F::Rem | F::Sqrt => (Group::Div, false),
        F::Setp | F::Set | F::Selp | F::Slct | F::Testp => (Group::MinMax, false),
        F::Shl | F::Shr | F::Shf | F::Bfe | F::Bfi | F::Brev | F::Bfind | F::Popc | F::Clz => (Group::Or, false),
        F::Prmt | F::Lop3 | F::Cnot | F::Fns | F::Bmsk | F::Szext => (Group::Or, false),
        _ if kind.space == Some(StateSpace::Shared) => (Group::Operand, false),
        _ if kind.space == Some(StateSpace::Const) => (Group::Constant, false),
        _ => (Group::Plain, false),
    };
    let is_float = kind.number == NumberKind::Float;
    let key = match (group, is_float) {
        (Group::Add, false) => by_operand(kind, Key::LuoSudaAddIntConst, Key::LuoSudaAddIntReg),
        (Group::Add, true) => by_operand(kind, Key::LuoSudaAddFloatConst, Key::LuoSudaAddFloatReg),
        (Group::Mul, false) => by_operand(kind, Key::LuoSudaMulIntConst, Key::LuoSudaMulIntReg),
        (Group::Mul, true) => by_operand(kind, Key::LuoSudaMulFloatConst, Key::LuoSudaMulFloatReg),
        (Group::Div, false) => by_operand(kind, Key::LuoSudaDivIntConst, Key::LuoSudaDivIntReg),
        (Group::Div, true) => by_operand(kind, Key::LuoSudaDivFloatConst, Key::LuoSudaDivFloatReg),
        (Group::Neg, false) => Key::LuoSudaNegInt,
        (Group::Neg, true) => Key::LuoSudaNegFloat,
        (Group::MinMax, _) => Key::LuoSudaMinMax,
        (Group::And, _) => Key::LuoSudaAnd,
        (Group::Or, _) => Key::LuoSudaOr,
        (Group::Not | Group::Plain, _) => Key::LuoSudaNot,
        (Group::Operand, _) => Key::LuoSudaAddIntReg,
        (Group::Constant, _) => Key::LuoSudaAddIntConst,
    };
    Row { key, exact: exact && (kind.bits == 32 || kind.number == NumberKind::None) }
}

fn by_operand(kind: &CostKind, constant: Key, register: Key) -> Key {
    if kind.constant { constant } else { register }
}

/// The row of a memory instruction: that of loads and stores, also for atomics.
pub fn of_memory(kind: &CostKind) -> Row {
    Row { key: Key::LuoSudaMemory, exact: matches!(kind.family, Family::Ld | Family::Ldu | Family::St) }
}

/// Costs as they are read from a machine, and what was not priced by its own row.
#[derive(Debug, Default)]
pub(super) struct Prices {
    by_key: BTreeMap<Key, f64>,
    /// Cycles of all tasks that were priced, weighted.
    pub(super) total: f64,
    /// Of those, cycles of kinds outside the table, by family and space.
    pub(super) outside: BTreeMap<CostKind, (Key, f64)>,
}

impl Prices {
    /// The cost of a task; its cycles count `weight` times in what is said about the table.
    pub(super) fn task(
        &mut self,
        task: &BTreeMap<CostKind, u64>,
        row: fn(&CostKind) -> Row,
        weight: f64,
        reader: &mut Reader<'_>,
    ) -> Result<f64, Refusal> {
        let mut sum = 0.0;
        for (kind, &count) in task {
            let Row { key, exact } = row(kind);
            let price = match self.by_key.get(&key) {
                Some(&price) => price,
                None => {
                    let price = reader.need(key)?;
                    self.by_key.insert(key, price);
                    price
                }
            };
            let cycles = count as f64 * price;
            sum += cycles;
            self.total += weight * cycles;
            if !exact {
                self.outside.entry(kind.without_numbers()).or_insert((key, 0.0)).1 += weight * cycles;
            }
        }
        Ok(sum)
    }

    /// The share of kinds outside the table, and the largest of them.
    pub(super) fn outside(&self) -> Option<String> {
        const MOST: usize = 6;
        let sum: f64 = self.outside.values().map(|(_, cycles)| cycles).sum();
        if sum <= 0.0 {
            return None;
        }
        let mut kinds: Vec<_> = self.outside.iter().collect();
        kinds.sort_by(|left, right| right.1.1.total_cmp(&left.1.1).then_with(|| left.0.cmp(right.0)));
        let rest = kinds.len().saturating_sub(MOST);
        let name = |key: Key| key.name().trim_start_matches("luo_suda.").to_owned();
        let named: Vec<String> =
            kinds.iter().take(MOST).map(|(kind, (key, _))| format!("{kind} as {}", name(*key))).collect();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        Some(format!("{:.1} % of all costs: {}{more}", 100.0 * sum / self.total, named.join(", ")))
    }
}
