/* The plan of a tensor that is still in a .blco file: what `blco info` shows, from the file's
 * header alone, is what opening the tensor follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "support/backends.h"
#include "support/blco_files.h"
#include "support/whole_tensors.h"
#include "support/scratch.h"

/* A kind that streams where the options give it little memory; nothing is opened. */
static enum status make_request(struct plan_request *request, const struct backend_options *options,
                                struct error *error)
{
    (void)error;
    request->row_bytes = request->rank * sizeof(double);
    request->budget = options->memory;
    request->copies = 2;
    request->short_mode = 10;
    request->can_stream = true;
    request->host_budget = options->host_memory;
    return STATUS_OK;
}

static enum status open_nothing(void **state, const struct tensor_source *source,
                                const struct plan *plan, const struct backend_options *options,
                                struct progress *progress, struct error *error)
{
    (void)source, (void)plan, (void)options, (void)progress, (void)error;
    *state = NULL;
    return STATUS_OK;
}

static const struct backend_kind streaming = {
    .name = "streaming", .request = make_request, .open = open_nothing};

/* As `blco info` plans: from the open file. Then as `blco cpd` does: from the input. */
static bool check_file(const struct shape *shape, const struct backend_options *options)
{
    struct error error = {0};
    struct blco_file file;
    struct whole whole;
    struct backend b;
    struct plan plan;
    char shown[4096], followed[4096];
    assert_int_equal(blco_file_open(&file, scratch_path("x.blco"), &error), STATUS_OK);
    const struct plan_tensor tensor = file_for_plan(&file);
    assert_true(shape_equal(&tensor.shape, shape));
    assert_int_equal(backend_plan(&plan, &streaming, &tensor, options, &error), STATUS_OK);
    blco_file_close(&file);

    open_whole(&whole, scratch_path("x.blco"));
    enum status status = backend_prepare(&b, &streaming, &whole.tensor, options, NULL, &error);
    assert_int_equal(status, plan.fits ? STATUS_OK : STATUS_MEMORY);
    if (plan.fits) {
        plan_describe(&plan, NULL, shown, sizeof shown);
        plan_describe(&b.plan, NULL, followed, sizeof followed);
        assert_string_equal(followed, shown);
        assert_int_equal(b.plan.total_bytes, plan.total_bytes);
        assert_int_equal(b.plan.host_bytes, plan.host_bytes);
        assert_int_equal(whole.tensor.input.unread, plan_takes_packed(&plan));
    }
    backend_close(&b);
    close_whole(&whole);
    return plan.fits;
}

static void write_file(const struct shape *shape, uint64_t nnz)
{
    struct coo x;
    struct external_sort_report report;
    struct error error = {0};
    naive_random_coo(&x, shape, nnz, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
}

static void test_info_and_cpd_plan_alike(void **state)
{
    (void)state;
    static const struct shape shape = {3, {3000, 4000, 5000}};
    int fit = 0, not_fit = 0;
    write_file(&shape, 200000);
    for (int conflict = CONFLICT_AUTO; conflict < CONFLICTS; conflict++)
        for (uint64_t memory = 1 << 16; memory < 1 << 26; memory *= 2)
            for (uint64_t host = 1 << 16; host < 1 << 26; host *= 4) {
                const struct backend_options options = {.problem.rank = 3,
                                                        .conflict = (enum conflict)conflict,
                                                        .memory = memory,
                                                        .host_memory = host};
                *(check_file(&shape, &options) ? &fit : &not_fit) += 1;
            }
    assert_true(fit > 50 && not_fit > 50);
}

/* Lines that the device cannot decode, and a host without the room to unpack them: a plan for the
 * device's memory would be a promise that is not kept. */
static void test_what_cannot_be_unpacked(void **state)
{
    (void)state;
    static const struct shape shape = {8, {70000, 70000, 70000, 70000, 70000, 70000, 70000, 70000}};
    write_file(&shape, 2000);
    const struct backend_options options = {
        .problem.rank = 2, .memory = 1 << 30, .host_memory = 40000};
    assert_false(check_file(&shape, &options));
    const struct backend_options roomy = {
        .problem.rank = 2, .memory = 1 << 30, .host_memory = 100000};
    assert_true(check_file(&shape, &roomy));
}

/* The rank is the user's, however a backend pads its rows. */
static void test_rank_of_a_plan(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const struct plan_tensor tensor = {.shape = {3, {30, 40, 50}}, .nnz = 1000};
    for (uint64_t rank = 1; rank < 20; rank++)
        for (int p = POLICY_DOUBLE; p <= POLICY_AUTO; p++) {
            const struct backend_options options = {.problem.rank = rank,
                                                    .problem.precision = (enum precision_policy)p};
            struct error error = {0};
            struct plan plan;
            assert_int_equal(backend_plan(&plan, kind, &tensor, &options, &error), STATUS_OK);
            assert_int_equal(plan.request.rank, rank);
            assert_int_equal(plan.request.precision,
                             p == POLICY_SINGLE ? PRECISION_SINGLE : PRECISION_DOUBLE);
            assert_in_range(plan.request.row_bytes, rank * precision_bytes(plan.request.precision),
                            rank * precision_bytes(plan.request.precision) + 15);
        }
}

/* Bytes of the factors of a plan on the host. */
static uint64_t factor_bytes(enum precision_policy precision, bool is_part)
{
    const struct plan_tensor tensor = {.shape = {3, {30, 50, 40}}, .nnz = 1000, .is_part = is_part};
    const struct backend_options options = {.problem.rank = 7, .problem.precision = precision};
    struct error error = {0};
    struct plan plan;
    assert_int_equal(backend_plan(&plan, &backend_host, &tensor, &options, &error), STATUS_OK);
    return plan.factor_bytes;
}

/* Between processors rows move as doubles: from the factor matrices, or, where these are not always
 * doubles, from an array as long as the longest mode. */
static void test_rows_to_send(void **state)
{
    (void)state;
    const uint64_t sent = 50 * 7 * sizeof(double);
    assert_int_equal(factor_bytes(POLICY_DOUBLE, true), factor_bytes(POLICY_DOUBLE, false));
    assert_int_equal(factor_bytes(POLICY_SINGLE, true), factor_bytes(POLICY_SINGLE, false) + sent);
    assert_int_equal(factor_bytes(POLICY_AUTO, true), factor_bytes(POLICY_AUTO, false) + sent);
}

static struct plan plan_of_rows(const struct backend_kind *kind, bool is_part, uint64_t memory)
{
    const struct plan_tensor tensor = {
        .shape = {3, {30, 50, 40}}, .nnz = 50000, .is_part = is_part};
    const struct backend_options options = {.problem = {.rank = 7, .unlisted.weighed = true},
                                            .memory = memory};
    struct error error = {0};
    struct plan plan;
    assert_int_equal(backend_plan(&plan, kind, &tensor, &options, &error), STATUS_OK);
    return plan;
}

/* Several GPUs need room for the systems that they sum, and do not stream. */
static void test_systems_of_parts(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const struct plan alone = plan_of_rows(kind, false, 0), part = plan_of_rows(kind, true, 0);
    const uint64_t systems = 50 * 7 * 8 / 2 * sizeof(double);
    assert_true(alone.fits && part.fits && part.system_bytes > alone.system_bytes + systems);
    const uint64_t little = alone.factor_bytes + alone.system_bytes + alone.tensor_bytes;
    assert_true(plan_of_rows(kind, false, little).streamed);
    assert_false(plan_of_rows(kind, true, little).streamed);
    assert_false(plan_of_rows(kind, true, little).fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_info_and_cpd_plan_alike, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_unpacked, scratch_make, scratch_remove),
        ON_ALL(test_rank_of_a_plan),
        cmocka_unit_test(test_rows_to_send),
        ON(test_systems_of_parts, backend_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
