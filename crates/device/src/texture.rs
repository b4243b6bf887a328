//! Textures, samplers and surfaces of a context.
//!
//! A handle is a number, since kernels get it as a parameter. It is of this context, stands for the same object for ever,
//! or for nothing once that is destroyed. Memory may be freed before; who fetches from it then gets an error.

use warplens_exec::HandleFault;
use warplens_exec::texture::{Object, Resource, TextureObject};
use warplens_isa::{OpaqueType, ReadMode, Sampler, TexelShape};

use crate::context::Context;
use crate::error::Error;

impl Context {
    /// A texture of the texels at an address, which lie in one allocation.
    pub fn create_texture(
        &mut self,
        address: u64,
        shape: TexelShape,
        sampler: Sampler,
        read: ReadMode,
    ) -> Result<u64, Error> {
        let resource = Resource { address, shape };
        Ok(self.device.create_object(Object::Texture(TextureObject { resource, sampler, read }))?)
    }

    /// A surface of the texels at an address, which lie in one allocation.
    pub fn create_surface(&mut self, address: u64, shape: TexelShape) -> Result<u64, Error> {
        Ok(self.device.create_object(Object::Surface(Resource { address, shape }))?)
    }

    /// A sampler of its own, for instructions that name one beside the texture.
    pub fn create_sampler(&mut self, sampler: Sampler) -> Result<u64, Error> {
        Ok(self.device.create_object(Object::Sampler(sampler))?)
    }

    /// What a texture was made of.
    pub fn texture(&self, handle: u64) -> Result<&TextureObject, Error> {
        match self.object(handle, OpaqueType::Texture)? {
            Object::Texture(texture) => Ok(texture),
            other => Err(wrong(handle, other)),
        }
    }

    /// What a surface was made of.
    pub fn surface(&self, handle: u64) -> Result<&Resource, Error> {
        match self.object(handle, OpaqueType::Surface)? {
            Object::Surface(resource) => Ok(resource),
            other => Err(wrong(handle, other)),
        }
    }

    /// Destroys an object of a kind.
    pub fn destroy_object(&mut self, handle: u64, kind: OpaqueType) -> Result<(), Error> {
        self.object(handle, kind)?;
        self.device.destroy_object(handle).map(drop).map_err(|fault| Error::Handle { handle, fault })
    }

    fn object(&self, handle: u64, kind: OpaqueType) -> Result<&Object, Error> {
        let object = self.device.object(handle).map_err(|fault| Error::Handle { handle, fault })?;
        if object.opaque_type() == kind { Ok(object) } else { Err(wrong(handle, object)) }
    }
}

fn wrong(handle: u64, object: &Object) -> Error {
    Error::Handle { handle, fault: HandleFault::Other(object.opaque_type()) }
}
