#include "backend/host/host_residual.h"

#include <stdbool.h>
#include <string.h>

#include "backend/host/host_residual_simd.h"
#include "backend/host/simd_width.h"
#include "base/least.h"
#include "base/memory.h"

/* Where parts are cut does not depend on the number of threads. */
#define PART_NNZ      4096                /* nonzeros that a thread takes             */
#define BATCH_NNZ     256                 /* nonzeros whose coordinates are read at a time */
#define PARTS_AT_ONCE 256                 /* parts that the threads share at a time   */
#define PART_ROWS     4096                /* rows of a factor matrix, about           */
#define FEW_TERMS     4096                /* of a Gram: not worth several threads     */
#define MOST_SUMS     (UINT64_C(1) << 20) /* entries of all parts' Grams */

/* Rows of a few columns would leave half of the widest vectors empty. */
static const struct host_residual_kernels *kernels(uint64_t rank, enum precision precision)
{
    const bool single = precision == PRECISION_SINGLE;
#if SIMD_X86
    uint64_t simd = simd_width(8, PRECISION_DOUBLE);
    if (simd == 8 && rank > 4)
        return single ? &host_residual_single8 : &host_residual_simd8;
    if (simd >= 4)
        return single ? &host_residual_single4 : &host_residual_simd4;
#endif
    (void)rank;
    return single ? &host_residual_single1 : &host_residual_simd1;
}

/* Where the nonzeros are read from: an ordering that has all of them. */
struct source {
    const struct blco *alto;          /* NULL where `slices` is the source */
    const struct host_slices *slices; /* NULL where `alto` is              */
    uint64_t nnz;
    const double *value;
    int groups;
};

static struct source source_of(const struct host_sweep *s)
{
    struct source from = {.groups = s->sweep.groups.groups};
    if (s->sweep.alto) {
        from.alto = &s->alto;
        from.nnz = s->alto.nnz;
        from.value = s->alto.value;
        return from;
    }
    int g = 0;
    while (!s->sweep.ordered[g])
        g++;
    from.slices = &s->ordered[g];
    from.nnz = s->ordered[g].nnz;
    from.value = s->ordered[g].value;
    return from;
}

/* at[g] (count): where the coordinates of nonzeros [first, first + count) in group g stand; those
 * that must be decoded, in `decoded`. */
static void read_coordinates(const struct source *from, uint64_t first, uint64_t count,
                             uint32_t decoded[][BATCH_NNZ], const uint32_t **at)
{
    for (int g = 0; g < from->groups; g++) {
        at[g] = decoded[g];
        if (from->alto)
            blco_decode_mode(from->alto, g, first, count, decoded[g]);
        else if (g == from->slices->mode)
            host_slices_rows(from->slices, first, count, decoded[g]);
        else
            at[g] = from->slices->coordinate[g] + first;
    }
}

static struct double_double part_sum(const struct host_residual_batch *model,
                                     const struct host_sweep *s, const struct source *from,
                                     uint64_t first, uint64_t last)
{
    struct host_residual_batch p = *model;
    struct double_double sum = {0, 0};
    uint32_t decoded[MAX_ORDER][BATCH_NNZ];
    const uint32_t *at[MAX_ORDER];
    for (; first < last; first += BATCH_NNZ) {
        const uint64_t count = least_of(BATCH_NNZ, last - first);
        read_coordinates(from, first, count, decoded, at);
        for (int n = 0; n < p.order; n++)
            p.at[n] = at[mode_groups_of(&s->sweep.groups, n)];
        p.value = from->value + first;
        sum = dd_add(sum, kernels(p.rank, s->precision)->nonzeros(&p, count));
    }
    return sum;
}

struct double_double host_residual_nonzeros(const struct host_sweep *s, void *const *factor,
                                            const double *weight)
{
    const struct source from = source_of(s);
    struct host_residual_batch model = {.order = s->shape.order, .rank = s->rank, .weight = weight};
    for (int n = 0; n < model.order; n++) {
        model.rows[n] = factor[n];
        model.tuple[n] = s->coordinate[n];
    }
    struct double_double sum = {0, 0}, part[PARTS_AT_ONCE];
    uint64_t parts = (from.nnz + PART_NNZ - 1) / PART_NNZ;
    for (uint64_t done = 0; done < parts; done += PARTS_AT_ONCE) {
        uint64_t count = least_of(PARTS_AT_ONCE, parts - done);
#pragma omp parallel for schedule(dynamic) if (count > 1)
        for (uint64_t k = 0; k < count; k++) {
            uint64_t first = (done + k) * PART_NNZ;
            part[k] = part_sum(&model, s, &from, first, least_of(from.nnz, first + PART_NNZ));
        }
        for (uint64_t k = 0; k < count; k++)
            sum = dd_add(sum, part[k]);
    }
    return sum;
}

/* The number of parts of the rows; their Grams take no more than MOST_SUMS entries where there are
 * several. */
static uint64_t gram_parts(uint64_t rows, uint64_t rank)
{
    uint64_t parts = least_of(rows / PART_ROWS + 1, MOST_SUMS / (rank * rank));
    return parts < 1 ? 1 : parts;
}

enum status host_residual_gram(const void *a, uint64_t rows, uint64_t rank,
                               enum precision precision, struct double_double *gram,
                               struct error *error)
{
    uint64_t parts = gram_parts(rows, rank), size = rank * rank, step = (rows + parts - 1) / parts;
    struct double_double *sums = memory_zeros(parts, size * sizeof *sums, error);
    if (!sums)
        return error->status;
#pragma omp parallel for collapse(2) schedule(dynamic) if (rows * size > FEW_TERMS)
    for (uint64_t k = 0; k < parts; k++)
        for (uint64_t i = 0; i < rank; i++) {
            uint64_t first = least_of(rows, k * step);
            kernels(rank, precision)
                ->gram_row(host_entry_of(a, first * rank, precision), least_of(step, rows - first),
                           rank, i, sums + k * size + i * rank);
        }
    memcpy(gram, sums, size * sizeof *gram);
    for (uint64_t k = 1; k < parts; k++)
        for (uint64_t i = 0; i < size; i++)
            gram[i] = dd_add(gram[i], sums[k * size + i]);
    memory_free(sums);
    return STATUS_OK;
}
