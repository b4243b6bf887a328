//! Products of matrices that four warps carry out together.

use warplens_ir::Operand as Ir;
use warplens_isa::{
    BoolOp, GroupProduct, MatrixProduct, MatrixShape, MatrixType as M, Operation, ScalarType, Sparsity,
};

use super::operands::{Lowered, Lowering, uniform_pair};
use crate::syntax::{Operand, Syntax, Value};

/// Rows of all four warps.
const ROWS: u16 = 64;

/// What an operand says of matrices in shared memory: the first of four uniform registers, with the descriptor of a and
/// that of b, and how their elements are taken.
struct Descriptors {
    first: u32,
    negated: [bool; 2],
    turned: [bool; 2],
}

impl Lowering<'_> {
    /// `HGMMA`, `IGMMA`, `QGMMA`, `BGMMA`: the results, a if registers hold it, the descriptors, the accumulators, the
    /// predicate without which they count as zeros, and of a sparse a metadata and selector.
    pub(super) fn group_product(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, operands @ ..] = &syntax.operands[..] else { return Err("a product without operands") };
        let (a, operands) = match operands {
            [Operand { value: Value::Descriptors(_), .. }, ..] => (None, operands),
            [a, operands @ ..] => (Some(a), operands),
            [] => return Err("a product without operands"),
        };
        let [descriptors, c, operands @ ..] = operands else { return Err("a product without its factors") };
        let descriptors = Descriptors::read(descriptors)?;
        // The group that it belongs to, where it is the last one of it.
        let (operands, closes) = match operands {
            [operands @ .., Operand { value: Value::Word(group), .. }] if group.starts_with("gsb") => (operands, true),
            operands => (operands, false),
        };
        let (adds, operands) = match operands {
            [adds, operands @ ..] if adds.is_predicate() => (self.predicate(adds)?, operands),
            operands => (Ir::Immediate(1), operands),
        };
        let is_sparse = syntax.has("SP");
        let (metadata, selector) = match operands {
            [] if !is_sparse => (None, 0),
            [metadata] if is_sparse => (Some(metadata), 0),
            [metadata, selector] if is_sparse => (Some(metadata), selector.integer().ok_or("a product of this kind")?),
            _ => return Err("a product of this kind"),
        };
        let mut product = product(syntax).ok_or("a product of matrices of this kind")?;
        product.turned = descriptors.turned;
        product.sparsity = match (is_sparse, selector) {
            (false, _) => None,
            // As many parts of four lanes as can hold it.
            (true, selector) if (0..4 / product.metadata_lanes().max(1) as i64).contains(&selector) => {
                Some(Sparsity { selector: selector as u8, ordered: false })
            }
            _ => return Err("a product of this kind"),
        };
        let [_, b_negated] = descriptors.negated;
        let a_negated = a.map_or(descriptors.negated[0], |a| a.negated);
        let group = GroupProduct { product, a_in_shared: a.is_none(), negated: [a_negated, b_negated] };
        let n_results = group.results() as u32;
        let targets = self.destinations(destination, n_results)?;
        if targets.contains(&None) || [Some(c), metadata].iter().flatten().any(|it| it.negated || it.absolute) {
            return Err("a product of this kind");
        }
        let mut sources = match a {
            None => vec![Ir::Register(uniform_pair(descriptors.first))],
            Some(a) => self.words(a, GroupProduct::REGISTERS_OF_A as u32)?,
        };
        sources.push(Ir::Register(uniform_pair(descriptors.first + 2)));
        sources.push(adds);
        sources.extend(self.words(c, n_results)?);
        if let Some(metadata) = metadata {
            sources.push(self.word(metadata)?);
        }
        let ty = product.types[0].register();
        self.emit(Operation::MmaAsync(group), ty, &targets, &sources);
        if closes {
            self.emit(Operation::CopyCommit, ScalarType::U32, &[], &[]);
        }
        Ok(())
    }
}

impl Descriptors {
    fn read(operand: &Operand) -> Lowered<Self> {
        let Value::Descriptors(first) = operand.value else { return Err("a product without its factors") };
        let known = |word: &String| matches!(word.as_str(), "negA" | "negB" | "tnspA" | "tnspB");
        if !first.is_multiple_of(4) || !operand.suffixes.iter().all(known) {
            return Err("a product of this kind");
        }
        Ok(Self {
            first,
            negated: [operand.has("negA"), operand.has("negB")],
            turned: [operand.has("tnspA"), operand.has("tnspB")],
        })
    }
}

/// The product that a mnemonic says: its shape and its types.
fn product(syntax: &Syntax) -> Option<MatrixProduct> {
    let mut words = syntax.all_words().into_iter().filter(|word| *word != "SP");
    let mut extents = words.next()?.split('x').map(|extent| extent.parse::<u16>().ok());
    let (Some(Some(ROWS)), Some(Some(n)), Some(Some(k)), None) =
        (extents.next(), extents.next(), extents.next(), extents.next())
    else {
        return None;
    };
    let words: Vec<&str> = words.collect();
    let (types, satfinite, combination) = match (syntax.base(), &words[..]) {
        ("HGMMA", ["F32"]) => ([M::F32, M::F16, M::F16], false, None),
        ("HGMMA", ["F16"]) => ([M::F16; 3], false, None),
        ("HGMMA", ["F32", "BF16"]) => ([M::F32, M::Bf16, M::Bf16], false, None),
        ("HGMMA", ["F32", "TF32"]) => ([M::F32, M::Tf32, M::Tf32], false, None),
        ("QGMMA", [d, a, b]) => {
            let d = match *d {
                "F32" => M::F32,
                "F16" => M::F16,
                _ => return None,
            };
            ([d, small_float(a)?, small_float(b)?], false, None)
        }
        ("IGMMA", [a, b, rest @ ..]) if matches!(rest, [] | ["SAT"]) => {
            ([M::S32, byte(a)?, byte(b)?], !rest.is_empty(), None)
        }
        ("BGMMA", ["AND", "POPC"]) => ([M::S32, M::B1, M::B1], false, Some(BoolOp::And)),
        _ => return None,
    };
    let [d, a, b] = types;
    // Of 256 bits of depth, or of twice as many of which half are held.
    let depth = 256 / a.bits() as u16 * if syntax.has("SP") { 2 } else { 1 };
    let is_shape = k == depth && (8..=256).contains(&n) && n.is_multiple_of(8);
    let is_known = is_shape && !(syntax.has("SP") && a == M::B1);
    let shape = MatrixShape { m: ROWS, n, k };
    is_known.then(|| MatrixProduct { satfinite, combination, ..MatrixProduct::new(shape, [d, a, b, d]) })
}

fn small_float(word: &str) -> Option<M> {
    match word {
        "E4M3" => Some(M::E4m3),
        "E5M2" => Some(M::E5m2),
        _ => None,
    }
}

fn byte(word: &str) -> Option<M> {
    match word {
        "S8" => Some(M::S8),
        "U8" => Some(M::U8),
        _ => None,
    }
}
