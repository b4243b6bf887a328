//! Libraries in the driver API: modules that belong to no context, and their kernels.

use std::ffi::c_char;

use crate::api;
use crate::driver_link::Logs;
use crate::driver_module::parameter;
use crate::guard::driver_call;
use crate::pointers::{In, Memory, Out, Text};
use crate::registration::image;
use crate::runtime_launch;
use crate::runtime_library::{file, global, kernels, name};

api! { driver_call;
    /// Loads code for all contexts.
    fn cuLibraryLoadData(
        to: Out<u64>, code: Memory, options: In<i32>, values: In<Memory>, count: u32, _library: Memory,
        _library_values: Memory, _library_count: u32,
    ) |runtime| {
        runtime.started()?;
        let logs = Logs::of(count, options, values)?;
        let source = image(code)?;
        to.set(logs.tell(runtime, |runtime| runtime.load_module(source))?)
    }

    /// Loads a file.
    fn cuLibraryLoadFromFile(
        to: Out<u64>, path: Text, options: In<i32>, values: In<Memory>, count: u32, _library: Memory,
        _library_values: Memory, _library_count: u32,
    ) |runtime| {
        runtime.started()?;
        let logs = Logs::of(count, options, values)?;
        let source = file(path)?;
        to.set(logs.tell(runtime, |runtime| runtime.load_module(source))?)
    }

    /// Takes it away.
    fn cuLibraryUnload(library: Memory) |runtime| { runtime.unload_module(library.address()) }

    /// A kernel of it.
    fn cuLibraryGetKernel(to: Out<u64>, library: Memory, name: Text) |runtime| {
        to.set(runtime.module_function(library.address(), &name.get()?)?)
    }

    /// Number of its kernels.
    fn cuLibraryGetKernelCount(to: Out<u32>, library: Memory) |runtime| {
        to.set(runtime.module_kernels(library.address())?.len() as u32)
    }

    /// Its kernels.
    fn cuLibraryEnumerateKernels(to: Out<u64>, count: u32, library: Memory) |runtime| {
        kernels(runtime, to, count, library)
    }

    /// It as a module of the current context.
    fn cuLibraryGetModule(to: Out<u64>, library: Memory) |runtime| {
        runtime.module_kernels(library.address())?;
        to.set(library.address())
    }

    /// A variable of it.
    fn cuLibraryGetGlobal(to: Out<u64>, bytes: Out<usize>, library: Memory, name: Text) |runtime| {
        global(runtime, to, bytes, library, name)
    }

    /// A kernel as a function of the current context.
    fn cuKernelGetFunction(to: Out<u64>, kernel: Memory) |runtime| {
        runtime.function_name(kernel.address())?;
        to.set(kernel.address())
    }

    /// The library of a kernel.
    fn cuKernelGetLibrary(to: Out<u64>, kernel: Memory) |runtime| {
        to.set(runtime.function_module(kernel.address())?)
    }

    /// The name of a kernel.
    fn cuKernelGetName(to: Out<*const c_char>, kernel: Memory) |runtime| { name(runtime, to, kernel.address()) }

    /// Where a parameter of a kernel lies.
    fn cuKernelGetParamInfo(kernel: Memory, index: usize, offset: Out<usize>, bytes: Out<usize>) |runtime| {
        parameter(runtime, kernel, index, (offset, bytes))
    }

    /// What is known of a kernel.
    fn cuKernelGetAttribute(to: Out<i32>, attribute: i32, kernel: Memory, _device: i32) |runtime| {
        to.set(runtime_launch::attribute(runtime, kernel.address(), attribute)?)
    }

    /// Sets what a kernel may use.
    fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: Memory, _device: i32) |runtime| {
        runtime_launch::set_attribute(runtime, kernel.address(), attribute, value)
    }

    /// Says which memory a kernel prefers, which changes no result.
    fn cuKernelSetCacheConfig(kernel: Memory, _config: i32, _device: i32) |runtime| {
        runtime.function_name(kernel.address()).map(drop)
    }
}
