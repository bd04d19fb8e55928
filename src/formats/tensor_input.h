/* The tensor that a command works on: found, and read, cleaned, and refused where nothing is left
 * of it. The nonzeros of a .blco file wait in it until they are needed. */
#ifndef BLCO_TENSOR_INPUT_H
#define BLCO_TENSOR_INPUT_H

#include "formats/blco/blco_file.h"
#include "formats/tns/tns.h"

struct tensor_input {
    struct coo x;          /* order, lengths, nnz; and the arrays, once they are read    */
    struct blco_file file; /* open as long as the nonzeros are still in it               */
    bool unread;
    double read_seconds, clean_seconds;
};

/* Reads the tensor at `path` ("-": text from standard input), adds up its duplicates and drops its
 * zeros, and notes how many; of a .blco file only what it says about itself. `path` must outlive
 * *input, which is the caller's to close, on failure too. STATUS_INPUT also where every entry is
 * zero. */
enum status tensor_input_open(struct tensor_input *input, const char *path,
                              const struct tns_options *options, struct progress *progress,
                              struct error *error);

/* Reads the nonzeros, where they are not yet read. */
enum status tensor_input_read(struct tensor_input *input, struct progress *progress,
                              struct error *error);

/* Accepts an empty one. */
void tensor_input_close(struct tensor_input *input);

#endif
