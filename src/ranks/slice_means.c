#include "ranks/slice_means.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "numerics/random_counter.h"
#include "ranks/holdout_set.h"

#define ROUNDS         2   /* over the modes                           */
#define MOST_SHRINKAGE 1e6 /* that is tried                            */
#define PARTS                                                                                      \
    64 /* of the entries, whose errors are summed apart, whatever the number of                    \
        * threads                                                              */

/* The value of the means at entry i of x, whose indices begin at `first` (order); without those of
 * mode `but`, unless it is -1. */
static double value_at(const struct slice_means *m, const struct coo *x, const uint64_t *first,
                       uint64_t i, int but)
{
    double value = m->mean;
    for (int n = 0; n < x->shape.order; n++) {
        const double *of = n != but ? m->of[n] : NULL;
        if (of && m->rates)
            value *= of[first[n] + x->index[n][i]];
        else if (of)
            value += of[first[n] + x->index[n][i]];
    }
    return value;
}

/* sum (length of mode n x 2): of each slice, over all entries of all ranks, the sum of the weights
 * times the values, and that of the weights. Values are less those of *m, without mode n, unless of
 * rates. Unlisted entries have the weight h. left_out (nnz) may be NULL. Each slice is summed by
 * one thread, in the order of the entries. */
static enum status sum_slices(double *sum, const struct slice_means *m, const struct rank_tensor *t,
                              const bool *left_out, double h, int n, struct error *error)
{
    const struct coo *x = &t->input.x;
    const uint64_t *first = t->part.first, length = t->shape.dims[n];
    memset(sum, 0, 2 * length * sizeof *sum);
#pragma omp parallel
    {
        const uint64_t threads = (uint64_t)omp_get_num_threads(),
                       me = (uint64_t)omp_get_thread_num();
        const uint64_t begin = x->shape.dims[n] * me / threads,
                       end = x->shape.dims[n] * (me + 1) / threads;
        for (uint64_t i = 0; i < x->nnz; i++) {
            const uint64_t at = x->index[n][i];
            if (at < begin || at >= end)
                continue;
            const bool known = !isnan(x->value[i]) && !(left_out && left_out[i]);
            const double less = m->rates ? 0 : value_at(m, x, first, i, n);
            double *slice = sum + 2 * (first[n] + at);
            slice[0] += (known ? x->value[i] - less : 0) + h * less;
            slice[1] += (known ? 1 : 0) - h;
        }
    }
    TRY(comm_allreduce_sum(t->comm, sum, 2 * length, error));
    if (h == 0)
        return STATUS_OK;
    double cells = 1, less = m->rates ? 0 : m->mean; /* of a slice; the mean over them */
    for (int k = 0; k < t->shape.order; k++) {
        double all = 0;
        if (k == n)
            continue;
        for (uint64_t i = 0; m->of[k] && !m->rates && i < t->shape.dims[k]; i++)
            all += m->of[k][i];
        cells *= (double)t->shape.dims[k];
        less += all / (double)t->shape.dims[k];
    }
    for (uint64_t i = 0; i < length; i++) {
        sum[2 * i] -= h * cells * less;
        sum[2 * i + 1] += h * cells;
    }
    return STATUS_OK;
}

/* The means with shrinkage k, of the entries that are not left out. sum: room of sum_slices for
 * every mode. */
static enum status find_means(struct slice_means *m, double k, double *sum,
                              const struct rank_tensor *t, const bool *left_out, double h,
                              const struct slice_means *old, const bool *kept, struct error *error)
{
    const int order = t->shape.order;
    double total = 0, weight = 0;
    m->shrinkage = k;
    m->mean = 0;
    for (int n = 0; n < order; n++)
        for (uint64_t i = 0; m->of[n] && i < t->shape.dims[n]; i++)
            m->of[n][i] = m->rates ? 1 : 0;
    TRY(sum_slices(sum, m, t, left_out, h, 0, error));
    for (uint64_t i = 0; i < t->shape.dims[0]; i++) {
        total += sum[2 * i];
        weight += sum[2 * i + 1];
    }
    m->mean = old ? old->mean : weight > 0 ? total / weight : 0;
    for (int n = 0; n < order && old; n++)
        if (m->of[n] && kept[n])
            memcpy(m->of[n], old->of[n], t->shape.dims[n] * sizeof *m->of[n]);
    for (int round = 0; round < (m->rates ? 1 : ROUNDS); round++)
        for (int n = 0; n < order; n++) {
            if (!m->of[n] || (old && kept[n]))
                continue;
            TRY(sum_slices(sum, m, t, left_out, h, n, error));
            for (uint64_t i = 0; i < t->shape.dims[n]; i++) {
                const double s = sum[2 * i], w = sum[2 * i + 1] + k;
                if (!m->rates)
                    m->of[n][i] = w > 0 ? s / w : 0;
                else if (w > 0 && m->mean > 0)
                    m->of[n][i] = (s + k * m->mean) / w / m->mean;
            }
        }
    return STATUS_OK;
}

#define MOST_CHANCE .999 /* of means that are probabilities, where no rate leads to the mean */

/* The rate at which this mean is to be expected. */
static double rate_of(const struct loss *loss, double mean)
{
    const double rate = loss->rate ? loss->rate(mean) : mean;
    return !loss->rate || isfinite(rate) ? rate : loss->rate(MOST_CHANCE);
}

/* The held-out errors of the means, of the entries that are left out. */
static enum status find_errors(struct baseline *baseline, const struct slice_means *m,
                               const struct rank_tensor *t, const bool *left_out,
                               const struct loss *loss, struct error *error)
{
    const struct coo *x = &t->input.x;
    const double least = HOLDOUT_LEAST_RATE * rate_of(loss, m->mean);
    int exponent = INT_MIN; /* values are below 2^exponent, so that squares do not overflow */
    double part[PARTS][3] = {{0}}, sum[3] = {0}; /* of the mean, of the slices' means; entries */
#pragma omp parallel for schedule(static) reduction(max : exponent)
    for (uint64_t i = 0; i < x->nnz; i++) {
        int own = INT_MIN;
        if (left_out[i] && x->value[i] != 0)
            frexp(x->value[i], &own);
        exponent = own > exponent ? own : exponent;
    }
    TRY(comm_allreduce_max(t->comm, &exponent, error));
    exponent = exponent == INT_MIN || loss->rates ? 0 : exponent;
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTS; p++)
        for (uint64_t i = even_cut(x->nnz, p, PARTS); i < even_cut(x->nnz, p + 1, PARTS); i++) {
            if (!left_out[i])
                continue;
            const double value[2] = {m->mean, value_at(m, x, t->part.first, i, -1)};
            for (int k = 0; k < 2; k++) {
                const double d = ldexp(x->value[i], -exponent) - ldexp(value[k], -exponent);
                part[p][k] += loss->rates ? 2 * loss->misfit(x->value[i],
                                                             fmax(rate_of(loss, value[k]), least))
                                          : d * d;
            }
            part[p][2]++;
        }
    for (int p = 0; p < PARTS; p++)
        for (int k = 0; k < 3; k++)
            sum[k] += part[p][k];
    TRY(comm_allreduce_sum(t->comm, sum, 3, error));
    for (int k = 0; k < 2; k++)
        sum[k] = sum[2] == 0   ? 0
                 : loss->rates ? sum[k] / sum[2]
                               : ldexp(sqrt(sum[k] / sum[2]), exponent);
    *baseline = (struct baseline){.mean = sum[0], .slices = sum[1]};
    return STATUS_OK;
}

enum status slice_means_find(struct slice_means *m, struct baseline *baseline,
                             const struct rank_tensor *t, const struct problem *p,
                             const struct slice_means *old, struct error *error)
{
    const struct coo *x = &t->input.x;
    const struct loss *loss = loss_of(p->loss);
    const double h = p->unlisted.weighed ? p->unlisted.weight : 1;
    const bool chooses = m->shrinkage < 0 && p->holdout.share > 0;
    double k = chooses ? 1 : m->shrinkage < 0 ? SLICE_SHRINKAGE : m->shrinkage;
    bool *left_out = NULL;
    double *sum = memory_array(shape_longest(&t->shape), 2 * sizeof *sum, error);
    m->shape = t->shape;
    m->rates = loss->rates;
    *baseline = (struct baseline){0};
    for (int n = 0; n < t->shape.order && error->status == STATUS_OK; n++)
        if (m->mode[n])
            m->of[n] = memory_array(t->shape.dims[n], sizeof *m->of[n], error);
    if (p->holdout.share > 0 && error->status == STATUS_OK) {
        left_out = memory_array(x->nnz, sizeof *left_out, error);
        if (left_out)
            holdout_choose(&p->holdout, x, t->part.first, left_out);
    }
    TRY_OR(done, comm_allreduce_error(t->comm, error));
    TRY_OR(done, find_means(m, k, sum, t, left_out, h, old, p->rules.fixed, error));
    if (left_out)
        TRY_OR(done, find_errors(baseline, m, t, left_out, loss, error));
    while (chooses && k < MOST_SHRINKAGE) {
        struct baseline next;
        const double power = pow(10, floor(log10(k) + .1));
        const double further = (k < 2 * power ? 3 : 10) * power; /* 1, 3, 10, 30, ... */
        TRY_OR(done, find_means(m, further, sum, t, left_out, h, old, p->rules.fixed, error));
        TRY_OR(done, find_errors(&next, m, t, left_out, loss, error));
        if (!(next.slices < baseline->slices)) {
            TRY_OR(done, find_means(m, k, sum, t, left_out, h, old, p->rules.fixed, error));
            break;
        }
        *baseline = next;
        k = further;
    }
done:
    memory_free(sum, left_out);
    return error->status;
}

enum status slice_means_take_off(const struct slice_means *m, struct rank_tensor *t,
                                 struct error *error)
{
    struct coo *x = &t->input.x;
    uint64_t bad = x->nnz, word[2] = {0, 0};
    double listed[2];
    if (!isfinite(m->mean))
        return error_set(error, STATUS_INPUT,
                         "--values center: the values are too large for their mean");
    rank_tensor_own_arrays(t, error);
    TRY(comm_allreduce_error(t->comm, error));
    rank_tensor_take_hash(t);
    for (int n = 0; n < t->shape.order && t->comm->rank == 0; n++) {
        uint64_t bits;
        memcpy(&bits, &m->shrinkage, sizeof bits);
        random_words(bits, word[0], m->mode[n], word);
    }
    t->hash += word[0];
    x = &t->input.x;
#pragma omp parallel for schedule(static) reduction(min : bad)
    for (uint64_t i = 0; i < x->nnz; i++) {
        const double left = x->value[i] - value_at(m, x, t->part.first, i, -1);
        if (isinf(left))
            bad = i < bad ? i : bad;
        else
            x->value[i] = left;
    }
    if (bad < x->nnz)
        error_set(error, STATUS_INPUT, "--values center: a value of %.9g becomes too large",
                  x->value[bad]);
    TRY(comm_allreduce_error(t->comm, error));
    const struct coo_listed mine = coo_count_listed(x);
    listed[0] = (double)mine.unknown;
    listed[1] = (double)mine.zeros;
    TRY(comm_allreduce_sum(t->comm, listed, 2, error));
    t->listed.unknown = (uint64_t)listed[0];
    t->listed.zeros = (uint64_t)listed[1];
    return STATUS_OK;
}

int slice_means_components(const struct slice_means *m)
{
    int count = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        count += m->mode[n];
    return count > 0 ? 1 + count : 0;
}

enum status slice_means_append(struct ktensor *k, const struct slice_means *m, struct error *error)
{
    const uint64_t components = k->rank, all = components + (uint64_t)slice_means_components(m);
    TRY(ktensor_set_rank(k, all, error));
    k->lambda[components] = m->mean;
    for (int n = 0, column = 0; n < k->shape.order; n++) {
        column += m->mode[n]; /* of this mode, after that of the mean */
        for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
            const uint64_t row = ktensor_row(k, n, i);
            double *a = k->factor[n] + i * all + components;
            for (uint64_t r = 0; r < all - components; r++)
                a[r] = 1;
            if (m->mode[n])
                a[column] = row == NO_ROW ? 0 : m->of[n][row];
        }
    }
    return STATUS_OK;
}

enum status slice_means_split(struct slice_means *m, struct ktensor *k, struct error *error)
{
    const uint64_t all = k->rank, components = all - (uint64_t)slice_means_components(m);
    if (components == all)
        return STATUS_OK;
    m->shape = k->shape;
    m->mean = k->lambda[components];
    for (int n = 0, column = 0; n < k->shape.order; n++) {
        column += m->mode[n];
        if (!m->mode[n] || k->shape.dims[n] == 0)
            continue;
        m->of[n] = memory_array(k->shape.dims[n], sizeof *m->of[n], error);
        TRY(error->status);
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            m->of[n][i] = k->factor[n][i * all + components + (uint64_t)column];
    }
    return ktensor_set_rank(k, components, error);
}

void slice_means_free(struct slice_means *m)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(m->of[n]);
    *m = (struct slice_means){0};
}
