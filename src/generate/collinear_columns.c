#include "generate/collinear_columns.h"

#include <math.h>

#include "base/random_normal.h"

static double inner(const double *x, const double *y, uint64_t rows)
{
    double sum = 0;
    for (uint64_t i = 0; i < rows; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Subtracts from column r its projection on the columns before it, which are orthonormal. */
static void make_orthogonal(double *a, uint64_t rows, uint64_t r)
{
    double *x = a + r * rows;
    for (uint64_t s = 0; s < r; s++) {
        const double *q = a + s * rows;
        double part = inner(x, q, rows);
        for (uint64_t i = 0; i < rows; i++)
            x[i] -= part * q[i];
    }
}

/* Random orthonormal columns (Gram and Schmidt, twice: L. Giraud, J. Langou, M. Rozloznik, On the
 * loss of orthogonality in the Gram-Schmidt orthogonalization process, 2005). */
static void orthonormal_columns(double *a, uint64_t rows, uint64_t count, uint64_t seed,
                                uint64_t stream)
{
    for (uint64_t r = 0; r < count; r++) {
        double *x = a + r * rows;
        for (uint64_t i = 0; i < rows; i++)
            x[i] = random_normal(seed, stream, r * rows + i);
        make_orthogonal(a, rows, r);
        make_orthogonal(a, rows, r);
        double norm = sqrt(inner(x, x, rows));
        for (uint64_t i = 0; i < rows; i++)
            x[i] /= norm;
    }
}

/* A = Q G^(1/2), with the Gram G = (1 - cosine) I + cosine 1 1'. Its root is own I + common 1 1'.
 */
void collinear_columns(double *a, uint64_t rows, uint64_t count, double cosine, uint64_t seed,
                       uint64_t stream)
{
    double own = sqrt(1 - cosine), all = sqrt(1 - cosine + (double)count * cosine);
    double common = (all - own) / (double)count;
    orthonormal_columns(a, rows, count, seed, stream);
    for (uint64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (uint64_t r = 0; r < count; r++)
            sum += a[r * rows + i];
        for (uint64_t r = 0; r < count; r++)
            a[r * rows + i] = own * a[r * rows + i] + common * sum;
    }
}
