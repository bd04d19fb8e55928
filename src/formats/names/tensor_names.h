/* The names of a tensor that was read from CSV: of its modes, and of the indices of each mode. */
#ifndef BLCO_TENSOR_NAMES_H
#define BLCO_TENSOR_NAMES_H

#include "formats/names/name_table.h"
#include "tensor/mode_names.h"

struct tensor_names {
    int order; /* 0: there are no names of indices */
    struct mode_names modes;
    struct name_table index[MAX_ORDER]; /* (order) name k is that of index k; owned */
};

/* Accepts empty names. */
void tensor_names_free(struct tensor_names *names);

#endif
