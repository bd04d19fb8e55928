/* A run that stops after any iteration and goes on from its checkpoint ends as the run that was
 * never stopped: on the host in the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/checkpoint_runs.h"

#define ITERATIONS 5

/* Makes `stop` iterations, and the others from the checkpoint: on `other` ranks. */
static struct cpals_result run_in_two(const struct coo *x, const struct backend_options *options,
                                      int stop, int other, struct ktensor *k)
{
    struct error error = {0};
    struct checkpoint c;
    const char *path = scratch_path("checkpoint");
    struct checkpoint_options saving = save_to(path, x, options);
    struct cpals_options als = {.max_iterations = stop, .saving = &saving};
    struct cpals_result result = run_random(x, options, 3, &als, k);
    assert_int_equal(result.not_saved.status, STATUS_OK);
    assert_int_equal(result.saved, stop);
    ktensor_free(k);
    read_checkpoint(&c, path);
    assert_int_equal(c.about.iterations, stop);
    assert_true(c.about.fit == result.fit && c.about.change == result.change);
    copy_model(k, &c.model[CHECKPOINT_STATE].rows);
    als = (struct cpals_options){.max_iterations = ITERATIONS, .resume = &c};
    under_test.ranks = other;
    if (run_from(x, k, options, &als, &result, &error) != STATUS_OK)
        fail_msg("%d ranks: %s", under_test.ranks, error.message);
    checkpoint_close(&c);
    return result;
}

static void check_every_stop(const struct coo *x, const struct backend_options *options)
{
    struct ktensor whole, k;
    const struct cpals_options als = {.max_iterations = ITERATIONS};
    bool bits = under_test.kind == &backend_host;
    struct cpals_result unstopped = run_random(x, options, 3, &als, &whole);
    const int step = under_test.kind->devices && under_test.ranks > 1 ? 3 /* GPUs meet slowly */
                     : SANITIZED                                      ? 2
                                                                      : 1;
    for (int stop = 1; stop <= ITERATIONS; stop += step) {
        struct cpals_result result = run_in_two(x, options, stop, under_test.ranks, &k);
        assert_int_equal(result.iterations, ITERATIONS);
        assert_true(bits ? result.fit == unstopped.fit : fabs(result.fit - unstopped.fit) < 1e-12);
        assert_true(bits ? result.change == unstopped.change : true);
        assert_near(&k, &whole, bits ? 0 : 1e-9, bits ? 0 : 1e-8);
        ktensor_free(&k);
    }
    ktensor_free(&whole);
}

/* Small factor matrices, whose rows are scaled, and large ones, whose scales are stored apart;
 * rows that one rank alone touches; mode groups; a ridge. */
static void test_every_iteration(void **state)
{
    use_ranks(state);
    static const struct tensor_case cases[] = {
        {3, {60, 1, 90}, 2000, 1}, {3, {700, 520, 3000}, 20000, 0}, {4, {17, 5, 90, 33}, 2500, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct tensor_case *t = &cases[c];
        struct coo x;
        naive_random_coo(&x, SHAPE(t->order, t->dims), t->nnz, c, t->skewed);
        check_every_stop(&x, &(struct backend_options){.problem.rank = 8});
        check_every_stop(&x, &(struct backend_options){.problem.rank = 3,
                                                       .problem.rules = same_ridge(0.5),
                                                       .no_sharing = true});
        coo_free(&x);
    }
}

/* Nonnegative and fixed modes: the weights, too, count for the next iteration. */
static void test_rules(void **state)
{
    use_ranks(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {60, 11, 40}}, 900, 1, 1);
    for (int fixed = 0; fixed < 2; fixed++)
        check_every_stop(
            &x, &(struct backend_options){.problem.rank = 5,
                                          .problem.rules = {.ridge = {0, 0.25},
                                                            .nonneg = {true, false, true},
                                                            .fixed = {false, fixed == 1}}});
    coo_free(&x);
}

/* A checkpoint of some ranks is taken by one rank, and one of one rank by some. */
static void test_other_ranks(void **state)
{
    use_ranks(state);
    const int ranks = under_test.ranks;
    struct coo x;
    struct ktensor whole, k;
    const struct backend_options options = {.problem.rank = 6};
    const struct cpals_options als = {.max_iterations = ITERATIONS};
    naive_random_coo(&x, &(struct shape){3, {700, 52, 300}}, 9000, 4, 0);
    double fit = run_random(&x, &options, 3, &als, &whole).fit;
    assert_true(fabs(run_in_two(&x, &options, 2, 1, &k).fit - fit) < 1e-12);
    assert_near(&k, &whole, 1e-9, 1e-8);
    ktensor_free(&k);
    under_test.ranks = 1;
    assert_true(fabs(run_in_two(&x, &options, 2, ranks, &k).fit - fit) < 1e-12);
    assert_near(&k, &whole, 1e-9, 1e-8);
    ktensor_free(&k);
    ktensor_free(&whole);
    coo_free(&x);
}

/* A run that has ended stays there, and its model is the same. */
static void test_the_end_is_the_end(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    struct ktensor whole, k;
    struct checkpoint c;
    struct cpals_result result;
    const struct backend_options options = {.problem.rank = 3};
    naive_random_coo(&x, &(struct shape){3, {40, 52, 30}}, 4000, 4, 0);
    struct checkpoint_options saving = save_to(scratch_path("checkpoint"), &x, &options);
    struct cpals_options als = {.max_iterations = 500, .tolerance = 1e-3, .saving = &saving};
    struct cpals_result first = run_random(&x, &options, 3, &als, &whole);
    assert_int_equal(first.stop, CPALS_CONVERGED);
    read_checkpoint(&c, saving.path);
    copy_model(&k, &c.model[CHECKPOINT_STATE].rows);
    als.saving = NULL;
    als.resume = &c;
    assert_int_equal(run_from(&x, &k, &options, &als, &result, &error), STATUS_OK);
    assert_int_equal(result.stop, CPALS_CONVERGED);
    assert_int_equal(result.iterations, first.iterations);
    assert_true(result.fit == first.fit);
    const bool bits = under_test.kind == &backend_host;
    assert_near(&k, &whole, bits ? 0 : 1e-9, bits ? 0 : 1e-8);
    ktensor_free(&k);
    ktensor_free(&whole);
    checkpoint_close(&c);
    coo_free(&x);
}

/* Checkpoints during the run change nothing; the file is that of the last iteration. */
static void test_saving_changes_nothing(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor whole, k;
    struct checkpoint c;
    bool bits = under_test.kind == &backend_host;
    const struct backend_options options = {.problem.rank = 4};
    naive_random_coo(&x, &(struct shape){3, {40, 52, 30}}, 4000, 4, 0);
    struct checkpoint_options saving = save_to(scratch_path("checkpoint"), &x, &options);
    const struct cpals_options plain = {.max_iterations = 20};
    double fit = run_random(&x, &options, 3, &plain, &whole).fit;
    for (int every = 1; every <= 3; every++) {
        saving.iterations = every < 3 ? every : 0;
        saving.seconds = every < 3 ? 0 : 1e-9;
        const struct cpals_options als = {.max_iterations = 20, .saving = &saving};
        struct cpals_result result = run_random(&x, &options, 3, &als, &k);
        assert_true(bits ? result.fit == fit : fabs(result.fit - fit) < 1e-12);
        assert_int_equal(result.saved, 20);
        assert_near(&k, &whole, bits ? 0 : 1e-9, bits ? 0 : 1e-8);
        ktensor_free(&k);
        read_checkpoint(&c, saving.path);
        assert_int_equal(c.about.iterations, 20);
        checkpoint_close(&c);
        assert_int_equal(scratch_entries(0), 1);
    }
    ktensor_free(&whole);
    coo_free(&x);
}

static void test_time_limit(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    const struct backend_options options = {.problem.rank = 4};
    naive_random_coo(&x, &(struct shape){3, {40, 52, 30}}, 4000, 4, 0);
    const struct cpals_options als = {.max_iterations = 1000, .deadline = 1e-9};
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    assert_int_equal(result.stop, CPALS_TIME_LIMIT);
    assert_int_equal(result.iterations, 1);
    ktensor_free(&k);
    coo_free(&x);
}

/* A run goes on, with a message, if a checkpoint cannot be written. */
static void test_no_place_to_write(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    const struct backend_options options = {.problem.rank = 4};
    naive_random_coo(&x, &(struct shape){3, {40, 52, 30}}, 4000, 4, 0);
    struct checkpoint_options saving = save_to(scratch_path("no/checkpoint"), &x, &options);
    saving.iterations = 1;
    const struct cpals_options als = {.max_iterations = 3, .saving = &saving};
    struct cpals_result result = run_random(&x, &options, 3, &als, &k);
    assert_int_equal(result.iterations, 3);
    assert_int_equal(result.saved, 0);
    assert_int_equal(result.not_saved.status, STATUS_OUTPUT);
    assert_non_null(strstr(result.not_saved.message, "no such folder"));
    ktensor_free(&k);
    coo_free(&x);
}

/* Wherever memory runs out: the run ends or goes on without that checkpoint, and an older
 * checkpoint is whole. */
static void test_failing_allocations(void **state)
{
    use_ranks(state);
    struct coo x;
    struct ktensor k;
    struct checkpoint c;
    struct cpals_result result;
    int ended = 0, went_on = 0;
    const struct backend_options options = {.problem.rank = 2, .host_memory = 1 << 28};
    const long step = under_test.kind->devices && under_test.ranks > 1 ? 97
                      : under_test.kind->devices                       ? 29
                      : under_test.ranks < 3                           ? ALLOCATION_STEP
                                                                       : 23; /* takes long */
    naive_random_coo(&x, &(struct shape){3, {10, 12, 14}}, 300, 1, 0);
    struct checkpoint_options saving = save_to(scratch_path("checkpoint"), &x, &options);
    saving.iterations = 1;
    const struct cpals_options als = {.max_iterations = 3, .saving = &saving};
    run_random(&x, &options, 3, &als, &k);
    for (long i = 0, fired = 1; fired; i += step) {
        struct error error = {0};
        ktensor_randomise(&k, KTENSOR_RANDOM, 3);
        memory_hook_set(i);
        enum status status = run_from(&x, &k, &options, &als, &result, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (status != STATUS_OK) {
            assert_int_equal(status, STATUS_MEMORY);
            ended++;
        } else if (fired) {
            went_on++;
            assert_true(result.iterations == 3);
        }
        read_checkpoint(&c, saving.path);
        checkpoint_close(&c);
        assert_int_equal(scratch_entries(0), 1);
    }
    assert_true(ended > 0 && went_on > 0);
    ktensor_free(&k);
    coo_free(&x);
}

#define IN_FOLDER_ON_MORE(test)                                                                    \
    IN_FOLDER(test), IN_FOLDER_OF(test, backend_host, 4), IN_FOLDER_OF(test, backend_host, 7)

int main(void)
{
    const struct CMUnitTest tests[] = {IN_FOLDER_ON_MORE(test_every_iteration),
                                       IN_FOLDER_ON_MORE(test_rules),
                                       IN_FOLDER_ON_MORE(test_other_ranks),
                                       IN_FOLDER_ON_MORE(test_the_end_is_the_end),
                                       IN_FOLDER_ON_MORE(test_saving_changes_nothing),
                                       IN_FOLDER_ON_MORE(test_time_limit),
                                       IN_FOLDER_ON_MORE(test_no_place_to_write),
                                       IN_FOLDER_ON_MORE(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
