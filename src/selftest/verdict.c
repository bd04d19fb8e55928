#include "selftest/selftest_checks.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#define MAX_NAME 160

/* Counts an answer, shows it, and keeps it where it is the first wrong one. */
static void take(struct verdict *f, bool right, const char *name, const char *got,
                 const char *expected)
{
    f->compared++;
    if (f->shown)
        fprintf(f->shown, "      %s: %s, expected %s\n", name, got, expected);
    if (!right && !f->wrong[0])
        snprintf(f->wrong, sizeof f->wrong, "%s: %s, expected %s", name, got, expected);
}

#define FORMAT_NAME(name, what)                                                                    \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, what);                                                                 \
        vsnprintf(name, sizeof name, what, arguments);                                             \
        va_end(arguments);                                                                         \
    } while (0)

void verdict_near(struct verdict *f, double got, double expected, double tolerance,
                  const char *what, ...)
{
    char name[MAX_NAME], number[32], wanted[96];
    FORMAT_NAME(name, what);
    snprintf(number, sizeof number, "%.12g", got);
    snprintf(wanted, sizeof wanted, "%.12g within %g", expected, tolerance);
    take(f, fabs(got - expected) <= tolerance, name, number, wanted);
}

void verdict_at_most(struct verdict *f, double got, double most, const char *what, ...)
{
    char name[MAX_NAME], number[32], wanted[64];
    FORMAT_NAME(name, what);
    snprintf(number, sizeof number, "%.3g", got);
    snprintf(wanted, sizeof wanted, "at most %g", most);
    take(f, got <= most, name, number, wanted);
}

void verdict_equal(struct verdict *f, uint64_t got, uint64_t expected, const char *what, ...)
{
    char name[MAX_NAME], number[32], wanted[32];
    FORMAT_NAME(name, what);
    snprintf(number, sizeof number, "%" PRIu64, got);
    snprintf(wanted, sizeof wanted, "%" PRIu64, expected);
    take(f, got == expected, name, number, wanted);
}

static void same_shape(struct verdict *f, const struct shape *got, const struct shape *expected,
                       const char *what)
{
    verdict_equal(f, (uint64_t)got->order, (uint64_t)expected->order, "%s, order", what);
    for (int n = 0; n < expected->order; n++)
        verdict_equal(f, got->dims[n], expected->dims[n], "%s, length of mode %d", what, n + 1);
}

void verdict_same_tensor(struct verdict *f, const struct coo *got, const struct coo *expected,
                         const char *what)
{
    same_shape(f, &got->shape, &expected->shape, what);
    verdict_equal(f, got->nnz, expected->nnz, "%s, nonzeros", what);
    if (!verdict_good(f))
        return;
    uint64_t different = 0;
    for (uint64_t i = 0; i < expected->nnz; i++) {
        bool same = got->value[i] == expected->value[i];
        for (int n = 0; n < expected->shape.order; n++)
            same = same && got->index[n][i] == expected->index[n][i];
        different += !same;
    }
    verdict_equal(f, different, 0, "%s, nonzeros that are different", what);
}

/* The place in got[0..count) of the first NaN, else of what is farthest from expected[0..count). */
static uint64_t farthest(const double *got, const double *expected, uint64_t count)
{
    uint64_t at = 0;
    double most = -1;
    for (uint64_t i = 0; i < count; i++) {
        double distance = fabs(got[i] - expected[i]);
        if (isnan(distance))
            return i;
        if (distance > most) {
            most = distance;
            at = i;
        }
    }
    return at;
}

void verdict_same_model(struct verdict *f, const struct ktensor *got,
                        const struct ktensor *expected, double tolerance, const char *what)
{
    same_shape(f, &got->shape, &expected->shape, what);
    verdict_equal(f, got->rank, expected->rank, "%s, components", what);
    if (!verdict_good(f))
        return;
    const uint64_t r = farthest(got->lambda, expected->lambda, expected->rank);
    verdict_near(f, got->lambda[r], expected->lambda[r], tolerance, "%s, weight %" PRIu64, what,
                 r + 1);
    for (int n = 0; n < expected->shape.order; n++) {
        const double *a = got->factor[n], *b = expected->factor[n];
        const uint64_t i = farthest(a, b, expected->shape.dims[n] * expected->rank);
        verdict_near(f, a[i], b[i], tolerance, "%s, mode %d, row %" PRIu64, what, n + 1,
                     i / expected->rank + 1);
    }
}

bool verdict_good(const struct verdict *f)
{
    return f->compared > 0 && !f->wrong[0];
}
