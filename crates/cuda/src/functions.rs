//! Functions by name, and those that are not supported.
//!
//! Both are written by `build.rs` from the lists in `api/`.

use std::ffi::c_void;

use warplens_runtime::Status;

use crate::api;
use crate::guard::{driver_call, runtime_call};
use crate::pointers::{Out, Text};

#[allow(clashing_extern_declarations, non_snake_case, unreachable_pub)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/functions.rs"));
}

/// What `cuGetProcAddress` says about a name.
const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;
const TOO_NEW: i32 = 2;

fn address(name: &str) -> Option<*const c_void> {
    let table = generated::FUNCTIONS;
    let index = table.binary_search_by_key(&name, |&(name, _)| name).ok()?;
    Some(table[index].1 as *const c_void)
}

/// The function of a name as a version of CUDA has it; else what is wrong.
fn of_version(name: &str, version: u32) -> Result<*const c_void, i32> {
    let table = generated::VERSIONS;
    let Ok(index) = table.binary_search_by_key(&name, |&(name, _)| name) else {
        return address(name).ok_or(NOT_FOUND);
    };
    let known = table[index].1.iter().filter(|(since, _)| *since <= version);
    let newest = known.max_by_key(|(since, _)| *since).ok_or(TOO_NEW)?;
    address(newest.1).ok_or(NOT_FOUND)
}

fn look_up(name: Text, to: Out<*const c_void>, version: i32, result: Out<i32>) -> Result<(), Status> {
    let found = of_version(&name.get()?, u32::try_from(version).map_err(|_| Status::INVALID_VALUE)?);
    result.set_if_wanted(found.err().unwrap_or(FOUND));
    to.set(found.unwrap_or(std::ptr::null()))?;
    found.map(drop).map_err(|_| Status::NOT_FOUND)
}

api! { driver_call;
    /// A function by its name, as a version has it.
    fn cuGetProcAddress(name: Text, to: Out<*const c_void>, version: i32, _flags: u64) |_| {
        let found = of_version(&name.get()?, u32::try_from(version).map_err(|_| Status::INVALID_VALUE)?);
        to.set(found.unwrap_or(std::ptr::null()))?;
        found.map(drop).map_err(|_| Status::NOT_FOUND)
    }

    /// The same, with what is wrong.
    fn cuGetProcAddress_v2(name: Text, to: Out<*const c_void>, version: i32, _flags: u64, result: Out<i32>) |_| {
        look_up(name, to, version, result)
    }
}

api! { runtime_call;
    /// A function of the driver by its name.
    fn cudaGetDriverEntryPoint(name: Text, to: Out<*const c_void>, _flags: u64, result: Out<i32>) |_| {
        match look_up(name, to, 13000, result) {
            Err(Status::NOT_FOUND) => Ok(()),
            other => other,
        }
    }

    /// The same as a version has it.
    fn cudaGetDriverEntryPointByVersion(name: Text, to: Out<*const c_void>, version: u32, _flags: u64, result: Out<i32>) |_| {
        match look_up(name, to, i32::try_from(version).unwrap_or(i32::MAX), result) {
            Err(Status::NOT_FOUND) => Ok(()),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_as_their_versions_have_them() {
        let is = |name: &str, version: u32, symbol: &str| {
            assert_eq!(of_version(name, version), Ok(address(symbol).unwrap()), "{name} {version}");
        };
        is("cuInit", 13000, "cuInit");
        is("cuMemAlloc", 13000, "cuMemAlloc_v2");
        is("cuMemAlloc", 2000, "cuMemAlloc");
        is("cuCtxCreate", 3020, "cuCtxCreate_v2");
        is("cuCtxCreate", 12080, "cuCtxCreate_v4");
        assert_eq!(of_version("cuNothing", 13000), Err(NOT_FOUND));
        assert_eq!(of_version("cuGetProcAddress", 2000), Err(TOO_NEW));
    }

    #[test]
    fn the_tables_are_sorted() {
        assert!(generated::FUNCTIONS.is_sorted_by_key(|(name, _)| *name));
        assert!(generated::VERSIONS.is_sorted_by_key(|(name, _)| *name));
    }
}
