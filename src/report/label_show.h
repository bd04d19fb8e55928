/* Indices as tables show them. */
#ifndef BLCO_LABEL_SHOW_H
#define BLCO_LABEL_SHOW_H

#include "report/labels.h"

#define LABEL_SHOWN_ROOM 512 /* bytes */

/* shown = the label of index i (from 0) of mode n (from 0), printable, cut to 32 columns. Where
 * there is none: the number of the index, `index_base` more than i, after "index " in a mode that
 * has labels. Returns shown. */
const char *label_show(const struct labels *l, int n, uint64_t i, int index_base,
                       char shown[LABEL_SHOWN_ROOM]);

#endif
