//! Copies of many bytes by one thread.
//!
//! A thread's copy is made of requests of a whole warp: 32 neighbouring places of 16 bytes each. That is how it is
//! checked, and what observers hear of.

use warplens_isa::Pc;
use warplens_trace::{ActiveMask, Observer};

use super::addresses;
use super::cluster::place_in;
use crate::code::{Base, BulkOperation, MemoryOperation};
use crate::engine::Engine;
use crate::error::ExecError;
use crate::interpret::{Context, Worker};
use crate::raw::{Lanes, Row, Source};

/// Bytes of a place.
const PLACE: u32 = 16;
/// Rows of a request: the addresses in two, then the bytes.
const ROWS: usize = 2 + PLACE as usize / 4;

/// Bytes of a place that is filled.
const FILLED: u32 = 8;

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Writes zeros to as many bytes as each lane says, in requests of 32 neighbouring places of 8 bytes.
    #[inline(never)]
    pub(crate) fn fill_bulk(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        (to, index): (&MemoryOperation, u32),
        bytes: &[u64; 32],
        pc: Pc,
    ) -> Result<(), ExecError> {
        let starts = addresses(lanes, to, context.local.base);
        let store = MemoryOperation {
            base: Base::Pair(Source::frame(0)),
            offset: 0,
            element_bytes: FILLED as u8,
            written_bytes: FILLED as u8,
            elements: 1,
            sources: vec![Source::frame(2)],
            ..to.clone()
        };
        for lane in ActiveMask(lanes.mask).lanes() {
            let n_places = bytes[lane].div_ceil(FILLED.into());
            for first in (0..n_places).step_by(32) {
                let mask = u32::MAX >> (32 - (n_places - first).min(32) as u32);
                let mut rows = [Row::splat(0); 4];
                let mut request = Lanes { rows: &mut rows, predicates: &mut [], pool: &[], mask };
                let at = |n: usize| starts[lane].wrapping_add(u64::from(FILLED) * (first + n as u64));
                request.set_pairs(0, &std::array::from_fn(at));
                let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
                self.store(context, &mut request, &store, index, pc).map_err(|error| error.of_thread(thread))?;
            }
        }
        Ok(())
    }

    /// Copies, or reduces into the target, as many bytes as each lane says.
    #[inline(never)]
    pub(crate) fn copy_bulk(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        (from, to): (&MemoryOperation, &MemoryOperation),
        operation: &BulkOperation,
        (bytes, masks): (&[u32; 32], Option<&[u32; 32]>),
        pc: Pc,
    ) -> Result<(), ExecError> {
        let starts = [from, to].map(|place| addresses(lanes, place, context.local.base));
        let width = operation.ty.bytes() as u8;
        let elements = PLACE as u8 / width.max(1);
        let values = (2..ROWS as u32).step_by(usize::from(width / 4));
        let place = |place: &MemoryOperation| MemoryOperation {
            base: Base::Pair(Source::frame(0)),
            offset: 0,
            element_bytes: width,
            written_bytes: width,
            elements,
            ..place.clone()
        };
        let load = MemoryOperation { destinations: values.clone().collect(), ..place(from) };
        let atomic = operation.reduction.map(|op| (op, operation.ty));
        let store =
            MemoryOperation { sources: values.map(Source::frame).collect(), atomic, is_copy: true, ..place(to) };
        for lane in ActiveMask(lanes.mask).lanes() {
            let n_places = bytes[lane].div_ceil(PLACE);
            for first in (0..n_places).step_by(32) {
                let mask = u32::MAX >> (32 - (n_places - first).min(32));
                let mut rows = [Row::splat(0); ROWS];
                let mut request = Lanes { rows: &mut rows, predicates: &mut [], pool: &[], mask };
                let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
                let of_thread = |error: ExecError| error.of_thread(thread);
                let at = |start: u64| {
                    std::array::from_fn(|n| start.wrapping_add(u64::from(PLACE) * (u64::from(first) + n as u64)))
                };
                request.set_pairs(0, &at(starts[0][lane]));
                self.load(context, &mut request, &load, operation.from, pc).map_err(of_thread)?;
                let targets: Vec<u64> = match masks {
                    None => vec![starts[1][lane]],
                    Some(masks) => {
                        ActiveMask(masks[lane]).lanes().map(|rank| place_in(rank as u32, starts[1][lane])).collect()
                    }
                };
                for target in targets {
                    request.set_pairs(0, &at(target));
                    let written = match atomic {
                        Some(_) => self.atomic(context, &mut request, &store, operation.to, pc),
                        None => self.store(context, &mut request, &store, operation.to, pc),
                    };
                    written.map_err(of_thread)?;
                }
            }
        }
        Ok(())
    }
}
