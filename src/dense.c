#include "dense.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "memory.h"

#define MAX_SLICES        64
#define MIN_SLICE_ENTRIES 32768 /* less work than this is not worth a slice              */
#define PANEL             128   /* columns of a Gram that one task computes              */
#define CHUNK             64    /* rows that are multiplied by the pseudoinverse at once */

/* Row slices: their number follows from the matrix alone, never from the number of threads. */
struct slices {
    uint64_t count, rows, total;
};

static struct slices cut(uint64_t rows, uint64_t least)
{
    struct slices s = {.count = rows / least, .total = rows};
    if (s.count > MAX_SLICES)
        s.count = MAX_SLICES;
    if (s.count < 1)
        s.count = 1;
    s.rows = (rows + s.count - 1) / s.count;
    return s;
}

static uint64_t slice_begin(const struct slices *s, uint64_t k)
{
    uint64_t begin = k * s->rows;
    return begin < s->total ? begin : s->total;
}

static uint64_t slice_length(const struct slices *s, uint64_t k)
{
    return slice_begin(s, k + 1) - slice_begin(s, k);
}

/* Rows of a slice that is worth a thread's while. */
static uint64_t worthwhile(uint64_t rank)
{
    return MIN_SLICE_ENTRIES / rank + 1;
}

void dense_init(void)
{
    openblas_set_num_threads(1);
}

/* Rows [p, p + PANEL) of the upper triangle of A' A, for a slice of A. */
static void gram_panel(const double *a, uint64_t rows, uint64_t rank, uint64_t p, double *g)
{
    uint64_t width = rank - p < PANEL ? rank - p : PANEL;
    uint64_t right = rank - p - width;
    blasint n = (blasint)rank, k = (blasint)rows, w = (blasint)width;
    double *corner = g + p * rank + p;
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, w, k, 1.0, a + p, n, 0.0, corner, n);
    if (right > 0)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, w, (blasint)right, k, 1.0, a + p, n,
                    a + p + width, n, 0.0, corner + width, n);
}

enum status dense_gram(const double *a, uint64_t rows, uint64_t rank, double *g,
                       struct error *error)
{
    /* No more slices than make the partial Grams as large as A itself. */
    uint64_t least = worthwhile(rank);
    struct slices s = cut(rows, least > rank ? least : rank);
    uint64_t panels = (rank + PANEL - 1) / PANEL;
    double *partial = g; /* of slice 0; those of the others lie in `more` */
    double *more = memory_array((s.count - 1) * rank, rank * sizeof *more, error);
    if (!more)
        return error->status;

#pragma omp parallel if (s.count * panels > 1)
    {
#pragma omp for schedule(dynamic)
        for (uint64_t task = 0; task < s.count * panels; task++) {
            uint64_t k = task / panels, p = task % panels * PANEL;
            double *sum = k == 0 ? partial : more + (k - 1) * rank * rank;
            gram_panel(a + slice_begin(&s, k) * rank, slice_length(&s, k), rank, p, sum);
        }
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < rank; i++)
            for (uint64_t k = 0; k + 1 < s.count; k++)
                for (uint64_t j = i; j < rank; j++)
                    g[i * rank + j] += more[(k * rank + i) * rank + j];
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < rank; i++)
            for (uint64_t j = 0; j < i; j++)
                g[i * rank + j] = g[j * rank + i];
    }
    memory_free(more);
    return STATUS_OK;
}

static bool all_finite(const double *v, uint64_t n)
{
    double sum = 0.0; /* x - x is 0 for finite x and NaN otherwise */
    for (uint64_t i = 0; i < n; i++)
        sum += v[i] - v[i];
    return sum == 0.0;
}

/* Cholesky V = U' U (U upper, row-major) in place. False where V is not numerically positive
 * definite: a pivot fails, or the condition estimate says that V^-1 would be noise. (In
 * 1-norms the reciprocal condition number is at most R times that in 2-norms, so whatever passes
 * has no eigenvalue that the pseudoinverse would drop.) A symmetric matrix is its own transpose, so
 * column-major LAPACK's lower triangle is our upper one. */
static enum status factorise(double *u, uint64_t rank, bool *definite, struct error *error)
{
    lapack_int n = (lapack_int)rank;
    double norm = 0.0, reciprocal = 0.0;
    for (uint64_t i = 0; i < rank; i++) {
        double sum = cblas_dasum(n, u + i * rank, 1);
        norm = sum > norm ? sum : norm;
    }
    lapack_int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, u, n);
    *definite = info == 0;
    if (*definite) {
        info = LAPACKE_dpocon(LAPACK_COL_MAJOR, 'L', n, u, n, norm, &reciprocal);
        *definite = reciprocal > (double)rank * (double)rank * DBL_EPSILON;
    }
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return error_set(error, STATUS_MEMORY, "out of memory in the Cholesky solve");
    if (info < 0)
        return error_set(error, STATUS_INTERNAL, "Cholesky solve failed with code %d", (int)info);
    return STATUS_OK;
}

/* P (R x R) = V^+ by eigendecomposition; V is destroyed. */
static enum status pseudoinverse(double *v, uint64_t rank, double *p, uint64_t *rank_of_v,
                                 struct error *error)
{
    double *w = memory_array(rank, sizeof *w, error);
    if (!w)
        return error->status;

    lapack_int n = (lapack_int)rank;
    lapack_int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, v, n, w);
    if (info == LAPACK_WORK_MEMORY_ERROR) {
        error_set(error, STATUS_MEMORY, "out of memory in the eigendecomposition");
        goto done;
    }
    if (info != 0) {
        error_set(error, STATUS_NUMERICAL, "the eigendecomposition of V failed with code %d",
                  (int)info);
        goto done;
    }
    double least = (double)rank * DBL_EPSILON * w[rank - 1]; /* ascending: the last is largest */
    uint64_t kept = 0;
    while (kept < rank && w[rank - 1 - kept] > least && w[rank - 1 - kept] > 0.0)
        kept++;
    *rank_of_v = kept;

    /* Eigenvectors are now the rows of V: with S = diag(w)^-1/2 Q, P = S' S. */
    double *s = v + (rank - kept) * rank;
    for (uint64_t e = 0; e < kept; e++)
        cblas_dscal(n, 1.0 / sqrt(w[rank - kept + e]), s + e * rank, 1);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, (blasint)kept, 1.0, s, n, s, n, 0.0,
                p, n);
done:
    memory_free(w);
    return error->status;
}

/* A = M U^-1 U'^-1, row slice by row slice. */
static void solve_triangular(const double *u, const double *m, double *a, uint64_t rows,
                             uint64_t rank)
{
    struct slices s = cut(rows, worthwhile(rank));
    blasint n = (blasint)rank;
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        uint64_t begin = slice_begin(&s, k), length = slice_length(&s, k);
        double *slice = a + begin * rank;
        if (a != m)
            memcpy(slice, m + begin * rank, length * rank * sizeof *slice);
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit,
                    (blasint)length, n, 1.0, u, n, slice, n);
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasTrans, CblasNonUnit,
                    (blasint)length, n, 1.0, u, n, slice, n);
    }
}

/* A = M P, through a buffer of a few rows per slice because M and A may be the same array. */
static enum status multiply(const double *p, const double *m, double *a, uint64_t rows,
                            uint64_t rank, struct error *error)
{
    struct slices s = cut(rows, worthwhile(rank));
    blasint n = (blasint)rank;
    double *buffer = memory_array(s.count * CHUNK, rank * sizeof *buffer, error);
    if (!buffer)
        return error->status;
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        double *chunk = buffer + k * CHUNK * rank;
        uint64_t end = slice_begin(&s, k + 1);
        for (uint64_t i = slice_begin(&s, k); i < end; i += CHUNK) {
            uint64_t length = end - i < CHUNK ? end - i : CHUNK;
            memcpy(chunk, m + i * rank, length * rank * sizeof *chunk);
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)length, n, n, 1.0,
                        chunk, n, p, n, 0.0, a + i * rank, n);
        }
    }
    memory_free(buffer);
    return STATUS_OK;
}

enum status dense_solve(double *v, const double *m, double *a, uint64_t rows, uint64_t rank,
                        uint64_t *rank_of_v, struct error *error)
{
    if (!all_finite(v, rank * rank))
        return error_set(error, STATUS_NUMERICAL,
                         "the Hadamard product of the Gram matrices is not finite");
    double *work = memory_array(rank, rank * sizeof *work, error);
    if (!work)
        return error->status;

    bool definite;
    *rank_of_v = rank;
    memcpy(work, v, rank * rank * sizeof *work);
    enum status status = factorise(work, rank, &definite, error);
    if (status == STATUS_OK && definite) {
        solve_triangular(work, m, a, rows, rank);
    } else if (status == STATUS_OK) {
        status = pseudoinverse(v, rank, work, rank_of_v, error);
        if (status == STATUS_OK)
            status = multiply(work, m, a, rows, rank, error);
    }
    memory_free(work);
    return status;
}

void dense_scale_columns(double *a, uint64_t rows, uint64_t rank, const double *scale)
{
#pragma omp parallel for schedule(static) if (rows > worthwhile(rank))
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            a[i * rank + r] *= scale[r];
}

/* sum_r lambda_r sum_i M(i,r) A(i,r) over one slice, in 8 interleaved sums. */
static double inner_slice(const double *m, const double *a, const double *lambda, uint64_t rows,
                          uint64_t rank)
{
    double sum[8] = {0};
    for (uint64_t i = 0; i < rows; i++) {
        const double *x = m + i * rank, *y = a + i * rank;
        uint64_t r = 0;
        for (; r + 8 <= rank; r += 8)
            for (uint64_t j = 0; j < 8; j++)
                sum[j] += x[r + j] * y[r + j] * lambda[r + j];
        for (; r < rank; r++)
            sum[r % 8] += x[r] * y[r] * lambda[r];
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

enum status dense_inner(const double *m, const double *a, const double *lambda, uint64_t rows,
                        uint64_t rank, double *inner, struct error *error)
{
    struct slices s = cut(rows, worthwhile(rank));
    double *partial = memory_array(s.count, sizeof *partial, error);
    if (!partial)
        return error->status;
#pragma omp parallel for schedule(dynamic) if (s.count > 1)
    for (uint64_t k = 0; k < s.count; k++) {
        uint64_t first = slice_begin(&s, k) * rank;
        partial[k] = inner_slice(m + first, a + first, lambda, slice_length(&s, k), rank);
    }
    *inner = 0.0;
    for (uint64_t k = 0; k < s.count; k++)
        *inner += partial[k];
    memory_free(partial);
    return STATUS_OK;
}
