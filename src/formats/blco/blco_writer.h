/* Binary tensor files (.blco), written: nonzeros come in alto order, in pieces of any size, and are
 * packed and written by all threads. See blco-file(5). */
#ifndef BLCO_BLCO_WRITER_H
#define BLCO_BLCO_WRITER_H

#include "base/error.h"
#include "base/outfile.h"
#include "formats/blco/blco_format.h"
#include "tensor/ordering.h"

struct blco_writer {
    struct outfile file;
    struct line_encoder alto;
    struct coo pending; /* nonzeros that wait for a full segment; pending.nnz is the room      */
    uint64_t filled;    /* of the room                                                         */
    uint64_t nnz;       /* of the segments written                                             */
    uint64_t position;  /* in the file, of the next segment                                    */
    struct blco_file_segment *segment; /* (room); owned                                        */
    uint64_t nsegments, segment_room;
    uint8_t *packed; /* (threads x packed_room), in which each packs a segment; owned      */
    uint64_t packed_room;
    int threads;
};

/* Creates the file, which appears when it is committed. The tensor's lengths (order) must bound all
 * coordinates. `memory` bounds the bytes of nonzeros that wait, above one segment. On failure *w is
 * empty. STATUS_OUTPUT, STATUS_MEMORY. */
enum status blco_writer_open(struct blco_writer *w, const char *path, const struct shape *shape,
                             uint64_t memory, struct error *error);

/* Nonzeros position[0..count) of x, or the first `count` where position is NULL: they follow in
 * alto order on those before, and are distinct. */
enum status blco_writer_append(struct blco_writer *w, const struct coo *x, const uint64_t *position,
                               uint64_t count, struct error *error);

/* Writes what is left, and the file is there. *bytes (may be NULL) says how long it is. The writer
 * is empty afterwards, also on failure; then there is no file. */
enum status blco_writer_commit(struct blco_writer *w, uint64_t *bytes, struct error *error);

/* Drops the file; accepts an empty writer. */
void blco_writer_discard(struct blco_writer *w);

#endif
