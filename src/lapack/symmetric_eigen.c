#include "lapack/symmetric_eigen.h"

#include "base/memory.h"
#include "lapack/lapack_library.h"

/* dsyevd asks for scratch arrays of 1 + 6 n + 2 n^2 doubles and 3 + 5 n whole numbers. V is
 * symmetric, so that LAPACK's column-major order may be taken for row-major order. */
enum status symmetric_eigen(double *v, uint64_t n, double *w, struct error *error)
{
    const struct lapack_library *lapack = lapack_library(error);
    uint64_t doubles = 1 + 6 * n + 2 * n * n, wholes = 3 + 5 * n;
    double *work = lapack ? memory_array(doubles, sizeof *work, error) : NULL;
    lapack_int *whole = work ? memory_array(wholes, sizeof *whole, error) : NULL;
    lapack_int size = (lapack_int)n, info = 0;
    if (whole) {
        lapack_library_enter();
        info = lapack->dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', size, v, size, w, work,
                                   (lapack_int)doubles, whole, (lapack_int)wholes);
        lapack_library_leave();
    }
    if (info != 0)
        error_set(error, STATUS_NUMERICAL,
                  "the eigendecomposition of a symmetric matrix failed with code %d", (int)info);
    memory_free(whole);
    memory_free(work);
    return error->status;
}
