/* Indices as tables show them. */
#ifndef BLCO_LABEL_SHOW_H
#define BLCO_LABEL_SHOW_H

#include "base/json.h"
#include "formats/names/labels.h"

#define LABEL_SHOWN_ROOM 512 /* bytes */

/* shown = the label of index i (from 0) of mode n (from 0), printable, cut to 32 columns. Where
 * there is none: the number of the index, `index_base` more than i, after "index " in a mode that
 * has labels. Returns shown. */
const char *label_show(const struct labels *l, int n, uint64_t i, int index_base,
                       char shown[LABEL_SHOWN_ROOM]);

#define MODE_NAME_ROOM LABEL_SHOWN_ROOM

/* name = the name of mode n, from 0, in tables and headings: that of *l, printable and cut as a
 * label is, else "mode 1". *l may be NULL. Returns name. */
const char *mode_name(const struct labels *l, int n, char name[MODE_NAME_ROOM]);

/* Adds "name", the whole name of mode n, to the object that is open, if the mode has one. */
void mode_put_name(struct json *j, const struct labels *l, int n);

#endif
