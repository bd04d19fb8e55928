/* The tensor that a command works on: read, cleaned, and refused where nothing is left of it. */
#ifndef BLCO_TENSOR_INPUT_H
#define BLCO_TENSOR_INPUT_H

#include "tns.h"

/* Reads the tensor at `path` ("-": standard input), adds up its duplicates and drops its zeros, and
 * notes how many. *read_seconds and *clean_seconds say how long that took. *x is the caller's to
 * free, on failure too. STATUS_INPUT also where every entry is zero. */
enum status tensor_input_read(struct coo *x, const char *path, const struct tns_options *options,
                              struct progress *progress, double *read_seconds,
                              double *clean_seconds, struct error *error);

#endif
