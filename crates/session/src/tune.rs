//! Searches for the fastest launch: block size, grid mapping, shared memory, macros of the source.

mod expression;
mod space;
mod space_file;

pub use expression::{Expression, ExpressionError};
pub use space::{Choices, Dimension, GivenShape, Point, Resolved, Space, SpaceText, Text, show_extents};
