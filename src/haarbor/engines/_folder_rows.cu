// Distances between rows of a matrix, for the linkage and the rotations of Haar trees.
//
// REAL    float or double; sums are formed in double
//
// rows: (number of rows, n_columns). A block sums one run of columns, from blockIdx.y * per_split on, for the
// pair or the three rows of blockIdx.x; sums: (pairs or threes, [4,] runs). Each thread takes every 256th column
// and the threads are added in pairs, so the order of summation is the same for any rows.

#define THREADS 256

static __device__ __forceinline__ double block_sum(double mine, double *shared) {
    __syncthreads();
    shared[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
    return shared[0];
}

static __device__ __forceinline__ REAL size_of(REAL x) { return x < 0 ? -x : x; }

extern "C" __global__ void pair_distances(const REAL *__restrict__ rows, const int *__restrict__ pairs,
                                          long long n_columns, long long per_split,
                                          double *__restrict__ sums) {
    __shared__ double shared[THREADS];
    const REAL *a = rows + pairs[2 * blockIdx.x] * n_columns;
    const REAL *b = rows + pairs[2 * blockIdx.x + 1] * n_columns;
    const long long first = blockIdx.y * per_split;
    const long long last = first + per_split < n_columns ? first + per_split : n_columns;
    double total = 0;
#pragma unroll 4
    for (long long column = first + threadIdx.x; column < last; column += THREADS)
        total += size_of(a[column] - b[column]);
    total = block_sum(total, shared);
    if (threadIdx.x == 0) sums[(long long)blockIdx.x * gridDim.y + blockIdx.y] = total;
}

// |A - B|, |C - AB|, |A - C| and |B - AC|, where AB is the mean of A and B with the share shares[.][0] of A, and
// AC that of A and C with the share shares[.][1].
extern "C" __global__ void rotation_sums(const REAL *__restrict__ rows, const int *__restrict__ threes,
                                         const double *__restrict__ shares, long long n_columns,
                                         long long per_split, double *__restrict__ sums) {
    __shared__ double shared[THREADS];
    const REAL *a = rows + threes[3 * blockIdx.x] * n_columns;
    const REAL *b = rows + threes[3 * blockIdx.x + 1] * n_columns;
    const REAL *c = rows + threes[3 * blockIdx.x + 2] * n_columns;
    const REAL p = (REAL)shares[2 * blockIdx.x], q = (REAL)shares[2 * blockIdx.x + 1];
    const long long first = blockIdx.y * per_split;
    const long long last = first + per_split < n_columns ? first + per_split : n_columns;
    double total[4] = {0, 0, 0, 0};
#pragma unroll 2
    for (long long column = first + threadIdx.x; column < last; column += THREADS) {
        const REAL x = a[column], y = b[column], z = c[column];
        total[0] += size_of(x - y);
        total[1] += size_of(z - (p * x + (1 - p) * y));
        total[2] += size_of(x - z);
        total[3] += size_of(y - (q * x + (1 - q) * z));
    }
    for (int way = 0; way < 4; ++way) {
        const double sum = block_sum(total[way], shared);
        if (threadIdx.x == 0) sums[((long long)blockIdx.x * 4 + way) * gridDim.y + blockIdx.y] = sum;
    }
}
