#include "ranks/count_null.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/blco_pieces.h"
#include "numerics/poisson_term.h"

#define PIECE_NNZ UINT64_C(65536) /* nonzeros that a thread takes: not a matter of their number */
#define LEAST     1e-8            /* of the total: fits to less deviance would be rounding */

/* Sums over some nonzeros. */
struct sums {
    double total;             /* of x           */
    double log_sum;           /* of x log x     */
    double perfect;           /* struct count_null, of the tensor's own values */
    double known;             /* how many values are known */
    uint64_t negative, first; /* how many values are negative; the first of them */
};

static struct sums sum_piece(const struct coo *x, uint64_t first, uint64_t last, int exponent)
{
    struct sums s = {.first = UINT64_MAX};
    for (uint64_t i = first; i < last; i++) {
        const double value = x->value[i];
        if (isnan(value))
            continue;
        s.known++;
        if (value < 0) {
            s.first = least_of(s.first, i);
            s.negative++;
        } else if (value > 0) {
            s.total += value;
            s.log_sum += value * log(value);
            s.perfect += poisson_perfect(ldexp(value, exponent));
        }
    }
    return s;
}

/* Adds those of x to *sum: the same bits for any number of threads. */
static enum status sum_all(struct sums *sum, const struct coo *x, int exponent, struct error *error)
{
    const uint64_t pieces = (x->nnz + PIECE_NNZ - 1) / PIECE_NNZ;
    struct sums *of = memory_array(pieces, sizeof *of, error);
    if (!of)
        return error->status;
#pragma omp parallel for schedule(static) if (pieces > 1)
    for (uint64_t k = 0; k < pieces; k++)
        of[k] = sum_piece(x, k * PIECE_NNZ, least_of(x->nnz, (k + 1) * PIECE_NNZ), exponent);
    for (uint64_t k = 0; k < pieces; k++) {
        sum->total += of[k].total;
        sum->log_sum += of[k].log_sum;
        sum->perfect += of[k].perfect;
        sum->known += of[k].known;
        sum->negative += of[k].negative;
        sum->first = least_of(sum->first, of[k].first);
    }
    memory_free(of);
    return STATUS_OK;
}

#define COORDINATES_TEXT (24 * MAX_ORDER)

/* Where the first negative value of a rank is, and how many it has. */
struct negative {
    uint64_t count;
    char at[COORDINATES_TEXT];
};

/* What is known of the nonzeros of a rank. */
struct tally {
    const struct rank_rows *rows;
    int exponent;
    struct sums sums;
    struct negative negative;
    double *margin[MAX_ORDER]; /* (rows of the mode that are here): the sums over its slices, of
                                * this rank's nonzeros; owned; NULL: not wanted */
};

static enum status add_nonzeros(struct tally *t, const struct coo *x, struct error *error)
{
    const int order = x->shape.order;
    t->sums.negative = 0;
    TRY(sum_all(&t->sums, x, t->exponent, error));
    const struct part *part = &t->rows->part;
    size_t used = 0;
    for (int n = 0; n < order && t->sums.negative > 0 && t->negative.count == 0; n++) {
        const uint64_t at = x->index[n][t->sums.first];
        const uint64_t row = part->row[n] ? part->row[n][at] : part->first[n] + at;
        used += (size_t)snprintf(t->negative.at + used, sizeof t->negative.at - used, "%s%" PRIu64,
                                 n > 0 ? " " : "", row + 1);
    }
    t->negative.count += t->sums.negative;
#pragma omp parallel for schedule(static, 1)
    for (int n = 0; n < order; n++)
        for (uint64_t i = 0; i < x->nnz && t->margin[n]; i++)
            if (x->value[i] > 0)
                t->margin[n][x->index[n][i]] += x->value[i];
    return STATUS_OK;
}

static enum status add_piece(void *tally, struct coo *piece, struct error *error)
{
    return add_nonzeros(tally, piece, error);
}

/* Refuses negative values, of any rank. */
static enum status refuse_negative(const struct tally *t, struct error *error)
{
    struct comm *c = t->rows->all;
    struct negative *all = memory_array((size_t)c->size, sizeof *all, error);
    const char *first = NULL;
    uint64_t count = 0;
    if (!all)
        return error->status;
    TRY_OR(done, comm_allgather(c, &t->negative, sizeof t->negative, all, error));
    for (int k = 0; k < c->size; k++) {
        count += all[k].count;
        first = !first && all[k].count > 0 ? all[k].at : first;
    }
    if (count > 0)
        error_set(error, STATUS_INPUT,
                  "%" PRIu64 " value%s negative; --loss poisson is for counts (first: at "
                  "coordinates %s)",
                  count, count == 1 ? " is" : "s are", first);
done:
    memory_free(all);
    return error->status;
}

/* The sum of x log(x / m), where m is the product of the margins. */
static enum status deviance_of_margins(double *deviance, struct tally *t, const struct sums *s,
                                       struct error *error)
{
    *deviance = s->log_sum - s->total * log(s->total);
    for (int n = 0; n < t->rows->part.here.order; n++) {
        const struct mode_rows *own = &t->rows->mode[n];
        const double *margin = t->margin[n];
        double sum = 0; /* of s log(s / total) over the margins s, on all ranks */
        TRY(rank_rows_reduce_scatter(t->rows, n, t->margin[n], 1, error));
        for (uint64_t i = own->first; i < own->first + own->count; i++)
            sum += margin[i] > 0 ? margin[i] * log(margin[i] / s->total) : 0;
        TRY(comm_allreduce_sum(t->rows->all, &sum, 1, error));
        *deviance -= sum;
    }
    return STATUS_OK;
}

static enum status find_from(struct count_null *null, struct tally *t, double listed,
                             const struct count_weights *w, struct error *error)
{
    struct sums s = t->sums;
    TRY(refuse_negative(t, error));
    double sums[] = {s.total, s.log_sum, s.perfect, s.known, listed};
    TRY(comm_allreduce_sum(t->rows->all, sums, 5, error));
    s.total = sums[0], s.log_sum = sums[1], s.perfect = sums[2], s.known = sums[3];
    if (!(s.total > 0))
        return error_set(error, STATUS_INPUT, "all counts are zero");
    const struct shape *whole = &t->rows->part.whole;
    double cells = 1;
    for (int n = 0; n < whole->order; n++)
        cells *= (double)whole->dims[n];
    null->mean = s.total / (s.known + (w->weighed ? w->unlisted : 1) * (cells - sums[4]));
    if (w->weighed)
        null->deviance = s.log_sum - s.total * log(null->mean);
    else
        TRY(deviance_of_margins(&null->deviance, t, &s, error));
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
    struct tally tally = {.rows = rows, .exponent = w->exponent, .sums.first = UINT64_MAX};
    for (int n = 0; n < from->x->shape.order && !w->weighed; n++) {
        tally.margin[n] = memory_zeros(rows->part.here.dims[n], sizeof *tally.margin[n], error);
        TRY_OR(done, error->status);
    }
    if (from->file) {
        const struct blco_pieces pieces = blco_pieces_of(from->file, UINT64_MAX);
        TRY_OR(done, blco_pieces_each(&pieces, add_piece, &tally, error));
    } else {
        TRY_OR(done, add_nonzeros(&tally, from->x, error));
    }
    find_from(null, &tally, (double)from->x->nnz, w, error);
done:
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(tally.margin[n]);
    return error->status;
}
