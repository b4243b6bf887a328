//! Modules, kernels and launches in the driver API.

use std::ffi::c_char;

use warplens_runtime::Status;

use crate::driver::in_context;
use crate::driver_link::Logs;
use crate::guard::driver_call;
use crate::pointers::{Arguments, In, Memory, Out, Text};
use crate::registration::image;
use crate::runtime_launch::{self, Shape, attributes, launch, launch_packed, parameters};
use crate::runtime_library::{file, kernels, name};
use crate::structures::{LaunchAttribute, LaunchAttributes};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// Marks in the list of what is handed to a launch besides pointers to parameters.
const END: u64 = 0;
const PACKED: u64 = 1;
const PACKED_BYTES: u64 = 2;

fn load(runtime: &mut Runtime, to: Out<u64>, code: Memory) -> Result<()> {
    in_context(runtime)?;
    if code.address() == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let source = image(code)?;
    to.set(runtime.load_module(source)?)
}

/// Stores where a parameter of a kernel lies, and its size.
pub(crate) fn parameter(
    runtime: &mut Runtime,
    function: Memory,
    index: usize,
    (offset, bytes): (Out<usize>, Out<usize>),
) -> Result<()> {
    let places = runtime.parameter_places(function.address())?;
    let place = places.get(index).ok_or(Status::INVALID_VALUE)?;
    offset.set(place.offset)?;
    bytes.set_if_wanted(place.bytes);
    Ok(())
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    stream: Memory,
    attributes: In<LaunchAttribute>,
    n_attributes: u32,
}

impl LaunchConfig {
    /// Threads and dynamic shared memory of a block, and blocks of a cluster.
    pub(crate) fn of_cluster(&self) -> Result<(i32, usize, i32)> {
        let product = |extents: [u32; 3]| extents.iter().fold(1u32, |all, &extent| all.saturating_mul(extent)) as i32;
        let cluster = attributes(self.attributes, self.n_attributes)?.cluster.unwrap_or([1; 3]);
        Ok((product(self.block), self.dynamic_shared as usize, product(cluster)))
    }
}

/// Launches with pointers to parameters, or with parameters side by side.
fn launch_with(
    runtime: &mut Runtime,
    function: Memory,
    shape: Shape,
    arguments: Arguments,
    extra: In<Memory>,
) -> Result<()> {
    in_context(runtime)?;
    let function = runtime.function_or_stub(function.address()).map_err(|_| Status::INVALID_HANDLE)?;
    let parameters = given_parameters(runtime, function, arguments, extra)?;
    launch_packed(runtime, function, shape, parameters)
}

/// The content of the parameter space: from pointers to parameters, or from parameters side by side.
pub(crate) fn given_parameters(
    runtime: &mut Runtime,
    function: u64,
    arguments: Arguments,
    extra: In<Memory>,
) -> Result<Vec<u8>> {
    if !arguments.is_null() || extra.is_null() {
        return parameters(runtime, function, arguments);
    }
    let (mut packed, mut bytes) = (None, 0);
    // Each mark but the last is followed by a value.
    for pair in 0..4 {
        let mark = extra.at(2 * pair)?.address();
        if mark == END {
            break;
        }
        let value = extra.at(2 * pair + 1)?;
        match mark {
            PACKED => packed = Some(value),
            PACKED_BYTES => bytes = In::<usize>::of(value).get()?,
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    let wanted = runtime.parameter_places(function)?.iter().map(|place| place.offset + place.bytes).max().unwrap_or(0);
    if bytes < wanted {
        return Err(Status::INVALID_VALUE);
    }
    let packed = packed.ok_or(Status::INVALID_VALUE)?;
    packed.with_bytes(wanted, |bytes| Ok(bytes.to_vec()))
}

api! { driver_call;
    /// Loads PTX or a container with PTX.
    fn cuModuleLoadData(to: Out<u64>, code: Memory) |runtime| { load(runtime, to, code) }

    /// The same with options for the compiler, of which the logs are answered.
    fn cuModuleLoadDataEx(to: Out<u64>, code: Memory, count: u32, options: In<i32>, values: In<Memory>) |runtime| {
        let logs = Logs::of(count, options, values)?;
        logs.tell(runtime, |runtime| load(runtime, to, code))
    }

    /// Loads a container.
    fn cuModuleLoadFatBinary(to: Out<u64>, code: Memory) |runtime| { load(runtime, to, code) }

    /// Loads a file.
    fn cuModuleLoad(to: Out<u64>, path: Text) |runtime| {
        in_context(runtime)?;
        to.set(runtime.load_module(file(path)?)?)
    }

    /// When code is loaded: at once.
    fn cuModuleGetLoadingMode(to: Out<i32>) |_| { to.set(1) }

    /// Takes a module away.
    fn cuModuleUnload(module: Memory) |runtime| {
        in_context(runtime)?;
        runtime.unload_module(module.address())
    }

    /// A kernel of a module.
    fn cuModuleGetFunction(to: Out<u64>, module: Memory, name: Text) |runtime| {
        in_context(runtime)?;
        to.set(runtime.module_function(module.address(), &name.get()?)?)
    }

    /// Kernels of a module.
    fn cuModuleGetFunctionCount(to: Out<u32>, module: Memory) |runtime| {
        in_context(runtime)?;
        to.set(runtime.module_kernels(module.address())?.len() as u32)
    }

    /// The same with their handles.
    fn cuModuleEnumerateFunctions(to: Out<u64>, count: u32, module: Memory) |runtime| {
        in_context(runtime)?;
        kernels(runtime, to, count, module)
    }

    /// A variable of a module.
    fn cuModuleGetGlobal_v2(to: Out<u64>, bytes: Out<usize>, module: Memory, name: Text) |runtime| {
        in_context(runtime)?;
        let (address, size) = runtime.module_variable(module.address(), &name.get()?)?;
        to.set_if_wanted(address);
        bytes.set_if_wanted(size as usize);
        Ok(())
    }

    /// What is known of a kernel.
    fn cuFuncGetAttribute(to: Out<i32>, attribute: i32, function: Memory) |runtime| {
        in_context(runtime)?;
        to.set(runtime_launch::attribute(runtime, function.address(), attribute)?)
    }

    /// Sets what a kernel may use.
    fn cuFuncSetAttribute(function: Memory, attribute: i32, value: i32) |runtime| {
        in_context(runtime)?;
        runtime_launch::set_attribute(runtime, function.address(), attribute, value)
    }

    /// Says which memory a kernel prefers, which changes no result.
    fn cuFuncSetCacheConfig(function: Memory, _config: i32) |runtime| {
        runtime.function_name(function.address()).map(drop)
    }

    /// How wide banks are, which is the same since compute capability 5.0.
    fn cuFuncSetSharedMemConfig(function: Memory, _config: i32) |runtime| {
        runtime.function_name(function.address()).map(drop)
    }

    /// Says how many threads a block has. Launches say it themselves, but for those of CUDA 3, which are not supported.
    fn cuFuncSetBlockShape(function: Memory, x: i32, y: i32, z: i32) |runtime| {
        runtime.function_name(function.address())?;
        if [x, y, z].iter().all(|&extent| extent > 0) { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// The module of a kernel.
    fn cuFuncGetModule(to: Out<u64>, function: Memory) |runtime| {
        to.set(runtime.function_module(function.address())?)
    }

    /// The name of a kernel.
    fn cuFuncGetName(to: Out<*const c_char>, function: Memory) |runtime| { name(runtime, to, function.address()) }

    /// Where a parameter of a kernel lies.
    fn cuFuncGetParamInfo(function: Memory, index: usize, offset: Out<usize>, bytes: Out<usize>) |runtime| {
        parameter(runtime, function, index, (offset, bytes))
    }

    /// Whether a kernel is loaded: all are.
    fn cuFuncIsLoaded(to: Out<i32>, function: Memory) |runtime| {
        runtime.function_name(function.address())?;
        to.set(1)
    }

    /// Loads a kernel.
    fn cuFuncLoad(function: Memory) |runtime| { runtime.function_name(function.address()).map(drop) }

    /// Launches a kernel.
    fn cuLaunchKernel(
        function: Memory, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Memory, arguments: Arguments, extra: In<Memory>,
    ) |runtime| {
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_shared: shared.into(),
            stream: stream.address(),
            attributes: LaunchAttributes::default(),
        };
        launch_with(runtime, function, shape, arguments, extra)
    }

    /// Launches a kernel whose CTAs wait for each other.
    fn cuLaunchCooperativeKernel(
        function: Memory, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Memory, arguments: Arguments,
    ) |runtime| {
        in_context(runtime)?;
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_shared: shared.into(),
            stream: stream.address(),
            attributes: LaunchAttributes { cooperative: true, cluster: None },
        };
        launch(runtime, function.address(), shape, arguments)
    }

    /// Launches a kernel with attributes.
    fn cuLaunchKernelEx(
        config: In<LaunchConfig>, function: Memory, arguments: Arguments, extra: In<Memory>,
    ) |runtime| {
        let config = config.get()?;
        let shape = Shape {
            grid: config.grid,
            block: config.block,
            dynamic_shared: config.dynamic_shared.into(),
            stream: config.stream.address(),
            attributes: attributes(config.attributes, config.n_attributes)?,
        };
        launch_with(runtime, function, shape, arguments, extra)
    }
}
