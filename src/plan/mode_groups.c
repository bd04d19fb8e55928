#include "plan/mode_groups.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"

/* The key of a possible tuple is its number among all possible tuples, the first mode counting the
 * most. The keys that nonzeros have are marked in a bitmap and counted. Where keys are many, only a
 * random 64th of them is looked at; where keys are few against nonzeros, all are taken to occur. */
#define MAX_UNSAMPLED            (UINT64_C(1) << 16) /* more keys are sampled */
#define SKIPPED_BITS             6  /* the sample is one key of 2^SKIPPED_BITS    */
#define ENOUGH_NONZEROS_PER_KEY  64 /* with so many, all keys are taken to occur  */
#define MIN_NONZEROS_PER_TUPLE   2  /* of a group that can pay                    */
#define MAX_POSSIBLE             (UINT64_C(1) << 30)
#define MAX_POSSIBLE_PER_NONZERO 128
#define KEYS_AT_A_TIME           1024 /* nonzeros whose keys are worked out at a time */
#define MAX_GROUPED_ORDER        8    /* the number of candidates grows as 2^order    */
#define WORTH                    0.8  /* of the traffic without groups, at most       */

void mode_groups_none(struct mode_groups *g, int order)
{
    mode_groups_from_cuts(g, order, ~0u);
}

void mode_groups_from_cuts(struct mode_groups *g, int order, unsigned cuts)
{
    g->groups = 0;
    g->first[0] = 0;
    for (int n = 1; n <= order; n++)
        if (n == order || cuts >> (n - 1) & 1)
            g->first[++g->groups] = n;
}

int mode_groups_of(const struct mode_groups *g, int mode)
{
    int group = 0;
    while (g->first[group + 1] <= mode)
        group++;
    return group;
}

int mode_groups_size(const struct mode_groups *g, int group)
{
    return g->first[group + 1] - g->first[group];
}

/* The tuples of modes [first, last): bit `key` is set where a nonzero has the tuple of that key. */
struct tuple_map {
    const struct coo *x;
    int first, last;
    uint64_t words;
    uint64_t *bits;   /* (words); owned                                       */
    uint64_t *before; /* (words + 1): tuples in the words before; owned       */
};

static void tuple_map_free(struct tuple_map *m)
{
    memory_free(m->bits, m->before);
}

/* The number of possible tuples, or any number above MAX_POSSIBLE. */
static uint64_t possible_tuples(const uint64_t *dims, int first, int last)
{
    uint64_t possible = 1;
    for (int n = first; n < last && possible <= MAX_POSSIBLE; n++)
        possible *= dims[n];
    return possible;
}

uint64_t mode_groups_possible_tuples(const uint64_t *dims, uint64_t nnz, int first, int last)
{
    uint64_t possible = possible_tuples(dims, first, last);
    return possible > MAX_POSSIBLE || possible / MAX_POSSIBLE_PER_NONZERO > nnz ? 0 : possible;
}

/* key[j] = the key of nonzero i + j, for j < count. */
static void tuple_keys(const struct tuple_map *m, uint64_t i, uint64_t count, uint32_t *key)
{
    memcpy(key, m->x->index[m->first] + i, count * sizeof *key);
    for (int n = m->first + 1; n < m->last; n++) {
        const uint32_t *index = m->x->index[n] + i, length = (uint32_t)m->x->shape.dims[n];
        for (uint64_t j = 0; j < count; j++)
            key[j] = key[j] * length + index[j];
    }
}

/* Returns 1 where the bit was not set before. Of threads that set it at the same time, one gets 1.
 */
static uint64_t set_bit(uint64_t *bits, uint64_t key)
{
    uint64_t bit = UINT64_C(1) << (key % 64), *word = &bits[key / 64];
    if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit)
        return 0;
    return !(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit);
}

/* Marks the tuples that the nonzeros of x have, and counts them. On failure *m is empty. */
static enum status tuple_map_create(struct tuple_map *m, const struct coo *x, int first, int last,
                                    struct error *error)
{
    *m = (struct tuple_map){.x = x, .first = first, .last = last};
    m->words = (possible_tuples(x->shape.dims, first, last) + 63) / 64;
    m->bits = memory_zeros(m->words, sizeof *m->bits, error);
    m->before = memory_array(m->words + 1, sizeof *m->before, error);
    if (!m->bits || !m->before) {
        tuple_map_free(m);
        return error->status;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i += KEYS_AT_A_TIME) {
        uint32_t key[KEYS_AT_A_TIME];
        uint64_t count = least_of(x->nnz - i, KEYS_AT_A_TIME);
        tuple_keys(m, i, count, key);
        for (uint64_t j = 0; j < count; j++)
            set_bit(m->bits, key[j]);
    }
    m->before[0] = 0;
    for (uint64_t w = 0; w < m->words; w++)
        m->before[w + 1] = m->before[w] + (uint64_t)__builtin_popcountll(m->bits[w]);
    return STATUS_OK;
}

struct mode_groups_sample mode_groups_sample(uint64_t possible)
{
    return (struct mode_groups_sample){.key_bits = 64 - __builtin_clzll(possible),
                                       .skipped_bits = possible > MAX_UNSAMPLED ? SKIPPED_BITS : 0};
}

/* *count = the number of tuples, estimated from a sample of the keys. Multiplying by an odd number
 * modulo a power of two permutes the keys nearly at random; the least permuted keys are the sample.
 */
static enum status sample_tuples(const struct coo *x, int first, int last, uint64_t possible,
                                 double *count, struct error *error)
{
    const struct tuple_map m = {.x = x, .first = first, .last = last};
    const struct mode_groups_sample s = mode_groups_sample(possible);
    const uint32_t mask = (UINT32_C(1) << s.key_bits) - 1;
    const uint32_t sampled = UINT32_C(1) << (s.key_bits - s.skipped_bits);
    uint64_t *map = memory_zeros(sampled / 64 + 1, sizeof *map, error), tuples = 0;
    TRY(error->status);
#pragma omp parallel for schedule(static) reduction(+ : tuples)
    for (uint64_t i = 0; i < x->nnz; i += KEYS_AT_A_TIME) {
        uint32_t key[KEYS_AT_A_TIME];
        uint64_t length = least_of(x->nnz - i, KEYS_AT_A_TIME);
        tuple_keys(&m, i, length, key);
        for (uint64_t j = 0; j < length; j++)
            key[j] = key[j] * UINT32_C(2654435761) & mask;
        for (uint64_t j = 0; j < length; j++)
            if (key[j] < sampled)
                tuples += set_bit(map, key[j]);
    }
    memory_free(map);
    *count = (double)(tuples << s.skipped_bits);
    return STATUS_OK;
}

/* Counts the tuples of modes [first, last), by an estimate where that saves time. Infinite where
 * counting is not worth while, as where these modes without the first or without the last have too
 * many tuples already. */
static enum status count_tuples(struct tuple_counts *tuples, const struct coo *x, int first,
                                int last, struct error *error)
{
    const double most = (double)x->nnz / MIN_NONZEROS_PER_TUPLE;
    const uint64_t possible = mode_groups_possible_tuples(x->shape.dims, x->nnz, first, last);
    double *count = &tuples->count[first][last];
    *count = last - first == 1 ? (double)x->shape.dims[first] : INFINITY;
    if (last - first == 1 || possible == 0)
        return STATUS_OK;
    if (last - first > 2 &&
        (tuples->count[first][last - 1] > most || tuples->count[first + 1][last] > most))
        return STATUS_OK;
    if (possible > x->nnz / ENOUGH_NONZEROS_PER_KEY)
        return sample_tuples(x, first, last, possible, count, error);
    *count = (double)possible;
    return STATUS_OK;
}

/* What the traffic of a sweep is estimated from. */
struct estimate {
    double nnz;
    const struct tuple_counts *tuples;
    double rows_in_cache;
    double beyond;     /* as in struct gather_cost                      */
    double index_rows; /* cost of reading an index and a value, in rows */
};

/* The cost of gathering a row from a table of `rows` rows. */
static double row_cost(const struct estimate *e, double rows)
{
    return rows <= e->rows_in_cache ? 1 : e->beyond;
}

/* Rows that a sweep moves, beside the rows of M: for each group, a pass over the nonzeros, which
 * gathers a row for every other group; for a group of several modes, also its products, its partial
 * products, and for each of its modes a pass over its tuples. */
static double sweep_traffic(const struct estimate *e, const struct mode_groups *g)
{
    double all = 0, traffic = 0;
    for (int k = 0; k < g->groups; k++)
        all += row_cost(e, e->tuples->count[g->first[k]][g->first[k + 1]]);
    for (int k = 0; k < g->groups; k++) {
        double rows = e->tuples->count[g->first[k]][g->first[k + 1]], size = mode_groups_size(g, k);
        traffic += e->nnz * (all - row_cost(e, rows) + e->index_rows);
        if (size > 1)
            traffic += rows * row_cost(e, rows) * (1 + size + 1 + size * (size + e->index_rows));
    }
    return traffic;
}

bool mode_groups_possible(int order)
{
    return order >= 3 && order <= MAX_GROUPED_ORDER;
}

void mode_groups_decide(struct mode_groups *g, int order, uint64_t nnz,
                        const struct tuple_counts *tuples, const struct gather_cost *cost)
{
    const double row_bytes = (double)cost->row_bytes;
    const struct estimate e = {.nnz = (double)nnz,
                               .tuples = tuples,
                               .rows_in_cache = (double)cost->cache_bytes / row_bytes,
                               .beyond = cost->beyond,
                               .index_rows = 0.25 + 16.0 / row_bytes};
    mode_groups_none(g, order);
    double least = WORTH * sweep_traffic(&e, g);
    for (unsigned cuts = 1; cuts < 1u << (order - 1); cuts++) {
        struct mode_groups candidate;
        mode_groups_from_cuts(&candidate, order, cuts);
        double traffic = sweep_traffic(&e, &candidate);
        if (traffic < least) {
            least = traffic;
            *g = candidate;
        }
    }
}

enum status mode_groups_choose(struct mode_groups *g, const struct coo *x,
                               const struct gather_cost *cost, struct error *error)
{
    struct tuple_counts tuples;
    mode_groups_none(g, x->shape.order);
    if (!mode_groups_possible(x->shape.order))
        return STATUS_OK;
    for (int size = 1; size < x->shape.order; size++)
        for (int first = 0; first + size <= x->shape.order; first++)
            TRY(count_tuples(&tuples, x, first, first + size, error));
    mode_groups_decide(g, x->shape.order, x->nnz, &tuples, cost);
    return STATUS_OK;
}

/* Fills *tuples with the coordinates and the number of every tuple, in the order of the numbers. */
static void list_tuples(const struct tuple_map *m, struct coo *tuples)
{
    int size = m->last - m->first;
#pragma omp parallel for
    for (uint64_t w = 0; w < m->words; w++) {
        uint64_t number = m->before[w];
        for (uint64_t bits = m->bits[w]; bits; bits &= bits - 1, number++) {
            uint64_t key = w * 64 + (uint64_t)__builtin_ctzll(bits);
            for (int n = size - 1; n >= 0; n--) {
                tuples->index[n][number] = (uint32_t)(key % tuples->shape.dims[n]);
                key /= tuples->shape.dims[n];
            }
            tuples->index[size][number] = (uint32_t)number;
            tuples->value[number] = 1;
        }
    }
}

/* number[i] = the number of nonzero i's tuple. */
static void number_tuples(const struct tuple_map *m, uint32_t *number)
{
    const uint64_t nnz = m->x->nnz;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nnz; i += KEYS_AT_A_TIME) {
        uint32_t key[KEYS_AT_A_TIME];
        uint64_t count = least_of(nnz - i, KEYS_AT_A_TIME);
        tuple_keys(m, i, count, key);
        for (uint64_t j = 0; j < count; j++) {
            uint64_t word = key[j] / 64;
            uint64_t below = m->bits[word] & ((UINT64_C(1) << (key[j] % 64)) - 1);
            number[i + j] = (uint32_t)(m->before[word] + (uint64_t)__builtin_popcountll(below));
        }
    }
}

static enum status apply_to_group(struct grouped_tensor *grouped, int group, const struct coo *x,
                                  struct error *error)
{
    int first = grouped->mode_groups.first[group], last = grouped->mode_groups.first[group + 1];
    struct coo *tuples = &grouped->tuples[group];
    struct tuple_map m;
    TRY(tuple_map_create(&m, x, first, last, error));

    const uint64_t count = m.before[m.words];
    struct shape shape = {.order = last - first + 1};
    memcpy(shape.dims, x->shape.dims + first, (size_t)(last - first) * sizeof *shape.dims);
    shape.dims[last - first] = count;
    uint32_t *number = memory_array(x->nnz, sizeof *number, error);
    grouped->reduced.index[group] = number;
    grouped->reduced.shape.dims[group] = count;
    TRY_OR(done, error->status);
    TRY_OR(done, coo_create(tuples, &shape, count, error));
    number_tuples(&m, number);
    list_tuples(&m, tuples);
done:
    tuple_map_free(&m);
    return error->status;
}

enum status mode_groups_apply(struct grouped_tensor *grouped, const struct mode_groups *g,
                              const struct coo *x, struct error *error)
{
    *grouped = (struct grouped_tensor){.mode_groups = *g};
    grouped->reduced.shape.order = g->groups;
    grouped->reduced.nnz = x->nnz;
    grouped->reduced.value = x->value;
    for (int k = 0; k < g->groups; k++) {
        if (mode_groups_size(g, k) == 1) {
            grouped->reduced.index[k] = x->index[g->first[k]];
            grouped->reduced.shape.dims[k] = x->shape.dims[g->first[k]];
        } else if (apply_to_group(grouped, k, x, error) != STATUS_OK) {
            grouped_tensor_free(grouped);
            return error->status;
        }
    }
    return STATUS_OK;
}

void grouped_tensor_free(struct grouped_tensor *g)
{
    for (int k = 0; k < g->mode_groups.groups; k++) {
        if (mode_groups_size(&g->mode_groups, k) > 1)
            memory_free(g->reduced.index[k]);
        coo_free(&g->tuples[k]);
    }
    memset(g, 0, sizeof *g);
}
