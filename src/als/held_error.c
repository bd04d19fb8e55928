#include "als/held_error.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

/* The first `count` held-out entries of this rank. */
static struct coo first_of(const struct held_out *held, uint64_t count)
{
    struct coo x = held->x;
    x.nnz = count;
    return x;
}

/* *e from the model's values at the listed entries. Differences are divided by 2^exponent, so that
 * their fourth powers do not overflow. */
static enum status sum_errors(struct held_error *e, struct comm *c, const struct held_out *held,
                              const double *value, struct error *error)
{
    const double entries = (double)held->all_listed;
    double sum[3] = {0}; /* of the magnitudes, squares and fourth powers of x - m */
    for (uint64_t i = 0; i < held->listed; i++) {
        const double d =
            fabs(ldexp(held->x.value[i], -held->exponent) - ldexp(value[i], -held->exponent));
        sum[0] += d;
        sum[1] += d * d;
        sum[2] += d * d * d * d;
    }
    if (comm_allreduce_sum(c, sum, 3, error) != STATUS_OK)
        return error->status;
    const double mean_sq = sum[1] / entries, spread = sum[2] / entries - mean_sq * mean_sq;
    const double rmse = sqrt(mean_sq);
    *e = (struct held_error){.entries = held->all_listed,
                             .rmse = isnan(rmse) ? INFINITY : ldexp(rmse, held->exponent),
                             .mae = ldexp(sum[0] / entries, held->exponent)};
    if (rmse > 0 && spread > 0) /* the error of the mean square, by the derivative of the root */
        e->error = ldexp(sqrt(spread / entries) / (2 * rmse), held->exponent);
    return STATUS_OK;
}

enum status held_error_find(struct held_error *e, struct backend *b, const struct held_out *held,
                            struct error *error)
{
    const struct coo listed = first_of(held, held->listed);
    struct comm *c = b->ranks->all;
    double *value = memory_array(listed.nnz, sizeof *value, error);
    if (value)
        backend_values(b, &listed, value, error);
    if (comm_allreduce_error(c, error) != STATUS_OK)
        goto done;
    sum_errors(e, c, held, value, error);
done:
    memory_free(value);
    return error->status;
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Both ascend. Counts the pairs of a larger `yes` and a `no`, and half of the equal ones. */
static double pairs_of(const double *yes, uint64_t count, const double *no, uint64_t others)
{
    uint64_t below = 0, equal = 0;
    double pairs = 0;
    for (uint64_t i = 0; i < count; i++) {
        while (below < others && no[below] < yes[i])
            below++;
        equal = equal > below ? equal : below;
        while (equal < others && no[equal] <= yes[i])
            equal++;
        pairs += (double)below + .5 * (double)(equal - below);
    }
    return pairs;
}

/* all (total) = the `mine` numbers of each rank, in ascending order. first (ranks + 1): room. */
static enum status gather(double *all, const double *from, uint64_t mine, uint64_t *first,
                          struct comm *c, struct error *error)
{
    const struct comm_rows rows = {first, 1};
    if (comm_allgather(c, &mine, sizeof mine, first + 1, error) != STATUS_OK)
        return error->status;
    first[0] = 0;
    for (int k = 0; k < c->size; k++)
        first[k + 1] += first[k];
    memory_copy(all + first[c->rank], from, mine * sizeof *from);
    if (comm_allgatherv(c, all, &rows, error) != STATUS_OK)
        return error->status;
    qsort(all, first[c->size], sizeof *all, ascending);
    return STATUS_OK;
}

/* value: at all entries of held->x. */
static enum status find_auc(struct held_error *e, struct comm *c, const struct held_out *held,
                            const double *value, struct error *error)
{
    const uint64_t yes = held->all_listed, no = held->all_unlisted;
    double *all = memory_array(yes + no, sizeof *all, error);
    uint64_t *first = memory_array((size_t)c->size + 1, sizeof *first, error);
    if (comm_allreduce_error(c, error) != STATUS_OK)
        goto done;
    if (gather(all, value, held->listed, first, c, error) != STATUS_OK)
        goto done;
    if (gather(all + yes, value + held->listed, held->x.nnz - held->listed, first, c, error) !=
        STATUS_OK)
        goto done;
    e->unlisted = no;
    e->auc = pairs_of(all, yes, all + yes, no) / ((double)yes * (double)no);
done:
    memory_free(all);
    memory_free(first);
    return error->status;
}

enum status held_error_find_all(struct held_error *e, struct backend *b,
                                const struct held_out *held, struct error *error)
{
    struct comm *c = b->ranks->all;
    double *value = memory_array(held->x.nnz, sizeof *value, error);
    if (value)
        backend_values(b, &held->x, value, error);
    if (comm_allreduce_error(c, error) != STATUS_OK)
        goto done;
    if (sum_errors(e, c, held, value, error) != STATUS_OK)
        goto done;
    if (held->all_unlisted > 0)
        find_auc(e, c, held, value, error);
done:
    memory_free(value);
    return error->status;
}

enum status held_error_size(double *size, const struct held_out *held, struct comm *c,
                            struct error *error)
{
    double sum = 0;
    for (uint64_t i = 0; i < held->listed; i++) {
        const double x = ldexp(held->x.value[i], -held->exponent);
        sum += x * x;
    }
    if (comm_allreduce_sum(c, &sum, 1, error) != STATUS_OK)
        return error->status;
    *size = ldexp(sqrt(sum / (double)held->all_listed), held->exponent);
    return STATUS_OK;
}
