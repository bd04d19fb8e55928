#include "commands/machine_choice.h"

#include <string.h>

/* Sets common->gpus: which GPUs of this machine are meant, of which the first CMD_MAX_GPUS count. A
 * backend without GPUs gets the one number 0. With `presumed` the driver is not asked: the first
 * GPU is meant. STATUS_INPUT where there are no such GPUs, or the list names one twice; errors as
 * kind->devices. */
static enum status choose_gpus(struct machine_choice *c, bool presumed, struct error *error)
{
    struct cmd_gpus *gpus = &c->common->gpus;
    *gpus = c->asked;
    int have = 1, largest = gpus->count - 1;
    if (c->common->options.memory > 0 && !c->kind->devices)
        return error_set(error, STATUS_INPUT, "--memory: backend %s uses no GPU", c->kind->name);
    if (gpus->count != 0 && !c->kind->devices)
        return error_set(error, STATUS_INPUT, "--gpus: backend %s uses no GPU", c->kind->name);
    if (c->kind->devices && !presumed)
        TRY(c->kind->devices(&have, error));
    have = have < CMD_MAX_GPUS ? have : CMD_MAX_GPUS;
    if (gpus->count <= 0) {
        gpus->count = gpus->count == CMD_ALL_GPUS || gpus->all_unless_given ? have : 1;
        largest = gpus->count - 1;
    }
    for (int i = 0; i < gpus->count; i++) {
        gpus->device[i] = gpus->listed ? gpus->device[i] : i;
        largest = gpus->device[i] > largest ? gpus->device[i] : largest;
    }
    if (largest >= have)
        return error_set(error, STATUS_INPUT,
                         "--gpus: GPU %d, but this machine has %d, counted from 0", largest, have);
    for (int i = 0; i < gpus->count; i++)
        for (int j = 0; j < i; j++)
            if (gpus->device[i] == gpus->device[j])
                return error_set(error, STATUS_INPUT,
                                 "--gpus: a GPU is named twice, expected different ones");
    c->common->options.device = gpus->device[0];
    return STATUS_OK;
}

/* Whether the first GPU is meant and seems to be there. */
static bool presumes_gpu(const struct machine_choice *c)
{
    const bool may = strcmp(c->common->backend, "auto") == 0 ||
                     strcmp(c->common->backend, backend_cuda.name) == 0;
    return may && c->asked.count == 0 && !c->asked.all_unless_given && backend_cuda.likely &&
           backend_cuda.likely();
}

enum status machine_choose(struct machine_choice *c, struct cmd_common *common, struct error *error)
{
    *c = (struct machine_choice){.common = common, .asked = common->gpus};
    const bool presumed = presumes_gpu(c);
    if (presumed)
        c->kind = &backend_cuda;
    else
        TRY(backend_choose(&c->kind, common->backend, &c->why_not, error));
    return choose_gpus(c, presumed, error);
}

enum status machine_choose_again(struct machine_choice *c, const struct error *woken,
                                 struct error *error)
{
    if (woken->status == STATUS_OK)
        return STATUS_OK;
    if (strcmp(c->common->backend, "auto") != 0) {
        *error = *woken;
        return error_prefix(error, "backend %s: ", c->kind->name);
    }
    c->kind = &backend_host;
    c->why_not = *woken;
    return choose_gpus(c, false, error);
}

enum status machine_choose_now(struct cmd_common *common, const struct backend_kind **kind,
                               struct error *why_not, struct error *error)
{
    struct machine_choice c;
    struct error woken = {0};
    *kind = NULL;
    TRY(machine_choose(&c, common, error));
    backend_wake_now(c.kind, common->options.device, &woken);
    TRY(machine_choose_again(&c, &woken, error));
    *kind = c.kind;
    if (why_not)
        *why_not = c.why_not;
    return STATUS_OK;
}
