//! What an engine asks while it runs the operations of a block.

use std::ops::Range;

use warplens_isa::{
    AtomicOp, ClusterPhase, Geometry, OpaqueType, Pc, Sampler, ScalarType, SpecialRegister, StateSpace, SurfaceAccess,
    SystemCall, TensorCopy, TextureQuery,
};
use warplens_trace::{AccessKind, ActiveMask, Observer, WarpIndex};

pub use crate::access::BoxRequest;
use crate::calls::frame_top;
use crate::code::{Base, MemoryOperation, Places};
use crate::cta::Cta;
use crate::decoded::{Block, Code};
use crate::divergence::Path;
use crate::engine::{BlockEnd, Engine, Frame, LaneValues};
use crate::error::{ExecError, TextureFault};
use crate::exchange::{Group, groups};
use crate::interpret::{Context, LocalMemory, Worker, parted_warpgroup};
use crate::raw::{Lanes, Row, Source};
use crate::semantics::tensor::TensorCores;
use crate::semantics::warp::Exchange;
use crate::synchronize::{Arrival, exchange};
use crate::texture::texel::TexelBytes;
use crate::texture::{Resource, SurfacePlaces, TexelPlace, TexelReads, TextureObject};
use crate::warpgroup::wait_for_group;

/// A path in a block, and all that its operations can touch.
pub struct Run<'r, 'a, E: Engine, O: Observer> {
    pub(crate) worker: &'r mut Worker<'a, E, O>,
    pub(crate) cta: &'r mut Cta<E, O::Cta>,
    pub(crate) warp_index: usize,
    pub(crate) path: &'r mut Path,
    pub(crate) block: &'a Block,
    /// The operation to begin with.
    pub(crate) first: u32,
}

/// An access of lanes to memory, as an engine asks for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The instruction.
    pub pc: Pc,
    /// Which of the engine's memory operations it is, of [`Engine::n_places`]: what one touched is remembered for the
    /// next time.
    pub place: u32,
    /// State space as written.
    pub space: StateSpace,
    /// Lanes that access memory; at least one.
    pub lanes: u32,
    /// Addresses, by lane.
    pub addresses: LaneValues,
    /// Bytes of an element: 1, 2, 4, 8 or 16. One of 16 is two parts of 8.
    pub element_bytes: u8,
    /// Elements of a lane, one after the other.
    pub elements: u8,
    /// Volatile, acquire, release or atomic.
    pub ordered: bool,
}

impl Request {
    /// Values that a lane loads or stores: one per element, or per part of an element.
    pub fn n_values(&self) -> usize {
        usize::from(self.elements) * usize::from(self.element_bytes.div_ceil(8))
    }
}

impl<'a, E: Engine, O: Observer> Run<'_, 'a, E, O> {
    /// The decoded code.
    pub fn decoded(&self) -> &'a Code {
        self.worker.shared.code()
    }

    /// What the engine made of it.
    pub fn code(&self) -> &'a E::Code {
        self.worker.shared.bound()
    }

    /// The operations that are to be run.
    pub fn operations(&self) -> Range<u32> {
        self.first..self.block.operations.end
    }

    /// The lanes of the path.
    pub fn lanes(&self) -> u32 {
        self.path.mask
    }

    /// The path's frame.
    pub fn frame(&self) -> Frame {
        self.path.frame
    }

    /// Registers of the warp.
    pub fn registers(&mut self) -> &mut E::Registers {
        &mut self.cta.warps[self.warp_index].registers
    }

    /// Tells the observer that the guard of an instruction lets it take effect in the lanes `on`.
    pub fn guarded(&mut self, pc: Pc, on: u32) {
        if O::RECORDS {
            let (active, warp) = (ActiveMask(self.path.mask), WarpIndex(self.warp_index as u32));
            self.worker.observer.predicated(&mut self.cta.record, warp, pc, active, ActiveMask(on));
        }
    }

    /// What a special register shows. Clocks go on whenever they are looked at.
    pub fn special(&mut self, register: SpecialRegister) -> LaneValues {
        self.worker.special_values((self.warp_index as u32, self.cta.coordinates), register)
    }

    /// Whose tensor cores compute a product that the warp executes now, and that is so much work.
    pub fn tensor_cores(&mut self, work: u32) -> TensorCores {
        self.worker.tensor_cores(work)
    }

    /// Bytes of the parameter space.
    pub fn parameter(&self, offset: u32, bytes: usize) -> u64 {
        self.worker.parameter(offset, bytes)
    }

    /// The warp comes to a product that the four warps of its group make together.
    pub fn come_to_group_product(&mut self, pc: Pc) -> Result<(), ExecError> {
        let n_warps = self.cta.warps.len();
        let come = self.cta.warpgroups.come(self.warp_index, n_warps, pc);
        come.map_err(|parted| parted_warpgroup(self.cta.coordinates, parted))
    }

    /// Lets the warp wait behind a product, an operation of this number, for the others of its group; none where all have come.
    pub fn wait_for_group(&mut self, operation: u32) -> Option<BlockEnd> {
        let Cta { warps, warpgroups, .. } = &mut *self.cta;
        let is_alone = !warpgroups.are_together(self.warp_index);
        is_alone.then(|| wait_for_group(&mut warps[self.warp_index], self.path, operation))
    }

    /// A piece of 16 bytes of shared memory, for what is no access of a lane; an error is said of the lane.
    pub fn shared_bytes(&mut self, address: u32, at: (Pc, u32)) -> Result<Vec<u8>, ExecError> {
        self.with_context(|worker, context| worker.shared_bytes(context, address, at))
    }

    /// The index of the warp in its CTA.
    pub fn warp_index(&self) -> u32 {
        self.warp_index as u32
    }

    /// Loads; values that are narrower than 64 bits are extended with zeros. Checks the addresses and tells the observer,
    /// as all accesses do.
    pub fn load(&mut self, request: &Request) -> Result<Vec<LaneValues>, ExecError> {
        let mut scratch = Scratch::new(request, &[], None);
        scratch.operation.destinations = scratch.value_rows(0);
        self.access(&mut scratch, request, Worker::load)?;
        Ok(scratch.values(0))
    }

    /// Loads the first bytes of each lane, as many as it says, and zeros for the rest.
    pub fn load_part(&mut self, request: &Request, bytes: &[u32; 32]) -> Result<Vec<LaneValues>, ExecError> {
        let mut scratch = Scratch::new(request, &[], None);
        scratch.operation.destinations = scratch.value_rows(0);
        self.access(&mut scratch, request, |worker, context, lanes, operation, index, pc| {
            worker.load_part(context, lanes, operation, (index, pc), bytes)
        })?;
        Ok(scratch.values(0))
    }

    /// Stores.
    pub fn store(&mut self, request: &Request, values: &[LaneValues]) -> Result<(), ExecError> {
        self.access(&mut Scratch::new(request, values, None), request, Worker::store)
    }

    /// Modifies memory in one step, lane by lane, as [`Engine::update`] says; returns what stood there before. There are
    /// as many operands per element as the atomic has, those of the first element first.
    pub fn update(
        &mut self,
        request: &Request,
        atomic: (AtomicOp, ScalarType),
        operands: &[LaneValues],
    ) -> Result<Vec<LaneValues>, ExecError> {
        let mut scratch = Scratch::new(request, operands, Some(atomic));
        scratch.operation.destinations = scratch.value_rows(operands.len());
        self.access(&mut scratch, request, Worker::atomic)?;
        Ok(scratch.values(operands.len()))
    }

    /// The texture that a lane names, if an instruction can fetch from it.
    pub fn texture(
        &self,
        at: (Pc, usize),
        handle: u64,
        wanted: (Geometry, bool),
    ) -> Result<&'a TextureObject, ExecError> {
        self.worker.texture(self.place(), at, handle, wanted)
    }

    /// The sampler that a lane names.
    pub fn sampler(&self, at: (Pc, usize), handle: u64) -> Result<&'a Sampler, ExecError> {
        self.worker.sampler(self.place(), at, handle)
    }

    /// The bytes of a texel.
    pub fn texel(&self, resource: &Resource, place: TexelPlace) -> TexelBytes {
        self.worker.texel(resource, place)
    }

    /// Tells the observer of the texels that the lanes of a fetch read.
    pub fn note_texels(&mut self, pc: Pc, reads: TexelReads) {
        self.worker.note_texels((&mut self.cta.record, self.warp_index as u32), pc, reads);
    }

    /// The surface that a lane names.
    pub fn surface(&self, at: (Pc, usize), handle: u64, wanted: Geometry) -> Result<&'a Resource, ExecError> {
        self.worker.surface(self.place(), at, handle, wanted)
    }

    /// The error of a texture or surface that a lane names.
    pub fn texture_fault(&self, at: (Pc, usize), named: (OpaqueType, u64), fault: TextureFault) -> ExecError {
        self.worker.texture_error(self.place(), at, named, fault)
    }

    /// Where a lane accesses so many bytes of a surface, in memory and as observers hear of it; none where it has no part.
    pub fn surface_place(
        &self,
        at: (Pc, usize),
        named: (&Resource, u64),
        access: &SurfaceAccess,
        coordinates: &[i32],
        bytes: u32,
    ) -> Result<Option<(u64, u64)>, ExecError> {
        self.worker.surface_place(self.place(), at, named, access, coordinates, bytes)
    }

    /// A property of the object that a lane names.
    pub fn queried(
        &self,
        at: (Pc, usize),
        handle: u64,
        (of, query, level): (OpaqueType, TextureQuery, u32),
    ) -> Result<u32, ExecError> {
        self.worker.queried(self.place(), at, handle, (of, query, level))
    }

    /// A value is the address of an opaque variable, or the handle of an object, of a type.
    pub fn is_type(&self, value: u64, opaque: OpaqueType) -> bool {
        self.worker.is_type(value, opaque)
    }

    /// Accesses the memory of surfaces at places that were found for the lanes of a request; returns what is loaded or was
    /// there before.
    pub fn access_surface(
        &mut self,
        request: &Request,
        kind: AccessKind,
        shown: &LaneValues,
        (values, atomic): (&[LaneValues], Option<(AtomicOp, ScalarType)>),
    ) -> Result<Vec<LaneValues>, ExecError> {
        let mut scratch = Scratch::new(request, values, atomic);
        let places = SurfacePlaces { inside: request.lanes, addresses: request.addresses, shown: *shown };
        if kind == AccessKind::Load {
            scratch.operation.destinations = scratch.value_rows(0);
        }
        self.access(&mut scratch, request, |worker, context, lanes, operation, _, pc| {
            worker.note_surface(context, (pc, kind), (operation.written_bytes, operation.elements), &places);
            worker.transfer_recorded(context, lanes, operation, pc, kind, &places.addresses)
        })?;
        Ok(if kind == AccessKind::Load { scratch.values(0) } else { Vec::new() })
    }

    fn place(&self) -> ([u32; 3], u32) {
        (self.cta.coordinates, self.warp_index as u32)
    }

    /// Lets the worker act where the warp is.
    fn with_context<R>(&mut self, act: impl FnOnce(&mut Worker<'a, E, O>, &mut Context<'_, O::Cta>) -> R) -> R {
        let function = &self.worker.shared.code().functions[self.path.frame.function];
        let Cta { warps, shared, cluster, record, coordinates, .. } = &mut *self.cta;
        let warp = &warps[self.warp_index];
        let local = LocalMemory {
            cells: &warp.local,
            base: self.path.frame.local,
            top: frame_top(self.worker.shared.bound(), warp, self.path, function),
            stride: warp.local_stride,
        };
        let (warp_index, cluster) = (self.warp_index as u32, cluster.as_deref());
        act(self.worker, &mut Context { warp_index, coordinates: *coordinates, shared, cluster, local, record })
    }

    pub(crate) fn access(
        &mut self,
        scratch: &mut Scratch,
        request: &Request,
        act: impl FnOnce(
            &mut Worker<'a, E, O>,
            &mut Context<'_, O::Cta>,
            &mut Lanes<'_>,
            &MemoryOperation,
            u32,
            Pc,
        ) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let mut lanes = Lanes { rows: &mut scratch.rows, predicates: &mut [], pool: &[], mask: request.lanes };
        let operation = &scratch.operation;
        self.with_context(|worker, context| act(worker, context, &mut lanes, operation, request.place, request.pc))
    }

    /// Lanes exchange something with those that their own member mask names, or with each other where there is none:
    /// [`Engine::bring`], [`Engine::exchange`] and [`Engine::receive`] are asked once all are there. Returns how the
    /// block ended if some have to wait.
    pub fn exchange(
        &mut self,
        (operation, pc): (u32, Pc),
        on: u32,
        what: Exchange,
        members: Option<&[u32; 32]>,
    ) -> Result<Option<BlockEnd>, ExecError> {
        let warp = &mut self.cta.warps[self.warp_index];
        let groups = match members {
            None => vec![Group { members: on, lanes: on }],
            Some(members) => groups(on, members).map_err(|(lane, members)| {
                let thread = self.worker.thread(self.cta.coordinates, self.warp_index as u32, 1 << lane);
                ExecError::NotMember { pc, thread, members }
            })?,
        };
        if members.is_some() && !groups.iter().all(|group| group.is_complete(warp.live)) {
            let groups = (what, &groups[..]);
            return Ok(Some(self.worker.wait_for_lanes(
                self.cta,
                self.warp_index,
                self.path,
                self.block,
                groups,
                operation,
            )));
        }
        for group in groups {
            let path = Path { mask: group.lanes, operation: Some(operation), ..self.path.clone() };
            exchange(self.worker.shared.bound(), warp, &[path], what);
        }
        Ok(None)
    }

    /// Lanes come to a CTA barrier. [`Engine::write_reduction`] is asked once it completes.
    pub fn arrive(self, at: (u32, Pc), on: u32, arrival: Arrival) -> Result<BlockEnd, ExecError> {
        self.worker.wait_at_barrier((self.cta, self.warp_index), (self.path, self.block), (on, arrival), at)
    }

    /// Copies a box of a tensor for each lane. Returns the bytes of the boxes.
    pub fn copy_box(&mut self, request: &BoxRequest, copy: &TensorCopy) -> Result<LaneValues, ExecError> {
        self.with_context(|worker, context| worker.copy_box(context, request, copy))
    }

    /// Lanes come to a barrier of the cluster.
    pub fn meet_cluster(self, operation: u32, on: u32, half: ClusterPhase) -> BlockEnd {
        self.worker.meet_cluster((self.cta, self.warp_index), (self.path, self.block), (on, half), operation)
    }

    /// Lanes will wait for each other at a convergence barrier.
    pub fn join_convergence(&mut self, barrier: u32, lanes: u32) {
        self.cta.warps[self.warp_index].convergence[barrier as usize] |= lanes;
    }

    /// Nobody waits any longer at a convergence barrier for these lanes.
    pub fn break_convergence(&mut self, barrier: u32, lanes: u32) {
        self.cta.warps[self.warp_index].break_convergence(barrier, lanes);
    }

    /// The lanes that wait for each other at a convergence barrier.
    pub fn convergence(&self, barrier: u32) -> u32 {
        self.cta.warps[self.warp_index].convergence[barrier as usize]
    }

    /// Says which lanes wait for each other at a convergence barrier.
    pub fn write_convergence(&mut self, barrier: u32, mask: u32) {
        self.cta.warps[self.warp_index].write_convergence(barrier, mask);
    }

    /// Reserves local memory behind what the lanes have. Returns where it begins.
    pub fn reserve_stack(
        &mut self,
        (lanes, pc): (u32, Pc),
        bytes: &LaneValues,
        aligns: &LaneValues,
    ) -> Result<LaneValues, ExecError> {
        self.worker.allocate_stack(self.cta, self.warp_index, self.path, (lanes, pc), (bytes, aligns))
    }

    /// Serves lanes. Returns the result of each.
    pub fn system_call(
        &mut self,
        at: (u32, Pc),
        service: SystemCall,
        arguments: &[LaneValues],
    ) -> Result<LaneValues, ExecError> {
        self.with_context(|worker, context| worker.system_call(context, at, service, arguments))
    }

    /// An error of a request whose lanes stand for places, said of the lane that asked for it.
    pub fn asked_by(&self, lane: usize, error: ExecError) -> ExecError {
        error.of_thread(self.worker.thread(self.cta.coordinates, self.warp_index as u32, 1 << lane))
    }

    /// The error of an operation that cannot be executed.
    pub fn unsupported(&self, pc: Pc, lanes: u32) -> ExecError {
        let thread = self.worker.thread(self.cta.coordinates, self.warp_index as u32, lanes);
        ExecError::ReachedUnsupported { pc, thread }
    }
}

/// A frame of its own for one access: the addresses, then what is stored, then what comes back. Accesses take their
/// values from rows, as the SIMT engine keeps them.
pub(crate) struct Scratch {
    rows: Vec<Row>,
    pub(crate) operation: MemoryOperation,
}

impl Scratch {
    pub(crate) fn new(request: &Request, sources: &[LaneValues], atomic: Option<(AtomicOp, ScalarType)>) -> Self {
        let n_rows = 2 * (1 + sources.len() + request.n_values());
        let mut scratch = Self {
            rows: vec![Row::splat(0); n_rows],
            operation: MemoryOperation {
                space: request.space,
                base: Base::Pair(Source::frame(0)),
                offset: 0,
                element_bytes: request.element_bytes.min(8),
                elements: request.elements,
                written_bytes: request.element_bytes,
                sign_extend: false,
                destinations: Vec::new(),
                sources: (0..sources.len()).map(|index| Source::frame(2 + 2 * index as u32)).collect(),
                atomic,
                is_copy: false,
                asks: None,
                ordered: request.ordered,
                places: Places::Own,
            },
        };
        scratch.put(0, &request.addresses, true);
        for (index, values) in sources.iter().enumerate() {
            scratch.put(2 + 2 * index as u32, values, request.element_bytes >= 8);
        }
        scratch
    }

    fn put(&mut self, row: u32, values: &LaneValues, is_wide: bool) {
        let mut lanes = Lanes { rows: &mut self.rows, predicates: &mut [], pool: &[], mask: u32::MAX };
        match is_wide {
            true => lanes.set_pairs(row, values),
            false => lanes.set_words(row, &values.map(|value| value as u32)),
        }
    }

    /// The rows of what comes back, behind so many sources.
    pub(crate) fn value_rows(&self, n_sources: usize) -> Vec<u32> {
        let first = 2 * (1 + n_sources);
        (first..self.rows.len()).step_by(2).map(|row| row as u32).collect()
    }

    pub(crate) fn values(&mut self, n_sources: usize) -> Vec<LaneValues> {
        let is_wide = self.operation.element_bytes == 8;
        let rows = self.value_rows(n_sources);
        let lanes = Lanes { rows: &mut self.rows, predicates: &mut [], pool: &[], mask: u32::MAX };
        let value = |row: u32| match is_wide {
            true => *lanes.pairs(Source::frame(row)),
            false => lanes.words(Source::frame(row)).map(u64::from),
        };
        rows.into_iter().map(value).collect()
    }
}
