//! Loads, stores, copies and atomics.

use warplens_ir::{Memory, MemoryReference, Operand as Ir, Register, Width};
use warplens_isa::{
    AccessOrder, Atomic, AtomicOp, CompareOp, CopyRead, MatrixMove, MovedElements, Operation, ScalarType, StateSpace,
};

use super::constants::of_cluster_mode;
use super::operands::{Lowered, Lowering, compare, opposite};
use crate::syntax::{Address, Operand, Syntax, Value};

/// The elements of an access: their type and how many there are.
fn elements(syntax: &Syntax) -> (ScalarType, u8) {
    let narrow = syntax.find(|word| {
        Some(match word {
            "U8" => ScalarType::U8,
            "S8" => ScalarType::S8,
            "U16" => ScalarType::U16,
            "S16" => ScalarType::S16,
            _ => return None,
        })
    });
    match narrow {
        Some(ty) => (ty, 1),
        None if syntax.has("128") => (ScalarType::B32, 4),
        None if syntax.has("64") => (ScalarType::B32, 2),
        None => (ScalarType::B32, 1),
    }
}

fn order(syntax: &Syntax) -> AccessOrder {
    AccessOrder { ordered: syntax.has("STRONG") || syntax.has("MMIO") }
}

/// The space that a mnemonic accesses: the letter behind its verb.
fn space(base: &str, verb: &str) -> Lowered<StateSpace> {
    Ok(match base.strip_prefix(verb).ok_or("an access of this kind")? {
        "" => StateSpace::Generic,
        "G" => StateSpace::Global,
        "S" => StateSpace::Shared,
        "L" => StateSpace::Local,
        _ => return Err("an access of this kind"),
    })
}

impl Lowering<'_> {
    fn place(&mut self, operand: &Operand, space: StateSpace) -> Lowered<MemoryReference> {
        let Value::Address(address) = &operand.value else { return Err("an access without an address") };
        match space {
            StateSpace::Shared | StateSpace::Local => self.narrow_place(address, space),
            _ => self.wide_place(address, space),
        }
    }

    /// `LDG`, `LDS`, `LDL`, `LD`.
    pub(super) fn load(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, address] = &syntax.operands[..] else { return Err("a load without two operands") };
        let space = space(syntax.base(), "LD")?;
        let (ty, n) = elements(syntax);
        let targets = self.destinations(destination, u32::from(n))?;
        let place = self.place(address, space)?;
        let load = self.emit(Operation::Ld(order(syntax)), ty, &targets, &[]);
        load.memory = MemoryReference { elements: n, ..place }.into();
        Ok(())
    }

    /// `STG`, `STS`, `STL`, `ST`.
    pub(super) fn store(&mut self, syntax: &Syntax) -> Lowered {
        let [address, source] = &syntax.operands[..] else { return Err("a store without two operands") };
        let space = space(syntax.base(), "ST")?;
        let (ty, n) = elements(syntax);
        let values = self.words(source, u32::from(n))?;
        let place = self.place(address, space)?;
        let store = self.emit(Operation::St(order(syntax)), ty, &[], &values);
        store.memory = MemoryReference { elements: n, ..place }.into();
        Ok(())
    }

    /// `LDC`, `LDCU`, `ULDC`: from a constant bank.
    pub(super) fn load_constant(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a load without two operands") };
        let Value::Constant(place) = &source.value else { return Err("a load without a constant") };
        let (ty, n) = elements(syntax);
        let register = place.at.register.and_then(|register| register.number);
        let uniform = place.at.uniform.flatten();
        if register.is_some() || uniform.is_some() {
            return self.load_indexed(destination, (place.bank, &place.at), (ty, n));
        }
        let first = u32::try_from(place.at.offset).map_err(|_| "a constant before its bank")?;
        if n == 2 {
            let target = self.destination(destination, Width::Pair)?;
            let value = self.constant(place.bank, first, ScalarType::B64)?;
            self.copy(target, value);
            return Ok(());
        }
        let targets = self.destinations(destination, u32::from(n))?;
        let mut values = Vec::new();
        for at in 0..u32::from(n) {
            values.push(self.constant(place.bank, first + 4 * at, ScalarType::B32)?);
        }
        for (target, value) in targets.into_iter().zip(values) {
            match (ty.bits(), target) {
                (32, target) => self.copy(target, value),
                (_, None) => {}
                (_, Some(target)) => {
                    let wide = if ty.is_signed() { ScalarType::S32 } else { ScalarType::U32 };
                    self.emit(Operation::Cvt(Default::default()), wide, &[Some(target)], &[value]).source_ty = ty;
                }
            }
        }
        Ok(())
    }

    /// At a place that a register says: among the parameters, in a constant of the program, or in one of the compiler's.
    fn load_indexed(
        &mut self,
        destination: &Operand,
        (bank, at): (u32, &Address),
        (ty, n): (ScalarType, u8),
    ) -> Lowered {
        if let Some(driver) = of_cluster_mode(at.offset).filter(|_| bank == 0 && self.facts.sm >= 100 && n == 1) {
            let target = self.destination(destination, Width::Word)?;
            let value = self.driver(driver, 0, ScalarType::B32)?;
            self.copy(target, value);
            return Ok(());
        }
        let targets = self.destinations(destination, u32::from(n))?;
        let place = self.narrow_place(at, StateSpace::Const)?;
        let (space, variable, start) = match bank {
            0 => (StateSpace::Param, None, i64::from(self.facts.parameter_base)),
            _ => {
                let offset = u32::try_from(at.offset.max(0)).unwrap_or(0);
                let (variable, within) = self.facts.indexed(bank, offset)?;
                (StateSpace::Const, Some(variable), at.offset - within)
            }
        };
        let base = match variable {
            None => place.base,
            Some(variable) => {
                let address = Ir::Variable { variable, offset: 0, generic: false };
                self.emit_word(super::operands::ADD, ScalarType::U32, &[place.base, address])
            }
        };
        let load = self.emit(Operation::Ld(AccessOrder::default()), ty, &targets, &[]);
        load.memory = MemoryReference { space, base, offset: at.offset - start, elements: n }.into();
        Ok(())
    }

    /// `LDGSTS`: from global to shared memory. Where its predicate is false zeros are written.
    pub(super) fn copy_async(&mut self, syntax: &Syntax) -> Lowered {
        let [to, from, rest @ ..] = &syntax.operands[..] else { return Err("a copy without two operands") };
        let (ty, n) = elements(syntax);
        if ty.bits() != 32 || rest.len() > 1 {
            return Err("a copy of this kind");
        }
        let to = MemoryReference { elements: n, ..self.place(to, StateSpace::Shared)? };
        let from = MemoryReference { elements: n, ..self.place(from, StateSpace::Global)? };
        let mut sources = Vec::new();
        if let Some(reads) = rest.first() {
            let zeros = opposite(self.predicate(reads)?)?;
            if zeros != Ir::Immediate(0) {
                sources.push(zeros);
            }
        }
        self.emit(Operation::Copy(CopyRead::Unless), ty, &[], &sources).memory = Memory::Copy { to, from };
        Ok(())
    }

    /// `ATOMG`, `ATOMS`, `ATOM`, `RED`, `REDG`.
    pub(super) fn atomic(&mut self, syntax: &Syntax) -> Lowered {
        let base = syntax.base();
        let space = match base {
            "ATOMG" | "RED" | "REDG" => StateSpace::Global,
            "ATOMS" => StateSpace::Shared,
            "ATOM" => StateSpace::Generic,
            _ => return Err("an atomic of this kind"),
        };
        if syntax.has("ARRIVE") || syntax.has("CAST") {
            return self.spinning_swap(syntax, space);
        }
        let mut operands = syntax.operands.iter().filter(|operand| !operand.is_predicate());
        let destination =
            if base.starts_with("RED") { None } else { Some(operands.next().ok_or("an atomic without operands")?) };
        let address = operands.next().ok_or("an atomic without an address")?;
        let sources: Vec<&Operand> = operands.collect();
        if syntax.has("POPC") && syntax.has("INC") && syntax.has("32") {
            let target = destination.map(|operand| self.destination(operand, Width::Word)).transpose()?.flatten();
            let place = self.place(address, space)?;
            return self.emit_atomic((AtomicOp::Add, ScalarType::U32), target, place, &[Ir::Immediate(1)]);
        }
        let op = atomic_op(syntax).ok_or("an atomic of this kind")?;
        let ty = atomic_type(syntax, op).ok_or("an atomic of this type")?;
        let width = Width::of_bits(ty.bits());
        let target = destination.map(|operand| self.destination(operand, width)).transpose()?.flatten();
        let mut values = Vec::new();
        for source in sources {
            values.push(if width == Width::Pair { self.pair(source)? } else { self.word(source)? });
        }
        let place = self.place(address, space)?;
        let done = syntax.operands.first().filter(|operand| operand.is_predicate());
        let done = done.map(|operand| self.destination(operand, Width::One)).transpose()?.flatten();
        let Some(done) = done else { return self.emit_atomic((op, ty), target, place, &values) };
        // A generic address may be one of shared memory, which has no such atomic: code for that follows.
        let address = self.whole_address(place);
        let is_global = self.emit_predicate(Operation::Isspacep(StateSpace::Global), ScalarType::U64, &[address]);
        let guard = self.guard();
        self.and_guard_by(is_global)?;
        self.emit_atomic((op, ty), target, place, &values)?;
        self.set_guard_again(guard);
        self.copy(Some(done), is_global);
        Ok(())
    }

    /// The address of a place, with its offset.
    pub(super) fn whole_address(&mut self, place: MemoryReference) -> Ir {
        if place.offset == 0 {
            return place.base;
        }
        let sources = [place.base, Ir::Immediate(place.offset as u64)];
        Ir::Register(self.emit_pair(super::operands::ADD, ScalarType::U64, &sources))
    }

    fn emit_atomic(
        &mut self,
        (op, ty): (AtomicOp, ScalarType),
        target: Option<Register>,
        place: MemoryReference,
        values: &[Ir],
    ) -> Lowered {
        let atomic = Atomic { op, ordered: false };
        let swaps = matches!(op, AtomicOp::Cas | AtomicOp::Exch);
        let inst = match target {
            None if !swaps => self.emit(Operation::Red(atomic), ty, &[], values),
            target => self.emit(Operation::Atom(atomic), ty, &[target], values),
        };
        inst.memory = place.into();
        Ok(())
    }

    /// `ATOMS.CAST.SPIN`: a compare and swap that says whether it was made, in a predicate or as 1 or 0 in the register
    /// that would get the old value.
    fn spinning_swap(&mut self, syntax: &Syntax, space: StateSpace) -> Lowered {
        let [out, address, expected, new] = &syntax.operands[..] else { return Err("an atomic of this kind") };
        if !syntax.has("CAST") || syntax.has("SPIN") && syntax.has("ARRIVE") {
            return Err("an atomic of this kind");
        }
        let is_wide = syntax.has("64");
        let (ty, width) = if is_wide { (ScalarType::B64, Width::Pair) } else { (ScalarType::B32, Width::Word) };
        let target = self.destination(out, width)?;
        let values =
            if is_wide { [self.pair(expected)?, self.pair(new)?] } else { [self.word(expected)?, self.word(new)?] };
        let place = self.place(address, space)?;
        let old = self.temporary(width);
        self.emit_atomic((AtomicOp::Cas, ty), Some(old), place, &values)?;
        let is_made = self.emit_predicate(compare(CompareOp::Eq), ty, &[Ir::Register(old), values[0]]);
        if out.is_predicate() {
            self.copy(target, is_made);
        } else if target.is_some() {
            let sources = [Ir::Immediate(1), Ir::Immediate(0), is_made];
            self.emit(Operation::Selp, ty, &[target], &sources);
        }
        Ok(())
    }

    /// `LDSM`: matrices from shared memory.
    pub(super) fn load_matrices(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, address] = &syntax.operands[..] else { return Err("a load without two operands") };
        let matrices = moved_matrices(syntax)?;
        let targets = self.destinations(destination, matrices.count.into())?;
        let place = self.place(address, StateSpace::Shared)?;
        let load = self.emit(Operation::Ldmatrix(matrices), ScalarType::B32, &targets, &[]);
        load.memory = MemoryReference { elements: 4, ..place }.into();
        Ok(())
    }

    /// `STSM`: matrices to shared memory.
    pub(super) fn store_matrices(&mut self, syntax: &Syntax) -> Lowered {
        let [address, source] = &syntax.operands[..] else { return Err("a store without two operands") };
        let matrices = moved_matrices(syntax)?;
        let values = self.words(source, matrices.count.into())?;
        let place = self.place(address, StateSpace::Shared)?;
        let store = self.emit(Operation::Stmatrix(matrices), ScalarType::B32, &[], &values);
        store.memory = MemoryReference { elements: 4, ..place }.into();
        Ok(())
    }

    /// `QSPC`: whether a generic address lies in a space.
    pub(super) fn query_space(&mut self, syntax: &Syntax) -> Lowered {
        let [out, .., address] = &syntax.operands[..] else { return Err("a question without operands") };
        let Value::Address(address) = &address.value else { return Err("a question without an address") };
        let space = match () {
            () if syntax.has("S") => StateSpace::Shared,
            () if syntax.has("L") => StateSpace::Local,
            () if syntax.has("G") => StateSpace::Global,
            () => return Err("a question of this kind"),
        };
        let target = self.destination(out, Width::One)?;
        let place = self.wide_place(address, StateSpace::Generic)?;
        let base = self.whole_address(place);
        self.emit(Operation::Isspacep(space), ScalarType::U64, &[target], &[base]);
        Ok(())
    }
}

/// The matrices of halves that a mnemonic says.
fn moved_matrices(syntax: &Syntax) -> Lowered<MatrixMove> {
    let words: Vec<&str> = syntax.all_words();
    let (transposed, count) = match words[..] {
        ["16", "M88"] => (false, 1),
        ["16", "M88", "2"] => (false, 2),
        ["16", "M88", "4"] => (false, 4),
        ["16", "MT88"] => (true, 1),
        ["16", "MT88", "2"] => (true, 2),
        ["16", "MT88", "4"] => (true, 4),
        _ => return Err("matrices of this kind"),
    };
    Ok(MatrixMove { count, elements: MovedElements::Halves, transposed })
}

pub(super) fn atomic_op(syntax: &Syntax) -> Option<AtomicOp> {
    syntax.find(|word| {
        Some(match word {
            "ADD" => AtomicOp::Add,
            "MIN" => AtomicOp::Min,
            "MAX" => AtomicOp::Max,
            "INC" => AtomicOp::Inc,
            "DEC" => AtomicOp::Dec,
            "AND" => AtomicOp::And,
            "OR" => AtomicOp::Or,
            "XOR" => AtomicOp::Xor,
            "EXCH" => AtomicOp::Exch,
            "CAS" => AtomicOp::Cas,
            _ => return None,
        })
    })
}

/// The type of an atomic; of the operations on bits the one of bits.
fn atomic_type(syntax: &Syntax, op: AtomicOp) -> Option<ScalarType> {
    let named = syntax.meanings(|word| {
        Some(match word {
            "64" | "U64" => ScalarType::U64,
            "S64" => ScalarType::S64,
            "U32" => ScalarType::U32,
            "S32" => ScalarType::S32,
            "F32" => ScalarType::F32,
            "F64" => ScalarType::F64,
            "F16x2" => ScalarType::F16x2,
            "BF16x2" | "BF16_V2" => ScalarType::Bf16x2,
            _ => return None,
        })
    });
    let ty = named.last().unwrap_or(ScalarType::U32);
    let is_bits = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exch | AtomicOp::Cas);
    Some(match (is_bits, ty.bits()) {
        (false, _) if op == AtomicOp::Add && ty == ScalarType::S64 => ScalarType::U64,
        (false, _) => ty,
        (true, 64) => ScalarType::B64,
        (true, _) => ScalarType::B32,
    })
}
