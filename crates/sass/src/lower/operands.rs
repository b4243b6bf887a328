//! Operands of machine code as those of the IR, and the operations that read what the IR's operands cannot say.

use warplens_ir::{Bank, Constant, Guard, Inst, MemoryReference, Operand as Ir, Register, Sign, SignedValue, Width};
use warplens_isa::{
    AccessOrder, Accuracy, AddressConversion, AddressDirection, Axis, Carry, Comparison, Conversion, Operation, Pc,
    Precision, Rounding, ScalarType, SpecialRegister, StateSpace, Subnormals, Sum,
};

use super::constants::{Driver, Facts, Stored};
use crate::syntax::{Address, Operand, Value};

/// Why an instruction cannot be lowered.
pub(super) type Refusal = &'static str;

/// What comes of lowering a part of an instruction.
pub(super) type Lowered<T = ()> = Result<T, Refusal>;

/// Words of temporaries behind the registers of a function.
pub(super) const TEMPORARY_WORDS: u32 = 40;
/// Predicates of temporaries.
pub(super) const TEMPORARY_PREDICATES: u32 = 12;
/// Predicates of a thread that have names.
pub(super) const PREDICATES: u32 = 7;
/// Temporaries stand here until it is known how many registers the function has.
pub(super) const FIRST_TEMPORARY: u32 = 256;
/// Convergence barriers.
pub(super) const BARRIERS: u32 = 16;

/// Lowers one instruction: gathers the operations that it is.
pub(super) struct Lowering<'f> {
    pub(super) facts: &'f Facts<'f>,
    /// Where the instruction lies in the code of its kernel.
    pub(super) address: u64,
    pub(super) insts: Vec<Inst>,
    pc: Pc,
    guard: Option<Guard>,
    words: u32,
    predicates: u32,
}

/// The plain sum.
pub(super) const ADD: Operation =
    Operation::Add(Sum { rounding: Rounding::Nearest, ftz: false, sat: false, carry: Carry::NONE });
/// The plain difference.
pub(super) const SUB: Operation =
    Operation::Sub(Sum { rounding: Rounding::Nearest, ftz: false, sat: false, carry: Carry::NONE });

/// A comparison without anything that refines it.
pub(super) const fn compare(op: warplens_isa::CompareOp) -> Operation {
    Operation::Setp(Comparison::new(op))
}

/// What an operand does to the sign of its value, if anything.
pub(super) const fn sign_of(operand: &Operand) -> Option<Sign> {
    match (operand.negated, operand.absolute) {
        (false, false) => None,
        (true, false) => Some(Sign::Negated),
        (false, true) => Some(Sign::Absolute),
        (true, true) => Some(Sign::NegatedAbsolute),
    }
}

/// A register or a constant whose sign is changed on the way.
pub(super) const fn with_sign(sign: Sign, value: Ir) -> Lowered<Ir> {
    match value {
        Ir::Register(register) => Ok(Ir::Signed(sign, SignedValue::Register(register))),
        Ir::Constant(constant) => Ok(Ir::Signed(sign, SignedValue::Constant(constant))),
        _ => Err("a sign on a value of this kind"),
    }
}

/// The opposite of a predicate.
pub(super) const fn opposite(predicate: Ir) -> Lowered<Ir> {
    match predicate {
        Ir::Register(register) => Ok(Ir::NotPredicate(register)),
        Ir::NotPredicate(register) => Ok(Ir::Register(register)),
        Ir::Immediate(value) => Ok(Ir::Immediate(value ^ 1)),
        _ => Err("a predicate that is none"),
    }
}

/// A register per lane.
pub(super) const fn word(index: u32) -> Register {
    Register::vector(index, Width::Word)
}

impl<'f> Lowering<'f> {
    pub(super) fn new(facts: &'f Facts<'f>, (pc, address): (Pc, u64)) -> Self {
        Self { facts, address, insts: Vec::new(), pc, guard: None, words: 0, predicates: 0 }
    }

    /// All that is added from here on takes effect where a predicate says so.
    pub(super) fn set_guard(&mut self, guard: Option<(Value, bool)>) -> Lowered {
        self.guard = None;
        let Some((predicate, negated)) = guard else { return Ok(()) };
        let predicate = self.predicate_value(&predicate, negated)?;
        self.guard_by(predicate)
    }

    /// Adds operations that take effect whatever the guard says.
    pub(super) fn without_guard<T>(&mut self, add: impl FnOnce(&mut Self) -> T) -> T {
        let guard = self.guard.take();
        let result = add(self);
        self.guard = guard;
        result
    }

    /// What is added from here on takes effect where an earlier guard says so.
    pub(super) const fn set_guard_again(&mut self, guard: Option<Guard>) {
        self.guard = guard;
    }

    /// What is added from here on takes effect where the guard and this predicate hold.
    pub(super) fn and_guard_by(&mut self, condition: Ir) -> Lowered {
        let both = match self.guard {
            None => condition,
            Some(Guard { predicate, negated }) => {
                let of_guard = if negated { Ir::NotPredicate(predicate) } else { Ir::Register(predicate) };
                self.without_guard(|lowering| {
                    lowering.emit_predicate(Operation::And, ScalarType::Pred, &[of_guard, condition])
                })
            }
        };
        self.guard_by(both)
    }

    /// What is added from here on takes effect where this predicate holds, and nothing else counts.
    pub(super) fn guard_by(&mut self, predicate: Ir) -> Lowered {
        self.guard = match predicate {
            Ir::Register(predicate) => Some(Guard { predicate, negated: false }),
            Ir::NotPredicate(predicate) => Some(Guard { predicate, negated: true }),
            Ir::Immediate(1) => None,
            Ir::Immediate(_) => {
                let never = self.temporary_predicate();
                self.without_guard(|lowering| {
                    lowering.emit(Operation::Mov, ScalarType::Pred, &[Some(never)], &[Ir::Immediate(0)]);
                });
                Some(Guard { predicate: never, negated: false })
            }
            _ => return Err("a condition that is no predicate"),
        };
        Ok(())
    }

    /// The predicate of the instruction.
    pub(super) const fn guard(&self) -> Option<Guard> {
        self.guard
    }

    /// Adds an operation.
    pub(super) fn emit(
        &mut self,
        operation: Operation,
        ty: ScalarType,
        destinations: &[Option<Register>],
        sources: &[Ir],
    ) -> &mut Inst {
        let mut inst = Inst::new(self.pc, operation, ty);
        inst.guard = self.guard;
        inst.destinations = destinations.to_vec();
        inst.sources = sources.to_vec();
        self.insts.push(inst);
        self.insts.last_mut().expect("one was just added")
    }

    /// Adds an operation whose result is a temporary word.
    pub(super) fn emit_word(&mut self, operation: Operation, ty: ScalarType, sources: &[Ir]) -> Ir {
        let temporary = self.temporary(Width::Word);
        self.emit(operation, ty, &[Some(temporary)], sources);
        Ir::Register(temporary)
    }

    /// Adds an operation whose result is a temporary pair.
    pub(super) fn emit_pair(&mut self, operation: Operation, ty: ScalarType, sources: &[Ir]) -> Register {
        let temporary = self.temporary(Width::Pair);
        self.emit(operation, ty, &[Some(temporary)], sources);
        temporary
    }

    /// Adds an operation whose result is a temporary predicate.
    pub(super) fn emit_predicate(&mut self, operation: Operation, ty: ScalarType, sources: &[Ir]) -> Ir {
        let temporary = self.temporary_predicate();
        self.emit(operation, ty, &[Some(temporary)], sources);
        Ir::Register(temporary)
    }

    /// Copies a word, if somebody wants it.
    pub(super) fn copy(&mut self, destination: Option<Register>, source: Ir) {
        if let Some(destination) = destination {
            let ty = match destination.width {
                Width::One => ScalarType::Pred,
                Width::Word => ScalarType::B32,
                Width::Pair => ScalarType::B64,
                Width::Quad => ScalarType::B128,
            };
            self.emit(Operation::Mov, ty, &[Some(destination)], &[source]);
        }
    }

    /// A register that only this instruction uses.
    pub(super) fn temporary(&mut self, width: Width) -> Register {
        let index = self.words.next_multiple_of(width.words());
        self.words = index + width.words();
        Register::vector(FIRST_TEMPORARY + index, width)
    }

    /// A predicate that only this instruction uses.
    pub(super) fn temporary_predicate(&mut self) -> Register {
        self.predicates += 1;
        Register::predicate(PREDICATES + self.predicates - 1)
    }

    /// The instruction asks for no more temporaries than a function has.
    pub(super) const fn is_within_bounds(&self) -> bool {
        self.words <= TEMPORARY_WORDS && self.predicates <= TEMPORARY_PREDICATES
    }

    // Destinations.

    /// Where a result goes; none for the register of zeros and the predicate that holds.
    pub(super) fn destination(&self, operand: &Operand, width: Width) -> Lowered<Option<Register>> {
        register(&operand.value, width)
    }

    /// Words from a destination on, one by one.
    pub(super) fn destinations(&self, operand: &Operand, n: u32) -> Lowered<Vec<Option<Register>>> {
        let first = register(&operand.value, Width::Word)?;
        Ok((0..n).map(|at| first.map(|first| Register { index: first.index + at, ..first })).collect())
    }

    // Sources.

    /// A word of bits.
    pub(super) fn word(&mut self, operand: &Operand) -> Lowered<Ir> {
        let value = self.plain(&operand.value, ScalarType::B32)?;
        if operand.complement {
            return Ok(match value {
                Ir::Immediate(value) => Ir::Immediate(u64::from(!(value as u32))),
                value => self.emit_word(Operation::Not, ScalarType::B32, &[value]),
            });
        }
        let value = if operand.absolute { self.magnitude(value) } else { value };
        if !operand.negated {
            return Ok(value);
        }
        Ok(match value {
            Ir::Immediate(value) => Ir::Immediate(u64::from((value as u32).wrapping_neg())),
            value => self.emit_word(Operation::Neg(Subnormals::default()), ScalarType::S32, &[value]),
        })
    }

    fn magnitude(&mut self, value: Ir) -> Ir {
        self.emit_word(Operation::Abs(Subnormals::default()), ScalarType::S32, &[value])
    }

    /// An addend: a word whose sign the sum may change.
    pub(super) fn addend(&mut self, operand: &Operand) -> Lowered<Ir> {
        if !operand.negated || operand.absolute || operand.complement {
            return self.word(operand);
        }
        match self.plain(&operand.value, ScalarType::B32)? {
            Ir::Immediate(value) => Ok(Ir::Immediate(u64::from((value as u32).wrapping_neg()))),
            value => with_sign(Sign::Negated, value),
        }
    }

    /// Words from a source on, one by one.
    pub(super) fn words(&mut self, operand: &Operand, n: u32) -> Lowered<Vec<Ir>> {
        Ok(match self.plain(&operand.value, ScalarType::B32)? {
            Ir::Register(first) => {
                (0..n).map(|at| Ir::Register(Register { index: first.index + at, ..first })).collect()
            }
            Ir::Immediate(0) => vec![Ir::Immediate(0); n as usize],
            value if n == 1 => vec![value],
            _ => return Err("a value of several words that is no register"),
        })
    }

    /// A pair of words as bits.
    pub(super) fn pair(&mut self, operand: &Operand) -> Lowered<Ir> {
        let value = self.plain(&operand.value, ScalarType::B64)?;
        if !operand.negated && !operand.complement {
            return Ok(value);
        }
        let operation = if operand.negated { Operation::Neg(Subnormals::default()) } else { Operation::Not };
        let ty = if operand.negated { ScalarType::S64 } else { ScalarType::B64 };
        Ok(Ir::Register(self.emit_pair(operation, ty, &[value])))
    }

    /// A float whose sign the operation may change on the way.
    pub(super) fn float(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Ir> {
        let value = self.plain(&operand.value, ty)?;
        let Some(sign) = sign_of(operand) else { return Ok(value) };
        Ok(match value {
            Ir::Immediate(bits) => {
                let top = match ty.bits() {
                    16 => 1 << 15,
                    64 => 1 << 63,
                    // Both halves of a packed word have a sign.
                    32 if ty.is_packed() => 1 << 31 | 1 << 15,
                    _ => 1 << 31,
                };
                Ir::Immediate(match sign {
                    Sign::Negated => bits ^ top,
                    Sign::Absolute => bits & !top,
                    Sign::NegatedAbsolute => bits | top,
                })
            }
            value => with_sign(sign, value)?,
        })
    }

    /// A float as bits, its sign changed.
    pub(super) fn float_bits(&mut self, operand: &Operand) -> Lowered<Ir> {
        let value = self.plain(&operand.value, ScalarType::F32)?;
        let value = match (operand.absolute, value) {
            (false, value) => value,
            (true, Ir::Immediate(bits)) => Ir::Immediate(bits & 0x7fff_ffff),
            (true, value) => self.emit_word(Operation::And, ScalarType::B32, &[value, Ir::Immediate(0x7fff_ffff)]),
        };
        Ok(match (operand.negated, value) {
            (false, value) => value,
            (true, Ir::Immediate(bits)) => Ir::Immediate(bits ^ 0x8000_0000),
            (true, value) => self.emit_word(Operation::Xor, ScalarType::B32, &[value, Ir::Immediate(0x8000_0000)]),
        })
    }

    /// A predicate.
    pub(super) fn predicate(&mut self, operand: &Operand) -> Lowered<Ir> {
        self.predicate_value(&operand.value, operand.not)
    }

    fn predicate_value(&mut self, value: &Value, not: bool) -> Lowered<Ir> {
        if !matches!(value, Value::Predicate(_) | Value::UniformPredicate(_)) {
            return Err("a predicate that is none");
        }
        Ok(match register(value, Width::One)? {
            None => Ir::Immediate(u64::from(!not)),
            Some(register) if not => Ir::NotPredicate(register),
            Some(register) => Ir::Register(register),
        })
    }

    /// A value without what its operand does to it.
    pub(super) fn plain(&mut self, value: &Value, ty: ScalarType) -> Lowered<Ir> {
        let width = if ty.bits() == 64 { Width::Pair } else { Width::Word };
        Ok(match value {
            Value::Register(_) | Value::Uniform(_) => match register(value, width)? {
                Some(register) => Ir::Register(register),
                None => Ir::Immediate(0),
            },
            Value::Integer(value) if width == Width::Pair && ty.is_float() => Ir::Immediate((*value as u64) << 32),
            Value::Integer(value) if width == Width::Pair => Ir::Immediate(*value as u64),
            Value::Integer(value) => Ir::Immediate(u64::from(*value as u32)),
            Value::F32(bits) if width == Width::Word => Ir::Immediate(u64::from(*bits)),
            Value::F64(bits) if width == Width::Pair => Ir::Immediate(u64::from(*bits) << 32),
            Value::F64(bits) => Ir::Immediate(u64::from(*bits)),
            Value::Half(bits) => Ir::Immediate(u64::from(*bits)),
            Value::Constant(place) => {
                if place.at.register.is_some() || place.at.uniform.flatten().is_some() {
                    return Err("a constant at a place that a register says");
                }
                let offset = u32::try_from(place.at.offset).map_err(|_| "a constant before its bank")?;
                self.constant(place.bank, offset, ty)?
            }
            _ => return Err("an operand that is no value"),
        })
    }

    /// What stands in a constant bank.
    pub(super) fn constant(&mut self, bank: u32, offset: u32, ty: ScalarType) -> Lowered<Ir> {
        match self.facts.constant(bank, offset)? {
            Stored::Parameter => Ok(Ir::Constant(Constant { bank: 0, offset })),
            Stored::Known(value) if ty.bits() == 64 => Ok(Ir::Immediate(value)),
            Stored::Known(value) => Ok(Ir::Immediate(value & 0xffff_ffff)),
            Stored::Variable { variable, offset } => {
                let width = Width::of_bits(ty.bits());
                let temporary = self.temporary(width);
                let ty = if width == Width::Pair { ScalarType::B64 } else { ScalarType::B32 };
                let load = self.emit(Operation::Ld(AccessOrder::default()), ty, &[Some(temporary)], &[]);
                let base = Ir::Variable { variable, offset: 0, generic: false };
                load.memory = MemoryReference { space: StateSpace::Const, base, offset, elements: 1 }.into();
                Ok(Ir::Register(temporary))
            }
            Stored::Address { operand, is_upper } => self.part_of(operand, is_upper, ty),
            Stored::Driver(driver) => self.driver(driver, offset, ty),
        }
    }

    /// The whole of 64 bits, or one of its words.
    fn part_of(&mut self, value: Ir, is_upper: bool, ty: ScalarType) -> Lowered<Ir> {
        if ty.bits() == 64 {
            return if is_upper { Err("an address from its middle on") } else { Ok(value) };
        }
        let pair = self.emit_pair(Operation::Mov, ScalarType::B64, &[value]);
        Ok(Ir::Register(word(pair.index + u32::from(is_upper))))
    }

    pub(super) fn driver(&mut self, driver: Driver, offset: u32, ty: ScalarType) -> Lowered<Ir> {
        let axes = [Axis::X, Axis::Y, Axis::Z];
        match driver {
            Driver::Value(value) => Ok(Ir::Immediate(value)),
            Driver::BlockExtent(axis) if ty.bits() == 32 => Ok(self.special(SpecialRegister::Ntid(axes[axis]))),
            Driver::GridExtent(axis) if ty.bits() == 32 => Ok(self.special(SpecialRegister::Nctaid(axes[axis]))),
            Driver::BlockExtent(_) | Driver::GridExtent(_) => {
                let (low, high) = (offset, offset + 4);
                let low = self.constant(0, low, ScalarType::B32)?;
                let high = self.constant(0, high, ScalarType::B32)?;
                Ok(Ir::Register(self.emit_pair(Operation::Pack, ScalarType::B64, &[low, high])))
            }
            Driver::Special(register) if ty.bits() == 32 => Ok(self.special(register)),
            Driver::ClusterReciprocal(axis) if ty.bits() == 32 => {
                let extent = self.special(SpecialRegister::ClusterNctaid(axes[axis]));
                let extent = self.emit_word(Operation::Cvt(Conversion::default()), ScalarType::F32, &[extent]);
                if let Some(inst) = self.insts.last_mut() {
                    inst.source_ty = ScalarType::U32;
                }
                // Never too small, as the code cuts its product with an index down to an integer.
                let above = Accuracy { rounding: Rounding::Up, precision: Precision::Ieee, ftz: false };
                Ok(self.emit_word(Operation::Rcp(above), ScalarType::F32, &[extent]))
            }
            Driver::Constants { is_upper } => {
                let base = self.facts.constants_base()?;
                self.part_of(base, is_upper, ty)
            }
            Driver::ClusterReciprocal(_) | Driver::Special(_) => Err("a constant of the driver at this width"),
            Driver::Parameters { is_upper } => {
                let base = self.window(StateSpace::Param);
                self.part_of(Ir::Register(base), is_upper, ty)
            }
            Driver::Window { space, is_upper } => {
                let window = self.window(space);
                self.part_of(Ir::Register(window), is_upper, ty)
            }
        }
    }

    /// The generic address of the first byte of a space.
    pub(super) fn window(&mut self, space: StateSpace) -> Register {
        let conversion = AddressConversion { space, direction: AddressDirection::ToGeneric };
        self.emit_pair(Operation::Cvta(conversion), ScalarType::U64, &[Ir::Immediate(0)])
    }

    /// A special register of 32 bits.
    pub(super) fn special(&mut self, register: SpecialRegister) -> Ir {
        self.emit_word(Operation::ReadSpecial, ScalarType::U32, &[Ir::Special(register)])
    }

    // Places in memory.

    /// A place in global memory, or one with a generic address.
    pub(super) fn wide_place(&mut self, address: &Address, space: StateSpace) -> Lowered<MemoryReference> {
        let register = match address.register {
            Some(at) if at.scale > 0 => return Err("a factor in a wide address"),
            Some(at) => at.number.map(|number| (number, at.is_word)),
            None => None,
        };
        let vector = |number| Ir::Register(Register::vector(number, Width::Pair));
        let base = match (register, address.uniform.flatten()) {
            (None, None) => Ir::Immediate(0),
            (Some((number, false)), None) => vector(number),
            (Some((number, true)), None) => self.extended(number),
            (None, Some(uniform)) => Ir::Register(uniform_pair(uniform)),
            (Some((number, is_word)), Some(uniform)) => {
                let first = if is_word { self.extended(number) } else { vector(number) };
                let uniform = Ir::Register(uniform_pair(uniform));
                Ir::Register(self.emit_pair(ADD, ScalarType::U64, &[first, uniform]))
            }
        };
        Ok(self.generic_of_cluster(place(space, base, address.offset)))
    }

    fn extended(&mut self, number: u32) -> Ir {
        let source = Ir::Register(word(number));
        let temporary = self.emit_pair(Operation::Cvt(Conversion::default()), ScalarType::U64, &[source]);
        if let Some(inst) = self.insts.last_mut() {
            inst.source_ty = ScalarType::U32;
        }
        Ir::Register(temporary)
    }

    /// A place in shared or local memory, of the CTA itself.
    pub(super) fn narrow_place(&mut self, address: &Address, space: StateSpace) -> Lowered<MemoryReference> {
        let place = self.narrow_address(address, space)?;
        Ok(if space == StateSpace::Shared { self.own_shared(place) } else { place })
    }

    /// The place that an address of 32 bits says.
    pub(super) fn narrow_address(&mut self, address: &Address, space: StateSpace) -> Lowered<MemoryReference> {
        let register = address.register.and_then(|at| Some((at.number?, at.scale)));
        let scaled = match register {
            None => None,
            Some((number, 0)) => Some(Ir::Register(word(number))),
            Some((number, scale)) => {
                let sources = [Ir::Register(word(number)), Ir::Immediate(u64::from(scale))];
                Some(self.emit_word(Operation::Shl, ScalarType::B32, &sources))
            }
        };
        let uniform = address.uniform.flatten().map(|number| Ir::Register(uniform_word(number)));
        let base = match (scaled, uniform) {
            (None, None) => return Ok(place(space, Ir::Immediate(u64::from(address.offset as u32)), 0)),
            (Some(base), None) | (None, Some(base)) => base,
            (Some(first), Some(second)) => self.emit_word(ADD, ScalarType::U32, &[first, second]),
        };
        Ok(place(space, base, address.offset))
    }
}

const fn place(space: StateSpace, base: Ir, offset: i64) -> MemoryReference {
    MemoryReference { space, base, offset, elements: 1 }
}

pub(super) const fn uniform_word(index: u32) -> Register {
    Register { bank: Bank::Uniform, width: Width::Word, index }
}

pub(super) const fn uniform_pair(index: u32) -> Register {
    Register { bank: Bank::Uniform, width: Width::Pair, index }
}

/// A register by its name; none for that of zeros and for the predicate that holds.
fn register(value: &Value, width: Width) -> Lowered<Option<Register>> {
    let (bank, number) = match value {
        Value::Register(number) => (Bank::Vector, *number),
        Value::Uniform(number) => (Bank::Uniform, *number),
        Value::Predicate(number) => (Bank::Predicate, *number),
        Value::UniformPredicate(number) => (Bank::UniformPredicate, *number),
        Value::Barrier(number) => (Bank::Convergence, Some(*number)),
        _ => return Err("an operand that is no register"),
    };
    let width = match bank {
        Bank::Vector | Bank::Uniform => width,
        Bank::Predicate | Bank::UniformPredicate | Bank::Convergence => Width::One,
    };
    Ok(number.map(|index| Register { bank, width, index }))
}
