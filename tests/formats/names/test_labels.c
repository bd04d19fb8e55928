/* Labels: the option that names their files, and the files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <isa-l/igzip_lib.h>

#include "base/memory.h"
#include "formats/names/labels.h"
#include "formats/names/name_list.h"
#include "support/scratch.h"

/* --- the option --- */

static void assert_refused(const char *const *texts, int count, const char *message)
{
    struct labels labels = {0};
    struct error error = {0};
    for (int i = 0; i < count; i++)
        assert_int_equal(labels_add(&labels, texts[i], &error),
                         i + 1 < count ? STATUS_OK : STATUS_INPUT);
    assert_string_equal(error.message, message);
    labels_free(&labels);
}

#define REFUSED(message, ...)                                                                      \
    assert_refused((const char *const[]){__VA_ARGS__},                                             \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), message)

static void test_option(void **state)
{
    (void)state;
    struct labels labels = {0};
    struct error error = {0};
    assert_int_equal(labels_add(&labels, "2=b,c=d.map,16=x=y,3=/tmp/1,2", &error), STATUS_OK);
    assert_int_equal(labels_add(&labels, "1=a", &error), STATUS_OK);
    assert_string_equal(labels.mode[0].path, "a");
    assert_string_equal(labels.mode[1].path, "b,c=d.map");
    assert_string_equal(labels.mode[2].path, "/tmp/1,2");
    assert_null(labels.mode[3].path);
    assert_string_equal(labels.mode[15].path, "x=y");
    labels_free(&labels);
    assert_null(labels.mode[0].path);
    labels_free(&labels);
}

static void test_option_refused(void **state)
{
    (void)state;
#define FORM "expected MODE=FILE, as 1=dates.map, or several of them separated by commas, or none"
    REFUSED("--labels: '', " FORM, "");
    REFUSED("--labels: 'a.map', " FORM, "a.map");
    REFUSED("--labels: '1', " FORM, "1");
    REFUSED("--labels: '1=', " FORM, "1=");
    REFUSED("--labels: '=a', " FORM, "=a");
    REFUSED("--labels: 'x1=a', " FORM, "x1=a");
    REFUSED("--labels: '-1=a', " FORM, "-1=a");
    REFUSED("--labels: '1=,2=b', " FORM, "1=,2=b");
    REFUSED("--labels: mode 0, expected 1 to 16", "0=a");
    REFUSED("--labels: mode 17, expected 1 to 16", "1=a,17=a");
    REFUSED("--labels: mode 18446744073709551615, expected 1 to 16", "99999999999999999999=a");
    REFUSED("--labels: mode 1 twice, expected one file for each mode", "1=a,1=a");
    REFUSED("--labels: mode 2 twice, expected one file for each mode", "2=a", "1=a", "2=b");
}

/* --- the files --- */

static enum status read_labels(struct labels *labels, const char *path, uint64_t length,
                               struct error *error)
{
    char option[600];
    *labels = (struct labels){0};
    *error = (struct error){0};
    snprintf(option, sizeof option, "2=%s", path);
    assert_int_equal(labels_add(labels, option, error), STATUS_OK);
    return labels_read(labels, SHAPE(3, ((uint64_t[]){2, length, 9})), error);
}

/* The bytes are the labels expected[0..count) of as many indices; NULL for none. */
static void assert_labels(const void *bytes, size_t size, const char *const *expected,
                          uint64_t count)
{
    struct labels labels;
    struct error error;
    if (read_labels(&labels, scratch_file("m", bytes, size), count, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    for (uint64_t i = 0; i < count; i++) {
        const char *label = labels_get(&labels, 1, i);
        if (expected[i])
            assert_string_equal(label, expected[i]);
        else
            assert_null(label);
        assert_null(labels_get(&labels, 0, i));
    }
    size_t longest = 0;
    for (uint64_t i = 0; i < count; i++)
        longest = expected[i] && strlen(expected[i]) > longest ? strlen(expected[i]) : longest;
    assert_int_equal(labels_longest(&labels, 1), longest);
    assert_int_equal(labels_longest(&labels, 0), 0);
    assert_null(labels_get(&labels, 1, count));
    labels_free(&labels);
}

#define LABELS(text, ...)                                                                          \
    assert_labels(text, sizeof(text) - 1, (const char *const[]){__VA_ARGS__},                      \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void test_files(void **state)
{
    (void)state;
    LABELS("a\nb\n", "a", "b");
    LABELS("a\nb", "a", "b");
    LABELS("a\r\nb c \r\n\r\n\t\r", "a", "b c ", NULL, "\t");
    LABELS("\n\n", NULL, NULL);
    LABELS("# not a comment\n a\rb\n", "# not a comment", " a\rb");
    LABELS("\xef\xbb\xbfM\xc3\xbcnchen\n\xef\xbb\xbfx\n\xff\xfe\x1b[0m\n", "M\xc3\xbcnchen",
           "\xef\xbb\xbfx", "\xff\xfe\x1b[0m");
    LABELS("\xef\xbb\xbf\r\n", NULL);
    LABELS("x\\x0ay\nC:\\x5cx0a\n\\\\x0d\r\n\\x5c\\x5cx5c\\x0\n\\n\\x41\\x0A\\", "x\ny", "C:\\x0a",
           "\\\r", "\\\\x5c\\x0", "\\n\\x41\\x0A\\");
}

/* The k-th name of those made of these pieces, no two of which are alike; `name` has its length and
 * text. */
static struct name hostile_name(unsigned k, char *name)
{
    static const char *const pieces[] = {"\\", "x0a",          "x0d", "x5c", "\n",
                                         "\r", "\xef\xbb\xbf", "x",   "0",   "a"};
    char *end = name;
    *end = '\0';
    for (k++; k > 0; k = (k - 1) / 10)
        end = stpcpy(end, pieces[(k - 1) % 10]);
    return (struct name){name, (size_t)(end - name)};
}

/* Whatever bytes a name has, labels and --order read it as it was written. */
static void test_any_name_is_read_as_written(void **state)
{
    (void)state;
    struct tensor_names from = {.order = 1};
    struct labels names = {0}, back;
    struct name_table listed = {0};
    struct outfile file;
    struct error error = {0};
    int files = 0;
    char name[64];
    uint32_t number;
    for (unsigned k = 0; k < 11110; k++) {
        const struct name some = hostile_name(6 + k, name); /* the first one is a mark of UTF-8 */
        name_table_add(&from.index[0], some, name_hash(some.text, some.length), &number, &error);
    }
    const uint32_t count = from.index[0].count;
    assert_in_range(count, 10000, 11110); /* some are alike, as "\\" "x" "0" "a" and "\\" "x0a" */
    labels_take(&names, &from);
    const char *path = scratch_path("m.mode1.map");
    assert_int_equal(maps_write(&file, &files, &names, 1, scratch_path("m"), &error), STATUS_OK);
    assert_int_equal(files, 1);
    assert_int_equal(outfile_commit(&file, &error), STATUS_OK);
    assert_int_equal(read_labels(&back, path, count, &error), STATUS_OK);
    assert_int_equal(name_list_read(&listed, path, &error), STATUS_OK);
    assert_int_equal(listed.count, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *written = labels_get(&names, 0, i);
        const struct name list = name_table_get(&listed, i);
        assert_string_equal(labels_get(&back, 1, i), written);
        assert_int_equal(list.length, strlen(written));
        assert_memory_equal(list.text, written, list.length);
    }
    name_table_free(&listed);
    labels_free(&back);
    labels_free(&names);
}

/* A gzip file of the bytes, which the caller frees; *count = its bytes. */
static void *pack(const void *bytes, size_t size, size_t *count)
{
    struct isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)(uintptr_t)bytes;
    stream.avail_in = (uint32_t)size;
    stream.avail_out = (uint32_t)size + 1000;
    void *out = stream.next_out = malloc(stream.avail_out);
    assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
    *count = stream.total_out;
    return out;
}

static void test_gzip(void **state)
{
    (void)state;
    static char text[300000]; /* more than is inflated at a time, and less than a window */
    const char *expected[30000];
    for (int i = 0; i < 30000; i++) {
        snprintf(text + 10 * i, sizeof text - 10 * (size_t)i, "%09d", i);
        expected[i] = text + 10 * i;
    }
    static char lines[sizeof text];
    memcpy(lines, text, sizeof text);
    for (size_t i = 9; i < sizeof lines; i += 10)
        lines[i] = '\n';
    size_t count;
    void *gzip = pack(lines, sizeof lines, &count);
    assert_labels(gzip, count, expected, 30000);
    assert_labels(lines, sizeof lines, expected, 30000);
    free(gzip);
}

/* More than a window of labels, and a last one without a newline. */
static void test_windows(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    static char lines[COUNT * 10000], label[COUNT][10000];
    const char *expected[COUNT];
    for (int i = 0; i < COUNT; i++) {
        memset(label[i], 'a' + i % 26, 9999);
        expected[i] = label[i];
        memcpy(lines + 10000 * i, label[i], 9999);
        lines[10000 * i + 9999] = '\n';
    }
    assert_labels(lines, sizeof lines - 1, expected, COUNT);
}

static void assert_file_refused(const void *bytes, size_t size, uint64_t length,
                                const char *message)
{
    struct labels labels;
    struct error error;
    const char *path = scratch_file("m", bytes, size);
    assert_int_equal(read_labels(&labels, path, length, &error), STATUS_INPUT);
    assert_memory_equal(error.message, path, strlen(path));
    assert_string_equal(error.message + strlen(path), message);
    assert_null(labels_get(&labels, 1, 0));
    labels_free(&labels);
}

#define FILE_REFUSED(text, length, message)                                                        \
    assert_file_refused(text, sizeof(text) - 1, length, message)

/* A label of `length` bytes, on text line 2, between what may stand on its text line beside it. */
static void try_long_label(size_t length, bool first, const char *end, bool packed)
{
    static char bytes[(1 << 20) + 16], label[(1 << 20) + 2];
    const char *before = first ? "\xef\xbb\xbf" : "x\n", *expected[] = {label, label};
    size_t size = strlen(before), count;
    memcpy(bytes, before, size);
    memset(bytes + size, 'a', length);
    size += length;
    memcpy(bytes + size, end, strlen(end));
    size += strlen(end);
    memset(label, 'a', length);
    label[length] = '\0';
    expected[0] = first ? label : "x";
    uint64_t labels = first ? 1 : 2;
    void *file = packed ? pack(bytes, size, &count) : bytes;
    if (length <= 1 << 20)
        assert_labels(file, packed ? count : size, expected, labels);
    else
        assert_file_refused(file, packed ? count : size, labels,
                            first
                                ? ":1: a label of more than 1048576 bytes, expected a shorter one"
                                : ":2: a label of more than 1048576 bytes, expected a shorter one");
    if (packed)
        free(file);
}

/* As many bytes as a label may have, one more and one less, however its text line ends. */
static void test_longest_label(void **state)
{
    (void)state;
    static const char *const ends[] = {"\n", "\r\n", "", "\r"};
    for (size_t length = (1 << 20) - 1; length <= (1 << 20) + 1; length++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            for (int k = 0; k < 4; k++)
                try_long_label(length, k & 1, ends[e], k & 2);
}

static void test_files_refused(void **state)
{
    (void)state;
    FILE_REFUSED("", 2, ": 0 labels, expected 2, one for each index of mode 2");
    FILE_REFUSED("a\n", 2, ": 1 label, expected 2, one for each index of mode 2");
    FILE_REFUSED("a\nb\n\n", 2, ": 3 labels, expected 2, one for each index of mode 2");
    FILE_REFUSED("a\nb\n\n\n", 1, ": 4 labels, expected 1, one for each index of mode 2");
    FILE_REFUSED("a\nb\0c\n", 2, ":2: a byte of value 0, expected a label: text, plain or gzip");
    FILE_REFUSED("\0", 1, ":1: a byte of value 0, expected a label: text, plain or gzip");
    FILE_REFUSED("\x1f\x8b\x08\0", 1, ": damaged gzip: the file is cut off");
    static char overlong[(1 << 20) + 100];
    memset(overlong, 'a', sizeof overlong);
    overlong[1] = '\n';
    assert_file_refused(overlong, sizeof overlong, 2,
                        ":2: a label of more than 1048576 bytes, expected a shorter one");

    struct labels labels;
    struct error error;
    assert_int_equal(read_labels(&labels, "/absent/m", 2, &error), STATUS_INPUT);
    assert_string_equal(error.message, "/absent/m: No such file or directory");
    error = (struct error){0};
    assert_int_equal(labels_read(&labels, SHAPE(1, ((uint64_t[]){2})), &error), STATUS_INPUT);
    assert_string_equal(error.message, "--labels: mode 2, expected 1 to 1");
    labels_free(&labels);
}

/* The k-th allocation fails, for every k: an error and no leak. */
static void test_allocation_fails(void **state)
{
    (void)state;
    const char *path = scratch_text("m", "a\nb");
    char option[600];
    snprintf(option, sizeof option, "2=%s", path);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct labels labels = {0};
        memory_hook_set(k);
        enum status status = labels_add(&labels, option, &error);
        if (status == STATUS_OK)
            status = labels_read(&labels, SHAPE(2, ((uint64_t[]){1, 2})), &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        labels_free(&labels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option),
        cmocka_unit_test(test_option_refused),
        cmocka_unit_test_setup_teardown(test_files, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_any_name_is_read_as_written, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_gzip, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_windows, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_longest_label, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_files_refused, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_allocation_fails, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
