//! The units of the SM: each with its configuration, its state and one rule.
//!
//! A unit is reserved in the order in which instructions are issued: it says when it starts with a request, and the
//! request's completion follows. No unit knows of another; the stages put them together.

pub(crate) mod banks;
pub(crate) mod barrier;
pub(crate) mod cache;
pub(crate) mod dram;
pub(crate) mod l2;
pub(crate) mod lsu;
pub(crate) mod port;
pub(crate) mod scheduler;
pub(crate) mod scoreboard;
pub(crate) mod share;
pub(crate) mod turns;
