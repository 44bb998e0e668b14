// Lowest and highest of many numbers; both are NaN if one of them is.
//
// REAL    float or double
// STORED  0, 1 or 2: the numbers are stored in half precision, in float, or in double

#if STORED == 0
typedef unsigned short Stored;
static __device__ __forceinline__ REAL number(Stored bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
#elif STORED == 1
typedef float Stored;
static __device__ __forceinline__ REAL number(Stored value) { return value; }
#else
typedef double Stored;
static __device__ __forceinline__ REAL number(Stored value) { return value; }
#endif

#define THREADS 256

static __device__ __forceinline__ REAL lower(REAL a, REAL b) { return b < a || b != b ? b : a; }
static __device__ __forceinline__ REAL higher(REAL a, REAL b) { return b > a || b != b ? b : a; }

// out: (number of blocks, 2).
extern "C" __global__ void extremes(const Stored *__restrict__ numbers, long long count,
                                    REAL *__restrict__ out) {
    __shared__ REAL lowest[THREADS], highest[THREADS];
    const long long step = (long long)gridDim.x * THREADS;
    REAL low = number(numbers[0]), high = low;
#pragma unroll 8
    for (long long place = (long long)blockIdx.x * THREADS + threadIdx.x; place < count; place += step) {
        const REAL value = number(numbers[place]);
        low = lower(low, value);
        high = higher(high, value);
    }
    lowest[threadIdx.x] = low;
    highest[threadIdx.x] = high;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            lowest[threadIdx.x] = lower(lowest[threadIdx.x], lowest[threadIdx.x + half]);
            highest[threadIdx.x] = higher(highest[threadIdx.x], highest[threadIdx.x + half]);
        }
    }
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = lowest[0];
        out[2 * blockIdx.x + 1] = highest[0];
    }
}
