/* How long some work took, and how fast it was, in words. */
#ifndef BLCO_PACE_H
#define BLCO_PACE_H

#define PACE_TEXT  64
#define PACE_LEAST 0.01 /* seconds: what took less says nothing of the machine */

/* Writes " in 1.23 s, 456 MB/s", where `amount` is counted in MB and `unit` is "MB/s"; " in 1.23 s"
 * where `unit` is NULL; nothing where it took less than PACE_LEAST, into text[0..PACE_TEXT),
 * terminated; returns text. */
const char *pace(double amount, const char *unit, double seconds, char *text);

#endif
