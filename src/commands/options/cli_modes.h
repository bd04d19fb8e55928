/* Lists of modes on the command line. Modes count from 1 there, from 0 in arrays. Each function
 * reads all of `text`, or fails with STATUS_INPUT and says what is wrong with the argument of
 * `option`. *most becomes the largest mode that `text` names, unless it is larger already. */
#ifndef BLCO_CLI_MODES_H
#define BLCO_CLI_MODES_H

#include <stdbool.h>

#include "base/error.h"

/* Sets the flags (MAX_ORDER) of the modes that `text` lists as 1,3; none of these is set before. */
enum status cli_modes(const char *option, const char *text, bool *flag, int *most,
                      struct error *error);

/* Sets value (MAX_ORDER), numbers of 0 or more: all of them to the number that `text` is, or those
 * of the modes that `text` lists as 1=0.5,3=0. These modes are added to `listed` (MAX_ORDER), which
 * a number alone empties. */
enum status cli_mode_numbers(const char *option, const char *text, double *value, bool *listed,
                             int *most, struct error *error);

#endif
