#include "commands/machine_choice.h"

#include <string.h>

static enum status choose_gpus(struct machine_choice *c, struct error *error)
{
    struct cmd_common *common = c->common;
    common->gpus = c->asked;
    if (common->options.memory > 0 && !c->kind->devices)
        return error_set(error, STATUS_INPUT, "--memory: backend %s uses no GPU", c->kind->name);
    TRY(cmd_find_gpus(&common->gpus, c->kind, error));
    common->options.device = common->gpus.device[0];
    return STATUS_OK;
}

enum status machine_choose(struct machine_choice *c, struct cmd_common *common, struct error *error)
{
    *c = (struct machine_choice){.common = common, .asked = common->gpus};
    TRY(backend_choose(&c->kind, common->backend, &c->why_not, error));
    return choose_gpus(c, error);
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
    return choose_gpus(c, error);
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
