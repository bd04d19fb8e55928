/* Compresses a text to one gzip member. Members one after the other make a gzip file. */
#ifndef BLCO_GZIP_MEMBER_H
#define BLCO_GZIP_MEMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Scratch memory of one thread that compresses. */
struct gzip_member {
    struct isal_zstream *stream; /* owned */
    uint8_t *level_buffer;       /* owned */
};

/* The caller frees *g, which is empty on failure. STATUS_MEMORY. */
enum status gzip_member_create(struct gzip_member *g, struct error *error);

/* Accepts an empty *g. */
void gzip_member_free(struct gzip_member *g);

/* The most bytes that a member of `size` bytes of text takes. */
size_t gzip_member_room(size_t size);

/* Compresses text[0..size) to out, which has gzip_member_room(size) bytes; *used is the size of the
 * member. STATUS_INTERNAL if the compressor fails. */
enum status gzip_member_write(struct gzip_member *g, const char *text, size_t size, char *out,
                              size_t *used, struct error *error);

#endif
