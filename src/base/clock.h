/* A clock for measuring how long something takes; and, in words, how long some work took and how
 * fast it was. */
#pragma once

#include <stdint.h>

/* Seconds of a clock that never goes back; only differences have a meaning. */
double clock_now(void);

/* Seconds since *start, a time of clock_now; *start becomes the present time, so that consecutive
 * laps leave no gap. */
double clock_lap(double *start);

#define PACE_TEXT  64
#define PACE_LEAST 0.01 /* seconds: shorter times are too noisy to show */

/* Writes " in 1.23 s, 456 million a second", where `amount` is counted in millions and `unit` is
 * "million a second"; " in 1.23 s" where `unit` is NULL; nothing where it took less than
 * PACE_LEAST, into text[0..PACE_TEXT), terminated; returns text. */
const char *pace(double amount, const char *unit, double seconds, char *text);

/* The same for bytes: " in 1.23 s, 456 MB/s of text", where `what` is " of text". */
const char *pace_bytes(uint64_t bytes, const char *what, double seconds, char *text);
