//! The driver API: start, devices, contexts.
//!
//! A context is a handle and no more: all of a process share one device, its memory and its modules.

use std::cell::RefCell;
use std::ffi::c_void;

use warplens_runtime::Status;

use crate::guard::driver_call;
use crate::pointers::{Memory, Out, Text};
use crate::runtime_device::{check, limit};
use crate::{Runtime, api};

type Result<T> = std::result::Result<T, Status>;

thread_local! {
    /// Contexts of the thread, the current one last.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Where the device is plugged in.
const PCI_PLACE: &str = "0000:00:00.0";

/// What tells a driver that emulates from others, for those that would measure on it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub(crate) static warplens_emulates_this_driver: i32 = 1;

fn with_contexts<T>(work: impl FnOnce(&mut Vec<u64>) -> T) -> Result<T> {
    CURRENT.try_with(|current| work(&mut current.borrow_mut())).map_err(|_| Status::INVALID_CONTEXT)
}

fn current() -> Result<Option<u64>> {
    with_contexts(|contexts| contexts.last().copied())
}

/// Refuses threads without a context.
pub(crate) fn in_context(runtime: &Runtime) -> Result<()> {
    runtime.started()?;
    match current()? {
        Some(context) if runtime.is_context(context) => Ok(()),
        // The runtime API needs no context of the driver's: its kernels and memory are the same.
        None if runtime.has_registered() => Ok(()),
        _ => Err(Status::INVALID_CONTEXT),
    }
}

/// Starts the device, and makes the context that both interfaces share.
pub(crate) fn start_primary(runtime: &mut Runtime) -> u64 {
    runtime.start();
    runtime.primary_context()
}

/// What the runtime API does where it needs the device: the context that both interfaces share is made and, where the thread
/// has no other, is its current one.
pub(crate) fn use_primary(runtime: &mut Runtime) -> Result<()> {
    let primary = start_primary(runtime);
    with_contexts(|contexts| {
        if contexts.is_empty() {
            contexts.push(primary);
        }
    })
}

/// Makes the context that both interfaces share the thread's current one, in place of another.
pub(crate) fn choose_primary(runtime: &mut Runtime) -> Result<()> {
    let primary = start_primary(runtime);
    with_contexts(|contexts| {
        contexts.pop();
        contexts.push(primary);
    })
}

/// The context that a call is about: none stands for the current one.
pub(crate) fn of(runtime: &Runtime, context: Memory) -> Result<u64> {
    runtime.started()?;
    let meant = if context.address() == 0 { current()? } else { Some(context.address()) };
    meant.filter(|&context| runtime.is_context(context)).ok_or(Status::INVALID_CONTEXT)
}

fn create(runtime: &mut Runtime, to: Out<u64>, device: i32) -> Result<()> {
    runtime.started()?;
    check(device)?;
    let context = runtime.create_context();
    with_contexts(|contexts| contexts.push(context))?;
    to.set(context)
}

fn destroy(runtime: &mut Runtime, context: Memory) -> Result<()> {
    runtime.destroy_context(context.address())?;
    with_contexts(|contexts| {
        if contexts.last() == Some(&context.address()) {
            contexts.pop();
        }
    })
}

fn pop(to: Out<u64>) -> Result<()> {
    let popped = with_contexts(Vec::pop)?.ok_or(Status::INVALID_CONTEXT)?;
    to.set_if_wanted(popped);
    Ok(())
}

fn push(runtime: &Runtime, context: Memory) -> Result<()> {
    if !runtime.is_context(context.address()) {
        return Err(Status::INVALID_CONTEXT);
    }
    with_contexts(|contexts| contexts.push(context.address()))
}

api! { driver_call;
    /// Starts the driver.
    fn cuInit(flags: u32) |runtime| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        runtime.start();
        Ok(())
    }

    /// Version of the driver.
    fn cuDriverGetVersion(to: Out<i32>) |runtime| { to.set(runtime.driver_version()) }

    /// Tables of functions that only NVIDIA's own libraries know: there are none here.
    fn cuGetExportTable(to: Out<*const c_void>, _id: Memory) |runtime| {
        to.set_if_wanted(std::ptr::null());
        Err(runtime.unsupported("cuGetExportTable"))
    }

    /// Number of devices.
    fn cuDeviceGetCount(to: Out<i32>) |runtime| {
        runtime.started()?;
        to.set(1)
    }

    /// A device by its number.
    fn cuDeviceGet(to: Out<i32>, number: i32) |runtime| {
        runtime.started()?;
        check(number)?;
        to.set(number)
    }

    /// Name of a device.
    fn cuDeviceGetName(to: Out<u8>, length: i32, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        to.set_text(&runtime.properties().name, length)
    }

    /// What tells a device from others.
    fn cuDeviceGetUuid(to: Out<[u8; 16]>, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        to.set(*b"warplens-device0")
    }

    /// The same.
    fn cuDeviceGetUuid_v2(to: Out<[u8; 16]>, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        to.set(*b"warplens-device0")
    }

    /// Memory of a device.
    fn cuDeviceTotalMem_v2(to: Out<usize>, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        to.set(runtime.memory_info().1 as usize)
    }

    /// An attribute of a device.
    fn cuDeviceGetAttribute(to: Out<i32>, attribute: i32, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        to.set(runtime.properties().attribute(attribute).ok_or(Status::INVALID_VALUE)?)
    }

    /// Compute capability of a device.
    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        let properties = runtime.properties();
        major.set(properties.major as i32)?;
        minor.set(properties.minor as i32)
    }

    /// Where a device is plugged in.
    fn cuDeviceGetPCIBusId(to: Out<u8>, length: i32, device: i32) |_| {
        check(device)?;
        to.set_text(PCI_PLACE, length)
    }

    /// Whether devices see each other's memory: there is one.
    fn cuDeviceCanAccessPeer(to: Out<i32>, device: i32, peer: i32) |_| {
        check(device)?;
        check(peer)?;
        to.set(0)
    }

    /// The context that the runtime API uses too.
    fn cuDevicePrimaryCtxRetain(to: Out<u64>, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        to.set(runtime.primary_context())
    }

    /// It is not needed any more.
    fn cuDevicePrimaryCtxRelease(device: i32) |_| { check(device) }

    /// The same.
    fn cuDevicePrimaryCtxRelease_v2(device: i32) |_| { check(device) }

    /// Flags of that context.
    fn cuDevicePrimaryCtxSetFlags(device: i32, _flags: u32) |_| { check(device) }

    /// The same.
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, _flags: u32) |_| { check(device) }

    /// Whether that context is there, and its flags.
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) |_| {
        check(device)?;
        flags.set_if_wanted(0);
        active.set(1)
    }

    /// Frees everything on the device.
    fn cuDevicePrimaryCtxReset(device: i32) |runtime| {
        check(device)?;
        runtime.reset()
    }

    /// The same.
    fn cuDevicePrimaryCtxReset_v2(device: i32) |runtime| {
        check(device)?;
        runtime.reset()
    }

    /// A device by where it is plugged in.
    fn cuDeviceGetByPCIBusId(to: Out<i32>, place: Text) |runtime| {
        runtime.started()?;
        if place.get()? == PCI_PLACE { to.set(0) } else { Err(Status::INVALID_DEVICE) }
    }

    /// Memory of a device, as far as 32 bits tell.
    fn cuDeviceTotalMem(to: Out<u32>, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        to.set(u32::try_from(runtime.memory_info().1).unwrap_or(u32::MAX))
    }

    /// What a device is like, as old programs ask.
    fn cuDeviceGetProperties(to: Out<[i32; 14]>, device: i32) |runtime| {
        runtime.started()?;
        check(device)?;
        let properties = runtime.properties();
        let attributes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        to.set(attributes.map(|attribute| properties.attribute(attribute).unwrap_or_default()))
    }

    /// What two devices can do together: there is one.
    fn cuDeviceGetP2PAttribute(to: Out<i32>, _attribute: i32, device: i32, peer: i32) |_| {
        check(device)?;
        check(peer)?;
        to.set(0)
    }

    /// Whether contexts can have a part of the SMs: they have all.
    fn cuDeviceGetExecAffinitySupport(to: Out<i32>, _kind: i32, device: i32) |_| {
        check(device)?;
        to.set(0)
    }

    /// Makes a context.
    fn cuCtxCreate(to: Out<u64>, _flags: u32, device: i32) |runtime| { create(runtime, to, device) }

    /// The same.
    fn cuCtxCreate_v2(to: Out<u64>, _flags: u32, device: i32) |runtime| { create(runtime, to, device) }

    /// The same with what it is for.
    fn cuCtxCreate_v3(to: Out<u64>, _affinity: Memory, _count: i32, _flags: u32, device: i32) |runtime| {
        create(runtime, to, device)
    }

    /// The same.
    fn cuCtxCreate_v4(to: Out<u64>, _parameters: Memory, _flags: u32, device: i32) |runtime| {
        create(runtime, to, device)
    }

    /// Takes a context away.
    fn cuCtxDestroy(context: Memory) |runtime| { destroy(runtime, context) }

    /// The same.
    fn cuCtxDestroy_v2(context: Memory) |runtime| { destroy(runtime, context) }

    /// Makes a context the current one of the thread.
    fn cuCtxPushCurrent(context: Memory) |runtime| { push(runtime, context) }

    /// The same.
    fn cuCtxPushCurrent_v2(context: Memory) |runtime| { push(runtime, context) }

    /// Makes the one before the current one.
    fn cuCtxPopCurrent(to: Out<u64>) |_| { pop(to) }

    /// The same.
    fn cuCtxPopCurrent_v2(to: Out<u64>) |_| { pop(to) }

    /// Replaces the current context.
    fn cuCtxSetCurrent(context: Memory) |runtime| {
        runtime.started()?;
        with_contexts(Vec::pop)?;
        if context.address() == 0 { Ok(()) } else { push(runtime, context) }
    }

    /// The current context.
    fn cuCtxGetCurrent(to: Out<u64>) |runtime| {
        runtime.started()?;
        to.set(current()?.unwrap_or(0))
    }

    /// The device of the current context.
    fn cuCtxGetDevice(to: Out<i32>) |runtime| {
        in_context(runtime)?;
        to.set(0)
    }

    /// Flags of the current context.
    fn cuCtxGetFlags(to: Out<u32>) |runtime| {
        in_context(runtime)?;
        to.set(0)
    }

    /// Version of the interface of a context.
    fn cuCtxGetApiVersion(_context: Memory, to: Out<u32>) |_| { to.set(3020) }

    /// Waits for the device.
    fn cuCtxSynchronize() |runtime| {
        in_context(runtime)?;
        runtime.synchronize()
    }

    /// Priorities that streams may have.
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) |runtime| {
        in_context(runtime)?;
        least.set_if_wanted(0);
        greatest.set_if_wanted(-5);
        Ok(())
    }

    /// The same for a context by its handle.
    fn cuCtxSynchronize_v2(context: Memory) |runtime| {
        of(runtime, context)?;
        runtime.synchronize()
    }

    /// The device of a context.
    fn cuCtxGetDevice_v2(to: Out<i32>, context: Memory) |runtime| {
        of(runtime, context)?;
        to.set(0)
    }

    /// A number that no other context has.
    fn cuCtxGetId(context: Memory, to: Out<u64>) |runtime| { to.set(of(runtime, context)?) }

    /// Sets flags, which say how the host waits.
    fn cuCtxSetFlags(_flags: u32) |runtime| { in_context(runtime) }

    /// Uses the current context once more.
    fn cuCtxAttach(to: Out<u64>, _flags: u32) |runtime| { to.set(of(runtime, Memory::at(0))?) }

    /// Uses it once less.
    fn cuCtxDetach(context: Memory) |runtime| { of(runtime, context).map(drop) }

    /// A limit.
    fn cuCtxGetLimit(to: Out<usize>, which: i32) |runtime| {
        in_context(runtime)?;
        to.set(limit(which)?)
    }

    /// Sets a limit. They are as large as they can be.
    fn cuCtxSetLimit(which: i32, _value: usize) |runtime| {
        in_context(runtime)?;
        limit(which).map(drop)
    }

    /// How wide banks are: four bytes, since compute capability 5.0.
    fn cuCtxGetSharedMemConfig(to: Out<i32>) |runtime| {
        in_context(runtime)?;
        to.set(1)
    }

    /// Sets it, which changes nothing.
    fn cuCtxSetSharedMemConfig(_config: i32) |runtime| { in_context(runtime) }

    /// Forgets what the L2 cache was told to keep.
    fn cuCtxResetPersistingL2Cache() |runtime| { in_context(runtime) }

    /// Says which memory kernels prefer, which changes no result.
    fn cuCtxSetCacheConfig(_config: i32) |runtime| { in_context(runtime) }

    /// Which memory kernels prefer: none.
    fn cuCtxGetCacheConfig(to: Out<i32>) |runtime| {
        in_context(runtime)?;
        to.set(0)
    }

    /// A profiler may begin here; none is there.
    fn cuProfilerStart() |_| { Ok(()) }

    /// A profiler may end here.
    fn cuProfilerStop() |_| { Ok(()) }
}
