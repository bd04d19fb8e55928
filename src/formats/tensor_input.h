/* The tensor that a command works on: text is read and cleaned when it is opened, the nonzeros of a
 * .blco file when they are needed. */
#ifndef BLCO_TENSOR_INPUT_H
#define BLCO_TENSOR_INPUT_H

#include "formats/blco/blco_file.h"
#include "formats/csv/csv_options.h"
#include "formats/names/name_table.h"
#include "formats/tns/tns_options.h"
#include "tensor/coo.h"

struct tensor_input {
    struct coo x;              /* shape and nnz; the arrays once the nonzeros are read */
    struct coo_listed listed;  /* what is listed besides nonzeros                      */
    struct blco_file file;     /* open until the nonzeros are read from it             */
    bool unread;               /* the nonzeros are still in the file                   */
    struct tensor_names names; /* of CSV; of a .blco file those of the modes; owned    */
    double read_seconds, clean_seconds;
};

/* Opens the tensor at `path` ("-": text from standard input). Text is read, its duplicates are
 * summed and its zeros dropped (options->zeros), and a message says how many; of a .blco file only
 * header and directory are read. `csv`, which may be NULL, has the options for CSV. `path` outlives
 * *input. The caller closes *input, after a failure too. STATUS_INPUT, also if no nonzero is left;
 * STATUS_MEMORY. */
enum status tensor_input_open(struct tensor_input *input, const char *path,
                              const struct tns_options *options, const struct csv_options *csv,
                              struct progress *progress, struct error *error);

/* Reads the nonzeros if they are unread. STATUS_INPUT if the file is damaged, STATUS_MEMORY. */
enum status tensor_input_read(struct tensor_input *input, struct progress *progress,
                              struct error *error);

/* Accepts an empty *input. */
void tensor_input_close(struct tensor_input *input);

#endif
