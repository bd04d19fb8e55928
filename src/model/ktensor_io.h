/* The model's files, in and out. All of a model's files appear whole or not at all. */
#ifndef BLCO_KTENSOR_IO_H
#define BLCO_KTENSOR_IO_H

#include "model/ktensor.h"

/* Formats, as a set of bits. */
#define KTENSOR_TEXT                                                                               \
    1u                 /* STEM.modeN.mat and STEM.lambda.mat (SPLATT's names): one row per line   */
#define KTENSOR_NPY 2u /* STEM.modeN.npy and STEM.lambda.npy: NumPy, float64, C order */
#define KTENSOR_KTNS                                                                               \
    4u /* STEM.ktns: the `ktensor` text of Tensor Toolbox, pyttb and GenTen       */

struct ktensor_files {
    int count;
    char *path[3 * (MAX_ORDER + 1)]; /* owned */
};

/* Writes the model in every format of the set. Text has the fewest digits that read back to the
 * same number. Files are written under temporary names in the same folder, synced, and renamed only
 * when all are complete; on failure none is left and older files of those names are untouched.
 * `files` receives the names in order of writing; the caller frees it, on failure too.
 * STATUS_OUTPUT. */
enum status ktensor_write(const struct ktensor *k, const char *stem, unsigned formats,
                          struct ktensor_files *files, struct error *error);

void ktensor_files_free(struct ktensor_files *files);

/* Says before a long run whether files of this stem could be written: the folder exists and a file
 * can be made in it. STATUS_OUTPUT with the reason. */
enum status ktensor_writable(const char *stem, struct error *error);

/* Reads a model back: STEM.ktns, else STEM.mode1.npy ..., else STEM.mode1.mat ...; a path that ends
 * in .ktns is read as that file. `order` is how many modes are expected (0: as many as there are).
 * lambda is all one where it has no file. STATUS_INPUT names file and line. *k is fresh, or empty
 * on failure. */
enum status ktensor_read(struct ktensor *k, const char *stem, int order, struct error *error);

#endif
