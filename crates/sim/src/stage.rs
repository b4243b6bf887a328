//! The stages through which an instruction goes.

pub(crate) mod dispatch;
pub(crate) mod execute;
pub(crate) mod issue;
pub(crate) mod passing;
