#include "bench/bench.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/blco_pieces.h"

#define PIECE  (UINT64_C(1) << 20) /* nonzeros in memory that have sums of their own         */
#define SAMPLE 4096                /* groups of a file that are looked at for rows, at least */
#define FILTER 4096                /* entries of a table that rules out most rows            */

/* The sums of a mode. */
struct mode_sums {
    uint8_t filter[FILTER]; /* [i % FILTER] is 1 where row i may be wanted          */
    double *part;           /* (rows x R): sums of this piece; owned                */
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

/* The place of `row` in s->row[n]; s->rows[n] where the row is not there. */
static uint64_t place_of(const struct bench_reference *s, int n, uint32_t row)
{
    uint64_t i = 0;
    while (i < s->rows[n] && s->row[n][i] < row)
        i++;
    return i < s->rows[n] && s->row[n][i] == row ? i : s->rows[n];
}

/* Chooses the rows of some nonzeros of x, evenly spread. */
static void choose_rows(struct bench_reference *s, const struct coo *x)
{
    for (uint64_t k = 0; k < BENCH_REFERENCE_NNZ && x->nnz > 0; k++)
        for (int n = 0; n < s->shape.order; n++) {
            const uint32_t row = x->index[n][k * x->nnz / BENCH_REFERENCE_NNZ];
            if (place_of(s, n, row) < s->rows[n])
                continue;
            uint64_t place = s->rows[n]++;
            for (; place > 0 && s->row[n][place - 1] > row; place--)
                s->row[n][place] = s->row[n][place - 1];
            s->row[n][place] = row;
        }
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
        uint32_t row = x->index[mode][i];
        uint64_t place = sums->filter[row % FILTER] ? place_of(s, mode, row) : s->rows[mode];
        if (place == s->rows[mode])
            continue;
        for (uint64_t r = 0; r < k->rank; r++) {
            double product = x->value[i];
            for (int n = 0; n < x->shape.order; n++)
                product *= n == mode ? 1 : k->factor[n][x->index[n][i] * k->rank + r];
            sums->part[place * s->rank + r] += product;
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
    choose_rows(s, unread ? &sample : x);
    for (int n = 0; n < s->shape.order; n++) {
        s->m[n] = memory_zeros(s->rows[n], s->rank * sizeof *s->m[n], error);
        p.sums[n].part = memory_array(s->rows[n], s->rank * sizeof *p.sums[n].part, error);
        TRY_OR(done, error->status);
        for (uint64_t i = 0; i < s->rows[n]; i++)
            p.sums[n].filter[s->row[n][i] % FILTER] = 1;
    }
    if (unread)
        TRY_OR(done, tensor_reader_each(&reader, add_piece, &p, error));
    for (uint64_t first = 0; first < x->nnz && !unread; first += PIECE) {
        struct coo piece = coo_slice(x, first, least_of(x->nnz - first, PIECE));
        add_piece(&p, &piece, error);
    }
done:
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(p.sums[n].part, p.place[n]);
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
