//! Operands of textures and surfaces: coordinates follow from the geometry.

use warplens_ptx::opcodes::Opcode;
use warplens_ptx::syntax::ast::Modifier as M;

use super::fragment::register;

const GEOMETRIES: [M; 7] = [M::Dim1, M::Dim2, M::Dim3, M::Array1d, M::Array2d, M::Cube, M::Acube];

/// The names without which no instruction of the opcode is written, each way of it.
pub(super) fn frames(opcode: Opcode) -> Option<Vec<Vec<M>>> {
    let heads: &[&[M]] = match opcode {
        Opcode::Tex => &[&[M::V4], &[M::V2], &[M::Level, M::V4], &[M::Grad, M::V4]],
        Opcode::Tld4 => &[&[M::Right, M::V4], &[M::G, M::V4], &[M::B, M::V4], &[M::A, M::V4]],
        Opcode::Suld | Opcode::Sust => &[&[M::B, M::Trap], &[M::P, M::Trap]],
        Opcode::Sured => &[&[M::B, M::Add, M::Trap], &[M::P, M::Add, M::Trap]],
        _ => return None,
    };
    Some(heads.iter().flat_map(|head| GEOMETRIES.map(|geometry| [*head, &[geometry]].concat())).collect())
}

/// The lists of operands.
pub(super) fn operands(opcode: Opcode, modifiers: &[M]) -> Option<Vec<String>> {
    let types: Vec<&'static str> = modifiers.iter().filter_map(|it| it.as_type()).map(|ty| ty.name()).collect();
    let (first, last) = (*types.first()?, *types.last()?);
    let geometry = modifiers.iter().copied().find(|name| GEOMETRIES.contains(name))?;
    let is_fetch = matches!(opcode, Opcode::Tex | Opcode::Tld4);
    let coordinate = if is_fetch { last } else { "b32" };
    let at = format!("[%d1, {}]", vector((1..=4).map(|place| coordinate_of(geometry, place, coordinate))));
    let width = if modifiers.contains(&M::V4) { 4 } else { 1 + usize::from(modifiers.contains(&M::V2)) };
    let value = vector((1..=width).map(|part| Some(register(first, part))));
    Some(match opcode {
        Opcode::Tex => {
            let gradient = |n: usize| vector((1..=n).map(|part| Some(register(coordinate, part))));
            let ends = [1, 2, 4].map(|n| format!(", {0}, {0}", gradient(n)));
            let level = format!(", {}", register(coordinate, 5));
            [String::new(), level].into_iter().chain(ends).map(|end| format!("{value}, {at}{end}")).collect()
        }
        Opcode::Tld4 | Opcode::Suld => vec![format!("{value}, {at}")],
        Opcode::Sust => vec![format!("{at}, {value}")],
        Opcode::Sured => vec![format!("{at}, {}", register(first, 1))],
        _ => return None,
    })
}

/// The register at a place of the coordinates, the first of which is the layer where there are layers; three coordinates are
/// filled up to four.
fn coordinate_of(geometry: M, place: usize, ty: &'static str) -> Option<String> {
    let (n, has_layers) = match geometry {
        M::Dim1 => (1, false),
        M::Dim2 => (2, false),
        M::Array1d => (2, true),
        M::Dim3 | M::Cube => (4, false),
        _ => (4, true),
    };
    let ty = if has_layers && place == 1 { "b32" } else { ty };
    (place <= n).then(|| register(ty, place))
}

fn vector(parts: impl Iterator<Item = Option<String>>) -> String {
    format!("{{{}}}", parts.flatten().collect::<Vec<_>>().join(", "))
}
