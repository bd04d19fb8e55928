/* Reads .blco files: maps, checks, and decodes with all threads. See blco-file(5). */
#ifndef BLCO_BLCO_FILE_H
#define BLCO_BLCO_FILE_H

#include <stdbool.h>

#include "base/filemap.h"
#include "base/progress.h"
#include "formats/blco/blco_format.h"
#include "tensor/coo.h"

struct blco_file {
    const char *name; /* for messages; not owned */
    struct filemap map;
    struct shape shape;
    const struct blco_file_header *header;   /* in the map             */
    const struct blco_file_segment *segment; /* (nsegments) in the map */
};

/* Whether bytes[0..size), the first bytes of a file (BLCO_MAGIC_BYTES, or all it has), are those of
 * a .blco file. */
bool blco_file_magic(const void *bytes, size_t size);

/* Maps the file and checks header and directory. The caller closes *f, which is empty on failure;
 * `path` outlives *f. STATUS_INPUT if the file cannot be read, is damaged, cut off, of another
 * version or of a machine with another byte order. */
enum status blco_file_open(struct blco_file *f, const char *path, struct error *error);

/* The number of nonzeros of segments [begin, end). */
uint64_t blco_file_nnz(const struct blco_file *f, uint64_t begin, uint64_t end);

/* Whether `bytes` are those of segment s, undamaged, as far as the checksum and segment_is_sound()
 * tell without decoding them. `line_bits` is ordering_line_bits() of the tensor. */
bool blco_file_segment_is_good(const struct blco_file *f, uint64_t s, const uint8_t *bytes,
                               int line_bits);

/* Sets the message that segment s is damaged. Returns STATUS_INPUT. */
enum status blco_file_damaged(const struct blco_file *f, uint64_t s, struct error *error);

/* Checks and decodes segments [begin, end) into x, from nonzero 0 on, with all OpenMP threads. x
 * has the shape of the file and the room. STATUS_INPUT if a segment is damaged, STATUS_MEMORY. */
enum status blco_file_decode(const struct blco_file *f, uint64_t begin, uint64_t end, struct coo *x,
                             struct error *error);

/* Reads the whole tensor: in alto order, without duplicates and zeros. The caller frees *x, which
 * is empty on failure. STATUS_INPUT, STATUS_MEMORY. */
enum status blco_file_read(const struct blco_file *f, struct coo *x, struct progress *progress,
                           struct error *error);

/* Ends the stage in which the whole file was read, in so many seconds. */
void blco_file_note_read(const struct blco_file *f, double seconds, struct progress *progress);

/* Accepts an empty *f. */
void blco_file_close(struct blco_file *f);

#endif
