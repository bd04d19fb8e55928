/* Tensor files of every format: FROSTT text and CSV, plain or gzip, .blco, and NumPy arrays. Their
 * contents show which format they have; of CSV the name or an option may say so as well, of NumPy
 * arrays the name does. */
#pragma once

#include "base/progress.h"
#include "formats/blco/blco_pieces.h"
#include "formats/blco/blco_writer.h"
#include "formats/csv/csv.h"
#include "formats/npy/npy_tensor.h"
#include "formats/tns/tns.h"
#include "formats/tns/tns_writer.h"
#include "tensor/coo.h"

/* All formats, in the order in which they are looked for; text, which any file may be, comes last.
 */
#define TENSOR_FORMAT_COUNT 4
extern const struct tensor_format *const tensor_formats[TENSOR_FORMAT_COUNT];

/* Finds the format of the file r->path, and sets r->format: CSV where r->csv has columns, where the
 * name ends in .csv, .tsv or one of these and .gz, or where the first text line is no line of a
 * tensor but a header. "-", standard input, is text unless there are columns. STATUS_INPUT if
 * standard input is a .blco file, which must be given by its name, if a .blco file or NumPy arrays
 * are given with columns, or if r->tns, which may be NULL, gives a first index to a file without
 * indices of its own. A file that cannot be read counts as text; the reader of text then gives the
 * reason. */
enum status tensor_file_find_format(struct tensor_reader *r, struct error *error);

/* The format to write under this name: .blco if the name ends in .blco, else text. */
const struct tensor_format *tensor_format_named(const char *path);

/* Bytes of memory that coo_clean() needs for an entry, in addition to the entry. */
#define TENSOR_CLEAN_BYTES 16

/* coo_clean() of entries of the file `path`, as `options` say; its name begins the message if they
 * are at fault. */
enum status tensor_clean(struct coo *x, const char *path, const struct tns_options *options,
                         const uint64_t *first, struct coo_cleaning *report, struct error *error);

/* Puts the name of the text file `path` before the message if its entries are at fault
 * (STATUS_INPUT); returns the status of *error. */
enum status tensor_name_overflow(const char *path, struct error *error);

/* STATUS_INPUT where cleaning has left no nonzero, of `entries` in the file: of the `nnz` that are
 * left, *listed are unknown or zero. */
enum status tensor_check_left(const char *path, uint64_t entries, uint64_t nnz,
                              const struct coo_listed *listed, struct error *error);

/* Shows the user what cleaning did, if it did anything. */
void tensor_note_cleaning(struct progress *progress, const struct coo_cleaning *cleaning);

/* --- writing a tensor that comes in pieces in alto order, .blco or text by the name --- */

struct tensor_writer {
    const struct tensor_format *format;
    struct blco_writer blco;
    struct tns_writer text;
};

struct tensor_write_options {
    struct tns_write_options text;
    uint64_t memory; /* of a .blco file: bytes of nonzeros that may wait; one segment always may */
};

/* Begins a file for a tensor of this shape and `nnz` nonzeros. The caller frees *w, which is empty
 * on failure. STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_writer_open(struct tensor_writer *w, const char *path, const struct shape *shape,
                               uint64_t nnz, const struct tensor_write_options *options,
                               struct error *error);

/* Writes the next piece; every piece but the last has a multiple of BLCO_SEGMENT_NNZ nonzeros.
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_writer_append(struct tensor_writer *w, const struct coo *x, struct error *error);

/* Completes the file. *report has its bytes and, for text, the bytes before compression.
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_writer_commit(struct tensor_writer *w, struct line_writer_report *report,
                                 struct error *error);

/* Deletes a file that was not committed. Accepts an empty *w. */
void tensor_writer_free(struct tensor_writer *w);
