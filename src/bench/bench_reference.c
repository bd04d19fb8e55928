#include "bench/bench.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/blco_pieces.h"

#define PIECE  (UINT64_C(1) << 20) /* nonzeros in memory that have sums of their own         */
#define SAMPLE 4096                /* groups of a file that are looked at for rows, at least */

/* The sums of a mode. */
struct mode_sums {
    uint8_t *wanted; /* (I_n): 1 + the place of a row that is wanted, else 0; owned  */
    double *part;    /* (rows x R): sums of this piece; owned                        */
};

/* A pass over the nonzeros, a piece at a time. */
struct pass {
    struct bench_reference *reference;
    const struct ktensor *k;
    const struct rank_rows *ranks; /* NULL, unless a rank takes its part from the file      */
    uint32_t *place[MAX_ORDER];    /* (rows of the range): see rank_rows_places; owned      */
    struct mode_sums sums[MAX_ORDER];
};

/* Keeps the nonzeros that lie in the rank's ranges, with the numbers of the rows here. */
static void take_part(const struct pass *p, struct coo *x)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < x->nnz && p->ranks; i++) {
        const struct part *range = &p->ranks->range;
        bool inside = true;
        for (int n = 0; n < x->shape.order && inside; n++)
            inside = x->index[n][i] - range->first[n] < range->here.dims[n];
        for (int n = 0; n < x->shape.order && inside; n++)
            x->index[n][kept] = p->place[n][x->index[n][i] - range->first[n]];
        if (inside)
            x->value[kept++] = x->value[i];
    }
    x->nnz = p->ranks ? kept : x->nnz;
}

/* Chooses the rows of some nonzeros of x, evenly spread. */
static enum status choose_rows(struct pass *p, const struct coo *x, struct error *error)
{
    struct bench_reference *s = p->reference;
    for (int n = 0; n < s->shape.order; n++) {
        uint8_t *wanted = p->sums[n].wanted = memory_zeros(s->shape.dims[n], 1, error);
        TRY(error->status);
        for (uint64_t k = 0; k < BENCH_REFERENCE_NNZ && x->nnz > 0; k++)
            wanted[x->index[n][k * x->nnz / BENCH_REFERENCE_NNZ]] = 1;
        for (uint64_t i = 0; i < s->shape.dims[n]; i++)
            if (wanted[i]) {
                s->row[n][s->rows[n]++] = (uint32_t)i;
                wanted[i] = (uint8_t)s->rows[n];
            }
    }
    return STATUS_OK;
}

/* Adds to the rows of M of one mode. */
static void add_mode(struct pass *p, const struct coo *x, int mode)
{
    struct bench_reference *s = p->reference;
    struct mode_sums *sums = &p->sums[mode];
    const struct ktensor *k = p->k;
    uint64_t entries = s->rows[mode] * s->rank;
    memset(sums->part, 0, entries * sizeof *sums->part);
    for (uint64_t i = 0; i < x->nnz; i++) {
        const uint64_t place = sums->wanted[x->index[mode][i]];
        if (place == 0)
            continue;
        for (uint64_t r = 0; r < k->rank; r++) {
            double product = x->value[i];
            for (int n = 0; n < x->shape.order; n++)
                product *= n == mode ? 1 : k->factor[n][x->index[n][i] * k->rank + r];
            sums->part[(place - 1) * s->rank + r] += product;
        }
    }
    for (uint64_t i = 0; i < entries; i++)
        s->m[mode][i] += sums->part[i];
}

/* One thread sums all rows of a mode, in the order of the nonzeros. */
static enum status add_piece(void *pass, struct coo *x, struct error *error)
{
    struct pass *p = pass;
    take_part(p, x);
#pragma omp parallel for schedule(dynamic)
    for (int n = 0; n < p->reference->shape.order; n++)
        add_mode(p, x, n);
    return error->status;
}

enum status bench_reference_create(struct bench_reference *s, const struct rank_tensor *t,
                                   const struct ktensor *k, struct error *error)
{
    const struct coo *x = &t->input.x;
    const struct blco_file *f = &t->input.file;
    const bool unread = t->input.unread;
    struct tensor_reader reader = {.format = &tensor_blco, .file = f, .cut = TENSOR_STEPS};
    struct coo sample = {0};
    struct pass p = {
        .reference = s, .k = k, .ranks = unread && t->comm->size > 1 ? &t->rows : NULL};
    *s = (struct bench_reference){.shape = part_shape(&t->rows.part), .rank = k->rank};
    s->other = memory_array(shape_longest(&s->shape), s->rank * sizeof *s->other, error);
    TRY_OR(done, error->status);
    for (int n = 0; n < s->shape.order && p.ranks; n++) {
        p.place[n] = memory_array(p.ranks->range.here.dims[n], sizeof *p.place[n], error);
        TRY_OR(done, error->status);
        rank_rows_places(p.ranks, n, p.place[n]);
    }
    if (unread) {
        const uint64_t every = f->header->nnz / (SAMPLE * PACKED_GROUP_NNZ) + 1;
        TRY_OR(done, blco_sample(&sample, f, 0, f->header->nsegments, every, error));
        take_part(&p, &sample);
    }
    TRY_OR(done, choose_rows(&p, unread ? &sample : x, error));
    for (int n = 0; n < s->shape.order; n++) {
        s->m[n] = memory_zeros(s->rows[n], s->rank * sizeof *s->m[n], error);
        p.sums[n].part = memory_array(s->rows[n], s->rank * sizeof *p.sums[n].part, error);
        TRY_OR(done, error->status);
    }
    if (unread)
        TRY_OR(done, tensor_reader_each(&reader, add_piece, &p, error));
    for (uint64_t first = 0; first < x->nnz && !unread; first += PIECE) {
        struct coo piece = coo_slice(x, first, least_of(x->nnz - first, PIECE));
        add_piece(&p, &piece, error);
    }
done:
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(p.sums[n].wanted, p.sums[n].part, p.place[n]);
    coo_free(&sample);
    return error->status;
}

enum status bench_reference_compare(const struct bench_reference *f, struct backend *b, int mode,
                                    double *difference, struct error *error)
{
    double difference_sq = 0, norm_sq = 0;
    TRY(backend_fetch(b, mode, f->other, error));
    for (uint64_t i = 0; i < f->rows[mode]; i++)
        for (uint64_t r = 0; r < f->rank; r++) {
            const double expected = f->m[mode][i * f->rank + r];
            const double d = f->other[f->row[mode][i] * f->rank + r] - expected;
            difference_sq += d * d;
            norm_sq += expected * expected;
        }
    *difference = difference_sq == 0 ? 0 : sqrt(difference_sq / norm_sq);
    return STATUS_OK;
}

double bench_tolerance(enum precision precision, enum conflict conflict, uint64_t nnz)
{
    if (precision == PRECISION_DOUBLE)
        return 1e-12;
    /* `atomic` rounds once for each nonzero of a row, and all nonzeros may be in one row. Errors
     * that are as often up as down grow with the root of their number. */
    double rounding = conflict_traits[conflict].each ? 0x1p-24 * sqrt((double)nnz) : 0;
    return rounding > 1e-5 ? rounding : 1e-5;
}

void bench_reference_free(struct bench_reference *f)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(f->m[n]);
    memory_free(f->other);
    *f = (struct bench_reference){0};
}
