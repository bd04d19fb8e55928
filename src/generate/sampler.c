#include "generate/sampler.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define LONGEST_RUN 65536.0
#define TRIALS      512 /* cells from which the yield is estimated */

/* What the streams of random numbers are for: the first of the numbers that name one. Rounds of
 * draws count upwards from 0. */
#define STREAM_LABELS (UINT64_MAX - 1)
#define STREAM_TRIALS (UINT64_MAX - 3 - MAX_ORDER)
#define STREAM_SPREAD (UINT64_C(1) << 62)

enum status sampler_create(struct sampler *s, const struct generate_spec *spec, uint64_t seed,
                           struct error *error)
{
    memset(s, 0, sizeof *s);
    s->skew = spec->skew;
    s->seed = seed;
    key_layout_create(&s->layout, &spec->shape, error);
    alto_keys_create(&s->line, &s->layout);
    for (int n = 0; n < spec->shape.order && error->status == STATUS_OK; n++)
        index_distribution_create(&s->law[n], spec->shape.dims[n], spec->skew.exponent[n],
                                  random_stream_at(seed, STREAM_LABELS, (uint64_t)n), error);
    if (error->status == STATUS_OK)
        fiber_pool_create(&s->pool, &s->skew, &s->line, s->law, spec->nnz, seed, error);
    if (s->skew.pool == 0)
        s->skew.pool_modes = 0;
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
        index_distribution_free(&s->law[n]);
    fiber_pool_free(&s->pool);
    memset(s, 0, sizeof *s);
}

/* --- parts --- */

static bool is_pooled(const struct sampler *s, int mode)
{
    return s->skew.pool_modes >> mode & 1;
}

struct sampler_part sampler_all(const struct sampler *s)
{
    return (struct sampler_part){alto_box_all(&s->line), 0, s->pool.place.count};
}

bool sampler_can_halve(const struct sampler *s, const struct sampler_part *part)
{
    if (part->box.line_bits == 0)
        return false;
    int mode = alto_box_next(&s->line, &part->box);
    return is_pooled(s, mode) || part->box.bits[mode] > s->law[mode].block_bits;
}

struct sampler_part sampler_half(const struct sampler *s, const struct sampler_part *part, int bit)
{
    struct sampler_part half = *part;
    half.box = alto_box_half(&s->line, &part->box, bit);
    int mode = alto_box_next(&s->line, &part->box);
    if (!is_pooled(s, mode))
        return half;
    coordinate_key upper =
        0; /* what the pooled modes are on the line where the upper half begins */
    for (int n = 0; n < s->layout.shape.order; n++)
        if (is_pooled(s, n))
            upper |= alto_keys_place(&s->line, n, part->box.begin[n]);
    upper |= (coordinate_key)1 << (part->box.line_bits - 1);
    uint64_t middle = fiber_pool_find(&s->pool, part->first_tuple, part->last_tuple, upper);
    *(bit ? &half.first_tuple : &half.last_tuple) = middle;
    return half;
}

double sampler_share(const struct sampler *s, const struct sampler_part *part)
{
    double share = 1;
    if (alto_box_is_empty(&s->layout, &part->box))
        return 0;
    if (s->skew.pool_modes)
        share = s->pool.sum[part->last_tuple] - s->pool.sum[part->first_tuple];
    for (int n = 0; n < s->layout.shape.order; n++)
        if (!is_pooled(s, n))
            share *= index_distribution_share(&s->law[n], part->box.begin[n],
                                              alto_box_end(&s->layout, &part->box, n));
    return share;
}

/* --- draws within a part --- */

void part_sampler_open(struct part_sampler *p, const struct sampler *s,
                       const struct sampler_part *part)
{
    p->sampler = s;
    p->part = part;
    for (int n = 0; n < s->layout.shape.order; n++)
        index_range_create(&p->range[n], &s->law[n], part->box.begin[n],
                           alto_box_end(&s->layout, &part->box, n));
    if (p->first_tuple == part->first_tuple && p->last_tuple == part->last_tuple)
        return;
    p->first_tuple = part->first_tuple;
    p->last_tuple = part->last_tuple;
    if (part->first_tuple < part->last_tuple)
        guide_table_create(&p->tuple, s->pool.sum, part->first_tuple, part->last_tuple);
}

/* Draws number `at` up to `total` of a stream. */
struct drawing {
    const struct part_sampler *part;
    struct random_stream stream;
    uint64_t at, total;
    bool in_order;               /* even modes follow the number of the draw, */
    double phase;                /* this far from one draw to the next        */
    const coordinate_key *tuple; /* (total) places on the line           */
    struct permutation shuffle;  /* of them, where they stand in an order */
};

static struct drawing drawing_start(const struct part_sampler *p, uint64_t a, uint64_t b,
                                    uint64_t total)
{
    struct drawing d = {
        .part = p, .stream = random_stream_at(p->sampler->seed, a, b), .total = total};
    d.phase = random_uniform(random_next(&d.stream));
    return d;
}

/* An index of mode n, independent of the others. */
static inline uint64_t draw_index(struct drawing *d, int n, double *share)
{
    const struct index_range *range = &d->part->range[n];
    if (!d->in_order || !range->law->even)
        return index_range_draw(range, &d->stream, share);
    double at = ((double)d->at + d->phase) / (double)d->total;
    uint64_t i = (uint64_t)(at * (double)range->length);
    return range->begin + (i < range->length ? i : range->length - 1);
}

/* As many tuples as draws, each drawn by its share. How many fall into each step of the guide is
 * drawn first: their order is that of the steps then, so that what is looked at stays in cache. */
static void draw_tuples(struct drawing *d, coordinate_key *tuple)
{
    const struct part_sampler *p = d->part;
    const struct fiber_pool *pool = &p->sampler->pool;
    uint64_t count[GUIDE_STEPS] = {0}, k = 0;
    for (uint64_t i = 0; i < d->total; i++)
        count[random_next(&d->stream) % GUIDE_STEPS]++;
    for (int step = 0; step < GUIDE_STEPS; step++) {
        for (uint64_t i = 0; i < count[step]; i++) {
            double u = (step + random_uniform(random_next(&d->stream))) / GUIDE_STEPS;
            tuple[k++] = coordinate_keys_get(&pool->place, guide_table_find(&p->tuple, u));
        }
    }
    d->tuple = tuple;
    d->shuffle = permutation_create(d->total, d->stream);
    random_next(&d->stream);
}

/* The next draw's tuple. Their order must not be that of even modes. */
static inline coordinate_key next_tuple(const struct drawing *d)
{
    return d->tuple ? d->tuple[d->in_order ? permutation_apply(&d->shuffle, d->at) : d->at] : 0;
}

/* Adds the modes that are not pooled, but for mode `apart` (-1: none), to the places of those that
 * are, and their shares to the share. */
static inline coordinate_key draw_rest(struct drawing *d, coordinate_key key, int apart,
                                       double *share)
{
    const struct sampler *s = d->part->sampler;
    double one = 1;
    for (int n = 0; n < s->layout.shape.order; n++) {
        if (n == apart || is_pooled(s, n))
            continue;
        key |= alto_keys_place(&s->line, n, draw_index(d, n, &one));
        *share *= one;
    }
    return key;
}

/* How many nonzeros the next cell stands for: 1, or a run of them. */
static uint64_t draw_run(struct drawing *d)
{
    const struct sampler *s = d->part->sampler;
    if (s->run_start <= 0 || random_uniform(random_next(&d->stream)) >= s->run_start ||
        s->skew.run_length <= 1)
        return 1;
    double more = log(random_inner(random_next(&d->stream))) / s->run_decay;
    return more < LONGEST_RUN ? 1 + (uint64_t)more : (uint64_t)LONGEST_RUN;
}

/* Goes on from an index of the run's mode, round within the part. */
static uint64_t next_in_run(struct drawing *d, uint64_t index)
{
    const struct sampler *s = d->part->sampler;
    const struct index_range *range = &d->part->range[s->skew.run_mode];
    double share;
    if (s->skew.run_scattered || range->law->even)
        return draw_index(d, s->skew.run_mode, &share);
    return index + 1 < range->begin + range->length ? index + 1 : range->begin;
}

/* A cell and the others of its run; the place of the run's mode in a pool's tuple is overwritten.
 */
static void draw_one_run(struct drawing *d, coordinate_key *key)
{
    const struct sampler *s = d->part->sampler;
    int mode = s->skew.run_mode;
    double share = 1;
    uint64_t index, run = draw_run(d);
    uint64_t end = run < d->total - d->at ? d->at + run : d->total;
    coordinate_key rest;
    if (is_pooled(s, mode)) {
        coordinate_key whole = draw_rest(d, next_tuple(d), -1, &share);
        index = key_coordinate(&s->layout, alto_keys_key(&s->line, whole), mode);
        rest = whole & ~alto_keys_place(&s->line, mode, s->layout.mask[mode]);
    } else {
        rest = draw_rest(d, next_tuple(d), mode, &share);
        index = draw_index(d, mode, &share);
    }
    for (;;) {
        key[d->at++] = rest | alto_keys_place(&s->line, mode, index);
        if (d->at == end)
            break;
        index = next_in_run(d, index);
    }
}

static bool has_even_mode(const struct sampler *s)
{
    for (int n = 0; n < s->layout.shape.order; n++)
        if (s->law[n].even && !is_pooled(s, n))
            return true;
    return false;
}

void part_sampler_draw(const struct part_sampler *p, uint64_t round, uint64_t number,
                       coordinate_key *key, coordinate_key *scratch, uint64_t count)
{
    const struct sampler *s = p->sampler;
    struct drawing d = drawing_start(p, round, number, count);
    double share = 1;
    d.in_order = round == 0 && has_even_mode(s);
    if (s->skew.pool_modes)
        draw_tuples(&d, scratch);
    while (d.at < count) {
        if (s->run_start > 0) {
            draw_one_run(&d, key);
        } else {
            key[d.at] = draw_rest(&d, next_tuple(&d), -1, &share);
            d.at++;
        }
    }
}

void part_sampler_spread(const struct part_sampler *p, uint64_t round, uint64_t number,
                         coordinate_key *key, uint64_t count)
{
    const struct sampler *s = p->sampler;
    struct random_stream stream = random_stream_at(s->seed, STREAM_SPREAD + round, number);
    for (uint64_t i = 0; i < count; i++) {
        key[i] = 0;
        for (int n = 0; n < s->layout.shape.order; n++)
            key[i] |= alto_keys_place(&s->line, n, index_range_even(&p->range[n], &stream));
    }
}

/* Of `draws`, draws * p find a cell of share p, and 1 - exp(-draws * p) one of them before the
 * others: the mean of the quotient over cells that are drawn by their shares. */
double part_sampler_yield(const struct part_sampler *p, uint64_t number, double draws)
{
    struct drawing d = drawing_start(p, STREAM_TRIALS, number, TRIALS);
    double sum = 0;
    for (; d.at < TRIALS; d.at++) {
        double share = 1;
        if (p->sampler->skew.pool_modes) {
            uint64_t tuple = guide_table_find(&p->tuple, random_uniform(random_next(&d.stream)));
            share = p->sampler->pool.sum[tuple + 1] - p->sampler->pool.sum[tuple];
        }
        draw_rest(&d, 0, -1, &share);
        double times = draws * share;
        sum += times > 1e-9 ? -expm1(-times) / times : 1;
    }
    return sum / TRIALS;
}
