/* What the user says about a CSV file: which columns are modes, how names are numbered. */
#pragma once

#include "formats/names/labels.h"

/* How the names of a mode's indices are numbered beside those of a model. */
enum csv_like {
    CSV_LIKE_FREE,  /* in the same order, whatever their numbers are there */
    CSV_LIKE_FIRST, /* as there; names that the model lacks come after     */
    CSV_LIKE_ONLY   /* as there; other names are refused                   */
};

/* Texts are arguments of the command line, borrowed. */
struct csv_options {
    const char *columns;          /* --columns: the modes' columns, a row of CSV; NULL: not given */
    const char *value;            /* --value: the column of values; NULL: rows are counted        */
    const char *order[MAX_ORDER]; /* (orders) --order, COLUMN=sorted|number|appearance|FILE each  */
    const char *bin[MAX_ORDER];   /* (bins) --bin, COLUMN=WIDTH each                              */
    int orders, bins;

    /* Where a table is read like that of a model, the names of whose modes and indices these are,
     * or NULL: without --columns it has the model's columns, value and bins. */
    const struct labels *like;
    enum csv_like names[MAX_ORDER]; /* of each mode                              */
    bool value_optional;            /* the model's column of values may be missing */
};
