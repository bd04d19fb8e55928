/* A rank's share of a file. In a regular file of plain text every rank parses the text lines that
 * begin in its share of the bytes. Gzip, pipes and standard input are read by rank 0 alone, which
 * deals out the entries of each window of text evenly; so is CSV, because names are numbered in the
 * order of the whole file. A rank reads a range of the entries of NumPy arrays, and a range of the
 * segments of a .blco file. */
#ifndef BLCO_SHARE_READ_H
#define BLCO_SHARE_READ_H

#include "base/progress.h"
#include "formats/blco/blco_file.h"
#include "formats/csv/csv.h"
#include "formats/tns/tns_options.h"
#include "ranks/share.h"

/* Each of these reads this rank's share; every rank of c calls it. The caller frees *s with
 * share_free; it is empty on failure, which all ranks see. */

/* Errors of tns_read, with the message that one process gives. */
enum status share_read_text(struct share *s, struct comm *c, const char *path,
                            const struct tns_options *options, struct progress *progress,
                            struct error *error);

/* On rank 0 *names gets the names, which the caller frees. Errors of csv_read. */
enum status share_read_csv(struct share *s, struct comm *c, const struct csv_source *source,
                           struct tensor_names *names, struct progress *progress,
                           struct error *error);

/* Errors of npy_read. */
enum status share_read_npy(struct share *s, struct comm *c, const char *path,
                           const struct tns_options *options, struct progress *progress,
                           struct error *error);

/* Opens the same .blco file on every rank of c (tensor_open_blco), or fails on all. The caller
 * closes *f, which is empty on failure; `path` outlives *f. STATUS_INPUT, also where the ranks'
 * files differ. */
enum status share_open_blco(struct blco_file *f, struct comm *c, const char *path,
                            const struct tns_options *options, struct error *error);

/* Reads from an open .blco file. STATUS_INPUT, STATUS_MEMORY. */
enum status share_read_blco(struct share *s, struct comm *c, const struct blco_file *f,
                            struct progress *progress, struct error *error);

/* As share_read_blco, but only about every `every`-th nonzero (1 or more) of the share is read;
 * s->total is the number of nonzeros that all ranks have read. */
enum status share_sample_blco(struct share *s, struct comm *c, const struct blco_file *f,
                              uint64_t every, struct error *error);

#endif
