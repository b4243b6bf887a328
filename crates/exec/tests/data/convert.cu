// Conversions between f32, f64 and integers with rounding modes and saturation: results by type, [op][lane].
#define I32(op, value) i32[(op) * 32 + lane] = (int)(value)
#define I64(op, value) i64[(op) * 32 + lane] = (long long)(value)
#define F32(op, value) f32[(op) * 32 + lane] = (value)
#define F64(op, value) f64[(op) * 32 + lane] = (value)

extern "C" __global__ void convert(const float* a, const double* b, const long long* n, int* i32, long long* i64,
                                   float* f32, double* f64) {
    int lane = threadIdx.x;
    float x = a[lane];
    double y = b[lane];
    long long k = n[lane];
    I32(0, __float2int_rn(x));
    I32(1, __float2int_rz(x));
    I32(2, __float2int_ru(x));
    I32(3, __float2int_rd(x));
    I32(4, __float2uint_rn(x));
    I32(5, __float2uint_rz(x));
    I32(6, __double2int_rn(y));
    I32(7, __double2int_rz(y));
    I32(8, __double2uint_ru(y));
    I32(9, __double2hiint(y));
    I32(10, __double2loint(y));
    I64(0, __float2ll_rn(x));
    I64(1, __float2ll_rz(x));
    I64(2, __float2ull_rd(x));
    I64(3, __double2ll_rn(y));
    I64(4, __double2ull_rz(y));
    F32(0, __int2float_rn((int)k));
    F32(1, __int2float_rz((int)k));
    F32(2, __uint2float_ru((unsigned)k));
    F32(3, __ll2float_rn(k));
    F32(4, __ll2float_rd(k));
    F32(5, __ull2float_rn((unsigned long long)k));
    F32(6, __double2float_rn(y));
    F32(7, __double2float_rz(y));
    F32(8, __double2float_ru(y));
    F32(9, __double2float_rd(y));
    F32(10, rintf(x));
    F32(11, truncf(x));
    F32(12, ceilf(x));
    F32(13, floorf(x));
    F64(0, __int2double_rn((int)k));
    F64(1, __ll2double_rn(k));
    F64(2, __ll2double_rz(k));
    F64(3, __ull2double_ru((unsigned long long)k));
    F64(4, (double)x);
    F64(5, rint(y));
    F64(6, trunc(y));
    F64(7, ceil(y));
    F64(8, floor(y));
}
