/* The ranks and GPUs that options ask for: --ranks, --grid, --on and --gpus. */
#ifndef BLCO_CMD_RANKS_H
#define BLCO_CMD_RANKS_H

#include <stdbool.h>

#include "backend/backend_kind.h"
#include "commands/options/cli.h"

#define CMD_MAX_GPUS 64
#define CMD_ALL_GPUS -1

/* What `blco info` assumes ranks to be. */
enum cmd_on { CMD_ON_BACKEND, CMD_ON_GPUS, CMD_ON_PROCESSORS };
extern const struct word cmd_on_words[];

/* The ranks (GPUs or processes) that work on one tensor. */
struct cmd_ranks {
    int ranks;            /* 0: neither --ranks nor --grid was given                        */
    int parts[MAX_ORDER]; /* of --grid: the number of ranges of each mode                   */
    int modes;            /* how many numbers --grid gave; 0: not given, a grid is chosen   */
    enum cmd_on on;       /* of --on; CMD_ON_BACKEND: what the backend works on             */
};

/* The GPUs that --gpus asks for. */
struct cmd_gpus {
    int count;             /* as given, or CMD_ALL_GPUS; 0: --gpus was not given                */
    bool listed;           /* --gpus gave their numbers; otherwise the first ones are meant     */
    bool all_unless_given; /* 0 means all GPUs; otherwise it means the first one                */
    int device[CMD_MAX_GPUS]; /* (count) their numbers                                          */
};

/* Take the arguments of --grid, into a struct cmd_ranks, and of --gpus, into a struct cmd_gpus: a
 * number alone is how many; a comma makes a list, also after a single number. */
cli_setter cmd_set_grid, cmd_set_gpus;

/* To be called once all options are set: without --ranks, --grid says how many ranks there are.
 * STATUS_INPUT where the two contradict each other. */
enum status cmd_count_ranks(struct cmd_ranks *ranks, struct error *error);

/* Checks that --grid, where given, is a grid of `count` ranks; `what` names the ranks in the
 * message
 * ("GPUs"). STATUS_INPUT. */
enum status cmd_check_parts(const struct cmd_ranks *ranks, int count, const char *what,
                            struct error *error);

/* Checks that --grid, where given, has a number for each mode of the tensor. STATUS_INPUT. */
enum status cmd_check_grid(const struct cmd_ranks *ranks, int order, struct error *error);

/* Sets gpus->count and gpus->device: which GPUs of this machine are meant, of which the first
 * CMD_MAX_GPUS count. A backend without GPUs gets the one number 0. STATUS_INPUT where there are no
 * such GPUs, or the list names one twice; errors as kind->devices. */
enum status cmd_find_gpus(struct cmd_gpus *gpus, const struct backend_kind *kind,
                          struct error *error);

#endif
