//! Operands of `wmma` and `wgmma`: fragments whose registers follow from shape, type and role.

use warplens_isa::{MatrixType as T, NamedType};
use warplens_ptx::opcodes::Opcode;
use warplens_ptx::opcodes::forms::Form;
use warplens_ptx::syntax::ast::Modifier as M;

/// Names, and the types that go with them.
type Frame = (Vec<M>, Option<Vec<M>>);

/// The ways to write a form: shapes with the types of their factors and sums.
pub(super) fn frames(form: &Form) -> Vec<Frame> {
    let shapes: Vec<M> = form.allowed.iter().filter(|name| name.shape().is_some()).collect();
    let types: Vec<M> = form.allowed.iter().filter(|name| matrix_type(*name).is_some()).collect();
    let heads = heads(form);
    let mut frames = Vec::new();
    for (head, &shape) in heads.iter().flat_map(|head| shapes.iter().map(move |shape| (head, shape))) {
        let names = [&head[..], &[shape]].concat();
        frames.extend(typed(form, &types, shape).into_iter().map(|types| (names.clone(), Some(types))));
    }
    if frames.is_empty() {
        frames.extend(heads.into_iter().map(|head| (head, None)));
    }
    frames
}

/// The names that a form cannot do without, beside shapes and types.
fn heads(form: &Form) -> Vec<Vec<M>> {
    let all = [M::Sync, M::Aligned];
    let with = |more: &[M]| [&all[..], more].concat();
    let layouts = [M::Row, M::Col];
    match () {
        () if form.needs.contains(&M::Load) => {
            let roles = [M::A, M::B, M::C].into_iter();
            roles.flat_map(|role| layouts.map(|layout| with(&[role, layout]))).collect()
        }
        () if form.needs.contains(&M::Store) => layouts.map(|layout| with(&[M::D, layout])).into(),
        () if form.needs.contains(&M::Mma) => {
            let pairs = layouts.into_iter().flat_map(|a| layouts.map(|b| with(&[a, b])));
            pairs.chain([with(&[M::Row, M::Col, M::Xor, M::Popc]), with(&[M::Row, M::Col, M::And, M::Popc])]).collect()
        }
        () if form.needs.contains(&M::MmaAsync) => vec![with(&[]), with(&[M::And, M::Popc])],
        () => vec![with(&[])],
    }
}

/// The lists of types with which a shape is tried.
fn typed(form: &Form, types: &[M], shape: M) -> Vec<Vec<M>> {
    let Some([_, _, k]) = shape.shape() else { return Vec::new() };
    let sums = [M::F16, M::F32, M::F64, M::S32];
    let pairs = || sums.into_iter().flat_map(|sum| types.iter().map(move |&ty| (sum, ty)));
    match () {
        () if form.needs.contains(&M::Load) || form.needs.contains(&M::Store) => {
            types.iter().map(|&ty| vec![ty]).collect()
        }
        () if form.needs.contains(&M::Mma) => {
            let of_halves = sums.into_iter().flat_map(|d| sums.map(|c| vec![d, c]));
            of_halves.chain(pairs().map(|(sum, ty)| vec![sum, ty, ty, sum])).collect()
        }
        () => {
            // The factors of all products of groups of warps are held in the same depth in bits.
            let bits = if form.needs.contains(&M::Sp) { 512 } else { 256 };
            let fits = |ty: &M| matrix_type(*ty).is_some_and(|ty| ty.bits() * u32::from(k) == bits);
            pairs().filter(|(_, ty)| fits(ty)).map(|(sum, ty)| vec![sum, ty, ty]).collect()
        }
    }
}

/// The operands; none where the names do not make an instruction.
pub(super) fn operands(opcode: Opcode, modifiers: &[M]) -> Option<String> {
    let [m, n, k] = modifiers.iter().find_map(|modifier| modifier.shape())?;
    let types: Vec<T> = modifiers.iter().filter_map(|name| matrix_type(*name)).collect();
    let group = |count: usize, ty: T| -> String {
        let parts: Vec<String> = (0..count).map(|part| register(ty.register().name(), part % 8)).collect();
        format!("{{{}}}", parts.join(", "))
    };
    let count = |rows: u16, columns: u16, ty: T| usize::from(rows) * usize::from(columns) / 32 / ty.per_register();
    let factor = |rows: u16, columns: u16, ty: T| if ty == T::F16 { 8 } else { count(rows, columns, ty) };
    let has = |name: M| modifiers.contains(&name);
    if opcode == Opcode::Wgmma {
        let [d, a, _] = types[..] else { return None };
        let registers = usize::from(n) / 2 / d.per_register();
        let immediates = match a.bits() {
            16 => ", 1, 1, 0, 0",
            _ if matches!(a, T::S8 | T::U8 | T::B1) => "",
            _ => ", 1, 1",
        };
        let metadata = if has(M::Sp) { "%r1, 0, " } else { "" };
        return Some(format!("{}, %d1, %d2, {metadata}%p1{immediates}", group(registers, d)));
    }
    if has(M::Mma) {
        let [d, a, b, c] = match types[..] {
            [d, c] => [d, T::F16, T::F16, c],
            [d, a, b, c] => [d, a, b, c],
            _ => return None,
        };
        let all =
            [group(count(m, n, d), d), group(factor(m, k, a), a), group(factor(k, n, b), b), group(count(m, n, c), c)];
        return Some(all.join(", "));
    }
    let &[ty] = &types[..] else { return None };
    let registers = match () {
        () if has(M::A) => factor(m, k, ty),
        () if has(M::B) => factor(k, n, ty),
        () => count(m, n, ty),
    };
    let fragment = group(registers, ty);
    Some(if has(M::Store) { format!("[%d1], {fragment}, %r1") } else { format!("{fragment}, [%d1], %r1") })
}

pub(super) fn matrix_type(name: M) -> Option<T> {
    NamedType::from_name(name.as_type()?.name()).and_then(T::of)
}

/// A register that holds a value of the type.
pub(super) fn register(ty: &str, index: usize) -> String {
    let bank = match ty {
        "pred" => "p",
        "f32" => "f",
        "f64" => "e",
        "b64" | "u64" | "s64" | "f32x2" => "d",
        "b128" => "q",
        "f16" | "bf16" | "b16" | "u16" | "s16" | "b8" | "u8" | "s8" => "h",
        _ if ty.starts_with('e') && ty.ends_with("x2") => "h",
        _ => "r",
    };
    format!("%{bank}{index}")
}
