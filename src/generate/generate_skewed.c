/* Nonzeros are drawn by number: draw i is the same whoever makes it, and may be made again. A
 * census first finds how many draws give as many different places as were asked for. Then all draws
 * are made, and their places sorted along the alto line; where memory does not hold them all, once
 * for each range of the line. */
#include "generate/generate.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random_stream.h"
#include "base/uint128.h"

#define WINDOW      16384       /* draws of one random stream, which one thread makes in a row */
#define ZIPF_STEPS  1024        /* of a table of quantiles                        */
#define ZIPF_EXACT  16          /* of them, the last ones: computed without it    */
#define SAMPLE      (1 << 18)   /* places that are counted; of more, a random sample           */
#define LEAST_YIELD (1.0 / 128) /* new places a draw; with fewer, the rest is drawn evenly    */
#define FULL        (1.0 / 512) /* as few new places: nearly every place of the tensor is drawn */

/* Random streams: the first of the two numbers that name a stream. */
enum { STREAM_SKEWED, STREAM_SPREAD, STREAM_FIBERS, STREAM_LABELS };

/* --- one draw --- */

/* Ranks from 0 to length - 1: k comes with a probability in proportion to the integral of
 * x^-exponent from k + 1 to k + 2. */
struct zipf {
    uint64_t length;
    double exponent;
    double quantile[ZIPF_STEPS + 1]; /* x, of each step of the probability */
};

/* The x up to which the integral has a share u of that from 1 to the length + 1. */
static double zipf_quantile(const struct zipf *z, double u)
{
    const double slope = 1 - z->exponent, end = (double)z->length + 1;
    if (fabs(slope) < 1e-9)
        return exp(u * log(end));
    return pow(1 + u * (pow(end, slope) - 1), 1 / slope);
}

static void zipf_create(struct zipf *z, uint64_t length, double exponent)
{
    z->length = length;
    z->exponent = exponent;
    for (int i = 0; exponent > 0 && i <= ZIPF_STEPS; i++)
        z->quantile[i] = zipf_quantile(z, (double)i / ZIPF_STEPS);
}

/* Linear between the steps, but for the last ones, where a steep tail is far from linear. */
static uint64_t zipf_draw(const struct zipf *z, struct random_stream *stream)
{
    const uint64_t bits = random_next(stream);
    if (z->exponent <= 0)
        return (uint64_t)((uint128)bits * z->length >> 64);
    const double u = random_uniform(bits) * ZIPF_STEPS;
    const int step = (int)u;
    const double x =
        step >= ZIPF_STEPS - ZIPF_EXACT
            ? zipf_quantile(z, u / ZIPF_STEPS)
            : z->quantile[step] + (u - step) * (z->quantile[step + 1] - z->quantile[step]);
    const uint64_t rank = (uint64_t)x - 1;
    return rank < z->length ? rank : z->length - 1;
}

struct drawer {
    const struct generate_spec *spec; /* not owned */
    uint64_t seed;
    struct zipf zipf[MAX_ORDER], fiber; /* of the indices of each mode; of the fibers of the pool */
    struct permutation label[MAX_ORDER]; /* from ranks to indices: which indices are the frequent
                                            ones */
    double run_start; /* probability that a draw starts a run                    */
    double run_decay; /* log of the probability that a run goes on                    */
};

/* *d is zeroed. */
static void drawer_create(struct drawer *d, const struct generate_spec *spec, uint64_t seed)
{
    const struct generate_skew *s = &spec->skew;
    d->spec = spec;
    d->seed = seed;
    zipf_create(&d->fiber, s->pool, s->pool_exponent);
    for (int n = 0; n < spec->shape.order; n++) {
        zipf_create(&d->zipf[n], spec->shape.dims[n], s->exponent[n]);
        d->label[n] = permutation_create(spec->shape.dims[n],
                                         random_stream_at(seed, STREAM_LABELS, (uint64_t)n));
    }
    if (s->run_fraction > 0) {
        const double runs = s->run_fraction / s->run_length;
        d->run_start = runs / (runs + 1 - s->run_fraction);
        d->run_decay = log1p(-1 / s->run_length);
    }
}

static bool is_pooled(const struct drawer *d, int mode)
{
    return d->spec->skew.pool > 0 && d->spec->skew.pool_modes >> mode & 1;
}

static bool is_even(const struct drawer *d, int mode)
{
    return d->spec->skew.exponent[mode] == GENERATE_EVEN;
}

/* The index of mode n in draw number `draw`, independent of the other modes. The
 * first draws for an even mode, as many as there are nonzeros, go through the indices in order. */
static uint32_t draw_index(const struct drawer *d, int n, uint64_t draw,
                           struct random_stream *stream)
{
    const uint64_t length = d->spec->shape.dims[n], rank = zipf_draw(&d->zipf[n], stream);
    if (is_even(d, n) && draw < d->spec->nnz)
        return (uint32_t)((uint128)draw * length / d->spec->nnz);
    return (uint32_t)permutation_apply(&d->label[n], rank);
}

/* The indices of the pooled modes: those of a fiber of the pool, which its number gives. Indices of
 * an even mode are used one after the other. */
static void draw_fiber(const struct drawer *d, uint32_t *index, struct random_stream *stream)
{
    if (d->spec->skew.pool == 0)
        return;
    const uint64_t fiber = zipf_draw(&d->fiber, stream);
    struct random_stream own = random_stream_at(d->seed, STREAM_FIBERS, fiber);
    for (int n = 0; n < d->spec->shape.order; n++) {
        if (!is_pooled(d, n))
            continue;
        uint64_t rank = zipf_draw(&d->zipf[n], &own);
        if (is_even(d, n))
            rank = (uint64_t)((uint128)fiber * d->spec->shape.dims[n] / d->spec->skew.pool);
        index[n] = (uint32_t)permutation_apply(&d->label[n], rank);
    }
}

/* The length of the next run: 1 where the draw starts none. */
static uint64_t draw_run(const struct drawer *d, struct random_stream *stream)
{
    if (d->run_start <= 0 || random_uniform(random_next(stream)) >= d->run_start ||
        d->spec->skew.run_length <= 1)
        return 1;
    const double more = log(random_inner(random_next(stream))) / d->run_decay;
    return more < WINDOW ? 1 + (uint64_t)more : WINDOW;
}

/* x[0..count) = the first draws of a window. */
static void draw_window(const struct drawer *d, uint64_t window, uint64_t count, struct coo *x)
{
    const struct generate_skew *s = &d->spec->skew;
    struct random_stream stream = random_stream_at(d->seed, STREAM_SKEWED, window);
    uint32_t index[MAX_ORDER];
    for (uint64_t at = 0; at < count;) {
        const uint64_t run = draw_run(d, &stream);
        draw_fiber(d, index, &stream);
        for (int n = 0; n < x->shape.order; n++)
            if (!is_pooled(d, n))
                index[n] = draw_index(d, n, window * WINDOW + at, &stream);
        for (uint64_t i = 0; i < run && at < count; i++, at++) {
            uint32_t *along = &index[s->run_mode];
            if (i > 0 && (s->run_scattered || is_even(d, s->run_mode)))
                *along = draw_index(d, s->run_mode, window * WINDOW + at, &stream);
            else if (i > 0)
                *along = *along + 1 < x->shape.dims[s->run_mode] ? *along + 1 : 0;
            for (int n = 0; n < x->shape.order; n++)
                x->index[n][at] = index[n];
        }
    }
}

/* How many draws there are: skewed ones, then evenly spread ones. */
struct draws {
    uint64_t skewed, spread;
};

static uint64_t windows_of(uint64_t draws)
{
    return (draws + WINDOW - 1) / WINDOW;
}

/* *x = the draws of window number `window` of them all, of which the spread ones come last. */
static void make_window(const struct drawer *d, const struct draws *draws, uint64_t window,
                        struct coo *x)
{
    const uint64_t skewed = windows_of(draws->skewed);
    const uint64_t own = window < skewed ? window : window - skewed;
    const uint64_t left = (window < skewed ? draws->skewed : draws->spread) - own * WINDOW;
    x->nnz = left < WINDOW ? left : WINDOW;
    if (window < skewed) {
        draw_window(d, own, x->nnz, x);
        return;
    }
    struct random_stream stream = random_stream_at(d->seed, STREAM_SPREAD, own);
    for (uint64_t i = 0; i < x->nnz; i++)
        for (int n = 0; n < x->shape.order; n++)
            x->index[n][i] = (uint32_t)((uint128)random_next(&stream) * x->shape.dims[n] >> 64);
}

/* A number that is always the same for the same place, but otherwise random. */
static uint64_t hash_place(const struct drawer *d, const struct coo *x, uint64_t i)
{
    uint64_t hash = random_mix(d->seed);
    for (int n = 0; n < x->shape.order; n++)
        hash = random_mix(hash ^ x->index[n][i]);
    return hash;
}

struct maker {
    const struct drawer *drawer;
    int threads;
    struct coo *window; /* (threads) tensors of WINDOW places without values, in which each thread
                         * makes windows; owned, as are the arrays */
    struct draws draws;
    struct line_encoder alto;
    struct coo x;         /* places that wait to be handed over; x.nnz is the room; owned */
    uint64_t filled;      /* places in x                                                  */
    uint64_t first, last; /* keys of the range of the line that is made                   */
    uint64_t *key;        /* (threads x WINDOW) of places of windows, or hashes; owned    */
    uint64_t *upper;      /* (threads x WINDOW); owned                                    */
};

/* --- how many draws --- */

/* The places among the draws, or of more than SAMPLE nonzeros a random sample of them: those whose
 * hash is at most `most`. A table with open addressing. */
struct census {
    uint64_t most;
    double every;    /* a sampled place stands for so many            */
    uint64_t target; /* of sampled places                             */
    uint64_t found;  /* sampled places so far                         */
    uint64_t slots;  /* a power of two, four times the target or more */
    uint64_t *hash;  /* (slots) of a place; 0: none; owned            */
    uint64_t *first; /* (slots) the first draw of the place; owned    */
};

static uint64_t census_slots(uint64_t nnz)
{
    uint64_t slots = 256;
    while (slots < 4 * (nnz < SAMPLE ? nnz : SAMPLE))
        slots *= 2;
    return slots;
}

/* hash[i] is that of the place of draw number `draw` + i. */
static void census_add(struct census *c, const uint64_t *hash, uint64_t draw, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (hash[i] > c->most)
            continue;
        const uint64_t place = hash[i] + (hash[i] == 0);
        uint64_t slot = random_mix(hash[i]) & (c->slots - 1);
        while (c->hash[slot] != 0 && c->hash[slot] != place)
            slot = (slot + 1) & (c->slots - 1);
        c->found += c->hash[slot] == 0;
        c->hash[slot] = place;
        c->first[slot] = least_of(c->first[slot], draw + i);
    }
}

/* Adds so many more draws of a kind. */
static void census_draws(struct census *c, struct maker *m, bool spread, uint64_t count)
{
    struct draws *draws = &m->draws;
    const uint64_t before = spread ? draws->spread : draws->skewed;
    *(spread ? &draws->spread : &draws->skewed) += count;
    const uint64_t skewed = windows_of(draws->skewed);
    const uint64_t first = (spread ? skewed : 0) + before / WINDOW;
    const uint64_t last = spread ? skewed + windows_of(draws->spread) : skewed;
#pragma omp parallel for schedule(dynamic) num_threads(m->threads)
    for (uint64_t w = first; w < last; w++) {
        struct coo *x = &m->window[omp_get_thread_num()];
        uint64_t *hash = m->key + (size_t)omp_get_thread_num() * WINDOW;
        const uint64_t own = spread ? draws->skewed + (w - skewed) * WINDOW : w * WINDOW;
        const uint64_t begin = w == first ? before % WINDOW : 0;
        make_window(m->drawer, draws, w, x);
        for (uint64_t i = begin; i < x->nnz; i++)
            hash[i] = hash_place(m->drawer, x, i);
#pragma omp critical(generate_census)
        census_add(c, hash + begin, own + begin, x->nnz - begin);
    }
}

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* m->draws = how many draws give spec->nnz places. Where hardly any new places come, since the
 * frequent indices are used up, the others are spread. */
static enum status count_draws(struct maker *m, struct error *error)
{
    const uint64_t nnz = m->drawer->spec->nnz;
    struct draws *draws = &m->draws;
    struct census c = {.most = UINT64_MAX, .every = 1, .target = nnz, .slots = census_slots(nnz)};
    double yield = 1;
    bool spread = false;
    if (nnz > SAMPLE) {
        c.every = (double)nnz / SAMPLE;
        c.most = (uint64_t)(0x1p64 / c.every);
        c.target = SAMPLE;
    }
    c.hash = memory_zeros(c.slots, sizeof *c.hash, error);
    c.first = c.hash ? memory_array(c.slots, sizeof *c.first, error) : NULL;
    if (!c.first)
        goto done;
    memset(c.first, 0xff, c.slots * sizeof *c.first);
    while (c.found < c.target && !(spread && c.every > 1 && yield < FULL)) {
        const uint64_t before = c.found;
        const double most = 2 * (double)c.target * c.every;
        const double wanted = (double)(c.target - before) * c.every / fmax(yield, 1e-6) * 1.1 + 16;
        const uint64_t count = (uint64_t)fmin(wanted, most);
        census_draws(&c, m, spread, count);
        yield = (double)(c.found - before) * c.every / (double)count;
        if (!spread && yield < LEAST_YIELD) {
            spread = true;
            yield = 1;
        }
    }
    if (c.found > c.target) { /* the first draws of all places move to the front */
        for (uint64_t slot = 0, count = 0; slot < c.slots; slot++)
            if (c.hash[slot] != 0)
                c.first[count++] = c.first[slot];
        qsort(c.first, c.found, sizeof *c.first, compare_numbers);
        const uint64_t all = c.first[c.target]; /* the draw that would be one place too many */
        draws->spread = all > draws->skewed ? all - draws->skewed : 0;
        draws->skewed = all < draws->skewed ? all : draws->skewed;
    }
done:
    memory_free(c.hash, c.first);
    return error->status;
}

/* --- all nonzeros --- */

/* Bytes for each place of x, and for what threads make windows in. */
static double place_bytes(int order)
{
    return (double)coo_bytes(order, 1) + PLACE_SORT_BYTES;
}

static double window_bytes(int order)
{
    return omp_get_max_threads() * (double)WINDOW * ((double)coo_bytes(order, 1) + 16);
}

static enum status check_memory(const struct generate_spec *spec, uint64_t memory,
                                struct error *error)
{
    const int order = spec->shape.order;
    const double places = fmin(2 * ((double)spec->nnz + WINDOW), 6.0 * GENERATE_PIECE);
    const double needed = fmax(window_bytes(order) + places * place_bytes(order),
                               16.0 * (double)census_slots(spec->nnz));
    if (needed > (double)memory)
        return error_set(error, STATUS_MEMORY,
                         "%s of memory are needed to make the tensor, %s may be used",
                         NUMBER_SIZE(number_whole(needed)), NUMBER_SIZE(memory));
    return STATUS_OK;
}

/* key[0..count) = the upper 64 bits of the lines of places [first, first + count) of x. */
static void line_keys(const struct maker *m, const struct coo *x, uint64_t first, uint64_t count,
                      uint64_t *key, uint64_t *upper)
{
    const int bits = m->alto.ordering.line_bits, top = bits > 64 ? (bits - 1) / 64 : 0;
    line_encoder_words(&m->alto, x, top > 0 ? top - 1 : 0, first, count, key);
    if (top == 0)
        return;
    const int upper_bits = bits - 64 * top; /* 1 to 64 */
    line_encoder_words(&m->alto, x, top, first, count, upper);
    for (uint64_t i = 0; i < count; i++)
        key[i] = upper_bits == 64 ? upper[i] : key[i] >> upper_bits | upper[i] << (64 - upper_bits);
}

/* Adds the places of a window that are in the range; there is room. */
static void add_window(struct maker *m, uint64_t window)
{
    const int thread = omp_get_thread_num();
    struct coo *x = &m->window[thread];
    uint64_t *key = m->key + (size_t)thread * WINDOW, kept = 0, at;
    make_window(m->drawer, &m->draws, window, x);
    line_keys(m, x, 0, x->nnz, key, m->upper + (size_t)thread * WINDOW);
    for (uint64_t i = 0; i < x->nnz; i++)
        if (key[i] >= m->first && key[i] <= m->last)
            key[kept++] = i; /* kept <= i: a key that was read */
#pragma omp atomic capture
    {
        at = m->filled;
        m->filled += kept;
    }
    for (int n = 0; n < x->shape.order; n++)
        for (uint64_t k = 0; k < kept; k++)
            m->x.index[n][at + k] = x->index[n][key[k]];
}

static uint64_t key_at(const struct maker *m, uint64_t i)
{
    uint64_t key, upper;
    line_keys(m, &m->x, i, 1, &key, &upper);
    return key;
}

/* Sorts the places in x and drops repeated ones. */
static enum status sort_places(struct maker *m, struct error *error)
{
    struct coo x = m->x; /* borrows the arrays */
    x.nnz = m->filled;
    place_sort(&x, &m->alto.ordering, error);
    m->filled = x.nnz;
    return error->status;
}

/* Where more than half of the room stays taken, the range ends earlier from now on: the upper half
 * of the places goes. */
static enum status tidy(struct maker *m, struct error *error)
{
    TRY(sort_places(m, error));
    if (m->filled <= m->x.nnz / 2)
        return STATUS_OK;
    uint64_t middle = m->filled / 2;
    const uint64_t key = key_at(m, middle);
    while (middle > 0 && key_at(m, middle - 1) == key)
        middle--;
    if (middle == 0 || key_at(m, middle - 1) < m->first)
        return error_set(error, STATUS_MEMORY,
                         "more than %s of memory are needed to make the tensor",
                         NUMBER_SIZE(coo_bytes(m->x.shape.order, m->x.nnz)));
    m->filled = middle;
    m->last = key_at(m, middle - 1);
    return STATUS_OK;
}

/* Fills x with all places of the range that begins at m->first, in order. */
static enum status make_range(struct maker *m, struct error *error)
{
    const uint64_t windows = windows_of(m->draws.skewed) + windows_of(m->draws.spread);
    m->last = UINT64_MAX;
    for (uint64_t w = 0; w < windows;) {
        const uint64_t room = (m->x.nnz - m->filled) / WINDOW;
        const uint64_t end = w + room < windows ? w + room : windows;
        if (end < windows && (room == 0 || m->x.nnz - m->filled < m->x.nnz / 4)) {
            TRY(tidy(m, error));
            continue;
        }
#pragma omp parallel for schedule(dynamic) num_threads(m->threads)
        for (uint64_t i = w; i < end; i++)
            add_window(m, i);
        w = end;
    }
    return sort_places(m, error);
}

/* Gives the first `count` places their values and hands them over. Values are counts: 1 with
 * probability 1/2, 2 with 1/4, and so on. */
static enum status hand_over(struct maker *m, const struct generate_run *run, uint64_t count,
                             struct error *error)
{
    struct coo piece = m->x; /* borrows the arrays */
    piece.nnz = count;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bits = random_mix(hash_place(m->drawer, &piece, i));
        piece.value[i] = 1 + __builtin_ctzll(bits | UINT64_C(1) << 62);
    }
    if (count > 0)
        TRY(run->take(run->context, &piece, error));
    for (int n = 0; n < m->x.shape.order; n++)
        memmove(m->x.index[n], m->x.index[n] + count, (m->filled - count) * sizeof *m->x.index[n]);
    m->filled -= count;
    return STATUS_OK;
}

/* Makes and hands over one range of the line after the other. */
static enum status make_all(struct maker *m, const struct generate_run *run, struct error *error)
{
    uint64_t done = 0;
    for (bool all = false; !all; m->first = m->last + 1) {
        TRY(make_range(m, error));
        all = m->last == UINT64_MAX;
        const uint64_t count = all ? m->filled : m->filled / GENERATE_PIECE * GENERATE_PIECE;
        TRY(hand_over(m, run, count, error));
        done += count;
        progress_update(run->progress, fmin((double)done / (double)m->drawer->spec->nnz, 1),
                        "%.1f million nonzeros", (double)done / 1e6);
    }
    return STATUS_OK;
}

enum status generate_skewed(const struct generate_spec *spec, const struct generate_run *run,
                            struct error *error)
{
    struct maker maker = {0};
    const int order = spec->shape.order;
    struct ordering alto;
    TRY(generate_check(spec, error));
    TRY(check_memory(spec, run->memory, error));
    struct drawer *drawer = memory_zeros(1, sizeof *drawer, error);
    TRY(error->status);
    drawer_create(drawer, spec, run->seed);
    maker.drawer = drawer;
    maker.threads = omp_get_max_threads();
    maker.window = memory_zeros((size_t)maker.threads, sizeof *maker.window, error);
    for (int i = 0; maker.window && i < maker.threads; i++)
        TRY_OR(done, coo_create(&maker.window[i], &spec->shape, WINDOW, error));
    maker.key = memory_array((size_t)maker.threads * WINDOW, sizeof *maker.key, error);
    maker.upper = memory_array((size_t)maker.threads * WINDOW, sizeof *maker.upper, error);
    TRY_OR(done, error->status);
    TRY_OR(done, count_draws(&maker, error));
    ordering_create(&alto, ORDERING_ALTO, &spec->shape, 64);
    TRY_OR(done, line_encoder_create(&maker.alto, &alto, error));
    /* With room for all draws, or for as many as the memory holds. */
    const double all = (double)(maker.draws.skewed + maker.draws.spread + 2 * WINDOW);
    const double fit = ((double)run->memory - window_bytes(order)) / place_bytes(order);
    TRY_OR(done, coo_create(&maker.x, &spec->shape, (uint64_t)fmin(all, fit), error));
    make_all(&maker, run, error);
done:
    for (int i = 0; maker.window && i < maker.threads; i++)
        coo_free(&maker.window[i]);
    memory_free(maker.window);
    line_encoder_free(&maker.alto);
    coo_free(&maker.x);
    memory_free(maker.key, maker.upper, drawer);
    return error->status;
}
