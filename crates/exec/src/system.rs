//! Special registers and the services of the CUDA device runtime.

use warplens_isa::{Axis, Pc, SpecialRegister, SystemCall};
use warplens_trace::{ActiveMask, Observer};

use crate::engine::{Engine, LaneValues};
use crate::error::ExecError;
use crate::format::Conversion;
use crate::interpret::{Context, Worker};

/// Longest string that a service reads from device memory.
const STRING_LIMIT: usize = 4096;

/// True for the two halves of the address at which a cooperative launch has its workspace.
pub(crate) fn is_workspace(register: SpecialRegister) -> bool {
    matches!(register, SpecialRegister::Envreg(1 | 2))
}

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// What a special register shows in each lane.
    pub(crate) fn special_values(&mut self, of: (u32, [u32; 3]), register: SpecialRegister) -> LaneValues {
        match self.lane_values(of.0, register) {
            Some(values) => values.map(u64::from),
            None => [self.warp_value(of, register); 32],
        }
    }

    /// Registers that differ from lane to lane.
    pub(crate) fn lane_values(&self, warp_index: u32, register: SpecialRegister) -> Option<[u32; 32]> {
        let index = &self.thread_index[warp_index as usize];
        let by_lane = |value: fn(u32) -> u32| Some(std::array::from_fn(|lane| value(lane as u32)));
        match register {
            SpecialRegister::Tid(axis) => Some(index[axis as usize].0),
            SpecialRegister::Laneid => by_lane(|lane| lane),
            SpecialRegister::LanemaskEq => by_lane(|lane| 1 << lane),
            SpecialRegister::LanemaskLt => by_lane(|lane| (1 << lane) - 1),
            SpecialRegister::LanemaskLe => by_lane(|lane| u32::MAX >> (31 - lane)),
            SpecialRegister::LanemaskGt => by_lane(|lane| !(u32::MAX >> (31 - lane))),
            SpecialRegister::LanemaskGe => by_lane(|lane| u32::MAX << lane),
            _ => None,
        }
    }

    /// Registers that are the same in all lanes. There is one SM, which runs one CTA at a time; the clocks
    /// count warp instructions, since execution knows no time.
    pub(crate) fn warp_value(&mut self, (warp_index, coordinates): (u32, [u32; 3]), register: SpecialRegister) -> u64 {
        let shape = &self.shared.shape;
        let on = |values: [u32; 3], axis: Axis| u64::from(values[axis as usize]);
        let shared_bytes = shape.shared_bytes as u64;
        match register {
            SpecialRegister::Ntid(axis) => on(shape.block, axis),
            SpecialRegister::Ctaid(axis) => on(coordinates, axis),
            SpecialRegister::Nctaid(axis) => on(shape.grid, axis),
            SpecialRegister::Clusterid(axis) => on(coordinates, axis) / on(shape.clusters.extents(), axis),
            SpecialRegister::Nclusterid(axis) => on(shape.clusters.grid(), axis),
            SpecialRegister::ClusterCtaid(axis) => on(shape.clusters.inside(coordinates), axis),
            SpecialRegister::ClusterNctaid(axis) => on(shape.clusters.extents(), axis),
            SpecialRegister::ClusterCtarank => shape.clusters.rank(coordinates).into(),
            SpecialRegister::ClusterNctarank => shape.clusters.n_ctas().into(),
            SpecialRegister::IsExplicitCluster => self.shared.launch.cluster.is_some().into(),
            SpecialRegister::Nsmid => 1,
            SpecialRegister::Warpid => u64::from(warp_index),
            SpecialRegister::Nwarpid => u64::from(shape.threads.div_ceil(32)),
            SpecialRegister::Clock | SpecialRegister::Clock64 => self.clock(),
            SpecialRegister::Globaltimer | SpecialRegister::GlobaltimerLo => self.clock(),
            SpecialRegister::ClockHi | SpecialRegister::GlobaltimerHi => self.clock() >> 32,
            SpecialRegister::Envreg(1) => self.shared.device.meeting_place() >> 32,
            SpecialRegister::Envreg(2) => self.shared.device.meeting_place() & u64::from(u32::MAX),
            SpecialRegister::DynamicSmemSize => self.shared.launch.dynamic_shared,
            SpecialRegister::TotalSmemSize | SpecialRegister::AggrSmemSize => shared_bytes,
            _ => 0,
        }
    }

    /// Serves the lanes of the mask. Returns the result of each.
    #[inline(never)]
    pub(crate) fn system_call(
        &mut self,
        context: &Context<'_, O::Cta>,
        (mask, pc): (u32, Pc),
        service: SystemCall,
        arguments: &[LaneValues],
    ) -> Result<LaneValues, ExecError> {
        let mut results = [0u64; 32];
        for lane in ActiveMask(mask).lanes() {
            let argument = |index: usize| arguments.get(index).map_or(0, |values| values[lane]);
            results[lane] = match service {
                SystemCall::Vprintf => self.vprintf(context, lane, argument(0), argument(1)),
                SystemCall::Malloc => {
                    let address = self.shared.device.heap_allocate(argument(0));
                    // Who had the block before gave it back first.
                    let block = self.shared.device.heap_block(address, argument(0));
                    if let (Some(ledger), Some((heap, bytes))) = (self.ledger, block) {
                        ledger.forget(heap, bytes);
                    }
                    address
                }
                SystemCall::Free => match self.shared.device.heap_free(argument(0)) {
                    Ok(()) => 0,
                    Err(reason) => {
                        let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
                        return Err(ExecError::BadFree { pc, thread, address: argument(0), reason });
                    }
                },
                SystemCall::AssertFail => {
                    let text = |address| String::from_utf8_lossy(&self.string(context, lane, address)).into_owned();
                    let (message, file) = (text(argument(0)), text(argument(1)));
                    let message = format!("assertion `{message}` failed at {file}:{}", argument(2) as u32);
                    let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
                    return Err(ExecError::Trap { pc, thread, message });
                }
            };
        }
        Ok(results)
    }

    /// A string in device memory, without its final zero.
    fn string(&self, context: &Context<'_, O::Cta>, lane: usize, address: u64) -> Vec<u8> {
        let byte = |offset| self.peek(context, lane, address.wrapping_add(offset), 1).map(|byte| byte[0]);
        (0..STRING_LIMIT as u64).map_while(byte).take_while(|&byte| byte != 0).collect()
    }

    /// `vprintf`: the arguments lie one after the other, each at a multiple of its size. Returns how many there are.
    fn vprintf(&mut self, context: &Context<'_, O::Cta>, lane: usize, format: u64, arguments: u64) -> u64 {
        let format = self.string(context, lane, format);
        let mut text = Vec::new();
        let mut rest = &format[..];
        let mut next = arguments;
        let mut count = 0;
        let mut argument = |size: u64| {
            next = next.next_multiple_of(size);
            let bytes = self.peek(context, lane, next, size as usize).unwrap_or_default();
            next += size;
            count += 1;
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(&bytes);
            u64::from_le_bytes(value)
        };
        while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
            text.extend_from_slice(&rest[..at]);
            let (conversion, used) = Conversion::parse(&rest[at..], &mut || argument(4) as i32);
            match conversion {
                Some(conversion) if conversion.is_string() => {
                    let string = self.string(context, lane, argument(8));
                    text.extend(conversion.render_string(&string));
                }
                Some(conversion) => text.extend(conversion.render(argument(conversion.size())).bytes()),
                None => text.extend_from_slice(if rest[at..].starts_with(b"%%") { b"%" } else { &rest[at..at + used] }),
            }
            rest = &rest[at + used..];
        }
        text.extend_from_slice(rest);
        self.print(&text);
        count
    }
}
