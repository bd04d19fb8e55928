/* Entries of a file, some at a time, whose coordinates are those of a model: the file may be larger
 * than memory. */
#ifndef BLCO_MODEL_ENTRIES_H
#define BLCO_MODEL_ENTRIES_H

#include "formats/tensor_file.h"
#include "model/ktensor.h"

struct model_entries {
    const char *path; /* text, NumPy arrays, a .blco file, or "-": text from standard input */
    const struct tensor_format *format;
    const struct tns_options *tns; /* borrowed */
    const struct shape *shape;     /* of the model; borrowed */
    bool values_optional;          /* text and arrays may lack values */
    uint64_t memory;               /* host memory that may be used: entries take half of it, at most
                                    * 256 MB */
    uint64_t overhead;             /* bytes that `take` needs for each entry */
    coo_taker take;                /* gets the entries in the order of the file */
    void *context;                 /* of `take`; borrowed */
    struct progress *progress;
};

/* The format of the file at `path`. STATUS_INPUT also for CSV, whose names have to be numbered as
 * the model's were. */
enum status model_entries_format(const struct tensor_format **format, const char *path,
                                 struct error *error);

/* Hands all entries to `take`: those of text are not summed, and its zeros not dropped.
 * STATUS_INPUT, where the file is bad or has coordinates beyond the model's lengths; STATUS_MEMORY;
 * errors of `take`. */
enum status model_entries_each(const struct model_entries *e, struct error *error);

#endif
