//! SASS opcodes of compute capability 3.5 to 12.0 and what they occupy: one table, sorted by name.

use warplens_trace::MachineClass;

use MachineClass::{
    AsyncCommit, AsyncCopy, AsyncWait, Atomic, Barrier, Branch, Convert, Exit, Fence, Fp16, Fp32, Fp64, Int, IntMul,
    Load, Move, Nop, Reduction, Sfu, Shuffle, Store, Tensor, TensorAsync, TensorFp32, TensorFp64, Uniform, Vote,
};

/// Opcodes by their name up to the first dot. Texture and surface instructions, bulk copies and their barriers are not
/// in it: nothing is known here about their time, and a trace that has one is refused.
pub(super) const OPCODES: &[(&str, MachineClass)] = &[
    ("ATOM", Atomic),
    ("ATOMG", Atomic),
    ("ATOMS", Atomic),
    ("B2R", Move),
    ("BAR", Barrier),
    ("BFE", Int),
    ("BFI", Int),
    ("BMMA", Tensor),
    ("BMOV", Move),
    ("BMSK", Int),
    ("BPT", Branch),
    ("BRA", Branch),
    ("BREAK", Branch),
    ("BREV", Sfu),
    ("BRK", Branch),
    ("BRX", Branch),
    ("BRXU", Branch),
    ("BSSY", Branch),
    ("BSYNC", Branch),
    ("CAL", Branch),
    ("CALL", Branch),
    ("CCTL", Nop),
    ("CCTLL", Nop),
    ("CONT", Branch),
    ("CS2R", Move),
    ("CSET", Int),
    ("CSETP", Int),
    ("DADD", Fp64),
    ("DEPBAR", AsyncWait),
    ("DFMA", Fp64),
    ("DMMA", TensorFp64),
    ("DMNMX", Fp64),
    ("DMUL", Fp64),
    ("DSET", Fp64),
    ("DSETP", Fp64),
    ("ELECT", Vote),
    ("ERRBAR", Nop),
    ("EXIT", Exit),
    ("F2F", Convert),
    ("F2FP", Fp16),
    ("F2I", Convert),
    ("F2IP", Convert),
    ("FADD", Fp32),
    ("FADD32I", Fp32),
    ("FCHK", Fp32),
    ("FCMP", Fp32),
    ("FENCE", Fence),
    ("FFMA", Fp32),
    ("FFMA32I", Fp32),
    ("FLO", Sfu),
    ("FMNMX", Fp32),
    ("FMUL", Fp32),
    ("FMUL32I", Fp32),
    ("FRND", Convert),
    ("FSEL", Int),
    ("FSET", Fp32),
    ("FSETP", Fp32),
    ("FSWZ", Fp32),
    ("FSWZADD", Fp32),
    ("HADD2", Fp16),
    ("HADD2_32I", Fp16),
    ("HFMA2", Fp16),
    ("HFMA2_32I", Fp16),
    ("HGMMA", TensorAsync),
    ("HMMA", Tensor),
    ("HMNMX2", Fp16),
    ("HMUL2", Fp16),
    ("HMUL2_32I", Fp16),
    ("HSET2", Fp16),
    ("HSETP2", Fp16),
    ("I2F", Convert),
    ("I2FP", Int),
    ("I2I", Convert),
    ("I2IP", Int),
    ("IABS", Int),
    ("IADD", Int),
    ("IADD3", Int),
    ("IADD32I", Int),
    ("ICMP", Int),
    ("IDP", IntMul),
    ("IDP4A", IntMul),
    ("IGMMA", TensorAsync),
    ("IMAD", IntMul),
    ("IMAD32I", IntMul),
    ("IMADSP", IntMul),
    ("IMMA", Tensor),
    ("IMNMX", Int),
    ("IMUL", IntMul),
    ("IMUL32I", IntMul),
    ("ISAD", Int),
    ("ISCADD", Int),
    ("ISCADD32I", Int),
    ("ISET", Int),
    ("ISETP", Int),
    ("ISUB", Int),
    ("JCAL", Branch),
    ("JMP", Branch),
    ("JMX", Branch),
    ("JMXU", Branch),
    ("KILL", Branch),
    ("LD", Load),
    ("LDC", Move),
    ("LDG", Load),
    ("LDGDEPBAR", AsyncCommit),
    ("LDGSTS", AsyncCopy),
    ("LDL", Load),
    ("LDS", Load),
    ("LDSM", Load),
    ("LDU", Load),
    ("LEA", Int),
    ("LEPC", Move),
    ("LOP", Int),
    ("LOP3", Int),
    ("LOP32I", Int),
    ("MATCH", Vote),
    ("MEMBAR", Fence),
    ("MOV", Move),
    ("MOV32I", Move),
    ("MOVM", Shuffle),
    ("MUFU", Sfu),
    ("NANOSLEEP", Branch),
    ("NOP", Nop),
    ("P2R", Int),
    ("PBK", Branch),
    ("PCNT", Branch),
    ("PEXIT", Branch),
    ("PLOP3", Int),
    ("PMTRIG", Nop),
    ("POPC", Sfu),
    ("PRET", Branch),
    ("PRMT", Int),
    ("PSET", Int),
    ("PSETP", Int),
    ("QGMMA", TensorAsync),
    ("R2B", Move),
    ("R2P", Int),
    ("R2UR", Uniform),
    ("RED", Reduction),
    ("REDG", Reduction),
    ("REDUX", Vote),
    ("RET", Branch),
    ("RPCMOV", Move),
    ("RRO", Fp32),
    ("RTT", Branch),
    ("S2R", Move),
    ("S2UR", Uniform),
    ("SEL", Int),
    ("SGXT", Int),
    ("SHF", Int),
    ("SHFL", Shuffle),
    ("SHL", Int),
    ("SHR", Int),
    ("SSY", Branch),
    ("ST", Store),
    ("STG", Store),
    ("STL", Store),
    ("STS", Store),
    ("STSM", Store),
    ("SYNC", Branch),
    ("TEXDEPBAR", Nop),
    ("UBMSK", Uniform),
    ("UBREV", Uniform),
    ("UCLEA", Uniform),
    ("UF2FP", Uniform),
    ("UFLO", Uniform),
    ("UIADD3", Uniform),
    ("UIMAD", Uniform),
    ("UISETP", Uniform),
    ("ULDC", Uniform),
    ("ULEA", Uniform),
    ("ULOP", Uniform),
    ("ULOP3", Uniform),
    ("ULOP32I", Uniform),
    ("UMOV", Uniform),
    ("UP2UR", Uniform),
    ("UPLOP3", Uniform),
    ("UPOPC", Uniform),
    ("UPRMT", Uniform),
    ("UPSETP", Uniform),
    ("UR2UP", Uniform),
    ("USEL", Uniform),
    ("USETMAXREG", Nop),
    ("USGXT", Uniform),
    ("USHF", Uniform),
    ("USHL", Uniform),
    ("USHR", Uniform),
    ("VABSDIFF", Int),
    ("VABSDIFF4", Int),
    ("VADD", Int),
    ("VIADD", Int),
    ("VIADDMNMX", Int),
    ("VIMNMX", Int),
    ("VIMNMX3", Int),
    ("VMNMX", Int),
    ("VOTE", Vote),
    ("VOTEU", Vote),
    ("WARPGROUP", Nop),
    ("WARPSYNC", Branch),
    ("XMAD", IntMul),
    ("YIELD", Branch),
];

/// The class of an opcode, by its name up to the first dot; of products of matrices the result's type counts, too.
pub(super) fn class(name: &str, modifiers: &str) -> Option<MachineClass> {
    let index = OPCODES.binary_search_by_key(&name, |&(known, _)| known).ok()?;
    let adds_in_fp32 = matches!(name, "HMMA" | "QMMA") && modifiers.split('.').any(|modifier| modifier == "F32");
    Some(if adds_in_fp32 { TensorFp32 } else { OPCODES[index].1 })
}

/// The work of a matrix instruction in multiply-adds of 16-bit elements (of f64 as they are), from its name and its
/// modifiers.
pub(super) fn matrix_work(name: &str, modifiers: &str) -> Option<u32> {
    let has = |wanted: &str| modifiers.split('.').any(|modifier| modifier == wanted);
    let multiply_adds = matrix_multiply_adds(modifiers.split('.'))?;
    let bits = match name {
        "HMMA" | "HGMMA" if has("TF32") => 32,
        "IMMA" if has("S4") || has("U4") => 4,
        "IMMA" | "IGMMA" | "QMMA" | "QGMMA" => 8,
        "BMMA" | "BGMMA" => 1,
        _ => 16,
    };
    Some(multiply_adds * bits / 16)
}

/// Multiply-adds of a matrix instruction, from its shape: `16816` or `64x128x16` among its modifiers. Shapes of a
/// warpgroup are divided among its four warps.
fn matrix_multiply_adds<'o>(modifiers: impl Iterator<Item = &'o str>) -> Option<u32> {
    const SHAPES: &[(&str, u32)] = &[
        ("884", 8 * 8 * 4),
        ("1684", 16 * 8 * 4),
        ("1688", 16 * 8 * 8),
        ("16816", 16 * 8 * 16),
        ("16832", 16 * 8 * 32),
        ("16864", 16 * 8 * 64),
        ("8816", 8 * 8 * 16),
        ("8832", 8 * 8 * 32),
        ("88128", 8 * 8 * 128),
        ("168128", 16 * 8 * 128),
        ("168256", 16 * 8 * 256),
    ];
    for modifier in modifiers {
        if let Some((_, work)) = SHAPES.iter().find(|(shape, _)| *shape == modifier) {
            return Some(*work);
        }
        let mut sizes =
            modifier.split('x').map(|size| size.parse::<u32>().ok().filter(|size| (1..=512).contains(size)));
        if let (Some(Some(m)), Some(Some(n)), Some(Some(k)), None) =
            (sizes.next(), sizes.next(), sizes.next(), sizes.next())
        {
            return Some(m * n * k / 4);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPCODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(OPCODES.len() >= 150);
        assert_eq!(class("FFMA", ""), Some(Fp32));
        assert_eq!(class("TEX", ""), None);
    }

    #[test]
    fn shapes_tell_the_work() {
        assert_eq!(matrix_work("HMMA", "16816.F32"), Some(2048));
        assert_eq!(matrix_work("HMMA", "1688.F32.TF32"), Some(2048));
        assert_eq!(matrix_work("IMMA", "16832.S8.S8"), Some(2048));
        assert_eq!(matrix_work("HGMMA", "64x128x16.F32.BF16"), Some(64 * 128 * 16 / 4));
        assert_eq!(matrix_work("HMMA", "F32"), None);
    }
}
