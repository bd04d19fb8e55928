#include "generate/generate.h"

#include <math.h>
#include <string.h>

#include "base/random_counter.h"
#include "base/random_stream.h"
#include "generate/coordinate_keys.h"
#include "generate/permutation.h"
#include "model/ktensor.h"

/* What the streams of random numbers are for: the first of the numbers that name one. Those of the
 * modes' factor matrices count upwards from 0. */
#define STREAM_NOISE   UINT64_MAX
#define STREAM_SUPPORT (UINT64_MAX - 1 - MAX_ORDER)

/* The share of the core's cells that are nonzero. Random starts of ALS seldom find components that
 * hardly meet each other; with this overlap most do. */
#define CORE_DENSITY 0.7

/* Some indices of each mode are the core, and every component has a block in it: the cells whose
 * index in each mode is one of its `side` indices of the core. */
struct blocks {
    struct key_layout layout;
    uint64_t core[MAX_ORDER];
    uint64_t side[MAX_ORDER];
    uint64_t cells; /* of each block: the product of its sides */
};

static double product(const uint64_t *side, int order)
{
    double cells = 1;
    for (int n = 0; n < order; n++)
        cells *= (double)side[n];
    return cells;
}

/* Sides in proportion to the lengths, but whole and at least 1. Returns their product. */
static double proportional_sides(const uint64_t *dims, int order, double share, uint64_t *side)
{
    for (int n = 0; n < order; n++) {
        side[n] = (uint64_t)(share * (double)dims[n]);
        if (side[n] < 1)
            side[n] = 1;
    }
    return product(side, order);
}

/* The sides of a box of at most `most` cells (and at least one): the largest proportional one, then
 * longer by single steps. */
static void fit_box(const uint64_t *dims, int order, double most, uint64_t *side)
{
    double least = 0, share = 1;
    if (proportional_sides(dims, order, share, side) > most) {
        for (int i = 0; i < 64; i++) {
            double middle = (least + share) / 2;
            if (proportional_sides(dims, order, middle, side) > most)
                share = middle;
            else
                least = middle;
        }
        proportional_sides(dims, order, least, side);
    }
    for (int n = 0; n < order; n++)
        while (side[n] < dims[n] &&
               product(side, order) / (double)side[n] * (double)(side[n] + 1) <= most)
            side[n]++;
}

static enum status check_plant(const struct generate_plant *plant, double cells,
                               struct error *error)
{
    if (plant->rank < 1 || plant->nnz < plant->rank || plant->nnz > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%ju nonzeros of rank %ju, expected %ju to %ju",
                         (uintmax_t)plant->nnz, (uintmax_t)plant->rank, (uintmax_t)plant->rank,
                         (uintmax_t)MAX_NNZ);
    if ((double)plant->nnz > cells)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, but the tensor has %.0f cells only",
                         (uintmax_t)plant->nnz, cells);
    if (!(plant->noise >= 0 && isfinite(plant->noise)))
        return error_set(error, STATUS_INPUT, "noise %g, expected 0 or more", plant->noise);
    return STATUS_OK;
}

/* Blocks overlap at random: where a cell of the core is in a block with probability p, a share of
 * 1 - (1-p)^R of the core is in one or more of R blocks. */
static enum status plan_blocks(struct blocks *b, const struct generate_plant *plant,
                               uint64_t memory, struct error *error)
{
    if (key_layout_create(&b->layout, &plant->shape, error) != STATUS_OK ||
        check_plant(plant, (double)key_layout_cells(&b->layout), error) != STATUS_OK)
        return error->status;
    double nnz = (double)plant->nnz, rounding = 1 + 1e-9;
    fit_box(plant->shape.dims, plant->shape.order, nnz / CORE_DENSITY * rounding, b->core);
    double core = product(b->core, plant->shape.order);
    double p = nnz < core ? -expm1(log1p(-nnz / core) / (double)plant->rank) : 1;
    fit_box(b->core, plant->shape.order, p * core * rounding, b->side);
    double cells = product(b->side, plant->shape.order), listed = cells * (double)plant->rank;
    if (listed > (double)MAX_NNZ)
        return error_set(error, STATUS_INPUT,
                         "%ju overlapping blocks of %.0f nonzeros are more than %ju",
                         (uintmax_t)plant->rank, cells, (uintmax_t)MAX_NNZ);
    b->cells = (uint64_t)cells;
    double factors = 0;
    for (int n = 0; n < plant->shape.order; n++)
        factors += (double)plant->shape.dims[n] * (double)plant->rank * sizeof(double);
    return coordinate_keys_check_memory(plant->shape.order, listed, factors, memory, error);
}

/* Which indices of a mode a component has: those of the core that stand at its side's first places.
 */
struct support {
    struct permutation label; /* of the core, the same for all components */
    struct permutation member;
};

static struct support support_create(const struct blocks *b, int mode, uint64_t component,
                                     uint64_t seed)
{
    uint64_t stream = STREAM_SUPPORT + (uint64_t)mode;
    return (struct support){
        permutation_create(b->layout.shape.dims[mode], random_stream_at(seed, stream, UINT64_MAX)),
        permutation_create(b->core[mode], random_stream_at(seed, stream, component))};
}

static uint64_t support_index(const struct support *s, uint64_t i)
{
    return permutation_apply(&s->label, permutation_apply(&s->member, i));
}

/* Entries exponentially distributed on each component's indices, zero elsewhere: positive, and
 * columns on the same indices still differ well (a cosine of 1/2). */
static void set_factor(struct ktensor *k, const struct blocks *b, int mode, uint64_t seed)
{
    uint64_t entries = k->shape.dims[mode] * k->rank;
    double *factor = k->factor[mode];
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (uint64_t e = 0; e < entries; e++)
            factor[e] = 0;
#pragma omp for schedule(static)
        for (uint64_t r = 0; r < k->rank; r++) {
            struct support s = support_create(b, mode, r, seed);
            struct random_stream stream = random_stream_at(seed, (uint64_t)mode, r);
            for (uint64_t i = 0; i < b->side[mode]; i++)
                factor[support_index(&s, i) * k->rank + r] =
                    -log(random_inner(random_next(&stream)));
        }
    }
}

/* All cells of all blocks; cells of several blocks come several times. */
static void list_blocks(const struct blocks *b, uint64_t rank, uint64_t seed,
                        struct coordinate_keys *cells)
{
    for (uint64_t r = 0; r < rank; r++) {
        struct support s[MAX_ORDER];
        for (int n = 0; n < b->layout.shape.order; n++)
            s[n] = support_create(b, n, r, seed);
#pragma omp parallel for schedule(static)
        for (uint64_t j = 0; j < b->cells; j++) {
            uint64_t coordinate[MAX_ORDER], rest = j;
            for (int n = 0; n < b->layout.shape.order; n++) {
                coordinate[n] = support_index(&s[n], rest % b->side[n]);
                rest /= b->side[n];
            }
            coordinate_keys_set(cells, r * b->cells + j, key_pack(&b->layout, coordinate));
        }
    }
}

static enum status find_cells(const struct blocks *b, uint64_t rank, uint64_t seed,
                              struct coordinate_keys *cells, struct error *error)
{
    if (coordinate_keys_create(cells, rank * b->cells, error) != STATUS_OK)
        return error->status;
    list_blocks(b, rank, seed, cells);
    if (coordinate_keys_sort(cells, b->layout.bits, error) == STATUS_OK)
        coordinate_keys_unique(cells);
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
            for (int n = 0; n < k->shape.order; n++)
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
                             uint64_t memory, struct progress *progress, struct error *error)
{
    struct blocks blocks;
    struct coordinate_keys cells = {0};
    struct ktensor model = {0};
    *x = (struct coo){0};
    if (plan_blocks(&blocks, plant, memory, error) != STATUS_OK)
        return error->status;
    progress_stage(progress, "planting a model of rank %ju", (uintmax_t)plant->rank);
    if (find_cells(&blocks, plant->rank, seed, &cells, error) != STATUS_OK ||
        ktensor_create(&model, &plant->shape, plant->rank, error) != STATUS_OK ||
        coordinate_keys_to_coo(&cells, &blocks.layout, x, error) != STATUS_OK)
        goto done;
    for (int n = 0; n < plant->shape.order; n++)
        set_factor(&model, &blocks, n, seed);
    set_values(&model, x);
    if (plant->noise > 0)
        add_noise(x, plant->noise, seed);
done:
    ktensor_free(&model);
    coordinate_keys_free(&cells);
    return error->status;
}
