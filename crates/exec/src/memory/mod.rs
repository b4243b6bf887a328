//! Device memory: buffers, module variables, and the windows of the generic address space.

mod budget;
mod device;
mod heap;
mod window;

pub use budget::MemoryError;
pub use device::{Buffer, BufferId, Device, HEAP_BYTES};
pub use heap::BadFree;
pub(crate) use window::{Windows, page_is_null};
