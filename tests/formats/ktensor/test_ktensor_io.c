/* Model files: what is written is read back, appears all or not at all, and has the bytes of its
 * format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "formats/ktensor/ktensor_io.h"
#include "support/models.h"

static void assert_round_trip(const struct ktensor *k)
{
    for (unsigned format = KTENSOR_TEXT; format <= KTENSOR_KTNS; format <<= 1) {
        assert_int_equal(model_write(k, format), format == KTENSOR_KTNS ? 1 : k->shape.order + 1);
        struct error error = {0};
        struct ktensor back;
        assert_int_equal(model_read(&back, scratch_path("m"), &error), STATUS_OK);
        assert_true(model_same_bits(k, &back));
        ktensor_free(&back);
        assert_int_equal(scratch_entries(1), format == KTENSOR_KTNS ? 1 : k->shape.order + 1);
    }
}

static void test_round_trips(void **state)
{
    (void)state;
    const uint64_t dims[16] = {3, 1, 7, 2, 5, 1, 1, 4, 2, 9, 1, 3, 2, 2, 1, 6};
    for (int order = 1; order <= 16; order++)
        for (uint64_t rank = 1; rank <= 17; rank += order % 3 == 0 ? 4 : 8) {
            struct ktensor k = model_make(SHAPE(order, dims), rank);
            assert_round_trip(&k);
            ktensor_free(&k);
        }
}

/* Several sections a file when writing and reading, rows of every width. */
static void test_round_trips_of_large_files(void **state)
{
    (void)state;
    const int threads = omp_get_max_threads();
    const uint64_t shape[][2] = {{40000, 1}, {5000, 16}, {3, 20000}, {1, 40000}};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        for (int t = 1; t <= 4; t += 3) {
            omp_set_num_threads(t);
            struct ktensor k = model_make(&(struct shape){2, {shape[i][0], 2}}, shape[i][1]);
            assert_round_trip(&k);
            ktensor_free(&k);
        }
    omp_set_num_threads(threads);
}

static void test_round_trips_of_extreme_values(void **state)
{
    (void)state;
    const double value[] = {0,
                            -0.0,
                            1,
                            -1,
                            0.1,
                            1.0 / 3,
                            1e-5,
                            1e22,
                            5e-324,
                            -5e-324,
                            1e308,
                            1e-308,
                            1e300,
                            123456,
                            0x1p-1022,
                            0x1p1023,
                            1.5e-10,
                            2.5e-310,
                            1e21,
                            1e16,
                            9007199254740993.0,
                            1.7976931348623157e308};
    const uint64_t count = sizeof value / sizeof value[0];
    struct ktensor k = model_make(SHAPE(1, &count), 1);
    memcpy(k.factor[0], value, sizeof value);
    k.lambda[0] = -0.1;
    assert_round_trip(&k);
    ktensor_free(&k);
}

/* The files of a small model, byte by byte. */
static void test_layouts(void **state)
{
    (void)state;
    struct ktensor k = model_small();
    struct error error = {0};
    struct ktensor_files files;
    assert_int_equal(model_write_at(&k, scratch_path("m"), ALL_FORMATS, &files, &error), STATUS_OK);
    const char *name[] = {"m.mode1.csv",  "m.mode2.csv",  "m.lambda.csv", "m.mode1.mat",
                          "m.mode2.mat",  "m.lambda.mat", "m.mode1.npy",  "m.mode2.npy",
                          "m.lambda.npy", "m.ktns"};
    assert_int_equal(files.count, 10);
    for (int i = 0; i < 10; i++)
        assert_string_equal(files.path[i], scratch_path(name[i]));
    ktensor_files_free(&files);
    assert_int_equal(scratch_entries(0), 10);

#define TEXT(name, text) assert_bytes(name, text, sizeof text - 1)
    TEXT("m.mode1.csv", "mode1,component1,component2,component3\n1,1,0.5,-2\n2,0,1e-7,4\n");
    TEXT("m.lambda.csv", "component,weight\ncomponent1,3\ncomponent2,2.5\ncomponent3,0.1\n");
    TEXT("m.mode1.mat", "1 0.5 -2\n0 1e-7 4\n");
    TEXT("m.mode2.mat", "1 -1 0.25\n");
    TEXT("m.lambda.mat", "3\n2.5\n0.1\n");
    TEXT("m.ktns", "ktensor\n2\n2 1\n3\n3 2.5 0.1\nmatrix\n2\n2 3\n1 0.5 -2\n0 1e-7 4\n"
                   "matrix\n2\n1 3\n1 -1 0.25\n");
    char npy[128 + 48];
    memset(npy, ' ', 128);
    const char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, "
                        "'shape': (2, 3), }";
    memcpy(npy, head, sizeof head - 1);
    npy[127] = '\n';
    memcpy(npy + 128, k.factor[0], 48);
    assert_bytes("m.mode1.npy", npy, sizeof npy);
    const char vector[] = "(3,), }  ";
    memcpy(npy + sizeof head - 1 - strlen("(2, 3), }"), vector, sizeof vector - 1);
    memcpy(npy + 128, k.lambda, 24);
    assert_bytes("m.lambda.npy", npy, 128 + 24);
    ktensor_free(&k);
}

/* The last of all files cannot be made: none appears and the older ones stay. */
static void test_all_or_nothing(void **state)
{
    (void)state;
    struct ktensor k = model_small();
    scratch_text("m.mode1.mat", "old");
    assert_int_equal(mkdir(scratch_path("m.ktns"), 0777), 0);
    struct error error = {0};
    struct ktensor_files files;
    assert_int_equal(model_write_at(&k, scratch_path("m"), ALL_FORMATS, &files, &error),
                     STATUS_OUTPUT);
    ktensor_files_free(&files);
    assert_non_null(strstr(error.message, "m.ktns: cannot be written: it is a directory"));
    assert_bytes("m.mode1.mat", "old", 3);
    assert_int_equal(scratch_entries(0), 2);

    error = (struct error){0};
    assert_int_equal(model_write_at(&k, scratch_path("none/m"), ALL_FORMATS, &files, &error),
                     STATUS_OUTPUT);
    ktensor_files_free(&files);
    assert_int_equal(scratch_entries(0), 2);
    ktensor_free(&k);
}

/* The disk is full after some bytes: no larger file can be written. */
static void test_full_disk(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct ktensor k = model_make(&(struct shape){2, {5, 6000}}, 16);
    const rlim_t room[] = {10, 100, 1000, 10000, 100000, 600000};
    for (unsigned format = KTENSOR_TEXT; format <= KTENSOR_KTNS; format <<= 1)
        for (size_t i = 0; i < sizeof room / sizeof room[0]; i++) {
            struct error error = {0};
            struct ktensor_files files;
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){room[i], old.rlim_max});
            enum status status = model_write_at(&k, scratch_path("m"), format, &files, &error);
            setrlimit(RLIMIT_FSIZE, &old);
            ktensor_files_free(&files);
            assert_int_equal(status, STATUS_OUTPUT);
            assert_non_null(strstr(error.message, "File too large"));
            assert_int_equal(scratch_entries(0), 0);
        }
    ktensor_free(&k);
}

static void test_writable(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(ktensor_writable(scratch_path("m"), ALL_FORMATS, &error), STATUS_OK);
    assert_int_equal(scratch_entries(0), 0);
    assert_int_equal(mkdir(scratch_path("m"), 0777),
                     0); /* a folder called as the stem is no harm */
    assert_int_equal(ktensor_writable(scratch_path("m"), ALL_FORMATS, &error), STATUS_OK);
    assert_int_equal(ktensor_writable(scratch_path("none/m"), ALL_FORMATS, &error), STATUS_OUTPUT);
    assert_non_null(strstr(error.message, "none/m"));
    assert_non_null(strstr(error.message, "no such folder"));

    /* a folder in the place of a file, for any format and order */
    const char *name[] = {"m.mode1.mat", "m.lambda.npy", "m.ktns", "m.mode16.npy"};
    for (int i = 0; i < 4; i++) {
        error = (struct error){0};
        assert_int_equal(mkdir(scratch_path(name[i]), 0777), 0);
        assert_int_equal(ktensor_writable(scratch_path("m"), KTENSOR_TEXT, &error), STATUS_OUTPUT);
        assert_non_null(strstr(error.message, name[i]));
        assert_int_equal(rmdir(scratch_path(name[i])), 0);
    }
}

/* A model takes the place of a larger one in more formats; files that are not of a model stay. */
static void test_older_model_goes(void **state)
{
    (void)state;
    static const char *const others[] = {
        "m.json",       "m.html",  "m.mode5.map", "m.mode5.mat.bak", "m.mode0.mat", "m.mode17.mat",
        "m.mode01.mat", "m2.ktns", "m.mode3.npz", "m.lambda.txt",    "m.ranks.json"};
    enum { OTHERS = sizeof others / sizeof *others + 1 };
    struct ktensor small = model_small(), large = model_make(&(struct shape){4, {2, 3, 4, 5}}, 2);
    for (size_t i = 0; i < OTHERS - 1; i++)
        scratch_text(others[i], "mine");
    scratch_text("data", "mine");
    for (unsigned formats = 1; formats <= ALL_FORMATS; formats++) {
        struct error error = {0};
        struct ktensor back;
        assert_int_equal(model_write(&large, ALL_FORMATS), 16);
        assert_int_equal(unlink(scratch_path("m.mode3.npy")), 0);
        assert_int_equal(symlink("data", scratch_path("m.mode3.npy")), 0);
        assert_int_equal(scratch_entries(0), OTHERS + 16);
        int count = model_write(&small, formats);
        assert_int_equal(scratch_entries(0), OTHERS + count);
        assert_int_equal(model_read(&back, scratch_path("m"), &error), STATUS_OK);
        assert_true(model_same_bits(&small, &back));
        ktensor_free(&back);
    }
    for (size_t i = 0; i < OTHERS - 1; i++)
        assert_bytes(others[i], "mine", 4);
    assert_bytes("data", "mine", 4);
    ktensor_free(&small);
    ktensor_free(&large);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    struct ktensor k = model_small();
    long fired = 1;
    for (long count = 0; fired; count++) {
        struct error error = {0};
        struct ktensor_files files;
        memory_hook_set(count);
        enum status status = model_write_at(&k, scratch_path("m"), ALL_FORMATS, &files, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        ktensor_files_free(&files);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(scratch_entries(0), fired ? 0 : 10);
    }
    for (unsigned formats = ALL_FORMATS; formats; formats >>= 1) { /* from all to text alone */
        model_write(&k, formats);
        fired = 1;
        for (long count = 0; fired; count++) {
            struct error error = {0};
            struct ktensor back;
            memory_hook_set(count);
            enum status status = model_read(&back, scratch_path("m"), &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            assert_int_equal(back.lambda == NULL, fired);
            ktensor_free(&back);
        }
    }
    for (long count = 0, fails = 1; fails; count++) {
        struct error error = {0};
        memory_hook_set(count);
        enum status status = ktensor_writable(scratch_path("m"), ALL_FORMATS, &error);
        fails = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fails ? STATUS_MEMORY : STATUS_OK);
    }
    ktensor_free(&k);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trips),
        TEST(test_round_trips_of_large_files),
        TEST(test_round_trips_of_extreme_values),
        TEST(test_layouts),

        TEST(test_all_or_nothing),
        TEST(test_writable),
        TEST(test_older_model_goes),
        TEST(test_allocation_fails),
        TEST(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
