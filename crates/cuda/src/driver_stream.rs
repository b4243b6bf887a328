//! Streams and events in the driver API.

use warplens_runtime::Status;

use crate::api;
use crate::driver::{in_context, of};
use crate::guard::{driver_call, driver_guard};
use crate::operations::call_host;
use crate::pointers::{Callback, HostFunction, Memory, Out, call_of_stream};

api! { driver_call;
    /// Makes a stream.
    fn cuStreamCreate(to: Out<u64>, flags: u32) |runtime| {
        in_context(runtime)?;
        to.set(runtime.create_stream(flags, 0)?)
    }

    /// The same with a priority.
    fn cuStreamCreateWithPriority(to: Out<u64>, flags: u32, priority: i32) |runtime| {
        in_context(runtime)?;
        to.set(runtime.create_stream(flags, priority)?)
    }

    /// Takes a stream away.
    fn cuStreamDestroy_v2(stream: Memory) |runtime| { runtime.destroy_stream(stream.address()) }

    /// Waits for a stream.
    fn cuStreamSynchronize(stream: Memory) |runtime| {
        in_context(runtime)?;
        runtime.synchronize_stream(stream.address())
    }

    /// Whether a stream has done its work.
    fn cuStreamQuery(stream: Memory) |runtime| {
        in_context(runtime)?;
        runtime.query_stream(stream.address())
    }

    /// A stream waits for an event.
    fn cuStreamWaitEvent(stream: Memory, event: Memory, _flags: u32) |runtime| {
        in_context(runtime)?;
        runtime.wait_event(stream.address(), event.address())
    }

    /// Flags of a stream.
    fn cuStreamGetFlags(stream: Memory, to: Out<u32>) |runtime| { to.set(runtime.stream_facts(stream.address())?.0) }

    /// Priority of a stream.
    fn cuStreamGetPriority(stream: Memory, to: Out<i32>) |runtime| {
        to.set(runtime.stream_facts(stream.address())?.1)
    }

    /// The context of a stream, and that it is no part of a device.
    fn cuStreamGetCtx_v2(stream: Memory, to: Out<u64>, part: Out<u64>) |runtime| {
        runtime.stream_facts(stream.address())?;
        part.set_if_wanted(0);
        to.set(of(runtime, Memory::at(0))?)
    }

    /// Says what a stream prefers, which changes no result.
    fn cuStreamSetAttribute(stream: Memory, _attribute: i32, _value: Memory) |runtime| {
        runtime.stream_facts(stream.address()).map(drop)
    }

    /// The same as another one.
    fn cuStreamCopyAttributes(to: Memory, from: Memory) |runtime| {
        runtime.stream_facts(to.address())?;
        runtime.stream_facts(from.address()).map(drop)
    }

    /// Takes a stream away, as old programs do.
    fn cuStreamDestroy(stream: Memory) |runtime| { runtime.destroy_stream(stream.address()) }

    /// Takes an event away, as old programs do.
    fn cuEventDestroy(event: Memory) |runtime| { runtime.destroy_event(event.address()) }

    /// Makes an event.
    fn cuEventCreate(to: Out<u64>, flags: u32) |runtime| {
        in_context(runtime)?;
        to.set(runtime.create_event(flags)?)
    }

    /// Takes an event away.
    fn cuEventDestroy_v2(event: Memory) |runtime| { runtime.destroy_event(event.address()) }

    /// Records an event.
    fn cuEventRecord(event: Memory, stream: Memory) |runtime| {
        in_context(runtime)?;
        runtime.record_event(event.address(), stream.address())
    }

    /// The same with flags.
    fn cuEventRecordWithFlags(event: Memory, stream: Memory, _flags: u32) |runtime| {
        in_context(runtime)?;
        runtime.record_event(event.address(), stream.address())
    }

    /// Waits for an event.
    fn cuEventSynchronize(event: Memory) |runtime| { runtime.synchronize_event(event.address()) }

    /// Whether an event has been reached.
    fn cuEventQuery(event: Memory) |runtime| { runtime.synchronize_event(event.address()) }

    /// Predicted milliseconds between two events.
    fn cuEventElapsedTime(to: Out<f32>, start: Memory, end: Memory) |runtime| {
        to.set(runtime.elapsed(start.address(), end.address())?)
    }

    /// The same.
    fn cuEventElapsedTime_v2(to: Out<f32>, start: Memory, end: Memory) |runtime| {
        to.set(runtime.elapsed(start.address(), end.address())?)
    }
}

/// Calls a function of the program behind what is in a stream: at once, since that is done.
///
/// # Safety
///
/// The function takes the data.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuLaunchHostFunc(
    stream: Memory,
    function: Callback<HostFunction>,
    data: Memory,
) -> i32 {
    call_host(driver_guard, stream, function.get(), data)
}

/// The same for functions that are told the stream and how it went.
///
/// # Safety
///
/// The function takes the data.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamAddCallback(
    stream: Memory,
    function: Callback<unsafe extern "C" fn(*mut std::ffi::c_void, i32, *mut std::ffi::c_void)>,
    data: Memory,
    flags: u32,
) -> i32 {
    let checked = driver_call(|runtime| {
        in_context(runtime)?;
        function.get()?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        // A captured stream cannot have it.
        runtime.synchronize_stream(stream.address())
    });
    if let (0, Ok(function)) = (checked, function.get()) {
        call_of_stream(function, stream, data);
    }
    checked
}
