// Haar coefficients of columns: sums up the tree, and at every step the difference of two means.
//
// REAL    float or double, the type of the coefficients; sums are formed in double
// STORED  0, 1 or 2: the columns are stored in half precision, in float, or in double
//
// source, out: (n_items, n_columns). sums: (n_items, n_columns), to work in. Function j > 0 is positive on node
// left[j] and negative on node right[j]; node c < n_items is an item, node n_items + j the support of function
// j. Supports lie within those of earlier functions, so the walk goes from the last function to the first.
// out[j] = positive[j] * sum(left) - negative[j] * sum(right); out[0] = positive[0] * sum of all.

#if STORED == 0
typedef unsigned short Stored;
static __device__ __forceinline__ double number(Stored bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
#elif STORED == 1
typedef float Stored;
static __device__ __forceinline__ double number(Stored value) { return value; }
#else
typedef double Stored;
static __device__ __forceinline__ double number(Stored value) { return value; }
#endif

extern "C" __global__ void haar_coefficients(const Stored *__restrict__ source, const int *__restrict__ left,
                                             const int *__restrict__ right,
                                             const double *__restrict__ positive,
                                             const double *__restrict__ negative, int n_items,
                                             long long n_columns, double *sums, REAL *__restrict__ out) {
    const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n_columns) return;
    const Stored *from = source + column;
    double *above = sums + column;
    for (int j = n_items - 1; j > 0; --j) {
        const int a = left[j], b = right[j];
        const double x = a < n_items ? number(from[a * n_columns]) : above[(a - n_items) * n_columns];
        const double y = b < n_items ? number(from[b * n_columns]) : above[(b - n_items) * n_columns];
        above[j * n_columns] = x + y;
        out[j * n_columns + column] = (REAL)(positive[j] * x - negative[j] * y);
    }
    const double all = n_items > 1 ? above[n_columns] : number(from[0]);
    out[column] = (REAL)(positive[0] * all);
}
