/* The entries of a tensor's file beside a model: its values there, and how far those of the file
 * are from them. */
#pragma once

#include "commands/model_entries.h"
#include "report/residuals.h"

struct model_residuals {
    /* The caller sets these before anything else; strings are borrowed. */
    const char *path;        /* of the tensor */
    bool wanted;             /* residuals are; otherwise only the model's values, and the file may
                              * have none */
    uint64_t strangest;      /* how many strange entries are wanted */
    const char *loss_given;  /* the option that `loss` is from, or NULL: the model's, where it is
                              * known */
    const struct loss *loss; /* borrowed */
    const char *unlisted_given; /* the option that `unlisted` is from, or NULL: as for the model */
    int unlisted;               /* 1: entries that the file does not list are zeros; 0: unknown */
    enum match match;
    struct named_model *model; /* borrowed */

    struct model_entries entries;
    struct residuals sums; /* if wanted */
    double *value;         /* (room) of the model at the entries of a piece; owned */
    uint64_t room;
};

/* Opens the file, with the loss and the unlisted entries of the model unless they are given; the
 * number of its first index is in common->tns then. The model has been read. The caller calls
 * model_residuals_free, after a failure too. STATUS_INPUT, STATUS_MEMORY. */
enum status model_residuals_begin(struct model_residuals *m, struct cmd_common *common,
                                  struct error *error);

/* Takes entries as model_entries_each hands them over: computes m->value[0..at->nnz), and adds
 * their residuals. STATUS_INPUT where the loss does not take a value; STATUS_MEMORY. */
entry_taker model_residuals_take;

/* Ranks entries and slices, once all were taken. Says on standard error how many entries have names
 * that the model lacks, and where the file has fewer entries than the tensor of the model, so that
 * those that it does not list are hardly zeros. STATUS_MEMORY. */
enum status model_residuals_end(struct model_residuals *m, struct error *error);

/* Frees what was opened and found; what the caller has set stays. Accepts a zeroed one. */
void model_residuals_free(struct model_residuals *m);
