/* The argument MODE=NAME of an option, for a model: with names or numbers. */
#ifndef BLCO_GIVEN_INDICES_H
#define BLCO_GIVEN_INDICES_H

#include "formats/names/labels.h"
#include "report/unlisted_best.h"

struct given_indices {
    const char *option; /* its name, for messages; borrowed */
    int count;
    const char *text[MAX_ORDER]; /* (count) MODE=NAME; borrowed */
};

/* Adds an argument of the option. STATUS_INPUT where it has no "=" or there are too many. */
enum status given_indices_add(struct given_indices *g, const char *option, const char *text,
                              struct error *error);

/* Sets the given indices of s, which has its shape. A mode is given by its name or its number from
 * 1, an index by its label or, where no label is the same, by its number, the first one being
 * `index_base`. STATUS_INPUT where there is no such mode or index, a mode is given twice, or all
 * are given. */
enum status given_indices_find(struct unlisted_slice *s, const struct given_indices *g,
                               const struct labels *labels, int index_base, struct error *error);

#endif
