/* Parses the options of the command line that say how nonzeros are drawn. */
#ifndef BLCO_GENERATE_PARSE_H
#define BLCO_GENERATE_PARSE_H

#include "generate/generate.h"

/* Each function parses the argument of the option of its name into spec->skew; spec->shape.order
 * must be set. STATUS_INPUT with a message that says what was expected. */

/* "0.5,even,1": each mode's Zipf exponent. */
enum status generate_parse_skew(const char *text, struct generate_spec *spec, struct error *error);

/* "100000:3,4:1.5": size of the fiber pool, its modes and perhaps its Zipf exponent. */
enum status generate_parse_fibers(const char *text, struct generate_spec *spec,
                                  struct error *error);

/* "2:0.5:4" or "2:0.5:4:scattered": the mode of the runs, which fraction of the nonzeros they have,
 * and their mean length. */
enum status generate_parse_runs(const char *text, struct generate_spec *spec, struct error *error);

#endif
