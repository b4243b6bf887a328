//! Loads, stores and atomics: addresses, checks, transfer.

use warplens_isa::{Pc, StateSpace};
use warplens_trace::{Access, AccessKind, ActiveMask, Observer, WarpIndex};

use crate::atomic;
use crate::code::{Base, Decoded, MemoryOperation, Wide};
use crate::error::{AccessError, AccessFault, ExecError};
use crate::interpret::{Context, Worker, set_value};
use crate::memory::page_is_null;
use crate::raw::{Cell, Cells, Lanes};

/// Where a checked access goes: lane addresses as offsets into one block of memory.
struct Target<'t> {
    cells: &'t Cells,
    /// Byte in `cells` of the lowest address.
    start: usize,
    /// By lane: distance from there. Lanes that do not take part repeat one that does.
    offsets: [u32; 32],
    /// The largest of them.
    highest: u32,
}

impl<O: Observer> Worker<'_, O> {
    #[inline(always)]
    pub(crate) fn load(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        index: u32,
        pc: Pc,
    ) -> Result<(), ExecError> {
        if let (StateSpace::Param, Base::Constant(address)) = (operation.space, operation.base) {
            return self.load_parameter(context, lanes, operation, address.wrapping_add_signed(operation.offset), pc);
        }
        self.transfer(context, lanes, operation, index, pc, AccessKind::Load)
    }

    #[inline(always)]
    pub(crate) fn store(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        index: u32,
        pc: Pc,
    ) -> Result<(), ExecError> {
        self.transfer(context, lanes, operation, index, pc, AccessKind::Store)
    }

    #[inline(never)]
    pub(crate) fn atomic(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        index: u32,
        pc: Pc,
    ) -> Result<(), ExecError> {
        self.transfer(context, lanes, operation, index, pc, AccessKind::Atomic)
    }

    #[inline(always)]
    fn transfer(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        index: u32,
        pc: Pc,
        kind: AccessKind,
    ) -> Result<(), ExecError> {
        let mut addresses = addresses(lanes, operation, context.local.base);
        if operation.space == StateSpace::Generic {
            let windows = self.shared.device.windows;
            let first = windows.space_of(addresses[0]);
            if addresses.iter().any(|&address| windows.space_of(address) != first) {
                return self.transfer_by_space(context, lanes, operation, index, pc, kind, &addresses);
            }
            let base = windows.base(first);
            addresses.iter_mut().for_each(|address| *address = address.wrapping_sub(base));
            return self.transfer_in(context, lanes, operation, index, pc, kind, first, &addresses);
        }
        self.transfer_in(context, lanes, operation, index, pc, kind, operation.space, &addresses)
    }

    /// A generic access whose lanes address several spaces: one after the other.
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "the arguments of `transfer` and the addresses")]
    fn transfer_by_space(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        index: u32,
        pc: Pc,
        kind: AccessKind,
        addresses: &[u64; 32],
    ) -> Result<(), ExecError> {
        let windows = self.shared.device.windows;
        let all = lanes.mask;
        let mut rest = ActiveMask(all);
        while let Some(lane) = rest.lowest() {
            let space = windows.space_of(addresses[lane]);
            let same = rest.lanes().filter(|&other| windows.space_of(addresses[other]) == space);
            lanes.mask = same.fold(0, |mask, other| mask | 1 << other);
            rest = rest.without(ActiveMask(lanes.mask));
            let base = windows.base(space);
            let own = std::array::from_fn(|other| {
                addresses[if lanes.mask >> other & 1 == 1 { other } else { lane }].wrapping_sub(base)
            });
            self.transfer_in(context, lanes, operation, index, pc, kind, space, &own)?;
        }
        lanes.mask = all;
        Ok(())
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the arguments of `transfer`, the space and the addresses")]
    fn transfer_in(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        index: u32,
        pc: Pc,
        kind: AccessKind,
        space: StateSpace,
        addresses: &[u64; 32],
    ) -> Result<(), ExecError> {
        let bytes = u32::from(operation.written_bytes) * u32::from(operation.elements);
        let span = Span::of(addresses, bytes);
        let Some(target) = self.target(context, space, index, addresses, &span) else {
            return self.transfer_apart(context, lanes, operation, index, pc, kind, space, addresses);
        };
        if O::RECORDS {
            let access = Access {
                space,
                kind,
                element_bytes: operation.written_bytes,
                elements: operation.elements,
                mask: ActiveMask(lanes.mask),
                addresses,
            };
            self.observer.access(context.record, WarpIndex(context.warp_index), pc, &access);
        }
        match kind {
            AccessKind::Load => read(lanes, operation, &target),
            AccessKind::Store => write(lanes, operation, &target),
            AccessKind::Atomic => modify(lanes, operation, &target),
        }
        Ok(())
    }

    /// The memory that all lanes access, if it is one block, all addresses lie inside and all are aligned.
    #[inline(always)]
    fn target<'t>(
        &mut self,
        context: &Context<'t, O::Cta>,
        space: StateSpace,
        index: u32,
        addresses: &[u64; 32],
        span: &Span,
    ) -> Option<Target<'t>>
    where
        Self: 't,
    {
        if span.misaligned != 0 || span.high - span.low > u64::from(u32::MAX / 2) {
            return None;
        }
        let end = span.high + u64::from(span.bytes);
        let (cells, start) = match space {
            StateSpace::Global | StateSpace::Generic => {
                let (base, size, id) = self.last_buffer[index as usize];
                let (base, id) = if span.low >= base && end <= base + size {
                    (base, id)
                } else {
                    let id = self.shared.device.find(span.low)?;
                    let buffer = self.shared.device.buffer(id);
                    if end > buffer.base + buffer.bytes {
                        return None;
                    }
                    self.last_buffer[index as usize] = (buffer.base, buffer.bytes, id);
                    (buffer.base, id)
                };
                (&self.shared.device.buffer(id).cells, span.low - base)
            }
            StateSpace::Shared if end <= context.shared.len() as u64 => (context.shared, span.low),
            StateSpace::Const if end <= self.shared.device.constants.len() as u64 => {
                (&self.shared.device.constants, span.low)
            }
            StateSpace::Local if end <= u64::from(context.local.top) => {
                return Some(local_target(context, addresses));
            }
            _ => return None,
        };
        let offsets = std::array::from_fn(|lane| (addresses[lane] - span.low) as u32);
        Some(Target { cells, start: start as usize, offsets, highest: (span.high - span.low) as u32 })
    }

    /// An access that is bad in some lane, or whose lanes touch several buffers: lane by lane.
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "the arguments of `transfer_in`")]
    fn transfer_apart(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        index: u32,
        pc: Pc,
        kind: AccessKind,
        space: StateSpace,
        addresses: &[u64; 32],
    ) -> Result<(), ExecError> {
        let all = lanes.mask;
        let bytes = u32::from(operation.written_bytes) * u32::from(operation.elements);
        for lane in ActiveMask(all).lanes() {
            let own = [addresses[lane]; 32];
            let Some(target) = self.target(context, space, index, &own, &Span::of(&own, bytes)) else {
                return Err(self.refuse(context, operation, pc, kind, space, addresses[lane], lane as u32));
            };
            lanes.mask = 1 << lane;
            match kind {
                AccessKind::Load if space == StateSpace::Param => {}
                AccessKind::Load => read(lanes, operation, &lane_target(target, context, space, lane)),
                AccessKind::Store => write(lanes, operation, &lane_target(target, context, space, lane)),
                AccessKind::Atomic => modify(lanes, operation, &lane_target(target, context, space, lane)),
            }
        }
        lanes.mask = all;
        if O::RECORDS {
            let access = Access {
                space,
                kind,
                element_bytes: operation.written_bytes,
                elements: operation.elements,
                mask: ActiveMask(all),
                addresses,
            };
            self.observer.access(context.record, WarpIndex(context.warp_index), pc, &access);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "everything that the message names")]
    fn refuse(
        &self,
        context: &Context<'_, O::Cta>,
        operation: &MemoryOperation,
        pc: Pc,
        kind: AccessKind,
        space: StateSpace,
        address: u64,
        lane: u32,
    ) -> ExecError {
        let device = self.shared.device;
        let bytes = u32::from(operation.written_bytes) * u32::from(operation.elements);
        let is_global = matches!(space, StateSpace::Global | StateSpace::Generic);
        let window = device.windows.space_of(address);
        let fault = if !address.is_multiple_of(u64::from(bytes.next_power_of_two())) {
            AccessFault::Misaligned
        } else if is_global && page_is_null(address) {
            AccessFault::Null
        } else if is_global && window != StateSpace::Global {
            AccessFault::OtherSpace(window)
        } else if !is_global && device.find(address).is_some() {
            AccessFault::OtherSpace(StateSpace::Global)
        } else if matches!(space, StateSpace::Const | StateSpace::Param) && kind != AccessKind::Load {
            AccessFault::ReadOnly
        } else {
            AccessFault::OutOfBounds
        };
        let nearest = match space {
            StateSpace::Shared => Some(own_memory("shared memory of the block", context.shared.len() as u64, address)),
            StateSpace::Local => Some(own_memory("local memory of the thread", u64::from(context.local.top), address)),
            StateSpace::Const => Some(own_memory("constant memory", device.constants.len() as u64, address)),
            StateSpace::Param => {
                Some(own_memory("kernel parameters", self.shared.launch.parameters.len() as u64, address))
            }
            _ => device.nearest(address),
        };
        ExecError::Access(Box::new(AccessError {
            fault,
            pc,
            thread: self.thread(context.coordinates, context.warp_index, 1 << lane),
            space,
            kind: match kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic => "atomic",
            },
            address,
            bytes,
            nearest,
        }))
    }

    /// A parameter is the same in all lanes.
    fn load_parameter(
        &self,
        context: &Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        address: u64,
        pc: Pc,
    ) -> Result<(), ExecError> {
        let width = usize::from(operation.element_bytes);
        let parameters = &self.shared.launch.parameters;
        for (element, &row) in operation.destinations.iter().enumerate() {
            let start = usize::try_from(address).ok().and_then(|start| start.checked_add(element * width));
            let Some(bytes) = start.and_then(|start| parameters.get(start..start.checked_add(width)?)) else {
                let space = StateSpace::Param;
                let lane = lanes.mask.trailing_zeros();
                return Err(self.refuse(context, operation, pc, AccessKind::Load, space, address, lane));
            };
            let mut value = [0; 8];
            value[..width].copy_from_slice(bytes);
            let value = extend(u64::from_le_bytes(value), operation);
            set_value(lanes, row, if width == 8 { Wide::Yes } else { Wide::No }, value);
        }
        Ok(())
    }

    /// Tests in which space generic addresses lie.
    pub(crate) fn in_space(&self, lanes: &mut Lanes<'_>, decoded: &Decoded, space: StateSpace, wide: Wide) {
        let windows = self.shared.device.windows;
        let mut truths = 0;
        for lane in 0..32 {
            let address = match wide {
                Wide::Yes => lanes.pairs(decoded.sources[0])[lane],
                Wide::No => u64::from(lanes.words(decoded.sources[0])[lane]),
            };
            truths |= u32::from(windows.space_of(address) == space) << lane;
        }
        lanes.set_predicate(decoded.destinations[0], truths);
    }

    /// Reads bytes at a generic address, for services that follow pointers.
    pub(crate) fn peek(
        &self,
        context: &Context<'_, O::Cta>,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Option<Vec<u8>> {
        let device = self.shared.device;
        let space = device.windows.space_of(address);
        let own = address.wrapping_sub(device.windows.base(space)) as usize;
        let inside = |cells: &Cells| own.checked_add(bytes).is_some_and(|end| end <= cells.len());
        match space {
            StateSpace::Global => {
                let buffer = device.buffer(device.find(address)?);
                let offset = address - buffer.base;
                (offset + bytes as u64 <= buffer.bytes).then(|| buffer.cells.read_bytes(offset as usize, bytes))
            }
            StateSpace::Shared => inside(context.shared).then(|| context.shared.read_bytes(own, bytes)),
            StateSpace::Const => inside(&device.constants).then(|| device.constants.read_bytes(own, bytes)),
            StateSpace::Local => {
                let start = lane * context.local.stride as usize + own;
                (own + bytes <= context.local.stride as usize).then(|| context.local.cells.read_bytes(start, bytes))
            }
            _ => self.shared.launch.parameters.get(own..own + bytes).map(<[u8]>::to_vec),
        }
    }
}

fn own_memory(name: &str, bytes: u64, address: u64) -> crate::error::NearestBuffer {
    crate::error::NearestBuffer { name: name.to_owned(), base: 0, bytes, offset: i128::from(address) }
}

/// Lowest and highest address of a request.
struct Span {
    low: u64,
    high: u64,
    /// Not zero if some address is not a multiple of the size.
    misaligned: u64,
    bytes: u32,
}

impl Span {
    #[inline(always)]
    fn of(addresses: &[u64; 32], bytes: u32) -> Self {
        let (mut low, mut high, mut all) = (i64::MAX, i64::MIN, 0);
        for &address in addresses {
            // Addresses stay far below 2^63; a wild one beyond turns negative and fails the range check.
            low = low.min(address as i64);
            high = high.max(address as i64);
            all |= address;
        }
        if low < 0 {
            // An address that no memory has, so that the request is looked at lane by lane.
            return Self { low: 0, high: u64::MAX / 2, misaligned: 0, bytes };
        }
        Self { low: low as u64, high: high as u64, misaligned: all & u64::from(bytes.next_power_of_two() - 1), bytes }
    }
}

/// Byte addresses of a request. Lanes that do not take part repeat the lowest one that does.
#[inline(always)]
fn addresses(lanes: &Lanes<'_>, operation: &MemoryOperation, frame: u32) -> [u64; 32] {
    let mut addresses = [0; 32];
    match operation.base {
        Base::Pair(source) => {
            let base = lanes.pairs(source);
            for lane in 0..32 {
                addresses[lane] = base[lane].wrapping_add_signed(operation.offset);
            }
        }
        Base::Word(source) => {
            let base = lanes.words(source);
            for lane in 0..32 {
                addresses[lane] = u64::from(base[lane].wrapping_add(operation.offset as u32));
            }
        }
        Base::Constant(address) => addresses = [address.wrapping_add_signed(operation.offset); 32],
        Base::Frame => addresses = [u64::from(frame).wrapping_add_signed(operation.offset); 32],
    }
    if lanes.mask != u32::MAX {
        let lowest = addresses[lanes.mask.trailing_zeros().min(31) as usize];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if lanes.mask >> lane & 1 == 1 { *address } else { lowest };
        }
    }
    addresses
}

/// Local memory: the lanes' blocks follow each other.
#[inline(always)]
fn local_target<'t, R>(context: &Context<'t, R>, addresses: &[u64; 32]) -> Target<'t> {
    let stride = context.local.stride;
    let offsets: [u32; 32] = std::array::from_fn(|lane| lane as u32 * stride + addresses[lane] as u32);
    let highest = offsets.iter().copied().max().unwrap_or(0);
    Target { cells: context.local.cells, start: 0, offsets, highest }
}

/// A target that was made for one lane's address in all lanes, seen from that lane.
fn lane_target<'t, R>(target: Target<'t>, context: &Context<'t, R>, space: StateSpace, lane: usize) -> Target<'t> {
    if space != StateSpace::Local {
        return target;
    }
    let own = target.offsets[0] + lane as u32 * context.local.stride;
    Target { offsets: [own; 32], highest: own, ..target }
}

#[inline(always)]
fn read(lanes: &mut Lanes<'_>, operation: &MemoryOperation, target: &Target<'_>) {
    let width = usize::from(operation.element_bytes);
    for (element, &row) in operation.destinations.iter().enumerate() {
        let start = target.start + element * width;
        match width {
            4 => {
                let values = target.cells.gather::<u32>(start, &target.offsets, target.highest);
                lanes.set_words(row, &values);
            }
            8 => {
                let values = target.cells.gather::<u64>(start, &target.offsets, target.highest);
                lanes.set_pairs(row, &values);
            }
            2 => read_narrow::<u16>(lanes, operation, target, start, row),
            _ => read_narrow::<u8>(lanes, operation, target, start, row),
        }
    }
}

fn read_narrow<T: Cell + Default + Into<u64>>(
    lanes: &mut Lanes<'_>,
    operation: &MemoryOperation,
    target: &Target<'_>,
    start: usize,
    row: u32,
) {
    let values = target.cells.gather::<T>(start, &target.offsets, target.highest);
    lanes.set_words(row, &values.map(|value| extend(value.into(), operation) as u32));
}

/// Sign extension of narrow elements to the register.
fn extend(value: u64, operation: &MemoryOperation) -> u64 {
    match (operation.sign_extend, operation.element_bytes) {
        (true, 1) => value as u8 as i8 as i64 as u64,
        (true, 2) => value as u16 as i16 as i64 as u64,
        _ => value,
    }
}

#[inline(always)]
fn write(lanes: &mut Lanes<'_>, operation: &MemoryOperation, target: &Target<'_>) {
    let width = usize::from(operation.element_bytes);
    for (element, &source) in operation.sources.iter().enumerate() {
        let start = target.start + element * width;
        match width {
            4 => {
                let values = lanes.words(source);
                write_lanes(lanes.mask, target, start, |lane| values[lane]);
            }
            8 => {
                let values = lanes.pairs(source);
                write_lanes(lanes.mask, target, start, |lane| values[lane]);
            }
            2 => {
                let values = lanes.words(source);
                write_lanes(lanes.mask, target, start, |lane| values[lane] as u16);
            }
            _ => {
                let values = lanes.words(source);
                write_lanes(lanes.mask, target, start, |lane| values[lane] as u8);
            }
        }
    }
}

#[inline(always)]
fn write_lanes<T: Cell>(mask: u32, target: &Target<'_>, start: usize, value: impl Fn(usize) -> T) {
    if mask == u32::MAX {
        return target.cells.scatter(start, &target.offsets, target.highest, value);
    }
    for lane in ActiveMask(mask).lanes() {
        target.cells.store(start + target.offsets[lane] as usize, value(lane));
    }
}

/// Atomics take effect lane by lane, lowest first.
fn modify(lanes: &mut Lanes<'_>, operation: &MemoryOperation, target: &Target<'_>) {
    let Some((op, ty)) = operation.atomic else { return };
    let width = usize::from(operation.element_bytes);
    let wide = if width == 8 { Wide::Yes } else { Wide::No };
    let elements = usize::from(operation.elements);
    let n_operands = operation.sources.len() / elements.max(1);
    for element in 0..elements {
        let operands = &operation.sources[element * n_operands..][..n_operands];
        let mut old = [0; 32];
        for lane in ActiveMask(lanes.mask).lanes() {
            let offset = target.start + element * width + target.offsets[lane] as usize;
            let operand = |index: usize| operands.get(index).map_or(0, |&source| value_of(lanes, source, wide, lane));
            let operands = [operand(0), operand(1)];
            old[lane] = match width {
                8 => target.cells.update::<u64>(offset, |old| atomic::apply(op, ty, old, operands)),
                2 => {
                    let operands = operands.map(|operand| operand & 0xffff);
                    let new = |old: u16| atomic::apply(op, ty, old.into(), operands) as u16;
                    target.cells.update::<u16>(offset, new).into()
                }
                _ => {
                    let new = |old: u32| atomic::apply(op, ty, old.into(), operands) as u32;
                    target.cells.update::<u32>(offset, new).into()
                }
            };
        }
        if let Some(&row) = operation.destinations.get(element) {
            match wide {
                Wide::Yes => lanes.set_pairs(row, &old),
                Wide::No => lanes.set_words(row, &old.map(|value| value as u32)),
            }
        }
    }
}

fn value_of(lanes: &Lanes<'_>, source: crate::raw::Source, wide: Wide, lane: usize) -> u64 {
    match wide {
        Wide::Yes => lanes.pairs(source)[lane],
        Wide::No => u64::from(lanes.words(source)[lane]),
    }
}
