//! Copies of boxes of tensors.
//!
//! A box is moved in pieces of at most 16 bytes that neither the edge of the tensor nor the alignment cuts, 32 of them in
//! one request, as bulk copies are. What lies outside of the tensor is filled in shared memory, and left alone where a box
//! is written back.

use warplens_isa::{AtomicOp, Pc, ScalarType, StateSpace, TENSOR_MAP_BYTES, TensorCopy, TensorMap};
use warplens_trace::{ActiveMask, Observer};

use super::cluster::place_in;
use crate::code::{Base, MemoryOperation, Places};
use crate::engine::{Engine, LaneValues};
use crate::error::ExecError;
use crate::interpret::{Context, Worker};
use crate::raw::{Lanes, Row, Source};
use crate::semantics::half::OUT_OF_BOUNDS;

/// Lanes that copy boxes, each one of its own.
#[derive(Clone, Debug)]
pub struct BoxRequest {
    /// The instruction.
    pub pc: Pc,
    /// Which of the engine's memory operations it is.
    pub place: u32,
    /// Lanes that take part.
    pub lanes: u32,
    /// State space of the place as written.
    pub space: StateSpace,
    /// Where the box lies in shared memory, by lane.
    pub addresses: LaneValues,
    /// Addresses of tensor maps.
    pub maps: LaneValues,
    /// By dimension, the dense one first.
    pub coordinates: Vec<[u32; 32]>,
    /// CTAs of the cluster to which a box is loaded.
    pub masks: Option<[u32; 32]>,
}

/// Bytes of the largest piece.
const PIECE: u64 = 16;

/// A piece of a box.
#[derive(Clone, Copy)]
struct Piece {
    /// Its place in the tensor; none outside.
    global: Option<u64>,
    /// Its place in shared memory.
    shared: u64,
}

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Copies a box for each lane. Returns the bytes of the boxes.
    #[inline(never)]
    pub(crate) fn copy_box(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        request: &BoxRequest,
        copy: &TensorCopy,
    ) -> Result<LaneValues, ExecError> {
        let mut bytes = [0; 32];
        for lane in ActiveMask(request.lanes).lanes() {
            let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
            let (pc, address) = (request.pc, request.maps[lane]);
            let bad = |reason: String| ExecError::BadTensorMap { pc, thread, address, reason };
            let content = self.peek(context, lane, address, TENSOR_MAP_BYTES);
            let content = content.ok_or_else(|| bad("there are no 128 bytes of memory there".to_owned()))?;
            let map = TensorMap::unpack(&content).map_err(bad)?;
            if map.extents.len() != usize::from(copy.dimensions) {
                return Err(bad(format!("the tensor has {} dimensions, not {}", map.extents.len(), copy.dimensions)));
            }
            let is_known = |op: AtomicOp| crate::semantics::atomic::is_defined(op, map.ty);
            if copy.reduction.is_some_and(|op| !is_known(op) || map.ty.bits() < 16) {
                return Err(bad(format!("there is no such reduction of .{}", map.ty)));
            }
            let align = map.swizzle.span().map_or(16, |_| 128);
            if !request.addresses[lane].is_multiple_of(align) {
                return Err(bad(format!("the box lies at no multiple of {align} bytes of shared memory")));
            }
            let start: Vec<i64> =
                request.coordinates.iter().map(|values| i64::from(values[lane].cast_signed())).collect();
            let unit = match copy.reduction {
                Some(_) => u64::from(map.ty.bytes()),
                None => unit(&map, start[0]),
            };
            let pieces = pieces(&map, &start, request.addresses[lane], unit);
            let moved = Moved { request, copy, ty: map.ty, unit, fill: fill(&map) };
            for some in pieces.chunks(32) {
                let masks = request.masks.map(|masks| masks[lane]);
                self.move_pieces(context, &moved, some, masks).map_err(|error| error.of_thread(thread))?;
            }
            bytes[lane] = map.box_bytes();
        }
        Ok(bytes)
    }

    /// Moves up to 32 pieces.
    fn move_pieces(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        moved: &Moved<'_>,
        pieces: &[Piece],
        mask: Option<u32>,
    ) -> Result<(), ExecError> {
        let Moved { request, copy, fill, .. } = *moved;
        let mut rows = [Row::splat(0); ROWS];
        let all = u32::MAX >> (32 - pieces.len());
        let inside =
            pieces.iter().enumerate().fold(0, |mask, (at, piece)| mask | u32::from(piece.global.is_some()) << at);
        let mut lanes = Lanes { rows: &mut rows, predicates: &mut [], pool: &[], mask: all };
        let global: LaneValues = std::array::from_fn(|at| pieces.get(at).and_then(|piece| piece.global).unwrap_or(0));
        let shared: LaneValues = std::array::from_fn(|at| pieces.get(at).map_or(0, |piece| piece.shared));
        let (place, pc) = (request.place, request.pc);
        if copy.loads {
            (2..ROWS as u32).for_each(|row| lanes.set_words(row, &[fill; 32]));
            lanes.mask = inside;
            if inside != 0 {
                lanes.set_pairs(0, &global);
                self.load(context, &mut lanes, &moved.operation(StateSpace::Global, false), place, pc)?;
            }
            lanes.mask = all;
            let store = moved.operation(request.space, true);
            let targets: Vec<Option<u32>> = match mask {
                None => vec![None],
                Some(mask) => ActiveMask(mask).lanes().map(|rank| Some(rank as u32)).collect(),
            };
            for target in targets {
                lanes.set_pairs(0, &shared.map(|own| target.map_or(own, |rank| place_in(rank, own))));
                self.store(context, &mut lanes, &store, place, pc)?;
            }
            return Ok(());
        }
        lanes.mask = inside;
        if inside == 0 {
            return Ok(());
        }
        lanes.set_pairs(0, &shared);
        self.load(context, &mut lanes, &moved.operation(request.space, false), place, pc)?;
        lanes.set_pairs(0, &global);
        let store = moved.operation(StateSpace::Global, true);
        match copy.reduction {
            None => self.store(context, &mut lanes, &store, place, pc),
            Some(op) => {
                let atomic = MemoryOperation { atomic: Some((op, moved.ty)), is_copy: true, ordered: true, ..store };
                self.atomic(context, &mut lanes, &atomic, place, pc)
            }
        }
    }
}

/// Rows of a request: the addresses in two, then the bytes.
const ROWS: usize = 2 + PIECE as usize / 4;

/// What the pieces of a box have in common.
#[derive(Clone, Copy)]
struct Moved<'r> {
    request: &'r BoxRequest,
    copy: &'r TensorCopy,
    ty: ScalarType,
    /// Bytes of a piece.
    unit: u64,
    /// What four bytes outside of the tensor are.
    fill: u32,
}

impl Moved<'_> {
    /// The access to one side.
    fn operation(&self, space: StateSpace, writes: bool) -> MemoryOperation {
        let (width, elements) = match self.unit {
            16 => (4, 4),
            unit => (unit as u8, 1),
        };
        let rows = 2..2 + u32::from(elements);
        MemoryOperation {
            space,
            base: Base::Pair(Source::frame(0)),
            offset: 0,
            element_bytes: width,
            elements,
            written_bytes: width,
            sign_extend: false,
            destinations: if writes { Vec::new() } else { rows.clone().collect() },
            sources: if writes { rows.map(Source::frame).collect() } else { Vec::new() },
            atomic: None,
            is_copy: false,
            asks: None,
            ordered: false,
            places: Places::Own,
        }
    }
}

/// Bytes of the largest pieces that lie inside or outside of the tensor as a whole, and that are aligned in it.
fn unit(map: &TensorMap, start: i64) -> u64 {
    let element = u64::from(map.ty.bytes());
    if map.steps[0] > 1 {
        return element;
    }
    // Coordinates count from before the tensor: what is cut off at its start is aligned as the start of the box is.
    let cuts = [start.unsigned_abs(), u64::from(map.extents[0])];
    cuts.into_iter().fold(PIECE, |unit, cut| unit.min(1 << ((cut * element) | PIECE).trailing_zeros()))
}

/// The pieces of the box at some coordinates, in the order in which they lie in shared memory.
fn pieces(map: &TensorMap, start: &[i64], shared: u64, unit: u64) -> Vec<Piece> {
    let element = i64::from(map.ty.bytes());
    let counts: Vec<u32> = (0..start.len()).map(|dimension| map.count(dimension)).collect();
    let row_pieces = (i64::from(counts[0]) * element).unsigned_abs() / unit;
    let n_rows: u32 = counts[1..].iter().product();
    let mut pieces = Vec::with_capacity(n_rows as usize * row_pieces as usize);
    for row in 0..n_rows {
        let (mut rest, mut base, mut is_inside) = (row, map.address, true);
        for (dimension, &count) in counts.iter().enumerate().skip(1) {
            let at = start[dimension] + i64::from(rest % count) * i64::from(map.steps[dimension]);
            is_inside &= (0..i64::from(map.extents[dimension])).contains(&at);
            base = base.wrapping_add_signed(at.wrapping_mul(map.strides[dimension - 1].cast_signed()));
            rest /= count;
        }
        for piece in 0..row_pieces {
            // Steps along the dense dimension take elements one by one.
            let at = start[0] * element + piece.cast_signed() * unit.cast_signed() * i64::from(map.steps[0]);
            let is_inside = is_inside && (0..i64::from(map.extents[0]) * element).contains(&at);
            pieces.push(Piece {
                global: is_inside.then(|| base.wrapping_add_signed(at)),
                shared: map.swizzle.place(shared + (u64::from(row) * row_pieces + piece) * unit),
            });
        }
    }
    pieces
}

/// What four bytes outside of the tensor are.
fn fill(map: &TensorMap) -> u32 {
    match map.ty {
        _ if !map.fills_nan => 0,
        ScalarType::F16 | ScalarType::Bf16 => u32::from(OUT_OF_BOUNDS) * 0x1_0001,
        ScalarType::F32 | ScalarType::F64 => u32::MAX,
        _ => 0,
    }
}
