/* Whole runs of the commands in which one allocation after the other fails: each ends with the exit
 * code for memory, a message, no files, and (under the address sanitizer) no leak. */
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

#include "base/memory.h"
#include "commands/cmd.h"
#include "support/sanitized.h"

static char folder[] = "/tmp/blco-commands-XXXXXX";
static char home[4096];

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int enter_folder(void **state)
{
    (void)state;
    assert_non_null(getcwd(home, sizeof home));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    write_file("x.tns", "1 1 1 2\n2 3 1 -1.5\n2 2 2 4\n1 1 1 1\n1 3 2 0\n");
    write_file("start.ktns", "ktensor\n3\n2 3 2\n2\n1 1\nmatrix\n2\n2 2\n1 2\n3 4\n"
                             "matrix\n2\n3 2\n1 0\n0 1\n1 1\nmatrix\n2\n2 2\n1 3\n2 1\n");
    return 0;
}

static int leave_folder(void **state)
{
    (void)state;
    const char *names[] = {"x.tns",   "start.ktns", "out.ktns", "out.blco",      "x.blco",
                           "out.tns", "run.json",   "one.map",  "out.model.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    return chdir(home) || rmdir(folder);
}

static int call(const struct command *command, char **arguments, struct error *error)
{
    int argc = 0;
    while (arguments[argc])
        argc++;
    *error = (struct error){0};
    return cmd_run(command, argc, arguments, error);
}

/* A run may do without an array (one that was only to shrink, say) and then is as any other.
 * Returns how many allocations were fatal. */
static long fail_each_allocation(const struct command *command, char **arguments)
{
    struct error error;
    long fatal = 0;
    for (long k = 0;; k += ALLOCATION_STEP) {
        memory_hook_set(k);
        int code = call(command, arguments, &error);
        int fired = memory_hook_fired();
        memory_hook_set(-1);
        if (code == 0) {
            assert_string_equal(error.message, "");
        } else {
            fatal += ALLOCATION_STEP;
            if (code != STATUS_MEMORY)
                fail_msg("allocation %ld: exit status %d: %s", k, code, error.message);
            assert_string_not_equal(error.message, "");
            assert_int_not_equal(access("out.ktns", F_OK), 0);
            assert_int_not_equal(access("out.blco", F_OK), 0);
            assert_int_not_equal(access("out.tns", F_OK), 0);
        }
        if (!fired) {
            assert_int_equal(code, 0);
            return fatal;
        }
        unlink("out.ktns");
        unlink("out.blco");
        unlink("out.tns");
    }
}

static void cpd_survives_each_failing_allocation(void **state)
{
    (void)state;
    char *start[] = {"cpd",   "x.tns",    "-q",   "-r", "2",   "-i", "3", "--init",
                     "start", "--format", "ktns", "-o", "out", "-t", "2", NULL};
    char *random[] = {"cpd", "-q", "x.tns", "-r2", "-i1", "--nowrite", "-t1", NULL};
    assert_true(fail_each_allocation(&cmd_cpd, start) > 20);
    assert_int_equal(access("out.ktns", F_OK), 0);
    unlink("out.ktns");
    assert_true(fail_each_allocation(&cmd_cpd, random) > 10);
    char *record[] = {"cpd", "-q",        "x.tns",    "-r2",      "-i3",
                      "-t1", "--nowrite", "--record", "out.ktns", NULL};
    assert_true(fail_each_allocation(&cmd_cpd, record) > 20);
    assert_int_equal(access("out.ktns", F_OK), 0);
    unlink("out.ktns");
}

static void report_survives_each_failing_allocation(void **state)
{
    (void)state;
    struct error error;
    char *run[] = {"cpd", "-q", "x.tns", "-r2", "-i3", "--nowrite", "--record", "run.json", NULL};
    char *page[] = {"report",   "start.ktns", "-q",       "-o",        "out.ktns",
                    "--record", "run.json",   "--labels", "1=one.map", NULL};
    assert_int_equal(call(&cmd_cpd, run, &error), 0);
    write_file("one.map", "first\nsecond\n");
    write_file("counts.tns", "1 1 1 3\n2 3 1 9\n");
    char *residuals[] = {"report",      "start.ktns", "-q",     "-o",      "out.ktns",
                         "--residuals", "counts.tns", "--loss", "poisson", NULL};
    assert_true(fail_each_allocation(&cmd_report, page) > 20);
    assert_int_equal(unlink("out.ktns"), 0);
    assert_true(fail_each_allocation(&cmd_report, residuals) > 20);
    assert_int_equal(unlink("counts.tns"), 0);
    assert_int_equal(access("out.ktns", F_OK), 0);
    unlink("out.ktns");
}

/* The same for a command that prints to standard output. */
static long fail_each_allocation_silently(const struct command *command, char **arguments)
{
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(saved >= 0);
    assert_non_null(freopen("/dev/null", "w", stdout));
    long count = fail_each_allocation(command, arguments);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    return count;
}

static void info_survives_each_failing_allocation(void **state)
{
    (void)state;
    char *arguments[] = {"info", "x.tns", "-q", "-t2", NULL};
    assert_true(fail_each_allocation_silently(&cmd_info, arguments) > 5);
    char *json[] = {"info", "x.tns", "-q", "-t2", "--json", "--ranks", "2", NULL};
    assert_true(fail_each_allocation_silently(&cmd_info, json) > 5);
    char *record[] = {"cpd", "-q", "x.tns", "-r2", "-i3", "-t1", "--nowrite", "--json", NULL};
    assert_true(fail_each_allocation_silently(&cmd_cpd, record) > 20);
}

static void bench_survives_each_failing_allocation(void **state)
{
    (void)state;
    char *arguments[] = {"bench",      "x.tns",  "-q",        "-r2",  "-t2",    "--samples", "1",
                         "--conflict", "atomic", "--backend", "host", "--json", "out.ktns",  NULL};
    assert_true(fail_each_allocation_silently(&cmd_bench, arguments) > 30);
    assert_int_equal(access("out.ktns", F_OK), 0);
    unlink("out.ktns");
}

static void convert_survives_each_failing_allocation(void **state)
{
    (void)state;
    char *to_blco[] = {"convert", "x.tns", "out.blco", "-q", "-t2", NULL};
    char *to_text[] = {"convert", "x.blco", "out.tns", "-q", "-t2", NULL};
    char *text_to_text[] = {"convert", "x.tns", "out.tns", "-q", "-t2", NULL};
    char *again[] = {"convert", "x.blco", "out.blco", "-q", "-t2", NULL};
    char *cpd[] = {"cpd", "-q", "x.blco", "-r2", "-i1", "--nowrite", "-t1", NULL};
    assert_true(fail_each_allocation(&cmd_convert, to_blco) > 20);
    assert_int_equal(rename("out.blco", "x.blco"), 0);
    assert_true(fail_each_allocation(&cmd_convert, to_text) > 10);
    assert_int_equal(unlink("out.tns"), 0);
    assert_true(fail_each_allocation(&cmd_convert, text_to_text) > 10);
    assert_int_equal(unlink("out.tns"), 0);
    assert_true(fail_each_allocation(&cmd_convert, again) > 20);
    assert_int_equal(unlink("out.blco"), 0);
    assert_true(fail_each_allocation(&cmd_cpd, cpd) > 10);
}

static void models_survive_each_failing_allocation(void **state)
{
    (void)state;
    write_file("1.map", "a\nb\n");
    write_file("counts.tns", "1 1 1 3\n2 3 1 9\n");
    char *top[] = {"top", "start", "-q", "-t2", "--labels", "1=1.map", NULL};
    char *top_json[] = {"top", "start", "-q", "-t2", "--json", "-n1", NULL};
    char *predict[] = {"predict", "start", "x.tns", "-q", "-t2", "--labels", "1=1.map", NULL};
    char *predict_array[] = {"predict", "start", "x.tns", "--residuals", "-q",
                             "-t2",     "-o",    "p.npy", "--force",     NULL};
    char *strangest[] = {"predict", "start", "x.tns", "--residuals", "-q",
                         "-t2",     "-n2",   "-o",    "out.tns",     NULL};
    char *absent[] = {"predict", "start", "counts.tns", "--residuals", "-q", "-t2",
                      "--json",  "-n2",   "--loss",     "poisson",     NULL};
    char *compare[] = {"compare", "start", "start.ktns", "-q", "-t2", NULL};
    char *compare_json[] = {"compare", "start", "start", "--json", NULL};
    assert_true(fail_each_allocation_silently(&cmd_top, top) > 10);
    assert_true(fail_each_allocation_silently(&cmd_top, top_json) > 10);
    assert_true(fail_each_allocation_silently(&cmd_predict, predict) > 20);
    assert_true(fail_each_allocation(&cmd_predict, predict_array) > 20);
    assert_true(fail_each_allocation_silently(&cmd_predict, strangest) > 20);
    assert_int_equal(unlink("p.npy"), 0);
    assert_int_equal(unlink("out.tns"), 0);
    assert_true(fail_each_allocation_silently(&cmd_predict, absent) > 20);
    assert_int_equal(unlink("counts.tns"), 0);
    assert_true(fail_each_allocation_silently(&cmd_compare, compare) > 20);
    assert_true(fail_each_allocation_silently(&cmd_compare, compare_json) > 20);
    assert_int_equal(unlink("1.map"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpd_survives_each_failing_allocation),
        cmocka_unit_test(report_survives_each_failing_allocation),
        cmocka_unit_test(info_survives_each_failing_allocation),
        cmocka_unit_test(convert_survives_each_failing_allocation),
        cmocka_unit_test(models_survive_each_failing_allocation),
        cmocka_unit_test(bench_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests_name("commands", tests, enter_folder, leave_folder);
}
