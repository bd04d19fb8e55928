/* Reading model files of other programs, and refusing bad ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/ktensor/ktensor_io.h"
#include "support/models.h"
#include "support/scratch.h"

static enum status read_model(struct error *error)
{
    struct ktensor k, expected = model_small();
    *error = (struct error){0};
    enum status status = model_read(&k, scratch_path("m"), error);
    if (status == STATUS_OK)
        assert_true(model_same_bits(&k, &expected));
    else
        assert_true(k.lambda == NULL && k.shape.order == 0 && k.factor[0] == NULL);
    ktensor_free(&k);
    ktensor_free(&expected);
    return status;
}

/* What other programs write: blanks at the ends of text lines, CRLF, blank lines, tabs, other
 * number formats. */
static void test_foreign_text(void **state)
{
    (void)state;
    struct error error;
    scratch_text("m.mode1.mat", "\n  1.0000000e+00  5e-1\t-2.0 \r\n\r\n0 +1e-7 4.000\r\n \t\n");
    scratch_text("m.mode2.mat", "1.0 -1.0 .25 \n");
    scratch_text("m.lambda.mat", "3.0\r\n\r\n2.5 \n1e-1\n\n");
    assert_int_equal(read_model(&error), STATUS_OK);
    scratch_entries(1);
    scratch_text("m.ktns", "ktensor \r\n2 \n2 1 \n 3\n3.0 2.50 1.0e-1 \nmatrix\n2 \n2 3 \n"
                           "1 5e-1 -2 \n0 1E-7 4 \n\nmatrix \n2\n1 3 \n1 -1 .25 \n\n");
    assert_int_equal(read_model(&error), STATUS_OK);
}

static void test_where_it_looks(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(read_model(&error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "m.ktns"));

    struct ktensor k = model_small();
    model_write(&k, ALL_FORMATS);
    assert_int_equal(read_model(&error), STATUS_OK);
    scratch_text("m.mode1.npy", "letters\n"); /* every format is looked at */
    assert_int_equal(read_model(&error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "m.mode1.npy: not a .npy file"));

    scratch_entries(1);
    model_write(&k, KTENSOR_KTNS);
    struct ktensor back;
    error = (struct error){0};
    assert_int_equal(model_read(&back, scratch_path("m.ktns"), &error), STATUS_OK);
    assert_true(model_same_bits(&k, &back));
    ktensor_free(&back);
    assert_int_equal(model_read(&back, scratch_path("other.ktns"), &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "other.ktns: cannot be read: No such file"));

    /* lambda without a file is all one */
    scratch_entries(1);
    model_write(&k, KTENSOR_TEXT);
    assert_int_equal(unlink(scratch_path("m.lambda.mat")), 0);
    error = (struct error){0};
    assert_int_equal(model_read(&back, scratch_path("m"), &error), STATUS_OK);
    assert_true(back.lambda[0] == 1 && back.lambda[2] == 1);
    assert_true(back.factor[0][5] == 4);
    ktensor_free(&back);
    ktensor_free(&k);
}

static void assert_bad(const char *message)
{
    struct error error;
    assert_int_equal(read_model(&error), STATUS_INPUT);
    if (!strstr(error.message, message))
        fail_msg("\"%s\" is not in \"%s\"", message, error.message);
}

static void test_bad_text(void **state)
{
    (void)state;
    const struct {
        const char *name, *text, *message;
    } bad[] = {
        {"m.mode1.mat", "1 0.5 -2\n0 1e-07 x\n", "m.mode1.mat:2: read \"x\", expected a finite"},
        {"m.mode1.mat", "1 0.5 -2\n\n0 1e-7 4x\n", "m.mode1.mat:3: read \"4x\""},
        {"m.mode1.mat", "1 0.5 -2\n0 nan 4\n", "m.mode1.mat:2: read \"nan\""},
        {"m.mode1.mat", "1 0.5 -2\n0 1 -inf\n", "m.mode1.mat:2: read \"-inf\""},
        {"m.mode1.mat", "1 0.5 -2\n0 1 1e999\n", "m.mode1.mat:2: read \"1e999\""},
        {"m.mode1.mat", "1 0.5 -2\n0 1\n", "m.mode1.mat:2: 2 numbers, expected 3"},
        {"m.mode1.mat", "1 0.5 -2\n0 1 2 3\n", "m.mode1.mat:2: 4 numbers, expected 3"},
        {"m.mode1.mat", "1,0.5,-2\n0,1,2\n", "m.mode2.mat: 3 columns, expected 1"},
        {"m.mode1.mat", "1 0.5 -2\n0 1 4", "m.mode1.mat: the last line has no end"},
        {"m.mode1.mat", "", "m.mode1.mat: empty"},
        {"m.mode1.mat", " \n\n", "m.mode1.mat: empty"},
        {"m.mode1.mat", "1 0.5 -2\n0 1 \001\377\n", "m.mode1.mat:2: read \"\\x01\\xff\""},
        {"m.mode1.mat", "1 0.5 -2\n0 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
         "read \"aaaaaaaaaaaaaaaaaaaaaaa...\""},
        {"m.mode2.mat", "1 2\n", "m.mode2.mat: 2 columns, expected 3 as in"},
        {"m.lambda.mat", "1\n2\n", "m.lambda.mat: 2 x 1 numbers, expected 3 x 1"},
        {"m.lambda.mat", "1 2 3\n", "m.lambda.mat: 1 x 3 numbers, expected 3 x 1"},
    };
    struct ktensor k = model_small();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        model_write(&k, KTENSOR_TEXT);
        scratch_text(bad[i].name, bad[i].text);
        assert_bad(bad[i].message);
        scratch_entries(1);
    }
    model_write(&k, KTENSOR_TEXT);
    assert_int_equal(unlink(scratch_path("m.mode2.mat")), 0);
    assert_int_equal(mkdir(scratch_path("m.mode2.mat"), 0777), 0);
    assert_bad("m.mode2.mat: cannot be read: it is a directory");
    assert_int_equal(rmdir(scratch_path("m.mode2.mat")), 0);
    assert_int_equal(mkfifo(scratch_path("m.mode2.mat"), 0666), 0);
    assert_bad("m.mode2.mat: cannot be read: it is not a regular file");
    ktensor_free(&k);
}

/* Several text lines are wrong, far apart: the message is about the first. */
static void test_first_bad_line(void **state)
{
    (void)state;
    struct ktensor k = model_make(&(struct shape){1, {200000}}, 2);
    model_write(&k, KTENSOR_TEXT);
    ktensor_free(&k);
    int fd = open(scratch_path("m.mode1.mat"), O_RDWR);
    struct stat s;
    assert_int_equal(fstat(fd, &s), 0);
    char *bytes = malloc((size_t)s.st_size);
    assert_int_equal(read(fd, bytes, (size_t)s.st_size), s.st_size);
    for (off_t at = s.st_size / 2; at < s.st_size; at += s.st_size / 10)
        assert_int_equal(pwrite(fd, "x", 1, at), 1);
    close(fd);
    int line = 1;
    for (off_t at = 0; at < s.st_size / 2; at++)
        line += bytes[at] == '\n';
    free(bytes);
    char message[64];
    snprintf(message, sizeof message, "m.mode1.mat:%d: ", line);
    assert_bad(message);
}

static void test_bad_ktns(void **state)
{
    (void)state;
#define HEAD  "ktensor\n2\n2 1\n3\n3 2.5 0.1\n"
#define MODE1 "matrix\n2\n2 3\n1 0.5 -2\n0 1e-7 4\n"
#define MODE2 "matrix\n2\n1 3\n1 -1 0.25\n"
    const struct {
        const char *text, *message;
    } bad[] = {
        {"", "m.ktns: is empty, expected the word \"ktensor\""},
        {"sptensor\n2\n", "m.ktns:1: read \"sptensor\", expected the word \"ktensor\""},
        {"ktensor\n17\n", "m.ktns:2: 17, expected the number of modes from 1 to 16"},
        {"ktensor\n0\n", "m.ktns:2: 0, expected the number of modes from 1 to 16"},
        {"ktensor\n-1\n", "m.ktns:2: read \"-1\", expected a whole number"},
        {"ktensor\n2\n2 0\n", "m.ktns:3: 0, expected the lengths of the modes from 1"},
        {"ktensor\n2\n2 4294967296\n",
         "m.ktns:3: 4294967296, expected the lengths of the modes from 1"},
        {"ktensor\n2\n2\n", "m.ktns:3: the line ends, expected a whole number"},
        {"ktensor\n2\n2 1 1\n", "m.ktns:3: 3 numbers, expected 2"},
        {"ktensor\n2\n2 1.5\n", "m.ktns:3: read \"1.5\", expected a whole number"},
        {"ktensor\n2\n2 1\n0\n", "m.ktns:4: 0, expected the rank from 1"},
        {"ktensor\n2\n2 1\n18446744073709551616\n", ", expected the rank"},
        {"ktensor\n2\n2 1\n", "m.ktns:3: the file ends, expected the rank"},
        {HEAD MODE1, "m.ktns: 10 lines that are not blank, expected 14"},
        {HEAD MODE1 MODE2 "1 2 3\n", "m.ktns: 15 lines that are not blank, expected 14"},
        {"ktensor\n2\n2 1\n9999\n3 2.5 0.1\n" MODE1 MODE2, "m.ktns: too short for rank 9999"},
        {"ktensor\n2\n2 1\n18446744073709551614\n3 2.5 0.1\n" MODE1 MODE2, "too short for rank"},
        {"ktensor\n2\n2 1\n3\n3 2.5\n" MODE1 MODE2, "m.ktns:5: 2 numbers, expected 3"},
        {"ktensor\n2\n2 1\n3\n3 2.5 z\n" MODE1 MODE2, "m.ktns:5: read \"z\""},
        {HEAD MODE2 MODE1, "m.ktns:8: a matrix of 1 x 3, expected 2 x 3"},
        {HEAD MODE1 "matrix\n2\n1 2\n1 -1 0.25\n", "m.ktns:13: a matrix of 1 x 2, expected 1 x 3"},
        {HEAD MODE1 "matrix\n1\n1 3\n1 -1 0.25\n",
         "m.ktns:13: the matrix before has 1 dimension, expected 2"},
        {HEAD MODE1 "matrix\n3\n1 3\n1 -1 0.25\n", "m.ktns:12: 3, expected the number of dim"},
        {HEAD MODE1 "tensor\n2\n1 3\n1 -1 0.25\n",
         "m.ktns:11: read \"tensor\", expected the word \"matrix\""},
        {HEAD MODE1 "matrix\n2\n1 3\n1 -1\n", "m.ktns:14: 2 numbers, expected 3"},
        {HEAD MODE1 "matrix\n2\n1 3\n1 -1 0.2", "m.ktns: the last line has no end"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        scratch_text("m.ktns", bad[i].text);
        assert_bad(bad[i].message);
    }
    scratch_text("m.ktns", HEAD MODE1 MODE2);
    struct error error;
    assert_int_equal(read_model(&error), STATUS_OK);
}

/* A .npy file: version, header text padded with blanks, the small model's mode 1. */
static void make_npy(char version, const char *header, size_t bytes, int column_major)
{
    const double row_major[] = {1, 0.5, -2, 0, 1e-7, 4, 77},
                 turned[] = {1, 0, 0.5, 1e-7, -2, 4, 77};
    char file[256];
    size_t prefix = version == 1 ? 10 : 12;
    memset(file, ' ', sizeof file);
    memcpy(file, "\x93NUMPY", 6);
    memset(file + 6, 0, 6);
    file[6] = version;
    file[8] = (char)(128 - prefix);
    memcpy(file + prefix, header, strlen(header));
    file[127] = '\n';
    memcpy(file + 128, column_major ? turned : row_major, bytes);
    scratch_file("m.mode1.npy", file, 128 + bytes);
}

#define NPY(descr, order, shape)                                                                   \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"

static void test_foreign_npy(void **state)
{
    (void)state;
    struct ktensor k = model_small();
    struct error error;
    model_write(&k, KTENSOR_NPY);
    for (char version = 1; version <= 3; version++) {
        make_npy(version, NPY("<f8", "False", "(2, 3)"), 48, 0);
        assert_int_equal(read_model(&error), STATUS_OK);
    }
    make_npy(1, NPY("<f8", "True", "(2, 3)"), 48, 1);
    assert_int_equal(read_model(&error), STATUS_OK);
    make_npy(1, "{\"shape\":(2,3,),\"fortran_order\":False,\"descr\":\"<f8\"}", 48, 0);
    assert_int_equal(read_model(&error), STATUS_OK);
    ktensor_free(&k);
}

static void test_bad_npy(void **state)
{
    (void)state;
    const struct {
        char version;
        size_t bytes;
        const char *header, *message;
    } bad[] = {
        {1, 48, NPY("<f4", "False", "(2, 3)"),
         "m.mode1.npy: .npy header: entries of type '<f4', expected '<f8'"},
        {1, 48, NPY(">f8", "False", "(2, 3)"), "entries of type '"},
        {1, 48, NPY("<i8", "False", "(2, 3)"), "entries of type '"},
        {1, 48, NPY("<f8", "Perhaps", "(2, 3)"), "fortran_order"},
        {1, 48, NPY("<f8", "False", "(2, 3, 1)"), "expected one or two lengths"},
        {1, 48, NPY("<f8", "False", "()"), "expected one or two lengths"},
        {1, 48, NPY("<f8", "False", "(2 3)"), "expected one or two lengths"},
        {1, 48, NPY("<f8", "False", "(2, -3)"), "expected one or two lengths"},
        {1, 48, NPY("<f8", "False", "2"), "expected one or two lengths"},
        {1, 47, NPY("<f8", "False", "(2, 3)"), "47 bytes of entries, expected 2 x 3"},
        {1, 40, NPY("<f8", "False", "(2, 3)"), "40 bytes of entries, expected 2 x 3"},
        {1, 56, NPY("<f8", "False", "(2, 3)"), "56 bytes of entries, expected 2 x 3"},
        {1, 48, NPY("<f8", "False", "(4294967296, 4294967296)"), "48 bytes of entries"},
        {1, 48, NPY("<f8", "False", "(99999999999999999999, 3)"), "48 bytes of entries"},
        {1, 0, NPY("<f8", "False", "(0, 3)"), "m.mode1.npy: empty"},
        {1, 48, NPY("<f8", "False", "(3, 2)"), "m.mode2.npy: 3 columns, expected 2"},
        {1, 48, NPY("<f8", "False", "(6,)"), "m.mode2.npy: 3 columns, expected 1"},
        {1, 48, "{'descr': '<f8', 'shape': (2, 3), }", "expected all of 'descr', "},
        {1, 48, "{'descr': '<f8', 'colour': 3, }", "key 'colour', expected"},
        {1, 48, "{'descr': '<f8' 'shape': (2, 3), }", ".npy header: "},
        {1, 48, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)", ".npy header: "},
        {1, 48, "", ".npy header: "},
        {4, 48, NPY("<f8", "False", "(2, 3)"), ".npy format 4, expected 1 to 3"},
    };
    struct ktensor k = model_small();
    model_write(&k, KTENSOR_NPY);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        make_npy(bad[i].version, bad[i].header, bad[i].bytes, 0);
        assert_bad(bad[i].message);
    }
    scratch_text("m.mode1.npy", "\x93NUMPY\x01");
    assert_bad("the file ends within the .npy header");
    scratch_file("m.mode1.npy", "\x93NUMPY\x01\0\xff\xff{}", 12);
    assert_bad("the file ends within the .npy header");
    k.factor[0][4] = NAN;
    model_write(&k, KTENSOR_NPY);
    assert_bad("m.mode1.npy: row 2: not a finite number");
    ktensor_free(&k);
}

/* Reads what there is of the model m. */
static enum status read_some(struct ktensor *k, const bool *needed, struct error *error)
{
    struct named_model m = {.stem = scratch_path("m"), .names = {.partial = true}};
    named_model_read(&m, needed, error);
    *k = m.k;
    labels_free(&m.names);
    return error->status;
}

/* Mode 1 of the small model is missing. */
static void test_missing_mode(void **state)
{
    (void)state;
    const bool second[MAX_ORDER] = {[1] = true}, first[MAX_ORDER] = {[0] = true};
    struct ktensor k, small = model_small();
    struct error error = {0};
    model_write(&small, KTENSOR_NPY);
    remove(scratch_path("m.mode1.npy"));
    assert_int_equal(read_some(&k, second, &error), STATUS_OK);
    assert_int_equal(k.shape.order, 2);
    assert_int_equal(k.shape.dims[0], 0);
    assert_int_equal(k.shape.dims[1], small.shape.dims[1]);
    assert_int_equal(k.rank, small.rank);
    assert_memory_equal(k.lambda, small.lambda, small.rank * sizeof *k.lambda);
    assert_memory_equal(k.factor[1], small.factor[1],
                        small.shape.dims[1] * small.rank * sizeof *k.lambda);
    ktensor_free(&k);
    assert_int_equal(read_some(&k, first, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "m: no file of mode 1: "));
    assert_null(k.lambda);
    error = (struct error){0};
    assert_int_equal(model_read(&k, scratch_path("m"), &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "m.mode2.npy: there is no "));
    assert_non_null(
        strstr(error.message, "m.mode1.npy: files of two models are mixed, or some are missing"));

    /* with files of another format, which have all modes: of the same model, or of another one */
    error = (struct error){0};
    struct ktensor_files files;
    assert_int_equal(model_write_at(&small, scratch_path("o"), KTENSOR_TEXT, &files, &error),
                     STATUS_OK);
    ktensor_files_free(&files);
    char from[512];
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"mode1.mat", "mode2.mat", "lambda.mat"};
        snprintf(from, sizeof from, "%s/o.%s", scratch_folder, name[i]);
        char to[512];
        snprintf(to, sizeof to, "%s/m.%s", scratch_folder, name[i]);
        assert_int_equal(rename(from, to), 0);
    }
    assert_int_equal(read_some(&k, second, &error), STATUS_OK);
    assert_int_equal(k.shape.dims[0], 0);
    ktensor_free(&k);
    scratch_text("m.mode2.mat", "1 -1 0.5\n");
    assert_int_equal(read_some(&k, second, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "m.mode2.npy and "));
    ktensor_free(&small);
}

/* A model of the lengths, of which one number is x. */
static struct ktensor made(int order, uint64_t length, uint64_t rank, int mode, double x)
{
    uint64_t dims[4] = {4, 4, 4, 4};
    dims[1] = length;
    struct ktensor k = model_make(SHAPE(order, dims), rank);
    if (mode >= 0)
        *(mode < order ? k.factor[mode] : k.lambda) = x;
    return k;
}

/* Formats of one run are one model. Beside a file of another model none is read, whichever was
 * written first. */
static void test_two_models(void **state)
{
    (void)state;
    const struct {
        int order;
        uint64_t length, rank;
        int mode; /* with another first number; 3: lambda; -1: none */
        const char *name;
    } other[] = {{4, 4, 2, -1, "mode4."}, {2, 4, 2, -1, "mode2."}, {3, 5, 2, -1, "mode2."},
                 {3, 4, 3, -1, "mode3."}, {3, 4, 2, 3, "lambda."}, {3, 4, 2, 0, "mode1."},
                 {3, 4, 2, 2, "mode3."}};
    static const unsigned format[] = {KTENSOR_KTNS, KTENSOR_NPY, KTENSOR_TEXT};
    static const char *const first[] = {"m.ktns and ", "m.mode1.npy and "};
    static const char *const ending[] = {"ktns", "npy", "mat"};
    struct ktensor k = made(3, 4, 2, -1, 0);
    for (int a = 0; a < 2; a++)
        for (int b = a + 1; b < 3; b++)
            for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
                struct error error = {0};
                struct ktensor_files files;
                struct ktensor back, second = made(other[i].order, other[i].length, other[i].rank,
                                                   other[i].mode, 0.5);
                char named[64];
                assert_int_equal(model_write_at(&k, scratch_path("m"), format[a], &files, &error),
                                 STATUS_OK);
                ktensor_files_free(&files);
                assert_int_equal(
                    model_write_at(&second, scratch_path("o"), format[b], &files, &error),
                    STATUS_OK);
                for (int f = 0; f < files.count; f++) { /* as another program writes them */
                    char moved[512];
                    snprintf(moved, sizeof moved, "%s", files.path[f]);
                    strrchr(moved, '/')[1] = 'm';
                    assert_int_equal(rename(files.path[f], moved), 0);
                }
                ktensor_files_free(&files);
                assert_int_equal(model_read(&back, scratch_path("m"), &error), STATUS_INPUT);
                snprintf(named, sizeof named, "m.%s%s are files of two models", other[i].name,
                         ending[b]);
                if (!strstr(error.message, first[a]) || !strstr(error.message, named))
                    fail_msg("no \"%s\" and \"%s\" in \"%s\"", first[a], named, error.message);
                scratch_entries(1);
                ktensor_free(&second);
            }
    ktensor_free(&k);
}

/* Files that no model of the stem accounts for. */
static void test_rests(void **state)
{
    (void)state;
    static const struct {
        const char *name, *missing;
    } rest[] = {{"m.mode4.mat", "m.mode3.mat"},
                {"m.mode16.mat", "m.mode3.mat"},
                {"m.mode2.npy", "m.mode1.npy"},
                {"m.lambda.npy", "m.mode1.npy"}};
    struct ktensor k = model_small();
    model_write(&k, KTENSOR_TEXT);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        struct error error;
        scratch_text(rest[i].name, "1 2 3\n");
        assert_int_equal(read_model(&error), STATUS_INPUT);
        assert_non_null(strstr(error.message, rest[i].name));
        assert_non_null(strstr(error.message, rest[i].missing));
        assert_int_equal(unlink(scratch_path(rest[i].name)), 0);
        assert_int_equal(read_model(&error), STATUS_OK);
    }
    /* weights that only one format has */
    model_write(&k, KTENSOR_TEXT | KTENSOR_NPY);
    assert_int_equal(unlink(scratch_path("m.lambda.mat")), 0);
    assert_bad("m.mode2.mat are files of two models");
    ktensor_free(&k);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

/* ---  --- */

static void touch(const char *name)
{
    scratch_file(name, "", 0);
}

/* The stems of the models of the stem x, without the folder. */
static void assert_ranks(const char *expected)
{
    char text[1024], shown[1024] = "";
    stem_ranks(scratch_path("x"), text, sizeof text);
    size_t folder = strlen(scratch_folder) + 1, used = 0;
    for (const char *at = text; *at;) {
        if (strncmp(at, scratch_folder, folder - 1) == 0)
            at += folder;
        shown[used++] = *at++;
    }
    shown[used] = '\0';
    assert_string_equal(shown, expected);
}

static void models_are_found(void **state)
{
    (void)state;
    assert_ranks("");
    touch("x.r2.lambda.mat");
    touch("x.r3.mode1.mat.old");
    touch("xy.r4.mode1.mat");
    touch("x.rank.mode1.mat");
    touch("x.r.mode1.mat");
    touch("x.r0.mode1.mat");
    touch("x.r2.mode2.npy");
    assert_ranks("");
    touch("x.r12.mode1.npy");
    assert_ranks("x.r12");
    touch("x.r3.ktns");
    touch("x.r3.mode1.mat");
    assert_ranks("x.r3 and x.r12");
    touch("x.r7.mode1.mat");
    assert_ranks("x.r3, x.r7 and x.r12");
}

static void many_models_are_cut(void **state)
{
    (void)state;
    char name[32];
    for (int r = 1; r <= 8; r++) {
        snprintf(name, sizeof name, "x.r%d.ktns", 3 * r % 10);
        touch(name);
    }
    assert_ranks("x.r1, x.r2, x.r3, x.r4, x.r5, x.r6, x.r8 and x.r9");
    touch("x.r11.ktns");
    assert_ranks("x.r1, x.r2, x.r3, x.r4, x.r5, x.r6, x.r8, x.r9 and others");
    touch("x.r7.ktns");
    assert_ranks("x.r1, x.r2, x.r3, x.r4, x.r5, x.r6, x.r7, x.r8 and others");
}

static void small_rooms_and_no_folder(void **state)
{
    (void)state;
    char text[8];
    assert_string_equal(stem_ranks("/no/folder/x", text, sizeof text), "");
    touch("x.r3.ktns");
    stem_ranks(scratch_path("x"), text, sizeof text);
    assert_int_equal(strlen(text), 7);
}

static void readers_name_them(void **state)
{
    (void)state;
    struct ktensor k;
    struct error error = {0};
    touch("x.r3.ktns");
    assert_int_equal(model_read(&k, scratch_path("x"), &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "no model of that name, but models of several ranks: "));
    assert_non_null(strstr(error.message, "/x.r3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_foreign_text),
        TEST(test_where_it_looks),
        TEST(test_bad_text),
        TEST(test_first_bad_line),
        TEST(test_bad_ktns),
        TEST(test_foreign_npy),
        TEST(test_bad_npy),
        TEST(test_missing_mode),
        TEST(test_two_models),
        TEST(test_rests),
        cmocka_unit_test_setup_teardown(models_are_found, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(many_models_are_cut, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(small_rooms_and_no_folder, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(readers_name_them, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
