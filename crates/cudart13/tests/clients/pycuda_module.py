"""PyCUDA: a module from PTX, arguments of all kinds, streams, events, memory of both sides."""

import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

PTX = b"""
.version 7.0
.target sm_80
.address_size 64

.visible .const .align 4 .f32 shift = 0f3F800000;

.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
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
    ld.const.f32 %f2, [shift];
    fma.rn.f32 %f3, %f1, %f0, %f2;
    st.global.f32 [%rd2], %f3;
    ret;
}
"""
N = 1000
BLOCK = (128, 1, 1)
GRID = (8, 1)

module = drv.module_from_buffer(PTX + b"\0")
scale = module.get_function("scale")
assert scale.num_regs > 0 and scale.max_threads_per_block >= 128
values = np.arange(N, dtype=np.float32)

changed = values.copy()
scale(drv.InOut(changed), np.float32(2), np.uint32(N), block=BLOCK, grid=GRID)
assert (changed == 2 * values + 1).all()

shift, size = module.get_global("shift")
assert size == 4
drv.memcpy_htod(shift, np.array([5], np.float32))
stream, start, end = drv.Stream(), drv.Event(), drv.Event()
memory = drv.mem_alloc(values.nbytes)
pinned = drv.pagelocked_empty(N, np.float32)
pinned[:] = values
drv.memcpy_htod_async(memory, pinned, stream)
start.record(stream)
scale.prepare("Pfi")
scale.prepared_async_call(GRID, BLOCK, stream, memory, 3, N)
end.record(stream)
drv.memcpy_dtoh_async(pinned, memory, stream)
stream.synchronize()
assert (pinned == 3 * values + 5).all()
assert start.time_till(end) > 0
print("passed")
