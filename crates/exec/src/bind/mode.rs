//! Payloads of operations, as much of them as a lane function takes.

use warplens_isa::{Conversion, Extremum, FusedMultiplyAdd, Product, Rounding, Sum};

use crate::semantics::convert::NarrowMods;
use crate::semantics::half::HalfMods;
use crate::semantics::{FloatMods, MinMaxMods};

pub(super) fn sum(sum: &Sum) -> FloatMods {
    FloatMods { rounding: sum.rounding, ftz: sum.ftz, sat: sum.sat }
}

pub(super) fn product(product: &Product) -> FloatMods {
    FloatMods { rounding: product.rounding, ftz: product.ftz, sat: product.sat }
}

pub(super) fn fused(fused: &FusedMultiplyAdd) -> FloatMods {
    FloatMods { rounding: fused.rounding, ftz: fused.ftz, sat: fused.sat }
}

pub(super) fn fused_half(fused: &FusedMultiplyAdd) -> HalfMods {
    HalfMods { ftz: fused.ftz, sat: fused.sat, relu: fused.relu, oob: fused.oob }
}

/// The mode of half-precision arithmetic that is neither rectified nor looks for elements out of bounds.
pub(super) fn half(mods: FloatMods) -> HalfMods {
    HalfMods { ftz: mods.ftz, sat: mods.sat, relu: false, oob: false }
}

pub(super) fn min_max(extremum: &Extremum) -> MinMaxMods {
    MinMaxMods { ftz: extremum.ftz, nan: extremum.nan, xorsign_abs: extremum.xorsign_abs }
}

pub(super) fn conversion(conversion: &Conversion) -> FloatMods {
    FloatMods { rounding: conversion.rounding, ftz: conversion.ftz, sat: conversion.sat }
}

pub(super) fn narrow(conversion: &Conversion) -> NarrowMods {
    NarrowMods {
        rounding: conversion.rounding,
        ftz: conversion.ftz,
        sat: conversion.sat,
        relu: conversion.relu,
        satfinite: conversion.satfinite,
    }
}

/// True for round-to-nearest without saturation: the mode that deserves its own vectorised loop.
pub(super) fn is_plain(mods: FloatMods) -> bool {
    mods.rounding == Rounding::Nearest && !mods.sat
}
