/* Writes .blco files: nonzeros come in alto order, in pieces of any size, and are packed and
 * written by all threads. See blco-file(5). */
#pragma once

#include "base/error.h"
#include "base/outfile.h"
#include "formats/blco/blco_format.h"
#include "tensor/coo.h"
#include "tensor/ordering.h"

struct blco_writer {
    struct outfile file;
    struct line_encoder alto; /* of the whole tensor's lines */
    struct coo pending;       /* nonzeros that wait for a full segment; pending.nnz is the room */
    uint64_t filled;          /* nonzeros in `pending`                                          */
    uint64_t nnz;             /* of the segments written                                        */
    struct coo_listed listed; /* of the segments written; the caller sets `dropped` before commit */
    const struct mode_names *modes; /* their names; NULL until the caller sets them; borrowed    */
    uint64_t position;              /* in the file, of the next segment                          */
    struct blco_file_segment *segment; /* (room); owned */
    uint64_t nsegments, segment_room;
    uint8_t *packed; /* (threads x packed_room) a segment of each thread; owned */
    uint64_t packed_room;
    int threads;
};

/* Creates the file, which appears when it is committed. `shape` bounds all coordinates; `memory`
 * bounds the bytes of nonzeros that wait, but one segment may always wait. On failure *w is empty.
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status blco_writer_open(struct blco_writer *w, const char *path, const struct shape *shape,
                             uint64_t memory, struct error *error);

/* Appends nonzeros position[0..count) of x, or its first `count` nonzeros if position is NULL. All
 * nonzeros are distinct and come in alto order, from piece to piece too. STATUS_OUTPUT,
 * STATUS_MEMORY. */
enum status blco_writer_append(struct blco_writer *w, const struct coo *x, const uint64_t *position,
                               uint64_t count, struct error *error);

/* Writes the nonzeros that wait and the directory, and gives the file its name. *bytes is the
 * length of the file; `bytes` may be NULL. The writer is empty afterwards. STATUS_OUTPUT,
 * STATUS_MEMORY: there is no file then. */
enum status blco_writer_commit(struct blco_writer *w, uint64_t *bytes, struct error *error);

/* Deletes a file that was not committed. Accepts an empty writer. */
void blco_writer_discard(struct blco_writer *w);
