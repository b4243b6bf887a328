//! Texture and surface instructions of the SIMT engine.

use warplens_isa::{
    AddressMode, AtomicOp, Channel, Filter, LevelOfDetail, OpaqueType, Operation, Pc, ReadMode, Sampler, ScalarType,
    SurfaceAccess, SurfaceUnit, TexelLayout, TextureFetch, TextureGather, TextureQuery,
};
use warplens_trace::{AccessKind, ActiveMask, Observer};

use super::access::{SurfacePlaces, TexelReads};
use super::object::{Object, Resource, TexelPlace, TextureObject};
use super::sample::{Coordinates, Sampling};
use super::texel;
use crate::code::{Base, MemoryOperation, Places, SINK, TextureOperation, Wide};
use crate::engine::Engine;
use crate::error::{ExecError, TextureFault};
use crate::interpret::{Context, Worker};
use crate::raw::{Lanes, Row, Source};
use crate::simt::set_value;

/// Words of a lane.
type Words = [u32; 32];

/// What the lanes of a texture instruction name, lane by lane; lanes mostly name the same.
struct Named {
    handles: [u64; 32],
    samplers: Option<[u64; 32]>,
}

/// A surface, the coordinates of the lanes, and the bytes that each moves.
struct SurfaceRequest<'o> {
    access: &'o SurfaceAccess,
    kind: AccessKind,
    handles: [u64; 32],
    coordinates: Vec<Words>,
}

impl<'a, E: Engine, O: Observer> Worker<'a, E, O> {
    /// Executes a texture or surface instruction.
    #[inline(never)]
    pub(crate) fn texture_operation(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &TextureOperation,
        pc: Pc,
    ) -> Result<(), ExecError> {
        match &operation.operation {
            Operation::Tex(fetch) => self.fetch(context, lanes, operation, (pc, fetch, None)),
            Operation::Tld4(TextureGather { fetch, component }) => {
                self.fetch(context, lanes, operation, (pc, fetch, Some(*component)))
            }
            Operation::Suld(access) => self.surface_load(context, lanes, operation, (pc, access)),
            Operation::Sust(access) => self.surface_store(context, lanes, operation, (pc, access)),
            Operation::Sured(reduction) => {
                self.surface_reduce(context, lanes, operation, (pc, &reduction.access, reduction.op))
            }
            Operation::QueryTexture(asked) => self.query(context, lanes, operation, (pc, asked.query)),
            Operation::Istypep(opaque) => {
                let addresses = *lanes.pairs(operation.handle);
                let truth = |lane: usize| u32::from(self.is_type(addresses[lane], *opaque)) << lane;
                let truths = (0..32).map(truth).fold(0, |truths, bit| truths | bit);
                lanes.set_predicate(operation.resident, truths);
                Ok(())
            }
            _ => unreachable!("only texture and surface instructions are bound to this"),
        }
    }

    /// A value is the address of an opaque variable, or the handle of an object, of a type.
    pub(crate) fn is_type(&self, value: u64, opaque: OpaqueType) -> bool {
        let device = self.shared.device;
        match device.opaque_at(value) {
            Some(found) => found == opaque,
            None => device.object(value).is_ok_and(|object| object.opaque_type() == opaque),
        }
    }

    fn fetch(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &TextureOperation,
        (pc, fetch, component): (Pc, &TextureFetch, Option<u8>),
    ) -> Result<(), ExecError> {
        let named = Named {
            handles: *lanes.pairs(operation.handle),
            samplers: operation.sampler.map(|source| *lanes.pairs(source)),
        };
        let words: Vec<Words> = operation.sources.iter().map(|&source| *lanes.words(source)).collect();
        let is_integer = operation.source_ty.is_integer();
        let of = (context.coordinates, context.warp_index);
        let mut reads = TexelReads::default();
        let mut results = [[0u32; 32]; 4];
        for lane in ActiveMask(lanes.mask).lanes() {
            let texture = self.texture(of, (pc, lane), named.handles[lane], (fetch.geometry, is_integer))?;
            let mut sampler = texture.sampler;
            if let Some(handles) = &named.samplers {
                let own = self.sampler(of, (pc, lane), handles[lane])?;
                sampler = Sampler { normalized: own.normalized && texture.sampler.normalized, ..*own };
            }
            let coordinates = coordinates(fetch, is_integer, &words, lane);
            let sampling = Sampling { resource: &texture.resource, sampler: &sampler, fetch };
            let value = match component {
                None => self.sampled(texture, &sampling, &coordinates, &mut reads),
                Some(component) => self.gathered(texture, &sampling, &coordinates, &mut reads, component),
            };
            for (result, channel) in results.iter_mut().zip(value) {
                result[lane] = channel;
            }
        }
        self.note_texels((context.record, context.warp_index), pc, reads);
        write_fetched(lanes, operation, &results);
        Ok(())
    }

    fn value_at(&self, texture: &TextureObject, sampler: &Sampler, place: Option<TexelPlace>) -> [u32; 4] {
        let format = texture.resource.format;
        match place {
            Some(place) => texel::value(format, texture.read, &self.texel(&texture.resource, place)),
            None => texel::border(format, texture.read, sampler.border),
        }
    }

    fn sampled(
        &self,
        texture: &TextureObject,
        sampling: &Sampling<'_>,
        coordinates: &Coordinates,
        reads: &mut TexelReads,
    ) -> [u32; 4] {
        let footprint = sampling.footprint(coordinates);
        let form = (texture.resource.format, texture.read);
        texel::fetched(form, footprint.corners(), sampling.sampler.border, |place| {
            if O::RECORDS {
                reads.add(&texture.resource, place);
            }
            self.texel(&texture.resource, place)
        })
    }

    fn gathered(
        &self,
        texture: &TextureObject,
        sampling: &Sampling<'_>,
        coordinates: &Coordinates,
        reads: &mut TexelReads,
        component: u8,
    ) -> [u32; 4] {
        sampling.gathered(coordinates).map(|place| {
            if let (true, Some(place)) = (O::RECORDS, place) {
                reads.add(&texture.resource, place);
            }
            self.value_at(texture, sampling.sampler, place)[usize::from(component)]
        })
    }

    /// Where the lanes access a surface: `bytes` says how many bytes of a surface an access moves.
    fn surface_places(
        &self,
        context: &Context<'_, O::Cta>,
        (pc, lanes): (Pc, u32),
        request: &SurfaceRequest<'_>,
        bytes: impl Fn(&Resource) -> Result<u32, TextureFault>,
    ) -> Result<(SurfacePlaces, [Option<&'a Resource>; 32]), ExecError> {
        let of = (context.coordinates, context.warp_index);
        let mut places = SurfacePlaces { inside: 0, addresses: [0; 32], shown: [0; 32] };
        let mut resources = [None; 32];
        for lane in ActiveMask(lanes).lanes() {
            let (at, handle) = ((pc, lane), request.handles[lane]);
            let resource = self.surface(of, at, handle, request.access.geometry)?;
            resources[lane] = Some(resource);
            let named = (OpaqueType::Surface, handle);
            let bytes = bytes(resource).map_err(|fault| self.texture_error(of, at, named, fault))?;
            let coordinates: Vec<i32> = request.coordinates.iter().map(|words| words[lane] as i32).collect();
            let place = self.surface_place(of, at, (resource, handle), request.access, &coordinates, bytes)?;
            if let Some((address, shown)) = place {
                places.inside |= 1 << lane;
                (places.addresses[lane], places.shown[lane]) = (address, shown);
            }
        }
        Ok((places, resources))
    }

    fn request<'o>(
        lanes: &Lanes<'_>,
        operation: &TextureOperation,
        access: &'o SurfaceAccess,
        kind: AccessKind,
    ) -> SurfaceRequest<'o> {
        SurfaceRequest {
            access,
            kind,
            handles: *lanes.pairs(operation.handle),
            coordinates: operation.sources.iter().map(|&source| *lanes.words(source)).collect(),
        }
    }

    /// Makes the accesses of the lanes that lie inside.
    fn move_bytes(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        memory: &MemoryOperation,
        (pc, kind): (Pc, AccessKind),
        places: &SurfacePlaces,
    ) -> Result<(), ExecError> {
        self.note_surface(context, (pc, kind), (memory.written_bytes, memory.elements), places);
        let all = std::mem::replace(&mut lanes.mask, places.inside);
        let moved = self.transfer_recorded(context, lanes, memory, pc, kind, &places.addresses);
        lanes.mask = all;
        moved
    }

    fn surface_load(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &TextureOperation,
        (pc, access): (Pc, &SurfaceAccess),
    ) -> Result<(), ExecError> {
        let request = Self::request(lanes, operation, access, AccessKind::Load);
        let memory = &operation.memory;
        let (places, _) = self.surface_places(context, (pc, lanes.mask), &request, |_| Ok(memory.bytes()))?;
        // What lies beyond the edge reads as zeros.
        let all = lanes.mask;
        lanes.mask = all & !places.inside;
        let wide = if memory.element_bytes == 8 { Wide::Yes } else { Wide::No };
        memory.destinations.iter().for_each(|&row| set_value(lanes, row, wide, 0));
        lanes.mask = all;
        self.move_bytes(context, lanes, memory, (pc, request.kind), &places)
    }

    fn surface_store(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &TextureOperation,
        (pc, access): (Pc, &SurfaceAccess),
    ) -> Result<(), ExecError> {
        let request = Self::request(lanes, operation, access, AccessKind::Store);
        let memory = &operation.memory;
        if access.unit == SurfaceUnit::Byte {
            let (places, _) = self.surface_places(context, (pc, lanes.mask), &request, |_| Ok(memory.bytes()))?;
            return self.move_bytes(context, lanes, memory, (pc, request.kind), &places);
        }
        let (places, resources) =
            self.surface_places(context, (pc, lanes.mask), &request, |resource| Ok(resource.format.bytes()))?;
        let values: Vec<Words> = memory.sources.iter().map(|&source| *lanes.words(source)).collect();
        for lane in ActiveMask(places.inside).lanes() {
            let Some(resource) = resources[lane] else { continue };
            let given: Vec<u32> = values.iter().map(|words| words[lane]).collect();
            let texel = texel::stored(resource.format, &given);
            let own = SurfacePlaces { inside: 1 << lane, ..places };
            self.store_texel(context, (pc, request.kind), resource.format.bytes(), &texel, &own)?;
        }
        Ok(())
    }

    /// Stores the bytes of one texel, a whole access of its own.
    fn store_texel(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        at: (Pc, AccessKind),
        bytes: u32,
        texel: &texel::TexelBytes,
        place: &SurfacePlaces,
    ) -> Result<(), ExecError> {
        let element = bytes.min(4);
        let mut rows = [Row::splat(0); 4];
        for (row, word) in rows.iter_mut().zip(texel.chunks_exact(element as usize)) {
            let mut bits = [0; 4];
            bits[..element as usize].copy_from_slice(word);
            *row = Row::splat(u32::from_le_bytes(bits));
        }
        let memory = MemoryOperation {
            sources: (0..bytes / element).map(Source::frame).collect(),
            ..MemoryOperation::of_surface(element as u8, (bytes / element) as u8)
        };
        let mut scratch = Lanes { rows: &mut rows, predicates: &mut [], pool: &[], mask: place.inside };
        self.move_bytes(context, &mut scratch, &memory, at, place)
    }

    fn surface_reduce(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &TextureOperation,
        (pc, access, op): (Pc, &SurfaceAccess, AtomicOp),
    ) -> Result<(), ExecError> {
        let request = Self::request(lanes, operation, access, AccessKind::Atomic);
        let memory = &operation.memory;
        let bytes = memory.bytes();
        let by_texel = access.unit == SurfaceUnit::Texel;
        let (places, resources) = self.surface_places(context, (pc, lanes.mask), &request, |resource| {
            let texel = resource.format.bytes();
            if by_texel && texel != bytes { Err(TextureFault::Channels { bytes, texel }) } else { Ok(bytes) }
        })?;
        // Samples are of the sign of their format; lanes may name different surfaces.
        let is_signed = |lane: usize| resources[lane].is_some_and(|it| it.format.channel() == Channel::S32);
        for signed in [false, true] {
            let ty = match (by_texel, bytes, signed) {
                (false, ..) if signed => continue,
                (false, ..) => operation.ty,
                (true, 8, false) => ScalarType::U64,
                (true, 8, true) => ScalarType::S64,
                (true, _, false) => ScalarType::U32,
                (true, _, true) => ScalarType::S32,
            };
            let same = |lane: &usize| !by_texel || is_signed(*lane) == signed;
            let inside = ActiveMask(places.inside).lanes().filter(same).fold(0, |mask, lane| mask | 1 << lane);
            if inside != 0 {
                let memory = MemoryOperation { atomic: Some((op, ty)), ..memory.clone() };
                let own = SurfacePlaces { inside, ..places };
                self.move_bytes(context, lanes, &memory, (pc, request.kind), &own)?;
            }
        }
        Ok(())
    }

    fn query(
        &mut self,
        context: &Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &TextureOperation,
        (pc, query): (Pc, TextureQuery),
    ) -> Result<(), ExecError> {
        let handles = *lanes.pairs(operation.handle);
        let levels = operation.sources.first().map_or([0; 32], |&source| *lanes.words(source));
        let of = (context.coordinates, context.warp_index);
        let mut values = [0; 32];
        for lane in ActiveMask(lanes.mask).lanes() {
            values[lane] = self.queried(of, (pc, lane), handles[lane], (operation.opaque, query, levels[lane]))?;
        }
        lanes.set_words(operation.destinations[0], &values);
        Ok(())
    }

    /// A property of the object of a lane. A sampler's are asked of a texture, too.
    pub(crate) fn queried(
        &self,
        of: ([u32; 3], u32),
        at: (Pc, usize),
        handle: u64,
        (opaque, query, level): (OpaqueType, TextureQuery, u32),
    ) -> Result<u32, ExecError> {
        let is_sampler = opaque == OpaqueType::Texture && self.is_type(handle, OpaqueType::Sampler);
        let opaque = if is_sampler { OpaqueType::Sampler } else { opaque };
        let object = self.object(of, at, (opaque, handle))?;
        Ok(property(object, query, level))
    }
}

/// A property of an object; 0 of one that it does not have.
pub(crate) fn property(object: &Object, query: TextureQuery, level: u32) -> u32 {
    let sampler = match object {
        Object::Texture(texture) => Some(&texture.sampler),
        Object::Sampler(sampler) => Some(sampler),
        Object::Surface(_) => None,
    };
    let resource = object.resource();
    let extent = |axis: usize| {
        resource.filter(|it| axis < it.geometry.n_axes()).map(|it| it.extent_of(level)[axis]).unwrap_or(0)
    };
    let is_normalized = |texture: &Object| matches!(texture, Object::Texture(it) if it.read == ReadMode::Normalized);
    match query {
        TextureQuery::Width => extent(0),
        TextureQuery::Height => extent(1),
        TextureQuery::Depth => extent(2),
        TextureQuery::ChannelDataType => resource.map_or(0, |it| data_type(it.format.channel(), is_normalized(object))),
        TextureQuery::ChannelOrder => resource.map_or(0, |it| match it.format.channels() {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        }),
        TextureQuery::NormalizedCoordinates => sampler.map_or(0, |it| u32::from(it.normalized)),
        TextureQuery::ArraySize => resource.filter(|it| it.geometry.is_layered()).map_or(0, |it| it.layers),
        TextureQuery::MipmapLevels => resource.map_or(0, |it| it.levels),
        TextureQuery::Samples => u32::from(resource.is_some()),
        TextureQuery::MemoryLayout => resource.map_or(0, |it| u32::from(it.layout != TexelLayout::Array)),
        TextureQuery::ForceUnnormalized => sampler.map_or(0, |it| u32::from(!it.normalized)),
        TextureQuery::FilterMode => sampler.map_or(0, |it| u32::from(it.filter == Filter::Linear)),
        TextureQuery::AddressMode(axis) => sampler.map_or(0, |it| match it.address[usize::from(axis).min(2)] {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 3,
            AddressMode::Border => 4,
        }),
    }
}

/// The number that OpenCL has for what a channel holds, which PTX says a query gives (cl.h, `cl_channel_type`).
const fn data_type(channel: Channel, normalized: bool) -> u32 {
    match (channel, normalized) {
        (Channel::S8, true) => 0x10d0,
        (Channel::S16, true) => 0x10d1,
        (Channel::U8, true) => 0x10d2,
        (Channel::U16, true) => 0x10d3,
        (Channel::S8, false) => 0x10d7,
        (Channel::S16, false) => 0x10d8,
        (Channel::S32, _) => 0x10d9,
        (Channel::U8, false) => 0x10da,
        (Channel::U16, false) => 0x10db,
        (Channel::U32, _) => 0x10dc,
        (Channel::F16, _) => 0x10dd,
        (Channel::F32, _) => 0x10de,
    }
}

/// The numbers that a lane brings, in the order of the table of operations.
fn coordinates(fetch: &TextureFetch, is_integer: bool, words: &[Words], lane: usize) -> Coordinates {
    let mut next = words.iter().map(|words| words[lane]);
    let mut take = || next.next().unwrap_or(0);
    let mut coordinates = Coordinates::default();
    if fetch.geometry.is_layered() {
        coordinates.layer = take();
    }
    let n_axes = fetch.geometry.n_axes();
    let n = if fetch.geometry.is_cube() { 3 } else { n_axes };
    let mut whole = [0; 3];
    for (at, whole) in coordinates.at.iter_mut().zip(&mut whole).take(n) {
        let bits = take();
        (*at, *whole) = (f32::from_bits(bits), bits as i32);
    }
    coordinates.whole = is_integer.then_some(whole);
    match fetch.level {
        LevelOfDetail::Base => {}
        // With integer coordinates the level is an integer, too.
        LevelOfDetail::Given if is_integer => coordinates.level = take() as i32 as f32,
        LevelOfDetail::Given => coordinates.level = f32::from_bits(take()),
        LevelOfDetail::Gradient => {
            for gradient in &mut coordinates.gradients {
                gradient[..n].iter_mut().for_each(|axis| *axis = f32::from_bits(take()));
            }
        }
    }
    if fetch.offsets {
        // Four bits of each are looked at.
        coordinates.offsets[..n_axes].iter_mut().for_each(|offset| *offset = (take() << 28) as i32 >> 28);
    }
    coordinates
}

/// Writes the channels of a fetch in the type of the instruction, and that all of it was there.
fn write_fetched(lanes: &mut Lanes<'_>, operation: &TextureOperation, results: &[Words; 4]) {
    let halves = results.map(|channel| channel.map(|bits| u32::from(texel::half(bits))));
    let registers: [Words; 4] = match operation.ty {
        ScalarType::F16 => halves,
        ScalarType::F16x2 => {
            let pair = |first: usize| std::array::from_fn(|lane| halves[first][lane] | halves[first + 1][lane] << 16);
            [pair(0), pair(2), [0; 32], [0; 32]]
        }
        _ => *results,
    };
    for (&row, values) in operation.destinations.iter().zip(&registers) {
        if row != SINK {
            lanes.set_words(row, values);
        }
    }
    if operation.resident != SINK {
        lanes.set_predicate(operation.resident, u32::MAX);
    }
}

impl MemoryOperation {
    /// An access to the memory of a surface, without values; its addresses are found elsewhere.
    pub(crate) fn of_surface(element_bytes: u8, elements: u8) -> Self {
        Self {
            space: warplens_isa::StateSpace::Global,
            base: Base::Constant(0),
            offset: 0,
            element_bytes,
            elements,
            written_bytes: element_bytes,
            sign_extend: false,
            destinations: Vec::new(),
            sources: Vec::new(),
            atomic: None,
            ordered: false,
            places: Places::Own,
            is_copy: false,
            asks: None,
        }
    }
}
