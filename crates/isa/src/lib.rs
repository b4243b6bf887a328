//! What an instruction is, independent of the language that it was written in: operations with their classes, scalar
//! types, state spaces, payloads, special registers, program counters.
//!
//! Main types: [`Op`] (one row per operation in [`with_ops!`]), [`Operation`] (an operation with what refines it),
//! [`ScalarType`], [`OpClass`], [`Pc`]; [`InstKey`], which says what an instruction of a source is, and [`OpcodeText`],
//! which only shows how it was written.
//! This crate does not know about PTX syntax, control flow, latencies or values.

mod class;
mod cluster;
mod effect;
mod family;
mod key;
mod matrix;
mod mbarrier;
mod modifiers;
mod opcode_text;
mod operation;
mod ops;
mod payload;
mod pc;
mod special;
mod state_space;
mod table;
mod tensor_map;
mod texture;
mod types;

pub use class::{HighLatency, OpClass, SlowOperation};
pub use cluster::{
    CLUSTER_WINDOW_BITS, FIRST_CLUSTER_TARGET, MOST_CLUSTER_CTAS, PORTABLE_CLUSTER_CTAS, cluster_rank, cluster_window,
};
pub use effect::Effect;
pub use family::Family;
pub use key::{CacheOperator, CacheUse, InstKey, MatrixShape, MemoryOrder, NamedType, NarrowType, Part, Scope, Types};
pub use matrix::{
    GroupProduct, MatrixMove, MatrixProduct, MatrixType, MovedElements, Sparsity, TensorLanes, TensorWork,
};
pub use mbarrier::{MbarrierOp, MbarrierState, PhaseOf};
pub use modifiers::{
    AddressDirection, AtomicOp, BarrierKind, BfindAnswer, BoolOp, ClusterPhase, CompareOp, CopyRead, Dp2aHalf,
    MatchMode, PackedWidth, Precision, PrmtMode, ReduxOp, Rounding, ShiftDirection, ShiftMode, ShuffleMode, SystemCall,
    TestProperty, VoteMode,
};
pub use opcode_text::{OpcodeText, Spelling};
pub use operation::Operation;
pub use ops::Op;
pub use payload::{
    AccessOrder, Accuracy, AddressConversion, Approximation, Atomic, Branch, BulkCopy, Carry, Combination, Comparison,
    Conversion, Extremum, FunnelShift, FusedMultiplyAdd, HighMultiplyAdd, MixedTypes, Payload, Product, Reduction,
    Saturation, Subnormals, Sum, TensorCopy, Words,
};
pub use pc::{BlockId, Pc};
pub use special::{Axis, SpecialRegister};
pub use state_space::StateSpace;
pub use tensor_map::{
    MOST_TENSOR_DIMENSIONS, Swizzle, TENSOR_MAP_ADDRESS, TENSOR_MAP_BYTES, TensorMap, TensorMapField,
};
pub use texture::{
    AddressMode, Channel, Filter, Geometry, LevelOfDetail, OBJECT_TAG, ObjectQuery, OpaqueType, ReadMode, Sampler,
    SurfaceAccess, SurfaceClamp, SurfaceReduction, SurfaceUnit, TexelFormat, TexelLayout, TexelShape, TextureFetch,
    TextureGather, TextureQuery,
};
pub use types::{Arithmetic, ScalarType};
