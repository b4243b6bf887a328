//! Shared memory of the CTAs of a cluster, and their barrier.
//!
//! In machine code the byte above the offset in shared memory is the rank of a CTA, one's own as well. Here it is one more
//! than the rank, or zero for whoever uses the address ([`warplens_isa::cluster_window`]). So addresses are changed where
//! they are used, in kernels that may look into other CTAs. In others, which know their rank only to write it into
//! addresses, it is zero: then the addresses are those of whoever uses them.

use warplens_ir::{MemoryReference, Operand as Ir};
use warplens_isa::{CLUSTER_WINDOW_BITS, ClusterPhase, Operation, ScalarType, SpecialRegister, StateSpace};

use super::code::Section;
use super::operands::{ADD, Lowering};
use crate::decode::{Decoder, WORD_BYTES, words};
use crate::syntax::{Operand, Syntax, Value};

/// The special register with the rank of the CTA.
const RANK: &str = "SR_CgaCtaId";
/// How far addresses shift the rank.
const RANK_SHIFT: i64 = CLUSTER_WINDOW_BITS as i64;

impl Lowering<'_> {
    /// The rank of the CTA, as addresses have it.
    pub(super) fn rank(&mut self) -> Ir {
        match self.facts.is_of_cluster {
            true => self.special(SpecialRegister::ClusterCtarank),
            false => Ir::Immediate(0),
        }
    }

    /// `UCGABAR_ARV` and `UCGABAR_WAIT`: the barrier of the cluster.
    pub(super) fn cluster_barrier(&mut self, phase: ClusterPhase) {
        self.emit(Operation::ClusterBar(phase), ScalarType::B32, &[], &[]);
    }

    /// A place in shared memory of any CTA of the cluster.
    pub(super) fn shared_of_cluster(&mut self, base: Ir) -> MemoryReference {
        let base = match self.facts.is_of_cluster {
            true => self.emit_word(ADD, ScalarType::U32, &[base, Ir::Immediate(1 << CLUSTER_WINDOW_BITS)]),
            false => base,
        };
        MemoryReference { space: StateSpace::Shared, base, offset: 0, elements: 1 }
    }

    /// A place in one's own shared memory, whatever rank its address says.
    pub(super) fn own_shared(&mut self, place: MemoryReference) -> MemoryReference {
        if !self.facts.is_of_cluster || matches!(place.base, Ir::Immediate(_)) {
            return place;
        }
        let address = match place.offset {
            0 => place.base,
            offset => self.emit_word(ADD, ScalarType::U32, &[place.base, Ir::Immediate(u64::from(offset as u32))]),
        };
        let within = Ir::Immediate((1 << CLUSTER_WINDOW_BITS) - 1);
        let base = self.emit_word(Operation::And, ScalarType::B32, &[address, within]);
        MemoryReference { base, offset: 0, ..place }
    }

    /// A generic place, which may lie in shared memory of any CTA of the cluster.
    pub(super) fn generic_of_cluster(&mut self, place: MemoryReference) -> MemoryReference {
        if !self.facts.is_of_cluster || place.space != StateSpace::Generic {
            return place;
        }
        let address = self.whole_address(place);
        let is_shared = self.emit_predicate(Operation::Isspacep(StateSpace::Shared), ScalarType::U64, &[address]);
        let window = Ir::Immediate(1 << CLUSTER_WINDOW_BITS);
        let moved = Ir::Register(self.emit_pair(ADD, ScalarType::U64, &[address, window]));
        let base = Ir::Register(self.emit_pair(Operation::Selp, ScalarType::B64, &[moved, address, is_shared]));
        MemoryReference { base, offset: 0, ..place }
    }
}

/// Whether code may look into shared memory of other CTAs: it waits for them, stores to them, or uses its rank for more
/// than addresses.
pub(super) fn knows_clusters(decoder: &Decoder, sections: &[Section<'_>]) -> bool {
    sections.iter().any(|section| {
        let decoded = words(section.bytes).enumerate();
        let code: Vec<(Syntax, bool)> = decoded
            .filter_map(|(index, bits)| {
                let instruction = decoder.decode(bits)?;
                let is_guarded = instruction.guard().is_some();
                Some((Syntax::of(&instruction, WORD_BYTES * index as u64)?, is_guarded))
            })
            .collect();
        let others = |at: usize| meets_others(&code[at].0) || uses_rank(&code[at].0, &code[at + 1..]);
        (0..code.len()).any(others)
    })
}

fn meets_others(syntax: &Syntax) -> bool {
    match syntax.base() {
        "UCGABAR_ARV" | "UCGABAR_WAIT" | "STAS" | "REDAS" => true,
        "SYNCS" => syntax.has("ARRIVE") && syntax.has("RED") && !syntax.has("A0TR") && !syntax.has("A0T1"),
        "UBLKCP" | "UBLKRED" | "UTMALDG" => syntax.has("MULTICAST"),
        _ => false,
    }
}

/// It reads the rank, and what follows uses it for more than addresses before it is overwritten.
fn uses_rank(syntax: &Syntax, behind: &[(Syntax, bool)]) -> bool {
    let [register, Operand { value: Value::Word(name), .. }] = &syntax.operands[..] else { return false };
    if name != RANK {
        return false;
    }
    for (later, is_guarded) in behind {
        let Some((first, rest)) = later.operands.split_first() else { continue };
        let uses = |operand: &Operand| names(operand, &register.value, later);
        // `LEA address, rank, base, 24`.
        let is_address = matches!(later.base(), "LEA" | "ULEA")
            && rest.last().and_then(Operand::integer) == Some(RANK_SHIFT)
            && rest[0].value == register.value
            && !rest[1..].iter().any(uses);
        let is_written = first.value == register.value;
        if !is_address && (rest.iter().any(uses) || !is_written && uses(first)) {
            return true;
        }
        if is_written && !is_guarded {
            return false;
        }
    }
    false
}

/// An operand reads a register, as one of several where the instruction takes more than words.
fn names(operand: &Operand, register: &Value, of: &Syntax) -> bool {
    let is_wide = of.modifiers().any(|word| ["64", "128", "WIDE"].iter().any(|wide| word.contains(wide)));
    let reaches =
        |first: u32, number: u32| first == number || is_wide && (first..first.saturating_add(4)).contains(&number);
    match (&operand.value, register) {
        (Value::Register(Some(first)), Value::Register(Some(number)))
        | (Value::Uniform(Some(first)), Value::Uniform(Some(number))) => reaches(*first, *number),
        (Value::Address(address), Value::Register(Some(number))) => {
            address.register.and_then(|at| at.number).is_some_and(|first| reaches(first, *number))
        }
        (Value::Address(address), Value::Uniform(Some(number))) => {
            address.uniform.flatten().is_some_and(|first| reaches(first, *number))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{meets_others, uses_rank};
    use crate::syntax::Syntax;

    /// Whether code that begins with a read of the rank uses it for more than addresses; `@` marks what is guarded.
    fn uses(lines: &[&str]) -> bool {
        let read = |line: &&str| {
            let text = line.trim_start_matches('@');
            (Syntax::read(text).expect("it is an instruction"), text.len() < line.len())
        };
        let code: Vec<(Syntax, bool)> = lines.iter().map(read).collect();
        uses_rank(&code[0].0, &code[1..])
    }

    #[test]
    fn a_rank_in_addresses_is_no_trace_of_clusters() {
        let rank = "S2UR UR5, SR_CgaCtaId";
        assert!(!uses(&[rank, "ULEA UR4, UR5, UR4, 0x18", "LDS R0, [UR4]"]));
        assert!(!uses(&[rank, "ULEA UR5, UR5, UR4, 0x18", "UIADD3 UR6, UR5, 0x8, URZ"]));
        assert!(uses(&[rank, "ULEA UR4, UR5, UR4, 0x18", "UIADD3 UR6, UR5, 0x1, URZ"]));
        assert!(uses(&[rank, "ULEA UR4, UR5, UR4, 0x2"]));
        // What overwrites it under a condition may leave it.
        assert!(uses(&[rank, "@UMOV UR5, 0x1", "UIADD3 UR6, UR5, 0x1, URZ"]));
        assert!(!uses(&[rank, "UMOV UR5, 0x1", "UIADD3 UR6, UR5, 0x1, URZ"]));
        // The second word of a pair.
        assert!(uses(&["S2R R5, SR_CgaCtaId", "STG.E.64 desc[UR6][R2.64], R4"]));
        assert!(!uses(&["S2R R5, SR_TID.X", "STG.E desc[UR6][R2.64], R5"]));
    }

    #[test]
    fn who_waits_for_others_or_stores_to_them_knows_clusters() {
        let meets = |text: &str| meets_others(&Syntax::read(text).expect("it is an instruction"));
        assert!(meets("UCGABAR_WAIT") && meets("UTMALDG.2D.MULTICAST [UR8], [UR4], UR6"));
        assert!(meets("SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [R9+URZ], RZ"));
        assert!(!meets("SYNCS.ARRIVE.TRANS64.RED.A0TR RZ, [UR4], R4") && !meets("UTMALDG.2D [UR8], [UR4]"));
    }
}
