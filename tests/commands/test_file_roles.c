/* No output is an input or another output, even under another name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "commands/file_roles.h"
#include "support/scratch.h"

static enum status check(enum file_role a, const char *a_path, enum file_role b, const char *b_path,
                         struct error *error)
{
    struct file_roles f = {0};
    *error = (struct error){0};
    file_roles_add(&f, a, a_path, error);
    file_roles_add(&f, b, b_path, error);
    file_roles_check(&f, error);
    file_roles_free(&f);
    return error->status;
}

/* Of each two roles: two inputs may be one file, and so may a checkpoint that is read and one that
 * is written, and the start, or names that are read, and the model. */
static void test_every_pair(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", scratch_text("x", "x"));
    struct error error;
    for (enum file_role a = FILE_TENSOR_READ; a <= FILE_TENSOR; a++)
        for (enum file_role b = a; b <= FILE_TENSOR; b++) {
            int allowed =
                b <= FILE_ORDER_READ || (a == FILE_CHECKPOINT_READ && b == FILE_CHECKPOINT) ||
                (a == FILE_START_READ && b == FILE_MODEL) ||
                (a == FILE_LABELS_READ && b == FILE_MODEL) || (a == FILE_MODEL && b == FILE_MODEL);
            const enum status expected = allowed ? STATUS_OK : STATUS_INPUT;
            assert_int_equal(check(a, path, b, path, &error), expected);
            assert_int_equal(check(b, path, a, path, &error), expected);
            assert_int_equal(check(a, path, b, scratch_path("y"), &error), STATUS_OK);
        }
}

/* Names that mean one file, which is there or is not; both roles are named. */
static void test_names(void **state)
{
    (void)state;
    assert_int_equal(chdir(scratch_text("x", "x") ? scratch_folder : ""), 0);
    assert_int_equal(link("x", "hard"), 0);
    assert_int_equal(symlink("x", "soft"), 0);
    assert_int_equal(mkdir("d", 0777), 0);
    assert_int_equal(symlink("d", "e"), 0);
    assert_int_equal(symlink("nothing", "dangling"), 0);
    char whole[512];
    snprintf(whole, sizeof whole, "%s/new", scratch_folder);
    const char *const same[][2] = {
        {"x", "x"},          {"./x", "x"},       {"d/..//x", "x"}, {"hard", "x"},
        {"soft", "x"},       {"soft", "hard"},   {"new", "new"},   {"./new", "new"},
        {"d/../new", "new"}, {"d/new", "e/new"}, {whole, "new"},   {"dangling", "./dangling"}};
    const char *const apart[][2] = {{"x", "new"},
                                    {"d/new", "new"},
                                    {"new", "new2"},
                                    {"dangling", "nothing"},
                                    {"none/new", "none/new2"},
                                    {"/dev/null", "/dev/null"}};
    struct error error;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(check(FILE_TENSOR_READ, same[i][1], FILE_CHECKPOINT, same[i][0], &error),
                         STATUS_INPUT);
        char expected[1024];
        const char *end = strcmp(same[i][0], same[i][1]) ? same[i][1] : "";
        snprintf(expected, sizeof expected, "the checkpoint %s is the tensor that is read%s%s",
                 same[i][0], *end ? ", " : "", end);
        assert_string_equal(error.message, expected);
    }
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        assert_int_equal(check(FILE_CHECKPOINT, apart[i][1], FILE_RECORD, apart[i][0], &error),
                         STATUS_OK);
    assert_int_equal(check(FILE_MODEL, "x", FILE_RECORD, "x", &error), STATUS_INPUT);
    assert_string_equal(error.message, "the record x is a file of the model");
    assert_int_equal(check(FILE_TENSOR_READ, NULL, FILE_RECORD, "x", &error), STATUS_OK);
}

/* A stem has the names of every format and number of modes; one that ends in .ktns has one. */
static void test_stems(void **state)
{
    (void)state;
    static const struct {
        const char *stem, *path;
        enum status status;
    } of[] = {{"m", "m.mode1.mat", STATUS_INPUT},
              {"m", "m.mode16.npy", STATUS_INPUT},
              {"m", "./m.lambda.mat", STATUS_INPUT},
              {"m", "m.ktns", STATUS_INPUT},
              {"m", "m.json", STATUS_OK},
              {"m", "m.mode17.mat", STATUS_OK},
              {"m.ktns", "m.ktns", STATUS_INPUT},
              {"m.ktns", "m.mode1.mat", STATUS_OK}};
    assert_int_equal(chdir(scratch_folder), 0);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct error error = {0};
        struct file_roles f = {0};
        file_roles_add_stem(&f, FILE_START_READ, of[i].stem, &error);
        file_roles_add(&f, FILE_CHECKPOINT, of[i].path, &error);
        assert_int_equal(file_roles_check(&f, &error), of[i].status);
        file_roles_free(&f);
    }
}

/* "-" is what standard input or output is, where that is a file. */
static void test_standard_streams(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", scratch_text("x", "x"));
    struct error error;
    int in = dup(0);
    assert_int_equal(check(FILE_TENSOR_READ, "-", FILE_CHECKPOINT, path, &error), STATUS_OK);
    assert_non_null(freopen(path, "r", stdin));
    assert_int_equal(check(FILE_TENSOR_READ, "-", FILE_CHECKPOINT, path, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, " is the tensor that is read, standard input"));
    assert_int_equal(check(FILE_TENSOR_READ, "/dev/stdin", FILE_CHECKPOINT, path, &error),
                     STATUS_INPUT);
    assert_int_equal(check(FILE_TENSOR_READ, "-", FILE_TENSOR, "-", &error), STATUS_OK);
    dup2(in, 0);
    close(in);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    for (long count = 0, fired = 1; fired; count++) {
        struct error error = {0};
        struct file_roles f = {0};
        memory_hook_set(count);
        file_roles_add_stem(&f, FILE_START_READ, "m", &error);
        file_roles_add_stem(&f, FILE_MODEL, "m", &error);
        file_roles_add(&f, FILE_CHECKPOINT, "x", &error);
        file_roles_check(&f, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(error.status, fired ? STATUS_MEMORY : STATUS_OK);
        file_roles_free(&f);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_pair),
        TEST(test_names),
        TEST(test_stems),
        TEST(test_standard_streams),
        TEST(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
