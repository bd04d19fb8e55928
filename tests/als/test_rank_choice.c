/* Which rank is suggested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "als/rank_choice.h"

/* What the table of a range has of a rank; 0 where it is not known. */
struct row {
    uint64_t rank;
    double core, holdout, error;
    int agree, different, others;
    bool split;
    uint64_t alike;
};

static struct rank_outcome outcome(struct row r)
{
    const struct core_consistency core = {.state = CORE_KNOWN, .percent = r.core};
    struct rank_outcome o = {
        .rank = r.rank,
        .agreement = {.agree = r.agree, .different = r.different, .others = r.others},
        .replication = {.asked = r.split, .halves = r.split, .known = r.split, .alike = r.alike}};
    if (r.core != 0)
        o.result.core = core;
    if (r.holdout > 0)
        o.result.holdout_error =
            (struct holdout_error){.entries = 50, .value = r.holdout, .error = r.error};
    return o;
}

static void assert_suggested(const struct rank_outcome *o, int count, uint64_t rank,
                             const char *why)
{
    char text[RANK_CHOICE_TEXT];
    assert_int_equal(rank_suggestion(o, count, text), rank);
    assert_int_equal(rank_choose(o, count).rank, rank);
    assert_string_equal(text, why);
}

/* One start: the largest rank with a sound core, whatever the order. A core consistency of rank 1
 * is always 100 and says nothing. */
static void test_core(void **state)
{
    (void)state;
    struct rank_outcome o[] = {outcome((struct row){.rank = 1, .core = 100}),
                               outcome((struct row){.rank = 2, .core = 99}),
                               outcome((struct row){.rank = 4, .core = 79.9}),
                               outcome((struct row){.rank = 3, .core = 80})};
    assert_suggested(o, 1, 0,
                     "no rank above 1 is suggested: none has a core consistency of 80 or more");
    assert_suggested(o, 3, 2,
                     "rank 2 is suggested: the largest of these with a core consistency of 80 or "
                     "more");
    assert_suggested(o, 4, 3,
                     "rank 3 is suggested: the largest of these with a core consistency of 80 or "
                     "more; larger ones may do as well");
    assert_int_equal(rank_choose(o, 4).rule, RANK_CORE);
    assert_int_equal(rank_choose(o, 0).rank, 0);
    assert_true(rank_known(o, 3) == (RANKS_MODEL | RANKS_CORE));
    o[3].result.core.imputed = .5;
    assert_int_equal(rank_choose(o, 4).rank, 3);
    o[3].result.core.imputed = .51; /* it tells nothing */
    assert_int_equal(rank_choose(o, 4).rank, 2);
    for (int i = 0; i < 4; i++)
        o[i].result.core.state = CORE_NOT_ASKED;
    assert_suggested(o, 4, 0,
                     "no rank above 1 is suggested: no core consistency is known; --holdout 0.1, "
                     "--starts 5 or --split-half MODE compares ranks by other means");
    o[0].failure.status = STATUS_NUMERICAL;
    assert_true(rank_known(o, 1) == 0 && rank_known(o, 2) == RANKS_MODEL && rank_known(o, 0) == 0);
}

/* How many of the other starts must find a model again: one, or half of them without held-out
 * entries, and more than fit as well with other components. Others may fit less. */
static void test_starts(void **state)
{
    (void)state;
    static const struct {
        int agree, different, others;
        bool held, again; /* with held-out entries, and without */
    } row[] = {{4, 0, 4, true, true},    {1, 0, 4, true, false},  {0, 0, 4, false, false},
               {0, 1, 4, false, false},  {2, 1, 4, true, true},   {2, 2, 4, false, false},
               {3, 1, 4, true, true},    {0, 0, 0, false, false}, {2, 0, 29, true, false},
               {2, 3, 29, false, false}, {2, 0, 5, true, false}};
    struct rank_outcome o = {.rank = 2};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        o.agreement = (struct starts_agreement){
            .others = row[i].others, .agree = row[i].agree, .different = row[i].different};
        assert_int_equal(rank_found_again(&o, RANKS_AGREEMENT | RANKS_HOLDOUT), row[i].held);
        assert_int_equal(rank_found_again(&o, RANKS_AGREEMENT), row[i].again);
    }
    o.failure.status = STATUS_NUMERICAL;
    assert_false(rank_found_again(&o, 0));
}

/* Without held-out entries: the largest rank whose model is found again, whatever its core, which
 * noise lowers. */
static void test_largest_found(void **state)
{
    (void)state;
    const struct rank_outcome o[] = {
        outcome((struct row){.rank = 1, .core = 100, .agree = 4, .others = 4}),
        outcome((struct row){.rank = 3, .core = -108, .agree = 4, .others = 4}),
        outcome((struct row){.rank = 2, .core = 95, .agree = 2, .others = 4}),
        outcome((struct row){.rank = 4, .core = 90, .different = 4, .others = 4})};
    assert_suggested(o, 4, 3,
                     "rank 3 is suggested: at least half of the other starts find its model again, "
                     "and it is the "
                     "largest such rank");
    assert_suggested(o, 2, 3,
                     "rank 3 is suggested: at least half of the other starts find its model again, "
                     "and it is the "
                     "largest such rank; larger ones may do as well");
    assert_suggested(
        o + 3, 1, 0,
        "no rank above 1 is suggested: none is found again by at least half of the other "
        "starts; --starts auto makes more starts");
    assert_int_equal(rank_choose(o, 4).rule, RANK_FOUND);
    assert_int_equal(rank_choose(o, 1).rank, 0);
    const struct rank_outcome many =
        outcome((struct row){.rank = 4, .different = 4, .others = STARTS_MOST - 1});
    assert_suggested(
        &many, 1, 0,
        "no rank above 1 is suggested: none is found again by at least half of the other "
        "starts");
}

/* One start: the smallest rank whose held-out error is as good as the least; a rank without a model
 * has none. */
static void test_held_out_error(void **state)
{
    (void)state;
    struct rank_outcome o[] = {outcome((struct row){.rank = 1, .holdout = 3, .error = .1}),
                               outcome((struct row){.rank = 2, .holdout = 1.1, .error = .5}),
                               outcome((struct row){.rank = 3, .holdout = 1.04, .error = .01}),
                               outcome((struct row){.rank = 4, .holdout = 1, .error = .05}),
                               outcome((struct row){.rank = 5, .holdout = 1.2, .error = .05})};
    assert_int_equal(rank_choose(o, 5).rank, 3);
    o[3].result.holdout_error.error = .01;
    assert_int_equal(rank_choose(o, 5).rank, 4);
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
    assert_int_equal(rank_choose(o, 5).rule, RANK_HOLDOUT);
}

/* Amino acids of which three in ten readings are missing: the error falls beyond rank 3, but no
 * other start finds such a model. */
static void test_held_out_and_starts(void **state)
{
    (void)state;
    struct rank_outcome o[] = {
        outcome((struct row){1, .holdout = 116, .error = 3, .agree = 4, .others = 4}),
        outcome((struct row){2, .holdout = 74, .error = 2, .agree = 4, .others = 4}),
        outcome((struct row){3, .holdout = 4.93, .error = .2, .agree = 4, .others = 4}),
        outcome((struct row){4, .holdout = 4.44, .error = .2, .different = 1, .others = 4}),
        outcome((struct row){5, .holdout = 3.89, .error = .2, .others = 4})};
    assert_suggested(o, 5, 3,
                     "rank 3 is suggested: other starts find its model again, and it is the "
                     "smallest such rank whose held-out error is within its standard error of the "
                     "least; the held-out error alone says 5, but no other start finds its model "
                     "again");
    assert_int_equal(rank_choose(o, 5).holdout, 5);
    assert_suggested(o, 4, 3,
                     "rank 3 is suggested: other starts find its model again, and it is the "
                     "smallest such rank whose held-out error is within its standard error of the "
                     "least; the held-out error alone says 4, but starts that fit as well have "
                     "other components");
    o[1].agreement = o[2].agreement = o[4].agreement; /* rank 1 is no answer */
    assert_suggested(o, 3, 0,
                     "no rank above 1 is suggested: the held-out error alone says 3, but no other "
                     "start finds its model again; --starts auto makes more starts");
    o[0].result.holdout_error.value = 4.4;
    assert_suggested(o, 3, 1,
                     "rank 1 is suggested: other starts find its model again, and it is the "
                     "smallest such rank whose held-out error is within its standard error of the "
                     "least");
}

/* All components have to be alike in both halves. These are found again then, even if no other
 * start finds them; but not where starts that fit as well have others. */
static void test_halves(void **state)
{
    (void)state;
    struct rank_outcome o[] = {
        outcome((struct row){1, .core = 100, .split = true, .alike = 1}),
        outcome((struct row){2, .core = 90, .split = true, .alike = 2}),
        outcome((struct row){3, .core = -20, .split = true, .alike = 3}),
        outcome((struct row){4, .core = 90, .holdout = 1, .error = .1, .split = true, .alike = 3}),
        outcome((struct row){5, .core = 90, .split = true, .alike = 5})};
    o[4].replication.known = false;
    assert_suggested(o, 5, 0,
                     "no rank above 1 is suggested: the held-out error alone says 4, but not all "
                     "of its components are in both halves");
    o[3].result.holdout_error.entries = 0;
    assert_suggested(o, 5, 3,
                     "rank 3 is suggested: both halves find its model again, and it is the largest "
                     "such rank");
    assert_suggested(o, 2, 2,
                     "rank 2 is suggested: both halves find its model again, and it is the largest "
                     "such rank; larger ones may do as well");
    assert_suggested(o, 1, 0, "no rank above 1 is suggested: none is found again by both halves");
    for (int i = 0; i < 3; i++)
        o[i].agreement = (struct starts_agreement){.others = 2, .agree = 2 - i};
    assert_suggested(o, 5, 3,
                     "rank 3 is suggested: both halves find its model again, and it is the largest "
                     "such rank");
    o[2].agreement.different = 1;
    assert_suggested(o, 5, 2,
                     "rank 2 is suggested: other starts and both halves find its model again, and "
                     "it is the largest such rank");
    for (int i = 0; i < 5; i++)
        o[i].replication.halves = false;
    assert_suggested(o, 5, 2,
                     "rank 2 is suggested: other starts and all replicates find its model again, "
                     "and it is the largest such rank");
    o[3].result.holdout_error.entries = 50;
    assert_suggested(
        o + 3, 1, 0,
        "no rank above 1 is suggested: the held-out error alone says 4, but replicates "
        "do not find all of its components again");
    o[0].replication.asked = o[1].replication.asked = false;
    assert_true(!(rank_known(o, 2) & RANKS_REPLICATES) && rank_known(o, 3) & RANKS_REPLICATES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_largest_found),
        cmocka_unit_test(test_held_out_error),
        cmocka_unit_test(test_held_out_and_starts),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
