/* The options of `blco bench --to-fit`, and which options go with it. */
#ifndef BLCO_TO_FIT_SETTINGS_H
#define BLCO_TO_FIT_SETTINGS_H

#include "bench/to_fit.h"
#include "commands/options/cli.h"
#include "commands/options/cmd_common.h"

/* Keys of options of blco bench. */
enum {
    BENCH_KEY_SAMPLES = CMD_KEY_OWN,
    BENCH_KEY_JSON,
    BENCH_KEY_ALS,
    BENCH_KEY_TO_FIT,
    BENCH_KEY_STARTS,
    BENCH_KEY_TOL,
    BENCH_KEY_SEED
};

extern const struct cli_option to_fit_options[];

struct to_fit_settings {
    bool wanted;         /* --to-fit                                                           */
    const char *only;    /* an option that was given and goes with --to-fit only; borrowed     */
    const char *against; /* an option that was given and does not go with --to-fit; borrowed   */
    int starts, iterations;
    uint64_t seed;
    double tolerance;
};

struct to_fit_settings to_fit_settings_default(void);

/* Notes every option of blco bench; *taken says whether it is one of to_fit_options, which no one
 * else need take. STATUS_INPUT where the argument is wrong. */
enum status to_fit_settings_note(struct to_fit_settings *s, int key, const char *text, bool *taken,
                                 struct error *error);

/* To be called once all options are set. STATUS_INPUT where options do not go together. */
enum status to_fit_settings_check(const struct to_fit_settings *s, struct error *error);

/* Sets what the settings say of *request. */
void to_fit_settings_apply(const struct to_fit_settings *s, struct to_fit_request *request);

#endif
