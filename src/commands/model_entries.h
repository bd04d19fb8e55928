/* Entries of a tensor's file, some at a time, and where they are in a model: the file may be larger
 * than memory, unless it is CSV. */
#pragma once

#include "commands/options/cmd_common.h"
#include "formats/names/name_match.h"
#include "formats/tensor_file.h"
#include "model/ktensor.h"

/* Takes the entries `piece` of the file, and, in the model's modes and indices, `at`: those of them
 * that the model has; entry i is number from[i] of the piece. NULL: all are there. */
typedef enum status entry_taker(void *context, const struct coo *piece, const struct coo *at,
                                const uint64_t *from, struct error *error);

struct model_entries {
    /* The caller sets these before the format is found: the path of the file, and the model, which
     * has been read, borrowed. */
    struct tensor_reader reader;
    const struct named_model *model;
    enum match match;
    bool values_optional; /* text, CSV and arrays may lack values; else these count, and change as
                           * those of the model's tensor did */

    /* Set by opening. */
    struct csv_options csv;
    struct tns_options options;
    struct labels names;       /* of the file's indices, or none; owned            */
    struct name_match matched; /* side a is the model; owned                       */
    struct value_change change;
    struct coo at;     /* of a piece, in the model's modes and indices; owned         */
    uint64_t *from;    /* (room) the number in the piece of each of these; owned      */
    uint64_t room;     /* entries that `at` has room for                              */
    uint64_t alone;    /* entries so far with a name that the model lacks             */
    entry_taker *take; /* who has them, with `context` */
    void *context;
};

/* Finds the format of the file e->reader.path, and with it the number of its first index
 * (common->tns); "-" is text from standard input. STATUS_INPUT also where values are missing, and
 * for CSV, where the model does not say how it is read, or names are not matched. */
enum status model_entries_find(struct model_entries *e, struct cmd_common *common,
                               struct error *error);

/* Opens the file and finds which of its modes and indices are which of the model. CSV is read
 * whole: it has the model's columns, value and bins, and new names after those of the model. The
 * caller calls model_entries_close, after a failure too. STATUS_INPUT where the file is bad, or the
 * match fails (name_match_find); STATUS_MEMORY. */
enum status model_entries_open(struct model_entries *e, struct error *error);

/* Hands all entries to `take` with `context`, in the order of the file: those of text are not
 * summed, and its zeros not dropped. STATUS_INPUT, where the file is bad or has coordinates beyond
 * its names or the model's lengths; STATUS_MEMORY; errors of `take`. */
enum status model_entries_each(struct model_entries *e, entry_taker take, void *context,
                               struct error *error);

/* The names of the file's indices, or, where these are those of the model, of the model. */
const struct labels *model_entries_names(const struct model_entries *e);

/* Accepts an empty one. */
void model_entries_close(struct model_entries *e);
