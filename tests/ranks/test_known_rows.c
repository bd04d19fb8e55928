/* How many entries and slices of a tensor are known: the same for any number of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/known_rows.h"
#include "support/naive.h"
#include "support/rank_threads.h"

struct job {
    const struct coo *x;
    bool all;
    struct known_rows known;
};

static void count(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    const struct rank_request request = {.row_bytes = 8};
    struct rank_tensor t = {0};
    TRY_OR(done, rank_tensor_share(&t, c, job->x, &request, error));
    TRY_OR(done, rank_tensor_divide_rows(&t, true, error));
    known_rows_count(&job->known, &t, job->all, error);
done:
    if (error->status != STATUS_OK)
        comm_abort(c, error);
    rank_tensor_close(&t);
}

/* Entry by entry. */
static struct known_rows naive(const struct coo *x, bool all)
{
    struct known_rows k = {0};
    for (int n = 0; n < x->shape.order; n++) {
        k.first[n] = NO_ROW;
        for (uint64_t row = x->shape.dims[n]; row-- > 0;) {
            bool known = false, listed = false;
            for (uint64_t i = 0; i < x->nnz; i++) {
                listed = listed || x->index[n][i] == row;
                known = known || (x->index[n][i] == row && !isnan(x->value[i]));
            }
            k.rows[n] += known;
            k.unknown[n] += listed && !known;
            if (!known && (all || listed))
                k.first[n] = row;
        }
    }
    for (uint64_t i = 0; i < x->nnz; i++)
        k.entries += isnan(x->value[i]) ? 0 : 1;
    return k;
}

static void compare(const struct coo *x, bool all)
{
    const struct known_rows expected = naive(x, all);
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        struct error error[MOST_RANKS];
        for (int k = 0; k < rank_counts[r]; k++)
            job[k] = (struct job){.x = x, .all = all};
        assert_true(run_rank_threads(rank_counts[r], count, job, sizeof *job, error));
        for (int k = 0; k < rank_counts[r]; k++) {
            assert_int_equal(error[k].status, STATUS_OK);
            assert_memory_equal(&job[k].known, &expected, sizeof expected);
        }
    }
}

static void test_known_rows(void **state)
{
    (void)state;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){40, 7, 300})), 350, 3, 1);
    compare(&x, true);
    compare(&x, false);
    for (uint64_t i = 0; i < x.nnz; i += 2)
        x.value[i] = COO_UNKNOWN;
    for (uint64_t i = 0; i < x.nnz; i++)
        if (x.index[0][i] == x.index[0][1])
            x.value[i] = COO_UNKNOWN;
    compare(&x, true);
    compare(&x, false);
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct coo x;
    struct rank_tensor t;
    struct known_rows known;
    struct error error = {0};
    struct comm *self = comm_self(&error);
    naive_random_coo(&x, SHAPE(2, ((const uint64_t[]){40, 7})), 50, 3, 1);
    assert_int_equal(rank_tensor_share(&t, self, &x, NULL, &error), STATUS_OK);
    for (int k = 0; k < 3; k++) {
        memory_hook_set(k);
        assert_int_equal(known_rows_count(&known, &t, true, &error), STATUS_MEMORY);
        memory_hook_set(-1);
        error = (struct error){0};
    }
    assert_int_equal(known_rows_count(&known, &t, true, &error), STATUS_OK);
    rank_tensor_close(&t);
    comm_finalize(self);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_rows),
                                       cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
