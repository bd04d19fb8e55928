/* Libraries of CUDA that are loaded when a rank needs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/cuda/runtime/cuda_library.h"
#include "support/gpu_arrays.h"

/* All pointers are set. */
static void check_functions(const void *library, size_t size)
{
    void *function;
    for (size_t at = 0; at < size; at += sizeof function) {
        memcpy(&function, (const char *)library + at, sizeof function);
        assert_non_null(function);
    }
}

static void test_loaded_once(void **state)
{
    (void)state;
    struct error error = {0};
    const struct cublas_library *blas = cublas_library(&error);
    const struct cusolver_library *solver = blas ? cusolver_library(&error) : NULL;
    ok(error.status, &error);
    check_functions(blas, sizeof *blas);
    check_functions(solver, sizeof *solver);
    assert_ptr_equal(cublas_library(&error), blas);
    assert_ptr_equal(cusolver_library(&error), solver);
}

/* One line that names the need, the file, and what helps. */
static void test_absent(void **state)
{
    (void)state;
    void *function;
    const struct library_function functions[] = {{&function, "cos"}};
    struct error error = {0};
    assert_int_equal(
        cuda_library_load("libblco_absent.so.7", "a test needs it", functions, 1, &error),
        STATUS_INPUT);
    assert_non_null(strstr(error.message, "a test needs it, which cannot be loaded"));
    assert_non_null(strstr(error.message, "libblco_absent.so.7: "));
    assert_non_null(strstr(error.message, "install this library of CUDA "));
    assert_non_null(strstr(error.message, "LD_LIBRARY_PATH"));
    assert_null(strchr(error.message, '\n'));
}

static void test_lacks_function(void **state)
{
    (void)state;
    void *function;
    const struct library_function functions[] = {{&function, "blco_no_such"}};
    struct error error = {0};
    assert_int_equal(cuda_library_load("libm.so.6", "a test needs it", functions, 1, &error),
                     STATUS_INPUT);
    assert_non_null(strstr(error.message, "a test needs it, but libm.so.6 has no blco_no_such: "));
}

/* The folder lib64 of CUDA_HOME is searched: what lies there is no library, which the message says.
 */
static void test_cuda_home(void **state)
{
    (void)state;
    char home[] = "/tmp/cuda_library_XXXXXX", folder[64], file[128];
    void *function;
    const struct library_function functions[] = {{&function, "cos"}};
    struct error error = {0};
    assert_non_null(mkdtemp(home));
    snprintf(folder, sizeof folder, "%s/lib64", home);
    snprintf(file, sizeof file, "%s/libblco_absent.so.7", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    setenv("CUDA_HOME", home, 1);
    assert_int_equal(
        cuda_library_load("libblco_absent.so.7", "a test needs it", functions, 1, &error),
        STATUS_INPUT);
    assert_non_null(strstr(error.message, file));
    unsetenv("CUDA_HOME");
    assert_int_equal(unlink(file) | rmdir(folder) | rmdir(home), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_once),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_lacks_function),
        cmocka_unit_test(test_cuda_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
