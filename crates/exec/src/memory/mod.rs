//! Device memory: buffers, module variables, and the windows of the generic address space.

mod device;
mod window;

pub use device::{Buffer, BufferId, Device};
pub(crate) use window::{Windows, page_is_null};
