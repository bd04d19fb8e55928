#include "generate.h"

#include <math.h>
#include <string.h>

#include "cells.h"
#include "ktensor.h"
#include "memory.h"
#include "permutation.h"
#include "random.h"
#include "random_stream.h"

/* What the streams of random numbers are for: the first of the numbers that name one. Those of the
 * modes' factor matrices count upwards from 0. */
#define STREAM_NOISE   UINT64_MAX
#define STREAM_SUPPORT (UINT64_MAX - 1 - MAX_ORDER)

/* Every component has a block: the cells whose index in each mode is one of its `side` indices. */
struct block {
    struct cell_layout layout;
    uint64_t side[MAX_ORDER];
    uint64_t cells; /* the product of the sides */
};

static double block_cells(const struct cell_layout *layout, const uint64_t *side)
{
    double cells = 1;
    for (int n = 0; n < layout->order; n++)
        cells *= (double)side[n];
    return cells;
}

/* Sides in proportion to the lengths, but whole and at least 1. */
static void proportional_sides(const struct cell_layout *layout, double share, uint64_t *side)
{
    for (int n = 0; n < layout->order; n++) {
        side[n] = (uint64_t)(share * (double)layout->dims[n]);
        if (side[n] < 1)
            side[n] = 1;
        if (side[n] > layout->dims[n])
            side[n] = layout->dims[n];
    }
}

/* The block of at most `most` cells: the largest proportional one, then longer by single steps. */
static void fit_block(struct block *b, double most)
{
    double least = 0, share = 1;
    proportional_sides(&b->layout, share, b->side);
    for (int i = 0; i < 64 && block_cells(&b->layout, b->side) > most; i++) {
        double middle = (least + share) / 2;
        uint64_t side[MAX_ORDER];
        proportional_sides(&b->layout, middle, side);
        if (block_cells(&b->layout, side) > most)
            share = middle;
        else
            least = middle;
    }
    if (block_cells(&b->layout, b->side) > most)
        proportional_sides(&b->layout, least, b->side);
    for (int n = 0; n < b->layout.order; n++)
        while (b->side[n] < b->layout.dims[n] &&
               block_cells(&b->layout, b->side) / (double)b->side[n] * (double)(b->side[n] + 1) <=
                   most)
            b->side[n]++;
    b->cells = (uint64_t)block_cells(&b->layout, b->side);
}

/* Blocks that overlap at random: of cells that are each in a block with probability p, a share of
 * 1 - (1-p)^R is in any of R blocks. */
static enum status plan_blocks(struct block *b, const struct generate_plant *plant,
                               struct error *error)
{
    if (cell_layout_create(&b->layout, plant->order, plant->dims, error) != STATUS_OK)
        return error->status;
    double cells = (double)cell_layout_cells(&b->layout), nnz = (double)plant->nnz;
    if (plant->nnz < plant->rank || plant->nnz > MAX_NNZ || plant->rank < 1)
        return error_set(error, STATUS_INPUT, "%ju nonzeros of rank %ju, expected %ju to %ju",
                         (uintmax_t)plant->nnz, (uintmax_t)plant->rank, (uintmax_t)plant->rank,
                         (uintmax_t)MAX_NNZ);
    if (nnz > cells)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, but the tensor has %.0f cells only",
                         (uintmax_t)plant->nnz, cells);
    if (!(plant->noise >= 0 && isfinite(plant->noise)))
        return error_set(error, STATUS_INPUT, "noise %g, expected 0 or more", plant->noise);
    double p = nnz < cells ? -expm1(log1p(-nnz / cells) / (double)plant->rank) : 1;
    fit_block(b, p * cells * (1 + 1e-9));
    double all = (double)b->cells * (double)plant->rank;
    if (all > (double)MAX_NNZ)
        return error_set(error, STATUS_INPUT,
                         "%ju blocks of %ju nonzeros each are more than %ju in all",
                         (uintmax_t)plant->rank, (uintmax_t)b->cells, (uintmax_t)MAX_NNZ);
    double bytes = 16 * (all + nnz) + (all > nnz ? 16 * all : 0);
    for (int n = 0; n < plant->order; n++)
        bytes += (double)plant->dims[n] * (double)plant->rank * sizeof(double);
    double available = (double)memory_available();
    if (bytes > available)
        return error_set(error, STATUS_MEMORY,
                         "the model and its nonzeros take %.1f GB of memory to make, %.1f GB are "
                         "available",
                         bytes / 1e9, available / 1e9);
    return STATUS_OK;
}

static struct permutation support(uint64_t length, int mode, uint64_t component, uint64_t seed)
{
    return permutation_create(length,
                              random_stream_at(seed, STREAM_SUPPORT + (uint64_t)mode, component));
}

/* Entries exponentially distributed on each component's indices, zero elsewhere: positive, and
 * columns on the same indices still differ well (a cosine of 1/2). */
static void set_factor(struct ktensor *k, const struct block *b, int mode, uint64_t seed)
{
    uint64_t entries = k->dims[mode] * k->rank;
    double *factor = k->factor[mode];
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (uint64_t e = 0; e < entries; e++)
            factor[e] = 0;
#pragma omp for schedule(static)
        for (uint64_t r = 0; r < k->rank; r++) {
            struct permutation p = support(k->dims[mode], mode, r, seed);
            struct random_stream stream = random_stream_at(seed, (uint64_t)mode, r);
            for (uint64_t i = 0; i < b->side[mode]; i++)
                factor[permutation_apply(&p, i) * k->rank + r] =
                    -log(random_inner(random_next(&stream)));
        }
    }
}

/* All cells of all blocks; cells of several blocks come several times. */
static void list_blocks(const struct block *b, uint64_t rank, uint64_t seed, struct cells *cells)
{
    for (uint64_t r = 0; r < rank; r++) {
        struct permutation p[MAX_ORDER];
        for (int n = 0; n < b->layout.order; n++)
            p[n] = support(b->layout.dims[n], n, r, seed);
#pragma omp parallel for schedule(static)
        for (uint64_t j = 0; j < b->cells; j++) {
            uint64_t coordinate[MAX_ORDER], rest = j;
            for (int n = 0; n < b->layout.order; n++) {
                coordinate[n] = permutation_apply(&p[n], rest % b->side[n]);
                rest /= b->side[n];
            }
            cells_set(cells, r * b->cells + j, cell_pack(&b->layout, coordinate));
        }
    }
}

static enum status find_cells(const struct block *b, uint64_t rank, uint64_t seed,
                              struct cells *cells, struct error *error)
{
    struct cells listed;
    if (cells_create(&listed, rank * b->cells, error) != STATUS_OK)
        return error->status;
    list_blocks(b, rank, seed, &listed);
    if (cells_sort(&listed, &b->layout, error) == STATUS_OK)
        cells_merge(cells, &listed, UINT64_MAX, error);
    cells_free(&listed);
    return error->status;
}

/* x(i) = sum_r prod_n A_n(i_n, r) */
static void set_values(const struct ktensor *k, struct coo *x)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) {
        double value = 0;
        for (uint64_t r = 0; r < k->rank; r++) {
            double product = 1;
            for (int n = 0; n < k->order; n++)
                product *= k->factor[n][x->index[n][i] * k->rank + r];
            value += product;
        }
        x->value[i] = value;
    }
}

/* Gaussian, by Box and Muller (1958), scaled to `noise` times the norm of what is there. */
static void add_noise(struct coo *x, double noise, uint64_t seed)
{
    double scale = noise * sqrt(coo_norm_sq(x) / (double)x->nnz);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t word[2];
        random_words(seed, STREAM_NOISE, i, word);
        double radius = sqrt(-2 * log(random_inner(word[0])));
        x->value[i] += scale * radius * cos(2 * acos(-1) * random_uniform(word[1]));
    }
}

enum status generate_planted(struct coo *x, const struct generate_plant *plant, uint64_t seed,
                             struct progress *progress, struct error *error)
{
    struct block block;
    struct cells cells = {0};
    struct ktensor model = {0};
    *x = (struct coo){0};
    if (plan_blocks(&block, plant, error) != STATUS_OK)
        return error->status;
    progress_stage(progress, "planting a model of rank %ju", (uintmax_t)plant->rank);
    if (find_cells(&block, plant->rank, seed, &cells, error) != STATUS_OK ||
        ktensor_create(&model, plant->order, plant->dims, plant->rank, error) != STATUS_OK ||
        cells_to_coo(&cells, &block.layout, x, error) != STATUS_OK)
        goto done;
    for (int n = 0; n < plant->order; n++)
        set_factor(&model, &block, n, seed);
    set_values(&model, x);
    if (plant->noise > 0)
        add_noise(x, plant->noise, seed);
done:
    ktensor_free(&model);
    cells_free(&cells);
    return error->status;
}
