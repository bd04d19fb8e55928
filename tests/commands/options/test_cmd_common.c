/* The options, answers, threads and memory that several commands share. */
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/cmd.h"
#include "commands/options/cmd_common.h"
#include "support/options.h"

static const struct cli_section sections[] = {{"Input", cmd_input_options},
                                              {"Machine", cmd_machine_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

static void parses_the_shared_options(void **state)
{
    (void)state;
    char *argv[] = {
        "cpd", "a.tns", "--host-memory=2G", "-qt3", "--conflict", "register", "--dims", "2x3", "--",
        "-b",  NULL};
    struct error error = {0};
    struct cmd_common common = {0};
    struct cli_line line = {.argc = 10, .argv = argv};
    assert_int_equal(cli_parse(&line, sections, &common, &error), STATUS_OK);
    assert_int_equal(line.operands, 2);
    assert_string_equal(line.operand[0], "a.tns");
    assert_string_equal(line.operand[1], "-b");
    assert_true(common.quiet);
    assert_int_equal(common.threads, 3);
    assert_int_equal(common.options.conflict, CONFLICT_REGISTER);
    assert_int_equal(common.options.host_memory, UINT64_C(2000000000));
    assert_int_equal(common.tns.ndims, 2);
    assert_string_equal(common.backend, "auto");
    assert_int_equal(common.tns.index_base, 1);
}

/* An error in the midst of a cluster of letters must not reach into the next command line. */
static void parses_anew_after_an_error(void **state)
{
    (void)state;
    char *bad[] = {"cpd", "-zq", NULL}, *good[] = {"cpd", "-h", "-t", NULL};
    struct error error = {0}, none = {0};
    struct cmd_common common = {0};
    struct cli_line one = {.argc = 2, .argv = bad}, two = {.argc = 3, .argv = good};
    assert_int_equal(cli_parse(&one, sections, &common, &error), STATUS_INPUT);
    assert_false(common.quiet);
    assert_int_equal(cli_parse(&two, sections, &common, &none), STATUS_OK);
    assert_true(common.help);
    assert_false(common.quiet);
}

static void refuses_names_that_it_does_not_know(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } cases[] = {
        {"--backend", "--backend: 'x', expected auto, cuda or host"},
        {"--precision", "--precision: 'x', expected double, single or auto"},
        {"--sharing", "--sharing: 'x', expected auto or off"},
        {"--accelerate", "--accelerate: 'x', expected auto, off or momentum"},
        {"--nonneg", "--nonneg: 'x', expected numbers of modes, from 1 to 16, as 1,3"},
        {"--conflict", "--conflict: 'x', expected auto, ordered, hierarchical, register or atomic"},
        {"--index-base", "--index-base: 'x', expected a whole number from 0 to 1"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        struct cmd_common common = {0};
        assert_int_equal(option_give(cmd_cpd.sections, &common, cases[i].name, "x", &error),
                         STATUS_INPUT);
        assert_string_equal(error.message, cases[i].message);
    }
}

static void takes_names(void **state)
{
    (void)state;
    struct error error = {0};
    struct cmd_common common = {0};
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--backend", "host", &error),
                     STATUS_OK);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--precision", "single", &error),
                     STATUS_OK);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--sharing", "off", &error), STATUS_OK);
    assert_int_equal(common.options.problem.acceleration, ACCELERATE_OFF);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--accelerate", "auto", &error),
                     STATUS_OK);
    assert_int_equal(common.options.problem.acceleration, ACCELERATE_AUTO);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--accelerate", "momentum", &error),
                     STATUS_OK);
    assert_int_equal(common.options.problem.acceleration, ACCELERATE_MOMENTUM);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--accelerate", "off", &error),
                     STATUS_OK);
    assert_int_equal(common.options.problem.acceleration, ACCELERATE_OFF);
    assert_int_equal(option_give(cmd_bench.sections, &common, "--rank", "12", &error), STATUS_OK);
    assert_string_equal(common.backend, "host");
    assert_int_equal(common.options.problem.precision, POLICY_SINGLE);
    assert_true(common.options.no_sharing);
    assert_int_equal(common.options.problem.rank, 12);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--sharing", "auto", &error),
                     STATUS_OK);
    assert_false(common.options.no_sharing);
}

static void takes_modes_that_are_nonnegative(void **state)
{
    (void)state;
    struct error error = {0};
    struct cmd_common common = {0};
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--nonneg", "1,3", &error), STATUS_OK);
    assert_int_equal(mode_rules_bits(common.options.problem.rules.nonneg), 5);
    assert_int_equal(common.most_nonneg, 3);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--nonneg", NULL, &error), STATUS_OK);
    assert_int_equal(mode_rules_bits(common.options.problem.rules.nonneg), 0xffff);
}

static void answers_help_and_version(void **state)
{
    (void)state;
    struct cmd_common none = {0}, version = {.version = true}, help = {.help = true};
    assert_false(cmd_answered(&cmd_cpd, &none));
    assert_true(cmd_answered(&cmd_cpd, &version));
    assert_true(cmd_answered(&cmd_version, &help));
}

/* The help of a command, or a short one where it has many options. */
static void helps(const struct command *command, bool all, const char *first, const char *last)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    cmd_help(stream, command, all);
    assert_int_equal(fclose(stream), 0);
    assert_memory_equal(text, command->usage, strlen(command->usage));
    assert_non_null(strstr(text, first));
    assert_string_equal(text + length - strlen(last), last);
    free(text);
}

static void prints_short_and_whole_help(void **state)
{
    (void)state;
    helps(&cmd_cpd, false, "\nOptions that are used most:\n  -r, --rank R", cmd_cpd.short_ending);
    helps(&cmd_cpd, true, "\nModel:\n  -r, --rank R", cmd_cpd.ending);
    helps(&cmd_top, false, "\nEntries:\n  -n, --count N", cmd_top.ending);
    helps(&cmd_version, true, "\nGeneral:\n", "print the version\n");
}

/* The option comes first, then OMP_NUM_THREADS, which OpenMP has read itself, then that of SLURM.
 */
static void threads_come_from_the_option_or_the_environment(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("OMP_NUM_THREADS"), 0);
    assert_int_equal(setenv("SLURM_CPUS_PER_TASK", "3", 1), 0);
    assert_int_equal(cmd_set_threads(2, 1), 2);
    assert_int_equal(omp_get_max_threads(), 2);
    assert_int_equal(cmd_set_threads(0, 1), 3);
    assert_int_equal(omp_get_max_threads(), 3);
    assert_int_equal(setenv("SLURM_CPUS_PER_TASK", "many", 1), 0);
    assert_int_equal(cmd_set_threads(0, 1), 3);
    assert_int_equal(setenv("SLURM_CPUS_PER_TASK", "4", 1), 0);
    assert_int_equal(setenv("OMP_NUM_THREADS", "3", 1), 0);
    assert_int_equal(cmd_set_threads(0, 1), 3);
    assert_int_equal(unsetenv("SLURM_CPUS_PER_TASK"), 0);
}

/* Processes that share processors share the threads; a number that the user gives is that of each.
 */
static void threads_are_shared_among_processes(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("OMP_NUM_THREADS"), 0);
    assert_int_equal(setenv("SLURM_CPUS_PER_TASK", "3", 1), 0);
    assert_int_equal(cmd_set_threads(0, 2), 3);
    assert_int_equal(cmd_set_threads(5, 2), 5);
    assert_int_equal(unsetenv("SLURM_CPUS_PER_TASK"), 0);
    int all = omp_get_num_procs(), shared = all / 2 > 1 ? all / 2 : 1;
    assert_int_equal(cmd_set_threads(0, 2), shared);
    assert_int_equal(omp_get_max_threads(), shared);
    assert_int_equal(cmd_set_threads(0, all + 1), 1);
}

static void host_memory_is_what_is_given_or_there(void **state)
{
    (void)state;
    struct cmd_common common = {0};
    assert_true(cmd_host_memory(&common) > 0);
    common.options.host_memory = 12345;
    assert_int_equal(cmd_host_memory(&common), 12345);
}

static void takes_ranks_and_grids(void **state)
{
    (void)state;
    static const struct {
        int ranks, modes, parts[3], counted;
        const char *message; /* of a failure */
    } cases[] = {{0, 0, {0}, 0, NULL},
                 {7, 0, {0}, 7, NULL},
                 {0, 3, {2, 1, 3}, 6, NULL},
                 {6, 3, {2, 1, 3}, 6, NULL},
                 {0, 1, {1}, 1, NULL},
                 {4,
                  3,
                  {2, 1, 3},
                  4,
                  "--grid: '2x1x3', expected a product of 4, the number of "
                  "--ranks"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        struct cmd_ranks ranks = {.ranks = cases[i].ranks, .modes = cases[i].modes};
        memcpy(ranks.parts, cases[i].parts, sizeof cases[i].parts);
        assert_int_equal(cmd_count_ranks(&ranks, &error),
                         cases[i].message ? STATUS_INPUT : STATUS_OK);
        assert_int_equal(ranks.ranks, cases[i].counted);
        if (cases[i].message)
            assert_string_equal(error.message, cases[i].message);
    }
}

static void takes_what_ranks_are(void **state)
{
    (void)state;
    struct error error = {0};
    struct cmd_common common = {0};
    assert_int_equal(common.ranks.on, CMD_ON_BACKEND);
    assert_int_equal(option_give(cmd_info.sections, &common, "--on", "gpus", &error), STATUS_OK);
    assert_int_equal(common.ranks.on, CMD_ON_GPUS);
    assert_int_equal(option_give(cmd_info.sections, &common, "--on", "processors", &error),
                     STATUS_OK);
    assert_int_equal(common.ranks.on, CMD_ON_PROCESSORS);
    common.ranks.ranks = 2;
    assert_int_equal(cmd_count_ranks(&common.ranks, &error), STATUS_OK);
    assert_int_equal(option_give(cmd_info.sections, &common, "--on", "cards", &error),
                     STATUS_INPUT);
}

static void checks_the_numbers_of_a_grid(void **state)
{
    (void)state;
    struct error error = {0};
    struct cmd_ranks chosen = {.ranks = 4}, fixed = {.ranks = 4, .parts = {2, 2}, .modes = 2};
    assert_int_equal(cmd_check_grid(&chosen, 3, &error), STATUS_OK);
    assert_int_equal(cmd_check_grid(&fixed, 2, &error), STATUS_OK);
    assert_int_equal(cmd_check_grid(&fixed, 3, &error), STATUS_INPUT);
    assert_string_equal(error.message,
                        "--grid: '2x2', expected 3 numbers, one for each mode of the tensor");
}

/* A number of GPUs, all, or a list of their numbers. */
static void takes_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int count;
        bool listed;
        int device[3];
    } cases[] = {{"1", 1, false, {0}},          {"4", 4, false, {0}},
                 {"64", 64, false, {0}},        {"all", CMD_ALL_GPUS, false, {0}},
                 {"0,2", 2, true, {0, 2}},      {"2,", 1, true, {2}},
                 {"5,1,3", 3, true, {5, 1, 3}}, {"0,0", 2, true, {0, 0}}};
    struct cmd_common common = {0};
    assert_int_equal(common.gpus.count, 0);
    common.gpus.all_unless_given = true; /* survives what the user says */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", cases[i].text, &error),
                         STATUS_OK);
        assert_int_equal(common.gpus.count, cases[i].count);
        assert_int_equal(common.gpus.listed, cases[i].listed);
        assert_memory_equal(common.gpus.device, cases[i].device, sizeof cases[i].device);
        assert_true(common.gpus.all_unless_given);
    }
}

#define GPUS "expected a number of GPUs from 1 to 64, all, or the numbers of GPUs, as 0,2"

static void refuses_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"0", "--gpus: '0', " GPUS},
        {"65", "--gpus: '65', " GPUS},
        {"-1", "--gpus: '-1', " GPUS},
        {"two", "--gpus: 'two', " GPUS},
        {"", "--gpus: '', " GPUS},
        {"ALL", "--gpus: 'ALL', " GPUS},
        {",1", "--gpus: '', expected a whole number from 0 to 2147483647"},
        {"1,x", "--gpus: 'x', expected a whole number from 0 to 2147483647"},
        {"1,-2", "--gpus: '-2', expected a whole number from 0 to 2147483647"},
        {"all,1", "--gpus: 'all', expected a whole number from 0 to 2147483647"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        struct cmd_common common = {0};
        assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", cases[i].text, &error),
                         STATUS_INPUT);
        assert_string_equal(error.message, cases[i].message);
    }
}

/* More numbers than blco knows GPUs, and a number of very many digits. */
static void refuses_long_lists_of_gpus(void **state)
{
    (void)state;
    char list[4 * (CMD_MAX_GPUS + 1) + 1] = "";
    struct error error = {0}, digits = {0}, none = {0};
    struct cmd_common common = {0};
    for (int i = 0; i < CMD_MAX_GPUS; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%d,", i);
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", list, &none), STATUS_OK);
    assert_int_equal(common.gpus.count, CMD_MAX_GPUS);
    strcat(list, "64");
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", list, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "expected at most 64 numbers"));
    assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus",
                                 "1,00000000000000000000000000000000000000", &digits),
                     STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_the_shared_options),
        cmocka_unit_test(parses_anew_after_an_error),
        cmocka_unit_test(refuses_names_that_it_does_not_know),
        cmocka_unit_test(takes_names),
        cmocka_unit_test(takes_modes_that_are_nonnegative),
        cmocka_unit_test(answers_help_and_version),
        cmocka_unit_test(prints_short_and_whole_help),
        cmocka_unit_test(threads_come_from_the_option_or_the_environment),
        cmocka_unit_test(threads_are_shared_among_processes),
        cmocka_unit_test(host_memory_is_what_is_given_or_there),
        cmocka_unit_test(takes_ranks_and_grids),
        cmocka_unit_test(takes_what_ranks_are),
        cmocka_unit_test(checks_the_numbers_of_a_grid),
        cmocka_unit_test(takes_gpus),
        cmocka_unit_test(refuses_gpus),
        cmocka_unit_test(refuses_long_lists_of_gpus),
    };
    return cmocka_run_group_tests_name("cmd_common", tests, NULL, NULL);
}
