//! What compilers put into a program: containers of device code, kernels and variables are registered when it starts.

use std::ffi::c_void;

use warplens_runtime::{ModuleSource, Status, link};
use warplens_sass::container::{extent, fatbin};

use crate::guard::{registration, runtime_call};
use crate::pointers::{In, Memory, Out, Text};
use crate::structures::Dim3;
use crate::{Runtime, api};

/// First word of what compilers hand in.
const WRAPPER: i32 = 0x4662_43b1;
/// Most containers that a linked program may have.
const MOST_CONTAINERS: usize = 4096;

/// First bytes of machine code.
const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");

/// `__fatBinC_Wrapper_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Wrapper {
    magic: i32,
    version: i32,
    container: Memory,
    /// Containers before they were linked, up to a null pointer.
    unlinked: In<Memory>,
}

/// Bytes of a container at an address.
pub(crate) fn container(memory: Memory) -> Result<Vec<u8>, Status> {
    let length =
        memory.with_bytes(fatbin::HEADER_BYTES, |header| fatbin::length(header).map_err(|_| Status::INVALID_IMAGE))?;
    memory.with_bytes(length, |bytes| Ok(bytes.to_vec()))
}

/// The containers of what compilers hand in.
fn containers(wrapper: Wrapper) -> Result<Vec<Vec<u8>>, Status> {
    if wrapper.magic != WRAPPER {
        return Err(Status::INVALID_IMAGE);
    }
    let mut containers = vec![container(wrapper.container)?];
    if wrapper.version == 2 && !wrapper.unlinked.is_null() {
        for index in 0..MOST_CONTAINERS {
            let memory = wrapper.unlinked.at(index)?;
            if memory.address() == 0 {
                break;
            }
            containers.push(container(memory)?);
        }
    }
    Ok(containers)
}

/// Machine code at an address, whose header and tables say how far it reaches.
fn elf(memory: Memory) -> Result<Vec<u8>, Status> {
    let invalid = |_| Status::INVALID_IMAGE;
    let tables = memory.with_bytes(extent::HEADER_BYTES, |header| extent::of_tables(header).map_err(invalid))?;
    let length = memory.with_bytes(tables, |bytes| extent::of_file(bytes).map_err(invalid))?;
    memory.with_bytes(length, |bytes| Ok(bytes.to_vec()))
}

/// Code that a caller of the driver hands in: machine code, a wrapper, a container, what was linked, or PTX.
pub(crate) fn image(memory: Memory) -> Result<ModuleSource, Status> {
    let first = memory.with_bytes(4, |bytes| Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))?;
    if first == fatbin::MAGIC {
        return Ok(ModuleSource::Containers(vec![container(memory)?]));
    }
    if first == WRAPPER as u32 {
        return Ok(ModuleSource::Containers(containers(In::of(memory).get()?)?));
    }
    if first == link::MAGIC {
        let bytes = memory.with_bytes(link::HEADER_BYTES, link::length)?;
        return Ok(ModuleSource::Texts(memory.with_bytes(bytes, link::unpack)?));
    }
    if first == ELF {
        return Ok(ModuleSource::MachineCode(elf(memory)?));
    }
    Ok(ModuleSource::Texts(vec![Text::of(memory).get()?]))
}

/// The same of bytes whose number is known: a container, what was linked, or PTX, which may end with a zero or without.
pub(crate) fn image_in(bytes: &[u8]) -> Result<ModuleSource, Status> {
    let first = bytes.first_chunk::<4>().map(|first| u32::from_le_bytes(*first));
    if first == Some(fatbin::MAGIC) {
        return Ok(ModuleSource::Containers(vec![bytes.to_vec()]));
    }
    if first == Some(link::MAGIC) {
        return Ok(ModuleSource::Texts(link::unpack(bytes)?));
    }
    if first == Some(ELF) {
        return Ok(ModuleSource::MachineCode(bytes.to_vec()));
    }
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(ModuleSource::Texts(vec![String::from_utf8_lossy(&bytes[..end]).into_owned()]))
}

/// Registers device code. The handle comes back with each kernel and variable.
///
/// # Safety
///
/// The wrapper is one that a compiler wrote.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: In<Wrapper>) -> Memory {
    let mut handle = 0;
    registration(|runtime| {
        let containers = wrapper.get().and_then(containers)?;
        handle = runtime.register(ModuleSource::Containers(containers));
        Ok(())
    });
    Memory::at(handle)
}

/// All of the code's kernels and variables are registered.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaRegisterFatBinaryEnd(_handle: Memory) {}

/// The program, or the library that had the code, ends.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaUnregisterFatBinary(handle: Memory) {
    registration(|runtime| runtime.unload_module(handle.address()));
}

/// Registers a kernel: `stub` is what stands for it on the host.
///
/// # Safety
///
/// The texts are texts.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterFunction(
    handle: Memory,
    stub: Memory,
    _name_of_stub: *const c_void,
    name: Text,
    _threads: i32,
) {
    registration(|runtime| runtime.register_function(handle.address(), stub.address(), &name.get()?));
}

/// Registers a variable: `shadow` is what stands for it on the host.
///
/// # Safety
///
/// The texts are texts.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterVar(
    handle: Memory,
    shadow: Memory,
    _name_of_shadow: *const c_void,
    name: Text,
    _external: i32,
    _bytes: usize,
) {
    registration(|runtime| runtime.register_variable(handle.address(), shadow.address(), &name.get()?));
}

/// Registers a variable that host and device share: the host finds its address in `pointer`.
///
/// # Safety
///
/// The texts are texts, the pointer is one that a compiler made.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: Memory,
    pointer: Out<u64>,
    _name_of_shadow: *const c_void,
    name: Text,
    _external: i32,
    _bytes: usize,
) {
    registration(|runtime| {
        let (name, shadow) = (name.get()?, pointer.address());
        runtime.register_managed(handle.address(), shadow, &name)?;
        let (address, _) = runtime.module_variable(handle.address(), &name)?;
        pointer.set(address)
    });
}

/// A variable of the host alone.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaRegisterHostVar(
    _handle: Memory,
    _name: *const c_void,
    _variable: Memory,
    _bytes: usize,
) {
}

/// The host is about to touch variables that it shares with the device. They are there since they were registered.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaInitModule(_handle: Memory) -> u8 {
    1
}

/// What stands between the brackets of a launch.
pub(crate) type Configuration = (Dim3, Dim3, usize, Memory);

thread_local! {
    /// Launches whose arguments are being computed.
    static PUSHED: std::cell::RefCell<Vec<Configuration>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Keeps what stands between the brackets until the arguments are known.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Memory) -> u32 {
    let pushed = PUSHED.try_with(|pushed| pushed.borrow_mut().push((grid, block, shared, stream)));
    u32::from(pushed.is_err())
}

api! { runtime_call;
    /// Gives it back.
    fn __cudaPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, shared: Out<usize>, stream: Out<Memory>) |_| {
        let pushed = PUSHED.try_with(|pushed| pushed.borrow_mut().pop()).ok().flatten();
        let (own_grid, own_block, own_shared, own_stream) = pushed.ok_or(Status::INVALID_CONFIGURATION)?;
        grid.set(own_grid)?;
        block.set(own_block)?;
        shared.set(own_shared)?;
        stream.set(own_stream)
    }

    /// The kernel that a stub stands for.
    fn __cudaGetKernel(kernel: Out<u64>, stub: Memory) |runtime| { kernel.set(runtime.function_of(stub.address())?) }

    /// The same.
    fn cudaGetKernel(kernel: Out<u64>, stub: Memory) |runtime| { kernel.set(runtime.function_of(stub.address())?) }

    /// The same as the driver has it.
    fn cudaGetFuncBySymbol(function: Out<u64>, stub: Memory) |runtime| {
        function.set(runtime.function_of(stub.address())?)
    }
}

/// The address and the size of a variable.
pub(crate) fn variable(runtime: &mut Runtime, shadow: Memory) -> Result<(u64, u64), Status> {
    runtime.variable_of(shadow.address())
}
