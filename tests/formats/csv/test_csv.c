/* CSV becomes entries and names: the same for any sizes and any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"
#include "support/naive_csv.h"
#include "support/scratch.h"
#include "support/tensor_reads.h"

struct result {
    struct coo x;
    struct tensor_names names;
    struct error error;
};

static const struct tns_sizes usual = {1 << 20, 1 << 16};

static struct result read_text(const char *text, const struct csv_options *options,
                               const struct tns_sizes *sizes)
{
    const struct tns_options plain = {.sizes = *sizes};
    struct tensor_reader reader = {
        .path = scratch_text("x.csv", text), .tns = &plain, .csv = options, .format = &tensor_csv};
    struct result r = {.error = {0}};
    read_whole(&r.x, &r.names, &reader, &r.error);
    return r;
}

static void free_result(struct result *r)
{
    coo_free(&r->x);
    tensor_names_free(&r->names);
}

static void assert_name(const struct result *r, int n, uint32_t number, const char *expected)
{
    const struct name name = name_table_get(&r->names.index[n], number);
    assert_int_equal(name.length, strlen(expected));
    assert_memory_equal(name.text, expected, name.length);
}

/* Row i of the result has these names and this value. */
static void assert_row(const struct result *r, uint64_t i, const char *a, const char *b,
                       double value)
{
    assert_string_equal(r->error.message, "");
    assert_true(i < r->x.nnz);
    assert_name(r, 0, r->x.index[0][i], a);
    assert_name(r, 1, r->x.index[1][i], b);
    assert_true(r->x.value[i] == value);
}

static void reads_quotes_and_line_ends(void **state)
{
    (void)state;
    const struct csv_options options = {.columns = "b,a", .value = "n"};
    struct result r =
        read_text("\xef\xbb\xbf\r\na,\"n\",b\r\n\"x, \"\"y\"\"\",1,\"line\r\n2\"\r\n\r\n"
                  " x ,-2.5,d\xc3\xa9j\xc3\xa0\n\"\"\"\",1e3,end",
                  &options, &usual);
    assert_row(&r, 0, "line\r\n2", "x, \"y\"", 1);
    assert_row(&r, 1, "d\xc3\xa9j\xc3\xa0", " x ", -2.5);
    assert_row(&r, 2, "end", "\"", 1000);
    assert_int_equal(r.x.nnz, 3);
    assert_string_equal(r.names.modes.name[0], "b");
    assert_string_equal(r.names.modes.name[1], "a");
    free_result(&r);
}

static void knows_separators(void **state)
{
    (void)state;
    static const char *const texts[] = {"a,b;c\nx,y\n", "a\tb,c\nx\ty\n", "a;b\nx;y\n"};
    static const char *const columns[] = {"a,b;c", "a,\"b,c\"", "a,b"};
    for (size_t i = 0; i < 3; i++) {
        const struct csv_options options = {.columns = columns[i]};
        struct result r = read_text(texts[i], &options, &usual);
        assert_row(&r, 0, "x", "y", 1);
        free_result(&r);
    }
}

static void orders_names(void **state)
{
    (void)state;
    static const char text[] = "a,b\n10,x\n9,é\n-1e1,y\n10,b\n";
    const struct csv_options appearance = {
        .columns = "a,b", .order = {"a=appearance"}, .orders = 1};
    const struct csv_options sorted = {
        .columns = "a,b", .order = {"a=number", "b=sorted"}, .orders = 2};
    struct result r = read_text(text, &appearance, &usual);
    static const uint32_t seen[] = {0, 1, 2, 0};
    assert_memory_equal(r.x.index[0], seen, sizeof seen);
    free_result(&r);
    r = read_text(text, &sorted, &usual);
    static const uint32_t numbers[] = {2, 1, 0, 2}, words[] = {1, 3, 2, 0};
    assert_memory_equal(r.x.index[0], numbers, sizeof numbers);
    assert_memory_equal(r.x.index[1], words, sizeof words);
    assert_row(&r, 0, "10", "x", 1);
    assert_row(&r, 2, "-1e1", "y", 1);
    free_result(&r);
}

/* Reads the names in the order i * step modulo their number as a column, each with "x" beside it,
 * and finds that they are numbered as listed (`by_value`), or as they appear. */
static void assert_numbers(const char *const *name, size_t count, size_t step, bool by_value)
{
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {128, 7}};
    const int threads = omp_get_max_threads();
    const struct csv_options plain = {.columns = "a,b"};
    const struct csv_options appearance = {
        .columns = "a,b", .order = {"a=appearance"}, .orders = 1};
    char text[4096] = "a,b\n";
    for (size_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "\"%s\",x\n", name[i * step % count]);
    for (int run = 0; run < 8; run++) {
        omp_set_num_threads(run & 1 ? 3 : 1);
        struct result r = read_text(text, run & 4 ? &appearance : &plain, &sizes[run >> 1 & 1]);
        assert_string_equal(r.error.message, "");
        assert_int_equal(r.x.shape.dims[0], count);
        for (size_t i = 0; i < count; i++) {
            assert_name(&r, 0, (uint32_t)i, name[by_value && !(run & 4) ? i : i * step % count]);
            assert_name(&r, 0, r.x.index[0][i], name[i * step % count]);
        }
        free_result(&r);
    }
    omp_set_num_threads(threads);
}

/* Steps without a common factor with 11, the number of names of each case. */
#define CASE_NAMES 11
static const size_t steps[] = {1, 4, 10};

static void orders_numbers_and_dates_by_value(void **state)
{
    (void)state;
    static const char *const cases[][CASE_NAMES] = {
        {"-30", "-4", "0", "+7", "07", "7", "7.0", "11", "47", "108", "109"},
        {"-1e3", "-.5", "-0.25", "0", "1e-9", "0.1", "0.10", ".3", "0.5", "1e2", "99999999999"},
        /* more digits than a double has */
        {"-10000000000000000000", "-9007199254740994", "-9007199254740993", "-9007199254740992",
         "9007199254740992", "09007199254740993", "9007199254740993", "9007199254740994",
         "99999999999999999", "100000000000000000", "18446744073709551616"},
        {"1969-12-31T23", "2026-11-22", "2026-11-23T01:00+02:00", "2026-11-23",
         "2026-11-23T00:00:00.001", "2026-11-23 00:00:00,25", "2026-11-23T00.00015",
         "2026-11-23T14:05:59Z", "2026-11-23T14:05:59.5Z", "2026-11-23T17:06:00+03:00",
         "2026-11-23T14:06:01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
            assert_numbers(cases[i], CASE_NAMES, steps[k], true);
}

static void keeps_the_order_of_other_names(void **state)
{
    (void)state;
    static const char *const cases[][CASE_NAMES] = {
        {"9", "8", "7", "6", "5", "4", "3", "2", "1", "0", "none"},
        {"2026-11-23", "2026-11-22", "8", "6", "5", "4", "3", "2", "1", "0", "7"},
        {"2026-11-23", "2026-11-22", "2026-11-21", "2026-11", "5", "4", "3", "2", "1", "0", "7"},
        {"9", "8", "7", "6", "nan", "4", "3", "2", "1", "0", "5"},
        {"9", "8", "7", "6", " 5", "4", "3", "2", "1", "0", "5"},
        {"2026-11-23", "2026-11-22T25:00", "2026-02-30", "8", "6", "4", "3", "2", "1", "0", "7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
            assert_numbers(cases[i], CASE_NAMES, steps[k], false);
}

/* With `memory` too small for the rows, the file is read twice: the same entries and names. */
static void orders_by_value_in_any_memory(void **state)
{
    (void)state;
    enum { ROWS = 60000 };
    char *text = malloc(32 * ROWS + 64), *to = text;
    assert_non_null(text);
    to += sprintf(to, "a,b,c\n");
    for (int i = 0; i < ROWS; i++) /* b ends with a name that is no number */
        to += sprintf(to, "%d,%d,t%d\n", i * 7919 % 997 - 500, i * 31 % 1009, i * 13 % 101);
    sprintf(to, "0,last,t0\n");
    const struct csv_options options = {.columns = "a,b,c"};
    const struct tns_options plain = {.sizes = {1 << 16, 1 << 12}};
    struct result whole = read_text(text, &options, &plain.sizes);
    assert_string_equal(whole.error.message, "");
    for (uint32_t k = 0; k < 997; k++) {
        char name[16];
        snprintf(name, sizeof name, "%d", (int)k - 500);
        assert_name(&whole, 0, k, name);
    }
    assert_name(&whole, 1, 0, "0");
    assert_name(&whole, 1, 1, "31");
    assert_name(&whole, 2, 1, "t13");
    struct tensor_reader reader = {.path = scratch_text("x.csv", text),
                                   .tns = &plain,
                                   .csv = &options,
                                   .format = &tensor_csv,
                                   .cut = TENSOR_PIECES,
                                   .memory = 1 << 20};
    struct error error = {0};
    uint64_t at = 0, pieces = 0;
    assert_int_equal(tensor_reader_open(&reader, &error), STATUS_OK);
    for (; !reader.over; pieces++) {
        assert_int_equal(tensor_reader_next(&reader, &error), STATUS_OK);
        for (int n = 0; n < 3; n++)
            assert_memory_equal(reader.piece.index[n], whole.x.index[n] + at,
                                reader.piece.nnz * sizeof *whole.x.index[n]);
        at += reader.piece.nnz;
    }
    assert_int_equal(at, whole.x.nnz);
    assert_true(pieces > 1);
    assert_int_equal(tensor_reader_end(&reader, &error), STATUS_OK);
    struct tensor_names names;
    tensor_csv.names(&reader, &names);
    tensor_reader_close(&reader);
    for (int n = 0; n < 3; n++) {
        assert_int_equal(names.index[n].count, whole.names.index[n].count);
        assert_memory_equal(names.index[n].text, whole.names.index[n].text, names.index[n].used);
    }
    tensor_names_free(&names);
    free_result(&whole);
    free(text);
}

static void takes_numbers_from_a_file(void **state)
{
    (void)state;
    char order[600];
    snprintf(order, sizeof order, "a=%s", scratch_text("a.map", "z\r\ny\\x0ay\nx\n"));
    const struct csv_options options = {.columns = "a,b", .order = {order}, .orders = 1};
    struct result r = read_text("a,b\n\"y\ny\",1\nx,1\n", &options, &usual);
    assert_row(&r, 0, "y\ny", "1", 1);
    assert_int_equal(r.x.index[0][0], 1);
    assert_int_equal(r.x.shape.dims[0], 3);
    free_result(&r);
    r = read_text("a,b\nx,1\nw,1\n", &options, &usual);
    assert_non_null(strstr(r.error.message, "x.csv:3: column 1 (a): 'w', expected a name that the "
                                            "file of --order, or the model, has"));
    free_result(&r);
    scratch_text("a.map", "z\ny\nz\n");
    r = read_text("a,b\nx,1\n", &options, &usual);
    assert_non_null(strstr(r.error.message, "a.map:3: the name of line 1 again"));
    free_result(&r);
}

static void reads_unknown_values(void **state)
{
    (void)state;
    const struct csv_options options = {.columns = "a,b", .value = "n"};
    struct result r = read_text("a,n,b\nx,,y\nx,nan,z\nx,\"NA\",w\nx,0,v\n", &options, &usual);
    assert_int_equal(r.x.nnz, 4);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(isnan(r.x.value[i]));
    assert_true(r.x.value[3] == 0);
    free_result(&r);
    r = read_text("a,b,n\nx,y,\nx,z,", &options, &usual);
    assert_int_equal(r.x.nnz, 2);
    assert_true(isnan(r.x.value[0]) && isnan(r.x.value[1]));
    free_result(&r);
}

static void finds_a_column_of_numbers_that_is_not_used(void **state)
{
    (void)state;
    static const char *const cases[][3] = {/* text, --value, found */
                                           {"a,b,x,y\nu,v,1,2\n", NULL, "y"},
                                           {"a,b,x,y\nu,v,1,2\n", "x", NULL},
                                           {"a,b,Rating,y\nu,v,1,2\n", NULL, "Rating"},
                                           {"n,a,b,rating\n,u,v,2\n7,u,w,nan\n", NULL, "n"},
                                           {"a,b,n,y\nu,v,1,2\nu,v,1x,2\n", NULL, "y"},
                                           {"a,b,n,y\nu,v,,\nu,v,nan,NA\n", NULL, NULL},
                                           {"a,b,,y\nu,v,1,2026-11-23\n", NULL, NULL},
                                           {"a,b\n1,2\n", NULL, NULL},
                                           {"a,b,\"x;\"\"\"\n\"1\n\",2,\"3\"\n", NULL, "x;\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct csv_options options = {.columns = "a,b", .value = cases[i][1]};
        struct result r = read_text(cases[i][0], &options, &usual);
        assert_string_equal(r.error.message, "");
        assert_string_equal(r.names.unused ? r.names.unused : "(none)",
                            cases[i][2] ? cases[i][2] : "(none)");
        free_result(&r);
    }
}

static void explains_bad_rows(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a,b,n\nx,y,1\nx,y\n", ":3: 2 columns, expected 3, as in the header"},
        {"a,b,n\nx,y,1,\n", ":2: 4 columns, expected 3, as in the header"},
        {"a,b,n\n\"x\n\",y,1\nx\"z\",y,1\n", ":4: column 1 (a): a quote in a field without quotes"},
        {"a,b,n\nx,\"y\"z,1\n", ":2: column 2 (b): something after the closing quote"},
        {"a,b,n\nx,y,1\n\nx,\"y,1\nx,y,1\n", ":4: column 2 (b): a quoted field that does not end"},
        {"a,b,n\nx,y,1\nx,,1\n", ":3: column 2 (b): is empty, expected a name"},
        {"a,b,n\nx,\"\",1\n", ":2: column 2 (b): is empty, expected a name"},
        {"a,b,n\nx,y,1x\n", ":2: column 3 (n): '1x', expected a number"},
        {"a,b,n\nx,y,inf\n", ":2: column 3 (n): 'inf', expected a number"},
        {"a,b,n\nx,y, \n", ":2: column 3 (n): ' ', expected a number, or nothing"},
        {"a,b,n\nx,y,nano\n", ":2: column 3 (n): 'nano', expected a number"},
        {"a,b,n\n", ": no rows after the header"},
        {"\n\r\n", ": is empty, expected a header of names"},
        {"a,b,b\nx,y,1\n",
         ": --columns: columns 2 and 3 have the name 'b', expected one such column"},
        {"a,b,m\nx,y,1\n", ": --value: no column 'n', expected one of a, b, m"},
        {"\"a,b,n\nx,y,1\n", ":1: a quoted field that does not end"},
    };
    const struct csv_options options = {.columns = "a,b", .value = "n"};
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {1 << 20, 1}, {64, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t s = 0; s < 3; s++) {
            struct result r = read_text(cases[i][0], &options, &sizes[s]);
            const char *found = strstr(r.error.message, "x.csv");
            assert_non_null(found);
            assert_memory_equal(found + 5, cases[i][1], strlen(cases[i][1]));
            assert_null(r.x.value);
            free_result(&r);
        }
}

static void shows_columns_where_none_are_named(void **state)
{
    (void)state;
    struct result r = read_text("user,item,\"h,our\",n\nx,y,z,1\n", NULL, &usual);
    assert_non_null(strstr(r.error.message,
                           "is CSV with the columns user, item, h,our, n, expected "
                           "--columns to say which are the modes, as in: blco "
                           "convert "));
    free_result(&r);
}

static void refuses_long_names_of_modes(void **state)
{
    (void)state;
    char text[600], columns[MODE_NAME_BYTES + 1] = "";
    for (size_t length = MODE_NAME_BYTES - 1; length <= MODE_NAME_BYTES; length++) {
        memset(columns, 'm', length);
        snprintf(text, sizeof text, "%s,%s,o%s\n1,2,3\n", columns + 1, columns, columns);
        const struct csv_options options = {.columns = columns};
        struct result r = read_text(text, &options, &usual);
        if (length < MODE_NAME_BYTES)
            assert_string_equal(r.names.modes.name[0], columns);
        else
            assert_non_null(strstr(
                r.error.message, "x.csv: the name of mode 1 has 128 bytes, expected 127 at most"));
        free_result(&r);
    }
}

/* Rows of names that repeat, some with quotes, separators and line ends inside. */
static char *random_rows(int rows)
{
    static const char *const odd[] = {"\"a,b\"", "\"\"\"\"", "\"new\nline\"", "\"\r\n\"", "x y"};
    char *text = malloc(64 * (size_t)rows + 64), *to = text;
    uint64_t state = 7;
    assert_non_null(text);
    for (int i = 0; i < rows; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        const unsigned a = (unsigned)(state >> 33) % 5000, b = (unsigned)(state >> 50) % 40;
        if (b < 5)
            to += sprintf(to, "%s,n%u\n", odd[b], a);
        else
            to += sprintf(to, "user%u,\"%u\"%s", a, b, a % 3 ? "\n" : "\r\n\n");
    }
    return text;
}

static void does_not_depend_on_sizes_or_threads(void **state)
{
    (void)state;
    const int rows = 5000, threads = omp_get_max_threads();
    char *body = random_rows(rows), *text = malloc(strlen(body) + 16);
    struct naive_field *field;
    assert_non_null(text);
    sprintf(text, "a,b\n%s", body);
    assert_int_equal(naive_csv(body, strlen(body), 2, &field), rows);
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {1 << 16, 100}, {64, 7}, {256, 1}};
    const struct csv_options options = {.columns = "a,b"};
    for (int run = 0; run < 8; run++) {
        omp_set_num_threads(run < 4 ? 1 : 4);
        struct result r = read_text(text, &options, &sizes[run % 4]);
        assert_string_equal(r.error.message, "");
        assert_int_equal(r.x.nnz, rows);
        for (int n = 0; n < 2; n++) {
            uint32_t next = 0;
            for (int i = 0; i < rows; i++) {
                const uint32_t number = r.x.index[n][i];
                const struct name name = name_table_get(&r.names.index[n], number);
                const struct naive_field *f = &field[2 * i + n];
                assert_int_equal(name.length, f->length);
                assert_memory_equal(name.text, f->text, f->length);
                assert_true(number <= next);
                next += number == next;
            }
            assert_int_equal(next, r.x.shape.dims[n]);
        }
        free_result(&r);
    }
    omp_set_num_threads(threads);
    naive_csv_free(field, strlen(body), 2);
    free(body);
    free(text);
}

static void check_allocations(const char *text, const struct csv_options *options)
{
    static const struct tns_sizes sizes = {64, 7};
    int fired = 1;
    for (long k = 0; fired; k++) {
        memory_hook_set(k);
        struct result r = read_text(text, options, &sizes);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        /* arrays that become shorter need no memory: that they stay long is no failure */
        assert_true(r.error.status == STATUS_MEMORY ? fired : r.error.status == STATUS_OK);
        assert_true(r.x.nnz == (r.error.status == STATUS_OK ? 4 : 0));
        free_result(&r);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const struct csv_options sorted = {.columns = "a,b",
                                       .value = "n",
                                       .order = {"a=sorted"},
                                       .orders = 1,
                                       .bin = {"b=1d"},
                                       .bins = 1};
    const struct csv_options plain = {.columns = "a,b"};
    check_allocations("a,b,n\n\"x\"\"\",2026-11-23,1\nz,2026-11-24T00:00,2\n\"new\n\n\n\n\n\n\n\n\n"
                      "line of more than a window\n\n\n\",0,2\ny,1,3\n",
                      &sorted);
    check_allocations("a,b,n\n7,2026-11-23,1\n07,2026-11-24,2\n7.0,2026-11-22,2\n-1,2026-11-22,3\n",
                      &plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_quotes_and_line_ends),
        cmocka_unit_test(knows_separators),
        cmocka_unit_test(orders_names),
        cmocka_unit_test(orders_numbers_and_dates_by_value),
        cmocka_unit_test(keeps_the_order_of_other_names),
        cmocka_unit_test(orders_by_value_in_any_memory),
        cmocka_unit_test(takes_numbers_from_a_file),
        cmocka_unit_test(reads_unknown_values),
        cmocka_unit_test(finds_a_column_of_numbers_that_is_not_used),
        cmocka_unit_test(explains_bad_rows),
        cmocka_unit_test(shows_columns_where_none_are_named),
        cmocka_unit_test(refuses_long_names_of_modes),
        cmocka_unit_test(does_not_depend_on_sizes_or_threads),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
