/* The commands of the table in command_table.c. Implemented in cmd_*.c, a file for each command;
 * the help of cpd stands beside its option tables in cpd_settings.c. */
#ifndef BLCO_CMD_H
#define BLCO_CMD_H

#include <stdio.h>

#include "base/error.h"
#include "commands/options/cli.h"

/* Each command takes its own arguments (argv[0] is its name) and returns the exit code:
 * error->status, or 128 plus the number of the signal that ended cpd early. */
int cmd_cpd(int argc, char **argv, struct error *error);
int cmd_info(int argc, char **argv, struct error *error);
int cmd_convert(int argc, char **argv, struct error *error);
int cmd_generate(int argc, char **argv, struct error *error);
int cmd_bench(int argc, char **argv, struct error *error);
int cmd_selftest(int argc, char **argv, struct error *error);
int cmd_completion(int argc, char **argv, struct error *error);
int cmd_version(int argc, char **argv, struct error *error);
int cmd_top(int argc, char **argv, struct error *error);
int cmd_compare(int argc, char **argv, struct error *error);
int cmd_report(int argc, char **argv, struct error *error);

/* What `blco help COMMAND` prints. */
void cmd_cpd_help(FILE *stream);
void cmd_cpd_help_all(FILE *stream); /* what `blco cpd --help=all` prints */
void cmd_info_help(FILE *stream);
void cmd_convert_help(FILE *stream);
void cmd_generate_help(FILE *stream);
void cmd_bench_help(FILE *stream);
void cmd_top_help(FILE *stream);
void cmd_compare_help(FILE *stream);
void cmd_report_help(FILE *stream);
void cmd_selftest_help(FILE *stream);
void cmd_completion_help(FILE *stream);
void cmd_version_help(FILE *stream);

/* Their options. */
extern const struct cli_section cmd_cpd_sections[];
extern const struct cli_section cmd_info_sections[];
extern const struct cli_section cmd_convert_sections[];
extern const struct cli_section cmd_generate_sections[];
extern const struct cli_section cmd_bench_sections[];
extern const struct cli_section cmd_top_sections[];
extern const struct cli_section cmd_compare_sections[];
extern const struct cli_section cmd_report_sections[];
extern const struct cli_section cmd_selftest_sections[];
extern const struct cli_section cmd_completion_sections[];
extern const struct cli_section cmd_version_sections[];

#endif
