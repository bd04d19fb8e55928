/* A rank's share of a tensor file of any kind, so that no rank ever holds the whole tensor. */
#ifndef BLCO_SHARE_INPUT_H
#define BLCO_SHARE_INPUT_H

#include "base/progress.h"
#include "formats/tns/tns_options.h"
#include "ranks/share.h"

/* Reads this rank's share of the tensor at `path` ("-": text from the standard input of rank 0),
 * with all OpenMP threads; all ranks of c call this. Text has its duplicates and zeros; a share of
 * text may take options->memory bytes, or, where that is 0, the ranks of a host share evenly what
 * may be used. Rank 0 alone shows progress; progress of the others is NULL. The caller frees *s
 * with share_free; it is empty on failure. STATUS_INPUT, with the message of tensor_input_open and
 * tensor_input_read, and STATUS_MEMORY, the same on all ranks. */
enum status share_read(struct share *s, struct comm *c, const char *path,
                       const struct tns_options *options, struct progress *progress,
                       struct error *error);

#endif
