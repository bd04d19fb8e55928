#include "generate/sampler.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define LONGEST_RUN 65536.0
#define TRIALS      512 /* places from which the yield is estimated */

/* Random streams: the first of the two numbers that name a stream. The rounds of draws count
 * upwards from 0. */
#define STREAM_LABELS (UINT64_MAX - 1)
#define STREAM_TRIALS (UINT64_MAX - 3 - MAX_ORDER)
#define STREAM_SPREAD (UINT64_C(1) << 62)

enum status sampler_create(struct sampler *s, const struct generate_spec *spec, uint64_t seed,
                           struct error *error)
{
    memset(s, 0, sizeof *s);
    s->skew = spec->skew;
    s->seed = seed;
    TRY(key_layout_create(&s->layout, &spec->shape, error));
    alto_keys_create(&s->line, &s->layout);
    for (int n = 0; n < spec->shape.order; n++)
        TRY_OR(done, index_distribution_create(
                         &s->distribution[n], spec->shape.dims[n], spec->skew.exponent[n],
                         random_stream_at(seed, STREAM_LABELS, (uint64_t)n), error));
    if (s->skew.pool == 0)
        s->skew.pool_modes = 0;
    if (spec->skew.run_fraction > 0) {
        double runs = spec->skew.run_fraction / spec->skew.run_length;
        s->run_start = runs / (runs + 1 - spec->skew.run_fraction);
        s->run_decay = log1p(-1 / spec->skew.run_length);
    }
    fiber_pool_create(&s->pool, spec, &s->line, s->distribution, seed, error);
done:
    if (error->status != STATUS_OK)
        sampler_free(s);
    return error->status;
}

void sampler_free(struct sampler *s)
{
    for (int n = 0; n < MAX_ORDER; n++)
        index_distribution_free(&s->distribution[n]);
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
    return (struct sampler_part){alto_box_all(&s->line), 0, s->pool.position.count};
}

bool sampler_can_halve(const struct sampler *s, const struct sampler_part *part)
{
    if (part->box.line_bits == 0)
        return false;
    int mode = alto_box_next(&s->line, &part->box);
    return is_pooled(s, mode) || part->box.bits[mode] > s->distribution[mode].interval_bits;
}

struct sampler_part sampler_half(const struct sampler *s, const struct sampler_part *part, int bit)
{
    struct sampler_part half = *part;
    half.box = alto_box_half(&s->line, &part->box, bit);
    int mode = alto_box_next(&s->line, &part->box);
    if (!is_pooled(s, mode))
        return half;
    /* the bits that the pooled modes set where the upper half begins */
    coordinate_key upper = 0;
    for (int n = 0; n < s->layout.shape.order; n++)
        if (is_pooled(s, n))
            upper |= alto_keys_position(&s->line, n, part->box.begin[n]);
    upper |= (coordinate_key)1 << (part->box.line_bits - 1);
    uint64_t middle = fiber_pool_find(&s->pool, part->first_fiber, part->last_fiber, upper);
    *(bit ? &half.first_fiber : &half.last_fiber) = middle;
    return half;
}

double sampler_mass(const struct sampler *s, const struct sampler_part *part)
{
    double mass = 1;
    if (alto_box_is_empty(&s->layout, &part->box))
        return 0;
    if (s->skew.pool_modes)
        mass = s->pool.sum[part->last_fiber] - s->pool.sum[part->first_fiber];
    for (int n = 0; n < s->layout.shape.order; n++)
        if (!is_pooled(s, n))
            mass *= index_distribution_mass(&s->distribution[n], part->box.begin[n],
                                            alto_box_end(&s->layout, &part->box, n));
    return mass;
}

/* --- draws within a part --- */

void part_sampler_open(struct part_sampler *p, const struct sampler *s,
                       const struct sampler_part *part)
{
    p->sampler = s;
    p->part = part;
    for (int n = 0; n < s->layout.shape.order; n++)
        index_range_create(&p->range[n], &s->distribution[n], part->box.begin[n],
                           alto_box_end(&s->layout, &part->box, n));
    if (p->first_fiber == part->first_fiber && p->last_fiber == part->last_fiber)
        return;
    p->first_fiber = part->first_fiber;
    p->last_fiber = part->last_fiber;
    if (part->first_fiber < part->last_fiber)
        guide_table_create(&p->fiber, s->pool.sum, part->first_fiber, part->last_fiber);
}

/* Draws number `at` up to `total` of a random stream. */
struct drawing {
    const struct part_sampler *part;
    struct random_stream stream;
    uint64_t at, total;
    bool in_order;               /* draw number `at` gives the index of even modes  */
    double phase;                /* of a draw between its number and the next, 0..1 */
    const coordinate_key *fiber; /* (total) bits that the draws' fibers set         */
    struct permutation shuffle;  /* of the fibers, which are not in random order    */
};

static struct drawing drawing_start(const struct part_sampler *p, uint64_t a, uint64_t b,
                                    uint64_t total)
{
    struct drawing d = {
        .part = p, .stream = random_stream_at(p->sampler->seed, a, b), .total = total};
    d.phase = random_uniform(random_next(&d.stream));
    return d;
}

/* An index of mode n, independent of the other modes. */
static inline uint64_t draw_index(struct drawing *d, int n, double *mass)
{
    const struct index_range *range = &d->part->range[n];
    if (!d->in_order || !range->distribution->even)
        return index_range_draw(range, &d->stream, mass);
    double at = ((double)d->at + d->phase) / (double)d->total;
    uint64_t i = (uint64_t)(at * (double)range->length);
    return range->begin + (i < range->length ? i : range->length - 1);
}

/* Draws a fiber for every draw. How many fall into each step of the guide is drawn first: the
 * fibers are then in the order of the steps, so that what is read stays in cache. */
static void draw_fibers(struct drawing *d, coordinate_key *fiber)
{
    const struct part_sampler *p = d->part;
    const struct fiber_pool *pool = &p->sampler->pool;
    uint64_t count[GUIDE_STEPS] = {0}, k = 0;
    for (uint64_t i = 0; i < d->total; i++)
        count[random_next(&d->stream) % GUIDE_STEPS]++;
    for (int step = 0; step < GUIDE_STEPS; step++) {
        for (uint64_t i = 0; i < count[step]; i++) {
            double u = (step + random_uniform(random_next(&d->stream))) / GUIDE_STEPS;
            fiber[k++] = coordinate_keys_get(&pool->position, guide_table_find(&p->fiber, u));
        }
    }
    d->fiber = fiber;
    d->shuffle = permutation_create(d->total, d->stream);
    random_next(&d->stream);
}

/* The next draw's fiber. The order of the fibers must not be that of even modes. */
static inline coordinate_key next_fiber(const struct drawing *d)
{
    return d->fiber ? d->fiber[d->in_order ? permutation_apply(&d->shuffle, d->at) : d->at] : 0;
}

/* Draws the modes that are not pooled, except mode `apart` (-1: none): adds their bits to
 * `position` and multiplies *mass by their masses. */
static inline coordinate_key draw_rest(struct drawing *d, coordinate_key position, int apart,
                                       double *mass)
{
    const struct sampler *s = d->part->sampler;
    double one = 1;
    for (int n = 0; n < s->layout.shape.order; n++) {
        if (n == apart || is_pooled(s, n))
            continue;
        position |= alto_keys_position(&s->line, n, draw_index(d, n, &one));
        *mass *= one;
    }
    return position;
}

/* The length of the next run: 1 where the draw starts none. */
static uint64_t draw_run(struct drawing *d)
{
    const struct sampler *s = d->part->sampler;
    if (s->run_start <= 0 || random_uniform(random_next(&d->stream)) >= s->run_start ||
        s->skew.run_length <= 1)
        return 1;
    double more = log(random_inner(random_next(&d->stream))) / s->run_decay;
    return more < LONGEST_RUN ? 1 + (uint64_t)more : (uint64_t)LONGEST_RUN;
}

/* The index after `index` in a run; the first index of the part follows its last. */
static uint64_t next_in_run(struct drawing *d, uint64_t index)
{
    const struct sampler *s = d->part->sampler;
    const struct index_range *range = &d->part->range[s->skew.run_mode];
    double mass;
    if (s->skew.run_scattered || range->distribution->even)
        return draw_index(d, s->skew.run_mode, &mass);
    return index + 1 < range->begin + range->length ? index + 1 : range->begin;
}

/* Draws a place and the others of its run. Where a pooled mode is the run's mode, its bits in the
 * fiber's position are overwritten. */
static void draw_one_run(struct drawing *d, coordinate_key *key)
{
    const struct sampler *s = d->part->sampler;
    int mode = s->skew.run_mode;
    double mass = 1;
    uint64_t index, run = draw_run(d);
    uint64_t end = run < d->total - d->at ? d->at + run : d->total;
    coordinate_key rest;
    if (is_pooled(s, mode)) {
        coordinate_key whole = draw_rest(d, next_fiber(d), -1, &mass);
        index = key_coordinate(&s->layout, alto_keys_key(&s->line, whole), mode);
        rest = whole & ~alto_keys_position(&s->line, mode, s->layout.mask[mode]);
    } else {
        rest = draw_rest(d, next_fiber(d), mode, &mass);
        index = draw_index(d, mode, &mass);
    }
    for (;;) {
        key[d->at++] = rest | alto_keys_position(&s->line, mode, index);
        if (d->at == end)
            break;
        index = next_in_run(d, index);
    }
}

static bool has_even_mode(const struct sampler *s)
{
    for (int n = 0; n < s->layout.shape.order; n++)
        if (s->distribution[n].even && !is_pooled(s, n))
            return true;
    return false;
}

void part_sampler_draw(const struct part_sampler *p, uint64_t round, uint64_t number,
                       coordinate_key *key, coordinate_key *scratch, uint64_t count)
{
    const struct sampler *s = p->sampler;
    struct drawing d = drawing_start(p, round, number, count);
    double mass = 1;
    d.in_order = round == 0 && has_even_mode(s);
    if (s->skew.pool_modes)
        draw_fibers(&d, scratch);
    while (d.at < count) {
        if (s->run_start > 0) {
            draw_one_run(&d, key);
        } else {
            key[d.at] = draw_rest(&d, next_fiber(&d), -1, &mass);
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
            key[i] |= alto_keys_position(&s->line, n, index_range_even(&p->range[n], &stream));
    }
}

/* A place of probability p is found by draws * p of `draws` draws, and for the first time by
 * 1 - exp(-draws * p) of them: the mean of the quotient over places that are drawn. */
double part_sampler_yield(const struct part_sampler *p, uint64_t number, double draws)
{
    struct drawing d = drawing_start(p, STREAM_TRIALS, number, TRIALS);
    double sum = 0;
    for (; d.at < TRIALS; d.at++) {
        double mass = 1;
        if (p->sampler->skew.pool_modes) {
            uint64_t fiber = guide_table_find(&p->fiber, random_uniform(random_next(&d.stream)));
            mass = p->sampler->pool.sum[fiber + 1] - p->sampler->pool.sum[fiber];
        }
        draw_rest(&d, 0, -1, &mass);
        double times = draws * mass;
        sum += times > 1e-9 ? -expm1(-times) / times : 1;
    }
    return sum / TRIALS;
}
