/* Which backend and which GPUs a command works on, and what becomes of a GPU that does not answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "commands/cmd.h"
#include "commands/machine_choice.h"
#include "support/options.h"

static void chooses_a_backend_by_its_name(void **state)
{
    (void)state;
    struct error error = {0}, none = {0};
    struct cmd_common common = {0};
    const struct backend_kind *kind = NULL;
    common.backend = "host";
    assert_int_equal(machine_choose_now(&common, &kind, NULL, &none), STATUS_OK);
    assert_ptr_equal(kind, &backend_host);
    common = (struct cmd_common){.backend = "gpu"};
    assert_int_equal(machine_choose_now(&common, &kind, NULL, &error), STATUS_INPUT);
    assert_null(kind);
    assert_string_equal(error.message, "unknown backend \"gpu\", expected auto, cuda or host");
}

/* The host backend has no GPUs: asked for none it is one rank's; asked for some it refuses. */
static void chooses_the_host_backend_without_gpus(void **state)
{
    (void)state;
    static const char *const asked[] = {NULL, "1", "2", "all", "0,2", "2,", "0,0"};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        for (int together = 0; together < 2; together++) {
            struct error error = {0};
            struct cmd_common common = {0};
            const struct backend_kind *kind = NULL;
            common.backend = "host";
            common.options.problem.rank = 2;
            common.gpus.all_unless_given = together;
            if (asked[i])
                assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", asked[i], &error),
                                 STATUS_OK);
            assert_int_equal(machine_choose_now(&common, &kind, NULL, &error),
                             asked[i] ? STATUS_INPUT : STATUS_OK);
            assert_string_equal(error.message, asked[i] ? "--gpus: backend host uses no GPU" : "");
            if (!asked[i])
                assert_true(common.gpus.count == 1 && common.options.device == 0);
        }
}

/* GPUs that this machine does not have, and one that stands twice. */
static void checks_the_numbers_of_gpus(void **state)
{
    (void)state;
    int have;
    struct error error = {0};
    if (backend_cuda.available(&error) != STATUS_OK)
        skip();
    assert_int_equal(backend_cuda.devices(&have, &error), STATUS_OK);
    static const struct {
        const char *text, *message;
    } cases[] = {{"0,0", "--gpus: a GPU is named twice, expected different ones"},
                 {"64", "--gpus: GPU 63, but this machine has "},
                 {"0,1000", "--gpus: GPU 1000, but this machine has "},
                 {"all", NULL},
                 {"0,", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error wrong = {0};
        struct cmd_common common = {0};
        const struct backend_kind *kind = NULL;
        common.backend = "cuda";
        common.options.problem.rank = 2;
        assert_int_equal(option_give(cmd_cpd.sections, &common, "--gpus", cases[i].text, &wrong),
                         STATUS_OK);
        assert_int_equal(machine_choose_now(&common, &kind, NULL, &wrong),
                         cases[i].message ? STATUS_INPUT : STATUS_OK);
        if (cases[i].message)
            assert_memory_equal(wrong.message, cases[i].message, strlen(cases[i].message));
        else
            assert_int_equal(common.gpus.count, cases[i].text[0] == 'a' ? have : 1);
    }
}

/* As if cuda had been chosen, and its GPU woken with the outcome *woken. */
static enum status choose_again(struct machine_choice *c, struct cmd_common *common,
                                const struct error *woken, struct error *error)
{
    *c = (struct machine_choice){.common = common, .asked = common->gpus, .kind = &backend_cuda};
    common->gpus = (struct cmd_gpus){.count = 1, .device = {2}};
    common->options.device = 2;
    return machine_choose_again(c, woken, error);
}

static void keeps_a_gpu_that_answers(void **state)
{
    (void)state;
    struct error error = {0}, woken = {0};
    struct machine_choice c;
    struct cmd_common common = {.backend = "auto"};
    assert_int_equal(choose_again(&c, &common, &woken, &error), STATUS_OK);
    assert_ptr_equal(c.kind, &backend_cuda);
    assert_int_equal(c.why_not.status, STATUS_OK);
    assert_int_equal(common.options.device, 2);
}

static void host_stands_in_for_a_gpu_that_does_not_answer(void **state)
{
    (void)state;
    struct error error = {0}, woken = {0};
    struct machine_choice c;
    struct cmd_common common = {.backend = "auto"};
    error_set(&woken, STATUS_INPUT, "the GPU does not answer: why");
    assert_int_equal(choose_again(&c, &common, &woken, &error), STATUS_OK);
    assert_ptr_equal(c.kind, &backend_host);
    assert_string_equal(c.why_not.message, "the GPU does not answer: why");
    assert_true(common.gpus.count == 1 && common.options.device == 0);
}

/* Whoever asks for cuda or for GPUs has an error instead. */
static void nothing_stands_in_for_what_was_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *backend, *gpus, *message;
    } cases[] = {{"cuda", NULL, "backend cuda: the GPU does not answer: why"},
                 {"cuda", "1", "backend cuda: the GPU does not answer: why"},
                 {"auto", "1", "--gpus: backend host uses no GPU"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0}, woken = {0};
        struct machine_choice c;
        struct cmd_common common = {0};
        error_set(&woken, STATUS_INPUT, "the GPU does not answer: why");
        common.backend = cases[i].backend;
        if (cases[i].gpus)
            assert_int_equal(
                option_give(cmd_cpd.sections, &common, "--gpus", cases[i].gpus, &error), STATUS_OK);
        assert_int_equal(choose_again(&c, &common, &woken, &error), STATUS_INPUT);
        assert_string_equal(error.message, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_a_backend_by_its_name),
        cmocka_unit_test(chooses_the_host_backend_without_gpus),
        cmocka_unit_test(checks_the_numbers_of_gpus),
        cmocka_unit_test(keeps_a_gpu_that_answers),
        cmocka_unit_test(host_stands_in_for_a_gpu_that_does_not_answer),
        cmocka_unit_test(nothing_stands_in_for_what_was_asked_for),
    };
    return cmocka_run_group_tests_name("machine_choice", tests, NULL, NULL);
}
