/* What a model is of: STEM.model.json beside its factor matrices, which blco-model(5) describes.
 * With the names beside the model it says what its rows and values mean. */
#pragma once

#include "base/json.h"
#include "formats/names/labels.h"
#include "model/ktensor.h"

/* Of the tensor and the run; how the tensor was made of a table is in struct mode_names. */
struct model_facts {
    bool known;      /* the file is there, or is to be written                                    */
    char loss[16];   /* its name, as "poisson"                                                    */
    double unlisted; /* the weight of unlisted entries, 1 for zeros; 0: they are unknown          */
    unsigned norm;   /* of columns that are not fixed: 2, or 1 in a model of counts               */
    uint64_t nnz, unknown; /* entries that the tensor lists, and how many of them are unknown     */
    bool hashed;
    uint64_t hash;           /* of the tensor's fingerprint, if `hashed` */
    bool centred[MAX_ORDER]; /* modes whose slices' means were taken off the values: the last
                              * components are the means (model_facts_means)                      */
    double shrinkage;        /* of these means                                                    */
};

/* How many of the last components are means: that of all entries, and those of the slices of each
 * mode; 0: none. */
int model_facts_means(const struct model_facts *facts);

/* Adds all that the file has to the object that is open. */
void model_facts_put(struct json *j, const struct model_facts *facts, const struct ktensor *k,
                     const struct labels *names);

/* Reads what is beside the model *k of the stem, of which modes may be missing (named_model_read),
 * or of the file that has it: the maps of its names, or those that *names has files of already,
 * into *names, and STEM.model.json, if it is there, into *facts, k->explained and k->lost and
 * names->modes. STATUS_INPUT where a file cannot be read, is damaged, or contradicts the model or
 * another one; STATUS_MEMORY. */
enum status model_facts_read(struct model_facts *facts, struct ktensor *k, struct labels *names,
                             const char *stem, struct error *error);
