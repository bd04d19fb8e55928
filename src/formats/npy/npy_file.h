/* NumPy array files (.npy), format 1.0 to 3.0: the header, and where the entries are. Arrays of one
 * or two dimensions, little-endian. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/infile.h"

#define NPY_MAGIC       "\x93NUMPY"
#define NPY_MAGIC_BYTES 6

enum npy_type {
    NPY_F8,
    NPY_F4,
    NPY_I8,
    NPY_I4,
    NPY_I2,
    NPY_I1,
    NPY_U8,
    NPY_U4,
    NPY_U2,
    NPY_U1,
    NPY_BOOL
};

/* The types that a file may have, for one use of it. */
struct npy_accepted {
    unsigned types;       /* bits 1 << NPY_F8, ... */
    const char *expected; /* for messages          */
};

struct npy_file {
    struct infile in;
    enum npy_type type;
    int dimensions;      /* 1 or 2                                    */
    uint64_t rows, cols; /* cols is 1 if the shape is (rows,)         */
    int column_major;    /* Fortran order, as Julia writes            */
    uint64_t contents;   /* where (rows * cols) entries begin, in the file */
};

/* Bytes of an entry. */
uint64_t npy_entry_bytes(enum npy_type type);

/* Opens the file and reads its header; `path` outlives *a. The caller closes *a, which is empty on
 * failure. STATUS_INPUT if the file cannot be read or is damaged, if its entries are of another
 * type than accepted, or if it has more than two dimensions; STATUS_MEMORY. */
enum status npy_file_open(struct npy_file *a, const char *path, const struct npy_accepted *accepted,
                          struct error *error);

/* Accepts an empty *a. */
void npy_file_close(struct npy_file *a);
