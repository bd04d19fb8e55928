/* blco cpd on ranks that are threads of one process and share a job, as GPUs do: the result is that
 * of one rank alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comm/comm.h"
#include "commands/cpd/cpd_job.h"
#include "support/naive.h"
#include "support/scratch.h"

static void write_tensor(const char *path)
{
    struct coo x;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    naive_random_coo(&x, &(struct shape){3, {30, 25, 40}}, 3000, 5, 1);
    for (uint64_t i = 0; i < x.nnz; i++)
        fprintf(file, "%u %u %u %.17g\n", x.index[0][i] + 1, x.index[1][i] + 1, x.index[2][i] + 1,
                x.value[i]);
    coo_free(&x);
    assert_int_equal(fclose(file), 0);
}

/* A job that is ready for cpd_run, as cmd_cpd.c makes it. */
static void prepare(struct cpd_job *job, char **argv)
{
    struct error error = {0};
    struct cpd_inputs *in = &job->inputs;
    *job = (struct cpd_job){.inputs.line.argv = argv, .run.record.fd = -1};
    while (argv[in->line.argc])
        in->line.argc++;
    cli_parse(&in->line, cpd_sections, &in->settings, &error);
    cpd_settings_complete(&in->settings, &in->line, &error);
    job->run.world = comm_self(&error);
    machine_choose(&in->choice, &in->settings.common, &error);
    cpd_start_prepare(in, &error);
    runs_create(&job->results.runs, &in->settings.runs, NULL, &error);
    if (error.status != STATUS_OK)
        fail_msg("%s", error.message);
}

static void end(struct cpd_job *job)
{
    cpd_reports_free(&job->results.reports);
    findings_free(&job->results.findings);
    runs_free(&job->results.runs);
    cpd_job_free(job);
}

static void test_team(void **state)
{
    (void)state;
    struct error error = {0};
    struct cpd_job alone, team;
    char tensor[64], saved[64];
    snprintf(tensor, sizeof tensor, "%s", scratch_path("x.tns"));
    snprintf(saved, sizeof saved, "%s", scratch_path("checkpoint"));
    write_tensor(tensor);
    char *argv[] = {"cpd",  tensor, "-r",         "3",          "--nowrite", "--backend",
                    "host", "-v",   "--starts=2", "--tol=1e-9", NULL};
    char *with[] = {"cpd",       tensor, "-r",           "3",   "--nowrite",
                    "--backend", "host", "--checkpoint", saved, NULL};
    for (int c = 0; c < 2; c++) {
        prepare(&alone, c ? with : argv);
        prepare(&team, c ? with : argv);
        if (cpd_run(alone.run.world, &alone, &error) != STATUS_OK ||
            comm_run_team(3, cpd_run, &team, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        const struct starts *a = &alone.results.runs.starts[0], *b = &team.results.runs.starts[0];
        assert_int_equal(a->made, b->made);
        assert_int_equal(a->best, b->best);
        for (int i = 0; i < a->made; i++) {
            assert_true(fabs(a->start[i].result.fit - b->start[i].result.fit) < 1e-9);
            assert_true(
                shape_equal(&team.results.runs.model[i].shape, &alone.results.runs.model[i].shape));
        }
        assert_int_equal(alone.results.reports.count, 0);
        assert_int_equal(team.results.reports.count, 3);
        assert_int_equal(team.results.tensor.nnz, alone.results.tensor.nnz);
        assert_true(team.results.tensor.hash == alone.results.tensor.hash);
        assert_int_equal(team.inputs.settings.saving.about.tensor.nnz, alone.results.tensor.nnz);
        end(&alone);
        end(&team);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_team, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("cpd_run", tests, NULL, NULL);
}
