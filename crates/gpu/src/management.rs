//! What the management library (NVML) says of a GPU: the version of the driver and the clocks. Nothing is set.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use libloading::Library;

const LIBRARY: &str = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };
/// `NVML_CLOCK_SM` and `NVML_CLOCK_MEM`.
const CLOCKS: [c_int; 2] = [1, 2];

type Version = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
type ByBus = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
type Clock = unsafe extern "C" fn(*mut c_void, c_int, *mut c_uint) -> c_int;

/// The library, with one GPU.
pub(crate) struct Management {
    pub(crate) driver: Option<String>,
    clock: Option<(Clock, *mut c_void)>,
    _library: Library,
}

impl Management {
    /// None where the library is missing or does not know the GPU.
    pub(crate) fn load(bus: &str) -> Option<Self> {
        let bus = CString::new(bus).ok()?;
        // SAFETY: the initialisers of the library have no preconditions. Each symbol has the type that nvml.h declares
        // for it. Texts are writable for as many bytes as is said, and end with a zero on success.
        unsafe {
            let library = Library::new(LIBRARY).ok()?;
            let init = *library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlInit_v2\0").ok()?;
            if init() != 0 {
                return None;
            }
            let mut text = [0; 96];
            let version = library.get::<Version>(b"nvmlSystemGetDriverVersion\0").ok();
            let version = version.filter(|version| version(text.as_mut_ptr(), 95) == 0);
            let driver = version.map(|_| CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned());
            let mut gpu = std::ptr::null_mut();
            let by_bus = library.get::<ByBus>(b"nvmlDeviceGetHandleByPciBusId_v2\0").ok();
            let is_found = by_bus.is_some_and(|by_bus| by_bus(bus.as_ptr(), &raw mut gpu) == 0);
            let clock = library.get::<Clock>(b"nvmlDeviceGetClockInfo\0").ok().filter(|_| is_found);
            let clock = clock.map(|clock| (*clock, gpu));
            Some(Self { driver, clock, _library: library })
        }
    }

    /// MHz of the SMs and of the memory, as they are now.
    pub(crate) fn clocks_mhz(&self) -> [Option<u32>; 2] {
        CLOCKS.map(|which| {
            let (clock, gpu) = self.clock?;
            let mut mhz = 0;
            // SAFETY: the GPU was found by this library, which is loaded; `mhz` is writable.
            (unsafe { clock(gpu, which, &raw mut mhz) } == 0).then_some(mhz)
        })
    }
}
