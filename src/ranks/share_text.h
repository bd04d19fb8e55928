/* A rank's share of FROSTT text. Of a regular file of plain text every rank parses the text lines
 * that begin in its share of the bytes. Gzip, pipes and standard input are read by rank 0 alone,
 * which deals the entries of each window of text out evenly. */
#ifndef BLCO_SHARE_TEXT_H
#define BLCO_SHARE_TEXT_H

#include "formats/tns/tns_text.h"
#include "ranks/share.h"

/* share_read of text, in windows of these sizes; as tns_read says, on every rank with the message
 * that one process gives. */
enum status share_read_text(struct share *s, struct comm *c, const char *path,
                            const struct tns_options *options, const struct tns_sizes *sizes,
                            struct progress *progress, struct error *error);

#endif
