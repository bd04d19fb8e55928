#include "sampler.h"

#include <math.h>
#include <string.h>

#include "memory.h"
#include "random.h"
#include "random_stream.h"

#define ZIPF_STEP_BITS 14
#define ZIPF_STEPS     (1 << ZIPF_STEP_BITS)
#define CHUNK          65536 /* draws that share a stream of random numbers */

/* What the streams of random numbers are for: the first of the numbers that name one. Rounds of
 * draws count upwards from 0. */
#define STREAM_LABELS (UINT64_MAX - 1)
#define STREAM_TUPLES (UINT64_MAX - 2)

/* The quantile function of the density proportional to x^-exponent on [1, length + 1], whose whole
 * part is the rank, less 1. */
static double zipf_quantile(const struct zipf *z, double u)
{
    double end = (double)z->length + 1, slope = 1 - z->exponent;
    if (fabs(slope) < 1e-9)
        return exp(u * log(end)) - 1;
    return pow(1 + u * (pow(end, slope) - 1), 1 / slope) - 1;
}

static enum status zipf_create(struct zipf *z, uint64_t length, double exponent,
                               struct error *error)
{
    *z = (struct zipf){length, exponent, NULL};
    if (exponent <= 0)
        return STATUS_OK;
    z->quantile = memory_array(ZIPF_STEPS + 1, sizeof *z->quantile, error);
    for (int i = 0; z->quantile && i <= ZIPF_STEPS; i++)
        z->quantile[i] = zipf_quantile(z, (double)i / ZIPF_STEPS);
    return error->status;
}

/* Linear between the table's points, except behind the last, where a steep tail is far from a line.
 */
static uint64_t zipf_draw(const struct zipf *z, uint64_t bits)
{
    if (!z->quantile)
        return (uint64_t)(((cell_key)bits * z->length) >> 64);
    uint64_t step = bits >> (64 - ZIPF_STEP_BITS);
    const double *q = z->quantile + step;
    double x = step == ZIPF_STEPS - 1
                   ? zipf_quantile(z, random_uniform(bits))
                   : q[0] + random_uniform(bits << ZIPF_STEP_BITS) * (q[1] - q[0]);
    uint64_t rank = x > 0 ? (uint64_t)x : 0;
    return rank < z->length ? rank : z->length - 1;
}

enum status sampler_create(struct sampler *s, const struct generate_spec *spec, uint64_t seed,
                           struct error *error)
{
    memset(s, 0, sizeof *s);
    s->skew = spec->skew;
    s->seed = seed;
    cell_layout_create(&s->layout, spec->order, spec->dims, error);
    for (int n = 0; n < spec->order && error->status == STATUS_OK; n++) {
        zipf_create(&s->mode[n], spec->dims[n], spec->skew.exponent[n], error);
        s->label[n] =
            permutation_create(spec->dims[n], random_stream_at(seed, STREAM_LABELS, (uint64_t)n));
    }
    if (error->status == STATUS_OK)
        zipf_create(&s->pool, spec->skew.pool, spec->skew.pool_exponent, error);
    if (spec->skew.run_share > 0) {
        double runs = spec->skew.run_share / spec->skew.run_length;
        s->run_start = runs / (runs + 1 - spec->skew.run_share);
        s->run_decay = log1p(-1 / spec->skew.run_length);
    }
    if (error->status != STATUS_OK)
        sampler_free(s);
    return error->status;
}

void sampler_free(struct sampler *s)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(s->mode[n].quantile);
    memory_free(s->pool.quantile);
    memset(s, 0, sizeof *s);
}

/* One chunk's draws, numbered begin to end of `total`. */
struct chunk {
    const struct sampler *sampler;
    struct random_stream stream;
    uint64_t begin, end, total;
    bool in_order; /* even modes follow the number of the draw */
};

/* An index of mode n, independent of the others, for draw number i. */
static uint64_t draw_index(struct chunk *c, int n, uint64_t i)
{
    const struct sampler *s = c->sampler;
    if (s->skew.exponent[n] == GENERATE_EVEN && c->in_order)
        return (uint64_t)((cell_key)i * s->layout.dims[n] / c->total);
    uint64_t rank = zipf_draw(&s->mode[n], random_next(&c->stream));
    return s->mode[n].quantile ? permutation_apply(&s->label[n], rank) : rank;
}

/* The index that tuple `tuple` of the pool has in mode n. */
static uint64_t tuple_index(const struct sampler *s, int n, uint64_t tuple)
{
    uint64_t rank;
    if (s->skew.exponent[n] == GENERATE_EVEN) {
        rank = (uint64_t)((cell_key)tuple * s->layout.dims[n] / s->skew.pool);
    } else {
        struct random_stream stream = random_stream_at(s->seed, STREAM_TUPLES - (uint64_t)n, tuple);
        rank = zipf_draw(&s->mode[n], random_next(&stream));
    }
    return permutation_apply(&s->label[n], rank);
}

static void draw_cell(struct chunk *c, uint64_t i, uint64_t *coordinate)
{
    const struct sampler *s = c->sampler;
    uint32_t pooled = s->skew.pool ? s->skew.pool_modes : 0;
    uint64_t tuple = pooled ? zipf_draw(&s->pool, random_next(&c->stream)) : 0;
    for (int n = 0; n < s->layout.order; n++)
        coordinate[n] = pooled >> n & 1 ? tuple_index(s, n, tuple) : draw_index(c, n, i);
}

/* How many nonzeros the cell just drawn stands for: 1, or a run of them. */
static uint64_t draw_run(struct chunk *c)
{
    const struct sampler *s = c->sampler;
    if (s->run_start <= 0 || random_uniform(random_next(&c->stream)) >= s->run_start)
        return 1;
    if (s->skew.run_length <= 1)
        return 1;
    double more = log(random_inner(random_next(&c->stream))) / s->run_decay;
    return more < CHUNK ? 1 + (uint64_t)more : CHUNK;
}

static uint64_t next_in_run(struct chunk *c, uint64_t index, uint64_t i)
{
    const struct sampler *s = c->sampler;
    int n = s->skew.run_mode;
    if (s->skew.run_scattered || s->skew.exponent[n] == GENERATE_EVEN)
        return draw_index(c, n, i);
    return index + 1 < s->layout.dims[n] ? index + 1 : 0;
}

static void draw_chunk(struct chunk *c, struct cells *cells)
{
    const struct sampler *s = c->sampler;
    uint64_t coordinate[MAX_ORDER];
    int mode = s->skew.run_mode;
    for (uint64_t i = c->begin; i < c->end;) {
        draw_cell(c, i, coordinate);
        uint64_t run = draw_run(c);
        uint64_t run_end = run < c->end - i ? i + run : c->end;
        cells_set(cells, i++, cell_pack(&s->layout, coordinate));
        for (; i < run_end; i++) {
            coordinate[mode] = next_in_run(c, coordinate[mode], i);
            cells_set(cells, i, cell_pack(&s->layout, coordinate));
        }
    }
}

void sampler_draw(const struct sampler *s, uint64_t round, struct cells *cells)
{
    uint64_t chunks = (cells->count + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic)
    for (uint64_t k = 0; k < chunks; k++) {
        uint64_t begin = k * CHUNK, left = cells->count - begin;
        struct chunk c = {.sampler = s,
                          .stream = random_stream_at(s->seed, round, k),
                          .begin = begin,
                          .end = begin + (left < CHUNK ? left : CHUNK),
                          .total = cells->count,
                          .in_order = round == 0};
        draw_chunk(&c, cells);
    }
}
