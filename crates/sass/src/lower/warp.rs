//! Moves, special registers, predicates as bits, exchange between lanes, products of matrices, barriers.

use warplens_ir::{Bank, Operand as Ir, Register, Width};
use warplens_isa::{
    Axis, BarrierKind, BoolOp, CompareOp, FusedMultiplyAdd, MatchMode, MatrixProduct, MatrixShape, MatrixType,
    Operation, Reduction, ReduxOp, ScalarType, ShuffleMode, Sparsity, SpecialRegister, StateSpace, VoteMode,
};

use super::integer::bool_op;
use super::opcodes::End;
use super::operands::{
    FIRST_TEMPORARY, Lowered, Lowering, PREDICATES, TEMPORARY_PREDICATES, TEMPORARY_WORDS, compare, opposite, word,
};
use crate::syntax::{Operand, Syntax, Value};

impl Lowering<'_> {
    /// `MOV`, `UMOV`, `R2UR`.
    pub(super) fn move_word(&mut self, syntax: &Syntax) -> Lowered {
        let n_before = syntax.operands.iter().take_while(|operand| operand.is_predicate()).count();
        let (differs, operands) = syntax.operands.split_at(n_before);
        let operands: Vec<&Operand> = operands.iter().collect();
        // The mask of bytes, where it stands.
        let ([destination, source] | [destination, source, _]) = operands[..] else {
            return Err("a move without two operands");
        };
        if let Some(&[_, _, mask]) = operands.first_chunk::<3>()
            && mask.integer() != Some(0xf)
        {
            return Err("a move of some bytes");
        }
        if syntax.has("64") {
            let target = self.destination(destination, Width::Pair)?;
            let value = self.pair(source)?;
            self.copy(target, value);
            return Ok(());
        }
        let target = self.destination(destination, Width::Word)?;
        let value = match self.facts.relocated.get(&self.address) {
            Some(relocated) => {
                let pair = self.emit_pair(Operation::Mov, ScalarType::B64, &[relocated.operand]);
                Ir::Register(word(pair.index + u32::from(relocated.is_upper)))
            }
            None => self.word(source)?,
        };
        self.copy(target, value);
        self.tell_difference(syntax, differs, (target, value))
    }

    /// `R2UR` with a predicate: the lanes whose value is another than the one that became uniform; with `OR` also those that
    /// had the predicate before.
    fn tell_difference(
        &mut self,
        syntax: &Syntax,
        differs: &[Operand],
        (taken, value): (Option<Register>, Ir),
    ) -> Lowered {
        let [differs] = differs else {
            return if differs.is_empty() { Ok(()) } else { Err("a move with several predicates") };
        };
        let accumulates = syntax.has("OR");
        let Some(out) = self.destination(differs, Width::One)? else { return Ok(()) };
        let taken = match taken {
            Some(taken) => Ir::Register(taken),
            None => self.of_first_lane(value),
        };
        let is_other = self.emit_predicate(compare(CompareOp::Ne), ScalarType::B32, &[value, taken]);
        if accumulates {
            self.emit(Operation::Or, ScalarType::Pred, &[Some(out)], &[is_other, Ir::Register(out)]);
        } else {
            self.copy(Some(out), is_other);
        }
        Ok(())
    }

    /// The value that the first of the lanes has that are here.
    fn of_first_lane(&mut self, value: Ir) -> Ir {
        let present = self.present();
        let sources = [value, self.first_of(present), Ir::Immediate(0x1f)];
        self.emit_word(Operation::Shfl(ShuffleMode::Index), ScalarType::B32, &sources)
    }

    /// The number of the first lane of a mask.
    fn first_of(&mut self, mask: Ir) -> Ir {
        let reversed = self.emit_word(Operation::Brev, ScalarType::B32, &[mask]);
        self.emit_word(Operation::Clz, ScalarType::B32, &[reversed])
    }

    /// `S2R`, `S2UR`, `CS2R`, `CS2UR`.
    pub(super) fn read_special(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a read without two operands") };
        let Value::Word(name) = &source.value else { return Err("a read of no special register") };
        // A factor of where the driver's values for clusters lie, which are found without it.
        if name == "SR_CgaSize" {
            let target = self.destination(destination, Width::Word)?;
            self.copy(target, Ir::Immediate(0));
            return Ok(());
        }
        let is_wide = syntax.base().starts_with("CS2") && !syntax.has("32");
        if is_wide {
            let target = self.destination(destination, Width::Pair)?;
            let special = match name.as_str() {
                "SRZ" => {
                    self.copy(target, Ir::Immediate(0));
                    return Ok(());
                }
                "SR_CLOCKLO" => SpecialRegister::Clock64,
                "SR_GLOBALTIMERLO" => SpecialRegister::Globaltimer,
                _ => return Err("a special register of 64 bits that is not known"),
            };
            self.emit(Operation::ReadSpecial, ScalarType::U64, &[target], &[Ir::Special(special)]);
            return Ok(());
        }
        let target = self.destination(destination, Width::Word)?;
        let special = match name.as_str() {
            "SRZ" => {
                self.copy(target, Ir::Immediate(0));
                return Ok(());
            }
            "SR_SWINHI" => {
                let window = self.window(StateSpace::Shared);
                self.copy(target, Ir::Register(word(window.index + 1)));
                return Ok(());
            }
            "SR_TID" => {
                let value = self.packed_thread();
                self.copy(target, value);
                return Ok(());
            }
            "SR_CgaCtaId" => {
                let rank = self.rank();
                self.copy(target, rank);
                return Ok(());
            }
            name => special(name).ok_or("a special register that is not known")?,
        };
        self.emit(Operation::ReadSpecial, ScalarType::U32, &[target], &[Ir::Special(special)]);
        Ok(())
    }

    /// The three indices of the thread in one word.
    fn packed_thread(&mut self) -> Ir {
        let mut packed = self.special(SpecialRegister::Tid(Axis::X));
        for (axis, first) in [(Axis::Y, 16), (Axis::Z, 26)] {
            let index = self.special(SpecialRegister::Tid(axis));
            let shifted = self.emit_word(Operation::Shl, ScalarType::B32, &[index, Ir::Immediate(first)]);
            packed = self.emit_word(Operation::Or, ScalarType::B32, &[packed, shifted]);
        }
        packed
    }

    /// `P2R`: predicates as bits of a word.
    pub(super) fn predicates_to_word(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, which, rest, mask] = &syntax.operands[..] else { return Err("predicates of this kind") };
        if which.value != Value::Word("PR".into()) || !destination.suffixes.is_empty() || syntax.first().is_some() {
            return Err("predicates of this kind");
        }
        let mask = mask.integer().ok_or("predicates under a mask that is no number")? as u64;
        let target = self.destination(destination, Width::Word)?;
        let rest = self.word(rest)?;
        let mut bits = match rest {
            Ir::Immediate(value) => Ir::Immediate(value & !mask & 0xffff_ffff),
            rest => self.emit_word(Operation::And, ScalarType::B32, &[rest, Ir::Immediate(!mask & 0xffff_ffff)]),
        };
        for index in (0..PREDICATES).filter(|index| mask >> index & 1 == 1) {
            let sources = [Ir::Immediate(1 << index), Ir::Immediate(0), Ir::Register(Register::predicate(index))];
            let bit = self.emit_word(Operation::Selp, ScalarType::B32, &sources);
            bits = self.emit_word(Operation::Or, ScalarType::B32, &[bits, bit]);
        }
        self.copy(target, bits);
        Ok(())
    }

    /// `R2P`: bits of a word as predicates.
    pub(super) fn word_to_predicates(&mut self, syntax: &Syntax) -> Lowered {
        let [which, source, mask] = &syntax.operands[..] else { return Err("predicates of this kind") };
        if which.value != Value::Word("PR".into()) {
            return Err("predicates of this kind");
        }
        let mask = mask.integer().ok_or("predicates under a mask that is no number")? as u64;
        let first = match source.suffixes.first().map(String::as_str) {
            None | Some("B0") => 0,
            Some("B1") => 8,
            Some("B2") => 16,
            Some("B3") => 24,
            Some(_) => return Err("predicates of this kind"),
        };
        let bits = self.plain(&source.value, ScalarType::B32)?;
        for index in (0..PREDICATES).filter(|index| mask >> index & 1 == 1) {
            let bit = self.emit_word(Operation::And, ScalarType::B32, &[bits, Ir::Immediate(1 << (first + index))]);
            let target = Register::predicate(index);
            self.emit(compare(CompareOp::Ne), ScalarType::B32, &[Some(target)], &[bit, Ir::Immediate(0)]);
        }
        Ok(())
    }

    /// `PLOP3` and `UPLOP3`: two functions of three predicates.
    pub(super) fn predicate_logic(&mut self, syntax: &Syntax) -> Lowered {
        let [first, second, a, b, c, tables @ ..] = &syntax.operands[..] else {
            return Err("logic without five operands");
        };
        let sources = [self.predicate(a)?, self.predicate(b)?, self.predicate(c)?];
        let mut results = Vec::new();
        for (out, table) in [first, second].into_iter().zip(tables) {
            let table = table.integer().ok_or("logic without its table")? as u64;
            if let Some(out) = self.destination(out, Width::One)? {
                results.push((out, self.function_of(sources, table)?));
            }
        }
        for (out, result) in results {
            self.copy(Some(out), result);
        }
        Ok(())
    }

    /// A function of three predicates by its table, in which the first counts four.
    fn function_of(&mut self, sources: [Ir; 3], table: u64) -> Lowered<Ir> {
        let known = sources.map(|source| match source {
            Ir::Immediate(value) => Some(value),
            _ => None,
        });
        let open: Vec<usize> = (0..3).filter(|&at| known[at].is_none()).collect();
        let value = |bits: u64| {
            let index = (0..3).fold(0, |index, at| {
                let bit = known[at].unwrap_or_else(|| {
                    let position = open.iter().position(|&other| other == at).unwrap_or(0);
                    bits >> position & 1
                });
                index << 1 | bit
            });
            table >> index & 1
        };
        let reduced = (0..1_u64 << open.len()).fold(0, |reduced, bits| reduced | value(bits) << bits);
        let open: Vec<Ir> = open.iter().map(|&at| sources[at]).collect();
        Ok(match (&open[..], reduced) {
            ([], value) => Ir::Immediate(value & 1),
            ([_] | [_, _] | [_, _, _], 0) => Ir::Immediate(0),
            ([_], 3) => Ir::Immediate(1),
            ([a], 2) => *a,
            ([a], _) => opposite(*a)?,
            ([a, b], reduced) => {
                // Bit 0 of the index is the first.
                let mut pair = |operation, a, b| self.emit_predicate(operation, ScalarType::Pred, &[a, b]);
                match reduced {
                    0b1000 => pair(Operation::And, *a, *b),
                    0b1110 => pair(Operation::Or, *a, *b),
                    0b0110 => pair(Operation::Xor, *a, *b),
                    0b0010 => pair(Operation::And, *a, opposite(*b)?),
                    0b0100 => pair(Operation::And, opposite(*a)?, *b),
                    0b0001 => pair(Operation::And, opposite(*a)?, opposite(*b)?),
                    0b1001 => pair(Operation::Xor, *a, opposite(*b)?),
                    0b1011 => pair(Operation::Or, *a, opposite(*b)?),
                    0b1101 => pair(Operation::Or, opposite(*a)?, *b),
                    0b0111 => pair(Operation::Or, opposite(*a)?, opposite(*b)?),
                    0b1010 => *a,
                    0b1100 => *b,
                    0b0101 => opposite(*a)?,
                    0b0011 => opposite(*b)?,
                    _ => Ir::Immediate(1),
                }
            }
            (open, _) => {
                let words: Vec<Ir> = open
                    .iter()
                    .map(|&source| {
                        let sources = [Ir::Immediate(1), Ir::Immediate(0), source];
                        self.emit_word(Operation::Selp, ScalarType::B32, &sources)
                    })
                    .collect();
                let sources = [words[0], words[1], words[2], Ir::Immediate(table)];
                let result = self.emit_word(Operation::Lop3(Default::default()), ScalarType::B32, &sources);
                // The table's answer to three zeros stands in all other bits.
                let bit = self.emit_word(Operation::And, ScalarType::B32, &[result, Ir::Immediate(1)]);
                self.emit_predicate(compare(CompareOp::Ne), ScalarType::B32, &[bit, Ir::Immediate(0)])
            }
        })
    }

    /// `SHFL`.
    pub(super) fn shuffle(&mut self, syntax: &Syntax) -> Lowered {
        let [out, destination, value, lane, clamp] = &syntax.operands[..] else {
            return Err("a shuffle without five operands");
        };
        let mode = match syntax.first() {
            Some("IDX") => ShuffleMode::Index,
            Some("UP") => ShuffleMode::Up,
            Some("DOWN") => ShuffleMode::Down,
            Some("BFLY") => ShuffleMode::Butterfly,
            _ => return Err("a shuffle of this kind"),
        };
        let targets = [self.destination(destination, Width::Word)?, self.destination(out, Width::One)?];
        let sources = [self.word(value)?, self.word(lane)?, self.word(clamp)?];
        let targets = if targets[1].is_some() { &targets[..] } else { &targets[..1] };
        self.emit(Operation::Shfl(mode), ScalarType::B32, targets, &sources);
        Ok(())
    }

    /// `VOTE` and `VOTEU`.
    pub(super) fn vote(&mut self, syntax: &Syntax) -> Lowered {
        let Some((source, outs)) = syntax.operands.split_last() else { return Err("a vote without operands") };
        let source = self.predicate(source)?;
        for out in outs {
            let (mode, ty) = match (out.is_predicate(), syntax.first()) {
                (false, _) => (VoteMode::Ballot, ScalarType::B32),
                (true, Some("ALL")) => (VoteMode::All, ScalarType::Pred),
                (true, Some("ANY")) => (VoteMode::Any, ScalarType::Pred),
                (true, Some("EQ")) => (VoteMode::Uniform, ScalarType::Pred),
                _ => return Err("a vote of this kind"),
            };
            if let Some(target) = self.destination(out, Width::Word)? {
                self.emit(Operation::Vote(mode), ty, &[Some(target)], &[source]);
            }
        }
        Ok(())
    }

    /// The lanes that are here, as a member mask.
    pub(super) fn present(&mut self) -> Ir {
        self.emit_word(Operation::Activemask, ScalarType::B32, &[])
    }

    /// `MATCH`.
    pub(super) fn match_lanes(&mut self, syntax: &Syntax) -> Lowered {
        let (out, operands) = match &syntax.operands[..] {
            [out, operands @ ..] if out.is_predicate() => (Some(out), operands),
            operands => (None, operands),
        };
        let [destination, value] = operands else { return Err("a match without two operands") };
        let mode = match (syntax.has("ALL"), syntax.has("ANY")) {
            (true, false) => MatchMode::All,
            (false, true) => MatchMode::Any,
            _ => return Err("a match of this kind"),
        };
        let is_wide = syntax.has("U64");
        let target = self.destination(destination, Width::Word)?;
        let out = out.map(|out| self.destination(out, Width::One)).transpose()?.flatten();
        let value = if is_wide { self.pair(value)? } else { self.word(value)? };
        let members = self.present();
        let targets = if out.is_some() { vec![target, out] } else { vec![target] };
        let ty = if is_wide { ScalarType::B64 } else { ScalarType::B32 };
        self.emit(Operation::Match(mode), ty, &targets, &[value, members]);
        Ok(())
    }

    /// `REDUX` and `CREDUX`.
    pub(super) fn reduce_lanes(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, value] = &syntax.operands[..] else { return Err("a reduction without two operands") };
        let op = match syntax.first() {
            None => ReduxOp::And,
            Some("SUM") => ReduxOp::Add,
            Some("MIN") => ReduxOp::Min,
            Some("MAX") => ReduxOp::Max,
            Some("OR") => ReduxOp::Or,
            Some("XOR") => ReduxOp::Xor,
            _ => return Err("a reduction of this kind"),
        };
        let is_float = syntax.has("F32");
        let ty = match op {
            ReduxOp::Min | ReduxOp::Max if is_float => ScalarType::F32,
            _ if is_float => return Err("a reduction of this kind"),
            ReduxOp::And | ReduxOp::Or | ReduxOp::Xor => ScalarType::B32,
            _ if syntax.has("S32") => ScalarType::S32,
            _ => ScalarType::U32,
        };
        let target = self.destination(destination, Width::Word)?;
        let abs = is_float && value.absolute;
        let value = if abs { self.plain(&value.value, ScalarType::F32)? } else { self.word(value)? };
        let members = self.present();
        let reduction = Operation::Redux(Reduction { op, abs, nan: syntax.has("NAN") });
        self.emit(reduction, ty, &[target], &[value, members]);
        Ok(())
    }

    /// `ELECT`.
    pub(super) fn elect(&mut self, syntax: &Syntax) -> Lowered {
        let [out, destination, among] = &syntax.operands[..] else { return Err("an election without three operands") };
        if self.predicate(among)? != Ir::Immediate(1) {
            return Err("an election of this kind");
        }
        let targets = [self.destination(destination, Width::Word)?, self.destination(out, Width::One)?];
        let members = self.present();
        self.emit(Operation::Elect, ScalarType::B32, &targets, &[members]);
        Ok(())
    }

    /// `MOVM`: a transposed matrix.
    pub(super) fn transpose(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a transpose without two operands") };
        if syntax.meanings(|word| matches!(word, "16" | "MT88").then_some(())).count() != 2 {
            return Err("a transpose of this kind");
        }
        let target = self.destination(destination, Width::Word)?;
        let source = self.word(source)?;
        self.emit(Operation::Movmatrix, ScalarType::B32, &[target], &[source]);
        Ok(())
    }

    /// `HMMA`, `IMMA` and `DMMA`: products of matrices.
    pub(super) fn matrix_product(&mut self, syntax: &Syntax) -> Lowered {
        let mut product = matrix_product(syntax).ok_or("a product of matrices of this kind")?;
        let [destination, a, b, c, sparse @ ..] = &syntax.operands[..] else {
            return Err("a product of matrices without four operands");
        };
        let metadata = match sparse {
            [] if !syntax.has("SP") => None,
            [metadata, selector] if syntax.has("SP") => {
                let selector = selector.integer().and_then(|selector| u8::try_from(selector).ok());
                let selector = selector.filter(|selector| *selector < 4).ok_or("a sparse product of this kind")?;
                product.sparsity = Some(Sparsity { selector, ordered: false });
                Some(self.word(metadata)?)
            }
            _ => return Err("a product of matrices of this kind"),
        };
        let [n_d, n_a, n_b, n_c] = product.registers();
        let mut targets = Vec::new();
        let mut sources = Vec::new();
        if product.is_double() {
            let pairs = |operand: &Operand, n: usize| -> Lowered<Vec<Option<Register>>> {
                Ok((0..n as u32)
                    .map(|at| match operand.value {
                        Value::Register(Some(first)) => Some(Register::vector(first + 2 * at, Width::Pair)),
                        _ => None,
                    })
                    .collect())
            };
            targets.extend(pairs(destination, n_d)?);
            for (operand, n) in [(a, n_a), (b, n_b), (c, n_c)] {
                for register in pairs(operand, n)? {
                    sources.push(match register {
                        None => Ir::Immediate(0),
                        Some(register) if operand.negated => {
                            let negated = Operation::Fma(FusedMultiplyAdd::default());
                            let one = Ir::Immediate((-1.0_f64).to_bits());
                            let sources = [Ir::Register(register), one, Ir::Immediate(minus_zero())];
                            Ir::Register(self.emit_pair(negated, ScalarType::F64, &sources))
                        }
                        Some(register) => Ir::Register(register),
                    });
                }
            }
        } else {
            if [a, b, c].iter().any(|operand| operand.negated) {
                return Err("a product of matrices with a sign");
            }
            targets = self.destinations(destination, n_d as u32)?;
            for (operand, n) in [(a, n_a), (b, n_b), (c, n_c)] {
                sources.extend(self.words(operand, n as u32)?);
            }
        }
        sources.extend(metadata);
        let ty = product.types[0].register();
        self.emit(Operation::Mma(product), ty, &targets, &sources);
        Ok(())
    }

    /// `BAR`: barriers of a CTA.
    pub(super) fn barrier(&mut self, syntax: &Syntax) -> Lowered {
        let kind = match () {
            () if syntax.has("ARV") => BarrierKind::Arrive,
            () if syntax.has("RED") && syntax.has("POPC") => BarrierKind::ReducePopc,
            () if syntax.has("RED") && syntax.has("AND") => BarrierKind::ReduceAnd,
            () if syntax.has("RED") && syntax.has("OR") => BarrierKind::ReduceOr,
            () if syntax.has("SYNC") => BarrierKind::Sync,
            () => return Err("a barrier of this kind"),
        };
        let mut sources = Vec::new();
        if let [number, count, ..] = &syntax.operands[..]
            && number == count
            && matches!(number.value, Value::Register(Some(_)))
        {
            return self.packed_barrier(kind, number);
        }
        for operand in &syntax.operands {
            sources.push(if operand.is_predicate() { self.predicate(operand)? } else { self.word(operand)? });
        }
        let target = match kind {
            BarrierKind::Sync | BarrierKind::Arrive => vec![],
            BarrierKind::ReducePopc => vec![Some(Self::reduced_word())],
            BarrierKind::ReduceAnd | BarrierKind::ReduceOr => vec![Some(reduced_predicate())],
        };
        let ty = if kind == BarrierKind::ReducePopc { ScalarType::U32 } else { ScalarType::Pred };
        self.emit(Operation::Bar(kind), ty, &target, &sources);
        Ok(())
    }

    /// A barrier whose number and threads come in one register: the number in its low four bits, from bit 16 on the threads,
    /// of which 0 are all of the CTA.
    fn packed_barrier(&mut self, kind: BarrierKind, register: &Operand) -> Lowered {
        if !matches!(kind, BarrierKind::Sync | BarrierKind::Arrive) {
            return Err("a barrier of this kind");
        }
        let packed = self.word(register)?;
        let number = self.emit_word(Operation::And, ScalarType::B32, &[packed, Ir::Immediate(0xf)]);
        let count = self.emit_word(Operation::Shr, ScalarType::U32, &[packed, Ir::Immediate(16)]);
        let mut threads = self.special(SpecialRegister::Ntid(Axis::X));
        for axis in [Axis::Y, Axis::Z] {
            let extent = self.special(SpecialRegister::Ntid(axis));
            threads = self.emit_word(Operation::Mul(Default::default()), ScalarType::U32, &[threads, extent]);
        }
        let threads = self.emit_word(super::operands::ADD, ScalarType::U32, &[threads, Ir::Immediate(31)]);
        let threads = self.emit_word(Operation::And, ScalarType::B32, &[threads, Ir::Immediate(0xffff_ffe0)]);
        let is_given = self.emit_predicate(compare(CompareOp::Ne), ScalarType::U32, &[count, Ir::Immediate(0)]);
        let count = self.emit_word(Operation::Selp, ScalarType::B32, &[count, threads, is_given]);
        self.emit(Operation::Bar(kind), ScalarType::Pred, &[], &[number, count]);
        Ok(())
    }

    /// `B2R.RESULT`: what the last reducing barrier found.
    pub(super) fn barrier_result(&mut self, syntax: &Syntax) -> Lowered {
        if !syntax.has("RESULT") {
            return Err("a barrier's state");
        }
        for out in &syntax.operands {
            let target = self.destination(out, Width::Word)?;
            let result = if out.is_predicate() { reduced_predicate() } else { Self::reduced_word() };
            self.copy(target, Ir::Register(result));
        }
        Ok(())
    }

    /// The word that stands for the result of a barrier: behind the temporaries.
    const fn reduced_word() -> Register {
        word(FIRST_TEMPORARY + TEMPORARY_WORDS)
    }

    /// `WARPSYNC`.
    pub(super) fn warp_barrier(&mut self, syntax: &Syntax) -> Lowered {
        let mask = match syntax.operands.first() {
            Some(mask) if !syntax.has("ALL") => self.word(mask)?,
            _ => Ir::Immediate(u64::from(u32::MAX)),
        };
        self.emit(Operation::BarWarp, ScalarType::B32, &[], &[mask]);
        Ok(())
    }

    /// `WARPSYNC.EXCLUSIVE`: the lanes of a mask meet, and run without others from there on.
    pub(super) fn warp_parts(&mut self, syntax: &Syntax) -> Lowered<End> {
        let [mask] = &syntax.operands[..] else { return Err("a barrier of this kind") };
        let mask = self.word(mask)?;
        self.emit(Operation::BarWarp, ScalarType::B32, &[], &[mask]);
        let first = self.first_of(mask);
        let first = self.emit_pair(Operation::Pack, ScalarType::B64, &[first, Ir::Immediate(0)]);
        self.emit(Operation::Jump, ScalarType::U64, &[], &[Ir::Register(first)]);
        Ok(End::Apart)
    }

    /// `LEPC`: the address of the instruction, or of a place that it names.
    pub(super) fn own_address(&mut self, syntax: &Syntax) -> Lowered {
        let (destination, address) = match &syntax.operands[..] {
            [destination] => (destination, self.address),
            [destination, place] => (destination, place.integer().ok_or("an address of no place")? as u64),
            _ => return Err("an address of this kind"),
        };
        let target = self.destination(destination, Width::Pair)?;
        self.copy(target, Ir::Immediate(address));
        Ok(())
    }

    /// `BMSK`, `SGXT`: with amounts that clamp or wrap.
    pub(super) fn field(&mut self, syntax: &Syntax) -> Lowered {
        let mode = if syntax.has("W") { warplens_isa::ShiftMode::Wrap } else { warplens_isa::ShiftMode::Clamp };
        let (operation, ty) = if syntax.base().contains("BMSK") {
            (Operation::Bmsk(mode), ScalarType::B32)
        } else if syntax.has("U32") {
            (Operation::Szext(mode), ScalarType::U32)
        } else {
            (Operation::Szext(mode), ScalarType::S32)
        };
        self.plain_words(operation, ty, syntax)
    }

    /// `BRA.DIV`: whether a lane of the mask is elsewhere. `BRA.CONV` asks the opposite.
    pub(super) fn is_parted(&mut self, mask: Ir, is_parted: bool) -> Ir {
        let here = self.present();
        let absent = self.emit_word(Operation::Not, ScalarType::B32, &[here]);
        let missing = self.emit_word(Operation::And, ScalarType::B32, &[mask, absent]);
        let op = if is_parted { CompareOp::Ne } else { CompareOp::Eq };
        self.emit_predicate(compare(op), ScalarType::B32, &[missing, Ir::Immediate(0)])
    }
}

const fn minus_zero() -> u64 {
    1 << 63
}

/// The predicate that stands for the result of a barrier: behind the temporaries.
const fn reduced_predicate() -> Register {
    Register { bank: Bank::Predicate, width: Width::One, index: PREDICATES + TEMPORARY_PREDICATES }
}

fn special(name: &str) -> Option<SpecialRegister> {
    Some(match name {
        "SR_TID.X" => SpecialRegister::Tid(Axis::X),
        "SR_TID.Y" => SpecialRegister::Tid(Axis::Y),
        "SR_TID.Z" => SpecialRegister::Tid(Axis::Z),
        "SR_CTAID.X" => SpecialRegister::Ctaid(Axis::X),
        "SR_CTAID.Y" => SpecialRegister::Ctaid(Axis::Y),
        "SR_CTAID.Z" => SpecialRegister::Ctaid(Axis::Z),
        "SR_LANEID" => SpecialRegister::Laneid,
        "SR_VIRTUALSMID" | "SR_SMID" => SpecialRegister::Smid,
        "SR_EQMASK" => SpecialRegister::LanemaskEq,
        "SR_LEMASK" => SpecialRegister::LanemaskLe,
        "SR_LTMASK" => SpecialRegister::LanemaskLt,
        "SR_GEMASK" => SpecialRegister::LanemaskGe,
        "SR_GTMASK" => SpecialRegister::LanemaskGt,
        "SR_CLOCKLO" => SpecialRegister::Clock,
        "SR_CLOCKHI" => SpecialRegister::ClockHi,
        "SR_GLOBALTIMERLO" => SpecialRegister::GlobaltimerLo,
        "SR_GLOBALTIMERHI" => SpecialRegister::GlobaltimerHi,
        _ => return None,
    })
}

/// The product that a mnemonic says: its shape and its types.
fn matrix_product(syntax: &Syntax) -> Option<MatrixProduct> {
    let shape = |m, n, k| Some(MatrixShape { m, n, k });
    let shape = syntax.find(|word| match word {
        "16816" => shape(16, 8, 16),
        "16832" => shape(16, 8, 32),
        "16864" => shape(16, 8, 64),
        "1688" => shape(16, 8, 8),
        "1684" => shape(16, 8, 4),
        "8816" => shape(8, 8, 16),
        "8832" => shape(8, 8, 32),
        "88128" => shape(8, 8, 128),
        "168128" => shape(16, 8, 128),
        "168256" => shape(16, 8, 256),
        "884" | "8x8x4" => shape(8, 8, 4),
        "16x8x4" => shape(16, 8, 4),
        "16x8x8" => shape(16, 8, 8),
        "16x8x16" => shape(16, 8, 16),
        _ => None,
    })?;
    let types = match syntax.base() {
        "DMMA" => [MatrixType::F64; 4],
        "HMMA" => {
            let sum = match (syntax.has("F32"), syntax.has("F16")) {
                (true, _) => MatrixType::F32,
                (false, true) => MatrixType::F16,
                _ => return None,
            };
            let factor = match () {
                () if syntax.has("BF16") => MatrixType::Bf16,
                () if syntax.has("TF32") => MatrixType::Tf32,
                () => MatrixType::F16,
            };
            [sum, factor, factor, sum]
        }
        "IMMA" => {
            let mut factors = syntax.meanings(|word| match word {
                "S8" => Some(MatrixType::S8),
                "U8" => Some(MatrixType::U8),
                "S4" => Some(MatrixType::S4),
                "U4" => Some(MatrixType::U4),
                _ => None,
            });
            [MatrixType::S32, factors.next()?, factors.next()?, MatrixType::S32]
        }
        "QMMA" => {
            let sum = if syntax.has("F32") { MatrixType::F32 } else { MatrixType::F16 };
            let mut factors = syntax.meanings(|word| match word {
                "E4M3" => Some(MatrixType::E4m3),
                "E5M2" => Some(MatrixType::E5m2),
                _ => None,
            });
            [sum, factors.next()?, factors.next()?, sum]
        }
        "BMMA" => [MatrixType::S32, MatrixType::B1, MatrixType::B1, MatrixType::S32],
        _ => return None,
    };
    if syntax.base() == "HMMA" && shape.m == 8 {
        return None;
    }
    if syntax.base() == "BMMA" {
        let op = match (syntax.has("POPC"), bool_op(syntax)) {
            (true, Some(op @ (BoolOp::Xor | BoolOp::And))) => op,
            _ => return None,
        };
        return Some(MatrixProduct { combination: Some(op), ..MatrixProduct::new(shape, types) });
    }
    Some(MatrixProduct { satfinite: syntax.has("SAT"), ..MatrixProduct::new(shape, types) })
}
