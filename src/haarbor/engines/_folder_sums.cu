// Weighted sums over folders, laid out for the sums over pairs: items contiguous, features above them.
//
// REAL    float or double, in which sums are formed
// DOUBLE  1 if REAL is double
// STORED  0, 1 or 2: the tensor is stored in half precision, in float, or in double

#if STORED == 0
typedef unsigned short Stored;
static __device__ __forceinline__ REAL number(Stored bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
#elif STORED == 1
typedef float Stored;
static __device__ __forceinline__ REAL number(Stored value) {
#if DOUBLE
    // CuPy compiles kernels so that the smallest numbers of float become zero. Where zero means missing they
    // must not.
    double same;
    asm("cvt.f64.f32 %0, %1;" : "=d"(same) : "f"(value));
    return same;
#else
    return value;
#endif
}
#else
typedef double Stored;
static __device__ __forceinline__ REAL number(Stored value) { return value; }
#endif

// out[g, f, i] = scale[g] * sum over the offsets of folder g of the entry (feature f, item i) of the matrix
// that begins there; zeros for n_items <= i < pitch.
//
// Squares of 32 x 32 entries: they are read along the columns of the matrix and written along the items,
// which are its columns (items_are_columns) or its rows. blockDim (32, 8); grid (items, features, folders).
extern "C" __global__ void outer_sums(const Stored *__restrict__ flat, const long long *__restrict__ offsets,
                                      const long long *__restrict__ begins, const REAL *__restrict__ scale,
                                      int first, long long row_stride, int n_features, int n_items, int pitch,
                                      int items_are_columns, REAL *__restrict__ out) {
    __shared__ REAL square[32][33];
    const int folder = first + blockIdx.z;
    const long long begin = begins[folder], end = begins[folder + 1];
    const int item0 = blockIdx.x * 32, feature0 = blockIdx.y * 32;
    const int row0 = items_are_columns ? feature0 : item0, column0 = items_are_columns ? item0 : feature0;
    const int n_rows = items_are_columns ? n_features : n_items;
    const int n_columns = items_are_columns ? n_items : n_features;
    const int column = column0 + threadIdx.x;
    REAL sums[4] = {0, 0, 0, 0};
    for (long long part = begin; part < end; ++part) {
        const Stored *matrix = flat + offsets[part] + column;
#pragma unroll
        for (int step = 0; step < 4; ++step) {
            const int row = row0 + threadIdx.y + 8 * step;
            if (row < n_rows && column < n_columns) sums[step] += number(matrix[row * row_stride]);
        }
    }
    const REAL factor = scale[folder];
    REAL *mine = out + (long long)blockIdx.z * n_features * pitch;
    if (items_are_columns) {
#pragma unroll
        for (int step = 0; step < 4; ++step) {
            const int row = row0 + threadIdx.y + 8 * step;
            if (row < n_features && column < pitch) mine[(long long)row * pitch + column] = sums[step] * factor;
        }
        return;
    }
#pragma unroll
    for (int step = 0; step < 4; ++step) square[threadIdx.y + 8 * step][threadIdx.x] = sums[step] * factor;
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
        const int feature = feature0 + threadIdx.y + 8 * step, item = item0 + threadIdx.x;
        if (feature < n_features && item < pitch)
            mine[(long long)feature * pitch + item] = square[threadIdx.x][threadIdx.y + 8 * step];
    }
}

// out[g, r, i] = scale[r] * (sum over the children of folder r). Child c < n_features is entry (g, c, i) of
// `features`; child n_features + r is an earlier folder. One thread per (g, i): it reads back only what it
// wrote itself.
extern "C" __global__ void raised_sums(const REAL *__restrict__ features, const int *__restrict__ children,
                                       const int *__restrict__ child_begins, const REAL *__restrict__ scale,
                                       int n_features, int n_raised, int pitch, REAL *out) {
    const int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= pitch) return;
    const REAL *from = features + (long long)blockIdx.y * n_features * pitch + item;
    REAL *to = out + (long long)blockIdx.y * n_raised * pitch + item;
    for (int folder = 0; folder < n_raised; ++folder) {
        REAL sum = 0;
        for (int place = child_begins[folder]; place < child_begins[folder + 1]; ++place) {
            const int child = children[place];
            sum += child < n_features ? from[(long long)child * pitch] : to[(long long)(child - n_features) * pitch];
        }
        to[(long long)folder * pitch] = sum;
    }
    for (int folder = 0; folder < n_raised; ++folder) to[(long long)folder * pitch] *= scale[folder];
}
