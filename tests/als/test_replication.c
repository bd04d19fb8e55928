/* The replicates of a tensor: what each of them is, and whether components are found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "als/replication.h"
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
static enum status run_replicates(struct together *t, struct slice_parts parts, int starts,
                                  int ranks, struct error *error)
{
    t->list.starts = starts;
    t->list.parts = parts;
    TRY(run_together(t, ranks, error));
    TRY(runs_take_best(&t->account, 0, &t->model, error));
    return replication_compare(&t->replication, &t->account, &t->model, error);
}

static void end(struct together *t)
{
    replication_free(&t->replication);
    runs_free(&t->account);
    ktensor_free(&t->model);
    for (int i = 0; i < MOST_RUNS; i++)
        ktensor_free(&t->models[i]);
}

static const struct slice_parts odd_and_even = {.mode = 1, .parts = 2, .divisions = 1};

/* The slices of mode 1 that a replicate has, from 0, as a tensor of their own. */
static void take_slices(struct coo *replicate, const struct coo *x, const struct slice_parts *s,
                        int k)
{
    struct error error = {0};
    struct shape shape = x->shape;
    uint32_t place[21], count = 0;
    uint64_t at = 0;
    for (uint32_t i = 0; i < 21; i++)
        place[i] = slice_part(s, slice_parts_division(s, k), i) != slice_parts_left_out(s, k)
                       ? count++
                       : UINT32_MAX;
    shape.dims[0] = count;
    assert_int_equal(coo_create(replicate, &shape, x->nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (place[x->index[0][i]] == UINT32_MAX)
            continue;
        replicate->index[0][at] = place[x->index[0][i]];
        replicate->index[1][at] = x->index[1][i];
        replicate->index[2][at] = x->index[2][i];
        replicate->value[at++] = x->value[i];
    }
    assert_int_equal(coo_resize(replicate, at, &error), STATUS_OK);
}

/* |cosine| of column r of a and column q of b in mode n. */
static double cosine(const struct ktensor *a, const struct ktensor *b, int n, uint64_t r,
                     uint64_t q)
{
    double ab = 0, aa = 0, bb = 0;
    for (uint64_t i = 0; i < a->shape.dims[n]; i++) {
        const double x = a->factor[n][i * a->rank + r], y = b->factor[n][i * b->rank + q];
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return fabs(ab) / sqrt(aa * bb);
}

/* The factor match score of two models of rank 3 in the modes 2 and 3, by trying all pairs;
 * partner[r]: the component of b of component r of a, score[r]: their score. */
static double naive_match(const struct ktensor *a, const struct ktensor *b, int partner[3],
                          double score[3])
{
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double best = -1;
    for (int i = 0; i < 6; i++) {
        double one[3], sum = 0;
        for (int r = 0; r < 3; r++) {
            const uint64_t q = (uint64_t)order[i][r];
            one[r] = cosine(a, b, 1, (uint64_t)r, q) * cosine(a, b, 2, (uint64_t)r, q);
            sum += one[r];
        }
        if (sum <= best)
            continue;
        best = sum;
        memcpy(partner, order[i], sizeof order[i]);
        memcpy(score, one, sizeof one);
    }
    return best / 3;
}

static const struct cpals_options enough = {.max_iterations = 100, .tolerance = 1e-6};
static const struct cpals_options to_the_end = {.max_iterations = 300, .tolerance = 1e-11};

static struct backend_options options_of(uint64_t rank)
{
    return (struct backend_options){.problem.rank = rank};
}

/* The best model of a tensor from so many starts; the caller frees it. */
static double best_model(const struct coo *x, const struct backend_options *options, int starts,
                         struct ktensor *best)
{
    double fit = 0;
    *best = (struct ktensor){0};
    for (int i = 0; i < starts; i++) {
        struct ktensor model, worse;
        const double found = run_random(x, options, 8 + (uint64_t)i, &to_the_end, &model).fit;
        worse = found > fit ? *best : model;
        *best = found > fit ? model : *best;
        fit = fmax(fit, found);
        ktensor_free(&worse);
    }
    return fit;
}

/* A replicate is what its slices alone are: the same fit, for any number of ranks. The scores are
 * those of the models of separate tensors. */
static void test_a_replicate_is_its_slices(void **state)
{
    use_ranks(state);
    static const struct slice_parts divided = {.mode = 1, .parts = 3, .divisions = 1, .seed = 4};
    const struct slice_parts *s = &divided;
    const struct backend_options options = options_of(PLANTED);
    struct error error = {0};
    struct coo x;
    plant(&x, .4);
    struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &to_the_end);
    const struct replication *found = &t.replication;
    struct ktensor model[3];
    if (run_replicates(&t, *s, 3, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(found->state, REPLICATION_WHOLE);
    assert_int_equal(found->made, s->parts);
    assert_int_equal(found->pairs, s->parts * (s->parts - 1) / 2);
    for (int k = 0; k < s->parts; k++) {
        struct coo replicate;
        const struct starts *starts = &found->starts[k];
        take_slices(&replicate, &x, s, k);
        assert_true(found->nonzeros[k] == replicate.nnz);
        const double fit = best_model(&replicate, &options, 3, &model[k]);
        if (!(fabs(starts->start[starts->best].result.fit - fit) < 1e-7))
            fail_msg("replicate %d: fit %.12f, expected %.12f", k,
                     starts->start[starts->best].result.fit, fit);
        coo_free(&replicate);
    }
    for (int a = 0, pair = 0; a < s->parts; a++)
        for (int b = a + 1; b < s->parts; b++, pair++) {
            int partner[3];
            double score[3];
            const double expected = naive_match(&model[a], &model[b], partner, score);
            assert_true(fabs(found->score[pair] - expected) < 1e-6);
        }
    for (int k = 0; k < s->parts; k++)
        ktensor_free(&model[k]);
    end(&t);
    coo_free(&x);
}

/* As many components as were planted are found again; of more some are noise. */
static void test_planted_rank(void **state)
{
    use_ranks(state);
    struct error error = {0};
    struct coo x;
    plant(&x, .4);
    for (int parts = 2; parts <= 5; parts += 3)
        for (uint64_t rank = PLANTED; rank <= PLANTED + 1; rank++) {
            const struct slice_parts divided = {.mode = 1, .parts = parts, .divisions = 1};
            const struct backend_options options = options_of(rank);
            struct together t = make_together(under_test.kind, &x, NULL, &options, NULL, &enough);
            const struct replication *s = &t.replication;
            if (run_replicates(&t, divided, 3, under_test.ranks, &error) != STATUS_OK)
                fail_msg("%s", error.message);
            assert_int_equal(s->state, REPLICATION_WHOLE);
            assert_int_equal(s->order, 2);
            if (rank == PLANTED)
                assert_true(s->alike == PLANTED && s->component[s->weakest].score > .99 &&
                            s->least > .99);
            else
                assert_true(s->alike < rank && s->component[s->weakest].score < .8 &&
                            s->median < .95);
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
    if (run_replicates(&t, odd_and_even, 4, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(t.replication.weakest == 0 && t.replication.alike == 2);
    assert_true(t.replication.component[0].score < .5);
    assert_true(t.replication.component[1].score > .99 && t.replication.component[2].score > .99);
    end(&t);
    coo_free(&x);
}

/* The rows of the slices that are left out have no known entries where unlisted entries are
 * unknown.
 */
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
    if (run_replicates(&t, (struct slice_parts){2, 2, 1, 0}, 2, under_test.ranks, &error) !=
        STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(t.replication.alike == PLANTED);
    assert_true(t.replication.starts[0].start[0].result.holdout_error.entries == 0);
    assert_true(t.replication.nonzeros[0] + t.replication.nonzeros[1] < x.nnz);
    end(&t);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = floor(fabs(3 * x.value[i]));
    options = (struct backend_options){.problem = {.rank = 2, .loss = LOSS_POISSON}};
    problem_complete_loss(&options.problem);
    t = make_together(under_test.kind, &x, NULL, &options, NULL, &to_the_end);
    t.d.als.max_iterations = 30;
    if (run_replicates(&t, odd_and_even, 1, under_test.ranks, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(t.replication.state, REPLICATION_WHOLE);
    end(&t);
    coo_free(&x);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        struct slice_parts parts;
        const char *message;
    } cases[] = {
        {{1, 2, 1, 0},
         "--split-half 1: one half has no nonzeros, expected some in both; 1:1 divides the slices "
         "in another way"},
        {{4, 2, 1, 0}, "--split-half: mode 4, but the tensor has 3"},
        {{4, 5, 1, 0}, "--replicate: mode 4, but the tensor has 3"},
        {{1, 22, 1, 0}, "--replicate 1:22: mode 1 has 21 slices, expected at most as many parts"},
        {{1, 21, 2, 0},
         "--replicate 1:21: part 2 of division 1 has no nonzeros, expected some in each; fewer "
         "parts have more slices each"}};
    struct error error = {0};
    const struct backend_options options = options_of(1);
    struct coo x;
    plant(&x, .1);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.index[0][i] &= ~UINT32_C(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct together t = make_together(&backend_host, &x, NULL, &options, NULL, &to_the_end);
        t.d.als.max_iterations = 1;
        error = (struct error){0};
        assert_int_equal(run_replicates(&t, cases[i].parts, 1, 1, &error), STATUS_INPUT);
        assert_string_equal(error.message, cases[i].message);
        end(&t);
    }
    coo_free(&x);
}

/* *s = runs on the whole and on so many replicates whose models, of rank 3, are `model` with noise
 * of their own, that of replicate k of noise[k]. The last one has ended so. */
static void note_models(struct runs *s, const struct slice_parts *parts, int made,
                        const double *noise, enum cpals_stop last, struct ktensor *model)
{
    struct error error = {0};
    struct run run;
    const struct run_list list = {.starts = 1, .parts = *parts};
    assert_int_equal(ktensor_create(model, &lengths, 3, &error), STATUS_OK);
    ktensor_randomise(model, KTENSOR_NORMAL, 3);
    assert_int_equal(runs_create(s, &list, NULL, &error), STATUS_OK);
    for (int k = 0; k <= made; k++) {
        struct ktensor *own = &s->model[k];
        assert_true(runs_next(s, &run));
        assert_int_equal(run.replicate, k);
        run.result.stop = k == made ? last : CPALS_CONVERGED;
        runs_note(s, &run);
        if (run.result.stop == CPALS_BREAKDOWN)
            continue;
        assert_int_equal(ktensor_create(own, &lengths, 3, &error), STATUS_OK);
        for (int n = 0; n < 3; n++)
            for (uint64_t i = 0; i < lengths.dims[n]; i++)
                for (uint64_t r = 0; r < 3; r++) /* the components are in another order */
                    own->factor[n][i * 3 + (r + (uint64_t)k) % 3] =
                        model->factor[n][i * 3 + r] +
                        (k > 0 ? noise[k - 1] : 0) * noise_at(((uint64_t)k << 32) + i * 9 + r * 3);
    }
}

/* All scores of models that are known, against all pairs of components. */
static void test_scores(void **state)
{
    (void)state;
    const struct slice_parts parts = {.mode = 1, .parts = 3, .divisions = 3};
    static const double noise[9] = {.2, .1, .3, .1, 4, .2, .3, .2, .4};
    struct ktensor model, same;
    struct runs s, again;
    struct error error = {0};
    struct replication found;
    double least[3][3], pairs[9], worst[3] = {2, 2, 2};
    int partner[9][3], weakest = 0;
    note_models(&s, &parts, 9, noise, CPALS_ITERATIONS, &model);
    note_models(&again, &parts, 9, noise, CPALS_ITERATIONS, &same);
    const struct ktensor *copy = again.model + 1; /* the comparison frees those of s */
    for (int k = 0; k < 9; k++) {
        double score[3];
        naive_match(&model, &copy[k], partner[k], score);
        for (int r = 0; r < 3; r++)
            least[k / 3][r] = k % 3 > 0 ? fmin(least[k / 3][r], score[r]) : score[r];
    }
    assert_int_equal(replication_compare(&found, &s, &model, &error), STATUS_OK);
    assert_true(found.state == REPLICATION_WHOLE && found.made == 9 && found.pairs == 9);
    for (int d = 0, i = 0; d < 3; d++)
        for (int a = 3 * d; a < 3 * d + 3; a++)
            for (int b = a + 1; b < 3 * d + 3; b++, i++) {
                double score[3];
                int other[3];
                pairs[i] = naive_match(&copy[a], &copy[b], other, score);
                assert_true(fabs(found.score[i] - pairs[i]) < 1e-12);
                for (int r = 0; r < 3; r++) {
                    const uint64_t p = (uint64_t)partner[a][r], q = (uint64_t)other[p];
                    least[d][r] = fmin(least[d][r], score[p]);
                    if (!(score[p] < worst[r]))
                        continue;
                    worst[r] = score[p];
                    if (fabs(found.component[r].pair - score[p]) < 1e-12)
                        for (int n = 0; n < 2; n++)
                            assert_true(fabs(found.component[r].cosine[n] -
                                             cosine(&copy[a], &copy[b], n + 1, p, q)) < 1e-12);
                }
            }
    double lowest = 2, highest = 0;
    int below = 0;
    for (int i = 0; i < 9; i++) {
        lowest = fmin(lowest, pairs[i]);
        highest = fmax(highest, pairs[i]);
        below += pairs[i] < found.median - 1e-12;
    }
    assert_true(fabs(found.least - lowest) < 1e-12 && fabs(found.greatest - highest) < 1e-12);
    assert_int_equal(below, 4); /* of nine */
    uint64_t alike = 0;
    for (int r = 0; r < 3; r++) { /* the middle of three */
        const double middle =
            fmax(fmin(least[0][r], least[1][r]), fmin(fmax(least[0][r], least[1][r]), least[2][r]));
        assert_true(fabs(found.component[r].score - middle) < 1e-12);
        assert_true(fabs(found.component[r].pair - worst[r]) < 1e-12);
        alike += middle >= .9;
        weakest = found.component[r].score < found.component[weakest].score ? r : weakest;
        int under = 0;
        for (int k = 0; k < 9; k++) {
            double score[3];
            naive_match(&model, &copy[k], partner[k], score);
            assert_true(fabs(found.with[r * 9 + k] - score[r]) < 1e-12);
            under += score[r] < found.component[r].median - 1e-12;
        }
        assert_int_equal(under, 4);
        assert_true(least[1][r] < .9); /* one bad replicate spoils one division, not the median */
    }
    assert_true(alike > 0 && found.alike == alike && found.weakest == (uint64_t)weakest);
    replication_free(&found);
    ktensor_free(&model);
    ktensor_free(&same);
    runs_free(&s);
    runs_free(&again);
}

/* After a signal, or a replicate that broke down, those before it are compared; what is left of the
 * others is freed. */
static void test_cut_short(void **state)
{
    (void)state;
    static const double noise[9] = {.2, .1, .3, .1, .2, .2, .3, .2, .4};
    static const struct {
        struct slice_parts parts;
        int made; /* with the one that ends it */
        enum cpals_stop last;
        enum replication_state state;
        size_t pairs;
    } cases[] = {{{1, 2, 1, 0}, 0, CPALS_INTERRUPTED, REPLICATION_ENDED, 0},
                 {{1, 2, 1, 0}, 2, CPALS_TIME_LIMIT, REPLICATION_ENDED, 0},
                 {{1, 2, 1, 0}, 2, CPALS_BREAKDOWN, REPLICATION_BREAKDOWN, 0},
                 {{1, 3, 3, 0}, 2, CPALS_INTERRUPTED, REPLICATION_ENDED, 0},
                 {{1, 3, 3, 0}, 3, CPALS_INTERRUPTED, REPLICATION_ENDED, 1},
                 {{1, 3, 3, 0}, 5, CPALS_BREAKDOWN, REPLICATION_BREAKDOWN, 3},
                 {{1, 3, 3, 0}, 9, CPALS_TIME_LIMIT, REPLICATION_ENDED, 7},
                 {{1, 3, 3, 0}, 9, CPALS_CONVERGED, REPLICATION_WHOLE, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        struct replication found;
        struct ktensor model;
        struct runs s;
        note_models(&s, &cases[i].parts, cases[i].made, noise, cases[i].last, &model);
        assert_int_equal(replication_compare(&found, &s, &model, &error), STATUS_OK);
        assert_int_equal(found.state, cases[i].state);
        assert_int_equal(found.pairs, cases[i].pairs);
        assert_int_equal(found.rank, found.pairs > 0 ? 3 : 0);
        if (found.pairs == 0)
            assert_true(isnan(found.median));
        else
            assert_true(found.alike == 3 && found.component[found.weakest].score > .9);
        replication_free(&found);
        ktensor_free(&model);
        runs_free(&s);
    }
}

/* Each allocation fails in turn: STATUS_MEMORY, and nothing is leaked. test_runs does that with
 * several starts. */
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
            run_replicates(&t, (struct slice_parts){1, 3, 1, 0}, 1, under_test.ranks, &error);
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
        ON_RANKS(test_a_replicate_is_its_slices),
        ON_RANKS(test_planted_rank),
        ON_RANKS(test_scores_belong_to_components),
        ON_RANKS_OF(test_unknown_entries_and_counts, backend_host, 1),
        ON_RANKS_OF(test_unknown_entries_and_counts, backend_host, 3),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_cut_short),
        ON_RANKS_OF(test_out_of_memory, backend_host, 1),
        ON_RANKS_OF(test_out_of_memory, backend_host, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
