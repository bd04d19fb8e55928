/* For tests: a tensor file read whole, uncleaned. */
#pragma once

#include "formats/tensor_file.h"

/* Reads the file with *r, whose first members are set, r->format perhaps not; *r is closed
 * afterwards, but keeps what it found out. `names` may be NULL. The caller frees *x and *names,
 * which are empty on failure. */
static inline enum status read_whole(struct coo *x, struct tensor_names *names,
                                     struct tensor_reader *r, struct error *error)
{
    struct tensor_reader reader = *r;
    *x = (struct coo){0};
    if (names)
        *names = (struct tensor_names){0};
    reader.memory = r->memory ? r->memory : r->tns->memory;
    reader.overhead = TENSOR_CLEAN_BYTES;
    if (!r->format)
        tensor_file_find_format(&reader, error);
    if (error->status == STATUS_OK)
        tensor_reader_whole(&reader, x, error);
    if (names && error->status == STATUS_OK && reader.format->names)
        reader.format->names(&reader, names);
    *r = reader;
    r->state = NULL;
    r->piece = (struct coo){0};
    tensor_reader_close(&reader);
    return error->status;
}

/* The text, CSV or arrays at `path`. */
static inline enum status read_path(struct coo *x, const char *path,
                                    const struct tns_options *options, struct error *error)
{
    struct tensor_reader r = {.path = path, .tns = options};
    return read_whole(x, NULL, &r, error);
}
