//! The clocks of a program, moved by as much as the emulated GPU is ahead of the emulator.
//!
//! Programs time kernels with clocks of the host. This library is loaded before the C library (`LD_PRELOAD`), so that they
//! ask it; it asks the kernel and adds what the CUDA library has said last: predicted time that the program has waited for
//! the device, less the time that the emulator took. It is a library of its own since its names must not have the version
//! that those of the CUDA library have.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicI64, Ordering};

const NANOSECONDS: i64 = 1_000_000_000;
const CLOCK_REALTIME: c_int = 0;
const CLOCK_MONOTONIC: c_int = 1;
/// Clocks that count the time of processors, which no GPU takes.
const OF_PROCESSORS: [c_int; 2] = [2, 3];
#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(not(target_arch = "x86_64"))]
const CLOCK_GETTIME: c_long = 113;

/// Nanoseconds that are added.
static OFFSET: AtomicI64 = AtomicI64::new(0);
/// When the clocks were stopped, on the kernel's monotonic clock: while a thread is in the emulator they stand still for all.
static STOPPED: AtomicI64 = AtomicI64::new(GOING);
const GOING: i64 = i64::MIN;
/// The monotonic clock when it was first asked for.
static START: AtomicI64 = AtomicI64::new(i64::MIN);

/// `struct timespec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// `struct timeval`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeval {
    seconds: i64,
    microseconds: i64,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// Stops the clocks. The CUDA library finds this by its name.
#[unsafe(no_mangle)]
pub extern "C" fn warplens_stop_clocks() {
    STOPPED.store(of_kernel(CLOCK_MONOTONIC).unwrap_or(GOING), Ordering::Relaxed);
}

/// Lets the clocks go on with so much added. The CUDA library finds this by its name.
#[unsafe(no_mangle)]
pub extern "C" fn warplens_start_clocks(nanoseconds: i64) {
    OFFSET.store(nanoseconds, Ordering::Relaxed);
    STOPPED.store(GOING, Ordering::Release);
}

/// What the kernel says; none where there is no such clock.
fn of_kernel(clock: c_int) -> Option<i64> {
    let mut time = Timespec::default();
    // SAFETY: the call stores a timespec where the pointer says, which is ours.
    let failed = unsafe { syscall(CLOCK_GETTIME, c_long::from(clock), &raw mut time) };
    (failed == 0).then(|| time.seconds * NANOSECONDS + time.nanoseconds)
}

/// A clock of the program.
fn shown(clock: c_int) -> Option<i64> {
    let time = of_kernel(clock)?;
    if OF_PROCESSORS.contains(&clock) {
        return Some(time);
    }
    let stopped_for = match STOPPED.load(Ordering::Acquire) {
        GOING => 0,
        stopped => of_kernel(CLOCK_MONOTONIC)? - stopped,
    };
    Some(time + OFFSET.load(Ordering::Relaxed) - stopped_for)
}

/// `clock_gettime` of the C library.
///
/// # Safety
///
/// The pointer is null or to a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, to: *mut Timespec) -> c_int {
    match shown(clock) {
        Some(time) if !to.is_null() => {
            let (seconds, nanoseconds) = (time.div_euclid(NANOSECONDS), time.rem_euclid(NANOSECONDS));
            // SAFETY: the caller's promise.
            unsafe { to.write(Timespec { seconds, nanoseconds }) };
            0
        }
        _ => -1,
    }
}

/// `gettimeofday` of the C library.
///
/// # Safety
///
/// The pointer is null or to a timeval.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(to: *mut Timeval, _zone: *mut c_void) -> c_int {
    let Some(time) = shown(CLOCK_REALTIME) else { return -1 };
    if !to.is_null() {
        let (seconds, microseconds) = (time.div_euclid(NANOSECONDS), time.rem_euclid(NANOSECONDS) / 1000);
        // SAFETY: the caller's promise.
        unsafe { to.write(Timeval { seconds, microseconds }) };
    }
    0
}

/// `timespec_get` of the C library.
///
/// # Safety
///
/// The pointer is null or to a timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timespec_get(to: *mut Timespec, base: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let failed = base != 1 || unsafe { clock_gettime(CLOCK_REALTIME, to) } != 0;
    if failed { 0 } else { base }
}

/// `time` of the C library.
///
/// # Safety
///
/// The pointer is null or to a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut i64) -> i64 {
    let Some(time) = shown(CLOCK_REALTIME) else { return -1 };
    let seconds = time.div_euclid(NANOSECONDS);
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(seconds) };
    }
    seconds
}

/// `clock` of the C library: a program that waits for a GPU keeps its processor busy, so that this clock goes on with the
/// others.
#[unsafe(no_mangle)]
pub extern "C" fn clock() -> c_long {
    let Some(time) = shown(CLOCK_MONOTONIC) else { return -1 };
    let start = match START.compare_exchange(i64::MIN, time, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => time,
        Err(start) => start,
    };
    ((time - start) / 1000) as c_long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_moved_and_stand_still_where_they_are_stopped() {
        let mut before = Timespec::default();
        // SAFETY: the pointer is to a timespec.
        assert_eq!(unsafe { clock_gettime(CLOCK_MONOTONIC, &raw mut before) }, 0);
        warplens_start_clocks(5 * NANOSECONDS);
        let ahead = shown(CLOCK_MONOTONIC).unwrap();
        assert!(ahead - (before.seconds * NANOSECONDS + before.nanoseconds) >= 5 * NANOSECONDS);
        warplens_stop_clocks();
        let stopped = shown(CLOCK_MONOTONIC).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        // The two clocks are not read at the same moment.
        assert!((shown(CLOCK_MONOTONIC).unwrap() - stopped).abs() < 5_000_000);
        warplens_start_clocks(0);
        assert!(shown(2).unwrap() < 1000 * NANOSECONDS);
        // SAFETY: null is allowed.
        assert_eq!(unsafe { clock_gettime(99, std::ptr::null_mut()) }, -1);
    }
}
