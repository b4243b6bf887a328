//! Lane handlers: one function per operation and type that works on 32 lanes, compiled once for the baseline CPU and
//! once for x86-64-v3, chosen when a kernel is decoded.
//!
//! A lane function is a closure without captures. Its type alone names it, so the 32-lane loop around it becomes a plain
//! function pointer, and inlining it there lets the compiler vectorise the loop with the features of that copy.

use std::marker::PhantomData;

use warplens_isa::Modifiers;

use super::rows::{LaneInput, LaneOutput, Lanes};
use crate::code::Decoded;

/// Executes one operation in all active lanes. Unsafe to call on a CPU without the features that it was compiled for.
pub(crate) type LaneHandler = unsafe fn(&mut Lanes<'_>, &Decoded);

/// Vector features that the CPU has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// What every CPU of the architecture has.
    Baseline,
    /// AVX2, FMA, BMI, F16C (x86-64-v3).
    #[cfg(target_arch = "x86_64")]
    V3,
}

impl Level {
    /// The best level of this CPU.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("f16c");
            if v3 {
                return Self::V3;
            }
        }
        Self::Baseline
    }
}

/// Calls a handler.
#[inline(always)]
pub(crate) fn call(handler: LaneHandler, lanes: &mut Lanes<'_>, decoded: &Decoded) {
    // SAFETY: handlers come from `select`, which is given the level that `Level::detect` found on this CPU.
    unsafe { handler(lanes, decoded) }
}

/// Runs `body`, which should be `#[inline(always)]`, compiled for `level`.
#[inline(always)]
pub(crate) fn with_level<R>(level: Level, body: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn v3<R>(body: impl FnOnce() -> R) -> R {
            body()
        }
        if level == Level::V3 {
            // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
            return unsafe { v3(body) };
        }
    }
    let _ = level;
    body()
}

/// The loop over lanes around a lane function.
trait Kernel {
    fn run(lanes: &mut Lanes<'_>, decoded: &Decoded);
}

fn baseline<K: Kernel>(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    K::run(lanes, decoded);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
fn v3<K: Kernel>(lanes: &mut Lanes<'_>, decoded: &Decoded) {
    K::run(lanes, decoded);
}

fn select<K: Kernel>(level: Level) -> LaneHandler {
    match level {
        Level::Baseline => baseline::<K>,
        #[cfg(target_arch = "x86_64")]
        Level::V3 => v3::<K>,
    }
}

/// Makes the value of a closure type without captures.
#[inline(always)]
fn conjure<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "lane functions capture nothing") };
    // SAFETY: a zero-sized type has a single value without bytes, and `F` is inhabited: a value of it was passed to the
    // `map` function that named the type.
    unsafe { std::mem::MaybeUninit::<F>::uninit().assume_init() }
}

macro_rules! maps {
    ($($map:ident $kernel:ident ($($arg:ident $index:literal),*) $(with $modifiers:ident)?;)*) => {$(
        struct $kernel<$($arg,)* R, F>(PhantomData<($($arg,)* R, F)>);

        impl<$($arg: LaneInput,)* R: LaneOutput, F: Fn($($arg,)* $(&$modifiers)?) -> R + Copy> Kernel
            for $kernel<$($arg,)* R, F>
        {
            #[inline(always)]
            #[allow(non_snake_case, reason = "an operand is named after its type parameter")]
            fn run(lanes: &mut Lanes<'_>, decoded: &Decoded) {
                let function = conjure::<F>();
                let mut results = R::buffer();
                {
                    $(let $arg = $arg::view(lanes, decoded.sources[$index]);)*
                    for lane in 0..32 {
                        let value = function($($arg::lane(&$arg, lane),)* $({
                            let modifiers: &$modifiers = &decoded.modifiers;
                            modifiers
                        })?);
                        R::set(&mut results, lane, value);
                    }
                }
                R::commit(lanes, decoded.destinations[0], &results);
            }
        }

        /// The handler that applies a lane function to the sources and writes the first destination.
        pub(crate) fn $map<$($arg: LaneInput,)* R: LaneOutput, F: Fn($($arg,)* $(&$modifiers)?) -> R + Copy>(
            level: Level,
            _: F,
        ) -> LaneHandler {
            select::<$kernel<$($arg,)* R, F>>(level)
        }
    )*};
}

maps! {
    map0 Map0 ();
    map1 Map1 (A 0);
    map2 Map2 (A 0, B 1);
    map3 Map3 (A 0, B 1, C 2);
    map4 Map4 (A 0, B 1, C 2, D 3);
    map1_with Map1With (A 0) with Modifiers;
    map2_with Map2With (A 0, B 1) with Modifiers;
    map3_with Map3With (A 0, B 1, C 2) with Modifiers;
}
