/* A pass of the kernels of rows (kernels/rows/row_systems.h) over a small tensor, in the memory of
 * the host. Include it after cmocka.h. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rows/row_systems.h"
#include "numerics/poisson_term.h"
#include "support/naive.h"

#define ROW_CASE_RANK  64
#define ROW_CASE_ROWS  64
#define ROW_CASE_NNZ   2048
#define ROW_CASE_CELLS 512 /* of a row, at most */
#define ROW_CASE_STEP                                                                              \
    2 /* from the number of one row to the next: rows between have no nonzeros                     \
       */

struct row_case {
    int order;
    uint32_t rank;
    enum precision precision;
    bool wide_values, two_words, bases;
    double unlisted, ridge;
    bool nonneg, counted, counts, multiplies, all_known, sent;
    enum poisson_kind kind; /* of counts */
    bool faint;             /* every other component is far smaller in every other row of table 1 */
    int short_rows;
    uint32_t unknown;   /* of so many values one is unknown; 0: of 5 */
    uint32_t chunk_nnz; /* of a chunk: where rows are cut             */
    uint64_t seed;
};

/* What a pass is given, and what it leaves. */
struct row_pass {
    struct row_case of;
    uint32_t rows, ld;            /* rows that have nonzeros; entries of a row of a table   */
    int first[ROW_CASE_ROWS + 1]; /* the nonzeros of each                                   */
    uint32_t at[ROW_CASE_NNZ][MAX_ORDER]; /* their coordinates                                */
    double value[ROW_CASE_NNZ];
    double *table[MAX_ORDER]; /* (I_n x rank), as the kernel reads them                 */
    uint32_t dims[MAX_ORDER];
    void *rows_of[MAX_ORDER]; /* ... of the precision, (I_n x ld)                       */
    void *m;                  /* the new rows                                           */
    void *values;
    uint64_t index[2][ROW_CASE_NNZ], chunk[ROW_CASE_NNZ + 1];
    uint32_t block[ROW_CASE_NNZ], continued[ROW_CASE_NNZ + 1], base[ROW_CASE_ROWS * MAX_ORDER];
    struct row_join join[ROW_CASE_NNZ];
    uint32_t next, left[ROW_CASE_NNZ];
    struct row_totals totals[2 * ROW_CASE_NNZ];
    double *part;
    double v[ROW_CASE_RANK * ROW_CASE_RANK], v_inverse[ROW_CASE_RANK * ROW_CASE_RANK];
    double ridge[ROW_CASE_RANK], inverse[ROW_CASE_RANK], now[ROW_CASE_RANK], out[ROW_CASE_RANK];
    double linear[ROW_CASE_RANK], unit[ROW_CASE_RANK], cell[ROW_CASE_RANK];
    struct row_systems_args args;
};

static const uint32_t row_case_dims[6][4] = {{0}, {0}, {300}, {20, 15}, {8, 7, 6}, {5, 5, 4, 3}};
#define ROW_CASE_LOW_BITS 3 /* of a row's number, which the index has where there are bases */

/* Between low and high. */
static inline double row_case_number(struct row_pass *p, double low, double high)
{
    return low + (high - low) * (double)(naive_random(&p->of.seed) % 10007) / 10006;
}

static inline bool row_case_is_single(const struct row_pass *p)
{
    return p->of.precision == PRECISION_SINGLE;
}

/* Entry e of an array of the precision. */
static inline double row_case_entry(const struct row_pass *p, const void *array, uint64_t e)
{
    return row_case_is_single(p) ? (double)((const float *)array)[e] : ((const double *)array)[e];
}

static inline void row_case_put(const struct row_pass *p, void *array, uint64_t e, double x)
{
    if (row_case_is_single(p))
        ((float *)array)[e] = (float)x;
    else
        ((double *)array)[e] = x;
}

static inline void *row_case_array(uint64_t count, uint64_t bytes)
{
    void *x = aligned_alloc(16, (count * bytes + 15) / 16 * 16);
    assert_non_null(x);
    memset(x, 0xff, count * bytes);
    return x;
}

static inline void row_case_make_tables(struct row_pass *p)
{
    const uint32_t rank = p->of.rank;
    const double least = p->of.counts || p->of.nonneg ? .05 : -1;
    const uint64_t bytes = precision_bytes(p->of.precision);
    p->ld = (uint32_t)((rank * bytes + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES / bytes);
    p->dims[0] = ROW_CASE_STEP * p->rows + 1;
    for (int n = 1; n < p->of.order; n++)
        p->dims[n] = row_case_dims[p->of.order][n - 1];
    for (int n = 0; n < p->of.order; n++) {
        p->table[n] = row_case_array((uint64_t)p->dims[n] * rank, sizeof(double));
        p->rows_of[n] = row_case_array((uint64_t)p->dims[n] * p->ld, bytes);
        for (uint64_t i = 0; i < p->dims[n]; i++)
            for (uint64_t r = 0; r < p->ld; r++) {
                const bool faint = p->of.faint && n == 1 && i % 2 == 0 && r % 2 == 0;
                row_case_put(p, p->rows_of[n], i * p->ld + r,
                             r < rank ? row_case_number(p, least, 1) * (faint ? 1e-9 : 1) : 0);
                if (r < rank)
                    p->table[n][i * rank + r] = row_case_entry(p, p->rows_of[n], i * p->ld + r);
            }
    }
    p->m = row_case_array((uint64_t)p->dims[0] * p->ld, bytes);
}

/* A row's nonzeros are distinct. Few values of some rows are known, or none. */
static inline void row_case_make_row(struct row_pass *p, uint32_t row, int count)
{
    uint32_t cell[ROW_CASE_CELLS], cells = 1;
    const int first = p->first[row];
    for (int n = 1; n < p->of.order; n++)
        cells *= p->dims[n];
    for (uint32_t c = 0; c < cells; c++)
        cell[c] = c;
    assert_true((uint32_t)count <= cells && first + count <= ROW_CASE_NNZ);
    for (int i = 0; i < count; i++) {
        const uint32_t other =
            (uint32_t)i + (uint32_t)(naive_random(&p->of.seed) % (cells - (uint32_t)i));
        uint32_t c = cell[other];
        cell[other] = cell[i];
        p->at[first + i][0] = ROW_CASE_STEP * row + 1;
        for (int n = 1; n < p->of.order; n++, c /= p->dims[n - 1])
            p->at[first + i][n] = c % p->dims[n];
        double x = row_case_number(p, -2, 2);
        if (p->of.counts)
            x = row % 9 == 4
                    ? 0
                    : (double)(naive_random(&p->of.seed) % (p->of.kind == POISSON_CLIPPED ? 2 : 5));
        if (p->of.kind == POISSON_TRUNCATED && x == 0)
            x = NAN;
        const uint64_t some = row % 11 == 7 ? 1 : p->of.unknown > 0 ? p->of.unknown : 5;
        if (!p->of.all_known && naive_random(&p->of.seed) % some == 0)
            x = NAN;
        p->value[first + i] = row_case_is_single(p) && !p->of.wide_values ? (double)(float)x : x;
    }
    p->first[row + 1] = first + count;
}

static inline void row_case_make_common(struct row_pass *p)
{
    const uint32_t rank = p->of.rank;
    for (uint32_t r = 0; r < rank; r++) {
        p->now[r] = row_case_number(p, .5, 2);
        p->out[r] = row_case_number(p, .5, 2);
        p->unit[r] = 1 / p->out[r];
        p->ridge[r] = p->of.counts ? POISSON_RIDGE / (rank * p->unit[r] * p->unit[r])
                                   : p->of.ridge * row_case_number(p, .5, 1);
        p->linear[r] = p->of.unlisted;
        p->cell[r] = 1;
        for (uint32_t s = 0; s < rank; s++)
            p->v[r * rank + s] = p->of.unlisted;
        for (int n = 1; n < p->of.order; n++) {
            double sum = 0, square = 0;
            for (uint32_t i = 0; i < p->dims[n]; i++) {
                sum += p->table[n][i * rank + r];
                square += p->table[n][i * rank + r] * p->table[n][i * rank + r];
            }
            p->linear[r] *= sum;
            p->cell[r] *= square / p->dims[n];
            for (uint32_t s = 0; s < rank; s++) {
                double inner = 0;
                for (uint32_t i = 0; i < p->dims[n]; i++)
                    inner += p->table[n][i * rank + r] * p->table[n][i * rank + s];
                p->v[r * rank + s] *= inner;
            }
        }
        p->inverse[r] = p->of.counts ? (p->linear[r] > 0 ? 1 / p->linear[r] : 0) : 1 / p->ridge[r];
    }
}

/* Fields of 9 bits; those of the rows have what is left. */
static inline struct mttkrp_field row_case_field(const struct row_pass *p, int n)
{
    const uint32_t mask = n > 0 ? 511 : p->of.bases ? (1u << ROW_CASE_LOW_BITS) - 1 : 65535;
    const int word = p->of.two_words && n % 2 == 1;
    return (struct mttkrp_field){word, n > 0 ? 9 * n - 9 : 9 * p->of.order, mask, n};
}

/* The value of nonzero i, whose nonzeros are made. */
static inline void row_case_set_value(struct row_pass *p, int i, double x)
{
    p->value[i] = x;
    if (row_case_is_single(p) && !p->of.wide_values)
        ((float *)p->values)[i] = (float)x;
    else
        ((double *)p->values)[i] = x;
}

static inline void row_case_make_nonzeros(struct row_pass *p)
{
    const int nnz = p->first[p->rows];
    p->values = row_case_array((uint64_t)nnz, sizeof(double));
    for (int i = 0; i < nnz; i++) {
        for (int n = 0; n < p->of.order; n++) {
            const struct mttkrp_field f = row_case_field(p, n);
            p->index[f.word][i] |= (uint64_t)(p->at[i][n] & f.mask) << f.shift;
        }
        row_case_set_value(p, i, p->value[i]);
    }
    for (uint32_t b = 0; b < ROW_CASE_ROWS; b++)
        p->base[b * MAX_ORDER] = b << ROW_CASE_LOW_BITS;
}

/* The block of nonzero i. */
static inline uint32_t row_case_block(const struct row_pass *p, int i)
{
    return p->of.bases ? p->at[i][0] >> ROW_CASE_LOW_BITS : 0;
}

/* Chunks, which end where blocks end, and joins of the rows that they share. */
static inline void row_case_make_chunks(struct row_pass *p)
{
    struct row_systems_args *a = &p->args;
    const int nnz = p->first[p->rows];
    for (int i = 0; i < nnz; i++) {
        const bool is_new = i == 0 || row_case_block(p, i) != row_case_block(p, i - 1);
        if (!is_new && (uint64_t)i - p->chunk[a->chunks - 1] < p->of.chunk_nnz)
            continue;
        p->block[a->chunks] = row_case_block(p, i);
        p->continued[a->chunks] = i > 0 && p->at[i][0] == p->at[i - 1][0];
        p->chunk[a->chunks++] = (uint64_t)i;
    }
    p->chunk[a->chunks] = (uint64_t)nnz;
    p->continued[a->chunks] = 0;
    for (uint32_t s = 0; s < a->chunks; s++) {
        uint32_t last = s;
        const uint32_t row = p->at[p->chunk[s + 1] - 1][0];
        while (p->continued[last + 1] && p->at[p->chunk[last + 1]][0] == row)
            last++;
        if (last == s || (p->continued[s] && p->at[p->chunk[s]][0] == row))
            continue;
        p->join[a->joins++] = (struct row_join){row, 2 * s + 1, last};
        a->most_parts = last - s + 1 > a->most_parts ? last - s + 1 : a->most_parts;
    }
}

static inline void row_case_fill_args(struct row_pass *p)
{
    const struct row_case *of = &p->of;
    struct row_systems_args *a = &p->args;
    *a = (struct row_systems_args){
        .mttkrp = {.index = {p->index[0], of->two_words ? p->index[1] : NULL},
                   .value = p->values,
                   .base = of->bases ? p->base : NULL,
                   .output = row_case_field(p, 0),
                   .m = p->m,
                   .vectors = (uint32_t)(p->ld * precision_bytes(of->precision) / VECTOR_BYTES),
                   .precision = of->precision,
                   .wide_values = of->wide_values},
        .old = p->rows_of[0],
        .rank = of->rank,
        .common = {.v = p->v,
                   .v_inverse = p->v_inverse,
                   .ridge = p->ridge,
                   .inverse = p->inverse,
                   .cell = p->cell,
                   .now = p->now,
                   .out_scale = p->out,
                   .linear = p->linear,
                   .unit = p->unit},
        .rules = {.unlisted = of->unlisted,
                  .nonneg = of->nonneg,
                  .counted = of->counted,
                  .rates = of->counts,
                  .kind = of->kind,
                  .matrix = !of->multiplies,
                  .weighed = of->counts &&
                             (of->unlisted != 1 || !of->all_known || of->kind == POISSON_TRUNCATED),
                  .count = .25,
                  .floor =
                      of->precision == PRECISION_SINGLE ? POISSON_FLOOR_SINGLE : POISSON_FLOOR},
        .short_rows = of->short_rows,
        .chunk = p->chunk,
        .block = p->block,
        .continued = p->continued,
        .join = p->join,
        .room = {.left = p->left, .totals = p->totals, .next = &p->next}};
    for (int n = 1; n < of->order; n++)
        a->mttkrp.gather[a->mttkrp.gathers++] =
            (struct mttkrp_gather){row_case_field(p, n), p->rows_of[n]};
}

/* Rows of so many nonzeros (rows). */
static inline struct row_pass *row_case_open(const struct row_case *of, const int *length,
                                             uint32_t rows)
{
    struct row_pass *p = calloc(1, sizeof *p);
    assert_non_null(p);
    assert_true(rows <= ROW_CASE_ROWS);
    p->of = *of;
    p->rows = rows;
    row_case_make_tables(p);
    for (uint32_t row = 0; row < rows; row++)
        row_case_make_row(p, row, length[row]);
    row_case_make_common(p);
    row_case_make_nonzeros(p);
    row_case_fill_args(p);
    row_case_make_chunks(p);
    p->part = row_case_array(2 * p->args.chunks * row_system_length(of->rank, p->args.rules.matrix),
                             sizeof *p->part);
    p->args.room.part = p->part;
    memset(p->totals, 0xff, sizeof p->totals);
    return p;
}

static inline void row_case_close(struct row_pass *p)
{
    for (int n = 0; n < p->of.order; n++) {
        free(p->table[n]);
        free(p->rows_of[n]);
    }
    free(p->m);
    free(p->values);
    free(p->part);
    free(p);
}
