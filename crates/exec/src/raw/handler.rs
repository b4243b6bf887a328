//! Lane handlers: one function per operation and type that works on 32 lanes, compiled once for the baseline CPU and
//! once for x86-64-v3, chosen when a kernel is step.
//!
//! A lane function is a closure without captures. Its type alone names it, so the 32-lane loop around it becomes a plain
//! function pointer, and inlining it there lets the compiler vectorise the loop with the features of that copy.

use std::marker::PhantomData;

use super::rows::{LaneInput, LaneOutput, Lanes};
use crate::code::{SINK, Step};
use crate::mode::{LaneMode, Mode};

/// Executes one operation in all active lanes. Unsafe to call on a CPU without the features that it was compiled for.
type LaneHandler = unsafe fn(&mut Lanes<'_>, &Step);

/// A lane function with what it is told.
#[derive(Clone, Copy)]
pub(crate) struct LaneFunction {
    handler: LaneHandler,
    mode: Mode,
}

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
    /// The best level of this CPU. Miri takes the baseline: it knows only some of the others' instructions.
    pub(crate) fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
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

/// Calls the lane function of an operation.
#[inline(always)]
pub(crate) fn call(lanes: &mut Lanes<'_>, step: &Step) {
    // SAFETY: handlers come from `select`, which is given the level that `Level::detect` found on this CPU.
    unsafe { (step.function.handler)(lanes, step) }
}

/// Work that is worth compiling once per level. `run` must be `#[inline(always)]` to take part.
pub(crate) trait Leveled {
    /// What the work results in.
    type Output;
    /// Does the work.
    fn run(self) -> Self::Output;
}

/// Runs `work` compiled for `level`.
pub(crate) fn with_level<T: Leveled>(level: Level, work: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn v3<T: Leveled>(work: T) -> T::Output {
            work.run()
        }
        if level == Level::V3 {
            // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
            return unsafe { v3(work) };
        }
    }
    let _ = level;
    work.run()
}

/// The loop over lanes around a lane function.
trait Kernel {
    fn run(lanes: &mut Lanes<'_>, step: &Step);
}

fn baseline<K: Kernel>(lanes: &mut Lanes<'_>, step: &Step) {
    K::run(lanes, step);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
fn v3<K: Kernel>(lanes: &mut Lanes<'_>, step: &Step) {
    K::run(lanes, step);
}

fn select<K: Kernel>(level: Level, mode: Mode) -> LaneFunction {
    let handler: LaneHandler = match level {
        Level::Baseline => baseline::<K>,
        #[cfg(target_arch = "x86_64")]
        Level::V3 => v3::<K>,
    };
    LaneFunction { handler, mode }
}

/// Makes the value of a closure type without captures.
#[inline(always)]
fn conjure<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "lane functions capture nothing") };
    // SAFETY: a zero-sized type has a single value without bytes, and `F` is inhabited: a value of it was passed to the
    // `map` function that named the type.
    unsafe { std::ptr::NonNull::<F>::dangling().read() }
}

macro_rules! maps {
    ($($map:ident $kernel:ident ($($arg:ident $index:literal),*) $(with $M:ident)?;)*) => {$(
        struct $kernel<$($arg,)* $($M,)? R, F>(PhantomData<($($arg,)* $($M,)? R, F)>);

        impl<$($arg: LaneInput,)* $($M: LaneMode,)? R: LaneOutput, F: Fn($($arg,)* $(&$M)?) -> R + Copy> Kernel
            for $kernel<$($arg,)* $($M,)? R, F>
        {
            #[inline(always)]
            #[allow(non_snake_case, reason = "an operand is named after its type parameter")]
            fn run(lanes: &mut Lanes<'_>, step: &Step) {
                let function = conjure::<F>();
                $(let mode = $M::of(&step.function.mode);)?
                let mut results = R::buffer();
                {
                    $(let $arg = $arg::view(lanes, step.sources[$index]);)*
                    for lane in 0..32 {
                        let value = function($($arg::lane(&$arg, lane),)* $({
                            let mode: &$M = &mode;
                            mode
                        })?);
                        R::set(&mut results, lane, value);
                    }
                }
                R::commit(lanes, step.destinations[0], &results);
            }
        }

        /// The handler that applies a lane function to the sources and writes the first destination.
        pub(crate) fn $map<
            $($arg: LaneInput,)* $($M: LaneMode,)? R: LaneOutput, F: Fn($($arg,)* $(&$M)?) -> R + Copy,
        >(
            level: Level,
            $(mode: $M,)?
            _: F,
        ) -> LaneFunction {
            let told = None::<Mode>$(.or(Some(<$M as LaneMode>::into_mode(mode))))?;
            select::<$kernel<$($arg,)* $($M,)? R, F>>(level, told.unwrap_or(Mode::Nothing))
        }
    )*};
}

maps! {
    map1 Map1 (A 0);
    map2 Map2 (A 0, B 1);
    map3 Map3 (A 0, B 1, C 2);
    map4 Map4 (A 0, B 1, C 2, D 3);
    map1_with Map1With (A 0) with M;
    map2_with Map2With (A 0, B 1) with M;
    map3_with Map3With (A 0, B 1, C 2) with M;
}

struct Carry<T, F>(PhantomData<(T, F)>);

impl<T: LaneInput + LaneOutput, F: Fn(T, T, T, bool) -> (T, bool) + Copy> Kernel for Carry<T, F> {
    #[inline(always)]
    fn run(lanes: &mut Lanes<'_>, step: &Step) {
        let function = conjure::<F>();
        let mut results = T::buffer();
        let mut carries = 0u32;
        {
            let [a, b, c, carry] = step.sources;
            let (a, b, c) = (T::view(lanes, a), T::view(lanes, b), T::view(lanes, c));
            let carry = lanes.predicate(carry);
            for lane in 0..32 {
                let operands = (T::lane(&a, lane), T::lane(&b, lane), T::lane(&c, lane));
                let (result, carry) = function(operands.0, operands.1, operands.2, carry >> lane & 1 == 1);
                T::set(&mut results, lane, result);
                carries |= u32::from(carry) << lane;
            }
        }
        T::commit(lanes, step.destinations[0], &results);
        if step.destinations[1] != SINK {
            lanes.set_predicate(step.destinations[1], carries);
        }
    }
}

/// The handler of an extended-precision operation: three operands and a carry in, a result and a carry out.
pub(crate) fn carry<T: LaneInput + LaneOutput, F: Fn(T, T, T, bool) -> (T, bool) + Copy>(
    level: Level,
    _: F,
) -> LaneFunction {
    select::<Carry<T, F>>(level, Mode::Nothing)
}

struct Masks<F>(PhantomData<F>);

impl<F: Fn(u32, u32) -> u32 + Copy> Kernel for Masks<F> {
    #[inline(always)]
    fn run(lanes: &mut Lanes<'_>, step: &Step) {
        let [a, b, ..] = step.sources;
        let bits = conjure::<F>()(lanes.predicate(a), lanes.predicate(b));
        lanes.set_predicate(step.destinations[0], bits);
    }
}

/// The handler of an operation on two predicates, as bit masks of the lanes.
pub(crate) fn masks<F: Fn(u32, u32) -> u32 + Copy>(level: Level, _: F) -> LaneFunction {
    select::<Masks<F>>(level, Mode::Nothing)
}
