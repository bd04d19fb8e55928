/* What the user asks of `blco cpd`, checked as far as it can be without the tensor. */
#ifndef BLCO_CPD_SETTINGS_H
#define BLCO_CPD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/cmd_common.h"
#include "model/ktensor.h"

struct cpd_settings {
    struct cmd_common common; /* options.rank included                              */
    const char *tensor;       /* path, or "-"                                       */
    char *stem;               /* of the files; owned; NULL where nowrite leaves it so */
    unsigned formats;         /* KTENSOR_TEXT ...                                   */
    bool nowrite, verbose;
    int iterations;
    double tolerance;
    uint64_t seed;
    enum ktensor_init init; /* where init_stem is NULL                            */
    const char *init_stem;  /* the model to start from, or NULL                   */
};

/* Fills *s from the command line. The caller frees it with cpd_settings_free, on failure too. Where
 * common.help or common.version is set, nothing else counts. STATUS_INPUT. */
enum status cpd_settings_parse(struct cpd_settings *s, int argc, char **argv, struct error *error);

void cpd_settings_free(struct cpd_settings *s);

#endif
