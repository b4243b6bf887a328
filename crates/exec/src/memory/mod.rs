//! Device memory: buffers, module variables, and the windows of the generic address space.

mod device;
mod heap;
mod window;

pub use device::{Buffer, BufferId, Device};
pub use heap::BadFree;
pub(crate) use window::{Windows, page_is_null};
