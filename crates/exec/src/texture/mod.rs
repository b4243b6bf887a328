//! Textures and surfaces: objects, the texels that a fetch reads, and the accesses of a warp.

mod access;
mod object;
pub mod sample;
mod simt;
pub mod texel;

pub use access::{SurfacePlaces, TexelReads};
pub use object::{Object, ObjectError, Resource, TexelPlace, TextureObject};
