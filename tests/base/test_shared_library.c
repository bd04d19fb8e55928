#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "base/shared_library.h"

static char folder[] = "/tmp/shared_library_XXXXXX";

static struct shared_library library(const char *file, const char *const *folders)
{
    return (struct shared_library){.file = file,
                                   .folders = folders,
                                   .need = "this test needs a library",
                                   .remedy = "install it"};
}

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Who needs it, what the loader says of the file, and what helps, in one line. */
static void test_absent(void **state)
{
    (void)state;
    const char *const folders[] = {"", "/no/such/folder", folder, NULL};
    const char *const *const lists[] = {NULL, folders};
    for (int i = 0; i < 2; i++) {
        struct error error = {0};
        struct shared_library l = library("libblco_absent.so.7", lists[i]);
        assert_null(shared_library_open(&l, &error));
        assert_int_equal(error.status, STATUS_INPUT);
        assert_ptr_equal(strstr(error.message, "this test needs a library, which cannot be loaded "
                                               "(libblco_absent.so.7: "),
                         error.message);
        assert_non_null(strstr(error.message, "): install it"));
        assert_null(strchr(error.message, '\n'));
    }
}

/* A file that is there, but is no library, is what the message is about. */
static void test_damaged(void **state)
{
    (void)state;
    const char *const folders[] = {"/no/such/folder", folder, NULL};
    struct error error = {0};
    struct shared_library l = library("libblco_damaged.so.7", folders);
    put(l.file, "no library\n");
    assert_null(shared_library_open(&l, &error));
    assert_int_equal(error.status, STATUS_INPUT);
    assert_non_null(strstr(error.message, folder));
    assert_non_null(strstr(error.message, "libblco_damaged.so.7: "));
}

/* From the loader's places, and from a folder that the loader does not know. */
static void test_present(void **state)
{
    (void)state;
    double (*cosine)(double) = NULL, (*none)(double) = NULL;
    char link[256];
    const char *const folders[] = {folder, NULL};
    struct error error = {0};
    struct shared_library l = library("libm.so.6", NULL);
    void *handle = shared_library_open(&l, &error);
    assert_non_null(handle);
    const struct library_function functions[] = {{&cosine, "cos"}, {&none, "blco_no_such"}};
    assert_null(shared_library_bind(handle, functions, 1));
    assert_true(cosine(0.0) == 1.0);
    none = cosine;
    assert_string_equal(shared_library_bind(handle, functions, 2), "blco_no_such");
    assert_null(none);
    assert_true(cosine(0.0) == 1.0);

    Dl_info where; /* of a function, and so of its library */
    void *address;
    memcpy(&address, &cosine, sizeof address);
    assert_true(dladdr(address, &where) != 0);
    l = library("libblco_linked.so.7", folders);
    snprintf(link, sizeof link, "%s/%s", folder, l.file);
    assert_int_equal(symlink(where.dli_fname, link), 0);
    assert_non_null(shared_library_open(&l, &error));
    assert_int_equal(error.status, STATUS_OK);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"libblco_damaged.so.7", "libblco_linked.so.7"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_present),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
