/* What the user says about a CSV file: which columns are modes, how names are numbered. */
#ifndef BLCO_CSV_OPTIONS_H
#define BLCO_CSV_OPTIONS_H

#include "tensor/shape.h"

/* Texts are arguments of the command line, borrowed. */
struct csv_options {
    const char *columns;          /* --columns: the modes' columns, a row of CSV; NULL: not given */
    const char *value;            /* --value: the column of values; NULL: rows are counted        */
    const char *order[MAX_ORDER]; /* (orders) --order, COLUMN=sorted|number|appearance|FILE each  */
    const char *bin[MAX_ORDER];   /* (bins) --bin, COLUMN=WIDTH each                              */
    int orders, bins;
};

#endif
