/* Dates and numbers in fields: their values, and their bins, whose names the fields become. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum csv_bin_kind { CSV_BIN_NONE, CSV_BIN_TIME, CSV_BIN_HOUR_OF_WEEK, CSV_BIN_NUMBER };

struct csv_bin {
    enum csv_bin_kind kind;
    int64_t width; /* of CSV_BIN_TIME in seconds; of CSV_BIN_NUMBER times 10^decimals */
    int decimals;
};

/* Reads a width: 90s, 15m, 1h or 7d, "hour-of-week", or a decimal number above 0. Returns whether
 * `text` is one. */
bool csv_bin_parse(struct csv_bin *bin, const char *text);

#define CSV_BIN_ROOM 64 /* bytes of the name of a bin at most */

/* Writes the name of the bin of the field text[0..length) to name[0..CSV_BIN_ROOM), not terminated,
 * and returns its length; 0 where the field is no date or no number. A date is one of ISO 8601, as
 * 2026-11-23, 2026-11-23T14:05 or 2026-11-23 14:05:59.5+01:00, or the seconds since 1970. The last
 * number of a time may have a fraction. A date with an offset is counted in UTC. The name of a bin
 * is its begin: a date or a number. Numbers are binned exactly; those of 2^53 units of the last
 * digit of the width, or more, are none. */
size_t csv_bin_name(const struct csv_bin *bin, const char *text, size_t length, char *name);

/* Whether the field is a number that reads as a date without hyphens: 2026, 202611, 20261123 or
 * 202611231405, with a year from 1000 to 2999, perhaps with .0 behind. */
bool csv_bin_is_compact(const char *text, size_t length);

/* The value of a number or of a date in seconds, exactly: `whole`, then `rest`. */
struct csv_value {
    double whole, rest;
};

/* Reads a number, or a date of ISO 8601 as above. Returns whether text[0..length) is one. */
bool csv_value_number(struct csv_value *value, const char *text, size_t length);
bool csv_value_date(struct csv_value *value, const char *text, size_t length);

#define CSV_BIN_HOURS (7 * 24)

/* The name of an hour of the week, from 0, Monday's first: "Mon 00". */
size_t csv_bin_hour(int hour, char *name);
