//! Loads of which each lane reads the first bytes only: what a copy reads whose source is shorter than its target.

use warplens_isa::{Pc, StateSpace};
use warplens_trace::{AccessKind, ActiveMask, Observer};

use super::addresses;
use crate::code::MemoryOperation;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::interpret::{Context, Worker};
use crate::raw::Lanes;

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Loads the first bytes of what the operation names, as many as each lane says; the rest of the rows it loads into
    /// becomes zero. Lanes that read nothing touch nothing; the event of the others has the whole shape of the operation,
    /// as the request of the hardware does.
    #[inline(never)]
    pub(crate) fn load_part(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        (index, pc): (u32, Pc),
        bytes: &[u32; 32],
    ) -> Result<(), ExecError> {
        let (all, whole) = (lanes.mask, operation.bytes());
        let those = |wanted: &dyn Fn(u32) -> bool| {
            ActiveMask(all).lanes().filter(|&lane| wanted(bytes[lane])).fold(0, |mask, lane| mask | 1 << lane)
        };
        let (reading, part) = (those(&|bytes| bytes > 0), those(&|bytes| bytes > 0 && bytes < whole));
        lanes.mask = reading;
        let loaded = match (reading, part) {
            (0, _) => Ok(()),
            (_, 0) => self.load(context, lanes, operation, index, pc),
            _ => self.load_bytes(context, lanes, operation, pc, &bytes.map(|bytes| bytes.min(whole))),
        };
        lanes.mask = all;
        loaded
    }

    /// The same byte by byte, from global memory.
    fn load_bytes(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        pc: Pc,
        bytes: &[u32; 32],
    ) -> Result<(), ExecError> {
        let (reading, kind, space) = (lanes.mask, AccessKind::Load, StateSpace::Global);
        let addresses = addresses(lanes, operation, context.local.base);
        if O::RECORDS {
            self.record(context, (reading, 0), operation, pc, kind, space, (&addresses).into());
        }
        let width = u32::from(operation.element_bytes);
        let one = MemoryOperation { element_bytes: 1, elements: 1, written_bytes: 1, ..operation.clone() };
        let mut values = vec![[0; 32]; operation.destinations.len()];
        for lane in ActiveMask(reading).lanes() {
            lanes.mask = 1 << lane;
            let is_aligned = addresses[lane].is_multiple_of(operation.bytes().into());
            for byte in 0..bytes[lane] {
                let address = addresses[lane].wrapping_add(byte.into());
                let selection = self.select_lane(context, space, address, lane, 1).filter(|_| is_aligned);
                let Some(selection) = selection else {
                    return Err(self.refuse(context, operation, pc, kind, space, addresses[lane], lane as u32));
                };
                if let Some(id) = self.shared.device.find(address)
                    && let Some(shadow) = self.shadow_of(id, &one, kind)
                {
                    let start = address - self.shared.device.buffer(id).base;
                    self.note((id, shadow), start, &selection, lanes, (&one, kind), pc);
                }
                values[(byte / width) as usize][lane] |= u32::from(selection.byte(lane, 0)) << (8 * (byte % width));
            }
        }
        lanes.mask = reading;
        for (&row, values) in operation.destinations.iter().zip(&values) {
            lanes.set_words(row, values);
        }
        Ok(())
    }
}
