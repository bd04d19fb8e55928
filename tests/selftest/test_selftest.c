/* The self-test passes if all answers are right, and each of its checks fails if an answer is
 * wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "selftest/selftest.h"
#include "support/rank_runs.h"
#include "support/scratch.h"

/* The host backend, one operation of which gives a wrong answer. */
static struct backend_kind wrong;
static struct backend_ops operations;

static enum status wrong_fetch(void *state, int mode, double *m, struct error *error)
{
    enum status status = backend_host.ops->fetch(state, mode, m, error);
    m[0] += 1e-6;
    return status;
}

static enum status wrong_fit(void *state, int mode, const struct momentum *m,
                             struct backend_fit *fit, struct error *error)
{
    enum status status = backend_host.ops->fit(state, mode, m, fit, error);
    fit->value -= 1e-4;
    return status;
}

static enum status wrong_residual(void *state, struct backend_residual *r, struct error *error)
{
    enum status status = backend_host.ops->residual(state, r, error);
    r->weight[0] *= 1.001;
    return status;
}

static enum status wrong_model(void *state, const struct model_form *form, struct ktensor *k,
                               struct error *error)
{
    enum status status = backend_host.ops->store(state, form, k, error);
    k->factor[0][0] += 0.1;
    return status;
}

static enum status wrong_state(void *state, struct ktensor *k, struct carried *carried,
                               struct error *error)
{
    enum status status = backend_host.ops->save(state, k, carried, error);
    /* the Gram of the last mode */
    carried->gram[(k->shape.order - 1) * (int)(k->rank * k->rank)] *= 1.0 + 0x1p-40;
    return status;
}

static enum status no_mttkrp(void *state, int mode, struct error *error)
{
    (void)state;
    return error_set(error, STATUS_INTERNAL, "no MTTKRP of mode %d today", mode + 1);
}

static void begin(void)
{
    operations = *backend_host.ops;
    wrong = backend_host;
    wrong.ops = &operations;
}

static int shown(char *text, size_t size, FILE *out)
{
    rewind(out);
    text[fread(text, 1, size - 1, out)] = '\0';
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    return lines;
}

/* Runs the checks of a backend alone, or on two ranks; which ones failed is in text. */
static struct selftest run(const struct backend_kind *kind, int ranks, char *text, size_t size)
{
    FILE *out = tmpfile();
    struct selftest t = {.stream = out, .quiet = true, .folder = scratch_folder};
    assert_non_null(out);
    if (ranks > 1)
        selftest_run_team(&t, kind, ranks, (const int[]){0, device_of(kind, 1), device_of(kind, 2)},
                          "here");
    else
        selftest_run_alone(&t, kind, 0, "here");
    assert_int_equal(shown(text, size, out), t.failed);
    fclose(out);
    return t;
}

static void assert_failed(const char *text, const char *check, const char *why)
{
    const char *line = strstr(text, check);
    if (!line)
        fail_msg("'%s' has passed: %s", check, text);
    const char *end = strchr(line, '\n');
    const char *found = strstr(line, why);
    if (!found || found > end)
        fail_msg("'%s' does not say '%s': %s", check, why, text);
}

static void test_all_is_well(void **state)
{
    (void)state;
    char text[4096];
    for (int ranks = 1; ranks <= 3; ranks++) {
        struct selftest t = run(&backend_host, ranks, text, sizeof text);
        assert_string_equal(text, "");
        assert_int_equal(t.failed, 0);
        assert_int_equal(t.passed, ranks == 1 ? 9 : 7);
    }
}

static void test_wrong_mttkrp(void **state)
{
    (void)state;
    char text[4096];
    begin();
    operations.fetch = wrong_fetch;
    assert_int_equal(run(&wrong, 1, text, sizeof text).failed, 1);
    assert_failed(text, "MTTKRP, double", "order 3, rank 16, auto, mode 1: relative error");
    assert_failed(text, "MTTKRP, double", "expected at most 1e-12");
}

/* Alone and on two ranks: each of the runs to a known fit fails, by the fit. */
static void test_wrong_fit(void **state)
{
    (void)state;
    char text[4096];
    begin();
    operations.fit = wrong_fit;
    operations.residual = wrong_residual;
    for (int ranks = 1; ranks <= 2; ranks++) {
        run(&wrong, ranks, text, sizeof text);
        assert_failed(text, "matrix multiplication, rank 1", "fit: 0.06");
        assert_failed(text, "matrix multiplication, rank 7", "expected 1 within 1e-06");
        assert_failed(text, "superdiagonal", "expected 0.2614511 within 1e-07");
        assert_failed(text, "planted models, dense", "expected 1 within 1e-05");
        assert_failed(text, "planted model, sparse", "expected 1 within 1e-05");
        assert_failed(text, "counts, Poisson", "newton, rank 1: deviance: 2097.88");
    }
}

static void test_wrong_model(void **state)
{
    (void)state;
    char text[4096];
    begin();
    operations.store = wrong_model;
    struct selftest t = run(&wrong, 1, text, sizeof text);
    assert_failed(text, "matrix multiplication, rank 1", "fit of the model by its definition");
    assert_failed(text, "planted models, dense", "fit of the model by its definition");
    assert_failed(text, "planted model, sparse", "fit of the model by its definition");
    assert_true(t.failed >= 5);
}

static void test_wrong_state(void **state)
{
    (void)state;
    char text[4096];
    begin();
    operations.save = wrong_state;
    for (int ranks = 1; ranks <= 2; ranks++) {
        assert_int_equal(run(&wrong, ranks, text, sizeof text).failed, 1);
        assert_failed(text, "resumed from a checkpoint", "after resuming");
    }
}

/* Alone, each check by itself fails; ranks that work together end with the first. */
static void test_errors(void **state)
{
    (void)state;
    char text[4096];
    begin();
    operations.mttkrp = no_mttkrp;
    struct selftest t = run(&wrong, 1, text, sizeof text);
    assert_int_equal(t.failed, 9);
    assert_int_equal(t.passed, 0);
    assert_failed(text, "resumed", "no MTTKRP of mode 1 today");
    t = run(&wrong, 2, text, sizeof text);
    assert_int_equal(t.failed, 1);
    assert_int_equal(t.passed, 0);
    assert_failed(text, "rank 1", "no MTTKRP of mode 1 today");
}

static enum status no_counts(struct plan_request *request, const struct backend_options *options,
                             struct error *error)
{
    if (options->problem.loss == LOSS_POISSON)
        return error_set(error, STATUS_INPUT, "no counts today");
    return backend_host.request(request, options, error);
}

/* A backend that refuses the loss is no failure, alone and on ranks that work together. */
static void test_refused_loss(void **state)
{
    (void)state;
    char text[4096];
    begin();
    wrong.request = no_counts;
    for (int ranks = 1; ranks <= 2; ranks++) {
        FILE *out = tmpfile();
        struct selftest t = {.stream = out, .folder = scratch_folder};
        assert_non_null(out);
        if (ranks > 1)
            selftest_run_team(&t, &wrong, ranks, (const int[]){0, 1}, "here");
        else
            selftest_run_alone(&t, &wrong, 0, "here");
        const int lines = shown(text, sizeof text, out);
        if (t.failed > 0)
            fail_msg("%s", text);
        assert_int_equal(t.passed, ranks == 1 ? 8 : 6);
        assert_int_equal(lines, t.passed + 1);
        assert_failed(text, "not tested: counts, Poisson loss, here", "no counts today");
        fclose(out);
    }
}

/* The host cannot stream, which is an error and so a failure. */
static void test_not_streamed(void **state)
{
    (void)state;
    struct verdict f = {0};
    struct error error = {0};
    const struct selftest_place place = {.kind = &backend_host};
    assert_int_equal(check_mttkrp(&place, MTTKRP_STREAMED, &f, &error), STATUS_MEMORY);
}

static void test_no_folder(void **state)
{
    (void)state;
    char text[4096];
    FILE *out = tmpfile();
    struct selftest t = {.stream = out, .folder = "/nowhere"};
    assert_non_null(out);
    selftest_run_files(&t);
    assert_int_equal(t.passed, 1);
    assert_int_equal(t.failed, 2);
    assert_int_equal(shown(text, sizeof text, out), 3);
    assert_failed(text, "tensor files", "/nowhere");
    assert_failed(text, "model files", "/nowhere");
    fclose(out);

    out = tmpfile();
    t = (struct selftest){.stream = out};
    assert_non_null(out);
    selftest_run_files(&t);
    assert_int_equal(t.passed, 1);
    assert_int_equal(t.failed, 0);
    assert_int_equal(shown(text, sizeof text, out), 3);
    assert_non_null(strstr(text, "not tested: tensor files"));
    fclose(out);
}

static void test_verdict(void **state)
{
    (void)state;
    static const struct {
        struct selftest t;
        const char *message;
    } cases[] = {{{.passed = 3}, ""},
                 {{.failed = 2}, "2 of 2 checks failed"},
                 {{.passed = 3, .failed = 1}, "1 of 4 checks failed"},
                 {{.passed = 0}, "no check was run"},
                 {{.passed = 1, .failed = 2, .lack = {STATUS_MEMORY, "no room"}},
                  "2 of 3 checks failed; no room"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        assert_int_equal(selftest_verdict(&cases[i].t, &error), i == 0 ? STATUS_OK
                                                                : cases[i].t.lack.status != 0
                                                                    ? cases[i].t.lack.status
                                                                    : STATUS_INTERNAL);
        assert_string_equal(error.message, cases[i].message);
    }
}

/* Each allocation fails in turn: an error, which fails the check, and no file is left. */
static void test_allocation_failures(void **state)
{
    (void)state;
    static const struct {
        selftest_function *run;
        int which;
    } checks[] = {{check_ordering, 0},
                  {check_model_files, 0},
                  {check_runs, RUNS_SUPERDIAGONAL},
                  {check_runs, RUNS_COUNTS},
                  {check_resume, 0}};
    struct error none = {0};
    const struct selftest_place place = {
        .kind = &backend_host, .comm = comm_self(&none), .folder = scratch_folder};
    assert_non_null(place.comm);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        int failures = 0;
        for (long k = 0, fired = 1; fired; k += k < 15 ? 1 : 17) {
            struct verdict f = {0};
            struct error error = {0};
            memory_hook_set(k);
            enum status status = checks[i].run(&place, checks[i].which, &f, &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            assert_true(fired || verdict_good(&f));
            failures += (int)fired;
        }
        assert_true(failures > 3);
    }
    comm_finalize(place.comm);
}

/* A GPU passes, in single precision and streamed, too. */
static void test_gpu(void **state)
{
    char text[4096];
    struct selftest t = run(backend_of(state), 1, text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(t.passed, 10);
}

/* So do several GPUs together. */
static void test_gpus(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    char text[4096];
    int ranks = most_ranks(kind, 3);
    if (ranks == 1)
        skip();
    struct selftest t = run(kind, ranks, text, sizeof text);
    assert_int_equal(t.failed, 0);
    assert_int_equal(t.passed, 7);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_all_is_well),
        IN_FOLDER(test_wrong_mttkrp),
        IN_FOLDER(test_wrong_fit),
        IN_FOLDER(test_wrong_model),
        IN_FOLDER(test_wrong_state),
        IN_FOLDER(test_errors),
        IN_FOLDER(test_refused_loss),
        cmocka_unit_test(test_not_streamed),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_verdict),
        IN_FOLDER(test_allocation_failures),
        {"test_gpu", test_gpu, scratch_make, scratch_remove, (void *)&backend_cuda},
        {"test_gpus", test_gpus, scratch_make, scratch_remove, (void *)&backend_cuda},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
