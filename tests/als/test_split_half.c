/* The halves of a tensor: what each of them is, and whether their components are found alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "als/runs.h"
#include "numerics/random_counter.h"
#include "support/rank_runs.h"

#define PLANTED 3

static const struct shape lengths = {3, {21, 12, 9}};

/* From -0.5 to 0.5. */
static double noise_at(uint64_t cell)
{
    uint64_t word[2];
    random_words(5, 0, cell, word);
    return (double)(word[0] >> 11) * 0x1p-53 - 0.5;
}

/* All cells of a model of PLANTED components, with noise. The caller frees *x. */
static void plant(struct coo *x, double noise)
{
    struct error error = {0};
    struct ktensor k;
    uint64_t i = 0;
    assert_int_equal(ktensor_create(&k, &lengths, PLANTED, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 3);
    assert_int_equal(coo_create(x, &lengths, 21 * 12 * 9, &error), STATUS_OK);
    for (uint32_t a = 0; a < 21; a++)
        for (uint32_t b = 0; b < 12; b++)
            for (uint32_t c = 0; c < 9; c++, i++) {
                x->index[0][i] = a;
                x->index[1][i] = b;
                x->index[2][i] = c;
                x->value[i] = noise * noise_at(i);
                for (uint64_t r = 0; r < PLANTED; r++)
                    x->value[i] += k.factor[0][a * PLANTED + r] * k.factor[1][b * PLANTED + r] *
                                   k.factor[2][c * PLANTED + r];
            }
    ktensor_free(&k);
}

/* What the ranks find; the caller frees all of it with end(). */
static enum status run_halves(struct together *t, struct halves halves, int starts, int ranks,
                              struct error *error)
{
    t->list.starts = starts;
    t->list.halves = halves;
    TRY(run_together(t, ranks, error));
    TRY(runs_take_best(&t->account, 0, &t->model, error));
    return split_half_compare(&t->halves, &t->account, &t->model, error);
}

static void end(struct together *t)
{
    split_half_free(&t->halves);
    runs_free(&t->account);
    ktensor_free(&t->model);
    for (int i = 0; i < MOST_RUNS; i++)
        ktensor_free(&t->models[i]);
}

/* The slices of a half of mode 1, as a tensor of their own. */
static void take_slices(struct coo *half, const struct coo *x, const struct halves *h, int k)
{
    struct error error = {0};
    struct shape shape = x->shape;
    uint32_t place[21], count = 0;
    uint64_t at = 0;
    for (uint32_t i = 0; i < 21; i++)
        place[i] = halves_of(h, i) == k ? count++ : UINT32_MAX;
    shape.dims[0] = count;
    assert_int_equal(coo_create(half, &shape, x->nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (place[x->index[0][i]] == UINT32_MAX)
            continue;
        half->index[0][at] = place[x->index[0][i]];
        half->index[1][at] = x->index[1][i];
        half->index[2][at] = x->index[2][i];
        half->value[at++] = x->value[i];
    }
    assert_int_equal(coo_resize(half, at, &error), STATUS_OK);
}

static const struct cpals_options enough = {.max_iterations = 100, .tolerance = 1e-6};
static const struct cpals_options to_the_end = {.max_iterations = 300, .tolerance = 1e-11};

static struct backend_options options_of(uint64_t rank)
{
    return (struct backend_options){.problem.rank = rank};
}

/* The best fit of a tensor from so many starts. */
static double best_fit(const struct coo *x, const struct backend_options *options, int starts)
{
    double best = 0;
    for (int i = 0; i < starts; i++) {
        struct ktensor model;
        best = fmax(best, run_random(x, options, 8 + (uint64_t)i, &to_the_end, &model).fit);
        ktensor_free(&model);
    }
    return best;
}

/* A half is what its slices alone are: the same fit, for any number of ranks. */
static void test_a_half_is_its_slices(void **state)
{
    use_ranks(state);
    const struct halves halves = {.mode = 1, .seed = 4};
    const struct backend_options options = options_of(2);
    struct error error = {0};
    struct coo x;
    plant(&x, .4);
    struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &to_the_end);
    if (run_halves(&t, halves, 3, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(t.halves.state, HALVES_COMPARED);
    assert_true(t.halves.nonzeros[0] + t.halves.nonzeros[1] == x.nnz);
    for (int k = 0; k < 2; k++) {
        struct coo half;
        const struct starts *s = &t.halves.starts[k];
        take_slices(&half, &x, &halves, k);
        assert_true(t.halves.nonzeros[k] == half.nnz);
        const double fit = best_fit(&half, &options, 3);
        if (!(fabs(s->start[s->best].result.fit - fit) < 1e-7))
            fail_msg("half %d: fit %.12f, expected %.12f", k, s->start[s->best].result.fit, fit);
        coo_free(&half);
    }
    end(&t);
    coo_free(&x);
}

/* As many components as were planted are alike in both halves; of more some are noise. */
static void test_planted_rank(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    plant(&x, .4);
    for (uint64_t rank = PLANTED; rank <= PLANTED + 1; rank++) {
        const struct backend_options options = options_of(rank);
        struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &enough);
        const struct split_half *s = &t.halves;
        if (run_halves(&t, (struct halves){.mode = 1}, 3, under_test.ranks, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        assert_int_equal(s->state, HALVES_COMPARED);
        assert_int_equal(s->match.order, 2);
        if (rank == PLANTED)
            assert_true(s->alike == PLANTED && s->component[s->least].score > .99);
        else
            assert_true(s->alike < rank && s->component[s->least].score < .8);
        end(&t);
    }
    coo_free(&x);
}

/* Four blocks beside each other: the first, which is the strongest, in slices 1, 3, ... alone, and
 * the last, which is the weakest, in slices 2, 4, ... alone. The caller frees *x. */
static void make_blocks(struct coo *x)
{
    static const double amount[4][6] = {
        {9, 8, 9, 0, 0, 0}, {2, 4, 6, 4, 6, 2}, {3, 1, 1, 1, 3, 2}, {0, 0, 0, .4, .3, .4}};
    struct error error = {0};
    uint64_t i = 0;
    assert_int_equal(coo_create(x, &(struct shape){3, {12, 8, 8}}, 12 * 4 * 4, &error), STATUS_OK);
    for (uint32_t a = 0; a < 12; a++)
        for (uint32_t block = 0; block < 4; block++)
            for (uint32_t cell = 0; cell < 4; cell++, i++) {
                x->index[0][i] = a;
                x->index[1][i] = 2 * block + cell / 2;
                x->index[2][i] = 2 * block + cell % 2;
                x->value[i] = amount[block][a % 2 * 3 + a / 2 % 3];
            }
}

/* The scores are those of the model's components: the first, which one half lacks, has none. */
static void test_scores_belong_to_components(void **state)
{
    use_ranks(state);
    struct error error = {0};
    const struct backend_options options = options_of(3);
    struct coo x;
    make_blocks(&x);
    struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &to_the_end);
    if (run_halves(&t, (struct halves){.mode = 1}, 4, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(t.halves.least == 0 && t.halves.alike == 2);
    assert_true(t.halves.component[0].score < .5);
    assert_true(t.halves.component[1].score > .99 && t.halves.component[2].score > .99);
    end(&t);
    coo_free(&x);
}

/* The rows of the other half's slices have no known entries where unlisted entries are unknown. */
static void test_unknown_entries_and_counts(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    plant(&x, .1);
    struct backend_options options = options_of(PLANTED);
    options.problem.unlisted = (struct unlisted){.weighed = true};
    options.problem.holdout = (struct holdout){.share = .1, .seed = 1};
    struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &to_the_end);
    if (run_halves(&t, (struct halves){.mode = 2}, 2, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(t.halves.alike == PLANTED);
    assert_true(t.halves.starts[0].start[0].result.holdout_error.entries == 0);
    assert_true(t.halves.nonzeros[0] + t.halves.nonzeros[1] < x.nnz);
    end(&t);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = floor(fabs(3 * x.value[i]));
    options = (struct backend_options){.problem = {.rank = 2, .loss = LOSS_POISSON}};
    problem_complete_loss(&options.problem);
    t = make_together(under_test.kind, &x, NULL, &options, NULL, &to_the_end);
    t.d.als.max_iterations = 30;
    if (run_halves(&t, (struct halves){.mode = 1}, 1, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(t.halves.state, HALVES_COMPARED);
    end(&t);
    coo_free(&x);
}

static void test_refused(void **state)
{
    (void)state;
    struct error error = {0};
    const struct backend_options options = options_of(1);
    struct coo x;
    plant(&x, .1);
    const char *const message[] = {
        "--split-half 1: one half has no nonzeros, expected some in both; 1:1 divides the slices "
        "in another way",
        "--split-half: mode 4, but the tensor has 3"};
    for (uint64_t i = 0; i < x.nnz; i++)
        x.index[0][i] &= ~UINT32_C(1);
    for (int i = 0; i < 2; i++) {
        struct together t = make_together(&backend_host, &x, NULL, &options, NULL, &to_the_end);
        t.d.als.max_iterations = 1;
        error = (struct error){0};
        assert_int_equal(run_halves(&t, (struct halves){.mode = i == 0 ? 1 : 4}, 1, 1, &error),
                         STATUS_INPUT);
        assert_string_equal(error.message, message[i]);
        end(&t);
    }
    coo_free(&x);
}

/* Each allocation fails in turn: STATUS_MEMORY, and nothing is leaked. */
static void test_out_of_memory(void **state)
{
    use_ranks(state);
    const struct backend_options options = options_of(2);
    const struct cpals_options als = {.max_iterations = 2};
    struct coo x;
    int failures = 0;
    plant(&x, .1);
    for (long i = 0, fired = 1; fired; i += ALLOCATION_STEP) {
        struct error error = {0};
        struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &als);
        memory_hook_set(i);
        enum status status =
            run_halves(&t, (struct halves){.mode = 1}, 2, under_test.ranks, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired * ALLOCATION_STEP;
        end(&t);
    }
    assert_true(failures > 50);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS(test_a_half_is_its_slices),
        ON_RANKS(test_planted_rank),
        ON_RANKS(test_scores_belong_to_components),
        ON_RANKS_OF(test_unknown_entries_and_counts, backend_host, 1),
        ON_RANKS_OF(test_unknown_entries_and_counts, backend_host, 3),
        cmocka_unit_test(test_refused),
        ON_RANKS_OF(test_out_of_memory, backend_host, 1),
        ON_RANKS_OF(test_out_of_memory, backend_host, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
