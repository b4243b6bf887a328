"""cuda-python: the bindings of the driver, and cuda.core above them."""

import numpy as np
from cuda.bindings import driver

PTX = b"""
.version 7.0
.target sm_80
.address_size 64

.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    ld.param.f32 %f0, [factor];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    mul.wide.u32 %rd1, %r4, 4;
    add.u64 %rd2, %rd0, %rd1;
    ld.global.f32 %f1, [%rd2];
    mul.f32 %f2, %f1, %f0;
    st.global.f32 [%rd2], %f2;
    ret;
}
"""
N = 1000
BLOCK = 128
GRID = (N + BLOCK - 1) // BLOCK


def check(result):
    """What a call gave besides its error code, which must be success."""
    code, *values = result
    assert code == driver.CUresult.CUDA_SUCCESS, code
    return values[0] if len(values) == 1 else tuple(values)


def bindings():
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    context = check(driver.cuDevicePrimaryCtxRetain(device))
    check(driver.cuCtxSetCurrent(context))
    module = check(driver.cuModuleLoadData(PTX))
    kernel = check(driver.cuModuleGetFunction(module, b"scale"))
    stream = check(driver.cuStreamCreate(0))
    start, end = check(driver.cuEventCreate(0)), check(driver.cuEventCreate(0))
    values = np.arange(N, dtype=np.float32)
    memory = check(driver.cuMemAlloc(values.nbytes))
    check(driver.cuMemcpyHtoDAsync(memory, values.ctypes.data, values.nbytes, stream))
    data, factor, n = np.array([int(memory)], np.uint64), np.array([3], np.float32), np.array([N], np.uint32)
    arguments = np.array([part.ctypes.data for part in (data, factor, n)], np.uint64)
    check(driver.cuEventRecord(start, stream))
    check(driver.cuLaunchKernel(kernel, GRID, 1, 1, BLOCK, 1, 1, 0, stream, arguments.ctypes.data, 0))
    check(driver.cuEventRecord(end, stream))
    found = np.zeros_like(values)
    check(driver.cuMemcpyDtoHAsync(found.ctypes.data, memory, found.nbytes, stream))
    check(driver.cuStreamSynchronize(stream))
    assert (found == 3 * values).all()
    assert check(driver.cuEventElapsedTime(start, end)) > 0
    code, _ = driver.cuModuleGetFunction(module, b"nothing")
    assert code == driver.CUresult.CUDA_ERROR_NOT_FOUND, code
    for event in (start, end):
        check(driver.cuEventDestroy(event))
    check(driver.cuStreamDestroy(stream))
    check(driver.cuMemFree(memory))
    check(driver.cuModuleUnload(module))
    check(driver.cuDevicePrimaryCtxRelease(device))


def core():
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    kernel = ObjectCode.from_ptx(PTX).get_kernel("scale")
    values = np.arange(N, dtype=np.float32)
    memory = int(check(driver.cuMemAlloc(values.nbytes)))
    check(driver.cuMemcpyHtoD(memory, values.ctypes.data, values.nbytes))
    launch(stream, LaunchConfig(grid=GRID, block=BLOCK), kernel, memory, np.float32(3), np.uint32(N))
    stream.sync()
    found = np.zeros_like(values)
    check(driver.cuMemcpyDtoH(found.ctypes.data, memory, found.nbytes))
    assert (found == 3 * values).all()
    check(driver.cuMemFree(memory))
    stream.close()


bindings()
core()
print("passed")
