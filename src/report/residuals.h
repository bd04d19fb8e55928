/* How far a model is from given values: sums of its residuals, of all entries and of each slice,
 * the strangest entries, and, of counts, the strangest ones that are not listed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/outfile.h"
#include "formats/names/labels.h"
#include "formats/tns/line_writer.h"
#include "base/progress.h"
#include "model/ktensor.h"
#include "problem/loss.h"
#include "report/adjusted_p.h"
#include "report/top_entries.h"
#include "report/text_table.h"
#include "report/unlisted_best.h"
#include "tensor/coo.h"

/* An entry that the model hardly explains. */
struct strange_entry {
    uint64_t number; /* of the entry, in the order of the input, from 0 */
    uint32_t index[MAX_ORDER];
    double value, model;
    double strangeness; /* minus the logarithm of its p-value; where the loss has none, the
                         * magnitude of its residual */
};

/* The residuals of the entries of each slice of a mode. */
struct slice_residuals {
    double *squares; /* (I_n) sum of their squares; owned     */
    uint64_t *known; /* (I_n) how many they are; owned        */
};

#define PLACES 1000

struct residuals {
    const struct loss *loss;
    struct shape shape;
    uint64_t entries;          /* so far                                        */
    uint64_t known;            /* of these, entries that have a residual        */
    uint64_t raised;           /* of these, counts whose rate is 0 or less      */
    double squares, absolutes; /* sums over the residuals                       */
    struct slice_residuals slice[MAX_ORDER];
    struct top_entries top[MAX_ORDER]; /* once residuals_rank was called, where strange entries are
                                        * wanted: the slices with the largest sums of squares */
    uint64_t strangest;                /* how many strange entries are wanted           */
    struct strange_entry *entry;       /* (count) candidates, or the result; owned      */
    uint64_t count, room;
    double weakest;      /* an entry of this strangeness is no candidate any more */
    double *strangeness; /* of some entries; owned                                */

    /* For tables, which the caller sets after residuals_begin. */
    const struct labels *labels;
    int index_base; /* the number that the first index is shown as */

    /* If the caller has set `places` after residuals_begin, and the loss has places: how many
     * listed values are in each part of their distribution (`place` of struct loss), where `zeros`
     * of those above 0 alone; only whole numbers count. */
    bool places;
    uint64_t place[PLACES], placed; /* placed: their sum */

    /* Where strange entries are wanted and the loss has p-values. Cells are what could have been
     * strange: all entries of the tensor whose value is known where `zeros`, else those that are
     * added. */
    bool zeros;        /* entries that are not added are zeros                    */
    double cells;      /* once residuals_rank was called, as is `absent`          */
    struct p_values p; /* of cells                                                */
    struct unlisted_slice added;
    struct unlisted_best absent; /* of the cells that are not added those with the largest rates,
                                  * perhaps more than are wanted */
    bool searched;               /* these are known; false where too many rates are alike */
};

/* Begins without entries, for entries of a tensor of this shape; other entries are unknown unless
 * `zeros`. The caller frees *r, which is empty on failure. STATUS_MEMORY. */
enum status residuals_begin(struct residuals *r, const struct shape *shape, const struct loss *loss,
                            uint64_t strangest, bool zeros, struct error *error);

/* Adds the entries of x, at which the model has the values model[0..x->nnz). By all OpenMP threads:
 * neither their number nor how entries are cut into pieces changes the bits of the sums.
 * STATUS_MEMORY. */
enum status residuals_add(struct residuals *r, const struct coo *x, const double *model,
                          struct error *error);

/* Brings entry[0..count) into order: the strangest first, of equal ones the first in the input;
 * finds the strangest slices, and absent cells, at which k is the model, and adjusts p-values. No
 * entries may be added afterwards. STATUS_MEMORY. */
enum status residuals_rank(struct residuals *r, const struct ktensor *k, struct progress *progress,
                           struct error *error);

/* Root mean square and mean of the magnitudes; NaN without residuals. */
double residuals_rmse(const struct residuals *r);
double residuals_mae(const struct residuals *r);

/* Accepts an empty one. */
void residuals_free(struct residuals *r);

#define RESIDUAL_TEXT 224

/* text = number, root mean square and mean magnitude of the residuals, in one sentence. Returns
 * text. */
const char *residual_text(const struct residuals *r, char text[RESIDUAL_TEXT]);

/* text = how many cells are strange beyond chance, if the loss has p-values and residuals were
 * ranked; otherwise empty. Returns text. */
const char *residual_alarms(const struct residuals *r, char text[RESIDUAL_TEXT]);

/* The tables of what is strangest, once residuals_rank was called: entries, entries that are not
 * listed, slices of mode n. *r outlives them. Residuals of 0 are left out, and p-values of 1. */
struct text_table residual_entries_table(const struct residuals *r);
struct text_table residual_absent_table(const struct residuals *r);
struct text_table residual_slices_table(const struct residuals *r, int n);

/* Prints this sentence, how many cells are strange beyond chance, then tables of the strangest
 * entries, of the strangest absent cells and of the strangest slices of each mode. Labels are made
 * printable, and long ones cut. */
void residual_print(FILE *stream, const struct residuals *r);

/* Adds the same to the object that is open, with whole labels and all digits. */
void residual_put_json(struct json *j, const struct residuals *r);

/* Writes the model's values at coordinates, in their order: text lines with the coordinates, or an
 * array of NumPy (.npy) with the values, and with the coordinates where the form says so. */

/* How predictions are written. */
struct prediction_form {
    int order;
    const struct labels *labels; /* in place of indices, where a mode has them: tabs then separate
                                  * the columns, otherwise blanks; borrowed              */
    int index_base;              /* the number of the first index                        */
    bool coordinates;            /* an array has them, too, in columns before the value  */
    bool residuals;              /* further columns: residual_fill of the value of the entry */
    const struct loss *loss;     /* of the model                                         */
};

struct prediction_file {
    struct prediction_form form;
    struct line_writer *lines; /* text; NULL: an array; owned                 */
    const struct coo *x;       /* the entries that are appended, and ...      */
    const double *model;       /* ... the model's values there; borrowed      */
    struct outfile array;
    uint64_t count; /* rows of the array so far                    */
    double *row;    /* (room x columns, or x 1) of an array; owned */
    uint64_t room;
};

/* Whether a file of this name is an array: it ends in .npy. */
bool prediction_file_is_array(const char *path);

/* Begins a file: an array as its name says, else text, gzip where it ends in .gz, to
 * standard output where it is "-". form->labels outlives *f. The caller calls prediction_file_free,
 * after a failure too. STATUS_OUTPUT, STATUS_MEMORY. */
enum status prediction_file_open(struct prediction_file *f, const char *path,
                                 const struct prediction_form *form, struct error *error);

/* Writes the entries of x and what the model says of them (loss_expected), from its values there,
 * model[0..x->nnz). By all OpenMP threads.
 * STATUS_OUTPUT, STATUS_UNREAD, STATUS_MEMORY. */
enum status prediction_file_append(struct prediction_file *f, const struct coo *x,
                                   const double *model, struct error *error);

/* Gives the file its name: it is complete. STATUS_OUTPUT. */
enum status prediction_file_commit(struct prediction_file *f, struct error *error);

/* Deletes a file that was not committed. Accepts a zeroed one whose array.fd is -1. */
void prediction_file_free(struct prediction_file *f);
