//! Device memory: buffers, modules with their variables, and the windows of the generic address space.

mod budget;
mod device;
mod heap;
mod image;
mod objects;
mod window;

pub use budget::MemoryError;
pub use device::{Buffer, BufferId, Device, HEAP_BYTES, Marks, Place};
pub use heap::BadFree;
pub use image::ImageId;
pub(crate) use image::{Constants, Image};
pub(crate) use window::{Windows, page_is_null};
