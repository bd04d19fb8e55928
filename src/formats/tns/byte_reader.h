/* Reads the bytes of an open file one after the other, and inflates them if the file is gzip. The
 * first bytes of a gzip file show what it is, whatever its name; it may have several members. */
#ifndef BLCO_BYTE_READER_H
#define BLCO_BYTE_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct inflate_state;

struct byte_reader {
    const char *name;              /* for messages; not owned                            */
    int fd;                        /* not owned                                          */
    bool gzip;                     /* known once the first bytes are read                */
    bool in_member;                /* gzip: a member has begun and has not ended         */
    bool ended;                    /* the file has no more bytes                         */
    unsigned char *input;          /* (INPUT_BYTES) bytes as they are in the file; owned */
    size_t first, count;           /* input[first, first + count) is not yet used        */
    struct inflate_state *inflate; /* NULL if the file is not gzip; owned                */
    atomic_size_t consumed;        /* bytes read from the file; any thread may read it   */
};

/* Reads the first bytes and finds out whether the file is gzip. The caller closes *f, which is
 * closed on failure. `name` outlives *f. STATUS_INPUT if the file cannot be read, STATUS_MEMORY. */
enum status byte_reader_open(struct byte_reader *f, int fd, const char *name, struct error *error);

/* Fills bytes[0..room); *got is less than room only at the end of the file. STATUS_INPUT, with the
 * name of the file, on a read error and if gzip data are damaged or cut off. */
enum status byte_reader_read(struct byte_reader *f, char *bytes, size_t room, size_t *got,
                             struct error *error);

/* Leaves the file open. Accepts a closed or zeroed reader. */
void byte_reader_close(struct byte_reader *f);

/* Whether bytes[0..count) begin a gzip member. */
bool byte_reader_is_gzip(const unsigned char *bytes, size_t count);

#endif
