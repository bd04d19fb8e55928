/* Tensor files of every kind, told apart by what is in them, not by their names: FROSTT text, plain
 * or gzip, and .blco. */
#ifndef BLCO_TENSOR_FILE_H
#define BLCO_TENSOR_FILE_H

#include "base/progress.h"
#include "formats/tns/tns.h"
#include "tensor/coo.h"

enum tensor_format { TENSOR_TEXT, TENSOR_BLCO };

struct tensor_report {
    struct tns_report text;
    struct coo_cleaning cleaning;
    double read_seconds, clean_seconds;
};

/* Finds out what kind of file it is. "-", standard input, is text. STATUS_INPUT where it cannot be
 * told: a .blco file must be given by its name. A file that cannot be read is taken for text, whose
 * reader says why. */
enum status tensor_format(const char *path, enum tensor_format *format, struct error *error);

/* What kind of file is to be written under this name: .blco where it ends in that, else text. */
enum tensor_format tensor_format_named(const char *path);

/* Reads a tensor from text by all OpenMP threads and cleans it (coo_clean). *x is fresh, or empty
 * on failure; x->nnz may be 0. STATUS_INPUT, STATUS_MEMORY. */
enum status tensor_read_text(struct coo *x, const char *path, const struct tns_options *options,
                             struct progress *progress, struct tensor_report *report,
                             struct error *error);

/* STATUS_INPUT where --dims gives other lengths than those of a .blco file. */
enum status tensor_check_lengths(const char *path, const struct shape *shape,
                                 const struct tns_options *options, struct error *error);

/* Tells people what cleaning did, where it did anything. */
void tensor_note_cleaning(struct progress *progress, const struct coo_cleaning *cleaning);

#endif
