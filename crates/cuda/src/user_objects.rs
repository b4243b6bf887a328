//! Objects of a program that graphs keep, in both interfaces.

use warplens_runtime::{HostCall, Status};

use crate::guard::{driver_call, runtime_call};
use crate::pointers::{Callback, HostFunction, Memory, Out, number_of};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

/// The function is called at some time after the object has ended, and nobody can wait for that.
const NO_SYNCHRONIZATION: u32 = 1;
/// The graph takes over references of the caller.
const MOVE: u32 = 1;

fn create(
    runtime: &mut Runtime,
    to: Out<u64>,
    data: Memory,
    function: Callback<HostFunction>,
    (references, flags): (u32, u32),
) -> Result<()> {
    if flags != NO_SYNCHRONIZATION {
        return Err(Status::INVALID_VALUE);
    }
    let end = HostCall { function: number_of(function.get()?), data: data.address() };
    to.set(runtime.create_user_object(end, references)?)
}

fn retain_in_graph(runtime: &mut Runtime, graph: Memory, object: Memory, count: u32, flags: u32) -> Result<()> {
    if flags & !MOVE != 0 {
        return Err(Status::INVALID_VALUE);
    }
    runtime.graph_retains(graph.address(), object.address(), count, flags == MOVE)
}

/// Makes an object that ends with a call of a function.
///
/// # Safety
///
/// The function takes what it is handed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuUserObjectCreate(
    to: Out<u64>,
    data: Memory,
    function: Callback<HostFunction>,
    references: u32,
    flags: u32,
) -> i32 {
    driver_call(|runtime| create(runtime, to, data, function, (references, flags)))
}

/// Makes an object that ends with a call of a function.
///
/// # Safety
///
/// The function takes what it is handed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaUserObjectCreate(
    to: Out<u64>,
    data: Memory,
    function: Callback<HostFunction>,
    references: u32,
    flags: u32,
) -> i32 {
    runtime_call(|runtime| create(runtime, to, data, function, (references, flags)))
}

api! { driver_call;
    /// An object is needed more often.
    fn cuUserObjectRetain(object: Memory, count: u32) |runtime| { runtime.retain_user_object(object.address(), count) }

    /// An object is needed less often.
    fn cuUserObjectRelease(object: Memory, count: u32) |runtime| { runtime.release_user_object(object.address(), count) }

    /// A graph needs an object.
    fn cuGraphRetainUserObject(graph: Memory, object: Memory, count: u32, flags: u32) |runtime| {
        retain_in_graph(runtime, graph, object, count, flags)
    }

    /// A graph needs it no more.
    fn cuGraphReleaseUserObject(graph: Memory, object: Memory, count: u32) |runtime| {
        runtime.graph_releases(graph.address(), object.address(), count)
    }
}

api! { runtime_call;
    /// An object is needed more often.
    fn cudaUserObjectRetain(object: Memory, count: u32) |runtime| { runtime.retain_user_object(object.address(), count) }

    /// An object is needed less often.
    fn cudaUserObjectRelease(object: Memory, count: u32) |runtime| { runtime.release_user_object(object.address(), count) }

    /// A graph needs an object.
    fn cudaGraphRetainUserObject(graph: Memory, object: Memory, count: u32, flags: u32) |runtime| {
        retain_in_graph(runtime, graph, object, count, flags)
    }

    /// A graph needs it no more.
    fn cudaGraphReleaseUserObject(graph: Memory, object: Memory, count: u32) |runtime| {
        runtime.graph_releases(graph.address(), object.address(), count)
    }
}
