/* Numbers in text: exact in both directions, fast on ordinary ones, independent of the locale. */
#ifndef BLCO_NUMBER_H
#define BLCO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_MAX_TEXT 32 /* room that number_format needs */

/* Parses the longest decimal number at text ([+-] digits [. digits] [e [+-] digits]; also inf and
 * nan, any case) in [text, end), correctly rounded. Returns the first byte behind it, or NULL where
 * there is no number. The text need not be terminated. */
const char *number_parse(const char *text, const char *end, double *value);

/* Parses decimal digits in [text, end). Returns the first byte behind them, or NULL where there is
 * no digit; *value is UINT64_MAX where the number does not fit. */
const char *number_parse_unsigned(const char *text, const char *end, uint64_t *value);

/* Writes the fewest digits that read back to exactly `value` (any double; "inf", "-inf", "nan")
 * into text[0..NUMBER_MAX_TEXT), not terminated. Returns the first byte behind them. */
char *number_format(double value, char *text);

/* Writes an unsigned number in decimal, not terminated, and returns the first byte behind it. */
char *number_format_unsigned(uint64_t value, char *text);

#define NUMBER_SIZE_TEXT 16

/* "812 bytes", "1.5 MB" into text[0..NUMBER_SIZE_TEXT), which is returned. */
const char *number_size(uint64_t bytes, char *text);

#endif
