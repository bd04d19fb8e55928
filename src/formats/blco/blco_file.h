/* Reads .blco files: copies, checks, and decodes with all threads. The checks are made on copies in
 * memory, which cannot change with the file afterwards. See blco-file(5). Implemented
 * in blco_file.c and, for all at once, blco_pieces.c. */
#pragma once

#include <stdbool.h>

#include "base/infile.h"
#include "base/progress.h"
#include "formats/blco/blco_format.h"
#include "tensor/coo.h"

struct blco_file {
    const char *name; /* for messages; not owned */
    struct infile in;
    struct shape shape;
    struct coo_listed listed;
    char *page;                              /* (BLCO_PAGE) the first page; owned          */
    char *tail;                              /* of the file, from the end of the data; owned */
    const struct blco_file_header *header;   /* in page                                    */
    const struct mode_names *modes;          /* their names, in page                       */
    const struct blco_file_segment *segment; /* (nsegments) in tail                        */
    uint64_t most_bytes;                     /* of a segment                               */
};

/* Whether bytes[0..size), the first bytes of a file (BLCO_MAGIC_BYTES, or all it has), are those of
 * a .blco file. */
bool blco_file_magic(const void *bytes, size_t size);

/* Opens the file, reads and checks header and directory. The caller closes *f, which is empty on
 * failure; `path` outlives *f. STATUS_INPUT if the file cannot be read, is damaged, cut off, of
 * another version or of a machine with another byte order; STATUS_MEMORY. */
enum status blco_file_open(struct blco_file *f, const char *path, struct error *error);

/* The number of nonzeros of segments [begin, end). */
uint64_t blco_file_nnz(const struct blco_file *f, uint64_t begin, uint64_t end);

/* Reads segment s to bytes[0..f->segment[s].bytes), aligned to 8. STATUS_INPUT where the file
 * cannot be read, or where the segment is damaged by checksum and segment_is_sound(); coordinates
 * are not decoded. `line_bits` is ordering_line_bits() of the tensor. */
enum status blco_file_segment(const struct blco_file *f, uint64_t s, int line_bits, uint8_t *bytes,
                              struct error *error);

/* Room for a segment of each OpenMP thread: thread t has f->most_bytes bytes from t * f->most_bytes
 * on. The caller frees it with memory_free. NULL and STATUS_MEMORY. */
uint8_t *blco_file_room(const struct blco_file *f, struct error *error);

/* Sets the message that segment s is damaged. Returns STATUS_INPUT. */
enum status blco_file_damaged(const struct blco_file *f, uint64_t s, struct error *error);

/* Checks and decodes segments [begin, end) into x, from nonzero 0 on, with all OpenMP threads. x
 * has the shape of the file and the room. STATUS_INPUT if a segment is damaged, STATUS_MEMORY. An
 * unknown entry or a zero is damage where the header says that there are none. */
enum status blco_file_decode(const struct blco_file *f, uint64_t begin, uint64_t end, struct coo *x,
                             struct error *error);

/* Reads the whole tensor of an open file: in alto order, without duplicates. The caller frees *x,
 * which is empty on failure. STATUS_INPUT, STATUS_MEMORY. */
enum status blco_file_read(const struct blco_file *f, struct coo *x, struct progress *progress,
                           struct error *error);

/* Accepts an empty *f. */
void blco_file_close(struct blco_file *f);
