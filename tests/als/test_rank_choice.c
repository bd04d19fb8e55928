/* Which rank is suggested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "als/rank_choice.h"

static struct rank_outcome outcome(uint64_t rank, double core, int agree, int others)
{
    return (struct rank_outcome){.rank = rank,
                                 .result.core = {.state = CORE_KNOWN, .percent = core},
                                 .agreement = {.agree = agree, .others = others}};
}

static void test_largest_sound_rank(void **state)
{
    (void)state;
    const struct rank_outcome o[] = {outcome(1, 100, 3, 3), outcome(2, 99, 3, 3),
                                     outcome(3, 80, 2, 4), outcome(4, 79.9, 3, 3)};
    assert_int_equal(rank_choice(o, 4), 2);
    assert_int_equal(rank_choice(o, 2), 1);
    assert_int_equal(rank_choice(o + 3, 1), -1);
    assert_int_equal(rank_choice(o, 0), -1);
}

/* The order of the outcomes does not matter; starts that do not agree, and a core consistency that
 * is not known, speak against a rank. */
static void test_what_speaks_against_a_rank(void **state)
{
    (void)state;
    struct rank_outcome o[] = {outcome(8, 95, 1, 4), outcome(6, 95, 0, 0), outcome(4, 95, 2, 3)};
    assert_int_equal(rank_choice(o, 3), 1);
    o[1].result.core.state = CORE_DEPENDENT;
    assert_int_equal(rank_choice(o, 3), 2);
    o[2].result.core.percent = -5;
    assert_int_equal(rank_choice(o, 3), -1);
}

static void assert_suggested(const struct rank_outcome *o, int count, uint64_t rank,
                             const char *why)
{
    char text[RANK_CHOICE_TEXT];
    assert_int_equal(rank_suggestion(o, count, text), rank);
    assert_string_equal(text, why);
}

/* A core consistency of rank 1 is always 100 and says nothing. */
static void test_suggestions(void **state)
{
    (void)state;
    struct rank_outcome o[] = {outcome(1, 100, 0, 0), outcome(2, 99, 0, 0), outcome(3, 81, 0, 0)};
    assert_suggested(o, 1, 0,
                     "no rank above 1 is suggested: none has a core consistency of 80 or more");
    assert_suggested(o, 3, 3,
                     "rank 3 is suggested: the largest of these with a core consistency of 80 or "
                     "more; larger ones may do as well");
    o[2].agreement = (struct starts_agreement){.others = 4, .agree = 1};
    assert_suggested(o, 3, 2,
                     "rank 2 is suggested: the largest of these with a core consistency of 80 or "
                     "more and the agreement of at least half of the other starts");
    assert_true(rank_known(o, 3) == (RANKS_MODEL | RANKS_CORE | RANKS_AGREEMENT));
    assert_true(rank_known(o, 2) == (RANKS_MODEL | RANKS_CORE));
    for (int i = 0; i < 3; i++)
        o[i].result.core.state = CORE_NOT_ASKED; /* as where each row has a system of its own */
    assert_suggested(o, 3, 0,
                     "no rank above 1 is suggested: no core consistency is known; --holdout 0.1 or "
                     "--split-half MODE compares ranks by other means");
    o[0].failure.status = STATUS_NUMERICAL;
    assert_true(rank_known(o, 1) == 0 && rank_known(o, 2) == RANKS_MODEL && rank_known(o, 0) == 0);
}

static struct rank_outcome holdout(uint64_t rank, double value, double error)
{
    return (struct rank_outcome){
        .rank = rank, .result.holdout_error = {.entries = 50, .value = value, .error = error}};
}

/* The smallest rank whose held-out error is as good as the least; a rank without a model has none.
 */
static void test_held_out_error(void **state)
{
    (void)state;
    struct rank_outcome o[] = {holdout(1, 3, .1), holdout(2, 1.1, .5), holdout(3, 1.04, .01),
                               holdout(4, 1, .05), holdout(5, 1.2, .05)};
    assert_int_equal(rank_choice_holdout(o, 5), 2);
    assert_int_equal(rank_choice_holdout(o, 0), -1);
    o[3].result.holdout_error.error = .01;
    assert_int_equal(rank_choice_holdout(o, 5), 3);
    o[3] = (struct rank_outcome){.rank = 4, .failure.status = STATUS_NUMERICAL};
    assert_suggested(
        o, 5, 3,
        "rank 3 is suggested: the smallest of these whose held-out error is within its "
        "standard error of the least");
    assert_suggested(
        o, 3, 3,
        "rank 3 is suggested: the smallest of these whose held-out error is within its "
        "standard error of the least; larger ones may do better");
    assert_suggested(
        o, 1, 1,
        "rank 1 is suggested: the smallest of these whose held-out error is within its "
        "standard error of the least; larger ones may do better");
}

static struct rank_outcome halves(uint64_t rank, bool known, uint64_t alike)
{
    return (struct rank_outcome){.rank = rank,
                                 .result.core = {.state = CORE_KNOWN, .percent = 90},
                                 .halves = {.asked = true, .known = known, .alike = alike}};
}

/* The largest rank all of whose components are alike in both halves, whatever else speaks against
 * it. */
static void test_halves(void **state)
{
    (void)state;
    struct rank_outcome o[] = {halves(1, true, 1), halves(2, true, 2), halves(3, true, 3),
                               halves(4, true, 3), halves(5, false, 5)};
    assert_int_equal(rank_choice_halves(o, 5), 2);
    assert_int_equal(rank_choice_halves(o + 3, 2), -1);
    o[2].result.core.percent = -20;
    o[3].result.holdout_error = holdout(4, 1, .1).result.holdout_error;
    assert_suggested(o, 5, 3,
                     "rank 3 is suggested: the largest of these all of whose components are alike "
                     "in both halves");
    assert_suggested(o, 2, 2,
                     "rank 2 is suggested: the largest of these all of whose components are alike "
                     "in both halves; larger ones may do as well");
    assert_suggested(o, 1, 0,
                     "no rank above 1 is suggested: none has components that are all alike in both "
                     "halves");
    o[0].halves.asked = o[1].halves.asked = false;
    assert_true(!(rank_known(o, 2) & RANKS_HALVES) && rank_known(o, 3) & RANKS_HALVES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_largest_sound_rank),
        cmocka_unit_test(test_what_speaks_against_a_rank),
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_held_out_error),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
