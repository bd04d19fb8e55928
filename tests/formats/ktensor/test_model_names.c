/* Names of a model: written with its files, in maps and CSV, and found again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "formats/names/labels.h"
#include "support/blco_files.h"
#include "support/models.h"
#include "support/scratch.h"

/* Names of the modes, and of the two indices of mode 1 of model_small(). */
static struct labels some_names(const char *first, const char *second)
{
    struct labels names = {.order = 2};
    struct tensor_names from = {.order = 1};
    struct error error = {0};
    const char *const text[] = {first, second};
    for (int i = 0; i < 2; i++) {
        uint32_t number;
        const struct name name = {text[i], strlen(text[i])};
        name_table_add(&from.index[0], name, name_hash(name.text, name.length), &number, &error);
    }
    mode_names_set(&from.modes, 0, "who, \"when\"", 11, &error);
    labels_take(&names, &from);
    names.order = 2;
    return names;
}

static enum status write_named(const struct ktensor *k, const struct labels *names,
                               unsigned formats, struct error *error)
{
    struct stem_lock lock;
    struct ktensor_files files = {0};
    if (outfile_set_lock(&lock, scratch_path("m"), error) == STATUS_OK)
        ktensor_write(&(struct ktensor_source){.k = k}, names, NULL, &lock, formats, &files, error);
    ktensor_files_free(&files);
    stem_lock_release(&lock);
    return error->status;
}

static void assert_text(const char *name, const char *text)
{
    size_t size;
    char *bytes = file_bytes(scratch_path(name), &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void test_names_are_found_again(void **state)
{
    (void)state;
    struct ktensor k = model_small(), back;
    struct labels names = some_names("an\nn", "bob \"b\", c"), found = {0};
    struct error error = {0};
    assert_int_equal(write_named(&k, &names, KTENSOR_CSV, &error), STATUS_OK);
    assert_text("m.mode1.map", "an\\x0an\nbob \"b\", c\n");
    assert_text("m.modes.map", "who, \"when\"\n\n");
    assert_text("m.mode1.csv", "\"who, \"\"when\"\"\",component1,component2,component3\n"
                               "an\\x0an,1,0.5,-2\n\"bob \"\"b\"\", c\",0,1e-7,4\n");
    assert_text("m.mode2.csv", "mode2,component1,component2,component3\n1,1,-1,0.25\n");
    assert_int_equal(scratch_entries(0), 5);
    assert_int_equal(model_read(&back, scratch_path("m"), &error), STATUS_OK);
    assert_true(model_same_bits(&k, &back));
    assert_int_equal(labels_find(&found, scratch_path("m"), 2, &error), STATUS_OK);
    assert_int_equal(labels_read(&found, &back.shape, &error), STATUS_OK);
    assert_string_equal(labels_get(&found, 0, 0), "an\nn");
    assert_string_equal(labels_get(&found, 0, 1), "bob \"b\", c");
    assert_null(labels_get(&found, 1, 0));
    assert_string_equal(found.modes.name[0], "who, \"when\"");
    assert_string_equal(found.modes.name[1], "");
    labels_free(&found);
    labels_free(&names);
    ktensor_free(&back);
    ktensor_free(&k);
}

/* A name that the struct has no room for is not cut. */
/* Facts of a model of a table, written and read. */
static void test_facts_are_found_again(void **state)
{
    (void)state;
    struct ktensor k = model_small(), back;
    struct labels names = some_names("ann", "bob"), found = {0};
    const struct model_facts facts = {true, "poisson",      .25,     1, 12, 3,
                                      true, UINT64_MAX - 7, {false}, 0};
    struct model_facts read;
    struct stem_lock lock;
    struct ktensor_files files = {0};
    struct error error = {0};
    strcpy(names.modes.bin[1], "7d");
    strcpy(names.modes.order[0], "listed");
    strcpy(names.modes.value, "n, \"m\"");
    strcpy(names.modes.change, "log1p");
    for (uint64_t r = 0; r < k.rank; r++)
        k.explained[r] = 1. / (double)(r + 3);
    assert_int_equal(outfile_set_lock(&lock, scratch_path("m"), &error), STATUS_OK);
    ktensor_write(&(struct ktensor_source){.k = &k}, &names, &facts, &lock, KTENSOR_NPY, &files,
                  &error);
    stem_lock_release(&lock);
    ktensor_files_free(&files);
    assert_int_equal(model_read(&back, scratch_path("m"), &error), STATUS_OK);
    assert_int_equal(model_facts_read(&read, &back, &found, scratch_path("m"), &error), STATUS_OK);
    assert_true(read.known && read.hashed);
    assert_string_equal(read.loss, "poisson");
    assert_true(read.unlisted == .25 && read.norm == 1 && read.nnz == 12 && read.unknown == 3);
    assert_true(read.hash == facts.hash);
    assert_memory_equal(&found.modes, &names.modes, sizeof names.modes);
    assert_string_equal(labels_get(&found, 0, 1), "bob");
    for (uint64_t r = 0; r < k.rank; r++) {
        assert_true(back.explained[r] == k.explained[r]);
        assert_true(isnan(back.lost[r]));
    }
    labels_free(&found);
    labels_free(&names);
    ktensor_free(&back);
    ktensor_free(&k);
}

/* A file of facts that is damaged, or of another model. */
static void test_wrong_facts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"{", "m.model.json"},
        {"{}", "not a description of a model that this blco knows"},
        {"{\"format\": 2}", "not a description of a model that this blco knows"},
        {"{\"format\": 1, \"rank\": 2, \"modes\": []}", "of another model: expected rank 3"},
        {"{\"format\": 1, \"rank\": 3, \"modes\": [{}, {}]}", "mode 1: length"},
        {"{\"format\": 1, \"rank\": 3, \"modes\": [{\"length\": 2, \"names\": \"mode1.map\"}, "
         "{\"length\": 1}], \"unlisted\": 1}",
         "mode 1: the names of its indices, mode1.map, are not beside the model"},
        {"{\"format\": 1, \"rank\": 3, \"modes\": [{\"length\": 2, \"bin\": 3}, {\"length\": 1}], "
         "\"unlisted\": 1}",
         "\"bin\": expected a text of at most 31 bytes"},
        {"{\"format\": 1, \"rank\": 3, \"modes\": [{\"length\": 2}, {\"length\": 1}]}",
         "\"unlisted\", expected a weight from 0 to 1"},
        {"{\"format\": 1, \"rank\": 3, \"modes\": [{\"length\": 2}, {\"length\": 1}], "
         "\"unlisted\": 1, \"entries\": -1}",
         "\"entries\": expected a whole number"},
        {"{\"format\": 1, \"rank\": 3, \"modes\": [{\"length\": 2}, {\"length\": 1}], "
         "\"unlisted\": 1, \"lost\": [1]}",
         "\"lost\": expected 3 numbers"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ktensor k = model_small();
        struct labels found = {0};
        struct model_facts facts;
        struct error error = {0};
        scratch_file("m.model.json", rows[i].text, strlen(rows[i].text));
        assert_int_equal(model_facts_read(&facts, &k, &found, scratch_path("m"), &error),
                         STATUS_INPUT);
        if (!strstr(error.message, rows[i].message))
            fail_msg("%s: '%s', expected '%s'", rows[i].text, error.message, rows[i].message);
        labels_free(&found);
        ktensor_free(&k);
    }
}

static void test_long_mode_names_are_refused(void **state)
{
    (void)state;
    char text[MODE_NAME_BYTES + 2];
    for (size_t length = MODE_NAME_BYTES - 1; length <= MODE_NAME_BYTES; length++) {
        struct labels found = {0};
        struct error error = {0};
        memset(text, 'm', length);
        strcpy(text + length, "\n");
        scratch_text("m.modes.map", text);
        const enum status status = labels_find(&found, scratch_path("m"), 1, &error);
        if (status == STATUS_OK)
            assert_int_equal(strlen(found.modes.name[0]), length);
        else
            assert_non_null(
                strstr(error.message,
                       "m.modes.map: the name of mode 1 has 128 bytes, expected 127 at most"));
        assert_int_equal(status, length < MODE_NAME_BYTES ? STATUS_OK : STATUS_INPUT);
        labels_free(&found);
    }
}

/* A model without names takes the names of the older model away, but not a user's maps. */
static void test_older_names_go(void **state)
{
    (void)state;
    struct ktensor k = model_small();
    struct labels names = some_names("a", "b"), other = some_names("c", "d");
    struct error error = {0};
    scratch_text("m.mode1.map", "mine\nand mine\n");
    assert_int_equal(ktensor_check_maps(scratch_path("m"), NULL, &error), STATUS_OK);
    assert_int_equal(write_named(&k, NULL, KTENSOR_TEXT, &error), STATUS_OK);
    assert_text("m.mode1.map", "mine\nand mine\n");
    assert_int_equal(ktensor_check_maps(scratch_path("m"), &names, &error), STATUS_OUTPUT);
    assert_non_null(strstr(error.message, "m.mode1.map: exists and is not of a model"));
    error = (struct error){0};
    scratch_text("m.mode1.map", "a\nb\n");
    assert_int_equal(ktensor_check_maps(scratch_path("m"), &names, &error), STATUS_OK);
    assert_int_equal(write_named(&k, &names, KTENSOR_TEXT, &error), STATUS_OK);
    assert_int_equal(ktensor_check_maps(scratch_path("m"), &other, &error), STATUS_OK);
    assert_int_equal(write_named(&k, &other, KTENSOR_TEXT, &error), STATUS_OK);
    assert_text("m.mode1.map", "c\nd\n");
    assert_int_equal(write_named(&k, NULL, KTENSOR_TEXT, &error), STATUS_OK);
    assert_int_equal(scratch_entries(0), 3);
    labels_free(&names);
    labels_free(&other);
    ktensor_free(&k);
}

/* The names of a tensor of the same stem stay, and a model of other names is refused. */
static void test_names_of_a_tensor_stay(void **state)
{
    (void)state;
    struct ktensor k = model_small();
    struct labels names = some_names("a", "b"), other = some_names("a", "x");
    struct error error = {0};
    scratch_text("m.blco", "");
    assert_int_equal(ktensor_check_maps(scratch_path("m"), &names, &error), STATUS_OUTPUT);
    assert_non_null(strstr(error.message, "m.mode1.map: is for the names of "));
    error = (struct error){0};
    scratch_text("m.mode1.map", "a\nb\n");
    assert_int_equal(ktensor_check_maps(scratch_path("m"), &names, &error), STATUS_OK);
    assert_int_equal(write_named(&k, &names, KTENSOR_NPY, &error), STATUS_OK);
    assert_text("m.mode1.map", "a\nb\n");
    assert_int_equal(ktensor_check_maps(scratch_path("m"), &other, &error), STATUS_OUTPUT);
    error = (struct error){0};
    assert_int_equal(ktensor_check_maps(scratch_path("m"), NULL, &error), STATUS_OUTPUT);
    error = (struct error){0};
    assert_int_equal(write_named(&k, NULL, KTENSOR_NPY, &error), STATUS_OK);
    assert_text("m.mode1.map", "a\nb\n");
    labels_free(&names);
    labels_free(&other);
    ktensor_free(&k);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct ktensor k = model_small();
    struct labels names = some_names("a", "b");
    int fired = 1;
    for (long count = 0; fired; count++) {
        struct error error = {0};
        struct labels found = {0};
        memory_hook_set(count);
        enum status status = write_named(&k, &names, KTENSOR_CSV, &error);
        if (status == STATUS_OK)
            status = ktensor_check_maps(scratch_path("m"), &names, &error);
        if (status == STATUS_OK)
            status = labels_find(&found, scratch_path("m"), 2, &error);
        if (status == STATUS_OK)
            status = labels_read(&found, &k.shape, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        labels_free(&found);
    }
    labels_free(&names);
    ktensor_free(&k);
}

/* What other programs have written: blanks, quotes, empty cells. */
static void test_csv_of_others(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {{"a,b\nx\n", "m.mode1.csv:2: expected a name and numbers"},
               {"a,b\nx,\n", "m.mode1.csv:2: expected a name and numbers"},
               {"a,b\n\"x,1\n", "m.mode1.csv:2: expected a name and numbers"},
               {"a,b\n", "m.mode1.csv: no rows after the header"},
               {"a,b\nx,one\n", "m.mode1.csv:2: read \"one\", expected a"},
               {"a,b\nx,1\ny,1,2\n", "m.mode1.csv:3: "},
               {"a,b\nx,1", "m.mode1.csv"}};
    struct ktensor k;
    struct error error = {0};
    scratch_text("m.mode1.csv", "\"a \"\"\",b,c\r\n\"x, \"\"1\"\"\", 1 ,2e0\r\n,3,4\r\n");
    assert_int_equal(model_read(&k, scratch_path("m"), &error), STATUS_OK);
    assert_int_equal(k.shape.dims[0], 2);
    assert_int_equal(k.rank, 2);
    for (int i = 0; i < 4; i++)
        assert_true(k.factor[0][i] == i + 1);
    ktensor_free(&k);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error = (struct error){0};
        scratch_text("m.mode1.csv", bad[i].text);
        assert_int_equal(model_read(&k, scratch_path("m"), &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, bad[i].message));
        ktensor_free(&k);
    }
}

/* Rows of a model in memory, as if they came from elsewhere. */
static enum status bring(void *context, int n, uint64_t first, uint64_t count, double *rows,
                         struct error *error)
{
    const struct ktensor *k = context;
    memcpy(rows, k->factor[n] + first * k->rank, count * k->rank * sizeof *rows);
    return error->status;
}

/* A format with its opened files. */
struct format_output {
    const struct ktensor_format *format;
    struct ktensor_output output;
};

static enum status put(void *context, const struct ktensor *piece, struct error *error)
{
    struct format_output *f = context;
    return f->format->put(&f->output, piece, error);
}

/* Pieces of any number of rows make the file that the whole model makes, in every format. */
static void test_pieces(void **state)
{
    (void)state;
    struct ktensor k = model_make(&(struct shape){3, {2, 50, 7}}, 3);
    struct labels names = some_names("an\nn", "bob");
    names.order = 3;
    for (uint64_t most = 1; most < 60; most += 7)
        for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++) {
            const struct ktensor_source from = {&k, most > 1 ? bring : NULL, &k};
            const int count = ktensor_format_files(&ktensor_formats[i], 3);
            struct error error = {0};
            struct outfile file[4];
            struct format_output f = {&ktensor_formats[i],
                                      {.file = file, .whole = &k, .names = &names}};
            char name[32];
            for (int j = 0; j < count; j++) {
                snprintf(name, sizeof name, "%s.%d.%d", most > 1 ? "pieces" : "whole", i, j);
                assert_int_equal(outfile_open(&file[j], scratch_path(name), &error), STATUS_OK);
            }
            assert_int_equal(f.format->begin(&f.output, &error), STATUS_OK);
            assert_int_equal(ktensor_pieces(&from, most - 1, put, &f, &error), STATUS_OK);
            for (int j = 0; j < count; j++) {
                size_t size[2];
                char *bytes[2];
                assert_int_equal(outfile_commit(&file[j], &error), STATUS_OK);
                snprintf(name, sizeof name, "whole.%d.%d", i, j);
                bytes[0] = file_bytes(scratch_path(name), &size[0]);
                snprintf(name, sizeof name, "%s.%d.%d", most > 1 ? "pieces" : "whole", i, j);
                bytes[1] = file_bytes(scratch_path(name), &size[1]);
                assert_int_equal(size[1], size[0]);
                assert_memory_equal(bytes[1], bytes[0], size[0]);
                free(bytes[0]);
                free(bytes[1]);
            }
        }
    labels_free(&names);
    ktensor_free(&k);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
    const struct CMUnitTest tests[] = {TEST(test_names_are_found_again),
                                       TEST(test_long_mode_names_are_refused),
                                       TEST(test_facts_are_found_again),
                                       TEST(test_wrong_facts_are_refused),
                                       TEST(test_older_names_go),
                                       TEST(test_names_of_a_tensor_stay),
                                       TEST(test_every_allocation_may_fail),
                                       TEST(test_csv_of_others),
                                       TEST(test_pieces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
