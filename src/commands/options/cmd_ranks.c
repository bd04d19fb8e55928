#include "commands/options/cmd_ranks.h"

#include <limits.h>
#include <string.h>

#include "commands/options/cli_values.h"
#include "plan/process_grid.h"

const struct word cmd_on_words[] = {
    {"gpus", CMD_ON_GPUS}, {"processors", CMD_ON_PROCESSORS}, {NULL, 0}};

enum status cmd_set_grid(const struct cli_option *o, void *to, const char *text,
                         struct error *error)
{
    struct cmd_ranks *ranks = to;
    return cli_grid(o->name, text, ranks->parts, &ranks->modes, error);
}

/* gpus->device = the numbers of a list. */
static enum status list_gpus(const struct cli_option *o, struct cmd_gpus *gpus, const char *text,
                             struct error *error)
{
    for (const char *at = text; *at; at += *at == ',') {
        uint64_t number;
        char word[32];
        size_t length = strcspn(at, ",");
        if (length >= sizeof word || gpus->count == CMD_MAX_GPUS)
            return error_set(error, STATUS_INPUT, "%s: '%s', expected at most %d numbers", o->name,
                             text, CMD_MAX_GPUS);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        TRY(cli_unsigned(o->name, word, 0, INT_MAX, &number, error));
        gpus->device[gpus->count++] = (int)number;
        at += length;
    }
    return STATUS_OK;
}

enum status cmd_set_gpus(const struct cli_option *o, void *to, const char *text,
                         struct error *error)
{
    struct cmd_gpus *gpus = to;
    struct error unused = {0};
    uint64_t number;
    *gpus = (struct cmd_gpus){.listed = strchr(text, ',') != NULL,
                              .all_unless_given = gpus->all_unless_given};
    if (gpus->listed)
        return list_gpus(o, gpus, text, error);
    if (strcmp(text, "all") == 0)
        gpus->count = CMD_ALL_GPUS;
    else if (cli_unsigned(o->name, text, 1, CMD_MAX_GPUS, &number, &unused) == STATUS_OK)
        gpus->count = (int)number;
    else
        error_set(error, STATUS_INPUT,
                  "%s: '%s', expected a number of GPUs from 1 to %d, all, or the numbers of GPUs, "
                  "as 0,2",
                  o->name, text, CMD_MAX_GPUS);
    return error->status;
}

enum status cmd_check_parts(const struct cmd_ranks *ranks, int count, const char *what,
                            struct error *error)
{
    char name[128];
    int product = 1;
    for (int n = 0; n < ranks->modes; n++)
        product *= ranks->parts[n];
    if (ranks->modes == 0 || product == count)
        return STATUS_OK;
    process_grid_name(ranks->parts, ranks->modes, name, sizeof name);
    return error_set(error, STATUS_INPUT,
                     "--grid: '%s', expected a product of %d, the number of %s", name, count, what);
}

enum status cmd_count_ranks(struct cmd_ranks *ranks, struct error *error)
{
    if (ranks->modes > 0 && ranks->ranks == 0) {
        ranks->ranks = 1;
        for (int n = 0; n < ranks->modes; n++)
            ranks->ranks *= ranks->parts[n];
    }
    return cmd_check_parts(ranks, ranks->ranks, "--ranks", error);
}

enum status cmd_check_grid(const struct cmd_ranks *ranks, int order, struct error *error)
{
    char name[128];
    if (ranks->modes == 0 || ranks->modes == order)
        return STATUS_OK;
    process_grid_name(ranks->parts, ranks->modes, name, sizeof name);
    return error_set(error, STATUS_INPUT,
                     "--grid: '%s', expected %d number%s, one for each mode of the tensor", name,
                     order, order == 1 ? "" : "s");
}

static bool are_different(const struct cmd_gpus *gpus)
{
    for (int i = 0; i < gpus->count; i++)
        for (int j = 0; j < i; j++)
            if (gpus->device[i] == gpus->device[j])
                return false;
    return true;
}

enum status cmd_find_gpus(struct cmd_gpus *gpus, const struct backend_kind *kind,
                          struct error *error)
{
    int have = 1, largest = gpus->count - 1;
    if (gpus->count != 0 && !kind->devices)
        return error_set(error, STATUS_INPUT, "--gpus: backend %s uses no GPU", kind->name);
    if (kind->devices)
        TRY(kind->devices(&have, error));
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
    if (!are_different(gpus))
        return error_set(error, STATUS_INPUT,
                         "--gpus: a GPU is named twice, expected different ones");
    return STATUS_OK;
}
