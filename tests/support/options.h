/* Options set one by one, as a command line sets them. */
#pragma once

#include <string.h>

#include "commands/options/cli.h"

/* The row of this name; NULL where there is none. */
static inline const struct cli_option *option_row(const struct cli_section *sections,
                                                  const char *name)
{
    for (; sections->title; sections++)
        for (const struct cli_option *o = sections->options; o->name; o++)
            if (strcmp(o->name, name) == 0)
                return o;
    return NULL;
}

/* Gives the option of this name to the settings. */
static inline enum status option_give(const struct cli_section *sections, void *settings,
                                      const char *name, const char *text, struct error *error)
{
    const struct cli_option *o = option_row(sections, name);
    return o ? o->set(o, (char *)settings + o->at, text, error)
             : error_set(error, STATUS_INTERNAL, "no option %s", name);
}
