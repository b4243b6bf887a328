//! Texture and surface instructions of the lanes that take part.

use warplens_exec::ExecError;
use warplens_exec::TextureFault;
use warplens_exec::engine::{LaneValues, Request};
use warplens_exec::texture::{Resource, TexelPlace, TexelReads, TextureObject};
use warplens_isa::{
    AtomicOp, Channel, OpaqueType, Operation, ScalarType, StateSpace, SurfaceAccess, SurfaceUnit, TextureFetch,
    TextureGather,
};
use warplens_trace::{AccessKind, Observer};

use super::{Running, Step};
use crate::texture::{Colour, Fetch, Numbers, colour, mixed};
use crate::warp::lanes;

/// Lanes that are inside of a surface, where each is in memory and as observers hear of it, and what it is a part of.
type Places<'a> = (u32, [LaneValues; 2], Vec<Option<&'a Resource>>);

impl Step<'_> {
    pub(super) fn texture<O: Observer>(&self, run: &mut Running<'_, '_, O>) -> Result<(), ExecError> {
        match &self.inst.operation {
            Operation::Tex(fetch) => self.fetch(run, fetch, None),
            Operation::Tld4(TextureGather { fetch, component }) => self.fetch(run, fetch, Some(*component)),
            Operation::Suld(access) => self.surface_load(run, access),
            Operation::Sust(access) => self.surface_store(run, access),
            Operation::Sured(reduction) => self.surface_reduce(run, &reduction.access, reduction.op),
            Operation::QueryTexture(asked) => {
                let handles = self.source(run.registers(), 0, ScalarType::U64, 0);
                let levels = self.source(run.registers(), 1, ScalarType::U32, 0);
                let mut values = [0; 32];
                for lane in lanes(self.on) {
                    let question = (asked.of, asked.query, levels[lane] as u32);
                    values[lane] = run.queried((self.inst.pc, lane), handles[lane], question)?.into();
                }
                self.write(run.registers(), 0, ScalarType::B32, &values);
                Ok(())
            }
            Operation::Istypep(opaque) => {
                let values = self.source(run.registers(), 0, ScalarType::U64, 0);
                let truths = values.map(|value| u64::from(run.is_type(value, *opaque)));
                self.write(run.registers(), 0, ScalarType::Pred, &truths);
                Ok(())
            }
            _ => Err(run.unsupported(self.inst.pc, self.on)),
        }
    }

    fn handles<O: Observer>(&self, run: &mut Running<'_, '_, O>) -> LaneValues {
        self.all(run.registers(), &self.inst.memory[0].base, ScalarType::U64)
    }

    /// The numbers of a lane: words, of which so many last ones are something else.
    fn words(&self, all: &[LaneValues], lane: usize) -> Vec<u32> {
        all.iter().map(|values| values[lane] as u32).collect()
    }

    fn fetch<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        fetch: &TextureFetch,
        component: Option<u8>,
    ) -> Result<(), ExecError> {
        let handles = self.handles(run);
        let n = self.inst.sources.len() - usize::from(fetch.sampler);
        let numbers: Vec<LaneValues> =
            (0..n).map(|index| self.source(run.registers(), index, ScalarType::B32, 0)).collect();
        let samplers = self.source(run.registers(), n, ScalarType::U64, 0);
        let are_integers = self.inst.source_ty.is_integer();
        let mut reads = TexelReads::default();
        let mut results = [[0u64; 32]; 4];
        for lane in lanes(self.on) {
            let at = (self.inst.pc, lane);
            let texture = run.texture(at, handles[lane], (fetch.geometry, are_integers))?;
            let mut sampler = texture.sampler;
            if fetch.sampler {
                sampler = *run.sampler(at, samplers[lane])?;
                sampler.normalized &= texture.sampler.normalized;
            }
            let own = Fetch { resource: &texture.resource, sampler, fetch };
            let words = self.words(&numbers, lane);
            let numbers = Numbers { words: &words, are_integers };
            let colour_at = |run: &Running<'_, '_, O>, place: Option<TexelPlace>| {
                let bytes = place.map(|place| run.texel(&texture.resource, place));
                colour(texture, bytes.as_ref(), sampler.border)
            };
            let places: Vec<Option<TexelPlace>>;
            let value: [u32; 4] = match component {
                None => {
                    let parts = own.parts(&numbers);
                    places = parts.iter().map(|(place, ..)| *place).collect();
                    let coloured = |(place, weight, plane)| (colour_at(run, place), weight, plane);
                    let coloured: Vec<(Colour, u64, usize)> = parts.into_iter().map(coloured).collect();
                    mixed(texture.resource.format.channel(), &coloured)
                }
                Some(component) => {
                    places = own.corners(&numbers);
                    let channel = |place: &Option<TexelPlace>| match colour_at(run, *place) {
                        Colour::Whole(whole) => whole[usize::from(component)],
                        Colour::Real(real, _) => real[usize::from(component)].to_bits(),
                    };
                    std::array::from_fn(|corner| channel(&places[corner]))
                }
            };
            note(&mut reads, texture, &places);
            for (result, channel) in results.iter_mut().zip(value) {
                result[lane] = channel.into();
            }
        }
        run.note_texels(self.inst.pc, reads);
        self.write_fetched(run, &results);
        Ok(())
    }

    fn write_fetched<O: Observer>(&self, run: &mut Running<'_, '_, O>, results: &[LaneValues; 4]) {
        let half = |bits: u64| u64::from(warplens_exec::texture::texel::half(bits as u32));
        let n_channels = if self.inst.ty == ScalarType::F16x2 { 2 } else { 4 };
        for index in 0..n_channels {
            let values: LaneValues = match self.inst.ty {
                ScalarType::F16 => results[index].map(half),
                ScalarType::F16x2 => {
                    let [low, high] = [2 * index, 2 * index + 1].map(|channel| results[channel].map(half));
                    std::array::from_fn(|lane| low[lane] | high[lane] << 16)
                }
                _ => results[index],
            };
            self.write(run.registers(), index, ScalarType::B32, &values);
        }
        self.write(run.registers(), n_channels, ScalarType::Pred, &[1; 32]);
    }

    /// The places of the lanes on a surface: who lies inside, addresses, and how they are shown.
    fn places<'a, O: Observer>(
        &self,
        run: &mut Running<'_, 'a, O>,
        access: &SurfaceAccess,
        bytes: impl Fn(&Resource) -> Result<u32, TextureFault>,
    ) -> Result<Places<'a>, ExecError> {
        let handles = self.handles(run);
        let n = access.geometry.n_coordinates();
        let numbers: Vec<LaneValues> =
            (0..n).map(|index| self.source(run.registers(), index, ScalarType::B32, 0)).collect();
        let (mut inside, mut places, mut resources) = (0, [[0; 32]; 2], vec![None; 32]);
        for lane in lanes(self.on) {
            let at = (self.inst.pc, lane);
            let resource = run.surface(at, handles[lane], access.geometry)?;
            resources[lane] = Some(resource);
            let named = (OpaqueType::Surface, handles[lane]);
            let bytes = bytes(resource).map_err(|fault| run.texture_fault(at, named, fault))?;
            let coordinates: Vec<i32> = self.words(&numbers, lane).into_iter().map(|word| word as i32).collect();
            let found = run.surface_place(at, (resource, handles[lane]), access, &coordinates, bytes)?;
            if let Some((address, shown)) = found {
                inside |= 1 << lane;
                (places[0][lane], places[1][lane]) = (address, shown);
            }
        }
        Ok((inside, places, resources))
    }

    fn surface_request(&self, lanes: u32, addresses: LaneValues) -> Request {
        Request {
            pc: self.inst.pc,
            place: 0,
            space: StateSpace::Global,
            lanes,
            addresses,
            element_bytes: self.inst.ty.bytes() as u8,
            elements: self.inst.memory[0].elements,
            ordered: false,
        }
    }

    fn element_bytes(&self) -> u32 {
        self.inst.ty.bytes() * u32::from(self.inst.memory[0].elements)
    }

    fn surface_load<O: Observer>(&self, run: &mut Running<'_, '_, O>, access: &SurfaceAccess) -> Result<(), ExecError> {
        let (inside, [addresses, shown], _) = self.places(run, access, |_| Ok(self.element_bytes()))?;
        let mut values = vec![[0; 32]; self.inst.destinations.len()];
        if inside != 0 {
            let request = self.surface_request(inside, addresses);
            let loaded = run.access_surface(&request, AccessKind::Load, &shown, (&[], None))?;
            for (values, loaded) in values.iter_mut().zip(loaded) {
                lanes(inside).for_each(|lane| values[lane] = loaded[lane]);
            }
        }
        let ty = if self.inst.ty.bits() == 64 { ScalarType::B64 } else { ScalarType::B32 };
        for (index, values) in values.iter().enumerate() {
            self.write(run.registers(), index, ty, values);
        }
        Ok(())
    }

    fn surface_store<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        access: &SurfaceAccess,
    ) -> Result<(), ExecError> {
        let n = access.geometry.n_coordinates();
        let count = self.inst.sources.len() - n;
        let ty = self.inst.ty;
        let given: Vec<LaneValues> = (n..n + count).map(|index| self.source(run.registers(), index, ty, 0)).collect();
        if access.unit == SurfaceUnit::Byte {
            let (inside, [addresses, shown], _) = self.places(run, access, |_| Ok(self.element_bytes()))?;
            if inside == 0 {
                return Ok(());
            }
            let request = self.surface_request(inside, addresses);
            return run.access_surface(&request, AccessKind::Store, &shown, (&given, None)).map(drop);
        }
        let (inside, [addresses, shown], resources) = self.places(run, access, |it| Ok(it.format.bytes()))?;
        for lane in lanes(inside) {
            let Some(resource) = resources[lane] else { continue };
            let channel = resource.format.channel();
            let width = channel.bytes();
            let stored: Vec<u64> = (0..resource.format.channels())
                .map(|index| given.get(index).map_or(0, |values| converted(channel, values[lane] as u32)))
                .collect();
            // A texel of several channels is stored in words.
            let per_word = 4 / width;
            let words = stored
                .chunks(per_word as usize)
                .map(|some| some.iter().rev().fold(0u64, |word, &value| word << (8 * width) | value));
            let words: Vec<LaneValues> = words.map(|word| [word; 32]).collect();
            let element_bytes = resource.format.bytes().min(4) as u8;
            let elements = words.len() as u8;
            let request = Request { element_bytes, elements, ..self.surface_request(1 << lane, addresses) };
            run.access_surface(&request, AccessKind::Store, &shown, (&words, None))?;
        }
        Ok(())
    }

    fn surface_reduce<O: Observer>(
        &self,
        run: &mut Running<'_, '_, O>,
        access: &SurfaceAccess,
        op: AtomicOp,
    ) -> Result<(), ExecError> {
        let bytes = self.inst.ty.bytes();
        let by_texel = access.unit == SurfaceUnit::Texel;
        let (inside, [addresses, shown], resources) = self.places(run, access, |resource| {
            let texel = resource.format.bytes();
            if by_texel && texel != bytes { Err(TextureFault::Channels { bytes, texel }) } else { Ok(bytes) }
        })?;
        let values = [self.source(run.registers(), access.geometry.n_coordinates(), self.inst.ty, 0)];
        let is_signed = |lane: usize| resources[lane].is_some_and(|it| it.format.channel() == Channel::S32);
        let groups = if by_texel { vec![false, true] } else { vec![false] };
        for signed in groups {
            let own = lanes(inside).filter(|&lane| !by_texel || is_signed(lane) == signed);
            let own = own.fold(0, |mask, lane| mask | 1 << lane);
            let ty = match (by_texel, bytes, signed) {
                (false, ..) => self.inst.ty,
                (true, 8, false) => ScalarType::U64,
                (true, 8, true) => ScalarType::S64,
                (true, _, false) => ScalarType::U32,
                (true, _, true) => ScalarType::S32,
            };
            if own != 0 {
                let request = Request { ordered: true, ..self.surface_request(own, addresses) };
                run.access_surface(&request, AccessKind::Atomic, &shown, (&values, Some((op, ty))))?;
            }
        }
        Ok(())
    }
}

/// A value of 32 bits in the format of a channel: what does not fit goes to the nearest end.
fn converted(channel: Channel, value: u32) -> u64 {
    let between = |low: i64, high: i64, number: i64, mask: u64| number.max(low).min(high) as u64 & mask;
    let (unsigned, signed) = (i64::from(value), i64::from(value as i32));
    match channel {
        Channel::U8 => between(0, 255, unsigned, 0xff),
        Channel::S8 => between(-128, 127, signed, 0xff),
        Channel::U16 => between(0, 65535, unsigned, 0xffff),
        Channel::S16 => between(-32768, 32767, signed, 0xffff),
        Channel::F16 => warplens_exec::texture::texel::half(value).into(),
        Channel::U32 | Channel::S32 | Channel::F32 => value.into(),
    }
}

fn note(reads: &mut TexelReads, texture: &TextureObject, places: &[Option<TexelPlace>]) {
    places.iter().flatten().for_each(|&place| reads.add(&texture.resource, place));
}
