#include "backend/value_scale.h"

#include <limits.h>
#include <math.h>

#include "base/memory.h"

/* A backend may leave the weights in the factor matrices: M of a tensor of order N then has the
 * N-th power of the norm, and sums of products with it one power more. Half of a number's exponents
 * is left for the norms of the columns of a start, which are not yet 1, and for squares. */
#define MOST_DOUBLE 480
#define MOST_SINGLE 60

bool value_scale_needed(double norm_sq, int order, enum precision precision)
{
    int most = 2 * (precision == PRECISION_SINGLE ? MOST_SINGLE : MOST_DOUBLE) / (order + 1);
    return !(norm_sq >= ldexp(1, -most) && norm_sq <= ldexp(1, most));
}

enum status value_scale_apply(struct coo *scaled, int *exponent, const struct coo *x,
                              struct comm *all, struct error *error)
{
    double most = 0; /* the largest magnitude, less than 2^exponent */
    int bad = 0;
    *scaled = *x;
    *exponent = INT_MIN; /* with zeros and unknown entries alone */
#pragma omp parallel for schedule(static) reduction(max : most) reduction(|| : bad)
    for (uint64_t i = 0; i < x->nnz; i++) {
        const double magnitude = fabs(x->value[i]);
        most = magnitude > most ? magnitude : most;
        bad = bad || isinf(magnitude);
    }
    if (bad)
        *exponent = INT_MAX;
    else if (most > 0)
        frexp(most, exponent);
    scaled->value = memory_array(x->nnz, sizeof *x->value, error);
    TRY_OR(failed, comm_allreduce_error(all, error));
    TRY_OR(failed, comm_allreduce_max(all, exponent, error));
    if (*exponent == INT_MIN || *exponent == INT_MAX)
        *exponent = 0;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++)
        scaled->value[i] = ldexp(x->value[i], -*exponent);
    return STATUS_OK;
failed:
    memory_free(scaled->value);
    scaled->value = NULL;
    return error->status;
}

enum status value_scale_undo(double *x, uint64_t count, int exponent, struct error *error)
{
    bool good = true;
    if (exponent == 0)
        return STATUS_OK;
#pragma omp parallel for schedule(static) reduction(&& : good)
    for (uint64_t i = 0; i < count; i++) {
        x[i] = ldexp(x[i], exponent);
        good = good && isfinite(x[i]);
    }
    return good ? STATUS_OK
                : error_set(error, STATUS_NUMERICAL,
                            "a weight of the model is more than a double holds, since values of "
                            "the tensor are near the largest double");
}
