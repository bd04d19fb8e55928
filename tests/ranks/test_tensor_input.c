/* From a file to a backend, with the nonzeros in memory or left in the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "support/blco_files.h"
#include "support/whole_tensors.h"
#include "support/scratch.h"

static const struct tns_options no_options = {.index_base = 1};

static void write_tensor(struct coo *x)
{
    struct external_sort_report report;
    struct error error = {0};
    naive_random_coo(x, &(struct shape){3, {30, 40, 50}}, 3000, 1, 0);
    assert_int_equal(write_blco(x, scratch_path("x.blco"), &report, &error), STATUS_OK);
}

/* The shape of a .blco file is known at once, its nonzeros are read when needed. */
static void test_blco_waits(void **state)
{
    (void)state;
    struct coo x;
    struct whole whole;
    struct error error = {0};
    write_tensor(&x);
    open_whole(&whole, scratch_path("x.blco"));
    const struct tensor_input *input = &whole.tensor.input;
    assert_true(input->unread);
    assert_int_equal(input->x.shape.order, x.shape.order);
    assert_int_equal(input->x.nnz, x.nnz);
    assert_memory_equal(input->x.shape.dims, x.shape.dims, sizeof x.shape.dims);
    assert_null(input->x.value);
    assert_non_null(input->file.header);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(rank_tensor_read(&whole.tensor, NULL, &error), STATUS_OK);
        assert_false(input->unread);
        assert_null(input->file.header);
        assert_sorted_as(&input->x, &x);
    }
    rank_tensor_close(&whole.tensor);
    close_whole(&whole);
    coo_free(&x);
}

static void test_text_is_read(void **state)
{
    (void)state;
    struct whole whole;
    struct error error = {0};
    const char text[] = "1 1 2.5\n2 3 1\n1 1 0.5\n";
    const char *path = scratch_file("x.tns", text, sizeof text - 1);
    open_whole(&whole, path);
    const struct coo *x = &whole.tensor.input.x;
    assert_false(whole.tensor.input.unread);
    assert_int_equal(x->nnz, 2);
    assert_int_equal(rank_tensor_read(&whole.tensor, NULL, &error), STATUS_OK);
    assert_true(x->value[0] + x->value[1] == 4);
    close_whole(&whole);
}

/* What a file lists besides nonzeros is known when it is opened. */
static void test_listed(void **state)
{
    (void)state;
    const char *path = scratch_text("x.tns", "1 1 2.5\n2 3 nan\n1 2 0\n1 3 1\n1 3 -1\n2 3 4\n");
    for (int keep = 0; keep < 2; keep++) {
        struct whole whole;
        struct error error = {0};
        struct tns_options options = no_options;
        options.zeros = keep ? COO_KEEP_ZEROS : COO_DROP_ZEROS;
        assert_int_equal(try_open_whole(&whole, path, &options, NULL, &error), STATUS_OK);
        assert_int_equal(whole.tensor.input.x.nnz, keep ? 4 : 2);
        assert_int_equal(whole.tensor.listed.unknown, 1);
        assert_int_equal(whole.tensor.listed.zeros, keep ? 2 : 0);
        assert_int_equal(whole.tensor.listed.dropped, keep ? 0 : 2);
        close_whole(&whole);
    }
}

static void expect_refused(const char *path, const struct tns_options *options, const char *what)
{
    struct whole whole;
    struct error error = {0};
    assert_int_equal(try_open_whole(&whole, path, options, NULL, &error), STATUS_INPUT);
    if (!strstr(error.message, what))
        fail_msg("%s", error.message);
    close_whole(&whole);
}

static void test_refused(void **state)
{
    (void)state;
    struct coo x;
    struct external_sort_report report;
    struct error error = {0};
    struct tns_options lengths = no_options;
    lengths.ndims = 2;
    write_tensor(&x);
    expect_refused(scratch_path("x.blco"), &lengths, "3 modes, but --dims gives 2");
    coo_free(&x);
    assert_int_equal(coo_create(&x, &(struct shape){2, {3, 4}}, 0, &error), STATUS_OK);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    expect_refused(scratch_path("x.blco"), &no_options, "no nonzeros");
    expect_refused(scratch_file("x.tns", "1 1 0\n", 6), &no_options,
                   "no nonzeros: all 1 entries are zero or add up to zero");
    expect_refused(scratch_text("x.tns", "1 1 0\n1 2 nan\n"), &no_options,
                   "no nonzeros: all 2 entries are unknown, zero or add up to zero");
    expect_refused(scratch_path("absent.blco"), &no_options, "absent.blco");
    coo_free(&x);
}

/* A backend that streams where the options give it little memory, and notes what it was given. */
static struct {
    const struct coo *x;
    const struct blco_file *file;
} given;

static enum status fake_request(struct plan_request *request, const struct backend_options *options,
                                struct error *error)
{
    (void)error;
    request->row_bytes = request->rank * sizeof(double);
    request->budget = options->memory;
    request->copies = 1;
    request->can_stream = true;
    request->host_budget = options->host_memory;
    return STATUS_OK;
}

static enum status fake_open(void **state, const struct tensor_source *source,
                             const struct plan *plan, const struct backend_options *options,
                             struct progress *progress, struct error *error)
{
    (void)plan, (void)options, (void)progress, (void)error;
    given.x = source->x;
    given.file = source->file;
    *state = &given;
    return STATUS_OK;
}

static void fake_close(void *state)
{
    (void)state;
}

static const struct backend_ops fake_operations = {.close = fake_close};
static const struct backend_kind fake = {
    .name = "fake", .request = fake_request, .open = fake_open, .ops = &fake_operations};

/* Opens the fake backend from the input; what it was given is noted. */
static struct plan open_fake(struct rank_tensor *tensor, const struct backend_options *options)
{
    struct backend b;
    struct error error = {0};
    given.x = NULL;
    given.file = NULL;
    if (backend_prepare(&b, &fake, tensor, options, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    struct plan plan = b.plan;
    assert_int_equal(backend_build(&b, tensor, NULL, &error), STATUS_OK);
    assert_ptr_equal(given.x, &tensor->input.x);
    backend_close(&b);
    return plan;
}

/* One alto ordering that is streamed: the file goes to the backend as it is. */
static void test_file_is_streamed(void **state)
{
    (void)state;
    struct coo x;
    struct external_sort_report report;
    struct whole whole;
    struct error error = {0};
    naive_random_coo(&x, &(struct shape){3, {3000, 4000, 5000}}, 1000000, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
    open_whole(&whole, scratch_path("x.blco"));
    struct backend_options options = {
        .problem.rank = 2, .memory = 10000000, .host_memory = UINT64_C(60000000)};
    struct plan plan = open_fake(&whole.tensor, &options);
    assert_true(plan.streamed && plan.alto);
    assert_int_equal(plan.host_bytes, whole.tensor.input.file.header->data_bytes);
    assert_ptr_equal(given.file, &whole.tensor.input.file);
    assert_true(whole.tensor.input.unread);
    close_whole(&whole);
}

static void test_nonzeros_are_read(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory, batch_nnz;
        enum conflict conflict;
    } cases[] = {
        {40000, 100, CONFLICT_AUTO},     /* replicas are streamed             */
        {40000, 100, CONFLICT_REGISTER}, /* the file's segments are too long  */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coo x;
        struct whole whole;
        const struct backend_options options = {.problem.rank = 2,
                                                .memory = cases[i].memory,
                                                .host_memory = 1 << 20,
                                                .conflict = cases[i].conflict,
                                                .forced.batch_nnz = cases[i].batch_nnz};
        write_tensor(&x);
        open_whole(&whole, scratch_path("x.blco"));
        struct plan plan = open_fake(&whole.tensor, &options);
        assert_true(plan.streamed);
        assert_null(given.file);
        assert_false(whole.tensor.input.unread);
        assert_sorted_as(&whole.tensor.input.x, &x);
        close_whole(&whole);
        coo_free(&x);
    }
}

/* All fits on the device, and coordinates into its words: the file goes to the backend as it is,
 * also where the host has no room for coordinates. Longer lines are decoded here. */
static void test_file_is_decoded_on_the_device(void **state)
{
    (void)state;
    static const uint64_t dims[] = {70000, 70000, 70000, 70000, 70000, 70000, 70000, 70000};
    for (int order = 2; order <= 8; order += 2)
        for (int room = 0; room < 2; room++) {
            bool decoded = order < 8;
            if (!decoded && !room)
                continue;
            struct coo x;
            struct external_sort_report report;
            struct whole whole;
            struct error error = {0};
            naive_random_coo(&x, SHAPE(order, dims), 2000, 1, 0);
            assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
            coo_free(&x);
            open_whole(&whole, scratch_path("x.blco"));
            const struct backend_options options = {.problem.rank = 2,
                                                    .memory = 1 << 30,
                                                    .host_memory = room ? 100000 : 40000,
                                                    .forced.batch_nnz = 65536};
            struct plan plan = open_fake(&whole.tensor, &options);
            assert_false(plan.streamed);
            assert_int_equal(whole.tensor.input.unread, decoded);
            assert_ptr_equal(given.file,
                             whole.tensor.input.unread ? &whole.tensor.input.file : NULL);
            close_whole(&whole);
        }
}

/* Refused with what does not fit, and the rank that would. */
static void test_refusal(void **state)
{
    (void)state;
    struct backend b;
    struct error error = {0};
    const struct coo x = {.shape.order = 3, .shape.dims = {30000, 40000, 50000}, .nnz = 3000000000};
    struct whole whole;
    whole_of(&whole, &x);
    struct backend_options options = {
        .problem.rank = 1000, .memory = 100000000, .host_memory = UINT64_C(60000000000)};
    assert_int_equal(backend_prepare(&b, &fake, &whole.tensor, &options, NULL, &error),
                     STATUS_MEMORY);
    assert_non_null(strstr(error.message, "backend fake, rank 1000: factors of 1.39 GB do not fit "
                                          "into the 100 MB of memory that may be used; rank "));
    uint64_t rank = strtoull(strstr(error.message, "; rank ") + 7, NULL, 10);
    options.problem.rank = rank;
    error = (struct error){0};
    assert_int_equal(backend_prepare(&b, &fake, &whole.tensor, &options, NULL, &error), STATUS_OK);
    backend_close(&b);
    options.problem.rank = rank + 1;
    assert_int_equal(backend_prepare(&b, &fake, &whole.tensor, &options, NULL, &error),
                     STATUS_MEMORY);
    assert_null(b.kind);
    options.problem.rank = rank;
    options.host_memory = UINT64_C(1000000000);
    error = (struct error){0};
    assert_int_equal(backend_prepare(&b, &fake, &whole.tensor, &options, NULL, &error),
                     STATUS_MEMORY);
    assert_non_null(strstr(error.message, "of host memory that may be used; no lower rank"));
    close_whole(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blco_waits, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_text_is_read, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_listed, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_refused, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_file_is_streamed, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_nonzeros_are_read, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_file_is_decoded_on_the_device, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
