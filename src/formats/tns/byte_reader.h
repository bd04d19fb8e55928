/* The bytes of an open file one after the other, inflated where they are gzip: told by the magic
 * bytes at the start, whatever the file is called; several members follow one another. */
#ifndef BLCO_BYTE_READER_H
#define BLCO_BYTE_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct inflate_state;

struct byte_reader {
    const char *name;              /* for messages; not owned                          */
    int fd;                        /* not owned                                        */
    bool gzip;                     /* known once the first bytes were read             */
    bool in_member;                /* gzip: a member has begun and not yet ended       */
    bool ended;                    /* the file has no more bytes                       */
    unsigned char *input;          /* (INPUT_BYTES) as they stand in the file; owned */
    size_t first, count;           /* input[first, first + count) is not yet used  */
    struct inflate_state *inflate; /* NULL where it is not gzip; owned     */
    atomic_size_t consumed;        /* bytes read from the file; any thread may look */
};

/* Reads the first bytes and finds out what they are. STATUS_INPUT, STATUS_MEMORY; on failure *f is
 * closed. */
enum status byte_reader_open(struct byte_reader *f, int fd, const char *name, struct error *error);

/* Fills bytes[0..room); fewer in *got than room only at the end. STATUS_INPUT names the file: a
 * read error, or gzip data that are damaged or cut off. */
enum status byte_reader_read(struct byte_reader *f, char *bytes, size_t room, size_t *got,
                             struct error *error);

/* Accepts a closed or zeroed one. */
void byte_reader_close(struct byte_reader *f);

/* Whether these bytes (count of them) begin a gzip member. */
bool byte_reader_is_gzip(const unsigned char *bytes, size_t count);

#endif
