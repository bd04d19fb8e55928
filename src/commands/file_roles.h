/* What the files of a command are to it: no output may be an input, or another output. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "formats/csv/csv_options.h"
#include "formats/ktensor/ktensor_io.h"

/* Inputs first. */
enum file_role {
    FILE_TENSOR_READ,
    FILE_CHECKPOINT_READ,
    FILE_START_READ, /* of the model of --init */
    FILE_MODEL_READ,
    FILE_RECORD_READ,
    FILE_RANKS_READ, /* the table of several ranks */
    FILE_LABELS_READ,
    FILE_ORDER_READ, /* the names of --order */
    FILE_MODEL,
    FILE_LOCK, /* of the stem of the model */
    FILE_CHECKPOINT,
    FILE_RECORD,
    FILE_RANKS,
    FILE_PAGE,
    FILE_TENSOR
};

/* Where a file is: it, or the folder in which it is to be made under a name. */
struct file_place {
    bool known; /* false of a device or pipe, and of what is not there and cannot be made */
    dev_t device;
    ino_t inode;
    const char *name; /* of a file that is not there yet; points into its path */
};

struct file_with_role {
    enum file_role role;
    char *path;              /* owned                                     */
    struct file_place place; /* once file_roles_check has looked for it */
};

struct file_roles {
    int count;
    struct file_with_role *file; /* (count) owned */
};

/* Add a file to *f, which begins as zeros; "-" is standard input or output. The second adds all
 * files that a model of the stem may have, whether they are there or not; of a stem that ends in
 * .ktns, this file. Without a name (NULL), and after an earlier failure, nothing happens.
 * STATUS_MEMORY. */
void file_roles_add(struct file_roles *f, enum file_role role, const char *path,
                    struct error *error);
void file_roles_add_stem(struct file_roles *f, enum file_role role, const char *stem,
                         struct error *error);

/* Adds a model that is read, with the files of its labels, and the tensor beside which it is. */
void file_roles_add_model(struct file_roles *f, const char *stem, const struct labels *labels,
                          const char *tensor, struct error *error);

/* Adds the tensor that is read, and with it the files of --order and the maps beside the tensor. */
void file_roles_add_tensor(struct file_roles *f, const char *path, const struct csv_options *csv,
                           struct error *error);

/* Adds the files of --order. Where COLUMN=FILE has several equals signs, what follows each of them
 * counts as a file. */
void file_roles_add_order(struct file_roles *f, const struct csv_options *csv, struct error *error);

/* Refuses an output that is an input or another output, by whatever names: through ., links,
 * folders that are mounted twice, standard input and output. A run may replace the model that it
 * starts from and the checkpoint that it resumes. Frees *f. STATUS_INPUT, with both roles in the
 * message. */
enum status file_roles_check(struct file_roles *f, struct error *error);

/* Accepts an empty *f. */
void file_roles_free(struct file_roles *f);
