#include "generate/generate.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "generate/generate_plan.h"
#include "generate/key_set.h"

#define LEAST_YIELD      (1.0 / 128) /* new places a draw; with fewer, no more draws are made */
#define PARTS_PER_THREAD 8           /* made at a time: evens out parts of uneven cost        */

static enum status check_size(const struct generate_spec *spec, struct error *error)
{
    struct key_layout layout;
    TRY(key_layout_create(&layout, &spec->shape, error));
    if (spec->nnz < 1 || spec->nnz > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, expected 1 to %ju",
                         (uintmax_t)spec->nnz, (uintmax_t)MAX_NNZ);
    coordinate_key places = key_layout_places(&layout);
    if (places < spec->nnz)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, but the tensor has %ju cells only",
                         (uintmax_t)spec->nnz, (uintmax_t)places);
    return STATUS_OK;
}

static enum status check_skew(const struct generate_spec *spec, struct error *error)
{
    const struct generate_skew *s = &spec->skew;
    for (int n = 0; n < spec->shape.order; n++)
        if (s->exponent[n] != GENERATE_EVEN &&
            !(s->exponent[n] >= 0 && s->exponent[n] <= GENERATE_MOST_SKEW))
            return error_set(error, STATUS_INPUT, "skew: Zipf exponent %g, expected 0 to %g",
                             s->exponent[n], GENERATE_MOST_SKEW);
    if (s->pool > MAX_NNZ || (s->pool > 0 && s->pool_modes == 0) ||
        (uint64_t)s->pool_modes >> spec->shape.order != 0)
        return error_set(error, STATUS_INPUT,
                         "fibers: expected up to %ju combinations of some of the %d modes",
                         (uintmax_t)MAX_NNZ, spec->shape.order);
    if (!(s->pool_exponent >= 0 && s->pool_exponent <= GENERATE_MOST_SKEW))
        return error_set(error, STATUS_INPUT, "fibers: Zipf exponent %g, expected 0 to %g",
                         s->pool_exponent, GENERATE_MOST_SKEW);
    if (!(s->run_fraction >= 0 && s->run_fraction <= 1))
        return error_set(error, STATUS_INPUT, "runs: fraction %g, expected 0 to 1",
                         s->run_fraction);
    if (s->run_fraction > 0 && (s->run_mode < 0 || s->run_mode >= spec->shape.order))
        return error_set(error, STATUS_INPUT, "runs: mode %d, expected 1 to %d", s->run_mode + 1,
                         spec->shape.order);
    if (s->run_fraction > 0 && !(s->run_length >= 1 && isfinite(s->run_length)))
        return error_set(error, STATUS_INPUT, "runs: length %g, expected 1 or more", s->run_length);
    return STATUS_OK;
}

/* --- one part --- */

/* The memory in which a thread makes a part. */
struct worker {
    struct part_sampler *sampler;
    struct key_set set;
};

/* The most draws of one round for a part of `count` nonzeros. */
static uint64_t most_draws(uint64_t count)
{
    return count + count / 2 + 128;
}

/* Draws until the part has part->count distinct places, or until hardly any new ones come because
 * the frequent indices are used up. */
static void draw_distinct(struct worker *w, uint64_t number, const struct planned_part *part)
{
    struct key_set *set = &w->set;
    double yield = part->yield;
    for (uint64_t round = 0; set->count < part->count && yield > LEAST_YIELD; round++) {
        double needed = (double)(part->count - set->count) / yield * (round ? 1.1 : 1.005) + 16;
        uint64_t draws = most_draws(part->count), before = set->count;
        if (needed < (double)draws)
            draws = (uint64_t)needed;
        part_sampler_draw(w->sampler, round, number, set->drawn, set->scratch, draws);
        key_set_add(set, draws, part->line_bits);
        yield = (double)(set->count - before) / (double)draws;
    }
    key_set_thin(set, part->count);
}

/* Lists all places of a part that has few. Returns their number. */
static uint64_t list_places(const struct part_sampler *p, coordinate_key *key)
{
    const struct alto_keys *line = &p->sampler->line;
    uint64_t count = 1;
    key[0] = 0;
    for (int n = 0; n < line->alto.order; n++) {
        const struct index_range *range = &p->range[n];
        for (uint64_t i = range->length; i-- > 0;)
            for (uint64_t k = 0; k < count; k++)
                key[i * count + k] = key[k] | alto_keys_position(line, n, range->begin + i);
        count *= range->length;
    }
    return count;
}

/* Adds the places that are missing, spread evenly over the free ones. */
static void fill_up(struct worker *w, uint64_t number, const struct planned_part *part)
{
    struct key_set *set = &w->set;
    const struct part_sampler *p = w->sampler;
    if (set->count == part->count)
        return;
    if (alto_box_places(&p->sampler->layout, &p->part->box) <= 2 * part->count) {
        key_set_fill(set, list_places(p, set->drawn), part->line_bits, part->count);
        return;
    }
    for (uint64_t round = 0; set->count < part->count; round++) {
        uint64_t draws = part->count - set->count + (part->count - set->count) / 4 + 16;
        part_sampler_spread(p, round, number, set->drawn, draws);
        key_set_fill(set, draws, part->line_bits, part->count);
    }
}

static enum status make_part(struct worker *w, const struct sampler *s, uint64_t number,
                             const struct planned_part *part, struct error *error)
{
    struct sampler_part place = planned_part_expand(s, part);
    TRY(key_set_clear(&w->set, part->count + most_draws(part->count), error));
    part_sampler_open(w->sampler, s, &place);
    draw_distinct(w, number, part);
    fill_up(w, number, part);
    return STATUS_OK;
}

/* Writes the nonzeros of a part to x, from nonzero `at` on. Values are counts: 1 with probability
 * 1/2, 2 with 1/4, and so on, always the same for the same place. */
static void put_part(const struct key_set *set, const struct sampler *s, struct coo *x, uint64_t at)
{
    uint64_t salt = random_mix(s->seed);
    for (uint64_t i = 0; i < set->count; i++) {
        coordinate_key key = alto_keys_key(&s->line, set->key[i]);
        for (int n = 0; n < x->shape.order; n++)
            x->index[n][at + i] = (uint32_t)key_coordinate(&s->layout, key, n);
        uint64_t bits = random_mix((uint64_t)key ^ random_mix((uint64_t)(key >> 64) + salt));
        x->value[at + i] = 1 + __builtin_ctzll(bits | UINT64_C(1) << 62);
    }
}

/* --- all parts --- */

struct maker {
    const struct sampler *sampler;
    const struct generate_plan *plan;
    struct worker *worker; /* (threads); owned */
    int threads;
    struct coo x;    /* nonzeros that wait to be passed on; x.nnz is the room; owned */
    uint64_t filled; /* nonzeros in x                                                */
};

static void maker_free(struct maker *m)
{
    for (int t = 0; m->worker && t < m->threads; t++) {
        memory_free(m->worker[t].sampler);
        key_set_free(&m->worker[t].set);
    }
    memory_free(m->worker);
    coo_free(&m->x);
}

/* Allocates for all threads, each with a few parts, or fewer parts where `memory` is less. */
static enum status maker_create(struct maker *m, const struct sampler *s,
                                const struct generate_plan *plan, uint64_t memory,
                                struct error *error)
{
    *m = (struct maker){.sampler = s, .plan = plan, .threads = omp_get_max_threads()};
    double entry = 4.0 * s->layout.shape.order + 8, threads = m->threads;
    double largest = (double)plan->largest;
    double fixed =
        threads * (3 * 2.5 * sizeof(coordinate_key) * largest + sizeof *m->worker->sampler) +
        (double)s->pool.position.count * 24 + (double)plan->room * sizeof *plan->part;
    double least = fixed + entry * (GENERATE_PIECE + largest);
    if (least > (double)memory)
        return error_set(error, STATUS_MEMORY,
                         "%s of memory are needed to make the tensor, %s may be used",
                         NUMBER_SIZE(number_whole(least)), NUMBER_SIZE(memory));
    double room = GENERATE_PIECE + threads * PARTS_PER_THREAD * largest;
    double fit = ((double)memory - fixed) / entry;
    m->worker = memory_zeros((size_t)m->threads, sizeof *m->worker, error);
    if (!m->worker)
        return error->status;
    for (int t = 0; t < m->threads; t++) {
        m->worker[t].sampler = memory_zeros(1, sizeof *m->worker[t].sampler, error);
        if (!m->worker[t].sampler)
            return error->status;
    }
    return coo_create(&m->x, &s->layout.shape, (uint64_t)(room < fit ? room : fit), error);
}

/* Makes parts [first, last), for which x has room. */
static enum status make_parts(struct maker *m, uint64_t first, uint64_t last, struct error *error)
{
    const struct planned_part *part = m->plan->part;
    struct error worst = {0};
#pragma omp parallel for schedule(dynamic) num_threads(m->threads)
    for (uint64_t i = first; i < last; i++) {
        struct worker *w = &m->worker[omp_get_thread_num()];
        struct error own = {0};
        if (part[i].count == 0)
            continue;
        if (make_part(w, m->sampler, i, &part[i], &own) != STATUS_OK) {
#pragma omp critical(generate_skewed)
            error_set(&worst, own.status, "%s", own.message);
            continue;
        }
        put_part(&w->set, m->sampler, &m->x, m->filled + part[i].first - part[first].first);
    }
    if (worst.status != STATUS_OK)
        return error_set(error, worst.status, "%s", worst.message);
    m->filled += part[last - 1].first + part[last - 1].count - part[first].first;
    return STATUS_OK;
}

/* Hands over all nonzeros, or multiples of GENERATE_PIECE, and keeps the rest. */
static enum status hand_over(struct maker *m, const struct generate_run *run, bool all,
                             struct error *error)
{
    struct coo piece = m->x; /* borrows the arrays */
    piece.nnz = all ? m->filled : m->filled / GENERATE_PIECE * GENERATE_PIECE;
    if (piece.nnz == 0)
        return STATUS_OK;
    uint64_t passed = piece.nnz, left = m->filled - passed;
    TRY(run->take(run->context, &piece, error));
    for (int n = 0; n < m->x.shape.order; n++)
        memmove(m->x.index[n], m->x.index[n] + passed, left * sizeof *m->x.index[n]);
    memmove(m->x.value, m->x.value + passed, left * sizeof *m->x.value);
    m->filled = left;
    return STATUS_OK;
}

static enum status make_all(struct maker *m, const struct generate_run *run, uint64_t nnz,
                            struct error *error)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < m->plan->count;) {
        uint64_t first = i, room = m->x.nnz - m->filled, begun = 0;
        while (i < m->plan->count && begun + m->plan->part[i].count <= room)
            begun += m->plan->part[i++].count;
        TRY(make_parts(m, first, i, error));
        TRY(hand_over(m, run, i == m->plan->count, error));
        done += begun;
        progress_update(run->progress, (double)done / (double)nnz, "%.1f million nonzeros",
                        (double)done / 1e6);
    }
    return STATUS_OK;
}

static enum status check_pool(const struct generate_spec *spec, uint64_t memory,
                              struct error *error)
{
    double pool = (double)fiber_pool_count(spec) * FIBER_POOL_BYTES;
    if (pool > (double)memory)
        return error_set(error, STATUS_MEMORY,
                         "the combinations of fibers take %s of memory, %s may be used",
                         NUMBER_SIZE(number_whole(pool)), NUMBER_SIZE(memory));
    return STATUS_OK;
}

enum status generate_skewed(const struct generate_spec *spec, const struct generate_run *run,
                            struct error *error)
{
    struct generate_plan plan = {0};
    struct maker maker = {0};
    TRY(check_size(spec, error));
    TRY(check_skew(spec, error));
    TRY(check_pool(spec, run->memory, error));
    struct sampler *sampler = memory_zeros(1, sizeof *sampler, error);
    if (!sampler)
        return error->status;
    TRY_OR(done, sampler_create(sampler, spec, run->seed, error));
    TRY_OR(done, generate_plan_create(&plan, sampler, spec->nnz, error));
    TRY_OR(done, maker_create(&maker, sampler, &plan, run->memory, error));
    make_all(&maker, run, spec->nnz, error);
done:
    maker_free(&maker);
    generate_plan_free(&plan);
    sampler_free(sampler);
    memory_free(sampler);
    return error->status;
}
