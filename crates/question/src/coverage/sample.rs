//! Operands for instructions that are written from the opcode table.

use warplens_isa::{MatrixProduct, MatrixShape, MatrixType, Sparsity};
use warplens_ptx::opcodes::Opcode;
use warplens_ptx::opcodes::forms::Form;
use warplens_ptx::syntax::ast::Modifier;

use super::fragment::{self, matrix_type, register};
use super::texels;

/// A target that has the instruction of a statement, if any has.
pub(super) fn target_of(statement: &str) -> &'static str {
    match () {
        // Products of groups of warps, and those of the narrowest floats, are those of one target alone.
        () if statement.starts_with("wgmma") => "sm_90a",
        () if statement.contains("kind::f8f6f4") => "sm_120a",
        () => "sm_100a",
    }
}

/// A kernel around a statement, with the registers and names that the operands use.
pub(super) fn module_of(statement: &str, target: &str) -> String {
    format!(
        ".version 9.5\n.target {target}\n.address_size 64\n.func helper() {{ ret; }}\n\
         .visible .entry sample(.param .b64 parameter)\n{{\n\
         .reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n.reg .b128 %q<9>;\n\
         .reg .f32 %f<9>;\n.reg .f64 %e<9>;\n\
         .param .b64 argument;\n\
         labels: .branchtargets target;\ntarget:\n{statement}\nret;\n}}\n"
    )
}

/// Where an operand stands: the destination, or the n-th of so many sources.
#[derive(Clone, Copy)]
enum Place {
    Destination,
    Source(usize, usize),
}

/// The type of the operand at a place, given the first and the last type that the instruction names.
type Scheme = fn(Place, &'static str, &'static str) -> &'static str;

/// How the types of an instruction can fall on its operands.
const SCHEMES: &[Scheme] = &[
    // As in add.
    |_, first, _| first,
    // As in cvt: destination and sources.
    |place, first, last| if matches!(place, Place::Destination) { first } else { last },
    // As in setp, popc and match: a destination of its own.
    |place, first, _| if matches!(place, Place::Destination) { "pred" } else { first },
    |place, first, _| if matches!(place, Place::Destination) { "u32" } else { first },
    |place, first, _| if matches!(place, Place::Source(0, _)) { first } else { "u32" },
    |place, _, _| if matches!(place, Place::Destination) { "pred" } else { "u32" },
    // As in shl and bfi: amounts behind one or two values.
    |place, first, _| if matches!(place, Place::Destination | Place::Source(0, _)) { first } else { "u32" },
    |place, first, _| if matches!(place, Place::Destination | Place::Source(0 | 1, _)) { first } else { "u32" },
    // As in mad.wide: the product's factors are narrow.
    |place, first, _| if matches!(place, Place::Source(0 | 1, _)) { first } else { twice(first) },
    // As in slct and in mixed fma: the last source is another.
    |place, first, last| match place {
        Place::Source(at, count) if at + 1 == count => last,
        _ => first,
    },
    |place, first, last| match place {
        Place::Source(at, count) if at + 1 < count => last,
        _ => first,
    },
    // As in cvt.pack.
    |_, _, last| last,
    // As in movmatrix: words, whatever elements they hold.
    |_, _, _| "b32",
    |place, _, last| if matches!(place, Place::Source(at, count) if at + 1 == count) { last } else { "u32" },
];

fn twice(ty: &'static str) -> &'static str {
    match ty {
        "u16" | "s16" | "b16" => "u32",
        _ => "u64",
    }
}

/// The lists of operands that an instruction may take, some of them several times.
pub(super) fn operand_lists<'a>(
    opcode: Opcode,
    form: &'a Form,
    modifiers: &'a [Modifier],
) -> Box<dyn Iterator<Item = String> + 'a> {
    match opcode {
        Opcode::Brx => return Box::new(std::iter::once("%r1, labels".to_owned())),
        Opcode::Istypep => return Box::new(std::iter::once("%p1, %d1".to_owned())),
        Opcode::Call => return Box::new(std::iter::once("helper".to_owned())),
        Opcode::Mma if !form.needs.contains(&Modifier::BlockScale) => {
            if let Some(list) = fragments(modifiers) {
                return Box::new(std::iter::once(list));
            }
        }
        Opcode::Wmma | Opcode::Wgmma => {
            if let Some(list) = fragment::operands(opcode, modifiers) {
                return Box::new(std::iter::once(list));
            }
        }
        Opcode::Tex | Opcode::Tld4 | Opcode::Suld | Opcode::Sust | Opcode::Sured => {
            return Box::new(texels::operands(opcode, modifiers).into_iter().flatten());
        }
        Opcode::Cp if form.needs.contains(&Modifier::Tensor) => {
            return Box::new(TENSORS.iter().map(|list| (*list).to_owned()));
        }
        Opcode::Tensormap => return Box::new(MAPS.iter().map(|list| (*list).to_owned())),
        Opcode::St if form.needs.contains(&Modifier::Bulk) => {
            return Box::new(std::iter::once("[%r1], %d1, 0".to_owned()));
        }
        Opcode::Cvt if modifiers.iter().any(|name| FOURS.contains(name)) => {
            let whole = if modifiers.contains(&Modifier::E2m1x4) { "%h1" } else { "%r1" };
            return Box::new(std::iter::once(format!("{whole}, {{%f1, %f2, %f3, %f4}}, %r2")));
        }
        Opcode::Cp if modifiers.contains(&Modifier::MulticastCluster) => {
            return Box::new(std::iter::once("[%r1], [%d1], %r2, [%r3], %h1".to_owned()));
        }
        _ => {}
    }
    let moves_matrices = matches!(opcode, Opcode::Ldmatrix | Opcode::Stmatrix);
    let types: Vec<&'static str> = modifiers.iter().filter_map(|it| it.as_type()).map(|ty| ty.name()).collect();
    let ends = types.first().zip(types.last()).map(|(first, last)| (*first, *last));
    let ends = ends.map_or_else(|| vec![("u64", "u64"), ("u32", "u32")], |ends| vec![ends]);
    let width = modifiers.iter().find_map(|it| match it.name() {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        "x1" if moves_matrices => Some(1),
        "x2" if moves_matrices => Some(2),
        "x4" if moves_matrices => Some(4),
        _ => None,
    });
    Box::new(slot_lists(form).into_iter().flat_map(move |slots| {
        let schemes = SCHEMES.iter().flat_map(|scheme| ends.clone().into_iter().map(move |ends| (scheme, ends)));
        let lists = schemes.flat_map(move |(scheme, (first, last))| {
            let list = |pair, address| operands(&slots, |place| scheme(place, first, last), width, pair, address);
            [list(false, "[%d1]"), list(true, "[%d1]"), list(false, "[parameter]"), list(false, "[argument]")]
        });
        lists.collect::<Vec<_>>()
    }))
}

/// Results of four elements, which are rounded by random bits alone.
const FOURS: &[Modifier] = &[Modifier::E4m3x4, Modifier::E5m2x4, Modifier::E2m3x4, Modifier::E3m2x4, Modifier::E2m1x4];

/// The operands of copies of boxes of tensors.
const TENSORS: &[&str] = &[
    "[%r1], [%d1, {%r1}], [%r2]",
    "[%r1], [%d1, {%r1}], [%r2], %d2",
    "[%r1], [%d1, {%r1}], [%r2], %h1",
    "[%d1, {%r1}], [%r2]",
    "[%d1, {%r1}], [%r2], %d2",
    "[%d1, {%r1}]",
    "[%d1, {%r1}], %d2",
];

/// The fields that an instruction changes.
const MAP_FIELDS: &[Modifier] = &[
    Modifier::GlobalAddress,
    Modifier::Rank,
    Modifier::BoxDim,
    Modifier::GlobalDim,
    Modifier::GlobalStride,
    Modifier::ElementStride,
    Modifier::Elemtype,
    Modifier::InterleaveLayout,
    Modifier::SwizzleMode,
    Modifier::SwizzleAtomicity,
    Modifier::FillMode,
];

/// The operands of changes of tensor maps.
const MAPS: &[&str] = &["[%d1], [%r1], 128", "[%d1], %d2", "[%d1], %r2", "[%d1], 0", "[%d1], 0, %d2", "[%d1], 0, %r2"];

/// What instructions of a form cannot be written without, beside the names that make the form, each way of it: names, and
/// the types that go with them where these are tied to each other.
pub(super) fn frames(opcode: Opcode, form: &Form) -> Vec<(Vec<Modifier>, Option<Vec<Modifier>>)> {
    use Modifier as M;
    let names = |names: &[Modifier]| (names.to_vec(), None);
    if let Some(frames) = texels::frames(opcode) {
        return frames.iter().map(|frame| names(frame)).collect();
    }
    match opcode {
        Opcode::Cp if form.needs == [M::Async] => {
            vec![names(&[M::Ca, M::Shared, M::Global]), names(&[M::Cg, M::Shared, M::Global])]
        }
        Opcode::Cp if form.needs.contains(&M::Bulk) => {
            let shared = [M::SharedCluster, M::SharedCta].map(|to| names(&[to, M::Global, M::MbarrierCompleteTxBytes]));
            let within = names(&[M::SharedCluster, M::SharedCta, M::MbarrierCompleteTxBytes]);
            let global = names(&[M::Global, M::SharedCta, M::BulkGroup]);
            if form.needs.contains(&M::Reduce) {
                return vec![global, within];
            }
            shared.into_iter().chain([within, global, names(&[])]).collect()
        }
        Opcode::St if form.needs.contains(&M::Async) => {
            vec![names(&[M::SharedCluster, M::MbarrierCompleteTxBytes]), names(&[M::Global])]
        }
        Opcode::Red if form.needs.contains(&M::Async) => {
            vec![names(&[M::Relaxed, M::Cluster, M::SharedCluster, M::MbarrierCompleteTxBytes])]
        }
        Opcode::Mma if !form.needs.contains(&M::BlockScale) => products(form),
        Opcode::Tensormap if form.needs.contains(&M::Replace) => {
            MAP_FIELDS.iter().map(|field| names(&[M::Tile, *field])).collect()
        }
        Opcode::Ldmatrix | Opcode::Stmatrix => {
            let shapes: [&[M]; 3] = [&[M::M8n8], &[M::M8n16], &[M::M16n8, M::Trans]];
            let heads =
                shapes.into_iter().flat_map(|shape| [M::X1, M::X2, M::X4].map(|count| [shape, &[count]].concat()));
            heads.map(|head| names(&[&[M::Sync, M::Aligned][..], &head].concat())).collect()
        }
        Opcode::Wmma | Opcode::Wgmma => fragment::frames(form),
        Opcode::Cvt if form.needs.is_empty() => {
            let of_four = FOURS.iter().map(|&four| (vec![M::Rs, M::Satfinite], Some(vec![four, M::F32])));
            std::iter::once(names(&[])).chain(of_four).collect()
        }
        _ => vec![names(&[])],
    }
}

/// The products of matrices with fragments, each of whose shapes goes with types of its own.
fn products(form: &Form) -> Vec<(Vec<Modifier>, Option<Vec<Modifier>>)> {
    use Modifier as M;
    let shapes = form.allowed.iter().filter(|name| name.shape().is_some());
    let factors: Vec<(Modifier, MatrixType)> =
        form.allowed.iter().filter_map(|name| Some((name, matrix_type(name)?))).collect();
    let pairs = factors.iter().flat_map(|a| factors.iter().map(move |b| (a, b)));
    let pairs: Vec<(Modifier, Modifier)> =
        pairs.filter(|(a, b)| a.1.bits() == b.1.bits()).map(|(a, b)| (a.0, b.0)).collect();
    let sums = [M::F16, M::F32, M::F64, M::S32];
    let combinations: [&[Modifier]; 3] = [&[], &[M::And, M::Popc], &[M::Xor, M::Popc]];
    let mut all = Vec::new();
    for (shape, combination) in shapes.flat_map(|shape| combinations.map(|combination| (shape, combination))) {
        for ((a, b), sum) in pairs.iter().flat_map(|pair| sums.map(|sum| (pair, sum))) {
            let mut names = [&[M::Sync, M::Aligned, shape, M::Row, M::Col], combination].concat();
            if [a, b].into_iter().any(|factor| matches!(factor, M::E3m2 | M::E2m3 | M::E2m1)) {
                names.push(M::KindF8f6f4);
            }
            all.push((names, Some(vec![sum, *a, *b, sum])));
        }
    }
    all
}

/// The fragments of a product of matrices, of d, a, b and c.
fn fragments(modifiers: &[Modifier]) -> Option<String> {
    let [m, n, k] = modifiers.iter().find_map(|modifier| modifier.shape())?;
    let names = modifiers.iter().filter(|modifier| modifier.as_type().is_some());
    let types: Vec<MatrixType> = names.map(|name| matrix_type(*name)).collect::<Option<_>>()?;
    let types: [MatrixType; 4] = types.try_into().ok()?;
    let is_sparse = modifiers.iter().any(|name| matches!(name, Modifier::Sp | Modifier::SpOrderedMetadata));
    let sparsity = is_sparse.then_some(Sparsity { selector: 0, ordered: false });
    let product = MatrixProduct { sparsity, ..MatrixProduct::new(MatrixShape { m, n, k }, types) };
    let fragment = |(count, ty): (usize, MatrixType)| {
        let parts: Vec<String> = (0..count).map(|part| register(ty.register().name(), part % 8)).collect();
        format!("{{{}}}", parts.join(", "))
    };
    let mut all: Vec<String> = product.registers().into_iter().zip(types).map(fragment).collect();
    if is_sparse {
        all.push("%r1, 0".to_owned());
    }
    Some(all.join(", "))
}

/// The letters of a form's operands: each alternative with none, some and all of its optional operands.
fn slot_lists(form: &Form) -> Vec<Vec<u8>> {
    let mut lists = Vec::new();
    for alternative in form.shape.text().split('|') {
        let letters: Vec<u8> = alternative.split_whitespace().map(|slot| slot.as_bytes()[0]).collect();
        let n_needed = alternative.split_whitespace().filter(|slot| !slot.ends_with('?')).count();
        // Optional operands stand behind the others.
        lists.extend((n_needed..=letters.len()).map(|count| letters[..count].to_vec()));
    }
    lists
}

fn operands(
    slots: &[u8],
    ty: impl Fn(Place) -> &'static str,
    width: Option<usize>,
    pair: bool,
    address: &str,
) -> String {
    let leads = slots.first().is_some_and(|slot| matches!(slot, b'd' | b'q' | b't' | b'v'));
    let is_source = |slot: &&u8| matches!(slot, b's' | b'v');
    let count = slots.iter().skip(usize::from(leads)).filter(is_source).count();
    let mut n_sources = 0;
    let mut texts = Vec::with_capacity(slots.len());
    for (index, slot) in slots.iter().enumerate() {
        let place = if index == 0 && leads {
            Place::Destination
        } else {
            let place = Place::Source(n_sources, count);
            n_sources += usize::from(is_source(&slot));
            place
        };
        let vector = |width: usize| {
            let parts: Vec<String> = (1..=width).map(|part| register(ty(place), part)).collect();
            format!("{{{}}}", parts.join(", "))
        };
        texts.push(match slot {
            b'q' if pair => format!("{}|%p1", register(ty(place), 1)),
            b'v' if width.is_some() => vector(width.unwrap_or(1)),
            b't' => vector(4),
            b'p' => "%p2".to_owned(),
            // The bytes that every asynchronous copy may have; others take any number.
            b'c' => "16".to_owned(),
            b'm' => address.to_owned(),
            b'l' => "target".to_owned(),
            _ => register(ty(place), index % 8),
        });
    }
    texts.join(", ")
}
