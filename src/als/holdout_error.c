#include "als/holdout_error.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/radix_sort.h"
#include "ranks/holdout_set.h"

#define PARTS 64 /* of the entries, summed apart, whatever the number of threads */

/* Sums over the listed entries. Values are divided by 2^exponent, so that fourth powers do not
 * overflow. */
enum { MAGNITUDES, SQUARES, FOURTHS, DEVIANCES, DEVIANCES_SQ, PERFECT, SUMS };

/* The standard error of the mean of numbers with these sums of squares and this mean. */
static double error_of_mean(double squares, double mean, double count)
{
    const double spread = squares / count - mean * mean;
    return spread > 0 ? sqrt(spread / count) : 0;
}

/* *e from the model's values at the listed entries. */
static enum status sum_errors(struct holdout_error *e, const struct backend *b,
                              const struct holdout_set *set, const double *value,
                              struct error *error)
{
    const double entries = (double)set->all_listed;
    const struct loss *loss = loss_of(b->options.problem.loss);
    const int exponent = loss->kind == POISSON_COUNTS ? set->exponent : 0; /* others do not scale */
    const double least = HOLDOUT_LEAST_RATE * ldexp(backend_mean_count(b), -exponent);
    double part[PARTS][SUMS] = {{0}}, sum[SUMS] = {0};
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTS; p++)
        for (uint64_t i = even_cut(set->listed, p, PARTS); i < even_cut(set->listed, p + 1, PARTS);
             i++) {
            const double count = set->x.value[i], x = ldexp(count, -exponent);
            const double m = ldexp(value[i], -exponent);
            const double d = fabs(x - loss_expected(loss, m));
            part[p][MAGNITUDES] += d;
            part[p][SQUARES] += d * d;
            part[p][FOURTHS] += d * d * d * d;
            if (loss->rates) {
                const double deviance = 2 * loss->misfit(x, fmax(m, least));
                part[p][DEVIANCES] += deviance;
                part[p][DEVIANCES_SQ] += deviance * deviance;
                part[p][PERFECT] += loss->perfect(count);
            }
        }
    for (int p = 0; p < PARTS; p++)
        for (int k = 0; k < SUMS; k++)
            sum[k] += part[p][k];
    TRY(comm_allreduce_sum(b->ranks->all, sum, SUMS, error));
    const double mean_sq = sum[SQUARES] / entries, rmse = sqrt(mean_sq);
    *e = (struct holdout_error){.entries = set->all_listed,
                                .loss = b->options.problem.loss,
                                .rmse = ldexp(rmse, exponent),
                                .mae = ldexp(sum[MAGNITUDES] / entries, exponent)};
    if (loss->rates) {
        const double mean = sum[DEVIANCES] / entries;
        e->value = ldexp(mean, exponent);
        e->error = ldexp(error_of_mean(sum[DEVIANCES_SQ], mean, entries), exponent);
        e->log_likelihood = sum[PERFECT] - ldexp(sum[DEVIANCES] / 2, exponent);
    } else {
        e->value = e->rmse;
        if (rmse > 0) /* of the mean square, by the derivative of the root */
            e->error = ldexp(error_of_mean(sum[FOURTHS], mean_sq, entries) / (2 * rmse), exponent);
    }
    if (isnan(e->value))
        e->value = e->rmse = INFINITY;
    return STATUS_OK;
}

/* A number whose order is that of x, which is not NaN; 0 and -0 are equal. */
static uint64_t key_of(double x)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 63 ? UINT64_MAX : UINT64_C(1) << 63);
}

static double value_of(uint64_t key)
{
    double x;
    key ^= key >> 63 ? UINT64_C(1) << 63 : UINT64_MAX;
    memcpy(&x, &key, sizeof x);
    return x;
}

/* key[0..total) = the keys of the `mine` numbers of each rank. first (ranks + 1): room. */
static enum status gather(uint64_t *key, const double *from, uint64_t mine, uint64_t *first,
                          struct comm *c, struct error *error)
{
    TRY(comm_allgather(c, &mine, sizeof mine, first + 1, error));
    first[0] = 0;
    for (int k = 0; k < c->size; k++)
        first[k + 1] += first[k];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < mine; i++)
        key[first[c->rank] + i] = key_of(from[i]);
    return comm_allgatherv(c, key, first, sizeof *key, error);
}

/* Counts the pairs of a held-out entry and an unlisted one with a smaller key, and half of those
 * with the same. The keys ascend. */
static double pairs_of(const uint64_t *key, const uint64_t *held, uint64_t count)
{
    uint64_t below = 0; /* unlisted ones */
    double pairs = 0;
    for (uint64_t i = 0, next; i < count; i = next) {
        uint64_t yes = 0;
        for (next = i; next < count && key[next] == key[i]; next++)
            yes += held[next];
        const uint64_t no = next - i - yes;
        pairs += (double)yes * ((double)below + .5 * (double)no);
        below += no;
    }
    return pairs;
}

/* value: at all entries of set->x. */
static enum status find_auc(struct holdout_error *e, struct comm *c, const struct holdout_set *set,
                            const double *value, struct error *error)
{
    const struct loss *loss = loss_of(e->loss);
    const uint64_t yes = set->all_listed, no = set->all_unlisted;
    uint64_t *key = memory_array(yes + no, sizeof *key, error);
    uint64_t *held = memory_array(yes + no, sizeof *held, error); /* 1: held out, 0: unlisted */
    uint64_t *first = memory_array((size_t)c->size + 1, sizeof *first, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, gather(key, value, set->listed, first, c, error));
    TRY_OR(done, gather(key + yes, value + set->listed, set->x.nnz - set->listed, first, c, error));
    for (uint64_t i = 0; i < yes + no; i++)
        held[i] = i < yes;
    radix_sort(key, held, yes + no, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    e->unlisted = no;
    if (loss->kind ==
        POISSON_CLIPPED) { /* of ones, half of the deviance; zeros, whose misfit is m */
        double sum = e->value / 2 * (double)yes;
        for (uint64_t i = 0; i < yes + no; i++)
            sum += held[i] ? 0 : fmax(value_of(key[i]), 0);
        e->log_loss = sum / (double)(yes + no);
    }
    e->auc = pairs_of(key, held, yes + no) / ((double)yes * (double)no);
done:
    memory_free(key, held, first);
    return error->status;
}

enum status holdout_error_find(struct holdout_error *e, struct backend *b,
                               const struct holdout_set *set, bool all, struct error *error)
{
    struct comm *c = b->ranks->all;
    struct coo x = set->x;
    x.nnz = all ? x.nnz : set->listed; /* which come first */
    double *value = memory_array(x.nnz, sizeof *value, error);
    if (value)
        backend_values(b, &x, value, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, sum_errors(e, b, set, value, error));
    if (all && set->all_unlisted > 0)
        find_auc(e, c, set, value, error);
done:
    memory_free(value);
    return error->status;
}

enum status holdout_error_size(double *size, const struct holdout_set *set, struct comm *c,
                               struct error *error)
{
    double sum = 0;
    for (uint64_t i = 0; i < set->listed; i++) {
        const double x = ldexp(set->x.value[i], -set->exponent);
        sum += x * x;
    }
    TRY(comm_allreduce_sum(c, &sum, 1, error));
    *size = ldexp(sqrt(sum / (double)set->all_listed), set->exponent);
    return STATUS_OK;
}
