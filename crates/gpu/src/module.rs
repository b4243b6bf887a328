//! What the driver makes of a PTX text.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use warplens_base::error::{Error, Result};

use crate::driver::{Address, Driver, Handle};
use crate::gpu::Gpu;

/// `CU_JIT_ERROR_LOG_BUFFER` and its size in bytes.
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;
/// `CU_FUNC_ATTRIBUTE_NUM_REGS` and `..._MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const REGISTERS: c_int = 4;
const MOST_DYNAMIC_SHARED: c_int = 8;

/// PTX that the driver has assembled for a GPU.
pub struct Module<'g> {
    pub(crate) gpu: &'g Gpu,
    handle: Handle,
}

impl<'g> Module<'g> {
    /// Assembles PTX.
    pub(crate) fn load(gpu: &'g Gpu, name: &str, ptx: &str) -> Result<Self> {
        Ok(Self { gpu, handle: assembled(&gpu.driver, name, ptx)? })
    }

    /// A kernel, by the name that the PTX gives it.
    pub(crate) fn function(&self, name: &str) -> Result<Function> {
        function(&self.gpu.driver, self.handle, name)
    }

    /// Address and size of a variable.
    pub(crate) fn variable(&self, name: &str) -> Result<(Address, usize)> {
        let text = CString::new(name).map_err(|_| Error::usage("a variable's name holds a zero byte"))?;
        let (mut address, mut bytes) = (0, 0);
        let text: *const c_char = text.as_ptr();
        // SAFETY: the module is loaded and the name ends with a zero.
        let status = unsafe { (self.gpu.driver.module_variable)(&raw mut address, &raw mut bytes, self.handle, text) };
        self.gpu.driver.check(&format!("variable `{name}`"), status)?;
        Ok((address, bytes))
    }

    /// Registers per thread of a kernel, as assembled.
    pub fn registers(&self, kernel: &str) -> Result<u32> {
        let function = self.function(kernel)?;
        let mut value = 0;
        // SAFETY: the function belongs to this module, which is loaded.
        let status = unsafe { (self.gpu.driver.function_attribute)(&raw mut value, REGISTERS, function.handle) };
        self.gpu.driver.check("an attribute of a kernel", status)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Lets a kernel have so much dynamic shared memory.
    pub(crate) fn allow_shared(&self, function: &Function, bytes: u64) -> Result<()> {
        let bytes = c_int::try_from(bytes).map_err(|_| Error::usage("too much dynamic shared memory"))?;
        // SAFETY: the function belongs to this module, which is loaded.
        let status = unsafe { (self.gpu.driver.set_function_attribute)(function.handle, MOST_DYNAMIC_SHARED, bytes) };
        self.gpu.driver.check(&format!("{bytes} bytes of dynamic shared memory"), status)
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live and not used again. A failure leaves nothing to be done.
        unsafe { (self.gpu.driver.unload_module)(self.handle) };
    }
}

/// A kernel of a module.
pub(crate) struct Function {
    pub(crate) handle: Handle,
}

/// Has the driver assemble PTX for the GPU of the current context.
pub(crate) fn assembled(driver: &Driver, name: &str, ptx: &str) -> Result<Handle> {
    let text = CString::new(ptx).map_err(|_| Error::input(format!("{name} holds a zero byte")))?;
    let mut log = vec![0u8; 16 << 10];
    let names = [ERROR_LOG, ERROR_LOG_BYTES];
    // The driver takes numbers in place of pointers.
    let values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
    let mut handle = std::ptr::null_mut();
    // SAFETY: the text ends with a zero; there are as many values as names, each of the kind that cuda.h says, and the
    // log is writable for its size.
    let status = unsafe {
        (driver.load_module)(
            &raw mut handle,
            text.as_ptr().cast(),
            names.len() as c_uint,
            names.as_ptr(),
            values.as_ptr(),
        )
    };
    driver.check(&format!("the PTX of {name}"), status).map_err(|error| {
        let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
        log.lines().filter(|line| !line.trim().is_empty()).take(20).fold(error, Error::with_detail)
    })?;
    Ok(handle)
}

/// A kernel of a module that is loaded.
pub(crate) fn function(driver: &Driver, module: Handle, name: &str) -> Result<Function> {
    let text = CString::new(name).map_err(|_| Error::usage("a kernel's name holds a zero byte"))?;
    let mut handle = std::ptr::null_mut();
    // SAFETY: the module is loaded and the name ends with a zero.
    let status = unsafe { (driver.module_function)(&raw mut handle, module, text.as_ptr()) };
    driver.check(&format!("kernel `{name}`"), status)?;
    Ok(Function { handle })
}
