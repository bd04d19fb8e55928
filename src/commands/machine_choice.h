/* Which backend and which GPUs a command works on. */
#pragma once

#include "backend/backend_kind.h"
#include "commands/options/cmd_common.h"

struct machine_choice {
    struct cmd_common *common;       /* borrowed                                    */
    struct cmd_gpus asked;           /* common->gpus as the user gave them          */
    const struct backend_kind *kind; /* NULL until one is chosen                    */
    struct error why_not;            /* why "auto" gives the host; STATUS_OK if not */
};

/* Finds the backend that --backend names and the GPUs that --gpus means; no GPU is used yet. Where
 * the machine seems to have one and only one is needed, the driver is not asked: that takes long,
 * and waking the GPU does it.
 * Afterwards common->gpus has the numbers of the GPUs (of a backend without any, one number 0), and
 * common->options.device is the first. Errors of backend_choose(), and STATUS_INPUT. */
enum status machine_choose(struct machine_choice *c, struct cmd_common *common,
                           struct error *error);

/* To be called once the first device has answered or not: *woken is the outcome of
 * backend_wake_wait. A device that does not answer is an error where --backend names its kind; with
 * "auto" the host takes its place, and c->why_not says why, unless --gpus asks for GPUs. */
enum status machine_choose_again(struct machine_choice *c, const struct error *woken,
                                 struct error *error);

/* machine_choose, and machine_choose_again once the device is awake: for a command that has nothing
 * to do meanwhile. *kind is NULL on failure; why_not may be NULL. */
enum status machine_choose_now(struct cmd_common *common, const struct backend_kind **kind,
                               struct error *why_not, struct error *error);
