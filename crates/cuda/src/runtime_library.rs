//! Code that a program of the runtime API loads itself, names of kernels, and linking in the driver API.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warplens_runtime::{ModuleSource, Status};

use crate::driver::in_context;
use crate::errors::text;
use crate::guard::{driver_call, runtime_call};
use crate::pointers::{Memory, Out, Text};
use crate::registration::{LINKED, image};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// The file that is not found has a code of its own.
const FILE_NOT_FOUND: Status = Status(301);

/// Code in a file.
pub(crate) fn file(path: Text) -> Result<ModuleSource> {
    let mut bytes = std::fs::read(path.get()?).map_err(|_| FILE_NOT_FOUND)?;
    // A text of a file ends without the zero that one in memory has.
    bytes.push(0);
    image(Memory::of(&bytes))
}

fn name(runtime: &Runtime, to: Out<*const c_char>, function: u64) -> Result<()> {
    to.set(text(runtime.function_name(function)?))
}

fn global(runtime: &mut Runtime, to: Out<u64>, bytes: Out<usize>, library: Memory, name: Text) -> Result<()> {
    let (address, size) = runtime.module_variable(library.address(), &name.get()?)?;
    to.set_if_wanted(address);
    bytes.set_if_wanted(size as usize);
    Ok(())
}

/// Kernels of a library, as many as there is room for.
fn kernels(runtime: &mut Runtime, to: Out<u64>, count: u32, library: Memory) -> Result<()> {
    let names = runtime.module_kernels(library.address())?;
    let names = names.iter().take(count as usize);
    let kernels: Vec<u64> =
        names.map(|name| runtime.module_function(library.address(), name)).collect::<Result<_>>()?;
    to.set_list(&kernels)
}

api! { runtime_call;
    /// Loads code.
    fn cudaLibraryLoadData(
        to: Out<u64>, code: Memory, _jit: Memory, _jit_values: Memory, _n_jit: u32, _options: Memory, _values: Memory,
        _count: u32,
    ) |runtime| {
        let source = image(code)?;
        to.set(runtime.load_module(source)?)
    }

    /// Loads code of a file.
    fn cudaLibraryLoadFromFile(
        to: Out<u64>, path: Text, _jit: Memory, _jit_values: Memory, _n_jit: u32, _options: Memory, _values: Memory,
        _count: u32,
    ) |runtime| {
        to.set(runtime.load_module(file(path)?)?)
    }

    /// Takes it away.
    fn cudaLibraryUnload(library: Memory) |runtime| { runtime.unload_module(library.address()) }

    /// A kernel of it.
    fn cudaLibraryGetKernel(to: Out<u64>, library: Memory, name: Text) |runtime| {
        to.set(runtime.module_function(library.address(), &name.get()?)?)
    }

    /// A variable of it.
    fn cudaLibraryGetGlobal(to: Out<u64>, bytes: Out<usize>, library: Memory, name: Text) |runtime| {
        global(runtime, to, bytes, library, name)
    }

    /// Number of its kernels.
    fn cudaLibraryGetKernelCount(to: Out<u32>, library: Memory) |runtime| {
        to.set(runtime.module_kernels(library.address())?.len() as u32)
    }

    /// Its kernels.
    fn cudaLibraryEnumerateKernels(to: Out<u64>, count: u32, library: Memory) |runtime| {
        kernels(runtime, to, count, library)
    }

    /// The name of a kernel.
    fn cudaFuncGetName(to: Out<*const c_char>, either: Memory) |runtime| {
        let function = runtime.function_or_stub(either.address())?;
        name(runtime, to, function)
    }

    /// Sets what a kernel may use.
    fn cudaKernelSetAttributeForDevice(kernel: Memory, attribute: i32, value: i32, _device: i32) |runtime| {
        crate::runtime_launch::set_attribute(runtime, kernel.address(), attribute, value)
    }
}

/// What a link collects: texts, and the result once it is complete.
#[derive(Default)]
struct Link {
    texts: Vec<String>,
    result: Vec<u8>,
}

static LINKS: Mutex<(u64, BTreeMap<u64, Link>)> = Mutex::new((0, BTreeMap::new()));

fn links() -> MutexGuard<'static, (u64, BTreeMap<u64, Link>)> {
    LINKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn link_create(to: Out<u64>) -> Result<()> {
    let mut links = links();
    links.0 += 1;
    let link = links.0 << 4;
    links.1.insert(link, Link::default());
    to.set(link)
}

/// Kinds of what is linked: PTX, containers.
const PTX: i32 = 1;
const CONTAINER: i32 = 2;

fn link_add(runtime: &mut Runtime, link: Memory, source: ModuleSource) -> Result<()> {
    let texts = runtime.texts(source)?;
    let mut links = links();
    let link = links.1.get_mut(&link.address()).ok_or(Status::INVALID_HANDLE)?;
    link.texts.extend(texts);
    Ok(())
}

fn link_data(runtime: &mut Runtime, link: Memory, kind: i32, code: Memory, bytes: usize) -> Result<()> {
    in_context(runtime)?;
    match kind {
        PTX => {
            let bytes = code.with_bytes(bytes, |bytes| Ok([bytes, &[0]].concat()))?;
            link_add(runtime, link, image(Memory::of(&bytes))?)
        }
        CONTAINER => link_add(runtime, link, image(code)?),
        _ => Err(runtime.unsupported("cuLinkAddData with machine code")),
    }
}

fn link_file(runtime: &mut Runtime, link: Memory, kind: i32, path: Text) -> Result<()> {
    in_context(runtime)?;
    match kind {
        PTX | CONTAINER => link_add(runtime, link, file(path)?),
        _ => Err(runtime.unsupported("cuLinkAddFile with machine code")),
    }
}

api! { driver_call;
    /// The name of a kernel.
    fn cuFuncGetName(to: Out<*const c_char>, function: Memory) |runtime| { name(runtime, to, function.address()) }

    /// The name of a kernel.
    fn cuKernelGetName(to: Out<*const c_char>, kernel: Memory) |runtime| { name(runtime, to, kernel.address()) }

    /// Begins a link.
    fn cuLinkCreate(_count: u32, _options: Memory, _values: Memory, to: Out<u64>) |runtime| {
        in_context(runtime)?;
        link_create(to)
    }

    /// The same.
    fn cuLinkCreate_v2(_count: u32, _options: Memory, _values: Memory, to: Out<u64>) |runtime| {
        in_context(runtime)?;
        link_create(to)
    }

    /// Adds code.
    fn cuLinkAddData(
        link: Memory, kind: i32, code: Memory, bytes: usize, _name: Memory, _count: u32, _options: Memory,
        _values: Memory,
    ) |runtime| {
        link_data(runtime, link, kind, code, bytes)
    }

    /// The same.
    fn cuLinkAddData_v2(
        link: Memory, kind: i32, code: Memory, bytes: usize, _name: Memory, _count: u32, _options: Memory,
        _values: Memory,
    ) |runtime| {
        link_data(runtime, link, kind, code, bytes)
    }

    /// Adds code of a file.
    fn cuLinkAddFile(
        link: Memory, kind: i32, path: Text, _count: u32, _options: Memory, _values: Memory,
    ) |runtime| {
        link_file(runtime, link, kind, path)
    }

    /// The same.
    fn cuLinkAddFile_v2(
        link: Memory, kind: i32, path: Text, _count: u32, _options: Memory, _values: Memory,
    ) |runtime| {
        link_file(runtime, link, kind, path)
    }

    /// Ends a link. What it gives can be loaded: the texts, which are linked then.
    fn cuLinkComplete(link: Memory, to: Out<u64>, bytes: Out<usize>) |_| {
        let mut links = links();
        let link = links.1.get_mut(&link.address()).ok_or(Status::INVALID_HANDLE)?;
        let marked = link.texts.iter().flat_map(|text| [LINKED, text.as_str()]).collect::<String>();
        link.result = marked.into_bytes();
        bytes.set_if_wanted(link.result.len());
        link.result.push(0);
        to.set(Memory::of(&link.result).address())
    }

    /// Takes a link away, with its result.
    fn cuLinkDestroy(link: Memory) |_| {
        links().1.remove(&link.address()).map(drop).ok_or(Status::INVALID_HANDLE)
    }
}
