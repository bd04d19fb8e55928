/* blco top --unlisted: the entries of a slice that a tensor does not list and where a model is
 * largest. */
#ifndef BLCO_TOP_UNLISTED_H
#define BLCO_TOP_UNLISTED_H

#include "commands/given_indices.h"
#include "commands/options/cmd_common.h"

struct top_unlisted {
    const struct cmd_common *common;
    const char *stem, *tensor; /* the names of the model and of the tensor */
    const struct ktensor *model;
    const struct labels *labels; /* read */
    struct given_indices given;
    uint64_t count; /* of the entries that are wanted */
    bool json;
};

/* Reads the tensor, finds the entries and prints them. STATUS_INPUT, STATUS_MEMORY. */
enum status top_unlisted(const struct top_unlisted *t, struct error *error);

#endif
