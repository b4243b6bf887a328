//! Loads, stores and atomics: addresses, checks, transfer.

mod bulk;
mod cluster;
mod group;
mod matrices;
mod near;
mod part;
mod tensor;

use warplens_isa::{AtomicOp, Pc, StateSpace, cluster_rank, cluster_window};
use warplens_trace::{Access, AccessKind, ActiveMask, Addresses, Observer, Told, WarpIndex};

use crate::code::{Base, MemoryOperation, Step, Wide};
use crate::engine::Engine;
use crate::error::{AccessError, AccessFault, ExecError};
use crate::interpret::{Context, Recent, Worker};
use crate::memory::{BufferId, page_is_null};
use crate::race::{Halt, Kind, Meeting, Race, Shadow, Touch, cta_of};
use crate::raw::{Cell, Cells, Lanes, Level, Offsets, Selection};
use crate::semantics::atomic::Adder;
use crate::simt::set_value;

pub use tensor::BoxRequest;

/// Multiple of every access size.
const FAR_ALIGN: u64 = 512;

impl<'a, E: Engine, O: Observer> Worker<'a, E, O> {
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
        if kind == AccessKind::Load && self.load_near(context, lanes, operation, (index, pc)) {
            return Ok(());
        }
        let mut offsets = Offsets::zero();
        let (level, bytes, frame) = (self.shared.level, operation.bytes(), context.local.base);
        // The two most frequent cases, each on a way of its own: what it has found stays in registers of the CPU.
        match operation.space {
            StateSpace::Shared => {
                if set(&mut offsets, level, lanes, operation, frame, 0)
                    && let Some(selection) = context.shared.select(0, &offsets, bytes)
                {
                    self.act(context, lanes, operation, (index, kind, pc), (StateSpace::Shared, 0), &selection);
                    return Ok(());
                }
            }
            StateSpace::Global => {
                let Recent { base, id, .. } = self.recent[index as usize];
                let buffer = self.shared.device.buffer(id);
                if set(&mut offsets, level, lanes, operation, frame, base)
                    && offsets.fit(bytes, buffer.bytes)
                    && let Some(selection) = buffer.cells.select(0, &offsets, bytes)
                {
                    self.act(context, lanes, operation, (index, kind, pc), (StateSpace::Global, base), &selection);
                    return Ok(());
                }
            }
            StateSpace::Generic
            | StateSpace::Const
            | StateSpace::Param
            | StateSpace::Local
            | StateSpace::Texture
            | StateSpace::Surface => {}
        }
        self.transfer_elsewhere(context, lanes, operation, (index, kind, pc), &mut offsets)
    }

    /// An access to another buffer than the last time, or to another space.
    #[inline(never)]
    fn transfer_elsewhere(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        (index, kind, pc): (u32, AccessKind, Pc),
        offsets: &mut Offsets,
    ) -> Result<(), ExecError> {
        match self.select(context, lanes, operation, (index, kind), offsets) {
            Some((space, origin, selection)) => {
                self.act(context, lanes, operation, (index, kind, pc), (space, origin), &selection);
                Ok(())
            }
            None => self.transfer_apart(context, lanes, operation, pc, kind),
        }
    }

    /// Accesses places that were found to be fine, and tells the observer.
    #[inline(always)]
    fn act(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        (index, kind, pc): (u32, AccessKind, Pc),
        (space, origin): (StateSpace, u64),
        selection: &Selection<'_>,
    ) {
        let level = self.shared.level;
        if O::RECORDS && operation.speaks_to_barrier() {
            let mut addresses = Addresses::from_offsets(origin, selection.offsets().values()).all();
            mark(lanes, operation, &mut addresses);
            self.record(context, (lanes.mask, 0), operation, pc, kind, space, (&addresses).into());
        } else if O::RECORDS {
            let shape = self.shapes.shape(level, index, (lanes.mask, space), selection.offsets());
            let addresses = Addresses::from_offsets(origin, selection.offsets().values()).with_shape(shape);
            let is_compared = kind == AccessKind::Store && space == StateSpace::Shared && self.observer.wants_values();
            let unchanged = if is_compared { unchanged(lanes, operation, selection) } else { 0 };
            self.record(context, (lanes.mask, unchanged), operation, pc, kind, space, addresses);
        }
        if space == StateSpace::Global
            && let Recent { base, id, shadow: Some(shadow) } = self.recent[index as usize]
            && self.note((id, shadow), origin - base, selection, lanes, (operation, kind), pc)
        {
            return;
        }
        match kind {
            AccessKind::Load => read(level, lanes, operation, selection),
            AccessKind::Store => write(level, lanes, operation, selection),
            AccessKind::Atomic => modify::<E>(lanes, operation, selection, space),
        }
    }

    /// Where to note what an operation touches of a buffer, if that matters. Ordered loads are a matter of the kernel's
    /// class.
    #[inline(never)]
    fn shadow_of(&mut self, id: BufferId, operation: &MemoryOperation, kind: AccessKind) -> Option<&'a Shadow> {
        let ledger = self.ledger?;
        if kind == AccessKind::Load && operation.ordered {
            return None;
        }
        let shadow = ledger.note(self.shared.device, id, kind_of(kind));
        if ledger.halted().is_some() {
            self.turn_end = 0;
        }
        shadow
    }

    /// Notes who touches what, and stops if CTAs get in each other's way. True if the access has been made.
    #[inline(never)]
    fn note(
        &mut self,
        (id, shadow): (BufferId, &Shadow),
        start: u64,
        selection: &Selection<'_>,
        lanes: &mut Lanes<'_>,
        (operation, kind): (&MemoryOperation, AccessKind),
        pc: Pc,
    ) -> bool {
        let cells = &self.shared.device.buffer(id).cells;
        let touch = Touch {
            tag: self.tag,
            kind: kind_of(kind),
            lanes: lanes.mask,
            start,
            offsets: selection.offsets().values(),
            bytes: operation.bytes(),
        };
        if !self.shared.mode.takes_turns() {
            if !shadow.touch(cells, self.shared.level, &touch) {
                self.ledger.iter().for_each(|ledger| ledger.halt(Halt::Overlap));
                self.turn_end = 0;
                shadow.keep(cells, &touch);
            }
            return false;
        }
        shadow.keep(cells, &touch);
        if self.summary.race.is_some() {
            return false;
        }
        let all = lanes.mask;
        for lane in ActiveMask(all).lanes() {
            let own = Touch { lanes: 1 << lane, ..touch };
            let is_same = |lane, byte| selection.byte(lane, byte) == byte_of(lanes, operation, lane, byte);
            if let Err(meeting) = shadow.touch_exactly(cells, &own, is_same) {
                self.summary.race = Some(self.race(id, meeting, pc));
                break;
            }
            if kind == AccessKind::Store {
                // What one lane stores, the next one finds.
                lanes.mask = own.lanes;
                write(self.shared.level, lanes, operation, selection);
            }
        }
        lanes.mask = all;
        kind == AccessKind::Store && self.summary.race.is_none()
    }

    fn race(&self, id: BufferId, meeting: Meeting, pc: Pc) -> Race {
        Race {
            pc,
            cta: cta_of(self.tag),
            other: meeting.other.map(cta_of),
            buffer: self.shared.device.buffer(id).name.clone(),
            offset: meeting.offset,
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the arguments of `transfer`, the space and the addresses")]
    fn record(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        (mask, unchanged): (u32, u32),
        operation: &MemoryOperation,
        pc: Pc,
        kind: AccessKind,
        space: StateSpace,
        addresses: Addresses<'_>,
    ) {
        let access = access(operation, kind, space, (mask, unchanged), addresses);
        self.observer.access(context.record, WarpIndex(context.warp_index), pc, &access);
    }

    /// The memory that all lanes access, with the address that its offsets count from, if it is one block, all
    /// addresses lie inside and all are aligned.
    fn select<'t>(
        &mut self,
        context: &Context<'t, O::Cta>,
        lanes: &Lanes<'_>,
        operation: &MemoryOperation,
        (index, kind): (u32, AccessKind),
        offsets: &'t mut Offsets,
    ) -> Option<(StateSpace, u64, Selection<'t>)>
    where
        Self: 't,
    {
        let (level, bytes, frame) = (self.shared.level, operation.bytes(), context.local.base);
        let (space, window) = match operation.space {
            StateSpace::Generic => {
                let windows = self.shared.device.windows;
                let space = windows.space_of(first_address(lanes, operation, context.local.base));
                (space, windows.base(space))
            }
            space => (space, 0),
        };
        match space {
            StateSpace::Global | StateSpace::Generic => {
                let device = self.shared.device;
                let Recent { mut base, mut id, .. } = self.recent[index as usize];
                let mut are_near = set(offsets, level, lanes, operation, frame, base);
                if !are_near || !offsets.fit(bytes, device.buffer(id).bytes) {
                    id = device.find(first_address(lanes, operation, frame))?;
                    base = device.buffer(id).base;
                    self.recent[index as usize] = Recent { base, id, shadow: self.shadow_of(id, operation, kind) };
                    are_near = set(offsets, level, lanes, operation, frame, base);
                }
                if !are_near && device.buffer(id).bytes > u64::from(u32::MAX) {
                    return self.select_far(context, lanes, operation, id, offsets);
                }
                let cells = &device.buffer(id).cells;
                Some((StateSpace::Global, base, cells.select(0, offsets, bytes).filter(|_| are_near)?))
            }
            StateSpace::Shared => {
                let first = first_address(lanes, operation, frame).wrapping_sub(window);
                if let Some(rank) = cluster_rank(first) {
                    let start = cluster_window(rank);
                    let cells = context.memory_of(rank).ok()?;
                    let are_near = set(offsets, level, lanes, operation, frame, window + start);
                    return Some((space, start, cells.select(0, offsets, bytes).filter(|_| are_near)?));
                }
                let are_near = set(offsets, level, lanes, operation, frame, window);
                Some((space, 0, context.shared.select(0, offsets, bytes).filter(|_| are_near)?))
            }
            StateSpace::Const if kind == AccessKind::Load => {
                let constants = self.shared.constants;
                let are_near = set(offsets, level, lanes, operation, frame, window + constants.base);
                Some((space, constants.base, constants.cells.select(0, offsets, bytes).filter(|_| are_near)?))
            }
            // Local memory is laid out lane after lane, so its addresses are not offsets; texels are found elsewhere.
            StateSpace::Local | StateSpace::Const | StateSpace::Param | StateSpace::Texture | StateSpace::Surface => {
                None
            }
        }
    }

    /// Memory far behind the start of a buffer that is larger than offsets can say: they count from a place before the
    /// lowest lane instead.
    #[inline(never)]
    fn select_far<'t>(
        &self,
        context: &Context<'t, O::Cta>,
        lanes: &Lanes<'_>,
        operation: &MemoryOperation,
        id: BufferId,
        offsets: &'t mut Offsets,
    ) -> Option<(StateSpace, u64, Selection<'t>)>
    where
        Self: 't,
    {
        let buffer = self.shared.device.buffer(id);
        let first = first_address(lanes, operation, context.local.base).checked_sub(buffer.base)?;
        let start = first.saturating_sub(1 << 31) / FAR_ALIGN * FAR_ALIGN;
        let origin = buffer.base + start;
        if !set(offsets, self.shared.level, lanes, operation, context.local.base, origin) {
            return None;
        }
        let selection = buffer.cells.select(usize::try_from(start).ok()?, offsets, operation.bytes())?;
        Some((StateSpace::Global, origin, selection))
    }

    /// An access to local memory, an access that is bad in some lane, or whose lanes touch several buffers or spaces.
    #[inline(never)]
    fn transfer_apart(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        pc: Pc,
        kind: AccessKind,
    ) -> Result<(), ExecError> {
        let addresses = addresses(lanes, operation, context.local.base);
        let windows = self.shared.device.windows;
        let space_of = |address: u64| match operation.space {
            StateSpace::Generic => windows.space_of(address),
            space => space,
        };
        let all = lanes.mask;
        let mut rest = ActiveMask(all);
        while let Some(lane) = rest.lowest() {
            let space = space_of(addresses[lane]);
            let same = rest.lanes().filter(|&other| space_of(addresses[other]) == space);
            lanes.mask = same.fold(0, |mask, other| mask | 1 << other);
            rest = rest.without(ActiveMask(lanes.mask));
            let mut own = addresses;
            if operation.space == StateSpace::Generic {
                let base = windows.base(space);
                let lowest = addresses[lane];
                for (other, address) in own.iter_mut().enumerate() {
                    let address_or_lowest = if lanes.mask >> other & 1 == 1 { *address } else { lowest };
                    *address = address_or_lowest.wrapping_sub(base);
                }
            }
            self.transfer_in(context, lanes, operation, pc, kind, space, &own)?;
        }
        lanes.mask = all;
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the arguments of `transfer_apart`, the space and the addresses")]
    fn transfer_in(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        pc: Pc,
        kind: AccessKind,
        space: StateSpace,
        addresses: &[u64; 32],
    ) -> Result<(), ExecError> {
        if O::RECORDS && space != StateSpace::Param {
            let mut marked = *addresses;
            if operation.speaks_to_barrier() {
                mark(lanes, operation, &mut marked);
            }
            self.record(context, (lanes.mask, 0), operation, pc, kind, space, (&marked).into());
        }
        let level = self.shared.level;
        let mut offsets = Offsets::zero();
        if space == StateSpace::Local
            && let Some(selection) = local_selection(level, context, addresses, operation.bytes(), &mut offsets)
        {
            match kind {
                AccessKind::Load => read(level, lanes, operation, &selection),
                AccessKind::Store => write(level, lanes, operation, &selection),
                AccessKind::Atomic => modify::<E>(lanes, operation, &selection, space),
            }
            return Ok(());
        }
        self.transfer_lanes(context, lanes, operation, (pc, kind, space), addresses)
    }

    /// The same to the memory of a surface, of which the observer has heard.
    pub(crate) fn transfer_recorded(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        pc: Pc,
        kind: AccessKind,
        addresses: &[u64; 32],
    ) -> Result<(), ExecError> {
        self.transfer_lanes(context, lanes, operation, (pc, kind, StateSpace::Global), addresses)
    }

    /// Lane by lane.
    fn transfer_lanes(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        (pc, kind, space): (Pc, AccessKind, StateSpace),
        addresses: &[u64; 32],
    ) -> Result<(), ExecError> {
        let level = self.shared.level;
        let all = lanes.mask;
        for lane in ActiveMask(all).lanes() {
            lanes.mask = 1 << lane;
            let address = addresses[lane];
            if space == StateSpace::Param && kind == AccessKind::Load {
                self.load_parameter(context, lanes, operation, address, pc)?;
                continue;
            }
            let may_access = space != StateSpace::Const || kind == AccessKind::Load;
            let selection = self.select_lane(context, space, address, lane, operation.bytes());
            let Some(selection) = selection.filter(|_| may_access) else {
                if kind == AccessKind::Load && self.is_overread(space, address, operation.bytes()) {
                    self.summary.overreads += 1;
                    self.read_beyond(context, lanes, operation, address, lane);
                    continue;
                }
                return Err(self.refuse(context, operation, pc, kind, space, address, lane as u32));
            };
            if matches!(space, StateSpace::Global | StateSpace::Generic)
                && let Some(id) = self.shared.device.find(address)
                && let Some(shadow) = self.shadow_of(id, operation, kind)
            {
                let start = address - self.shared.device.buffer(id).base;
                if self.note((id, shadow), start, &selection, lanes, (operation, kind), pc) {
                    continue;
                }
            }
            match kind {
                AccessKind::Load => read(level, lanes, operation, &selection),
                AccessKind::Store => write(level, lanes, operation, &selection),
                AccessKind::Atomic => modify::<E>(lanes, operation, &selection, space),
            }
        }
        lanes.mask = all;
        Ok(())
    }

    /// True for aligned bytes that lie behind a buffer, near enough to be mapped on a GPU, if the launch lets them be read.
    fn is_overread(&self, space: StateSpace, address: u64, bytes: u32) -> bool {
        let device = self.shared.device;
        self.shared.launch.allow_overreads
            && matches!(space, StateSpace::Global | StateSpace::Generic)
            && device.windows.space_of(address) == StateSpace::Global
            && address.is_multiple_of(u64::from(bytes.next_power_of_two()))
            && device.find_freed(address).is_none()
            && device.nearest(address).is_some_and(|near| near.is_overrun_by(bytes))
    }

    /// Reads the elements at one lane's address that lie in a buffer, and zeros for the others.
    fn read_beyond(
        &self,
        context: &Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        address: u64,
        lane: usize,
    ) {
        let bytes = operation.element_bytes;
        for (element, &row) in operation.destinations.iter().enumerate() {
            let start = address + element as u64 * u64::from(bytes);
            let selection = self.select_lane(context, StateSpace::Global, start, lane, bytes.into());
            let value = selection
                .map_or(0, |own| (0..bytes.into()).fold(0, |all, at| all | u64::from(own.byte(lane, at)) << (8 * at)));
            set_value(lanes, row, if bytes == 8 { Wide::Yes } else { Wide::No }, extend(value, operation));
        }
    }

    /// The memory at one lane's address.
    fn select_lane<'t>(
        &self,
        context: &Context<'t, O::Cta>,
        space: StateSpace,
        address: u64,
        lane: usize,
        bytes: u32,
    ) -> Option<Selection<'t>>
    where
        Self: 't,
    {
        let device = self.shared.device;
        let (cells, start) = match space {
            StateSpace::Global | StateSpace::Generic => {
                let buffer = device.buffer(device.find(address)?);
                (&buffer.cells, address - buffer.base)
            }
            StateSpace::Shared => match cluster_rank(address) {
                Some(rank) => (context.memory_of(rank).ok()?, address - cluster_window(rank)),
                None => (context.shared, address),
            },
            StateSpace::Const => (&self.shared.constants.cells, address.checked_sub(self.shared.constants.base)?),
            StateSpace::Local if address.checked_add(u64::from(bytes))? <= u64::from(context.local.top) => {
                (context.local.cells, lane as u64 * u64::from(context.local.stride) + address)
            }
            StateSpace::Local | StateSpace::Param | StateSpace::Texture | StateSpace::Surface => return None,
        };
        static START: Offsets = Offsets::zero();
        cells.select(usize::try_from(start).ok()?, &START, bytes)
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
        let bytes = operation.bytes();
        let is_global = matches!(space, StateSpace::Global | StateSpace::Generic);
        let window = device.windows.space_of(address);
        let rank = cluster_rank(address).filter(|_| space == StateSpace::Shared);
        let fault = if !address.is_multiple_of(u64::from(bytes.next_power_of_two())) {
            AccessFault::Misaligned
        } else if let Some(fault) = rank.and_then(|rank| context.memory_of(rank).err()) {
            fault
        } else if is_global && page_is_null(address) {
            AccessFault::Null
        } else if is_global && window != StateSpace::Global {
            AccessFault::OtherSpace(window)
        } else if is_global && device.find_freed(address).is_some() {
            AccessFault::Freed
        } else if !is_global && device.find(address).is_some() {
            AccessFault::OtherSpace(StateSpace::Global)
        } else if matches!(space, StateSpace::Const | StateSpace::Param) && kind != AccessKind::Load {
            AccessFault::ReadOnly
        } else {
            AccessFault::OutOfBounds
        };
        let nearest = match space {
            // What lies near the number says nothing when the number is no address of the space.
            _ if matches!(fault, AccessFault::Null | AccessFault::OtherSpace(_)) => None,
            StateSpace::Shared => {
                let (name, own) = match rank {
                    Some(rank) => {
                        (format!("shared memory of block {rank} of the cluster"), address - cluster_window(rank))
                    }
                    None => ("shared memory of the block".to_owned(), address),
                };
                Some(own_memory(&name, context.shared.len() as u64, own))
            }
            StateSpace::Local => Some(own_memory("local memory of the thread", u64::from(context.local.top), address)),
            StateSpace::Const => {
                let constants = self.shared.constants;
                Some(own_memory("constant memory", constants.cells.len() as u64, address.wrapping_sub(constants.base)))
            }
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
    pub(crate) fn in_space(&self, lanes: &mut Lanes<'_>, step: &Step, space: StateSpace, wide: Wide) {
        let windows = self.shared.device.windows;
        let mut truths = 0;
        for lane in 0..32 {
            let address = match wide {
                Wide::Yes => lanes.pairs(step.sources[0])[lane],
                Wide::No => u64::from(lanes.words(step.sources[0])[lane]),
            };
            truths |= u32::from(windows.space_of(address) == space) << lane;
        }
        lanes.set_predicate(step.destinations[0], truths);
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
            StateSpace::Const => {
                let (cells, offset) = device.constant_at(address)?;
                let fits = offset + bytes as u64 <= cells.len() as u64;
                fits.then(|| cells.read_bytes(offset as usize, bytes))
            }
            StateSpace::Local => {
                let start = lane * context.local.stride as usize + own;
                (own + bytes <= context.local.stride as usize).then(|| context.local.cells.read_bytes(start, bytes))
            }
            _ => self.shared.launch.parameters.get(own..own + bytes).map(<[u8]>::to_vec),
        }
    }
}

fn kind_of(kind: AccessKind) -> Kind {
    match kind {
        AccessKind::Load => Kind::Load,
        AccessKind::Store => Kind::Store,
        AccessKind::Atomic => Kind::Atomic,
    }
}

/// An access as observers hear of it: by these lanes, of which some leave what stands there.
#[inline(always)]
fn access<'a>(
    operation: &MemoryOperation,
    kind: AccessKind,
    space: StateSpace,
    (mask, unchanged): (u32, u32),
    addresses: Addresses<'a>,
) -> Access<'a> {
    Access {
        space,
        kind,
        element_bytes: operation.written_bytes,
        elements: operation.elements,
        mask: ActiveMask(mask),
        addresses,
        unchanged: ActiveMask(unchanged),
    }
}

/// Says in the addresses of a barrier in memory what it is told or asked.
#[inline(never)]
fn mark(lanes: &Lanes<'_>, operation: &MemoryOperation, addresses: &mut [u64; 32]) {
    for (lane, address) in addresses.iter_mut().enumerate() {
        let told = match (operation.asks, operation.atomic) {
            (Some(parity), _) => Told::Asked { parity: lanes.pairs(parity)[lane] & 1 == 1 },
            (None, Some((AtomicOp::Mbarrier(op), _))) => Told::Op(op, lanes.pairs(operation.sources[0])[lane] as u32),
            (None, _) => return,
        };
        *address |= told.mark();
    }
}

/// The lanes that store what stands there already.
#[inline(never)]
fn unchanged(lanes: &Lanes<'_>, operation: &MemoryOperation, selection: &Selection<'_>) -> u32 {
    let is_same = |lane: usize| {
        (0..operation.bytes()).all(|byte| selection.byte(lane, byte) == byte_of(lanes, operation, lane, byte))
    };
    ActiveMask(lanes.mask).lanes().filter(|&lane| is_same(lane)).fold(0, |mask, lane| mask | 1 << lane)
}

/// A byte of what a lane stores.
fn byte_of(lanes: &Lanes<'_>, operation: &MemoryOperation, lane: usize, byte: u32) -> u8 {
    let width = u32::from(operation.element_bytes);
    let wide = if width == 8 { Wide::Yes } else { Wide::No };
    let value = value_of(lanes, operation.sources[(byte / width) as usize], wide, lane);
    (value >> (8 * (byte % width))) as u8
}

fn own_memory(name: &str, bytes: u64, address: u64) -> crate::error::NearestBuffer {
    crate::error::NearestBuffer { name: name.to_owned(), base: 0, bytes, offset: i128::from(address), is_freed: false }
}

/// Address of the lowest lane that takes part.
#[inline(always)]
fn first_address(lanes: &Lanes<'_>, operation: &MemoryOperation, frame: u32) -> u64 {
    let lane = lanes.mask.trailing_zeros().min(31) as usize;
    match operation.base {
        Base::Pair(source) => lanes.pairs(source)[lane].wrapping_add_signed(operation.offset),
        Base::Word(source) => u64::from(lanes.words(source)[lane].wrapping_add(operation.offset as u32)),
        Base::Constant(address) => address.wrapping_add_signed(operation.offset),
        Base::Frame => u64::from(frame).wrapping_add_signed(operation.offset),
    }
}

/// Sets the byte addresses of a request relative to `origin`; false if one does not fit 32 bits. Lanes that do not take
/// part repeat the lowest one that does.
#[inline(always)]
#[must_use]
fn set(
    offsets: &mut Offsets,
    level: Level,
    lanes: &Lanes<'_>,
    operation: &MemoryOperation,
    frame: u32,
    origin: u64,
) -> bool {
    let shift = (operation.offset as u64).wrapping_sub(origin);
    let one = match operation.base {
        Base::Pair(source) if lanes.mask == u32::MAX => return offsets.set_pairs(level, lanes.pairs(source), shift),
        Base::Pair(source) => return offsets.set_pairs(level, &filled(lanes.mask, lanes.pairs(source)), shift),
        Base::Word(source) => {
            if lanes.mask == u32::MAX {
                offsets.set_words(level, lanes.words(source), shift as u32);
            } else {
                offsets.set_words(level, &filled(lanes.mask, lanes.words(source)), shift as u32);
            }
            return true;
        }
        Base::Constant(address) => address.wrapping_add(shift),
        Base::Frame => u64::from(frame).wrapping_add(shift),
    };
    offsets.set_all(one as u32);
    u32::try_from(one).is_ok()
}

/// The values with the lowest one of the mask in all lanes outside of it.
fn filled<T: Copy>(mask: u32, values: &[T; 32]) -> [T; 32] {
    let lowest = values[mask.trailing_zeros().min(31) as usize];
    let mut filled = *values;
    for (lane, value) in filled.iter_mut().enumerate() {
        if mask >> lane & 1 == 0 {
            *value = lowest;
        }
    }
    filled
}

/// Byte addresses of a request. Lanes that do not take part repeat the lowest one that does.
#[inline(always)]
pub(crate) fn addresses(lanes: &Lanes<'_>, operation: &MemoryOperation, frame: u32) -> [u64; 32] {
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
fn local_selection<'t, R>(
    level: Level,
    context: &Context<'t, R>,
    addresses: &[u64; 32],
    bytes: u32,
    offsets: &'t mut Offsets,
) -> Option<Selection<'t>> {
    let local = &context.local;
    let highest = addresses.iter().copied().max()?;
    if highest.checked_add(u64::from(bytes))? > u64::from(local.top) {
        return None;
    }
    let places = std::array::from_fn(|lane| lane as u32 * local.stride + addresses[lane] as u32);
    offsets.set_words(level, &places, 0);
    local.cells.select(0, offsets, bytes)
}

#[inline(always)]
fn read(level: Level, lanes: &mut Lanes<'_>, operation: &MemoryOperation, selection: &Selection<'_>) {
    let width = usize::from(operation.element_bytes);
    if let (4, [_, _, _, _]) = (width, &operation.destinations[..]) {
        let values = selection.gather_quads(level);
        operation.destinations.iter().zip(&values).for_each(|(&row, values)| lanes.set_words(row, values));
        return;
    }
    for (element, &row) in operation.destinations.iter().enumerate() {
        let at = element * width;
        match width {
            4 => lanes.write_words(row, |values| selection.gather_words(level, at, values)),
            8 => lanes.write_pairs(row, |values| selection.gather_pairs(level, at, values)),
            2 => lanes.set_words(row, &narrow(operation, selection.gather::<u16>(at))),
            _ => lanes.set_words(row, &narrow(operation, selection.gather::<u8>(at))),
        }
    }
}

fn narrow<T: Cell + Into<u64>>(operation: &MemoryOperation, values: [T; 32]) -> [u32; 32] {
    values.map(|value| extend(value.into(), operation) as u32)
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
fn write(level: Level, lanes: &mut Lanes<'_>, operation: &MemoryOperation, selection: &Selection<'_>) {
    let (width, mask) = (usize::from(operation.element_bytes), lanes.mask);
    for (element, &source) in operation.sources.iter().enumerate() {
        let at = element * width;
        if width == 8 {
            selection.scatter_pairs(level, at, mask, lanes.pairs(source));
            continue;
        }
        let values = lanes.words(source);
        match width {
            4 => selection.scatter_words(level, at, mask, values),
            2 => selection.scatter(at, mask, |lane| values[lane] as u16),
            _ => selection.scatter(at, mask, |lane| values[lane] as u8),
        }
    }
}

/// Atomics take effect lane by lane, lowest first.
fn modify<E: Engine>(lanes: &mut Lanes<'_>, operation: &MemoryOperation, selection: &Selection<'_>, space: StateSpace) {
    let Some((op, ty)) = operation.atomic else { return };
    if ty.bits() == 128 {
        return modify_quads(lanes, operation, selection, op);
    }
    let adder = match space {
        StateSpace::Global if operation.is_copy => Adder::CacheForCopies,
        StateSpace::Global => Adder::Cache,
        _ => Adder::Thread,
    };
    let new = |old, operands| E::update(op, ty, old, operands, adder).unwrap_or(old);
    let width = usize::from(operation.element_bytes);
    let wide = if width == 8 { Wide::Yes } else { Wide::No };
    let elements = usize::from(operation.elements);
    let n_operands = operation.sources.len() / elements.max(1);
    for element in 0..elements {
        let operands = &operation.sources[element * n_operands..][..n_operands];
        let mut old = [0; 32];
        for lane in ActiveMask(lanes.mask).lanes() {
            let at = element * width;
            let operand = |index: usize| operands.get(index).map_or(0, |&source| value_of(lanes, source, wide, lane));
            let operands = [operand(0), operand(1)];
            old[lane] = match width {
                8 => selection.update::<u64>(at, lane, |old| new(old, operands)),
                2 => {
                    let operands = operands.map(|operand| operand & 0xffff);
                    let new = |old: u16| new(old.into(), operands) as u16;
                    selection.update::<u16>(at, lane, new).into()
                }
                _ => {
                    let new = |old: u32| new(old.into(), operands) as u32;
                    selection.update::<u32>(at, lane, new).into()
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

/// The same for 128 bits, which are exchanged alone or if they are what is expected. Kernels with such atomics run on one
/// host thread, since what they leave depends on the order of their CTAs, and nobody sees one half without the other.
fn modify_quads(lanes: &mut Lanes<'_>, operation: &MemoryOperation, selection: &Selection<'_>, op: AtomicOp) {
    let mut old = [[0; 32]; 2];
    for lane in ActiveMask(lanes.mask).lanes() {
        let operand = |index: usize| {
            let part = |part: usize| operation.sources.get(2 * index + part).map_or(0, |&row| lanes.pairs(row)[lane]);
            [part(0), part(1)]
        };
        let found: [u64; 2] = std::array::from_fn(|part| selection.update::<u64>(8 * part, lane, |value| value));
        let new = match op {
            AtomicOp::Cas if found == operand(0) => operand(1),
            AtomicOp::Cas => found,
            _ => operand(0),
        };
        for (part, old) in old.iter_mut().enumerate() {
            old[lane] = selection.update::<u64>(8 * part, lane, |_| new[part]);
        }
    }
    for (&row, values) in operation.destinations.iter().zip(&old) {
        lanes.set_pairs(row, values);
    }
}

fn value_of(lanes: &Lanes<'_>, source: crate::raw::Source, wide: Wide, lane: usize) -> u64 {
    match wide {
        Wide::Yes => lanes.pairs(source)[lane],
        Wide::No => u64::from(lanes.words(source)[lane]),
    }
}
