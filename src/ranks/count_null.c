#include "ranks/count_null.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/blco_pieces.h"
#include "tensor/coo_census.h"

#define PIECE UINT64_C(65536) /* nonzeros or slices that a thread takes, however many there are */
#define LEAST 1e-8            /* of the total: fits to less deviance would be rounding */
#define SMALL 256             /* counts below it are looked up: logarithms take long      */

/* Sums over some nonzeros. */
struct sums {
    double total;            /* of x           */
    double saturated;        /* struct loss    */
    double perfect;          /* struct count_null, of the tensor's own values */
    double known;            /* how many values are known */
    uint64_t refused, first; /* how many values the loss does not take; the first of them */
};

/* What the values 0 to SMALL - 1 of the tensor add to the sums. */
struct small_counts {
    double saturated[SMALL], perfect[SMALL];
};

static void find_small(struct small_counts *small, const struct count_weights *w)
{
    for (int k = 1; k < SMALL; k++) {
        const double value = ldexp(k, -w->exponent);
        small->saturated[k] = w->loss->values.takes(value) ? w->loss->saturated(value) : 0;
        small->perfect[k] = w->loss->values.takes(value) ? w->loss->perfect(k) : 0;
    }
}

static struct sums sum_piece(const struct coo *x, uint64_t first, uint64_t last,
                             const struct count_weights *w, const struct small_counts *small)
{
    struct sums s = {.first = UINT64_MAX};
    for (uint64_t i = first; i < last; i++) {
        const double value = x->value[i];
        if (isnan(value))
            continue;
        s.known++;
        if (!w->loss->values.takes(value)) {
            s.first = least_of(s.first, i);
            s.refused++;
        } else if (value > 0) {
            const double count = ldexp(value, w->exponent);
            const int k = count < SMALL ? (int)count : 0;
            const bool looked_up = k > 0 && count == k;
            s.total += value;
            s.saturated += looked_up ? small->saturated[k] : w->loss->saturated(value);
            s.perfect += looked_up ? small->perfect[k] : w->loss->perfect(count);
        }
    }
    return s;
}

/* Adds those of x to *sum: the same bits for any number of threads. */
static enum status sum_all(struct sums *sum, const struct coo *x, const struct count_weights *w,
                           const struct small_counts *small, struct error *error)
{
    const uint64_t pieces = (x->nnz + PIECE - 1) / PIECE;
    struct sums *piece = memory_array(pieces, sizeof *piece, error);
    TRY(error->status);
#pragma omp parallel for schedule(static) if (pieces > 1)
    for (uint64_t k = 0; k < pieces; k++)
        piece[k] = sum_piece(x, k * PIECE, least_of(x->nnz, (k + 1) * PIECE), w, small);
    for (uint64_t k = 0; k < pieces; k++) {
        sum->total += piece[k].total;
        sum->saturated += piece[k].saturated;
        sum->perfect += piece[k].perfect;
        sum->known += piece[k].known;
        sum->refused += piece[k].refused;
        sum->first = least_of(sum->first, piece[k].first);
    }
    memory_free(piece);
    return STATUS_OK;
}

#define COORDINATES_TEXT (24 * MAX_ORDER)

/* Where the first value of a rank is that the loss does not take, and how many it has. */
struct refused {
    uint64_t count;
    char at[COORDINATES_TEXT];
};

/* What is known of the nonzeros of a rank. */
struct tally {
    const struct rank_rows *rows;
    const struct count_weights *weights;
    struct small_counts small;
    struct sums sums;
    struct refused refused;
    double *margin[MAX_ORDER]; /* (rows of the mode that are here): the sums over its slices, of
                                * this rank's nonzeros; owned; NULL: not wanted */
};

static enum status add_nonzeros(void *tally, struct coo *x, struct error *error)
{
    struct tally *t = tally;
    const int order = x->shape.order;
    t->sums.refused = 0;
    TRY(sum_all(&t->sums, x, t->weights, &t->small, error));
    const struct part *part = &t->rows->part;
    size_t used = 0;
    for (int n = 0; n < order && t->sums.refused > 0 && t->refused.count == 0; n++) {
        const uint64_t at = x->index[n][t->sums.first];
        const uint64_t row = part->row[n] ? part->row[n][at] : part->first[n] + at;
        used += (size_t)snprintf(t->refused.at + used, sizeof t->refused.at - used, "%s%" PRIu64,
                                 n > 0 ? " " : "", row + 1);
    }
    t->refused.count += t->sums.refused;
    for (int n = 0; n < order; n++)
        if (t->margin[n])
            TRY(coo_sum_slices(t->margin[n], x, n, error));
    return STATUS_OK;
}

/* Whether the null model is the product of the margins. */
static bool has_margins(const struct count_weights *w)
{
    return !w->weighed && w->loss->margins;
}

/* Refuses values of any rank that the loss does not take. */
static enum status refuse_values(const struct tally *t, struct error *error)
{
    struct comm *c = t->rows->all;
    struct refused *all = memory_array((size_t)c->size, sizeof *all, error);
    const char *first = NULL;
    uint64_t count = 0;
    TRY(error->status);
    TRY_OR(done, comm_allgather(c, &t->refused, sizeof t->refused, all, error));
    for (int k = 0; k < c->size; k++) {
        count += all[k].count;
        first = !first && all[k].count > 0 ? all[k].at : first;
    }
    if (count > 0)
        error_set(error, STATUS_INPUT, "%" PRIu64 " value%s %s; %s (first: at coordinates %s)",
                  count, count == 1 ? " is" : "s are", t->weights->loss->values.refused,
                  t->weights->loss->values.reason, first);
done:
    memory_free(all);
    return error->status;
}

/* The deviance is the sum of x log(x / m), where m is the product of the margins. */
static enum status deviance_of_margins(struct count_null *null, struct tally *t, double saturated,
                                       struct error *error)
{
    const double total = null->total;
    null->deviance = saturated - total * log(total);
    for (int n = 0; n < t->rows->part.here.order; n++) {
        const struct mode_rows *own = &t->rows->mode[n];
        double *margin = t->margin[n], sum = 0; /* of s log(s / total) over the margins s */
        TRY(rank_rows_reduce_scatter(t->rows, n, margin, 1, error));
        margin += own->first;
#pragma omp parallel for schedule(static)
        for (uint64_t first = 0; first < own->count; first += PIECE) {
            const uint64_t last = least_of(own->count, first + PIECE);
            double piece = 0;
            for (uint64_t i = first; i < last; i++)
                piece += margin[i] > 0 ? margin[i] * log(margin[i] / total) : 0;
            margin[first] = piece; /* nobody else reads it */
        }
        for (uint64_t first = 0; first < own->count; first += PIECE)
            sum += margin[first];
        TRY(comm_allreduce_sum(t->rows->all, &sum, 1, error));
        null->deviance -= sum;
    }
    return STATUS_OK;
}

enum status count_null_find(struct count_null *null, const struct coo *x,
                            const struct blco_file *file, const struct rank_rows *rows,
                            const struct count_weights *w, struct error *error)
{
    struct tally tally = {.rows = rows, .weights = w, .sums.first = UINT64_MAX};
    const struct sums *s = &tally.sums;
    const struct shape *whole = &rows->part.whole;
    struct coo here = *x;
    double cells = 1;
    for (int n = 0; n < x->shape.order && has_margins(w); n++) {
        tally.margin[n] = memory_zeros(rows->part.here.dims[n], sizeof *tally.margin[n], error);
        TRY_OR(done, error->status);
    }
    find_small(&tally.small, w);
    if (file) {
        struct tensor_reader r = {
            .format = &tensor_blco, .file = file, .cut = TENSOR_PIECES, .memory = UINT64_MAX};
        TRY_OR(done, tensor_reader_each(&r, add_nonzeros, &tally, error));
    } else {
        TRY_OR(done, add_nonzeros(&tally, &here, error));
    }
    TRY_OR(done, refuse_values(&tally, error));
    double sums[] = {s->total, s->saturated, s->perfect, s->known, (double)x->nnz};
    TRY_OR(done, comm_allreduce_sum(rows->all, sums, 5, error));
    *null = (struct count_null){.total = sums[0], .perfect = sums[2]};
    if (!(null->total > 0)) {
        error_set(error, STATUS_INPUT, "all counts are zero");
        goto done;
    }
    for (int n = 0; n < whole->order; n++)
        cells *= (double)whole->dims[n];
    const double entries = sums[3] + (w->weighed ? w->unlisted : 1) * (cells - sums[4]);
    null->mean = null->total / entries;
    const double rate = w->loss->rate ? w->loss->rate(null->mean) : null->mean;
    if (!(rate > 0 && isfinite(rate))) {
        error_set(error, STATUS_INPUT, "all known values are 1, %s", w->loss->unbounded);
        goto done;
    }
    if (has_margins(w))
        TRY_OR(done, deviance_of_margins(null, &tally, sums[1], error));
    else
        null->deviance = w->loss->null_deviance(null->total, sums[1], entries);
    if (!(null->deviance > LEAST * null->total))
        null->deviance = null->total;
    if (w->loss->rate) {
        null->mean = rate;
        null->total = rate * entries;
    }
done:
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(tally.margin[n]);
    return error->status;
}
