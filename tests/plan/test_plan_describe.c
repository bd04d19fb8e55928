/* The text that describes a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "support/plan_requests.h"

/* The text for everything that may not fit. */
static void test_obstacles(void **state)
{
    (void)state;
    struct plan_request r = large_request(20 * GB, 500 * GB);
    struct plan p;
    char text[256], all[4096];
    plan_make(&p, &r);
    assert_true(p.fits);
    set_rank(&r, 500000);
    plan_make(&p, &r);
    assert_false(p.fits);
    plan_obstacle(&p, text, sizeof text);
    assert_non_null(strstr(text, "factors of "));
    assert_non_null(strstr(text, " TB do not fit into the 20.0 GB of memory that may be used"));
    plan_describe(&p, NULL, all, sizeof all);
    assert_non_null(strstr(all, "does not fit: factors of "));

    r = large_request(4 * 1000 * 1000, 500 * GB);
    plan_make(&p, &r);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "factors of 634 kB and queues of 4.41 MB, through which the tensor "
                              "flows, do not fit into the 4.00 MB of memory that may be used");

    r = large_request(20 * GB, 20 * GB);
    plan_make(&p, &r);
    assert_false(p.fits);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "the packed tensor takes 23.5 GB at most, more than the 20.0 GB of "
                              "host memory that may be used");

    p = plan_with(1000000);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "factors of 622 kB and an ordering of 16.0 MB do not fit into the "
                              "1.00 MB of memory that may be used");

    /* more than the factors, the model and an ordering: what all orderings take, or building one */
    struct plan_request r2 = request_of(60000000);
    r2.waiting_rows = 1000000;
    plan_make(&p, &r2);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "factors of 622 kB and orderings of 64.1 MB do not fit into the "
                              "60.0 MB of memory that may be used");
    r2 = request_of(32000000);
    r2.nonzero_bytes = 24000000;
    r2.spends = true;
    r2.model_bytes = 1000000;
    plan_make(&p, &r2);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "building an ordering of 1000000 nonzeros takes 33.0 MB, more than "
                              "the 32.0 MB of memory that may be used");
}

static void test_describe(void **state)
{
    (void)state;
    struct plan p = plan_with(50000000);
    char text[4096], shorter[100];
    plan_describe(&p, NULL, text, sizeof text);
    assert_string_equal(
        text, "mode 1: length 183, register, the shared alto ordering\n"
              "mode 2: length 24, hierarchical, the shared alto ordering, copies of 12.3 kB\n"
              "mode 3: length 1140, ordered, its own ordering of 16.0 MB\n"
              "mode 4: length 1717, ordered, its own ordering of 16.0 MB\n"
              "memory: 3 orderings of 16.0 MB + factors 622 kB + copies 12.3 kB = 48.7 MB of "
              "the 50.0 MB that may be used\n");
    plan_describe(&p, NULL, shorter, sizeof shorter);
    assert_int_equal(strlen(shorter), sizeof shorter - 1);
    assert_memory_equal(shorter, text, sizeof shorter - 1);
    p = plan_with(1000);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, "memory: 1 ordering of "));
    assert_non_null(strstr(text, "does not fit"));
}

/* Tiles of the L2 cache, which only the nonzeros decide. */
static void test_describe_cache_tiles(void **state)
{
    (void)state;
    static const struct shape shape = {3, {4821207, 40, 50}};
    struct plan_request r = {.tensor = {.shape = shape, .nnz = 100000000},
                             .rank = 32,
                             .row_bytes = 256,
                             .budget = 100 * GB,
                             .cache_bytes = UINT64_C(60) << 20};
    struct mode_groups shared;
    struct plan p;
    char text[4096];
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, "mode 1: length 4821207, ordered, its own ordering of 1.60 GB\n"));
    assert_non_null(strstr(text,
                           "mode 2: length 40, ordered, its own ordering of 1.60 GB, in tiles "
                           "of the L2 cache where these pay\n"));
    mode_groups_from_cuts(&shared, 3, 2);
    plan_describe(&p, &shared, text, sizeof text);
    assert_null(strstr(text, "tiles"));
    r.conflict = CONFLICT_ORDERED;
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_null(strstr(text, "tiles"));
}

/* Modes that would be tiled, and what their partial sums take; no tiles where modes share, nor on
 * machines without. */
static void test_describe_tiles(void **state)
{
    (void)state;
    static const struct shape nell2 = {3, {12092, 9184, 28818}};
    struct plan_request r = {.tensor = {.shape = nell2, .nnz = 76879419},
                             .rank = 32,
                             .row_bytes = 256,
                             .budget = 100 * GB,
                             .tiles = true};
    struct mode_groups shared;
    struct plan p;
    char text[4096];
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, "mode 1: length 12092, ordered, its own ordering of 1.23 GB, in "
                                 "tiles of 512 rows of mode 2\n"));
    assert_non_null(strstr(text, "mode 2: length 9184, ordered, its own ordering of 1.23 GB, in "
                                 "tiles of 512 rows of mode 1\n"));
    assert_non_null(strstr(text, "\nin addition: about 256 MB for the partial sums of tiles\n"));
    mode_groups_from_cuts(&shared, 3, 2);
    plan_describe(&p, &shared, text, sizeof text);
    assert_null(strstr(text, "tiles"));
    r.tensor = (struct plan_tensor){.shape = {4, {6066, 5699, 244268, 1176}}, .nnz = 54202099};
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, ", in tiles of 256 rows of mode 4 and 256 rows of mode 2\n"));
    assert_non_null(strstr(text, ", in tiles of 512 rows of mode 4\n"));
    r.conflict = CONFLICT_ORDERED;
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_null(strstr(text, "tiles"));
    r.conflict = CONFLICT_AUTO;
    r.tiles = false;
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_null(strstr(text, "tiles"));
}

static void test_describe_streamed(void **state)
{
    (void)state;
    struct plan_request r = large_request(4 * GB, 100 * GB);
    struct plan p;
    char text[4096];
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_string_equal(
        text,
        "mode 1: length 183, register, the shared alto ordering, streamed\n"
        "mode 2: length 24, hierarchical, the shared alto ordering, streamed, copies of 12.3 kB\n"
        "mode 3: length 1140, register, the shared alto ordering, streamed\n"
        "mode 4: length 1717, register, the shared alto ordering, streamed\n"
        "streaming: 1 packed ordering in host memory, 23.5 GB at most, of which 3.89 GB stay on "
        "the GPU; 78.6 GB at most flow in an iteration, 1048576 nonzeros at a time\n"
        "once that pays: each mode from its own ordering, built on the GPU if host memory "
        "has room; 94.1 GB in all, of which about 90.2 GB flow\n"
        "memory: what stays 3.89 GB + 3 queues 70.6 MB + factors 622 kB + copies 12.3 kB = "
        "3.96 GB of the 4.00 GB that may be used\n");
    r.host_budget = 500 * GB;
    r.conflict = CONFLICT_ORDERED;
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, "mode 4: length 1717, ordered, its own ordering, streamed\n"
                                 "streaming: 5 packed orderings in host memory, 118"));
    assert_non_null(strstr(text, "; 114 GB at most flow"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_obstacles),         cmocka_unit_test(test_describe),
        cmocka_unit_test(test_describe_tiles),    cmocka_unit_test(test_describe_cache_tiles),
        cmocka_unit_test(test_describe_streamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
