//! Streams and events in the runtime API.

use std::ffi::c_void;

use warplens_runtime::Status;

use crate::api;
use crate::guard::{device_call, device_guard};
use crate::operations::call_host;
use crate::pointers::{Callback, HostFunction, Memory, Out, call_of_stream};

api! { device_call;
    /// Makes a stream.
    fn cudaStreamCreate(to: Out<u64>) |runtime| { to.set(runtime.create_stream(0, 0)?) }

    /// The same with flags.
    fn cudaStreamCreateWithFlags(to: Out<u64>, flags: u32) |runtime| { to.set(runtime.create_stream(flags, 0)?) }

    /// The same with a priority.
    fn cudaStreamCreateWithPriority(to: Out<u64>, flags: u32, priority: i32) |runtime| {
        to.set(runtime.create_stream(flags, priority)?)
    }

    /// Takes a stream away.
    fn cudaStreamDestroy(stream: Memory) |runtime| { runtime.destroy_stream(stream.address()) }

    /// Waits for a stream.
    fn cudaStreamSynchronize(stream: Memory) |runtime| { runtime.synchronize_stream(stream.address()) }

    /// Whether a stream has done its work.
    fn cudaStreamQuery(stream: Memory) |runtime| { runtime.query_stream(stream.address()) }

    /// A stream waits for an event.
    fn cudaStreamWaitEvent(stream: Memory, event: Memory, _flags: u32) |runtime| {
        runtime.wait_event(stream.address(), event.address())
    }

    /// Flags of a stream.
    fn cudaStreamGetFlags(stream: Memory, to: Out<u32>) |runtime| { to.set(runtime.stream_facts(stream.address())?.0) }

    /// Priority of a stream.
    fn cudaStreamGetPriority(stream: Memory, to: Out<i32>) |runtime| {
        to.set(runtime.stream_facts(stream.address())?.1)
    }

    /// Priorities that streams may have.
    fn cudaDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) |_| {
        least.set_if_wanted(0);
        greatest.set_if_wanted(-5);
        Ok(())
    }

    /// Makes an event.
    fn cudaEventCreate(to: Out<u64>) |runtime| { to.set(runtime.create_event(0)?) }

    /// The same with flags.
    fn cudaEventCreateWithFlags(to: Out<u64>, flags: u32) |runtime| { to.set(runtime.create_event(flags)?) }

    /// Takes an event away.
    fn cudaEventDestroy(event: Memory) |runtime| { runtime.destroy_event(event.address()) }

    /// Records an event.
    fn cudaEventRecord(event: Memory, stream: Memory) |runtime| {
        runtime.record_event(event.address(), stream.address())
    }

    /// The same with flags.
    fn cudaEventRecordWithFlags(event: Memory, stream: Memory, _flags: u32) |runtime| {
        runtime.record_event(event.address(), stream.address())
    }

    /// Waits for an event.
    fn cudaEventSynchronize(event: Memory) |runtime| { runtime.synchronize_event(event.address()) }

    /// Whether an event has been reached.
    fn cudaEventQuery(event: Memory) |runtime| { runtime.synchronize_event(event.address()) }

    /// Predicted milliseconds between two events.
    fn cudaEventElapsedTime(to: Out<f32>, start: Memory, end: Memory) |runtime| {
        to.set(runtime.elapsed(start.address(), end.address())?)
    }

    /// The same.
    fn cudaEventElapsedTime_v2(to: Out<f32>, start: Memory, end: Memory) |runtime| {
        to.set(runtime.elapsed(start.address(), end.address())?)
    }
}

/// Calls a function of the program behind what is in a stream: at once, since that is done.
///
/// # Safety
///
/// The function takes the data.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaLaunchHostFunc(
    stream: Memory,
    function: Callback<HostFunction>,
    data: Memory,
) -> i32 {
    call_host(device_guard, stream, function.get(), data)
}

/// The same for functions that are told the stream and how it went.
///
/// # Safety
///
/// The function takes the data.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudaStreamAddCallback(
    stream: Memory,
    function: Callback<unsafe extern "C" fn(*mut c_void, i32, *mut c_void)>,
    data: Memory,
    flags: u32,
) -> i32 {
    let checked = device_call(|runtime| {
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
