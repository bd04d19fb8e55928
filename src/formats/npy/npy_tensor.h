/* A tensor in NumPy array files, named as COORDS.npy,VALUES.npy or COORDS.npy: the coordinates,
 * an array of integers of shape (entries, order) in C or Fortran order, and the values, an array of
 * shape (entries,) of floats, integers or booleans. Without values every entry counts 1. */
#ifndef BLCO_NPY_TENSOR_H
#define BLCO_NPY_TENSOR_H

#include <stdbool.h>

#include "formats/npy/npy_file.h"
#include "formats/tns/tns.h"

/* Whether a tensor of this name is in NumPy arrays, and whether the name has that of the values. */
bool npy_tensor_named(const char *path);
bool npy_tensor_has_values(const char *path);

/* The names of the one or two files, which the caller frees with memory_free; NULL where there is
 * none. STATUS_MEMORY. */
enum status npy_tensor_paths(const char *path, char *name[2], struct error *error);

/* The number of the first index: that of --index-base if it is given, else 0, as NumPy counts. */
int npy_tensor_index_base(const struct tns_options *options);

struct npy_tensor {
    const char *path; /* both names; borrowed                                        */
    char *name[2];    /* of coords and values; owned; the second is NULL without values */
    struct npy_file coords, values;
    const struct tns_options *options; /* borrowed */
    int order;
    uint64_t entries;
    uint64_t limit[MAX_ORDER];   /* indices of mode n are below this one    */
    uint32_t largest[MAX_ORDER]; /* the largest index of mode n, so far     */
};

/* Opens the files and compares their shapes with each other and with *options. `path` and *options
 * outlive *t. The caller closes *t, after a failure too. STATUS_INPUT, STATUS_MEMORY. */
enum status npy_tensor_open(struct npy_tensor *t, const char *path,
                            const struct tns_options *options, struct error *error);

/* The shape of the tensor, from t->largest and the lengths of t->options. */
struct shape npy_tensor_shape(const struct npy_tensor *t);

/* Bytes of both arrays. */
uint64_t npy_tensor_bytes(const struct npy_tensor *t);

/* Accepts a zeroed *t. */
void npy_tensor_close(struct npy_tensor *t);

/* Reads entries first to first + count - 1, of any type and order of the arrays, to x, from its
 * entry `at` on, by all OpenMP threads, and raises t->largest. STATUS_INPUT where an index or a
 * value is bad: the first such entry, counted from 0, as NumPy does. */
enum status npy_entries_read(struct npy_tensor *t, uint64_t first, uint64_t count, struct coo *x,
                             uint64_t at, struct error *error);

/* Read the tensor whole or in pieces, as tns_read() and tns_read_pieces() read text (tns.h). */
enum status npy_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error);
enum status npy_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                            const struct tns_pieces *pieces, struct tns_report *report,
                            struct error *error);

/* Ends the stage: the entries were read in so many seconds. */
void npy_show_done(const struct npy_tensor *t, struct progress *progress, double seconds);

#endif
