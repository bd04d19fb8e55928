/* The commands, which command_table.c lists. Implemented in cmd_*.c, a file for each command. */
#ifndef BLCO_CMD_H
#define BLCO_CMD_H

#include "commands/options/cmd_common.h"

extern const struct command cmd_cpd, cmd_top, cmd_predict, cmd_compare, cmd_report, cmd_info,
    cmd_convert, cmd_bench, cmd_generate, cmd_selftest, cmd_completion, cmd_version;

#endif
