//! Launches and what is asked about kernels in the runtime API.

use warplens_runtime::{Operation, Request, Status};

use crate::guard::device_call;
use crate::operations::submit;
use crate::pointers::{Arguments, In, Memory, Out};
use crate::structures::{Dim3, LaunchAttribute, LaunchAttributes};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// The shape of a launch, as C hands it in.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u64,
    pub(crate) stream: u64,
    pub(crate) attributes: LaunchAttributes,
}

/// The content of the parameter space.
pub(crate) fn parameters(runtime: &mut Runtime, function: u64, arguments: Arguments) -> Result<Vec<u8>> {
    let places = runtime.parameter_places(function)?;
    let end = places.iter().map(|place| place.offset + place.bytes).max().unwrap_or(0);
    let mut parameters = vec![0; end.next_multiple_of(8)];
    for (index, place) in places.iter().enumerate() {
        arguments.copy_to(index, &mut parameters[place.offset..place.offset + place.bytes])?;
    }
    parameters.truncate(end);
    Ok(parameters)
}

/// Launches a kernel with its parameters side by side.
pub(crate) fn launch_packed(runtime: &mut Runtime, function: u64, shape: Shape, parameters: Vec<u8>) -> Result<()> {
    let request = Request {
        function,
        stream: shape.stream,
        grid: shape.grid,
        block: shape.block,
        cluster: shape.attributes.cluster,
        dynamic_shared: shape.dynamic_shared,
        cooperative: shape.attributes.cooperative,
        parameters,
    };
    submit(runtime, shape.stream, Operation::Launch(request))
}

/// Launches a kernel with pointers to its parameters.
pub(crate) fn launch(runtime: &mut Runtime, function: u64, shape: Shape, arguments: Arguments) -> Result<()> {
    runtime.alive()?;
    let parameters = parameters(runtime, function, arguments)?;
    launch_packed(runtime, function, shape, parameters)
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    dynamic_shared: usize,
    stream: Memory,
    attributes: In<LaunchAttribute>,
    n_attributes: u32,
}

/// What a list of attributes asks for.
pub(crate) fn attributes(list: In<LaunchAttribute>, count: u32) -> Result<LaunchAttributes> {
    let mut found = LaunchAttributes::default();
    if !list.is_null() {
        (0..count as usize).try_for_each(|index| list.at(index).map(|attribute| found.add(&attribute)))?;
    }
    Ok(found)
}

fn launch_config(runtime: &mut Runtime, config: In<LaunchConfig>, either: Memory, arguments: Arguments) -> Result<()> {
    let config = config.get()?;
    let shape = Shape {
        grid: config.grid.extents(),
        block: config.block.extents(),
        dynamic_shared: config.dynamic_shared as u64,
        stream: config.stream.address(),
        attributes: attributes(config.attributes, config.n_attributes)?,
    };
    let function = runtime.function_or_stub(either.address())?;
    launch(runtime, function, shape, arguments)
}

fn simple(grid: Dim3, block: Dim3, shared: usize, stream: Memory) -> Shape {
    Shape {
        grid: grid.extents(),
        block: block.extents(),
        dynamic_shared: shared as u64,
        stream: stream.address(),
        attributes: LaunchAttributes::default(),
    }
}

fn together(grid: Dim3, block: Dim3, shared: usize, stream: Memory) -> Shape {
    let attributes = LaunchAttributes { cooperative: true, cluster: None };
    Shape { attributes, ..simple(grid, block, shared, stream) }
}

api! { device_call;
    /// Launches the kernel of a stub.
    fn cudaLaunchKernel(
        stub: Memory, grid: Dim3, block: Dim3, arguments: Arguments, shared: usize, stream: Memory,
    ) |runtime| {
        let function = runtime.function_or_stub(stub.address())?;
        launch(runtime, function, simple(grid, block, shared, stream), arguments)
    }

    /// Launches a kernel by its handle: what a launch with brackets becomes.
    fn __cudaLaunchKernel(
        kernel: Memory, grid: Dim3, block: Dim3, arguments: Arguments, shared: usize, stream: Memory,
    ) |runtime| {
        launch(runtime, kernel.address(), simple(grid, block, shared, stream), arguments)
    }

    /// Launches a kernel whose CTAs wait for each other.
    fn cudaLaunchCooperativeKernel(
        stub: Memory, grid: Dim3, block: Dim3, arguments: Arguments, shared: usize, stream: Memory,
    ) |runtime| {
        let function = runtime.function_or_stub(stub.address())?;
        launch(runtime, function, together(grid, block, shared, stream), arguments)
    }

    /// Launches a kernel with attributes.
    fn cudaLaunchKernelExC(config: In<LaunchConfig>, stub: Memory, arguments: Arguments) |runtime| {
        launch_config(runtime, config, stub, arguments)
    }

    /// What is known of a kernel.
    fn cudaFuncGetAttributes(to: Out<u8>, stub: Memory) |runtime| {
        let function = runtime.function_or_stub(stub.address())?;
        let info = runtime.function_info(function)?;
        let cc = runtime.properties();
        let version = (cc.major * 10 + cc.minor) as i32;
        // Shared, constant and local bytes; threads, registers, versions, caching, dynamic shared bytes; the rest is 0.
        let mut bytes = vec![0; 144];
        bytes[..8].copy_from_slice(&info.static_shared.to_le_bytes());
        let words = [info.max_threads as i32, info.registers as i32, version, version, 0, info.dynamic_shared_limit as i32, -1];
        for (word, place) in words.iter().zip(bytes[24..].chunks_exact_mut(4)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        to.set_bytes(&bytes)
    }

    /// Sets what a kernel may use.
    fn cudaFuncSetAttribute(stub: Memory, attribute: i32, value: i32) |runtime| {
        let function = runtime.function_or_stub(stub.address())?;
        set_attribute(runtime, function, attribute, value)
    }

    /// Says which memory a kernel prefers, which changes no result.
    fn cudaFuncSetCacheConfig(stub: Memory, _config: i32) |runtime| {
        runtime.function_or_stub(stub.address()).map(drop)
    }

    /// The same for banks, which have one width since compute capability 5.0.
    fn cudaFuncSetSharedMemConfig(stub: Memory, _config: i32) |runtime| {
        runtime.function_or_stub(stub.address()).map(drop)
    }

    /// Blocks of a kernel that an SM holds at once.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        to: Out<i32>, stub: Memory, threads: i32, shared: usize,
    ) |runtime| {
        to.set(resident(runtime, stub, threads, shared)?)
    }

    /// The same with flags.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: Out<i32>, stub: Memory, threads: i32, shared: usize, _flags: u32,
    ) |runtime| {
        to.set(resident(runtime, stub, threads, shared)?)
    }

    /// Dynamic shared memory with which an SM holds so many blocks.
    fn cudaOccupancyAvailableDynamicSMemPerBlock(to: Out<usize>, stub: Memory, blocks: i32, _threads: i32) |runtime| {
        to.set(available_shared(runtime, stub, blocks)?)
    }
}

/// Dynamic shared memory with which an SM holds so many blocks.
pub(crate) fn available_shared(runtime: &mut Runtime, stub: Memory, blocks: i32) -> Result<usize> {
    let function = runtime.function_or_stub(stub.address())?;
    let info = runtime.function_info(function)?;
    let properties = runtime.properties();
    let blocks = u64::try_from(blocks).ok().filter(|&blocks| blocks > 0).ok_or(Status::INVALID_VALUE)?;
    let each = (properties.shared_per_sm / blocks).saturating_sub(info.static_shared + properties.shared_reserved);
    Ok(each.min(info.dynamic_shared_limit) as usize)
}

/// Blocks of a kernel that an SM holds at once.
pub(crate) fn resident(runtime: &mut Runtime, stub: Memory, threads: i32, shared: usize) -> Result<i32> {
    let function = runtime.function_or_stub(stub.address())?;
    let threads = u32::try_from(threads).map_err(|_| Status::INVALID_VALUE)?;
    Ok(runtime.resident_blocks(function, threads, shared as u64)? as i32)
}

/// The attribute that allows clusters which not every GPU has room for.
const LARGE_CLUSTERS: i32 = 14;

/// Sets what a kernel may use: its dynamic shared memory. The rest says how memory is divided.
pub(crate) fn set_attribute(runtime: &mut Runtime, function: u64, attribute: i32, value: i32) -> Result<()> {
    match attribute {
        8 => {
            let bytes = u64::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
            runtime.allow_dynamic_shared(function, bytes)
        }
        LARGE_CLUSTERS => runtime.allow_large_clusters(function, value != 0),
        9..=15 => runtime.function_info(function).map(drop),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// What is known of a kernel, by the number of the attribute.
pub(crate) fn attribute(runtime: &mut Runtime, function: u64, attribute: i32) -> Result<i32> {
    let info = runtime.function_info(function)?;
    let properties = runtime.properties();
    Ok(match attribute {
        0 => info.max_threads as i32,
        1 => info.static_shared as i32,
        2 => info.constant as i32,
        3 => info.local as i32,
        7 => 0,
        4 => info.registers as i32,
        5 | 6 => (properties.major * 10 + properties.minor) as i32,
        8 => info.dynamic_shared_limit as i32,
        9 => -1,
        LARGE_CLUSTERS => runtime.function_allows_large_clusters(function).into(),
        10..=15 => 0,
        _ => return Err(Status::INVALID_VALUE),
    })
}
