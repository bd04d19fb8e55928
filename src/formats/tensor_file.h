/* Tensor files of every kind: FROSTT text and CSV, plain or gzip, .blco, and NumPy arrays. Their
 * contents show which kind they are; of CSV the name or an option may say so as well, of NumPy
 * arrays the name does. */
#ifndef BLCO_TENSOR_FILE_H
#define BLCO_TENSOR_FILE_H

#include "base/progress.h"
#include "formats/blco/blco_file.h"
#include "formats/csv/csv.h"
#include "formats/tns/tns.h"
#include "tensor/coo.h"

enum tensor_format { TENSOR_TEXT, TENSOR_BLCO, TENSOR_CSV, TENSOR_NPY };

struct tensor_report {
    struct tns_report text;
    struct coo_cleaning cleaning;
    double read_seconds, clean_seconds;
};

/* Finds out the kind of a file: CSV where `csv`, which may be NULL, has columns, where the name
 * ends in .csv, .tsv or one of these and .gz, or where the first text line is no line of a tensor
 * but a header. "-", standard input, is text unless there are columns. STATUS_INPUT if standard
 * input is a .blco file, which must be given by its name, if a .blco file or NumPy arrays are given
 * with columns, or if `text`, which may be NULL, gives a first index to a file without indices of
 * its own. A file that cannot be read counts as text; the reader of text then gives the reason. */
enum status tensor_format(const char *path, const struct csv_options *csv,
                          const struct tns_options *text, enum tensor_format *format,
                          struct error *error);

/* The kind of file to write under this name: .blco if the name ends in .blco, else text. */
enum tensor_format tensor_format_named(const char *path);

/* Reads a tensor from text or from NumPy arrays with all OpenMP threads and cleans it
 * (coo_clean()); x->nnz may be 0. The caller frees *x, which is empty on failure. STATUS_INPUT,
 * STATUS_MEMORY. */
enum status tensor_read_text(struct coo *x, const char *path, const struct tns_options *options,
                             struct progress *progress, struct tensor_report *report,
                             struct error *error);

/* tns_read_pieces() of text or of NumPy arrays. */
enum status tensor_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                               const struct tns_pieces *pieces, struct tns_report *report,
                               struct error *error);

/* The same from CSV; *names gets the names, which the caller frees. STATUS_INPUT also where --dims
 * gives other lengths. */
enum status tensor_read_csv(struct coo *x, struct tensor_names *names,
                            const struct csv_source *source, struct progress *progress,
                            struct tensor_report *report, struct error *error);

/* coo_clean() of entries of the file `path`, as `options` say; its name begins the message if they
 * are at fault. */
enum status tensor_clean(struct coo *x, const char *path, const struct tns_options *options,
                         const uint64_t *first, struct coo_cleaning *report, struct error *error);

/* Puts the name of the text file `path` before the message if its entries are at fault
 * (STATUS_INPUT); returns the status of *error. */
enum status tensor_name_overflow(const char *path, struct error *error);

/* Opens a .blco file, which must have nonzeros (not only unknown entries and zeros), and the
 * lengths of --dims if that is given. The caller closes *f, which is empty on failure; `path`
 * outlives *f. STATUS_INPUT. */
enum status tensor_open_blco(struct blco_file *f, const char *path,
                             const struct tns_options *options, struct error *error);

/* STATUS_INPUT if `options` give other lengths than `shape`, that of the .blco file `path`. */
enum status tensor_check_lengths(const char *path, const struct shape *shape,
                                 const struct tns_options *options, struct error *error);

/* STATUS_INPUT where cleaning has left no nonzero, of `entries` in the file: of the `nnz` that are
 * left, *listed are unknown or zero. */
enum status tensor_check_left(const char *path, uint64_t entries, uint64_t nnz,
                              const struct coo_listed *listed, struct error *error);

/* Shows the user what cleaning did, if it did anything. */
void tensor_note_cleaning(struct progress *progress, const struct coo_cleaning *cleaning);

#endif
