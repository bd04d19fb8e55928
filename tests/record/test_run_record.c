#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/version.h"
#include "record/run_record.h"

static enum status no_device(int number, struct backend_device *device, struct error *error)
{
    (void)number, (void)device;
    return error_set(error, STATUS_INTERNAL, "it fell off the bus");
}

static enum status a_device(int number, struct backend_device *device, struct error *error)
{
    (void)error;
    assert_int_equal(number, 3);
    *device = (struct backend_device){
        .name = "Card 9", .driver = "580.1, CUDA 13.0", .runtime = "CUDA 12.8"};
    return STATUS_OK;
}

/* The record as text; the caller frees it. NULL where it failed. */
static char *record(const struct backend_kind *kind, struct error *error)
{
    char *argv[] = {(char[]){"bench"}, (char[]){"odd \"name\".tns"}, NULL};
    struct json j;
    *error = (struct error){0};
    json_begin(&j, error);
    json_put_object(&j, NULL);
    run_record_machine(&j, "bench", argv, kind, 3, 7);
    json_end(&j);
    char *text =
        error->status == STATUS_OK ? memory_text(error, "%.*s", (int)j.used, j.text) : NULL;
    json_free(&j);
    return text;
}

static void test_what_is_in_it(void **state)
{
    (void)state;
    struct error error;
    struct backend_kind kind = {.name = "cuda", .device = a_device};
    setenv("OMP_PLACES", "cores", 1);
    unsetenv("OMP_PROC_BIND");
    setenv("A_SECRET", "hidden", 1);
    char *text = record(&kind, &error);
    assert_non_null(text);
    const char *expected[] = {
        "\"command\": [\n    \"blco\",\n    \"bench\",\n    \"odd \\\"name\\\".tns\"\n  ]",
        "\"backend\": \"cuda\"",
        "\"name\": \"Card 9\"",
        "\"driver\": \"580.1, CUDA 13.0\"",
        "\"runtime\": \"CUDA 12.8\"",
        "\"threads\": 7",
        "\"OMP_PLACES\": \"cores\"",
        "\"processor\": \"",
        "\"date\": \"20",
        version_commit,
        version_number};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_non_null(strstr(text, expected[i]));
    assert_null(strstr(text, "OMP_PROC_BIND"));
    assert_null(strstr(text, "SECRET"));
    assert_null(strstr(text, "hidden"));
    assert_null(strstr(text, "PATH"));
    memory_free(text);
}

static void test_host_and_failures(void **state)
{
    (void)state;
    struct error error;
    struct backend_kind kind = {.name = "host"};
    char *text = record(&kind, &error);
    assert_non_null(text);
    assert_null(strstr(text, "\"device\""));
    memory_free(text);
    kind.device = no_device;
    assert_null(record(&kind, &error));
    assert_string_equal(error.message, "it fell off the bus");
    memory_hook_set(0);
    kind.device = NULL;
    assert_null(record(&kind, &error));
    memory_hook_set(-1);
    assert_int_equal(error.status, STATUS_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_in_it),
        cmocka_unit_test(test_host_and_failures),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
