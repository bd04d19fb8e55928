#include "lapack/symmetric_eigen.h"

#include "base/memory.h"
#include "lapack/lapack_library.h"

/* dsyevd asks for scratch arrays of 1 + 6 n + 2 n^2 doubles and 3 + 5 n whole numbers. V is
 * symmetric, so that its column-major order for LAPACK is also its row-major order. */
enum status symmetric_eigen(double *v, uint64_t n, double *w, struct error *error)
{
    const struct lapack_library *lapack = lapack_library(error);
    TRY(error->status);
    uint64_t doubles = 1 + 6 * n + 2 * n * n, wholes = 3 + 5 * n;
    double *work = memory_array(doubles, sizeof *work, error);
    lapack_int *whole = memory_array(wholes, sizeof *whole, error);
    lapack_int size = (lapack_int)n;
    TRY_OR(done, error->status);
    lapack_library_enter();
    lapack_int info = lapack->dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', size, v, size, w, work,
                                          (lapack_int)doubles, whole, (lapack_int)wholes);
    lapack_library_leave();
    if (info != 0)
        error_set(error, STATUS_NUMERICAL,
                  "the eigendecomposition of a symmetric matrix failed with code %d", (int)info);
done:
    memory_free(whole);
    memory_free(work);
    return error->status;
}
