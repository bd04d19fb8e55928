/* Entries of a file, some at a time, whose coordinates are those of a model: the file may be larger
 * than memory. */
#ifndef BLCO_MODEL_ENTRIES_H
#define BLCO_MODEL_ENTRIES_H

#include "formats/tensor_file.h"
#include "model/ktensor.h"

/* Finds the format of the file r->path, which is text, NumPy arrays or a .blco file; "-" is text
 * from standard input. STATUS_INPUT also for CSV, whose names have to be numbered as the model's
 * were. */
enum status model_entries_find_format(struct tensor_reader *r, struct error *error);

/* Hands all entries of the file to `take` with `context`, in the order of the file: those of text
 * are not summed, and its zeros not dropped. *reader has the format, is not open and stays so;
 * entries take half of its memory, at most 256 MB. `model` is the model's shape; text and arrays
 * may lack values where these are optional. STATUS_INPUT, where the file is bad or has coordinates
 * beyond the model's lengths; STATUS_MEMORY; errors of `take`. */
enum status model_entries_each(const struct tensor_reader *reader, const struct shape *model,
                               bool values_optional, coo_taker take, void *context,
                               struct error *error);

#endif
