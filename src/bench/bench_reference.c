#include "bench/bench_reference.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/segment_rows.h"

#define PIECE  (UINT64_C(1) << 20) /* nonzeros of a piece, which has sums of its own */
#define FILTER 4096                /* entries of a table that rules out most rows    */

/* The nonzeros, loaded a piece at a time. */
struct pieces {
    const struct tensor_input *input;
    const struct rank_rows *ranks; /* NULL, unless a rank takes its part from the file      */
    uint32_t *place[MAX_ORDER];    /* (rows of the range): see rank_rows_places; owned  */
    bool *wanted;     /* (pieces) whether a piece may have nonzeros of the part; owned */
    uint64_t nnz;     /* of all pieces, before the part is taken from them             */
    uint64_t length;  /* nonzeros of a piece; of a file, those of whole segments       */
    struct coo room;  /* where a piece of a file is decoded; owned; otherwise empty    */
    struct coo piece; /* the piece loaded last; not owned                              */
};

/* The sums of a mode. */
struct mode_sums {
    uint8_t filter[FILTER]; /* [i % FILTER] is 1 where row i may be wanted          */
    double *part;           /* (rows x R): sums of this piece; owned                */
};

static enum status pieces_open(struct pieces *p, const struct rank_tensor *t, struct error *error)
{
    const struct tensor_input *input = &t->input;
    const struct blco_file *f = &input->file;
    *p = (struct pieces){.input = input,
                         .nnz = input->x.nnz,
                         .length = PIECE,
                         .piece.shape = part_shape(&t->rows.part)};
    if (!input->unread)
        return STATUS_OK;
    const uint64_t segment = f->header->segment_nnz;
    p->ranks = t->comm->size > 1 ? &t->rows : NULL;
    p->nnz = f->header->nnz;
    p->length = segment * (segment < PIECE ? PIECE / segment : 1);
    TRY(coo_create(&p->room, &f->shape, least_of(p->length, p->nnz), error));
    if (!p->ranks)
        return STATUS_OK;
    for (int n = 0; n < p->piece.shape.order; n++) {
        p->place[n] = memory_array(p->ranks->range.here.dims[n], sizeof *p->place[n], error);
        TRY(error->status);
        rank_rows_places(p->ranks, n, p->place[n]);
    }
    /* Pieces without a segment that may have nonzeros of the part are never loaded. */
    uint64_t *number, count;
    TRY(segment_rows_of_part(&number, &count, f, &p->ranks->range, error));
    p->wanted = memory_zeros(p->nnz / p->length + 1, sizeof *p->wanted, error);
    for (uint64_t k = 0; p->wanted && k < count; k++)
        p->wanted[number[k] / (p->length / segment)] = true;
    memory_free(number);
    return error->status;
}

/* Keeps the piece's nonzeros that lie in the rank's ranges, with the numbers of the rows here. */
static void take_part(struct pieces *p)
{
    const struct part *range = &p->ranks->range;
    struct coo *x = &p->piece;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        bool inside = true;
        for (int n = 0; n < x->shape.order && inside; n++)
            inside = x->index[n][i] - range->first[n] < range->here.dims[n];
        for (int n = 0; n < x->shape.order && inside; n++)
            x->index[n][kept] = p->place[n][x->index[n][i] - range->first[n]];
        if (inside)
            x->value[kept++] = x->value[i];
    }
    x->nnz = kept;
}

/* Loads piece i into p->piece. */
static enum status pieces_load(struct pieces *p, uint64_t i, struct error *error)
{
    const struct blco_file *f = &p->input->file;
    const uint64_t first = i * p->length;
    p->piece.nnz = least_of(p->nnz - first, p->length);
    if (!p->input->unread) {
        p->piece = coo_slice(&p->input->x, first, p->piece.nnz);
        return STATUS_OK;
    }
    memcpy(p->piece.index, p->room.index, sizeof p->piece.index);
    p->piece.value = p->room.value;
    if (p->wanted && !p->wanted[i]) {
        p->piece.nnz = 0;
        return STATUS_OK;
    }
    const uint64_t segments = p->length / f->header->segment_nnz, begin = i * segments;
    const uint64_t end = least_of(begin + segments, f->header->nsegments);
    TRY(blco_file_decode(f, begin, end, &p->room, error));
    if (p->ranks)
        take_part(p);
    return STATUS_OK;
}

/* The place of `row` in s->row[n]; s->rows[n] where the row is not there. */
static uint64_t place_of(const struct bench_reference *s, int n, uint32_t row)
{
    uint64_t i = 0;
    while (i < s->rows[n] && s->row[n][i] < row)
        i++;
    return i < s->rows[n] && s->row[n][i] == row ? i : s->rows[n];
}

/* Chooses the rows of some nonzeros, evenly spread; none from a piece without nonzeros here. */
static enum status choose_rows(struct bench_reference *s, struct pieces *p, struct error *error)
{
    uint64_t loaded = UINT64_MAX;
    for (uint64_t k = 0; k < BENCH_REFERENCE_NNZ; k++) {
        uint64_t i = k * p->nnz / BENCH_REFERENCE_NNZ, piece = i / p->length;
        if (piece != loaded)
            TRY(pieces_load(p, piece, error));
        loaded = piece;
        uint64_t at = i - piece * p->length;
        for (int n = 0; n < s->shape.order && p->piece.nnz > 0; n++) {
            const uint32_t row = p->piece.index[n][at % p->piece.nnz];
            if (place_of(s, n, row) < s->rows[n])
                continue;
            uint64_t place = s->rows[n]++;
            for (; place > 0 && s->row[n][place - 1] > row; place--)
                s->row[n][place] = s->row[n][place - 1];
            s->row[n][place] = row;
        }
    }
    return STATUS_OK;
}

/* Adds to the rows of M of one mode. */
static void add_piece(struct bench_reference *s, const struct coo *x, int mode,
                      const struct ktensor *k, struct mode_sums *sums)
{
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

enum status bench_reference_create(struct bench_reference *s, const struct rank_tensor *t,
                                   const struct ktensor *k, struct error *error)
{
    struct pieces p = {0};
    *s = (struct bench_reference){.shape = part_shape(&t->rows.part), .rank = k->rank};
    struct mode_sums *sums = memory_zeros((size_t)s->shape.order, sizeof *sums, error);
    TRY(error->status);
    s->other = memory_array(shape_longest(&s->shape), s->rank * sizeof *s->other, error);
    TRY_OR(done, error->status);
    TRY_OR(done, pieces_open(&p, t, error));
    TRY_OR(done, choose_rows(s, &p, error));
    for (int n = 0; n < s->shape.order; n++) {
        s->m[n] = memory_zeros(s->rows[n], s->rank * sizeof *s->m[n], error);
        sums[n].part = memory_array(s->rows[n], s->rank * sizeof *sums->part, error);
        TRY_OR(done, error->status);
        for (uint64_t i = 0; i < s->rows[n]; i++)
            sums[n].filter[s->row[n][i] % FILTER] = 1;
    }
    for (uint64_t i = 0; i * p.length < p.nnz; i++) {
        TRY_OR(done, pieces_load(&p, i, error));
        /* One thread sums all rows of a mode, in the order of the nonzeros, so that the sums do not
         * depend on the number of threads. */
#pragma omp parallel for schedule(dynamic)
        for (int n = 0; n < s->shape.order; n++)
            add_piece(s, &p.piece, n, k, &sums[n]);
    }
done:
    for (int n = 0; n < s->shape.order; n++)
        memory_free(sums[n].part);
    memory_free(sums);
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(p.place[n]);
    memory_free(p.wanted);
    coo_free(&p.room);
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
