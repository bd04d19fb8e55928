#include "backend/host/host_residual.h"

#include <stdbool.h>
#include <string.h>

#include "backend/host/simd_width.h"
#include "base/least.h"
#include "base/memory.h"

/* Where parts are cut does not depend on the number of threads. */
#define PART_NNZ      4096                /* nonzeros that a thread takes             */
#define READ_NNZ      256                 /* nonzeros whose coordinates are read at a time */
#define PARTS_AT_ONCE 256                 /* parts that the threads work on at a time */
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
        return single ? &host_residual_float8 : &host_residual_double8;
    if (simd >= 4)
        return single ? &host_residual_float4 : &host_residual_double4;
#endif
    (void)rank;
    return single ? &host_residual_float1 : &host_residual_double1;
}

/* A pass over all nonzeros, which one ordering has. */
struct pass {
    const struct host_residual_kernels *kernel;
    const struct host_sweep *sweep;
    const struct host_slices *slices; /* NULL: alto has the nonzeros */
    uint64_t nnz;
    struct host_residual_terms model; /* without nonzeros            */
};

static struct pass pass_over(const struct host_sweep *s, const struct host_rows *factors,
                             const struct host_residual_terms *model)
{
    struct pass pass = {.kernel = kernels(factors->rank, factors->precision),
                        .sweep = s,
                        .nnz = s->alto.nnz,
                        .model = *model};
    int g = 0; /* whose slices have all nonzeros, unless alto has them */
    while (!s->sweep.alto && !s->sweep.ordered[g])
        g++;
    if (!s->sweep.alto) {
        pass.slices = &s->ordered[g];
        pass.nnz = pass.slices->nnz;
    }
    pass.model.order = s->shape.order;
    pass.model.rank = factors->rank;
    for (int n = 0; n < pass.model.order; n++) {
        pass.model.rows[n] = factors->of[n];
        pass.model.tuple[n] = s->coordinate[n];
    }
    return pass;
}

/* Of the nonzeros of part k: *misfit += their misfits, or where there is `components` (3 R), its
 * first 2 R numbers += their terms; the last are room. */
static void add_part(const struct pass *pass, uint64_t k, struct double_double *misfit,
                     double *components)
{
    const struct host_sweep *s = pass->sweep;
    const struct host_slices *slices = pass->slices;
    const uint64_t last = least_of(pass->nnz, (k + 1) * PART_NNZ);
    struct host_residual_terms p = pass->model;
    uint32_t decoded[MAX_ORDER][READ_NNZ];
    double value[READ_NNZ];
    for (uint64_t first = k * PART_NNZ; first < last; first += READ_NNZ) {
        const uint64_t count = least_of(READ_NNZ, last - first);
        for (int g = 0; g < s->sweep.groups.groups; g++) {
            if (!slices)
                blco_decode_mode(&s->alto, g, first, count, decoded[g]);
            else if (g == slices->mode)
                host_slices_rows(slices, first, count, decoded[g]);
            else
                host_slices_coordinates(slices, g, first, count, decoded[g]);
        }
        for (int n = 0; n < p.order; n++)
            p.at[n] = decoded[mode_groups_of(&s->sweep.groups, n)];
        p.value = slices ? value : s->alto.value + first;
        if (slices)
            host_slices_values(slices, first, count, value);
        if (components)
            pass->kernel->components(&p, count, components + 2 * p.rank, components);
        else
            *misfit = dd_add(*misfit, pass->kernel->nonzeros(&p, count));
    }
}

enum status host_residual_sum(const struct host_sweep *s, const struct host_rows *factors,
                              const struct host_residual_terms *model, struct double_double *misfit,
                              double *components, struct error *error)
{
    const struct pass pass = pass_over(s, factors, model);
    const uint64_t rank = factors->rank, parts = (pass.nnz + PART_NNZ - 1) / PART_NNZ;
    const uint64_t sums = components ? 2 * rank : 0, room = components ? 3 * rank : 0;
    double *own = memory_array(least_of(PARTS_AT_ONCE, parts), room * sizeof *own, error);
    TRY(error->status);
    for (uint64_t done = 0; done < parts; done += PARTS_AT_ONCE) {
        const uint64_t count = least_of(PARTS_AT_ONCE, parts - done);
        struct double_double part[PARTS_AT_ONCE] = {{0, 0}};
        memset(own, 0, count * room * sizeof *own);
#pragma omp parallel for schedule(dynamic) if (count > 1)
        for (uint64_t k = 0; k < count; k++)
            add_part(&pass, done + k, &part[k], components ? own + k * room : NULL);
        for (uint64_t k = 0; k < count; k++) {
            *misfit = dd_add(*misfit, part[k]);
            for (uint64_t i = 0; i < sums; i++)
                components[i] += own[k * room + i];
        }
    }
    memory_free(own);
    return STATUS_OK;
}

enum status host_residual_gram(const void *a, uint64_t rows, uint64_t rank,
                               enum precision precision, struct double_double *gram,
                               struct error *error)
{
    const uint64_t size = rank * rank, most = least_of(rows / PART_ROWS + 1, MOST_SUMS / size);
    const uint64_t parts = most < 1 ? 1 : most, step = (rows + parts - 1) / parts;
    struct double_double *sums = memory_zeros(parts, size * sizeof *sums, error);
    TRY(error->status);
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
