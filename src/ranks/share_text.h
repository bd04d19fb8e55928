/* A rank's share of FROSTT text. In a regular file of plain text every rank parses the text lines
 * that begin in its share of the bytes. Gzip, pipes and standard input are read by rank 0 alone,
 * which deals out the entries of each window of text evenly. */
#ifndef BLCO_SHARE_TEXT_H
#define BLCO_SHARE_TEXT_H

#include "formats/tns/tns_text.h"
#include "ranks/share.h"

/* Reads this rank's share; every rank of c calls it. The caller frees *s with share_free; it is
 * empty on failure. Errors of tns_read, with the message that one process gives, on every rank. */
enum status share_read_text(struct share *s, struct comm *c, const char *path,
                            const struct tns_options *options, struct progress *progress,
                            struct error *error);

#endif
