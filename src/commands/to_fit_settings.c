#include "commands/to_fit_settings.h"

#define MOST_STARTS 1000

const struct cli_option to_fit_options[] = {
    {"to-fit", BENCH_KEY_TO_FIT, NULL,
     "instead: how long each way of ALS takes to come near\nthe best fit, from the same starts"},
    {"starts", BENCH_KEY_STARTS, "N", "N random starts, of the seeds that follow (5)"},
    {"seed", BENCH_KEY_SEED, "N", "seed of the first start (1)"},
    {"iters", 'i', "N", "at most N iterations from a start (3000)"},
    {"tol", BENCH_KEY_TOL, "X",
     "end a run when the fit changes by less than X (1e-9);\n0: only after the last iteration"},
    {NULL, 0, NULL, NULL}};

struct to_fit_settings to_fit_settings_default(void)
{
    return (struct to_fit_settings){.starts = 5, .iterations = 3000, .seed = 1, .tolerance = 1e-9};
}

static enum status set_number(const char *option, const char *text, uint64_t most, int *to,
                              struct error *error)
{
    uint64_t number = 0;
    if (cli_unsigned(option, text, 1, most, &number, error) == STATUS_OK)
        *to = (int)number;
    return error->status;
}

enum status to_fit_settings_note(struct to_fit_settings *s, int key, const char *text, bool *taken,
                                 struct error *error)
{
    *taken = true;
    switch (key) {
    case BENCH_KEY_TO_FIT:
        s->wanted = true;
        return STATUS_OK;
    case BENCH_KEY_STARTS:
        s->only = "--starts";
        return set_number(s->only, text, MOST_STARTS, &s->starts, error);
    case BENCH_KEY_SEED:
        s->only = "--seed";
        return cli_unsigned(s->only, text, 0, CMD_MAX_SEED, &s->seed, error);
    case 'i':
        s->only = "--iters";
        return set_number(s->only, text, FIT_TRACE_MOST, &s->iterations, error);
    case BENCH_KEY_TOL:
        s->only = "--tol";
        return cli_nonnegative(s->only, text, &s->tolerance, error);
    case BENCH_KEY_SAMPLES:
        s->against = "--samples";
        break;
    case BENCH_KEY_ALS:
        s->against = "--als";
        break;
    case CMD_KEY_PRECISION:
        s->against = "--precision";
        break;
    }
    *taken = false;
    return STATUS_OK;
}

enum status to_fit_settings_check(const struct to_fit_settings *s, struct error *error)
{
    if (!s->wanted && s->only)
        return error_set(error, STATUS_INPUT, "%s goes with --to-fit only", s->only);
    if (s->wanted && s->against)
        return error_set(error, STATUS_INPUT,
                         "%s does not go with --to-fit, which times whole runs, in each precision",
                         s->against);
    return STATUS_OK;
}

void to_fit_settings_apply(const struct to_fit_settings *s, struct to_fit_request *request)
{
    request->starts = s->starts;
    request->seed = s->seed;
    request->iterations = s->iterations;
    request->tolerance = s->tolerance;
    request->repeats = TO_FIT_REPEATS;
}
