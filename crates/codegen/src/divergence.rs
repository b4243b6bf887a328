//! Where paths of a warp meet again.

use crate::emit::Selected;
use crate::node::Body;
use crate::target::Target;

/// Adds the instructions that open and close divergent regions.
pub(crate) fn mark(_body: &Body<'_>, _target: &Target, _selected: &mut Selected) {}
