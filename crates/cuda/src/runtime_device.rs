//! Devices in the runtime API: there is one.

use warplens_runtime::Status;

use crate::api;
use crate::arrays::ChannelDescriptor;
use crate::driver::{choose_primary, start_primary};
use crate::guard::{device_call, runtime_call};
use crate::pointers::{In, Memory, Out};
use crate::structures::{device_properties, major_version};

type Result<T> = std::result::Result<T, Status>;

/// Bytes of `cudaDeviceProp` in versions that the function without a suffix has in libraries of CUDA 12.
const OLD_BYTES: usize = 712;

/// Refuses other devices than the first.
pub(crate) fn check(device: i32) -> Result<()> {
    if device == 0 { Ok(()) } else { Err(Status::INVALID_DEVICE) }
}

pub(crate) fn limit(limit: i32) -> Result<usize> {
    // Stack of a thread, buffer of printf, heap, depth and number of launches from the device, granularity, L2 kept.
    Ok(match limit {
        0 => 1024,
        1 => 1 << 20,
        2 => 8 << 20,
        3 => 2,
        4 => 2048,
        5 => 128,
        6 => 0,
        _ => return Err(Status(215)),
    })
}

api! { runtime_call;
    /// Number of devices.
    fn cudaGetDeviceCount(to: Out<i32>) |_| { to.set(1) }

    /// The device of the thread.
    fn cudaGetDevice(to: Out<i32>) |_| { to.set(0) }

    /// Chooses the device of the thread.
    fn cudaSetDevice(device: i32) |runtime| {
        check(device)?;
        choose_primary(runtime)
    }

    /// Starts a device, whose context does not become the current one.
    fn cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) |runtime| {
        check(device)?;
        start_primary(runtime);
        Ok(())
    }

    /// Chooses among devices.
    fn cudaSetValidDevices(devices: In<i32>, count: i32) |_| {
        if count == 0 { Ok(()) } else { check(devices.get()?) }
    }

    /// The device that fits best.
    fn cudaChooseDevice(to: Out<i32>, _properties: Memory) |_| { to.set(0) }

    /// Flags of the device.
    fn cudaSetDeviceFlags(_flags: u32) |_| { Ok(()) }

    /// Flags of the device: memory of the host can be mapped.
    fn cudaGetDeviceFlags(to: Out<u32>) |_| { to.set(8) }

    /// What a device is like.
    fn cudaGetDeviceProperties(to: Out<u8>, device: i32) |runtime| {
        check(device)?;
        let bytes = device_properties(&runtime.properties(), major_version());
        to.set_bytes(if major_version() < 13 { &bytes[..OLD_BYTES] } else { &bytes })
    }

    /// The same in programs of CUDA 12.
    fn cudaGetDeviceProperties_v2(to: Out<u8>, device: i32) |runtime| {
        check(device)?;
        to.set_bytes(&device_properties(&runtime.properties(), 12))
    }

    /// An attribute of a device.
    fn cudaDeviceGetAttribute(to: Out<i32>, attribute: i32, device: i32) |runtime| {
        check(device)?;
        to.set(runtime.properties().attribute(attribute).ok_or(Status::INVALID_VALUE)?)
    }

    /// Frees everything on the device.
    fn cudaDeviceReset() |runtime| { runtime.reset() }

    /// The same, as it was called before.
    fn cudaThreadExit() |runtime| { runtime.reset() }

    /// Whether devices see each other's memory: there is one.
    fn cudaDeviceCanAccessPeer(to: Out<i32>, device: i32, peer: i32) |_| {
        check(device)?;
        check(peer)?;
        to.set(0)
    }

    /// Where a device is plugged in.
    fn cudaDeviceGetPCIBusId(to: Out<u8>, length: i32, device: i32) |_| {
        check(device)?;
        to.set_text("0000:00:00.0", length)
    }

    /// Version of the driver.
    fn cudaDriverGetVersion(to: Out<i32>) |runtime| { to.set(runtime.driver_version()) }

    /// Version of the runtime.
    fn cudaRuntimeGetVersion(to: Out<i32>) |_| { to.set(major_version() * 1000) }

    /// A profiler may begin here; none is there.
    fn cudaProfilerStart() |_| { Ok(()) }

    /// A profiler may end here.
    fn cudaProfilerStop() |_| { Ok(()) }
}

api! { device_call;
    /// Waits for the device.
    fn cudaDeviceSynchronize() |runtime| { runtime.synchronize() }

    /// The same, as it was called before.
    fn cudaThreadSynchronize() |runtime| { runtime.synchronize() }

    /// Sets a limit. They are as large as they can be.
    fn cudaDeviceSetLimit(which: i32, _value: usize) |_| { limit(which).map(drop) }

    /// A limit.
    fn cudaDeviceGetLimit(to: Out<usize>, which: i32) |_| { to.set(limit(which)?) }

    /// Says which memory kernels prefer, which changes no result.
    fn cudaDeviceSetCacheConfig(_config: i32) |_| { Ok(()) }

    /// Which memory kernels prefer: none.
    fn cudaDeviceGetCacheConfig(to: Out<i32>) |_| { to.set(0) }

    /// Sets the width of banks, which have one width since compute capability 5.0.
    fn cudaDeviceSetSharedMemConfig(_config: i32) |_| { Ok(()) }

    /// The width of banks.
    fn cudaDeviceGetSharedMemConfig(to: Out<i32>) |_| { to.set(1) }
}

/// Describes texels.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: i32) -> ChannelDescriptor {
    ChannelDescriptor { x, y, z, w, kind }
}
