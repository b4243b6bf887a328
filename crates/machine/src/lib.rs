//! Typed descriptions of GPUs: every value with its unit, its source and how it came about.
//!
//! Main types: [`Machine`], loaded from TOML text by [`load()`]; [`Key`], the table of parameters; [`Reader`], through
//! which a model reads a machine, with the rules that derive missing values and the record of what was read;
//! [`builtin`], the machines that ship with the product.
//!
//! Invariants: values are finite, not negative and in the canonical unit of their parameter; durations that follow the
//! clock are kept in seconds and read in cycles; what nobody knows is absent or [`Value::Unknown`], never a default.
//!
//! This crate does not know about kernels, models or files.

pub mod builtin;
mod check;
mod derive;
pub mod expansion;
mod key;
mod load;
mod machine;
pub mod manual;
mod name;
mod pipeline;
mod plausible;
mod reader;
mod suppose;
pub mod table;
mod unit;
mod value;
mod word;

pub use key::{Key, Scaling, Shape, words};
pub use load::{LoadError, Resolver, load};
pub use machine::{ComputeCapability, Machine};
pub use name::{MachineRef, NameError, Selector};
pub use reader::{Missing, ParameterRead, Reader, Readings, Strictness};
pub use suppose::Impossible;
pub use unit::Unit;
pub use value::{Basis, Fact, Value};
pub use word::{Word, Words};
