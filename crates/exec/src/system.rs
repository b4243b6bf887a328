//! Special registers and the services of the CUDA device runtime.

use warplens_isa::{Axis, SpecialRegister, SystemCall};
use warplens_trace::{ActiveMask, Observer};

use crate::code::{Decoded, SINK, Wide};
use crate::error::ExecError;
use crate::format::Conversion;
use crate::interpret::{Context, Worker, set_value};
use crate::raw::{Lanes, Source};

/// Longest string that a service reads from device memory.
const STRING_LIMIT: usize = 4096;

impl<O: Observer> Worker<'_, O> {
    #[inline(never)]
    pub(crate) fn special(
        &mut self,
        context: &Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        decoded: &Decoded,
        register: SpecialRegister,
        wide: Wide,
    ) {
        let destination = decoded.destinations[0];
        if let Some(values) = self.lane_values(context, register) {
            match wide {
                Wide::Yes => lanes.set_pairs(destination, &values.map(u64::from)),
                Wide::No => lanes.set_words(destination, &values),
            }
            return;
        }
        set_value(lanes, destination, wide, self.warp_value(context, register));
    }

    /// Registers that differ from lane to lane.
    fn lane_values(&self, context: &Context<'_, O::Cta>, register: SpecialRegister) -> Option<[u32; 32]> {
        let index = &self.thread_index[context.warp_index as usize];
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

    /// Registers that are the same in all lanes. There is one SM, which runs one cluster of one CTA at a time; the
    /// clocks count warp instructions, since execution knows no time.
    fn warp_value(&mut self, context: &Context<'_, O::Cta>, register: SpecialRegister) -> u64 {
        let shape = &self.shared.shape;
        let on = |values: [u32; 3], axis: Axis| u64::from(values[axis as usize]);
        let shared_bytes = shape.shared_bytes as u64;
        match register {
            SpecialRegister::Ntid(axis) => on(shape.block, axis),
            SpecialRegister::Ctaid(axis) | SpecialRegister::Clusterid(axis) => on(context.coordinates, axis),
            SpecialRegister::Nctaid(axis) | SpecialRegister::Nclusterid(axis) => on(shape.grid, axis),
            SpecialRegister::ClusterNctaid(_) | SpecialRegister::ClusterNctarank | SpecialRegister::Nsmid => 1,
            SpecialRegister::Warpid => u64::from(context.warp_index),
            SpecialRegister::Nwarpid => u64::from(shape.threads.div_ceil(32)),
            SpecialRegister::Clock | SpecialRegister::Clock64 => self.clock(),
            SpecialRegister::Globaltimer | SpecialRegister::GlobaltimerLo => self.clock(),
            SpecialRegister::ClockHi | SpecialRegister::GlobaltimerHi => self.clock() >> 32,
            SpecialRegister::DynamicSmemSize => self.shared.launch.dynamic_shared,
            SpecialRegister::TotalSmemSize | SpecialRegister::AggrSmemSize => shared_bytes,
            _ => 0,
        }
    }

    #[inline(never)]
    pub(crate) fn system_call(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        decoded: &Decoded,
        service: SystemCall,
        arguments: &[(Source, Wide)],
    ) -> Result<(), ExecError> {
        let mut results = [0u64; 32];
        for lane in ActiveMask(lanes.mask).lanes() {
            let values: Vec<u64> = arguments
                .iter()
                .map(|&(source, wide)| match wide {
                    Wide::Yes => lanes.pairs(source)[lane],
                    Wide::No => u64::from(lanes.words(source)[lane]),
                })
                .collect();
            let argument = |index: usize| values.get(index).copied().unwrap_or(0);
            results[lane] = match service {
                SystemCall::Vprintf => self.vprintf(context, lane, argument(0), argument(1)),
                SystemCall::Malloc => self.shared.device.heap_allocate(argument(0)),
                SystemCall::Free => match self.shared.device.heap_free(argument(0)) {
                    Ok(()) => 0,
                    Err(reason) => {
                        let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
                        return Err(ExecError::BadFree { pc: decoded.pc, thread, address: argument(0), reason });
                    }
                },
                SystemCall::AssertFail => {
                    let text = |address| String::from_utf8_lossy(&self.string(context, lane, address)).into_owned();
                    let (message, file) = (text(argument(0)), text(argument(1)));
                    let message = format!("assertion `{message}` failed at {file}:{}", argument(2) as u32);
                    let thread = self.thread(context.coordinates, context.warp_index, 1 << lane);
                    return Err(ExecError::Trap { pc: decoded.pc, thread, message });
                }
            };
        }
        if decoded.destinations[0] == SINK {
            return Ok(());
        }
        if service == SystemCall::Malloc && self.shared.device.windows.global > u64::from(u32::MAX) {
            lanes.set_pairs(decoded.destinations[0], &results);
        } else {
            lanes.set_words(decoded.destinations[0], &results.map(|result| result as u32));
        }
        Ok(())
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
