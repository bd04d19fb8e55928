/* For tests of damaged .blco files: a file that has every part, correcting the checksums after a
 * change, and the refusal. Include it after cmocka.h. */
#pragma once

#include <isa-l/crc64.h>

#include "support/blco_files.h"
#include "support/scratch.h"

/* A small file that has every part of the format. */
static inline char *small_file(size_t *size)
{
    struct coo x;
    struct external_sort_report report;
    struct error error;
    static const uint64_t dims[] = {MAX_LENGTH, 9, 70000};
    naive_random_coo(&x, SHAPE(3, dims), 40, 1, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.index[0][i] >>= i % 2 ? 0 : 20;
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
    return file_bytes(scratch_path("x.blco"), size);
}

static inline void assert_refused(const char *bytes, size_t size, const char *what)
{
    struct coo x;
    struct error error;
    const char *path = scratch_file("bad.blco", bytes, size);
    enum status status = read_blco(&x, path, &error);
    if (status != STATUS_INPUT || !strstr(error.message, "bad.blco") ||
        !strstr(error.message, what) || strchr(error.message, '\n') || x.value)
        fail_msg("status %d: %s (expected: %s)", (int)status, error.message, what);
}

/* Corrects the checksums, so that the contents are checked. */
static inline void sign(char *bytes, size_t size)
{
    struct blco_file_header *h = header_of(bytes);
    if (h->directory_offset + sizeof(struct blco_file_segment) <= size) {
        struct blco_file_segment *s = segment_of(bytes);
        if (s->offset <= size && s->bytes <= size - s->offset)
            s->crc = crc64_ecma_refl(0, (uint8_t *)bytes + s->offset, s->bytes);
    }
    uint64_t behind = h->data_offset + h->data_bytes;
    if (behind <= size)
        h->directory_crc = crc64_ecma_refl(0, (uint8_t *)bytes + behind, size - behind);
    h->header_crc = 0;
    h->header_crc = crc64_ecma_refl(0, (uint8_t *)bytes, BLCO_PAGE);
}
