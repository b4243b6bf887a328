//! The functions of the CUDA driver, with the types and the meaning that `cuda.h` gives them.
//!
//! This module and [`crate::management`] find foreign code; the others of the crate call it through the table here.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libloading::Library;
use warplens_base::error::{Error, Result};

use crate::image::{ArrayDescriptor, Copy3d, ResourceDescriptor, TextureDescriptor};

/// `CUresult`; 0 is success.
pub(crate) type Status = c_int;
/// `CUcontext`, `CUmodule`, `CUfunction`, `CUevent`, `CUstream`.
pub(crate) type Handle = *mut c_void;
/// `CUdevice`.
pub(crate) type DeviceNumber = c_int;
/// `CUdeviceptr`.
pub(crate) type Address = u64;

/// Where the driver is.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
/// What a driver has that runs kernels without a GPU.
const EMULATOR_MARKS: [&str; 2] = ["warplens_emulates_this_driver", "zluda_version"];

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: *const LaunchAttribute,
    pub(crate) n_attributes: c_uint,
}

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    pub(crate) id: c_int,
    pub(crate) padding: c_int,
    /// A union of 64 bytes, of which the attributes used here take the first words.
    pub(crate) value: [c_uint; 16],
}

impl LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`: all CTAs are there at the same time.
    pub(crate) fn cooperative() -> Self {
        Self::new(2, [1, 0, 0])
    }

    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
    pub(crate) fn cluster(extents: [c_uint; 3]) -> Self {
        Self::new(4, extents)
    }

    fn new(id: c_int, words: [c_uint; 3]) -> Self {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&words);
        Self { id, padding: 0, value }
    }
}

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($ty:ty),*);)*) => {
        /// The functions that every driver since CUDA 12 has.
        pub(crate) struct Driver {
            $(pub(crate) $name: unsafe extern "C" fn($($ty),*) -> Status,)*
            /// Dropped last: the functions live in it.
            _library: Library,
        }

        impl Driver {
            fn of(library: Library) -> Result<Self> {
                // SAFETY: each symbol is read with the type that cuda.h declares for its name. The copied pointers are
                // used only while `_library`, kept in the same structure, keeps the code loaded.
                unsafe {
                    $(let $name = *library
                        .get::<unsafe extern "C" fn($($ty),*) -> Status>($symbol)
                        .map_err(|_| too_old($symbol))?;)*
                    Ok(Self { $($name,)* _library: library })
                }
            }
        }
    };
}

functions! {
    init = b"cuInit\0"(c_uint);
    driver_version = b"cuDriverGetVersion\0"(*mut c_int);
    error_name = b"cuGetErrorName\0"(Status, *mut *const c_char);
    error_string = b"cuGetErrorString\0"(Status, *mut *const c_char);
    device_count = b"cuDeviceGetCount\0"(*mut c_int);
    device = b"cuDeviceGet\0"(*mut DeviceNumber, c_int);
    device_name = b"cuDeviceGetName\0"(*mut c_char, c_int, DeviceNumber);
    device_bus = b"cuDeviceGetPCIBusId\0"(*mut c_char, c_int, DeviceNumber);
    device_attribute = b"cuDeviceGetAttribute\0"(*mut c_int, c_int, DeviceNumber);
    retain_context = b"cuDevicePrimaryCtxRetain\0"(*mut Handle, DeviceNumber);
    release_context = b"cuDevicePrimaryCtxRelease_v2\0"(DeviceNumber);
    set_context = b"cuCtxSetCurrent\0"(Handle);
    synchronize = b"cuCtxSynchronize\0"();
    load_module = b"cuModuleLoadDataEx\0"(*mut Handle, *const c_void, c_uint, *const c_int, *const *mut c_void);
    unload_module = b"cuModuleUnload\0"(Handle);
    module_function = b"cuModuleGetFunction\0"(*mut Handle, Handle, *const c_char);
    module_variable = b"cuModuleGetGlobal_v2\0"(*mut Address, *mut usize, Handle, *const c_char);
    function_attribute = b"cuFuncGetAttribute\0"(*mut c_int, c_int, Handle);
    set_function_attribute = b"cuFuncSetAttribute\0"(Handle, c_int, c_int);
    launch = b"cuLaunchKernelEx\0"(*const LaunchConfig, Handle, *const *mut c_void, *const *mut c_void);
    allocate = b"cuMemAlloc_v2\0"(*mut Address, usize);
    free = b"cuMemFree_v2\0"(Address);
    copy_to_device = b"cuMemcpyHtoD_v2\0"(Address, *const c_void, usize);
    copy_to_host = b"cuMemcpyDtoH_v2\0"(*mut c_void, Address, usize);
    copy = b"cuMemcpyDtoDAsync_v2\0"(Address, Address, usize, Handle);
    fill = b"cuMemsetD8Async\0"(Address, u8, usize, Handle);
    copy_3d = b"cuMemcpy3D_v2\0"(*const Copy3d);
    create_array = b"cuArray3DCreate_v2\0"(*mut Handle, *const ArrayDescriptor);
    destroy_array = b"cuArrayDestroy\0"(Handle);
    create_mipmap = b"cuMipmappedArrayCreate\0"(*mut Handle, *const ArrayDescriptor, c_uint);
    mipmap_level = b"cuMipmappedArrayGetLevel\0"(*mut Handle, Handle, c_uint);
    destroy_mipmap = b"cuMipmappedArrayDestroy\0"(Handle);
    create_texture = b"cuTexObjectCreate\0"(
        *mut u64, *const ResourceDescriptor, *const TextureDescriptor, *const c_void
    );
    destroy_texture = b"cuTexObjectDestroy\0"(u64);
    create_surface = b"cuSurfObjectCreate\0"(*mut u64, *const ResourceDescriptor);
    destroy_surface = b"cuSurfObjectDestroy\0"(u64);
    create_event = b"cuEventCreate\0"(*mut Handle, c_uint);
    destroy_event = b"cuEventDestroy_v2\0"(Handle);
    record_event = b"cuEventRecord\0"(Handle, Handle);
    synchronize_event = b"cuEventSynchronize\0"(Handle);
    elapsed = b"cuEventElapsedTime\0"(*mut f32, Handle, Handle);
    encode_tensor_map = b"cuTensorMapEncodeTiled\0"(
        *mut c_void, c_int, c_uint, Address, *const u64, *const u64, *const u32, *const u32, c_int, c_int, c_int, c_int
    );
}

fn too_old(symbol: &[u8]) -> Error {
    let symbol = String::from_utf8_lossy(symbol);
    let symbol = symbol.trim_end_matches('\0');
    Error::input(format!("the CUDA driver of this machine has no {symbol}"))
        .with_help("it has to be one of CUDA 12 or later")
}

impl Driver {
    /// Loads the driver of this machine and starts it.
    pub(crate) fn load() -> Result<Self> {
        // SAFETY: the initialisers of the CUDA driver have no preconditions.
        let library = unsafe { Library::new(LIBRARY) };
        let library = library.map_err(|_| {
            Error::input(format!(
                "there is no CUDA driver on this machine ({LIBRARY}), so that nothing can be measured"
            ))
        })?;
        for mark in EMULATOR_MARKS {
            // SAFETY: the symbol is looked for and neither called nor read.
            if unsafe { library.get::<*const c_void>(mark.as_bytes()) }.is_ok() {
                return Err(emulated(&format!("it has the symbol {mark}")));
            }
        }
        let driver = Self::of(library)?;
        // SAFETY: 0 is the only value that the flags may have.
        driver.check("cuInit", unsafe { (driver.init)(0) })?;
        Ok(driver)
    }

    /// An error where a call did not succeed.
    pub(crate) fn check(&self, what: &str, status: Status) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        let text = |function: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = std::ptr::null();
            // SAFETY: `text` is writable; on success it is a string of the driver that ends with a zero and stays.
            unsafe {
                if function(status, &raw mut text) != 0 || text.is_null() {
                    return String::from("unknown");
                }
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        };
        let (name, meaning) = (text(self.error_name), text(self.error_string));
        Err(Error::input(format!("the CUDA driver refused {what}: {meaning} ({name}, {status})")))
    }
}

/// That a driver has no GPU behind it.
pub(crate) fn emulated(why: &str) -> Error {
    Error::input(format!("the CUDA driver of this machine emulates its GPU, which has no time to measure: {why}"))
}
