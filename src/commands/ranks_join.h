/* How the processes that a launcher has started begin to work together: they meet, and compare what
 * each of them was asked for. */
#ifndef BLCO_RANKS_JOIN_H
#define BLCO_RANKS_JOIN_H

#include "commands/options/cli.h"
#include "comm/comm.h"

/* *world = the communicator of all processes, which the caller closes; NULL where they do not meet.
 * Every process calls it first, also one whose options are wrong, which *error then says.
 * Afterwards all processes go on or all fail: with the wrong options of one, or with STATUS_INPUT
 * where one differs from rank 0 in the command, the version of blco, an option of `sections`, or
 * the name of a file without its folder. In some options processes may differ: cli_option has the
 * rule, blco-cluster(7) a list. Errors of comm_world. */
enum status ranks_join(struct comm **world, const struct cli_line *line,
                       const struct cli_section *sections, struct error *error);

#endif
