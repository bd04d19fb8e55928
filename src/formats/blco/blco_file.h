/* Binary tensor files (.blco), read: mapped, checked, decoded by all threads. See blco-file(5). */
#ifndef BLCO_BLCO_FILE_H
#define BLCO_BLCO_FILE_H

#include <stdbool.h>

#include "base/filemap.h"
#include "base/progress.h"
#include "formats/blco/blco_format.h"

struct blco_file {
    const char *name; /* for messages; not owned                      */
    struct filemap map;
    struct shape shape;
    const struct blco_file_header *header;   /* in the map            */
    const struct blco_file_segment *segment; /* (nsegments) in the map */
};

/* Whether these first bytes of a file (as many as it has, up to BLCO_MAGIC_BYTES) are a .blco
 * file's. */
bool blco_file_magic(const void *bytes, size_t size);

/* Maps the file and checks header and directory. STATUS_INPUT where it is damaged, cut off, of
 * another version or of a machine with another byte order. `path` must outlive *f. On failure *f is
 * empty. */
enum status blco_file_open(struct blco_file *f, const char *path, struct error *error);

/* How many nonzeros segments [begin, end) have. */
uint64_t blco_file_nnz(const struct blco_file *f, uint64_t begin, uint64_t end);

/* Whether these are the bytes of segment s, undamaged, as far as that can be told without decoding
 * them: by the checksum and segment_is_sound. `line_bits` is ordering_line_bits of the tensor. */
bool blco_file_segment_is_good(const struct blco_file *f, uint64_t s, const uint8_t *bytes,
                               int line_bits);

/* The message about segment s, where they are not. STATUS_INPUT. */
enum status blco_file_damaged(const struct blco_file *f, uint64_t s, struct error *error);

/* Checks and decodes segments [begin, end) into x, which has the file's order and lengths and room
 * for them from place 0 on. By all OpenMP threads. STATUS_INPUT where one is damaged,
 * STATUS_MEMORY. */
enum status blco_file_decode(const struct blco_file *f, uint64_t begin, uint64_t end, struct coo *x,
                             struct error *error);

/* The whole tensor, in alto order, without duplicates and zeros. *x is fresh, or empty on failure.
 */
enum status blco_file_read(const struct blco_file *f, struct coo *x, struct progress *progress,
                           struct error *error);

/* Accepts an empty one. */
void blco_file_close(struct blco_file *f);

#endif
