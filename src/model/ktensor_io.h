/* Reads and writes the files of a model, which appear all or not at all. Implemented in
 * ktensor_read.c, ktensor_write.c and ktensor_size.c. */
#ifndef BLCO_KTENSOR_IO_H
#define BLCO_KTENSOR_IO_H

#include <stdbool.h>

#include "base/stem_lock.h"
#include "model/ktensor.h"

/* Formats, as a set of bits:
 * TEXT: STEM.modeN.mat and STEM.lambda.mat (SPLATT's names), one text line for each row;
 * NPY: STEM.modeN.npy and STEM.lambda.npy, NumPy arrays of float64 in C order;
 * KTNS: STEM.ktns, the `ktensor` text of Tensor Toolbox, pyttb and GenTen. */
#define KTENSOR_TEXT 1u
#define KTENSOR_NPY  2u
#define KTENSOR_KTNS 4u

struct ktensor_files {
    int count;
    char *path[3 * (MAX_ORDER + 1)]; /* owned */
};

/* Writes the model in every format of the set `formats`, as files of the stem that is locked
 * (outfile_set_lock). Text has the fewest digits that read back to the same number. The files
 * replace older ones of their names together (outfile_set.h); on failure none is left, and older
 * files are untouched. *files receives the names in the order of writing; the caller frees *files
 * with ktensor_files_free, after a failure too. STATUS_OUTPUT, STATUS_MEMORY. */
enum status ktensor_write(const struct ktensor *k, struct stem_lock *lock, unsigned formats,
                          struct ktensor_files *files, struct error *error);

/* Bytes of all numbers of a model as .npy files hold them, and bytes that the files of text among
 * the formats will take, estimated from some of the numbers. */
uint64_t ktensor_bytes(const struct shape *shape, uint64_t rank);
uint64_t ktensor_text_bytes(const struct ktensor *k, unsigned formats);

/* *files = the names that ktensor_write gives the files of a model of this order, in the order of
 * writing. The caller frees *files, after a failure too. STATUS_MEMORY. */
enum status ktensor_files_name(struct ktensor_files *files, int order, const char *stem,
                               unsigned formats, struct error *error);

/* Accepts an empty list. */
void ktensor_files_free(struct ktensor_files *files);

/* Checks, before a long computation, that the files of a model of this order can be written: the
 * folder exists, a file can be made there, and no folder has a file's name. Order 0: not known yet;
 * then what every model has is checked. STATUS_OUTPUT with the reason, STATUS_MEMORY. */
enum status ktensor_writable(const char *stem, int order, unsigned formats, struct error *error);

/* Reads a model, whole: where a run was killed while it replaced the files, all old ones or all new
 * ones (outfile_set_find). Reads STEM.ktns, else STEM.mode1.npy ..., else STEM.mode1.mat ...; a
 * stem that ends in .ktns is read as that file. `order` is the expected number of modes; 0: any.
 * lambda is all one if it has no file. The caller frees *k with ktensor_free; *k is empty on
 * failure. STATUS_INPUT, with file and text line in the message; STATUS_MEMORY. */
enum status ktensor_read(struct ktensor *k, const char *stem, int order, struct error *error);

/* Reads what there is of a model, of any number of modes. Where its matrices have a file each, all
 * but those of the modes `needed` (MAX_ORDER) may be missing: a missing mode has length 0 in *k,
 * whose order is the number of the last mode with a file. Everything else as ktensor_read. */
enum status ktensor_read_some(struct ktensor *k, const char *stem, const bool *needed,
                              struct error *error);

#endif
