/* Compresses one buffer to one gzip member; members one after the other are a gzip file. */
#ifndef BLCO_GZIP_MEMBER_H
#define BLCO_GZIP_MEMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Scratch memory of one compressor. */
struct gzip_member {
    struct isal_zstream *stream; /* owned */
    uint8_t *level_buffer;       /* owned */
};

/* On failure *g is empty. */
enum status gzip_member_create(struct gzip_member *g, struct error *error);

/* Accepts an empty one. */
void gzip_member_free(struct gzip_member *g);

/* The room that a member of `size` bytes of text may need. */
size_t gzip_member_room(size_t size);

/* text[0..size) to out, which has the room for it; *used says how much it took. */
enum status gzip_member_write(struct gzip_member *g, const char *text, size_t size, char *out,
                              size_t *used, struct error *error);

#endif
