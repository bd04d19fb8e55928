/* Rows that ranks have solved, in any order, are collected on one rank, in shared memory, or as
 * consecutive rows on every rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "ranks/model_redistribute.h"
#include "base/memory.h"
#include "support/models.h"
#include "support/naive.h"
#include "support/rank_threads.h"

/* What a rank has, and what it gets. */
struct owner {
    struct ktensor part; /* owned */
    struct rank_rows ranks;
    uint64_t *row[MAX_ORDER]; /* of part; NULL where the rows keep their order; owned */
    struct ktensor *whole;    /* one for all ranks */
    struct ktensor rows;      /* owned             */
    bool evenly;
};

enum layout {
    SHUFFLED, /* rows of others and padding before and between a rank's own; some ranks have none */
    IN_ORDER, /* consecutive rows, without `row`                                                  */
    ONE_OWNER, /* the last rank has solved all rows */
};

static int owner_of_row(enum layout layout, int size, int n, uint64_t i, uint64_t length)
{
    uint64_t ranks = (uint64_t)size, seed = i * 31 + (uint64_t)n;
    return layout == ONE_OWNER ? size - 1
           : layout == IN_ORDER
               ? (int)(i * ranks / length)                   /* ascending */
               : (int)(naive_random(&seed) % ranks) / 2 * 2; /* odd ranks have none */
}

/* Puts mode n's rows of rank k: two of someone's, then k's own shuffled with padding. */
static uint64_t list_rows(uint64_t *row, struct mode_rows *own, enum layout layout, int k, int size,
                          int n, uint64_t length)
{
    uint64_t count = 0;
    if (layout == SHUFFLED) {
        row[count++] = 0;
        row[count++] = NO_ROW;
    }
    own->first = count;
    for (uint64_t i = 0; i < length; i++)
        if (owner_of_row(layout, size, n, i, length) == k) {
            row[count++] = i;
            if (layout == SHUFFLED && i % 5 == 0)
                row[count++] = NO_ROW;
        }
    own->count = count - own->first;
    uint64_t seed = (uint64_t)k + 1;
    for (uint64_t i = own->count; layout == SHUFFLED && i > 1; i--) {
        uint64_t *a = &row[own->first + i - 1];
        uint64_t *b = &row[own->first + naive_random(&seed) % i], swapped = *a;
        *a = *b;
        *b = swapped;
    }
    return count;
}

static void fill(struct owner *o, const struct ktensor *whole)
{
    memcpy(o->part.lambda, whole->lambda, whole->rank * sizeof *whole->lambda);
    for (int n = 0; n < whole->shape.order; n++)
        for (uint64_t i = 0; i < o->part.shape.dims[n]; i++) {
            uint64_t row = ktensor_row(&o->part, n, i);
            bool own = i - o->ranks.mode[n].first < o->ranks.mode[n].count && row != NO_ROW;
            for (uint64_t r = 0; r < whole->rank; r++) /* NAN must not get anywhere */
                o->part.factor[n][i * whole->rank + r] =
                    own ? whole->factor[n][row * whole->rank + r] : NAN;
        }
}

static struct owner make_owner(const struct ktensor *whole, enum layout layout, int k, int size)
{
    struct error error = {0};
    struct owner o = {.ranks.part = part_all(&whole->shape)};
    for (int n = 0; n < whole->shape.order; n++) {
        uint64_t length = whole->shape.dims[n];
        uint64_t *row = memory_array(2 * length + 2, sizeof *row, &error);
        assert_non_null(row);
        o.ranks.part.here.dims[n] = list_rows(row, &o.ranks.mode[n], layout, k, size, n, length);
        if (layout == IN_ORDER) {
            o.ranks.part.first[n] = o.ranks.mode[n].count ? row[0] : 0;
            memory_free(row);
        } else {
            o.ranks.part.row[n] = o.row[n] = row;
        }
    }
    assert_int_equal(ktensor_create_part(&o.part, &o.ranks.part, whole->rank, &error), STATUS_OK);
    fill(&o, whole);
    return o;
}

static void make_owners(struct owner *o, const struct ktensor *model, enum layout layout, int size)
{
    for (int k = 0; k < size; k++)
        o[k] = make_owner(model, layout, k, size);
}

static void free_owners(struct owner *o, int size)
{
    for (int k = 0; k < size; k++) {
        for (int n = 0; n < MAX_ORDER; n++)
            memory_free(o[k].row[n]);
        ktensor_free(&o[k].part);
        ktensor_free(&o[k].rows);
    }
}

static void spread(struct comm *c, void *context, struct error *error)
{
    struct owner *o = context;
    o->ranks.all = c;
    if (model_redistribute(&o->rows, &o->part, &o->ranks, o->evenly, error) == STATUS_OK)
        for (int n = 0; n < o->part.shape.order; n++)
            if (o->part.factor[n])
                error_set(error, STATUS_INTERNAL, "mode %d of the part is still there", n + 1);
}

static void share(struct comm *c, void *context, struct error *error)
{
    struct owner *o = context;
    o->ranks.all = c;
    model_collect(o->whole, &o->part, &o->ranks, error);
}

/* To the bit. */
static void assert_rows(const struct owner *o, const struct ktensor *model, int k, int size)
{
    assert_memory_equal(o->rows.lambda, model->lambda, model->rank * sizeof *model->lambda);
    for (int n = 0; n < model->shape.order; n++) {
        uint64_t length = model->shape.dims[n], rank = (uint64_t)k, ranks = (uint64_t)size;
        uint64_t first = o->evenly ? length * rank / ranks : k == 0 ? 0 : length;
        uint64_t end = o->evenly ? length * (rank + 1) / ranks : length;
        assert_true(o->rows.first[n] == first);
        assert_true(o->rows.shape.dims[n] == end - first);
        assert_memory_equal(o->rows.factor[n], model->factor[n] + first * model->rank,
                            (end - first) * model->rank * sizeof(double));
    }
}

static void check_spread(const struct ktensor *model, enum layout layout, int size, bool evenly)
{
    struct owner o[MOST_RANKS];
    struct error error[MOST_RANKS];
    make_owners(o, model, layout, size);
    for (int k = 0; k < size; k++)
        o[k].evenly = evenly;
    assert_true(run_rank_threads(size, spread, o, sizeof *o, error));
    assert_all_well(error, size);
    for (int k = 0; k < size; k++)
        assert_rows(&o[k], model, k, size);
    free_owners(o, size);
}

static void check_share(const struct ktensor *model, enum layout layout, int size)
{
    struct owner o[MOST_RANKS];
    struct error error[MOST_RANKS] = {{0}};
    struct ktensor whole = {0};
    make_owners(o, model, layout, size);
    for (int k = 0; k < size; k++)
        o[k].whole = &whole;
    assert_true(run_rank_threads(size, share, o, sizeof *o, error));
    assert_all_well(error, size);
    assert_true(shape_equal(&whole.shape, &model->shape));
    assert_memory_equal(whole.lambda, model->lambda, model->rank * sizeof *model->lambda);
    for (int n = 0; n < model->shape.order; n++)
        assert_memory_equal(whole.factor[n], model->factor[n],
                            model->shape.dims[n] * model->rank * sizeof(double));
    ktensor_free(&whole);
    free_owners(o, size);
}

static void test_layouts(void **state)
{
    (void)state;
    const uint64_t dims[][4] = {{90, 1, 35, 4}, {1, 1}, {5, 700}};
    const int order[] = {4, 2, 2};
    for (int d = 0; d < 3; d++)
        for (uint64_t rank = 1; rank <= 9; rank += 4) {
            struct ktensor model = model_random(order[d], dims[d], rank, rank);
            for (size_t s = 0; s < RANK_COUNTS; s++)
                for (enum layout layout = SHUFFLED; layout <= ONE_OWNER; layout++) {
                    check_spread(&model, layout, rank_counts[s], false);
                    check_spread(&model, layout, rank_counts[s], true);
                    check_share(&model, layout, rank_counts[s]);
                }
            ktensor_free(&model);
        }
}

/* More rows than go in one round. */
static void test_rounds(void **state)
{
    (void)state;
    struct ktensor model = model_random(2, (uint64_t[]){900000, 3}, 2, 1);
    check_spread(&model, ONE_OWNER, 7, true);
    check_spread(&model, SHUFFLED, 7, true);
    check_spread(&model, ONE_OWNER, 4, false);
    ktensor_free(&model);
}

/* Whichever allocation fails, all ranks end alike and nothing is lost. */
static void check_failures(rank_work *work, int allocations)
{
    struct ktensor model = model_random(3, (uint64_t[]){9, 1, 30}, 3, 1);
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct owner o[4];
        struct error error[4];
        struct ktensor whole = {0};
        make_owners(o, &model, SHUFFLED, 4);
        for (int k = 0; k < 4; k++) {
            o[k].evenly = i % 2;
            o[k].whole = &whole;
        }
        memory_hook_set(i);
        bool started = run_rank_threads(4, work, o, sizeof *o, error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        for (int k = 0; k < 4 && started; k++)
            assert_int_equal(error[k].status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += fired && started;
        ktensor_free(&whole);
        free_owners(o, 4);
    }
    assert_true(failures >= allocations);
    ktensor_free(&model);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    check_failures(spread, 21);
    check_failures(share, 4); /* lambda and three factor matrices, on rank 0 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
