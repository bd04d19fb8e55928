/* Writes the model's values at coordinates, in their order: text lines with the coordinates, or an
 * array of NumPy (.npy) with the values alone. */
#ifndef BLCO_PREDICTION_FILE_H
#define BLCO_PREDICTION_FILE_H

#include <stdbool.h>

#include "base/outfile.h"
#include "formats/tns/line_writer.h"
#include "formats/names/labels.h"
#include "problem/loss.h"
#include "tensor/coo.h"

/* How predictions are written. */
struct prediction_form {
    int order;
    const struct labels *labels; /* in place of indices, where a mode has them: tabs then separate
                                  * the columns, otherwise blanks; borrowed              */
    int index_base;              /* the number of the first index                        */
    bool residuals;              /* further columns: residual_fill of the value of the entry */
    const struct loss *loss;     /* of these                                             */
};

struct prediction_file {
    struct prediction_form form;
    struct line_writer *lines; /* text; NULL: an array; owned                 */
    struct outfile array;
    uint64_t count; /* rows of the array so far                    */
    double *row;    /* (room x columns) of an array with residuals; owned */
    uint64_t room;
};

/* Whether a file of this name is an array: it ends in .npy. */
bool prediction_file_is_array(const char *path);

/* Begins a file: an array as its name says, else text, gzip where it ends in .gz, to
 * standard output where it is "-". form->labels outlives *f. The caller calls prediction_file_free,
 * after a failure too. STATUS_OUTPUT, STATUS_MEMORY. */
enum status prediction_file_open(struct prediction_file *f, const char *path,
                                 const struct prediction_form *form, struct error *error);

/* Writes the entries of x and the model's values there, model[0..x->nnz). By all OpenMP threads.
 * STATUS_OUTPUT, STATUS_UNREAD, STATUS_MEMORY. */
enum status prediction_file_append(struct prediction_file *f, const struct coo *x,
                                   const double *model, struct error *error);

/* Gives the file its name: it is complete. STATUS_OUTPUT. */
enum status prediction_file_commit(struct prediction_file *f, struct error *error);

/* Deletes a file that was not committed. Accepts a zeroed one whose array.fd is -1. */
void prediction_file_free(struct prediction_file *f);

#endif
