//! What no instruction moves across: the one definition, for whoever orders instructions.
//!
//! It says what kind of order an instruction is part of; whether two accesses may touch the same bytes says
//! [`alias`](crate::alias). Whoever asks decides how much of it binds: a list of loads in flight has no use for the order
//! of exchanges.

use warplens_isa::{Effect, SpecialRegister};

use crate::{Inst, Operand};

/// What an instruction stays in order with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// With what writes its operands and reads its results, no more.
    Free,
    /// With stores to bytes that it may read.
    Load,
    /// With accesses to bytes that it may write.
    Store,
    /// With all accesses: an atomic, or an access that is volatile or ordered.
    Strict,
    /// With other exchanges between the lanes of a warp, and with what accesses do not cross.
    Exchange,
    /// With all accesses and exchanges.
    Fence,
    /// With everything: it reads the time.
    Clock,
    /// With everything: it ends the block.
    End,
}

impl Order {
    /// The order of an instruction.
    pub fn of(inst: &Inst) -> Self {
        match inst.op().effect() {
            Effect::None => Self::Free,
            Effect::Special if inst.sources.iter().any(is_clock) => Self::Clock,
            Effect::Special => Self::Free,
            Effect::Load | Effect::Store if inst.operation.is_ordered() => Self::Strict,
            Effect::Load => Self::Load,
            Effect::Store => Self::Store,
            Effect::Atomic => Self::Strict,
            Effect::Vote | Effect::Exchange => Self::Exchange,
            Effect::Fence | Effect::Call => Self::Fence,
            Effect::End => Self::End,
        }
    }
}

fn is_clock(operand: &Operand) -> bool {
    use SpecialRegister as S;
    matches!(operand, Operand::Special(S::Clock | S::ClockHi | S::Clock64 | S::Globaltimer))
}

#[cfg(test)]
mod tests {
    use warplens_isa::{AccessOrder, Atomic, AtomicOp, Operation, Pc, ScalarType, ShuffleMode};

    use super::*;

    fn order(operation: Operation, sources: Vec<Operand>) -> Order {
        Order::of(&Inst { sources, ..Inst::new(Pc(0), operation, ScalarType::U32) })
    }

    #[test]
    fn what_stays_in_order() {
        let plain = AccessOrder { ordered: false };
        let volatile = AccessOrder { ordered: true };
        let special = |register| vec![Operand::Special(register)];
        for (operation, sources, expected) in [
            (Operation::Not, vec![], Order::Free),
            (Operation::Ld(plain), vec![], Order::Load),
            (Operation::Ld(volatile), vec![], Order::Strict),
            (Operation::St(plain), vec![], Order::Store),
            (Operation::St(volatile), vec![], Order::Strict),
            (Operation::Prefetch, vec![], Order::Load),
            (Operation::Red(Atomic { op: AtomicOp::Add, ordered: false }), vec![], Order::Strict),
            (Operation::Shfl(ShuffleMode::Up), vec![], Order::Exchange),
            (Operation::Activemask, vec![], Order::Exchange),
            (Operation::BarWarp, vec![], Order::Fence),
            (Operation::Unsupported, vec![], Order::Fence),
            (Operation::ReadSpecial, special(SpecialRegister::Laneid), Order::Free),
            (Operation::ReadSpecial, special(SpecialRegister::Clock64), Order::Clock),
            (Operation::Ret, vec![], Order::End),
        ] {
            assert_eq!(order(operation, sources), expected, "{operation:?}");
        }
    }
}
