//! Modifiers of the IR as the lane functions take them.

use warplens_isa::Modifiers;

use crate::semantics::convert::NarrowMods;
use crate::semantics::half::HalfMods;
use crate::semantics::{FloatMods, MinMaxMods, Rounding};

pub(super) fn rounding(modifiers: &Modifiers) -> Rounding {
    match modifiers.rounding {
        warplens_isa::Rounding::Nearest => Rounding::NearestEven,
        warplens_isa::Rounding::NearestAway => Rounding::NearestAway,
        warplens_isa::Rounding::Zero => Rounding::Zero,
        warplens_isa::Rounding::Down => Rounding::Down,
        warplens_isa::Rounding::Up => Rounding::Up,
    }
}

pub(super) fn float(modifiers: &Modifiers) -> FloatMods {
    FloatMods { rounding: rounding(modifiers), ftz: modifiers.ftz, sat: modifiers.sat }
}

pub(super) fn half(modifiers: &Modifiers) -> HalfMods {
    HalfMods { ftz: modifiers.ftz, sat: modifiers.sat, relu: modifiers.relu, oob: false }
}

pub(super) fn min_max(modifiers: &Modifiers) -> MinMaxMods {
    MinMaxMods { ftz: modifiers.ftz, nan: modifiers.nan, xorsign_abs: modifiers.xorsign_abs }
}

pub(super) fn narrow(modifiers: &Modifiers) -> NarrowMods {
    NarrowMods {
        rounding: rounding(modifiers),
        ftz: modifiers.ftz,
        sat: modifiers.sat,
        relu: modifiers.relu,
        satfinite: modifiers.satfinite,
    }
}

/// True for round-to-nearest without saturation: the mode that deserves its own vectorised loop.
pub(super) fn is_plain(modifiers: &Modifiers) -> bool {
    modifiers.rounding == warplens_isa::Rounding::Nearest && !modifiers.sat && !modifiers.relu
}
