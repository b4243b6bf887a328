//! `wmma`: products of matrices whose parts only the instructions themselves know the places of.
//!
//! The places are those of the products of `mma` that ptxas makes of them. A matrix is a row of tiles, each of eight lines
//! (rows of a, columns of b) and as much depth as a register of all lanes holds, so that
//!
//! | Product | Products of `mma` |
//! |---|---|
//! | m16n16k16, m32n8k16 | two m16n8k16: the columns, or the rows, in halves |
//! | m8n32k16 | two m16n8k16 of the transposes: the result lies transposed too |
//! | m16n16k8 of tf32 | the columns in halves, each two m16n8k4, the lower depth first |
//! | m8n8k4, m8n8k32, m8n8k128 | one |
//!
//! Fragments of f16 factors have more registers than elements: the others repeat the first.

use warplens_ir::{Operand, Register, Width};
use warplens_isa::{
    BoolOp, Conversion, MatrixProduct, MatrixShape, MatrixType as M, NamedType, Operation, Rounding, ScalarType,
};

use super::body::Body;
use super::instruction::Site;
use super::matrix::product_rounding;
use super::{Lowered, Stop};
use crate::syntax::ast::Modifier;

/// Registers of a fragment of f16 factors, however few it needs.
const REGISTERS_OF_HALVES: usize = 8;

/// Registers that repeat others, with these.
type Repeated = Vec<(Register, Register)>;

/// Which matrix of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    A,
    B,
    /// c or d.
    Sum,
}

/// The first line and the first place in it of an 8 by n part of a matrix that the lanes hold together: lane 4g + t holds
/// neighbours of line g from the place t on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tile {
    pub(super) line: u32,
    pub(super) place: u32,
}

/// A matrix of a product, and where its elements lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fragment {
    pub(super) shape: MatrixShape,
    pub(super) role: Role,
    pub(super) ty: M,
}

impl Fragment {
    /// a and b change places, and the result is transposed.
    fn is_swapped(self) -> bool {
        self.shape.m < self.shape.n
    }

    /// Neighbouring elements of a line that a lane holds of a tile.
    pub(super) fn run(self) -> u32 {
        match self.role {
            Role::Sum => 2,
            Role::A | Role::B => self.ty.per_register() as u32,
        }
    }

    /// The tiles, in the order of the registers.
    pub(super) fn tiles(self) -> Vec<Tile> {
        let MatrixShape { m, n, k } = self.shape;
        let [m, n, k] = [m, n, k].map(u32::from);
        let (rows, columns) = if self.is_swapped() { (n, m) } else { (m, n) };
        let unit = 4 * self.run();
        let mut tiles = Vec::new();
        let mut add = |line: u32, place: u32| tiles.push(Tile { line, place });
        let is_first = (self.role == Role::A) != self.is_swapped();
        let height = rows.min(16);
        match self.role {
            Role::Sum => {
                for row in (0..rows).step_by(16) {
                    for column in (0..columns).step_by(8) {
                        (0..height).step_by(8).for_each(|half| add(row + half, column));
                    }
                }
            }
            Role::A | Role::B if is_first => {
                for row in (0..rows).step_by(16) {
                    for place in (0..k).step_by(unit as usize) {
                        (0..height).step_by(8).for_each(|half| add(row + half, place));
                    }
                }
            }
            Role::A | Role::B => {
                for column in (0..columns).step_by(8) {
                    (0..k).step_by(unit as usize).for_each(|place| add(column, place));
                }
            }
        }
        tiles
    }

    /// Registers of a tile.
    pub(super) fn per_tile(self) -> usize {
        self.run() as usize / self.ty.per_register()
    }

    /// Registers that hold elements.
    fn needed(self) -> usize {
        self.tiles().len() * self.per_tile()
    }

    /// Registers that the language gives it.
    fn registers(self) -> usize {
        if self.ty == M::F16 && self.role != Role::Sum { REGISTERS_OF_HALVES } else { self.needed() }
    }

    /// Neighbours of a line are neighbours in memory, too, where the matrix lies there by rows.
    pub(super) fn is_straight(self, by_rows: bool) -> bool {
        match self.role {
            Role::A => by_rows,
            Role::B => !by_rows,
            Role::Sum => by_rows != self.is_swapped(),
        }
    }

    /// Elements from one row to the next, or from one column to the next, where the program does not say.
    pub(super) fn length(self, by_rows: bool) -> u16 {
        let MatrixShape { m, n, k } = self.shape;
        let (rows, columns) = match self.role {
            Role::A => (m, k),
            Role::B => (k, n),
            Role::Sum => (m, n),
        };
        if by_rows { columns } else { rows }
    }

    /// The lowest target that has the fragment; none if there is no such one.
    fn least_target(self) -> Option<u32> {
        let MatrixShape { m, n, k } = self.shape;
        let of_16 = matches!((m, n, k), (16, 16, 16) | (8, 32, 16) | (32, 8, 16));
        let is_sum = self.role == Role::Sum;
        match (self.ty, (m, n, k)) {
            (M::F16, _) | (M::F32, _) if of_16 && (self.ty == M::F16 || is_sum) => Some(70),
            (M::S8 | M::U8, _) | (M::S32, _) if of_16 && (self.ty == M::S32) == is_sum => Some(72),
            (M::Bf16, _) if of_16 && !is_sum => Some(80),
            (M::Tf32, (16, 16, 8)) if !is_sum => Some(80),
            (M::F32, (16, 16, 8)) if is_sum => Some(80),
            (M::F64, (8, 8, 4)) => Some(80),
            (M::S4 | M::U4, (8, 8, 32)) | (M::B1, (8, 8, 128)) if !is_sum => Some(75),
            (M::S32, (8, 8, 32 | 128)) if is_sum => Some(75),
            _ => None,
        }
    }
}

fn shape(site: &Site<'_, '_>) -> Lowered<MatrixShape> {
    let shape = site.instruction.modifiers.iter().find_map(|modifier| modifier.shape());
    shape.map(|[m, n, k]| MatrixShape { m, n, k }).ok_or(Stop::Unsupported)
}

fn ty(site: &Site<'_, '_>, position: usize) -> Lowered<M> {
    let named = site.written_type(position).and_then(|ty| NamedType::from_name(ty.name()));
    named.and_then(M::of).ok_or(Stop::Unsupported)
}

impl<'src> Body<'_, '_, 'src> {
    /// `wmma.load`, `wmma.store` and `wmma.mma`.
    pub(super) fn lower_wmma(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        match () {
            () if site.has(Modifier::Load) => {
                let roles = [(Modifier::A, Role::A), (Modifier::B, Role::B), (Modifier::C, Role::Sum)];
                let role = roles.into_iter().find(|&(name, _)| site.has(name)).ok_or(Stop::Unsupported)?.1;
                let fragment = self.fragment(site, role)?;
                self.lower_fragment_load(site, fragment)
            }
            () if site.has(Modifier::Store) => {
                let fragment = self.fragment(site, Role::Sum)?;
                self.lower_fragment_store(site, fragment)
            }
            () => self.lower_wmma_product(site),
        }
    }

    fn fragment(&mut self, site: &Site<'_, 'src>, role: Role) -> Lowered<Fragment> {
        let fragment = Fragment { shape: shape(site)?, role, ty: ty(site, 0)? };
        let least = fragment.least_target().ok_or(Stop::Unsupported)?;
        self.check_target(site, least)?;
        Ok(fragment)
    }

    /// The registers into which a fragment is loaded, and those that repeat them.
    pub(super) fn fragment_destinations(
        &mut self,
        site: &Site<'_, 'src>,
        at: usize,
        fragment: Fragment,
    ) -> Lowered<(Vec<Register>, Repeated)> {
        let ty = fragment.ty.register();
        let mut all = Vec::new();
        for part in self.parts(&site.operands[at], fragment.registers())? {
            all.push(self.destination(part, ty)?);
        }
        let repeated = all.split_off(fragment.needed());
        let width = Width::of_bits(ty.bits());
        let first: Vec<Register> = all.into_iter().map(|it| it.unwrap_or_else(|| self.scopes.fresh(width))).collect();
        let repeated = repeated.into_iter().enumerate();
        let repeated = repeated.filter_map(|(at, register)| Some((register?, first[at % first.len()]))).collect();
        Ok((first, repeated))
    }

    /// The registers of a fragment that hold elements.
    pub(super) fn fragment_sources(
        &mut self,
        site: &Site<'_, 'src>,
        at: usize,
        fragment: Fragment,
    ) -> Lowered<Vec<Operand>> {
        let mut sources = Vec::new();
        for part in self.parts(&site.operands[at], fragment.registers())? {
            sources.push(self.source(part, fragment.ty.register())?);
        }
        sources.truncate(fragment.needed());
        Ok(sources)
    }

    fn lower_wmma_product(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let shape = shape(site)?;
        let [d, a, b, c] = match site.instruction.types().count() {
            2 => [ty(site, 0)?, M::F16, M::F16, ty(site, 1)?],
            4 => [ty(site, 0)?, ty(site, 1)?, ty(site, 2)?, ty(site, 3)?],
            _ => return Err(Stop::Unsupported),
        };
        let combination = match () {
            () if site.has(Modifier::And) => Some(BoolOp::And),
            () if site.has(Modifier::Xor) => Some(BoolOp::Xor),
            () => None,
        };
        let satfinite = site.has(Modifier::Satfinite);
        let rounding = product_rounding(site, d)?;
        let is_whole = match a {
            M::F16 => matches!((d, c), (M::F16 | M::F32, M::F16 | M::F32)),
            M::Bf16 | M::Tf32 => (d, c) == (M::F32, M::F32),
            M::F64 => (d, c) == (M::F64, M::F64),
            _ => (d, c) == (M::S32, M::S32),
        };
        let is_known = is_whole && a == b && (a == M::B1) == combination.is_some();
        if !is_known || satfinite && d != M::S32 {
            return Err(Stop::Unsupported);
        }
        let of = |role: Role, ty: M| Fragment { shape, role, ty };
        let fragments = [of(Role::Sum, d), of(Role::A, a), of(Role::B, b), of(Role::Sum, c)];
        let least = fragments.iter().map(|it| it.least_target()).collect::<Option<Vec<u32>>>();
        let mut least = least.ok_or(Stop::Unsupported)?.into_iter().max().unwrap_or(70);
        if combination == Some(BoolOp::And) {
            least = least.max(80);
        }
        self.check_target(site, least)?;
        self.count(site, 4, 4)?;
        let (results, _) = self.fragment_destinations(site, 0, fragments[0])?;
        let [a, b, c] = [1, 2, 3].map(|at| self.fragment_sources(site, at, fragments[at]));
        let (a, b) = if fragments[0].is_swapped() { (b?, a?) } else { (a?, b?) };
        self.multiply_tiles(fragments, &results, [&a, &b, &c?], (satfinite, combination, rounding));
        Ok(())
    }

    /// The products of `mma` that make one of `wmma`. Where types of the sums differ, or a result lies in a register that
    /// is still needed, the results are moved at the end.
    fn multiply_tiles(
        &mut self,
        fragments: [Fragment; 4],
        results: &[Register],
        [a, b, c]: [&[Operand]; 3],
        (satfinite, combination, rounding): (bool, Option<BoolOp>, Rounding),
    ) {
        let [d_fragment, a_fragment, _, c_fragment] = fragments;
        // Sums of both types are computed in the wider one.
        let sum = if c_fragment.ty == d_fragment.ty { d_fragment.ty } else { M::F32 };
        let c = if c_fragment.ty == sum { c.to_vec() } else { self.widened(c) };
        let shape = d_fragment.shape;
        let (rows, columns) = if d_fragment.is_swapped() { (shape.n, shape.m) } else { (shape.m, shape.n) };
        let height = rows.min(16);
        let depth = if a_fragment.ty == M::Tf32 { 4 } else { shape.k };
        let tile = MatrixShape { m: height, n: 8, k: depth };
        let types = [sum, a_fragment.ty, a_fragment.ty, sum];
        let product = MatrixProduct { satfinite, combination, rounding, ..MatrixProduct::new(tile, types) };
        let [n_d, n_a, n_b, _] = product.registers();
        let (n_steps, n_columns) = (usize::from(shape.k / depth), usize::from(columns / 8));
        let n_tiles = usize::from(rows / height) * n_columns;
        let overlap = |of: &[Operand]| results.iter().any(|&result| of.contains(&Operand::Register(result)));
        let is_single = n_tiles * n_steps == 1;
        let is_apart = sum == d_fragment.ty && (is_single || !overlap(a) && !overlap(b) && is_in_place(results, &c));
        let width = Width::of_bits(sum.register().bits());
        let sums: Vec<Register> =
            if is_apart { results.to_vec() } else { (0..n_d * n_tiles).map(|_| self.scopes.fresh(width)).collect() };
        for at in 0..n_tiles {
            let (row, column) = (at / n_columns, at % n_columns);
            let mut accumulated: Vec<Operand> = c[at * n_d..][..n_d].to_vec();
            for step in 0..n_steps {
                let target: Vec<Register> = match step + 1 == n_steps {
                    true => sums[at * n_d..][..n_d].to_vec(),
                    false => (0..n_d).map(|_| self.scopes.fresh(width)).collect(),
                };
                let mut inst = self.inst(Operation::Mma(product), sum.register());
                inst.sources.extend(&a[(row * n_steps + step) * n_a..][..n_a]);
                inst.sources.extend(&b[(column * n_steps + step) * n_b..][..n_b]);
                inst.sources.extend(&accumulated);
                accumulated = target.iter().map(|&register| Operand::Register(register)).collect();
                inst.destinations = target.into_iter().map(Some).collect();
                self.push_main(inst);
            }
        }
        if sum != d_fragment.ty {
            self.narrow(&sums, results);
        } else if !is_apart {
            for (&from, &to) in sums.iter().zip(results) {
                self.move_bits(sum.register(), to, Operand::Register(from));
            }
        }
    }

    /// Pairs of f16 as f32.
    fn widened(&mut self, pairs: &[Operand]) -> Vec<Operand> {
        let mut all = Vec::new();
        for &pair in pairs {
            let halves = [(); 2].map(|()| self.scopes.fresh(Width::Word));
            self.emit(Operation::Unpack, ScalarType::B32, halves.to_vec(), vec![pair]);
            for half in halves {
                let register = self.scopes.fresh(Width::Word);
                let mut inst = self.inst(Operation::Cvt(Conversion::default()), ScalarType::F32);
                inst.source_ty = ScalarType::F16;
                inst.destinations.push(Some(register));
                inst.sources.push(Operand::Register(half));
                self.push(inst);
                all.push(Operand::Register(register));
            }
        }
        all
    }

    /// f32 as pairs of f16, rounded to nearest.
    fn narrow(&mut self, sums: &[Register], results: &[Register]) {
        for (pair, &result) in sums.chunks(2).zip(results) {
            let conversion = Conversion { rounding: Rounding::Nearest, ..Conversion::default() };
            let mut inst = self.inst(Operation::Cvt(conversion), ScalarType::F16x2);
            inst.source_ty = ScalarType::F32;
            inst.destinations.push(Some(result));
            inst.sources = pair.iter().rev().map(|&register| Operand::Register(register)).collect();
            self.push(inst);
        }
    }
}

/// Each result lies where its own accumulator lay, if it lies where any did.
fn is_in_place(results: &[Register], c: &[Operand]) -> bool {
    results.iter().enumerate().all(|(at, &result)| {
        let mut same = c.iter().enumerate().filter(|(_, operand)| **operand == Operand::Register(result));
        same.all(|(other, _)| other == at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment([m, n, k]: [u16; 3], role: Role, ty: M) -> Fragment {
        Fragment { shape: MatrixShape { m, n, k }, role, ty }
    }

    #[test]
    fn tiles_cover_a_matrix_once() {
        let shapes = [
            ([16, 16, 16], M::F16, M::F32),
            ([8, 32, 16], M::Bf16, M::F32),
            ([32, 8, 16], M::S8, M::S32),
            ([16, 16, 8], M::Tf32, M::F32),
            ([8, 8, 4], M::F64, M::F64),
            ([8, 8, 32], M::S4, M::S32),
            ([8, 8, 128], M::B1, M::S32),
        ];
        for (shape, factor, sum) in shapes {
            let swapped = shape[0] < shape[1];
            for (role, ty) in [(Role::A, factor), (Role::B, factor), (Role::Sum, sum), (Role::Sum, M::F16)] {
                let it = fragment(shape, role, ty);
                let [m, n, k] = shape.map(u32::from);
                let (lines, places) = match role {
                    Role::A => (m, k),
                    Role::B => (n, k),
                    Role::Sum if swapped => (n, m),
                    Role::Sum => (m, n),
                };
                let mut seen: Vec<(u32, u32)> = it.tiles().iter().map(|tile| (tile.line, tile.place)).collect();
                seen.sort_unstable();
                seen.dedup();
                let expected: Vec<(u32, u32)> = (0..lines)
                    .step_by(8)
                    .flat_map(|line| (0..places).step_by(4 * it.run() as usize).map(move |place| (line, place)))
                    .collect();
                assert_eq!(seen, expected, "{it:?}");
                assert_eq!(it.tiles().len(), expected.len(), "{it:?}");
            }
        }
    }

    #[test]
    fn fragments_have_the_registers_of_the_language() {
        let cases = [
            (fragment([16, 16, 16], Role::A, M::F16), 8),
            (fragment([32, 8, 16], Role::B, M::F16), 8),
            (fragment([16, 16, 16], Role::Sum, M::F16), 4),
            (fragment([16, 16, 16], Role::Sum, M::F32), 8),
            (fragment([8, 32, 16], Role::A, M::Bf16), 2),
            (fragment([8, 32, 16], Role::B, M::Bf16), 8),
            (fragment([16, 16, 8], Role::A, M::Tf32), 4),
            (fragment([32, 8, 16], Role::A, M::S8), 4),
            (fragment([32, 8, 16], Role::B, M::U8), 1),
            (fragment([8, 8, 4], Role::Sum, M::F64), 2),
            (fragment([8, 8, 128], Role::A, M::B1), 1),
            (fragment([8, 8, 32], Role::Sum, M::S32), 2),
        ];
        for (fragment, expected) in cases {
            assert_eq!(fragment.registers(), expected, "{fragment:?}");
        }
    }
}
