//! Modifiers of the IR, as many of them as a lane function takes.

use warplens_isa::{Modifiers, Rounding};

use crate::semantics::convert::NarrowMods;
use crate::semantics::half::HalfMods;
use crate::semantics::{FloatMods, MinMaxMods};

pub(super) fn float(modifiers: &Modifiers) -> FloatMods {
    FloatMods { rounding: modifiers.rounding, ftz: modifiers.ftz, sat: modifiers.sat }
}

pub(super) fn half(modifiers: &Modifiers) -> HalfMods {
    HalfMods { ftz: modifiers.ftz, sat: modifiers.sat, relu: modifiers.relu, oob: modifiers.oob }
}

pub(super) fn min_max(modifiers: &Modifiers) -> MinMaxMods {
    MinMaxMods { ftz: modifiers.ftz, nan: modifiers.nan, xorsign_abs: modifiers.xorsign_abs }
}

pub(super) fn narrow(modifiers: &Modifiers) -> NarrowMods {
    NarrowMods {
        rounding: modifiers.rounding,
        ftz: modifiers.ftz,
        sat: modifiers.sat,
        relu: modifiers.relu,
        satfinite: modifiers.satfinite,
    }
}

/// True for round-to-nearest without saturation: the mode that deserves its own vectorised loop.
pub(super) fn is_plain(modifiers: &Modifiers) -> bool {
    modifiers.rounding == Rounding::Nearest && !modifiers.sat && !modifiers.relu
}
