//! What each mnemonic is lowered to.

use warplens_ir::{Bank, Operand as Ir, Register, Width};
use warplens_isa::{Branch, ClusterPhase, Operation, Product, ScalarType, VoteMode};

use super::operands::{ADD, Lowered, Lowering};
use crate::syntax::{Operand, Syntax, Value};

/// How control goes on behind an instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum End {
    /// To the next one.
    Next,
    /// To an address, where the guard holds.
    Branch(u64),
    /// To an address that one comes back from, where the guard holds.
    Call(u64),
    /// To the address in a register.
    Jump,
    /// To the next one, each group of lanes for itself.
    Apart,
    /// To the next one, once the lanes of a convergence barrier are there.
    Meeting,
    /// The thread ends.
    Exit,
    /// The launch is aborted.
    Trap,
}

/// Everything that the mnemonic says was looked at, or changes no value: what caches keep, how far an order reaches, how
/// lanes come together.
pub(super) fn is_understood(syntax: &Syntax) -> bool {
    let base = syntax.base();
    let changes_nothing = |word: &str| match word {
        "E" | "STRONG" | "SYS" | "GPU" | "SM" | "CTA" | "VC" | "SC" | "WEAK" | "CONSTANT" | "PRIVATE" => true,
        "EF" | "EL" | "EU" | "LU" | "NA" | "BYPASS" | "LTC64B" | "LTC128B" | "LTC256B" | "DEFER_BLOCKING" => true,
        "RN" | "LUT" | "U" | "RECONVERGENT" | "RELIABLE" | "NODEC" | "NOINC" => true,
        "ALL" | "COLLECTIVE" => base == "WARPSYNC",
        // Predicates among the operands say the same.
        "X" => matches!(base, "IADD3" | "UIADD3" | "LEA" | "ULEA" | "IMAD" | "UIMAD"),
        "ZFILL" => base == "LDGSTS",
        "LE" | "DEPBAR" => matches!(base, "DEPBAR" | "WARPGROUP"),
        // Not a number is 0 as an integer.
        "NTZ" => matches!(base, "F2I" | "UF2I"),
        "32" => matches!(base, "BMOV" | "CS2R"),
        "BROADCAST" => base == "R2UR",
        // Atomics of floats of 32 bits flush subnormal numbers, as those of PTX do.
        "FTZ" => base.starts_with("ATOM") || base.starts_with("RED"),
        _ => false,
    };
    syntax.meanings(|word| changes_nothing(word).then_some(())).for_each(drop);
    syntax.not_understood().is_none()
}

impl Lowering<'_> {
    /// Lowers an instruction.
    pub(super) fn instruction(&mut self, syntax: &Syntax) -> Lowered<End> {
        match syntax.base() {
            "BRA" | "JMP" | "BRX" | "JMX" | "CALL" | "RET" | "EXIT" | "BPT" | "BSSY" | "BSYNC" | "BREAK" | "BMOV" => {
                self.control(syntax)
            }
            "WARPSYNC" if syntax.has("EXCLUSIVE") => self.warp_parts(syntax),
            base => self.computation(base, syntax).map(|()| End::Next),
        }
    }

    fn computation(&mut self, base: &str, syntax: &Syntax) -> Lowered {
        match base {
            "VIADD" if syntax.has("U8x4") => self.sum_of_bytes(syntax),
            "IADD3" | "UIADD3" | "IADD" | "UIADD" | "VIADD" => self.integer_sum(syntax),
            "IMAD" | "UIMAD" => self.integer_product(syntax),
            "IMUL" => self.plain_words(Operation::Mul(Product::default()), ScalarType::U32, syntax),
            "LEA" | "ULEA" => self.shifted_sum(syntax),
            "SHF" | "USHF" => self.funnel_shift(syntax),
            "LOP3" | "ULOP3" => self.logic(syntax),
            "FLO" | "UFLO" => self.find_one(syntax),
            "POPC" | "UPOPC" => self.plain_words(Operation::Popc, ScalarType::B32, syntax),
            "BREV" | "UBREV" => self.plain_words(Operation::Brev, ScalarType::B32, syntax),
            "PRMT" | "UPRMT" => self.permute(syntax),
            "BMSK" | "UBMSK" | "SGXT" | "USGXT" => self.field(syntax),
            "IABS" => self.integer_magnitude(syntax),
            "IMNMX" | "UIMNMX" | "VIMNMX" | "UVIMNMX" | "VIMNMX3" | "UVIMNMX3" | "VIADDMNMX" => {
                self.integer_extremum(syntax)
            }
            "VABSDIFF" => self.distance(syntax),
            "VABSDIFF4" => self.distances_of_bytes(syntax),
            "IDP" => self.dot_product(syntax),
            "ISETP" | "UISETP" => self.integer_comparison(syntax),
            "I2I" => self.narrowed(syntax),

            "FADD" | "FMUL" | "FFMA" | "UFADD" | "UFMUL" | "UFFMA" | "DADD" | "DMUL" | "DFMA" => {
                self.float_arithmetic(syntax)
            }
            "FSETP" | "UFSETP" | "DSETP" => self.float_comparison(syntax),
            "FSET" => self.float_set(syntax),
            "FMNMX" | "FMNMX3" => self.float_extremum(syntax),
            "SEL" | "FSEL" | "USEL" | "UFSEL" => self.select(syntax),
            "MUFU" => self.special_function(syntax),
            "FCHK" => self.quotient_check(syntax),
            "HADD2" | "HMUL2" | "HFMA2" | "HMNMX2" => self.half_arithmetic(syntax),

            "HSETP2" => self.half_comparison(syntax),
            "HSET2" => self.half_set(syntax),

            "F2F" => self.float_to_float(syntax),
            "FRND" | "UFRND" => self.float_round(syntax),
            "F2I" | "UF2I" => self.float_to_integer(syntax),
            "I2F" | "UI2F" | "I2FP" | "UI2FP" => self.integer_to_float(syntax),
            "F2FP" => self.pack_floats(syntax),

            "MOV" | "UMOV" | "R2UR" => self.move_word(syntax),
            "S2R" | "S2UR" | "CS2R" | "CS2UR" => self.read_special(syntax),
            "LEPC" => self.own_address(syntax),
            "P2R" => self.predicates_to_word(syntax),
            "R2P" => self.word_to_predicates(syntax),
            "PLOP3" | "UPLOP3" => self.predicate_logic(syntax),
            "SHFL" => self.shuffle(syntax),
            "VOTE" | "VOTEU" => self.vote(syntax),
            "MATCH" => self.match_lanes(syntax),
            "REDUX" | "CREDUX" => self.reduce_lanes(syntax),
            "ELECT" => self.elect(syntax),
            "MOVM" => self.transpose(syntax),
            "HMMA" | "IMMA" | "DMMA" | "BMMA" | "QMMA" => self.matrix_product(syntax),
            "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" => self.group_product(syntax),
            "LDSM" => self.load_matrices(syntax),
            "STSM" => self.store_matrices(syntax),

            "LDG" | "LDS" | "LDL" | "LD" => self.load(syntax),
            "STG" | "STS" | "STL" | "ST" => self.store(syntax),
            "LDC" | "LDCU" | "ULDC" => self.load_constant(syntax),
            "LDGSTS" => self.copy_async(syntax),
            "ATOMG" | "ATOMS" | "ATOM" | "RED" | "REDG" => self.atomic(syntax),
            "SYNCS" => self.memory_barrier(syntax),
            "ARRIVES" => self.copies_arrive(syntax),
            "STAS" | "REDAS" => self.store_async(syntax),
            "UBLKCP" | "UBLKRED" => self.copy_bulk(syntax),
            "UTMALDG" | "UTMASTG" | "UTMAREDG" => self.copy_tensor(syntax),
            "UBLKPF" | "UTMAPF" | "UTMACCTL" => self.prefetch_bulk(syntax),
            "QSPC" => self.query_space(syntax),

            "TEX" | "TLD" | "TLD4" => self.texture_fetch(syntax),
            "SULD" | "SUST" => self.surface_access(syntax),

            "BAR" => self.barrier(syntax),
            "B2R" => self.barrier_result(syntax),
            "WARPSYNC" => self.warp_barrier(syntax),
            "MEMBAR" | "ERRBAR" | "CGAERRBAR" | "FENCE" => {
                syntax.ignore_words();
                self.emit(Operation::Fence, ScalarType::B32, &[], &[]);
                Ok(())
            }
            "UCGABAR_ARV" => {
                self.cluster_barrier(ClusterPhase::Arrive);
                Ok(())
            }
            "UCGABAR_WAIT" => {
                self.cluster_barrier(ClusterPhase::Wait);
                Ok(())
            }
            "LDGDEPBAR" | "UTMACMDFLUSH" => {
                self.emit(Operation::CopyCommit, ScalarType::U32, &[], &[]);
                Ok(())
            }
            "WARPGROUP" if syntax.has("ARRIVE") => {
                self.emit(Operation::Nop, ScalarType::B32, &[], &[]);
                Ok(())
            }
            "DEPBAR" | "WARPGROUP" => {
                // How many groups of copies may be left, for whoever times it.
                let pending = syntax.operands.iter().find_map(Operand::integer).unwrap_or(0);
                self.emit(Operation::CopyWait, ScalarType::U32, &[], &[Ir::Immediate(pending.max(0) as u64)]);
                Ok(())
            }
            // What they wait for or tell caches and schedulers changes no value.
            "NOP" | "YIELD" | "NANOSLEEP" | "CCTL" | "CCTLL" | "CCTLT" | "ENDCOLLECTIVE" | "PMTRIG" | "ACQBULK"
            | "PREEXIT" | "USETMAXREG" => {
                syntax.ignore_words();
                self.emit(Operation::Nop, ScalarType::B32, &[], &[]);
                Ok(())
            }
            _ => Err("not emulated yet"),
        }
    }

    fn control(&mut self, syntax: &Syntax) -> Lowered<End> {
        let operands = &syntax.operands[..];
        match syntax.base() {
            "BRA" => self.branch(syntax),
            "CALL"
                if (syntax.has("REL") || syntax.has("ABS"))
                    && let [Operand { value: Value::Integer(target), .. }] = operands =>
            {
                self.emit(Operation::Bra(Branch::default()), ScalarType::Pred, &[], &[]);
                match self.facts.relocated.get(&self.address).map(|relocated| relocated.operand) {
                    Some(Ir::Immediate(function)) => Ok(End::Call(function)),
                    None if *target != 0 || syntax.has("REL") => Ok(End::Call(*target as u64)),
                    _ => Err("a call of what is not here"),
                }
            }
            "CALL" if syntax.has("REL") => self.jump(operands, "CALL"),
            "CALL" if syntax.has("ABS") => match operands {
                [target @ Operand { value: Value::Register(Some(_)), .. }] => {
                    let address = self.pair(target)?;
                    self.emit(Operation::Jump, ScalarType::U64, &[], &[address]);
                    Ok(End::Jump)
                }
                _ => Err("a call of this kind"),
            },
            "RET" if syntax.has("ABS") => self.jump(operands, "ABS"),
            "RET" if syntax.has("REL") => self.jump(operands, "RET"),
            "BRX" => self.jump(operands, "BRX"),
            "EXIT" => {
                if let [condition] = operands {
                    let condition = self.predicate(condition)?;
                    self.and_guard_by(condition)?;
                }
                self.emit(Operation::Exit, ScalarType::Pred, &[], &[]);
                Ok(End::Exit)
            }
            "BPT" if syntax.has("TRAP") => {
                self.emit(Operation::Trap, ScalarType::Pred, &[], &[]);
                Ok(End::Trap)
            }
            "BSSY" => {
                let barrier = self.convergence(operands.first())?;
                self.emit(Operation::Bssy, ScalarType::Pred, &[Some(barrier)], &[]);
                Ok(End::Next)
            }
            "BSYNC" => {
                let barrier = self.convergence(operands.first())?;
                if self.guard().is_some() || operands.len() > 1 {
                    return Err("a meeting under a condition");
                }
                self.emit(Operation::Bsync, ScalarType::Pred, &[], &[Ir::Register(barrier)]);
                Ok(End::Meeting)
            }
            "BREAK" => {
                let barrier = self.convergence(operands.last())?;
                if let [condition, _] = operands {
                    let condition = self.predicate(condition)?;
                    self.and_guard_by(condition)?;
                }
                self.emit(Operation::Break, ScalarType::Pred, &[], &[Ir::Register(barrier)]);
                Ok(End::Next)
            }
            "BMOV" => self.move_barrier(syntax).map(|()| End::Next),
            _ => Err("not emulated yet"),
        }
    }

    /// A jump by a register. The number behind it is the address of its section, from which a return and a call count; a
    /// branch counts from the next instruction.
    fn jump(&mut self, operands: &[Operand], base: &str) -> Lowered<End> {
        let operands = match operands {
            [condition @ Operand { value: Value::Predicate(_), .. }, operands @ ..] => {
                let condition = self.predicate(condition)?;
                self.and_guard_by(condition)?;
                operands
            }
            operands => operands,
        };
        let [register, rest @ ..] = operands else { return Err("a jump without a register") };
        let displacement = match rest {
            [] => 0,
            [displacement] => displacement.integer().ok_or("a jump of this kind")?,
            _ => return Err("a jump of this kind"),
        };
        let from = match base {
            "ABS" => 0,
            "BRX" => (self.address + crate::WORD_BYTES).wrapping_add_signed(displacement),
            _ => displacement as u64,
        };
        let register = self.pair(register)?;
        let address = Ir::Register(self.emit_pair(ADD, ScalarType::U64, &[register, Ir::Immediate(from)]));
        self.emit(Operation::Jump, ScalarType::U64, &[], &[address]);
        Ok(End::Jump)
    }

    /// What is added from here on takes effect where the guard of any lane holds.
    fn guard_by_any(&mut self) -> Lowered {
        let Some(guard) = self.guard() else { return Ok(()) };
        let own = if guard.negated { Ir::NotPredicate(guard.predicate) } else { Ir::Register(guard.predicate) };
        let any = self.without_guard(|lowering| {
            lowering.emit_predicate(Operation::Vote(VoteMode::Any), ScalarType::Pred, &[own])
        });
        self.guard_by(any)
    }

    fn convergence(&self, operand: Option<&Operand>) -> Lowered<Register> {
        match operand.map(|operand| &operand.value) {
            Some(Value::Barrier(index)) => Ok(Register { bank: Bank::Convergence, width: Width::One, index: *index }),
            _ => Err("a convergence barrier that is none"),
        }
    }

    /// `BMOV`: between a convergence barrier and a register.
    fn move_barrier(&mut self, syntax: &Syntax) -> Lowered {
        let [to, from] = &syntax.operands[..] else { return Err("a move without two operands") };
        if matches!(to.value, Value::Barrier(_)) {
            let barrier = self.convergence(Some(to))?;
            let value = self.word(from)?;
            self.emit(Operation::WriteConvergence, ScalarType::B32, &[Some(barrier)], &[value]);
            return Ok(());
        }
        let barrier = self.convergence(Some(from))?;
        if let Some(target) = self.destination(to, Width::Word)? {
            self.emit(Operation::ReadConvergence, ScalarType::B32, &[Some(target)], &[Ir::Register(barrier)]);
        }
        if syntax.has("CLEAR") {
            self.emit(Operation::WriteConvergence, ScalarType::B32, &[Some(barrier)], &[Ir::Immediate(0)]);
        }
        Ok(())
    }

    /// `BRA` with the conditions that it may have beside its guard.
    fn branch(&mut self, syntax: &Syntax) -> Lowered<End> {
        let Some((target, conditions)) = syntax.operands.split_last() else { return Err("a branch without a target") };
        let target = target.integer().ok_or("a branch to no address")? as u64;
        let condition = if syntax.has("DIV") || syntax.has("CONV") {
            let mask = match conditions {
                [] => Ir::Immediate(u64::from(u32::MAX)),
                [mask] => self.word(mask)?,
                _ => return Err("a branch of this kind"),
            };
            Some(self.is_parted(mask, syntax.has("DIV")))
        } else {
            let is_any = syntax.has("ANY");
            match conditions {
                [] => None,
                [condition] if is_any => {
                    let condition = self.predicate(condition)?;
                    Some(self.emit_predicate(Operation::Vote(VoteMode::Any), ScalarType::Pred, &[condition]))
                }
                [condition] => Some(self.predicate(condition)?),
                _ => return Err("a branch of this kind"),
            }
        };
        match condition {
            Some(condition) => self.and_guard_by(condition)?,
            // All lanes go where one of them goes.
            None if syntax.has("ANY") => self.guard_by_any()?,
            None => {}
        }
        self.emit(Operation::Bra(Branch::default()), ScalarType::Pred, &[], &[]);
        Ok(End::Branch(target))
    }
}
