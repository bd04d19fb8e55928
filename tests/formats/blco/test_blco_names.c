/* A .blco file keeps the names of the modes, and wrong ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "formats/blco/blco_file.h"
#include "formats/blco/blco_writer.h"
#include "support/damaged_blco.h"
#include "support/scratch.h"

static const char *write_named(const struct mode_names *modes)
{
    uint32_t first[] = {0, 1}, second[] = {0, 2};
    double value[] = {1, 2};
    const struct coo x = {.shape = shape_of(2, (uint64_t[]){2, 3}),
                          .nnz = 2,
                          .index = {first, second},
                          .value = value};
    const char *path = scratch_path("x.blco");
    struct blco_writer w;
    struct error error = {0};
    assert_int_equal(blco_writer_open(&w, path, &x.shape, 1 << 20, &error), STATUS_OK);
    w.modes = modes;
    assert_int_equal(blco_writer_append(&w, &x, NULL, 2, &error), STATUS_OK);
    assert_int_equal(blco_writer_commit(&w, NULL, &error), STATUS_OK);
    return path;
}

static void keeps_names(void **state)
{
    (void)state;
    struct mode_names modes = {.name = {""}};
    struct blco_file f;
    struct error error = {0};
    mode_names_set(&modes, 1, "hour", 4, &error);
    strcpy(modes.bin[1], "1h");
    strcpy(modes.order[1], "sorted");
    strcpy(modes.value, "n");
    mode_names_add_change(&modes, "log1p");
    mode_names_add_change(&modes, "binary");
    assert_string_equal(modes.change, "log1p,binary");
    assert_int_equal(blco_file_open(&f, write_named(&modes), &error), STATUS_OK);
    assert_int_equal(f.header->version, BLCO_FORMAT_VERSION);
    assert_memory_equal(f.modes, &modes, sizeof modes);
    blco_file_close(&f);
    assert_int_equal(blco_file_open(&f, write_named(NULL), &error), STATUS_OK);
    assert_false(mode_names_any(f.modes));
    blco_file_close(&f);
}

static void refuses_wrong_names(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        char byte;
    } wrong[] = {{offsetof(struct mode_names, name[2]), 'x'},
                 {offsetof(struct mode_names, name) + 5, 'x'},
                 {offsetof(struct mode_names, name) + MODE_NAME_BYTES - 1, 'x'},
                 {offsetof(struct mode_names, bin[2]), 'x'}, /* the tensor has two modes */
                 {offsetof(struct mode_names, order[0]) + SOURCE_TEXT - 1, 'x'},
                 {offsetof(struct mode_names, value) + 3, 'x'},
                 {offsetof(struct mode_names, change) + 3, 'x'}};
    struct mode_names modes = {.name = {""}};
    struct error error = {0};
    mode_names_set(&modes, 0, "user", 4, &error);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t size;
        const char *path = write_named(&modes);
        char *bytes = file_bytes(path, &size);
        bytes[BLCO_NAMES_OFFSET + wrong[i].at] = wrong[i].byte;
        sign(bytes, size);
        assert_refused(bytes, size, "not in order");
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_names, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(refuses_wrong_names, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("names of modes in blco files", tests, NULL, NULL);
}
