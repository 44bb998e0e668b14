// Sums of |a - b|, or of its square, over features, for all pairs of items.
//
// REAL   float or double, the type of the features and of the sums within a run of features
// ASYNC  1 to copy to shared memory past the registers (compute capability 8.0 and later)
// SQUARE 1 for squares, 0 for absolute values
// DOUBLE 1 if REAL is double
//
// A thread keeps 8 x 8 sums in registers. Its eight rows are two runs of four, and so are its eight
// columns: then the threads of a warp read neighbouring words of shared memory.

// Items per side of the square of pairs that a block of threads sums, and features staged at a time. On an
// H200 squares of 128 and stages of 16 are slower.
#define TILE 64
#define DEPTH 8
#define THREADS (TILE * TILE / 64)

struct alignas(16) Quad { REAL v[4]; };

#if SQUARE
#define TERM(d) ((d) * (d))
#elif DOUBLE
#define TERM(d) fabs(d)
#else
#define TERM(d) fabsf(d)
#endif

// Quads of one operand that a thread brings to shared memory for each stage.
#define STAGED (DEPTH * TILE / 4 / THREADS)

#if ASYNC
static __device__ __forceinline__ void copy_quad(Quad *shared, const REAL *global) {
    const unsigned place = (unsigned)__cvta_generic_to_shared(shared);
#pragma unroll
    for (int part = 0; part < (int)sizeof(Quad) / 16; ++part)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(place + 16 * part),
                     "l"((const char *)global + 16 * part));
}
#endif

// features: (n_features, pitch), items contiguous, pitch a multiple of TILE, zeros after the last item.
// partial: (n_splits, n_tiles, 64, THREADS), written whole.
// A block sums the features of one split, at most `per_split`, for one tile on or above the diagonal.
extern "C" __global__ void __launch_bounds__(THREADS, MIN_BLOCKS)
pair_sums(const REAL *__restrict__ features, long long n_features, int pitch, int n_side,
          int per_split, REAL *__restrict__ partial) {
    __shared__ alignas(16) REAL left[2][DEPTH][TILE];
    __shared__ alignas(16) REAL right[2][DEPTH][TILE];

    // Tile number to (tile row, tile column), row <= column, row after row.
    int tile_row = 0, rest = blockIdx.x;
    while (rest >= n_side - tile_row) { rest -= n_side - tile_row; ++tile_row; }
    const int tile_column = tile_row + rest;

    const int thread = threadIdx.x;
    const int warp = thread / 32, lane = thread % 32;
    const int row = warp * 32 + (lane / 8) * 4, column = (lane % 8) * 4;

    const long long begin = (long long)blockIdx.y * per_split;
    const long long end = begin + per_split < n_features ? begin + per_split : n_features;
    const int count = (int)(end - begin);
    // Where this thread copies from, moved on with every stage; the right-hand items are `apart` from the left.
    const int copy_feature = thread * 4 / TILE, copy_item = thread * 4 % TILE;
    const REAL *source = features + (begin + copy_feature) * pitch + (tile_row * TILE + copy_item);
    const int apart = (tile_column - tile_row) * TILE;

    REAL sums[8][8];
#pragma unroll
    for (int a = 0; a < 8; ++a)
#pragma unroll
        for (int b = 0; b < 8; ++b) sums[a][b] = 0;

#if !ASYNC
    Quad next_left[STAGED], next_right[STAGED];
#endif

    // Copies the next DEPTH features, of which `left_over` are there; zeros stand for the others.
    auto fetch = [&](int left_over, int buffer) {
#pragma unroll
        for (int part = 0; part < STAGED; ++part) {
            const int f = copy_feature + part * (DEPTH / STAGED);
            const REAL *from = source + part * (DEPTH / STAGED) * pitch;
            const bool there = f < left_over;
#if ASYNC
            Quad *to_left = (Quad *)&left[buffer][f][copy_item];
            Quad *to_right = (Quad *)&right[buffer][f][copy_item];
            if (there) {
                copy_quad(to_left, from);
                copy_quad(to_right, from + apart);
            } else {
                *to_left = Quad{};
                *to_right = Quad{};
            }
#else
            next_left[part] = there ? *(const Quad *)from : Quad{};
            next_right[part] = there ? *(const Quad *)(from + apart) : Quad{};
#endif
        }
        source += (long long)DEPTH * pitch;
#if ASYNC
        asm volatile("cp.async.commit_group;\n" ::);
#endif
    };
#if !ASYNC
    auto place_staged = [&](int buffer) {
#pragma unroll
        for (int part = 0; part < STAGED; ++part) {
            const int f = copy_feature + part * (DEPTH / STAGED);
            *(Quad *)&left[buffer][f][copy_item] = next_left[part];
            *(Quad *)&right[buffer][f][copy_item] = next_right[part];
        }
    };
#endif

    int buffer = 0;
    if (count > 0) {
        fetch(count, 0);
#if ASYNC
        asm volatile("cp.async.wait_group 0;\n" ::);
#else
        place_staged(0);
#endif
    }
    __syncthreads();

    for (int done = 0; done < count; done += DEPTH) {
        const bool more = done + DEPTH < count;
        if (more) fetch(count - done - DEPTH, buffer ^ 1);
#pragma unroll
        for (int f = 0; f < DEPTH; ++f) {
            const Quad a0 = *(const Quad *)&left[buffer][f][row];
            const Quad a1 = *(const Quad *)&left[buffer][f][row + 16];
            const Quad b0 = *(const Quad *)&right[buffer][f][column];
            const Quad b1 = *(const Quad *)&right[buffer][f][column + 32];
#pragma unroll
            for (int a = 0; a < 8; ++a)
#pragma unroll
                for (int b = 0; b < 8; ++b) {
                    const REAL d = (a < 4 ? a0.v[a & 3] : a1.v[a & 3]) - (b < 4 ? b0.v[b & 3] : b1.v[b & 3]);
                    sums[a][b] += TERM(d);
                }
        }
        if (more) {
#if ASYNC
            asm volatile("cp.async.wait_group 0;\n" ::);
#else
            place_staged(buffer ^ 1);
#endif
        }
        __syncthreads();
        buffer ^= 1;
    }
    REAL *mine = partial + ((long long)blockIdx.y * gridDim.x + blockIdx.x) * 64 * THREADS + thread;
#pragma unroll
    for (int a = 0; a < 8; ++a)
#pragma unroll
        for (int b = 0; b < 8; ++b) mine[(a * 8 + b) * THREADS] = sums[a][b];
}

// Adds the partial sums of all splits in double, in their order, to a symmetric matrix of n_items x n_items.
extern "C" __global__ void add_partial(const REAL *__restrict__ partial, int n_splits, int n_tiles,
                                       int n_side, int n_items, double *__restrict__ total) {
    const int place = blockIdx.y * blockDim.x + threadIdx.x;
    if (place >= 64 * THREADS) return;
    int tile_row = 0, rest = blockIdx.x;
    while (rest >= n_side - tile_row) { rest -= n_side - tile_row; ++tile_row; }
    const int tile_column = tile_row + rest;
    const int thread = place % THREADS, a = place / THREADS / 8, b = place / THREADS % 8;
    const int warp = thread / 32, lane = thread % 32;
    const int row = tile_row * TILE + warp * 32 + (lane / 8) * 4 + (a / 4) * 16 + a % 4;
    const int column = tile_column * TILE + (lane % 8) * 4 + (b / 4) * 32 + b % 4;
    if (row >= column || column >= n_items) return;
    double sum = 0;
    for (int split = 0; split < n_splits; ++split)
        sum += partial[((long long)split * n_tiles + blockIdx.x) * 64 * THREADS + place];
    total[(long long)row * n_items + column] += sum;
    total[(long long)column * n_items + row] += sum;
}
