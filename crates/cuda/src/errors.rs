//! Errors: the last one, their names and their texts.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::Mutex;

use warplens_runtime::Status;

use crate::api;
use crate::guard::{self, driver_call};
use crate::pointers::{Out, leaked};

/// Texts that C has seen. They stay.
static TEXTS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// A text for C, which stays.
pub(crate) fn text(text: &str) -> *const c_char {
    let mut texts = TEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let address = *texts.entry(text.to_owned()).or_insert_with(|| leaked(text).expose_provenance());
    std::ptr::with_exposed_provenance(address)
}

/// The last error of the thread, which is forgotten; one that stays comes again.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetLastError() -> i32 {
    let last = guard::last();
    guard::forget_last();
    last.0
}

/// The last error of the thread.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaPeekAtLastError() -> i32 {
    guard::last().0
}

/// What an error means.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorString(error: i32) -> *const c_char {
    text(Status(error).text().unwrap_or("unrecognized error code"))
}

/// What an error is called.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorName(error: i32) -> *const c_char {
    text(Status(error).runtime_name().unwrap_or("unrecognized error code"))
}

api! { driver_call;
    /// What an error means.
    fn cuGetErrorString(error: i32, to: Out<*const c_char>) |_| {
        let found = Status(error).driver_name().and(Status(error).text());
        to.set(found.map_or(std::ptr::null(), text))?;
        found.map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// What an error is called.
    fn cuGetErrorName(error: i32, to: Out<*const c_char>) |_| {
        let found = Status(error).driver_name();
        to.set(found.map_or(std::ptr::null(), text))?;
        found.map(drop).ok_or(Status::INVALID_VALUE)
    }
}
