// Decision values of a support vector machine with radial basis functions: the sum over all support vectors of
// weight * exp(-gamma * distance^2), for samples of 25 features.
//
// One thread per sample; feature f of all samples is stored contiguously, so that neighbouring threads read neighbouring
// words. Three versions do the same arithmetic in the same order:
//   svm_naive      support vectors and the sample's features from global memory: 816 loads per thread
//   svm_constant   support vectors and weights from constant memory
//   svm_registers  the same, with the sample's features held in registers: 25 loads per thread

constexpr int FEATURES = 25;
constexpr int VECTORS = 16;

__constant__ float vectors_const[VECTORS * FEATURES];
__constant__ float weights_const[VECTORS];

__device__ float squared(float sum, float a, float b) {
    float d = __fsub_rn(a, b);
    return fmaf(d, d, sum);
}

// exp(-gamma * distance) as a power of two.
__device__ float weighted(float sum, float weight, float gamma, float distance) {
    return fmaf(weight, exp2f(__fmul_rn(-1.44269504f * gamma, distance)), sum);
}

extern "C" __global__ void svm_naive(const float* samples, const float* vectors, const float* weights, float* decision,
                                     float gamma, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int v = 0; v < VECTORS; ++v) {
        float distance = 0.0f;
#pragma unroll 1
        for (int f = 0; f < FEATURES; ++f) {
            distance = squared(distance, samples[f * n + i], vectors[v * FEATURES + f]);
        }
        sum = weighted(sum, weights[v], gamma, distance);
    }
    decision[i] = sum;
}

extern "C" __global__ void svm_constant(const float* samples, float* decision, float gamma, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int v = 0; v < VECTORS; ++v) {
        float distance = 0.0f;
#pragma unroll 1
        for (int f = 0; f < FEATURES; ++f) {
            distance = squared(distance, samples[f * n + i], vectors_const[v * FEATURES + f]);
        }
        sum = weighted(sum, weights_const[v], gamma, distance);
    }
    decision[i] = sum;
}

extern "C" __global__ void svm_registers(const float* samples, float* decision, float gamma, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float sample[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; ++f) {
        sample[f] = samples[f * n + i];
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int v = 0; v < VECTORS; ++v) {
        float distance = 0.0f;
#pragma unroll
        for (int f = 0; f < FEATURES; ++f) {
            distance = squared(distance, sample[f], vectors_const[v * FEATURES + f]);
        }
        sum = weighted(sum, weights_const[v], gamma, distance);
    }
    decision[i] = sum;
}
