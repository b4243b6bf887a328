//! How the fragments of `wmma` come from memory and go there, as ptxas has it.
//!
//! | Matrix | Access |
//! |---|---|
//! | factors of 8 or 16 bits in shared memory, neighbours of a line side by side | `ldmatrix`, up to four tiles at once |
//! | the same of 16 bits with lines side by side | `ldmatrix` that transposes |
//! | neighbours of a line side by side | what a lane holds of a tile at once |
//! | elements of 16 bits with lines side by side | words of the transposed tile, and `movmatrix` |
//! | others | element by element |
//!
//! Lane 4g + t holds of a tile neighbours of line g. Addresses are those of the lane's part of the first tile, plus
//! multiples of the distance of lines for tiles at other lines, which count as constants where the distance is one.

use warplens_ir::{MemoryReference, Operand, Register, Width};
use warplens_isa::{
    AccessOrder, Carry, MatrixMove, MovedElements, Operation, Rounding, ScalarType, SpecialRegister, StateSpace, Sum,
};

use super::body::Body;
use super::instruction::Site;
use super::wmma::{Fragment, Role, Tile};
use super::{Lowered, types};
use crate::syntax::ast::Modifier;

const WORD: ScalarType = ScalarType::U32;
const ADD: Operation = Operation::Add(Sum { rounding: Rounding::Nearest, ftz: false, sat: false, carry: Carry::NONE });

/// A matrix in memory.
struct Matrix {
    space: StateSpace,
    /// Its address, in a register, and what is added to that.
    base: Register,
    offset: i64,
    /// Bytes from one row to the next, or from one column to the next.
    distance: Operand,
    /// Bits of an element.
    bits: u32,
}

/// Where the parts of a lane begin, and those that are some lines away.
struct Walk<'m> {
    matrix: &'m Matrix,
    lane: Register,
    /// By number of lines.
    others: Vec<(u32, Register)>,
}

impl Matrix {
    fn bytes(&self, elements: u32) -> u32 {
        elements * self.bits / 8
    }
}

impl<'src> Body<'_, '_, 'src> {
    /// `wmma.load d, [matrix]{, distance}`.
    pub(super) fn lower_fragment_load(&mut self, site: &Site<'_, 'src>, fragment: Fragment) -> Lowered<()> {
        self.count(site, 2, 3)?;
        let (registers, repeated) = self.fragment_destinations(site, 0, fragment)?;
        let by_rows = site.has(Modifier::Row);
        let matrix = self.matrix(site, 1, 2, fragment, by_rows)?;
        let tiles = fragment.tiles();
        let is_straight = fragment.is_straight(by_rows);
        let is_factor = fragment.role != Role::Sum && matches!(matrix.bits, 8 | 16);
        if matrix.space == StateSpace::Shared && is_factor && (is_straight || matrix.bits == 16) {
            self.load_rows(&matrix, &tiles, &registers, !is_straight);
        } else if is_straight {
            self.load_lines(&matrix, &tiles, &registers, fragment.run());
        } else if matrix.bits == 16 {
            self.load_transposed(&matrix, &tiles, &registers);
        } else {
            self.load_elements(&matrix, &tiles, &registers, fragment);
        }
        for (to, from) in repeated {
            self.move_bits(ScalarType::B32, to, Operand::Register(from));
        }
        Ok(())
    }

    /// `wmma.store [matrix], d{, distance}`.
    pub(super) fn lower_fragment_store(&mut self, site: &Site<'_, 'src>, fragment: Fragment) -> Lowered<()> {
        self.count(site, 2, 3)?;
        let sources = self.fragment_sources(site, 1, fragment)?;
        let by_rows = site.has(Modifier::Row);
        let matrix = self.matrix(site, 0, 2, fragment, by_rows)?;
        let tiles = fragment.tiles();
        match (fragment.is_straight(by_rows), matrix.bits) {
            (true, _) => {
                let (ty, elements) = line_access(matrix.bits, fragment.run());
                let walk = self.walk(&matrix, &tiles, fragment.run(), false);
                for (tile, values) in tiles.iter().zip(sources.chunks(usize::from(elements))) {
                    let place = self.place_of(&walk, tile.line, tile.place, elements);
                    self.store_at(place, ty, values);
                }
            }
            (false, 16) => {
                let crossed: Vec<Tile> = tiles.iter().map(|tile| crossed(*tile)).collect();
                let walk = self.walk(&matrix, &crossed, 2, false);
                for (tile, &value) in crossed.iter().zip(&sources) {
                    let turned = self.turned(value);
                    let place = self.place_of(&walk, tile.line, tile.place, 1);
                    self.store_at(place, ScalarType::B32, &[turned]);
                }
            }
            (false, bits) => {
                let ty = types::untyped(bits);
                let run = fragment.run();
                let crossed: Vec<Tile> = elements_of(&tiles, run);
                let walk = self.walk(&matrix, &crossed, run, true);
                for (tile, value) in crossed.iter().zip(sources) {
                    let place = self.place_of(&walk, tile.line, tile.place, 1);
                    self.store_at(place, ty, &[value]);
                }
            }
        }
        Ok(())
    }

    fn matrix(
        &mut self,
        site: &Site<'_, 'src>,
        at: usize,
        distance_at: usize,
        fragment: Fragment,
        by_rows: bool,
    ) -> Lowered<Matrix> {
        let (space, base, offset) = self.address(&site.operands[at], types::named_space(site.instruction))?;
        let bits = fragment.ty.bits();
        let distance = match site.operands.get(distance_at) {
            Some(operand) => self.source(operand, WORD)?,
            None => Operand::Immediate(fragment.length(by_rows).into()),
        };
        let base = match base {
            Operand::Register(register) => register,
            other => {
                let is_word = space == StateSpace::Shared || self.module.module.address_bits == 32;
                let ty = if is_word { ScalarType::B32 } else { ScalarType::B64 };
                let register = self.scopes.fresh(Width::of_bits(ty.bits()));
                self.move_bits(ty, register, other);
                register
            }
        };
        let distance = self.distance_in_bytes(distance, bits);
        Ok(Matrix { space, base, offset, distance, bits })
    }

    fn distance_in_bytes(&mut self, distance: Operand, bits: u32) -> Operand {
        match (distance, bits) {
            (Operand::Immediate(elements), _) => Operand::Immediate((elements & 0xffff_ffff) * u64::from(bits) / 8),
            (distance, 8) => distance,
            (distance, 16..) => self.word(Operation::Shl, vec![distance, number((bits / 8).trailing_zeros())]),
            (distance, _) => self.word(Operation::Shr, vec![distance, number((8 / bits).trailing_zeros())]),
        }
    }

    fn word(&mut self, operation: Operation, sources: Vec<Operand>) -> Operand {
        let register = self.scopes.fresh(Width::Word);
        self.emit(operation, WORD, vec![register], sources);
        Operand::Register(register)
    }

    fn lane(&mut self) -> Operand {
        let register = self.scopes.fresh(Width::Word);
        let lane = Operand::Special(SpecialRegister::Laneid);
        self.emit(Operation::ReadSpecial, ScalarType::B32, vec![register], vec![lane]);
        Operand::Register(register)
    }

    /// Addresses of lane 4g + t: at line g, `run` times t elements into it, or at line `run` times t, g elements into it.
    fn walk<'m>(&mut self, matrix: &'m Matrix, tiles: &[Tile], run: u32, is_across: bool) -> Walk<'m> {
        let lane = self.lane();
        let group = self.word(Operation::Shr, vec![lane, number(2)]);
        let thread = self.word(Operation::And, vec![lane, number(3)]);
        let (line, place) = match is_across {
            false => (group, self.scaled(thread, matrix.bytes(run))),
            true => (self.scaled(thread, run), self.scaled(group, matrix.bytes(1))),
        };
        self.walk_from(matrix, tiles, line, place)
    }

    fn scaled(&mut self, value: Operand, by: u32) -> Operand {
        match by {
            1 => value,
            by => self.word(Operation::Shl, vec![value, number(by.trailing_zeros())]),
        }
    }

    /// Addresses of parts that begin at a line and so many bytes into it.
    fn walk_from<'m>(&mut self, matrix: &'m Matrix, tiles: &[Tile], line: Operand, place: Operand) -> Walk<'m> {
        let offset = self.word(Operation::Mad(Carry::NONE), vec![line, matrix.distance, place]);
        let base = Operand::Register(matrix.base);
        let lane = self.moved_on(matrix.base.width, vec![offset, number(1), base]);
        let mut others = Vec::new();
        if matrix.distance.register().is_some() {
            for tile in tiles.iter().filter(|tile| tile.line != 0) {
                if !others.iter().any(|&(line, _)| line == tile.line) {
                    let sources = vec![matrix.distance, number(tile.line), Operand::Register(lane)];
                    others.push((tile.line, self.moved_on(matrix.base.width, sources)));
                }
            }
        }
        Walk { matrix, lane, others }
    }

    /// An address plus a product.
    fn moved_on(&mut self, width: Width, sources: Vec<Operand>) -> Register {
        let register = self.scopes.fresh(width);
        match width {
            Width::Pair => self.emit(Operation::MadWide, WORD, vec![register], sources),
            _ if sources[1] == number(1) => self.emit(ADD, WORD, vec![register], vec![sources[0], sources[2]]),
            _ => self.emit(Operation::Mad(Carry::NONE), WORD, vec![register], sources),
        }
        register
    }

    /// The place of the lane's part of a tile at a line and a place in it.
    fn place_of(&self, walk: &Walk<'_>, line: u32, place: u32, elements: u8) -> MemoryReference {
        let Walk { matrix, lane, others } = walk;
        let of_line = match matrix.distance {
            Operand::Immediate(bytes) => u64::from(line) * bytes,
            _ => 0,
        };
        let register = others.iter().find(|other| other.0 == line).map_or(*lane, |other| other.1);
        MemoryReference {
            space: matrix.space,
            base: Operand::Register(register),
            offset: matrix.offset.wrapping_add(of_line as i64).wrapping_add(i64::from(matrix.bytes(place))),
            elements,
        }
    }

    fn load_at(&mut self, place: MemoryReference, ty: ScalarType, registers: &[Register]) {
        let mut inst = self.inst(Operation::Ld(AccessOrder::default()), ty);
        inst.destinations = registers.iter().copied().map(Some).collect();
        inst.memory = place.into();
        self.push_main(inst);
    }

    fn store_at(&mut self, place: MemoryReference, ty: ScalarType, values: &[Operand]) {
        let mut inst = self.inst(Operation::St(AccessOrder::default()), ty);
        inst.sources = values.to_vec();
        inst.memory = place.into();
        self.push_main(inst);
    }

    /// The transpose of a tile of 16-bit elements.
    fn turned(&mut self, value: Operand) -> Operand {
        let register = self.scopes.fresh(Width::Word);
        self.emit(Operation::Movmatrix, ScalarType::B32, vec![register], vec![value]);
        Operand::Register(register)
    }

    /// Tiles whose lines are rows of 16 bytes in shared memory, or whose places are.
    fn load_rows(&mut self, matrix: &Matrix, tiles: &[Tile], registers: &[Register], crosses: bool) {
        let tiles: Vec<Tile> = tiles.iter().map(|&tile| if crosses { crossed(tile) } else { tile }).collect();
        let at_once = tiles.len().min(4);
        let lane = self.lane();
        let mut line = self.word(Operation::And, vec![lane, number(7)]);
        let mut place = number(0);
        // The lanes of the second tile, and of the second pair, are told by a bit of their number.
        for (bit, tile) in [1, 2].into_iter().filter(|&at| at < at_once).map(|at| tiles[at]).enumerate() {
            let lines = tile.line - tiles[0].line;
            if lines > 0 {
                let own = self.bit_of_lane(lane, 3 + bit as u32, lines.trailing_zeros());
                line = self.word(Operation::Or, vec![line, own]);
            }
            let bytes = matrix.bytes(tile.place - tiles[0].place);
            if bytes > 0 {
                place = self.bit_of_lane(lane, 3 + bit as u32, bytes.trailing_zeros());
            }
        }
        let firsts: Vec<Tile> = tiles.iter().copied().step_by(at_once).collect();
        let walk = self.walk_from(matrix, &firsts, line, place);
        let count = u8::try_from(at_once).expect("at most four");
        for (first, registers) in firsts.iter().zip(registers.chunks(at_once)) {
            let place = self.place_of(&walk, first.line, first.place, 4);
            let mut inst = self.inst(
                Operation::Ldmatrix(MatrixMove { count, elements: MovedElements::Halves, transposed: crosses }),
                ScalarType::B32,
            );
            inst.destinations = registers.iter().copied().map(Some).collect();
            inst.memory = place.into();
            self.push_main(inst);
        }
    }

    /// A bit of the number of a lane at another place.
    fn bit_of_lane(&mut self, lane: Operand, bit: u32, to: u32) -> Operand {
        let moved = match bit.cmp(&to) {
            std::cmp::Ordering::Equal => lane,
            std::cmp::Ordering::Less => self.word(Operation::Shl, vec![lane, number(to - bit)]),
            std::cmp::Ordering::Greater => self.word(Operation::Shr, vec![lane, number(bit - to)]),
        };
        self.word(Operation::And, vec![moved, number(1 << to)])
    }

    fn load_lines(&mut self, matrix: &Matrix, tiles: &[Tile], registers: &[Register], run: u32) {
        let (ty, elements) = line_access(matrix.bits, run);
        let walk = self.walk(matrix, tiles, run, false);
        for (tile, registers) in tiles.iter().zip(registers.chunks(usize::from(elements))) {
            let place = self.place_of(&walk, tile.line, tile.place, elements);
            self.load_at(place, ty, registers);
        }
    }

    fn load_transposed(&mut self, matrix: &Matrix, tiles: &[Tile], registers: &[Register]) {
        let tiles: Vec<Tile> = tiles.iter().map(|tile| crossed(*tile)).collect();
        let walk = self.walk(matrix, &tiles, 2, false);
        let mut loaded = Vec::new();
        for tile in &tiles {
            let register = self.scopes.fresh(Width::Word);
            let place = self.place_of(&walk, tile.line, tile.place, 1);
            self.load_at(place, ScalarType::B32, &[register]);
            loaded.push(register);
        }
        for (from, &to) in loaded.into_iter().zip(registers) {
            self.emit(Operation::Movmatrix, ScalarType::B32, vec![to], vec![Operand::Register(from)]);
        }
    }

    /// Elements of a register, where it holds several, are put together at the end.
    fn load_elements(&mut self, matrix: &Matrix, tiles: &[Tile], registers: &[Register], fragment: Fragment) {
        let run = fragment.run();
        let places = elements_of(tiles, run);
        let walk = self.walk(matrix, &places, run, true);
        let ty = types::integer(matrix.bits, false);
        let parts = places.len() / registers.len();
        if parts == 1 {
            for (tile, register) in places.iter().zip(registers) {
                let place = self.place_of(&walk, tile.line, tile.place, 1);
                self.load_at(place, types::untyped(matrix.bits), &[*register]);
            }
            return;
        }
        let mut loaded = Vec::new();
        for tile in &places {
            let register = self.scopes.fresh(Width::Word);
            let place = self.place_of(&walk, tile.line, tile.place, 1);
            self.load_at(place, ty, &[register]);
            loaded.push(Operand::Register(register));
        }
        for (parts, &register) in loaded.chunks(parts).zip(registers) {
            self.emit(Operation::Pack, ScalarType::B32, vec![register], parts.to_vec());
        }
    }
}

fn number(value: u32) -> Operand {
    Operand::Immediate(value.into())
}

/// The tile where lines and places have changed roles.
fn crossed(tile: Tile) -> Tile {
    Tile { line: tile.place, place: tile.line }
}

/// The elements that lane 0 holds of tiles, in memory where lines and places have changed roles.
fn elements_of(tiles: &[Tile], run: u32) -> Vec<Tile> {
    let of_tile = |tile: &Tile| {
        let Tile { line, place } = *tile;
        (0..run).map(move |element| Tile { line: place + element, place: line })
    };
    tiles.iter().flat_map(of_tile).collect()
}

/// The type and the number of what is accessed at once of a run of elements.
fn line_access(bits: u32, run: u32) -> (ScalarType, u8) {
    match bits * run {
        32 => (ScalarType::B32, 1),
        64 if bits == 32 => (ScalarType::B32, 2),
        64 => (ScalarType::B64, 1),
        _ => (ScalarType::B64, 2),
    }
}
