/* The hash of an input's nonzeros: read or unread, text or .blco. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "formats/input_hash.h"
#include "support/scratch.h"

#include "support/blco_files.h"
#include "tensor/fingerprint.h"

static const struct tns_options no_options = {.index_base = 1};

/* More nonzeros than a segment has. */
static void test_unread(void **state)
{
    (void)state;
    struct coo x;
    struct error error = {0};
    struct external_sort_report report;
    struct tensor_input input;
    uint64_t unread, read;
    naive_random_coo(&x, &(struct shape){3, {900, 700, 800}}, 150000, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(tensor_input_open(&input, scratch_path("x.blco"), &no_options, NULL, &error),
                     STATUS_OK);
    assert_true(input.unread && input.file.header->nsegments > 1);
    assert_int_equal(input_hash(&input, &unread, &error), STATUS_OK);
    assert_int_equal(tensor_input_read(&input, NULL, &error), STATUS_OK);
    assert_int_equal(input_hash(&input, &read, &error), STATUS_OK);
    assert_true(unread == fingerprint_hash(&x, NULL) && read == unread);
    tensor_input_close(&input);
    coo_free(&x);
}

static void test_damaged(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    struct coo x;
    struct error error = {0};
    struct external_sort_report report;
    struct tensor_input input;
    uint64_t hash;
    naive_random_coo(&x, &(struct shape){3, {90, 70, 80}}, 3000, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    long size = scratch_read(scratch_path("x.blco"), bytes, sizeof bytes);
    assert_true(size > BLCO_PAGE + 100);
    bytes[BLCO_PAGE + 100] ^= 1; /* in a segment */
    const char *path = scratch_file("bad.blco", bytes, (size_t)size);
    assert_int_equal(tensor_input_open(&input, path, &no_options, NULL, &error), STATUS_OK);
    assert_int_equal(input_hash(&input, &hash, &error), STATUS_INPUT);
    tensor_input_close(&input);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unread, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
