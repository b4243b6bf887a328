//! What every engine asks of textures and surfaces: objects by handle, raw texels, and the events of an access.
//!
//! An observer hears of a texture fetch as an access to the distinct sectors (32 bytes) that hold the texels of all its
//! lanes, one sector for each of the access's lanes, in ascending order; where they are more than 32, of as many accesses
//! as that takes. Of a surface it hears as of any access, a place for each lane. Addresses are those of the layout that an
//! array has ([`Resource::shown`]).

use warplens_isa::{
    Geometry, OpaqueType, Pc, Sampler, StateSpace, SurfaceAccess, SurfaceClamp, SurfaceUnit, TexelLayout,
};
use warplens_trace::{Access, AccessKind, ActiveMask, Observer, WarpIndex};

use super::object::{Object, Resource, TexelPlace, TextureObject};
use super::texel::TexelBytes;
use crate::engine::{Engine, LaneValues};
use crate::error::{ExecError, HandleFault, TextureError, TextureFault};
use crate::interpret::{Context, Worker};

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// Texels that the lanes of a warp read.
#[derive(Default)]
pub struct TexelReads {
    sectors: Vec<u64>,
}

impl TexelReads {
    /// A lane reads a texel.
    pub fn add(&mut self, resource: &Resource, place: TexelPlace) {
        let last = u64::from(resource.format.bytes()) - 1;
        let (first, last) = (resource.shown(place, 0) / SECTOR, resource.shown(place, last) / SECTOR);
        self.sectors.push(first);
        if first != last {
            self.sectors.push(last);
        }
    }
}

/// Where the lanes of a warp access a surface.
#[derive(Clone, Copy, Debug)]
pub struct SurfacePlaces {
    /// Lanes that lie inside, or were brought there.
    pub inside: u32,
    /// Addresses in memory, by lane.
    pub addresses: LaneValues,
    /// Addresses in the layout of the surface.
    pub shown: LaneValues,
}

impl<'a, E: Engine, O: Observer> Worker<'a, E, O> {
    pub(crate) fn texture_error(
        &self,
        (coordinates, warp_index): ([u32; 3], u32),
        (pc, lane): (Pc, usize),
        (opaque, handle): (OpaqueType, u64),
        fault: TextureFault,
    ) -> ExecError {
        let thread = self.thread(coordinates, warp_index, 1 << lane);
        ExecError::Texture(Box::new(TextureError { fault, opaque, pc, thread, handle }))
    }

    /// The object that a lane names.
    pub(crate) fn object(
        &self,
        of: ([u32; 3], u32),
        at: (Pc, usize),
        (opaque, handle): (OpaqueType, u64),
    ) -> Result<&'a Object, ExecError> {
        let device = self.shared.device;
        let found = device.object_named(handle, opaque);
        found.map_err(|fault| self.texture_error(of, at, (opaque, handle), TextureFault::Handle(fault)))
    }

    /// The texture that a lane names, if an instruction can fetch from it.
    pub(crate) fn texture(
        &self,
        of: ([u32; 3], u32),
        at: (Pc, usize),
        handle: u64,
        (wanted, is_integer): (Geometry, bool),
    ) -> Result<&'a TextureObject, ExecError> {
        let named = (OpaqueType::Texture, handle);
        let Object::Texture(texture) = self.object(of, at, named)? else {
            return Err(self.texture_error(of, at, named, TextureFault::Handle(HandleFault::Unknown)));
        };
        let found = texture.resource.geometry;
        if found != wanted {
            return Err(self.texture_error(of, at, named, TextureFault::Geometry { wanted, found }));
        }
        if texture.resource.layout == TexelLayout::Linear && !is_integer {
            return Err(self.texture_error(of, at, named, TextureFault::Linear));
        }
        Ok(texture)
    }

    /// The sampler that a lane names.
    pub(crate) fn sampler(&self, of: ([u32; 3], u32), at: (Pc, usize), handle: u64) -> Result<&'a Sampler, ExecError> {
        let named = (OpaqueType::Sampler, handle);
        match self.object(of, at, named)? {
            Object::Sampler(sampler) => Ok(sampler),
            Object::Texture(_) | Object::Surface(_) => {
                Err(self.texture_error(of, at, named, TextureFault::Handle(HandleFault::Unknown)))
            }
        }
    }

    /// The surface that a lane names.
    pub(crate) fn surface(
        &self,
        of: ([u32; 3], u32),
        at: (Pc, usize),
        handle: u64,
        wanted: Geometry,
    ) -> Result<&'a Resource, ExecError> {
        let named = (OpaqueType::Surface, handle);
        let Object::Surface(resource) = self.object(of, at, named)? else {
            return Err(self.texture_error(of, at, named, TextureFault::Handle(HandleFault::Unknown)));
        };
        let found = resource.geometry;
        if found != wanted {
            return Err(self.texture_error(of, at, named, TextureFault::Geometry { wanted, found }));
        }
        Ok(resource)
    }

    /// The bytes of a texel.
    pub(crate) fn texel(&self, resource: &Resource, place: TexelPlace) -> TexelBytes {
        let mut bytes = [0; 16];
        let width = u64::from(resource.format.bytes());
        let device = self.shared.device;
        if let Some(id) = device.find(resource.address) {
            let buffer = device.buffer(id);
            let start = resource.address - buffer.base + resource.offset(place);
            if start + width <= buffer.bytes {
                bytes[..width as usize].copy_from_slice(&buffer.cells.read_bytes(start as usize, width as usize));
            }
        }
        bytes
    }

    /// Tells the observer of the texels that a fetch reads.
    pub(crate) fn note_texels(
        &mut self,
        (record, warp_index): (&mut O::Cta, u32),
        pc: Pc,
        TexelReads { mut sectors }: TexelReads,
    ) {
        if !O::RECORDS {
            return;
        }
        sectors.sort_unstable();
        sectors.dedup();
        for some in sectors.chunks(32) {
            let mut addresses = [some[0] * SECTOR; 32];
            for (address, sector) in addresses.iter_mut().zip(some) {
                *address = sector * SECTOR;
            }
            let access = Access {
                space: StateSpace::Texture,
                kind: AccessKind::Load,
                element_bytes: SECTOR as u8,
                elements: 1,
                mask: ActiveMask(u32::MAX >> (32 - some.len())),
                addresses: (&addresses).into(),
                unchanged: ActiveMask::EMPTY,
            };
            self.observer.access(record, WarpIndex(warp_index), pc, &access);
        }
    }

    /// Where a lane accesses `bytes` of a surface, and how that is shown; none where it has no part. Coordinates: layer,
    /// then one for each axis.
    pub(crate) fn surface_place(
        &self,
        of: ([u32; 3], u32),
        at: (Pc, usize),
        (resource, handle): (&Resource, u64),
        access: &SurfaceAccess,
        coordinates: &[i32],
        bytes: u32,
    ) -> Result<Option<(u64, u64)>, ExecError> {
        let named = (OpaqueType::Surface, handle);
        let texel = i64::from(resource.format.bytes());
        let unit = match access.unit {
            SurfaceUnit::Byte => 1,
            SurfaceUnit::Texel => texel,
        };
        let (layer, axes) = match access.geometry.is_layered() {
            true => (coordinates[0] as u32, &coordinates[1..]),
            false => (0, coordinates),
        };
        let mut place = TexelPlace { level: 0, layer, at: [0; 3] };
        let mut byte = i64::from(axes[0]) * unit;
        let row = i64::from(resource.extent[0]) * texel;
        if byte % i64::from(bytes.min(16)) != 0 && access.unit == SurfaceUnit::Byte {
            return Err(self.texture_error(of, at, named, TextureFault::Misaligned { byte, bytes }));
        }
        let mut is_inside = byte >= 0 && byte + i64::from(bytes) <= row && layer < resource.layers;
        byte = byte.clamp(0, (row - i64::from(bytes)).max(0));
        place.layer = layer.min(resource.layers - 1);
        let of_axes = place.at.iter_mut().zip(axes).zip(resource.extent).take(access.geometry.n_axes()).skip(1);
        for ((at, &wanted), extent) in of_axes {
            let (last, wanted) = (i64::from(extent) - 1, i64::from(wanted));
            is_inside &= (0..=last).contains(&wanted);
            *at = wanted.clamp(0, last) as u32;
        }
        // What is wider than a row has no place in it.
        let fits = i64::from(bytes) <= row;
        match access.clamp {
            SurfaceClamp::Zero if !is_inside => return Ok(None),
            SurfaceClamp::Clamp if fits => {}
            _ if is_inside => {}
            SurfaceClamp::Trap | SurfaceClamp::Zero | SurfaceClamp::Clamp => {
                let mut extent: Vec<u64> = vec![(row / unit) as u64];
                extent.extend(resource.extent[1..access.geometry.n_axes()].iter().map(|&extent| u64::from(extent)));
                if access.geometry.is_layered() {
                    extent.insert(0, resource.layers.into());
                }
                let at_all = coordinates.iter().map(|&coordinate| i64::from(coordinate)).collect();
                return Err(self.texture_error(of, at, named, TextureFault::Outside { at: at_all, extent }));
            }
        }
        place.at[0] = (byte / texel) as u32;
        let inside = (byte % texel) as u64;
        Ok(Some((resource.address + resource.offset(place) + inside, resource.shown(place, inside))))
    }

    /// Tells the observer of an access to a surface.
    pub(crate) fn note_surface(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        (pc, kind): (Pc, AccessKind),
        (element_bytes, elements): (u8, u8),
        places: &SurfacePlaces,
    ) {
        if O::RECORDS && places.inside != 0 {
            let access = Access {
                space: StateSpace::Surface,
                kind,
                element_bytes,
                elements,
                mask: ActiveMask(places.inside),
                addresses: (&places.shown).into(),
                unchanged: ActiveMask::EMPTY,
            };
            self.observer.access(context.record, WarpIndex(context.warp_index), pc, &access);
        }
    }
}
