//! What instructions compute, checked against arithmetic of other origin: exact software floating point, plain
//! definitions bit by bit, and results that the PTX assembler folds constants to.

mod compare;
mod convert;
mod float32;
mod float64;
mod half;
mod inputs;
mod integer;
mod math;
mod narrow;
mod oracle;
mod vectors;
mod warp;
