//! What is asked of the host: memory at given addresses, and the standard output of the C library.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::OnceLock;

use warplens_runtime::HostMemory;

unsafe extern "C" {
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn munmap(address: *mut c_void, length: usize) -> c_int;
    fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn syscall(number: c_long, ...) -> c_long;
    static stdout: *mut c_void;
}

const READ_AND_WRITE: c_int = 1 | 2;
/// Private and of no file; where something else is there, nothing is mapped.
const FLAGS: c_int = 0x02 | 0x20 | 0x10_0000;
const PAGE: u64 = 4096;

/// The memory of this process.
pub(crate) struct Host;

/// The pages of a range: their first address and their bytes.
fn pages(address: u64, bytes: u64) -> (*mut c_void, usize) {
    let start = address / PAGE * PAGE;
    let end = (address + bytes).next_multiple_of(PAGE);
    (std::ptr::with_exposed_provenance_mut(start as usize), (end - start) as usize)
}

impl HostMemory for Host {
    fn map(&mut self, address: u64, bytes: u64) -> bool {
        let (start, length) = pages(address, bytes);
        // SAFETY: without a file, and never over what is there already: nothing that exists changes.
        let mapped = unsafe { mmap(start, length, READ_AND_WRITE, FLAGS, -1, 0) };
        if mapped == start {
            return true;
        }
        // A kernel that does not know the flag maps elsewhere.
        if mapped.addr() != usize::MAX {
            // SAFETY: it was mapped above, and nobody knows of it.
            unsafe { munmap(mapped, length) };
        }
        false
    }

    fn unmap(&mut self, address: u64, bytes: u64) {
        let (start, length) = pages(address, bytes);
        // SAFETY: the runtime takes away what it has mapped, once; the program that still uses it faults, as it should.
        unsafe { munmap(start, length) };
    }

    fn read(&self, address: u64, bytes: u64) -> Vec<u8> {
        let from: *const u8 = std::ptr::with_exposed_provenance(address as usize);
        let mut found = vec![0; bytes as usize];
        // SAFETY: the runtime reads what it has mapped; the bytes are copied, so that the program may go on with them.
        unsafe { found.as_mut_ptr().copy_from_nonoverlapping(from, found.len()) };
        found
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        let to: *mut u8 = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the runtime writes what it has mapped, which is no memory of Rust's.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

const CLOCK_MONOTONIC: c_long = 1;
#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(not(target_arch = "x86_64"))]
const CLOCK_GETTIME: c_long = 113;

/// Nanoseconds of the kernel's clock, whatever the program is told by its own.
pub(crate) fn nanoseconds() -> i64 {
    let mut time = [0_i64; 2];
    // SAFETY: the call stores two numbers of 8 bytes where the pointer says, which are ours.
    unsafe { syscall(CLOCK_GETTIME, CLOCK_MONOTONIC, time.as_mut_ptr()) };
    time[0] * 1_000_000_000 + time[1]
}

/// A function that something in the process exports.
fn function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a null handle asks for the first function with the name in the process; the name is a text.
    let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Stops the program's clocks, where the library that moves them is loaded.
pub(crate) fn stop_clocks() {
    static STOP: OnceLock<Option<extern "C" fn()>> = OnceLock::new();
    let stop = STOP.get_or_init(|| {
        // SAFETY: the function of this name is the one of the crate `clock`, which takes nothing.
        function(c"warplens_stop_clocks")
            .map(|found| unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(found) })
    });
    if let Some(stop) = stop {
        stop();
    }
}

/// Lets the program's clocks go on, so far ahead of the kernel's.
pub(crate) fn start_clocks(nanoseconds: i64) {
    static START: OnceLock<Option<extern "C" fn(i64)>> = OnceLock::new();
    let start = START.get_or_init(|| {
        // SAFETY: the function of this name is the one of the crate `clock`, which takes a number.
        function(c"warplens_start_clocks")
            .map(|found| unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(i64)>(found) })
    });
    if let Some(start) = start {
        start(nanoseconds);
    }
}

/// Prints what a kernel printed, in order with what the program prints.
pub(crate) fn print(bytes: &[u8]) {
    if !bytes.is_empty() {
        // SAFETY: the C library's own standard output, which it locks; the bytes are there for the call.
        unsafe { fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout) };
    }
}
