#include "generate.h"

#include <math.h>

#include "cells.h"
#include "random_stream.h"
#include "sampler.h"

#define MOST_ROUNDS 32
#define LEAST_YIELD (1.0 / 16) /* new cells a draw, below which drawing on is not worth it */

static enum status check_size(const struct generate_spec *spec, struct error *error)
{
    struct cell_layout layout;
    if (cell_layout_create(&layout, spec->order, spec->dims, error) != STATUS_OK)
        return error->status;
    if (spec->nnz < 1 || spec->nnz > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, expected 1 to %ju",
                         (uintmax_t)spec->nnz, (uintmax_t)MAX_NNZ);
    cell_key cells = cell_layout_cells(&layout);
    if (cells < spec->nnz)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, but the tensor has %ju cells only",
                         (uintmax_t)spec->nnz, (uintmax_t)cells);
    return STATUS_OK;
}

static enum status check_exponent(double exponent, const char *what, struct error *error)
{
    if (exponent == GENERATE_EVEN || (exponent >= 0 && exponent <= GENERATE_MOST_SKEW))
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: Zipf exponent %g, expected 0 to %g", what, exponent,
                     GENERATE_MOST_SKEW);
}

static enum status check_skew(const struct generate_spec *spec, struct error *error)
{
    const struct generate_skew *s = &spec->skew;
    for (int n = 0; n < spec->order; n++)
        if (check_exponent(s->exponent[n], "skew", error) != STATUS_OK)
            return error->status;
    if (s->pool > MAX_NNZ || (s->pool > 0 && s->pool_modes == 0) ||
        (uint64_t)s->pool_modes >> spec->order != 0)
        return error_set(error, STATUS_INPUT,
                         "fibers: expected up to %ju tuples of some of the %d modes",
                         (uintmax_t)MAX_NNZ, spec->order);
    if (s->pool_exponent < 0 || check_exponent(s->pool_exponent, "fibers", error) != STATUS_OK)
        return error_set(error, STATUS_INPUT, "fibers: Zipf exponent %g, expected 0 to %g",
                         s->pool_exponent, GENERATE_MOST_SKEW);
    if (!(s->run_share >= 0 && s->run_share <= 1))
        return error_set(error, STATUS_INPUT, "runs: share %g, expected 0 to 1", s->run_share);
    if (s->run_share > 0 && (s->run_mode < 0 || s->run_mode >= spec->order))
        return error_set(error, STATUS_INPUT, "runs: mode %d, expected 1 to %d", s->run_mode + 1,
                         spec->order);
    if (s->run_share > 0 && !(s->run_length >= 1 && isfinite(s->run_length)))
        return error_set(error, STATUS_INPUT, "runs: length %g, expected 1 or more", s->run_length);
    return STATUS_OK;
}

/* Adds `draws` draws to the set, at most `most` cells in all. */
static enum status add_round(struct cells *cells, const struct sampler *s, uint64_t round,
                             uint64_t draws, uint64_t most, struct error *error)
{
    struct cells drawn;
    if (cells_create(&drawn, draws, error) != STATUS_OK)
        return error->status;
    sampler_draw(s, round, &drawn);
    if (cells_sort(&drawn, &s->layout, error) == STATUS_OK)
        cells_merge(cells, &drawn, most, error);
    cells_free(&drawn);
    return error->status;
}

/* Draws until there are `nnz` distinct cells; where hardly any new ones come any more, because the
 * frequent indices are used up, the rest is spread evenly over what is free. */
static enum status draw_distinct(struct cells *cells, const struct sampler *s, uint64_t nnz,
                                 struct progress *progress, struct error *error)
{
    uint64_t draws = nnz + nnz / 200 + 16;
    for (uint64_t round = 0; round < MOST_ROUNDS && cells->count < nnz; round++) {
        uint64_t before = cells->count;
        if (add_round(cells, s, round, draws, nnz, error) != STATUS_OK)
            return error->status;
        progress_update(progress, (double)cells->count / (double)nnz, "%.1f million nonzeros",
                        (double)cells->count / 1e6);
        double yield = (double)(cells->count - before) / (double)draws;
        if (yield < LEAST_YIELD)
            break;
        double needed = (double)(nnz - cells->count) / yield * 1.1 + 64;
        uint64_t most = nnz / 4 + 64; /* so that memory has its peak in the first round */
        draws = needed < (double)most ? (uint64_t)needed : most;
    }
    return cells_fill(cells, &s->layout, nnz, s->seed, error);
}

/* Counts: 1 with probability 1/2, 2 with 1/4, and so on. */
static void set_counts(const struct cells *cells, uint64_t seed, struct coo *x)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t bits = random_mix(cells->low[i] ^ random_mix(cells->high[i] + random_mix(seed)));
        x->value[i] = 1 + __builtin_ctzll(bits | UINT64_C(1) << 62);
    }
}

enum status generate_skewed(struct coo *x, const struct generate_spec *spec, uint64_t seed,
                            struct progress *progress, struct error *error)
{
    struct sampler sampler = {0};
    struct cells cells = {0};
    *x = (struct coo){0};
    if (check_size(spec, error) != STATUS_OK || check_skew(spec, error) != STATUS_OK ||
        cells_check_memory(spec->order, (double)spec->nnz, 0, error) != STATUS_OK)
        return error->status;
    progress_stage(progress, "drawing nonzeros");
    if (sampler_create(&sampler, spec, seed, error) == STATUS_OK &&
        draw_distinct(&cells, &sampler, spec->nnz, progress, error) == STATUS_OK &&
        cells_to_coo(&cells, &sampler.layout, x, error) == STATUS_OK)
        set_counts(&cells, seed, x);
    cells_free(&cells);
    sampler_free(&sampler);
    return error->status;
}
