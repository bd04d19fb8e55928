/* Reads a tensor in NumPy arrays, whole or in pieces, as tns.h does text. */
#ifndef BLCO_NPY_READ_H
#define BLCO_NPY_READ_H

#include "formats/npy/npy_tensor.h"
#include "formats/tns/tns.h"

/* Both as tns_read() and tns_read_pieces() of text (tns.h). */
enum status npy_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error);
enum status npy_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                            const struct tns_pieces *pieces, struct tns_report *report,
                            struct error *error);

/* Ends the stage: the entries were read in so many seconds. */
void npy_show_done(const struct npy_tensor *t, struct progress *progress, double seconds);

#endif
