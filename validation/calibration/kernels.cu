// All kernels that a GPU is calibrated with: those of single parameters, and the micro-benchmarks of the papers, by which the
// parameters of their models are fitted. `validation/regenerate.py` makes sm_35.ptx of it.

#include "physical.cu"
#include "hong_kim.cu"
#include "thesis.cu"
#include "luo_suda.cu"

// As `cpd_64` of luo_suda.cu, with `more` times as many additions to a load.
KERNEL cpd_more(u64 *out, const unsigned *words, unsigned mask, unsigned turn, float step, int more, int rounds)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, at = thread;
    float a = step + threadIdx.x % 32, s = step;
    u64 begin = now();
    ROUNDS
    {
        float loaded;
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(loaded) : "l"(words + (at & mask)) : "memory");
        a += loaded;
        _Pragma("unroll 1") for (int times = 0; times < more; times++)
        {
            TIMES64(asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(s));)
        }
        at += turn + (a == 0.5f);
    }
    tell(out, now() - begin, at + bits(a));
}
