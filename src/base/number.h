/* Text to numbers and numbers to text: exact in both directions, fast on ordinary numbers,
 * independent of the locale.
 *
 * Measured against std::from_chars and std::to_chars of the C++ library, ns a number, ours /
 * theirs: parsing counts 4.3 / 6.3, values such as 2.37 6.5 / 7.1, 17 digits 19 / 13, denormals 243
 * / 16; printing the fewest digits 24-31 / 34-44. from_chars also refuses "+1". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NUMBER_MAX_TEXT 32 /* bytes that number_format needs at most */

/* Parses the longest decimal number at text ([+-] digits [. digits] [e [+-] digits]; also inf and
 * nan, any case) in [text, end), correctly rounded: a number too large for a double is infinite.
 * Returns the first byte after the number, or NULL where there is none; *value then stays as it is.
 * The text need not be terminated. */
const char *number_parse(const char *text, const char *end, double *value);

/* Parses a word for an unknown number, as NumPy, pandas and R write it: nan, -nan, +nan or na in
 * any case. Returns the first byte after the word, or NULL where text begins with none. */
const char *number_parse_unknown(const char *text, const char *end);

/* Parses decimal digits in [text, end). Returns the first byte after the digits, or NULL where
 * there is none; *value is UINT64_MAX where the number does not fit. */
const char *number_parse_unsigned(const char *text, const char *end, uint64_t *value);

/* Writes the fewest digits that read back to exactly `value` (any double; "inf", "-inf", "nan")
 * into text[0..NUMBER_MAX_TEXT), not terminated. Returns the first byte after the number. */
char *number_format(double value, char *text);

/* Writes `value` in decimal into text[0..NUMBER_MAX_TEXT), not terminated. Returns the first byte
 * after the number. */
char *number_format_unsigned(uint64_t value, char *text);

#define NUMBER_SIZE_TEXT 16

/* Writes "812 bytes", "1.50 MB" or "120 GB" into text[0..NUMBER_SIZE_TEXT), terminated; returns
 * text. The units are powers of 1000, as of the sizes that options take (cli_size). */
const char *number_size(uint64_t bytes, char *text);

/* The same, in a text that lives as long as the block around it. */
#define NUMBER_SIZE(bytes) number_size((bytes), (char[NUMBER_SIZE_TEXT]){0})

/* `bytes`, which is 0 or more, as a whole number; UINT64_MAX where it does not fit. */
uint64_t number_whole(double bytes);
