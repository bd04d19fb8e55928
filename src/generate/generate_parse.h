/* How nonzeros are drawn, as the command line says it. */
#ifndef BLCO_GENERATE_PARSE_H
#define BLCO_GENERATE_PARSE_H

#include "generate/generate.h"

/* Each reads the argument of the option of its name into spec->skew; spec->order is known.
 * STATUS_INPUT with a line that says what was expected. */

/* "0.5,even,1": each mode's Zipf exponent. */
enum status generate_parse_skew(const char *text, struct generate_spec *spec, struct error *error);

/* "100000:3,4:1.5": tuples, their modes and perhaps their Zipf exponent. */
enum status generate_parse_fibers(const char *text, struct generate_spec *spec,
                                  struct error *error);

/* "2:0.5:4" or "2:0.5:4:scattered": mode, share of the nonzeros and mean length. */
enum status generate_parse_runs(const char *text, struct generate_spec *spec, struct error *error);

#endif
