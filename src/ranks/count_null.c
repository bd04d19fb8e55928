#include "ranks/count_null.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/blco_pieces.h"

#define PIECE_NNZ UINT64_C(65536) /* nonzeros that a thread takes: not a matter of their number */
#define LEAST     1e-8            /* of the total: fits to less deviance would be rounding */

/* Sums over some nonzeros. */
struct sums {
    double total;            /* of x           */
    double log_sum;          /* of x log x     */
    double perfect;          /* struct count_null, of the tensor's own values */
    double known;            /* how many values are known */
    uint64_t refused, first; /* how many values the loss does not take; the first of them */
};

static struct sums sum_piece(const struct coo *x, uint64_t first, uint64_t last,
                             const struct count_weights *w)
{
    struct sums s = {.first = UINT64_MAX};
    for (uint64_t i = first; i < last; i++) {
        const double value = x->value[i];
        if (isnan(value))
            continue;
        s.known++;
        if (!w->loss->takes(value)) {
            s.first = least_of(s.first, i);
            s.refused++;
        } else if (value > 0) {
            s.total += value;
            s.log_sum += value * log(value);
            s.perfect += w->loss->perfect(ldexp(value, w->exponent));
        }
    }
    return s;
}

/* Adds those of x to *sum: the same bits for any number of threads. */
static enum status sum_all(struct sums *sum, const struct coo *x, const struct count_weights *w,
                           struct error *error)
{
    const uint64_t pieces = (x->nnz + PIECE_NNZ - 1) / PIECE_NNZ;
    struct sums *of = memory_array(pieces, sizeof *of, error);
    if (!of)
        return error->status;
#pragma omp parallel for schedule(static) if (pieces > 1)
    for (uint64_t k = 0; k < pieces; k++)
        of[k] = sum_piece(x, k * PIECE_NNZ, least_of(x->nnz, (k + 1) * PIECE_NNZ), w);
    for (uint64_t k = 0; k < pieces; k++) {
        sum->total += of[k].total;
        sum->log_sum += of[k].log_sum;
        sum->perfect += of[k].perfect;
        sum->known += of[k].known;
        sum->refused += of[k].refused;
        sum->first = least_of(sum->first, of[k].first);
    }
    memory_free(of);
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
    struct sums sums;
    struct refused refused;
    double *margin[MAX_ORDER]; /* (rows of the mode that are here): the sums over its slices, of
                                * this rank's nonzeros; owned; NULL: not wanted */
};

/* Nonzero i of x is the first one. */
static void describe(struct refused *n, const struct coo *x, const struct part *part, uint64_t i)
{
    size_t used = 0;
    for (int m = 0; m < x->shape.order; m++) {
        const uint64_t at = x->index[m][i];
        const uint64_t row = part->row[m] ? part->row[m][at] : part->first[m] + at;
        used += (size_t)snprintf(n->at + used, sizeof n->at - used, "%s%" PRIu64, m > 0 ? " " : "",
                                 row + 1);
    }
}

static void sum_slices(double *margin, const struct coo *x, int n)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        if (x->value[i] > 0)
            margin[x->index[n][i]] += x->value[i];
}

static enum status add_nonzeros(struct tally *t, const struct coo *x, struct error *error)
{
    const int order = x->shape.order;
    t->sums.refused = 0;
    TRY(sum_all(&t->sums, x, t->weights, error));
    if (t->sums.refused > 0 && t->refused.count == 0)
        describe(&t->refused, x, &t->rows->part, t->sums.first);
    t->refused.count += t->sums.refused;
#pragma omp parallel for schedule(static, 1)
    for (int n = 0; n < order; n++)
        if (t->margin[n])
            sum_slices(t->margin[n], x, n);
    return STATUS_OK;
}

static enum status add_piece(void *tally, struct coo *piece, struct error *error)
{
    return add_nonzeros(tally, piece, error);
}

/* Whether the null model is the product of the margins. */
static bool has_margins(const struct count_weights *w)
{
    return !w->weighed && w->loss->margins;
}

/* On failure, too, the caller frees t->margin. */
static enum status tally_open(struct tally *t, const struct count_source *from,
                              const struct rank_rows *rows, const struct count_weights *w,
                              struct error *error)
{
    *t = (struct tally){.rows = rows, .weights = w, .sums.first = UINT64_MAX};
    for (int n = 0; n < from->x->shape.order && has_margins(w); n++) {
        t->margin[n] = memory_zeros(rows->part.here.dims[n], sizeof *t->margin[n], error);
        if (!t->margin[n])
            return error->status;
    }
    if (!from->file)
        return add_nonzeros(t, from->x, error);
    const struct blco_pieces pieces = blco_pieces_of(from->file, UINT64_MAX);
    return blco_pieces_each(&pieces, add_piece, t, error);
}

/* Refuses values of any rank that the loss does not take. */
static enum status refuse_values(const struct tally *t, struct error *error)
{
    struct comm *c = t->rows->all;
    struct refused *all = memory_array((size_t)c->size, sizeof *all, error);
    const char *first = NULL;
    uint64_t count = 0;
    if (!all)
        return error->status;
    TRY_OR(done, comm_allgather(c, &t->refused, sizeof t->refused, all, error));
    for (int k = 0; k < c->size; k++) {
        count += all[k].count;
        first = !first && all[k].count > 0 ? all[k].at : first;
    }
    if (count > 0)
        error_set(error, STATUS_INPUT, "%" PRIu64 " value%s %s; %s (first: at coordinates %s)",
                  count, count == 1 ? " is" : "s are", t->weights->loss->refused,
                  t->weights->loss->reason, first);
done:
    memory_free(all);
    return error->status;
}

/* *sum = that of s log(s / total) over the margins s of mode n, on all ranks. */
static enum status margin_logs(double *sum, struct tally *t, int n, double total,
                               struct error *error)
{
    const struct mode_rows *own = &t->rows->mode[n];
    const double *s = t->margin[n];
    *sum = 0;
    TRY(rank_rows_reduce_scatter(t->rows, n, t->margin[n], 1, error));
    for (uint64_t i = own->first; i < own->first + own->count; i++)
        *sum += s[i] > 0 ? s[i] * log(s[i] / total) : 0;
    return comm_allreduce_sum(t->rows->all, sum, 1, error);
}

/* The sum of x log(x / m), where m is the product of the margins. */
static enum status deviance_of_margins(double *deviance, struct tally *t, const struct sums *s,
                                       struct error *error)
{
    *deviance = s->log_sum - s->total * log(s->total);
    for (int n = 0; n < t->rows->part.here.order; n++) {
        double margin;
        TRY(margin_logs(&margin, t, n, s->total, error));
        *deviance -= margin;
    }
    return STATUS_OK;
}

static enum status find_from(struct count_null *null, struct tally *t, double listed,
                             const struct count_weights *w, struct error *error)
{
    struct sums s = t->sums;
    TRY(refuse_values(t, error));
    double sums[] = {s.total, s.log_sum, s.perfect, s.known, listed};
    TRY(comm_allreduce_sum(t->rows->all, sums, 5, error));
    s.total = sums[0], s.log_sum = sums[1], s.perfect = sums[2], s.known = sums[3];
    if (!(s.total > 0))
        return error_set(error, STATUS_INPUT, "all counts are zero");
    const struct shape *whole = &t->rows->part.whole;
    double cells = 1;
    for (int n = 0; n < whole->order; n++)
        cells *= (double)whole->dims[n];
    const double entries = s.known + (w->weighed ? w->unlisted : 1) * (cells - sums[4]);
    null->mean = s.total / entries;
    if (has_margins(w))
        TRY(deviance_of_margins(&null->deviance, t, &s, error));
    else
        null->deviance = w->loss->null_deviance(s.total, s.log_sum, entries);
    if (!(null->deviance > LEAST * s.total))
        null->deviance = s.total;
    null->total = s.total;
    null->perfect = s.perfect;
    return STATUS_OK;
}

enum status count_null_find(struct count_null *null, const struct count_source *from,
                            const struct rank_rows *rows, const struct count_weights *w,
                            struct error *error)
{
    struct tally tally;
    if (tally_open(&tally, from, rows, w, error) == STATUS_OK)
        find_from(null, &tally, (double)from->x->nnz, w, error);
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(tally.margin[n]);
    return error->status;
}
