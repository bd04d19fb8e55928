#include "formats/npy/npy_read.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/number.h"
#include "formats/npy/npy_entries.h"

#define STEP (UINT64_C(1) << 22) /* entries that are read between two signs of progress */

/* Reads entries first to first + count - 1 to an empty *x. */
static enum status read_piece(struct npy_tensor *t, uint64_t first, uint64_t count, struct coo *x,
                              struct progress *progress, struct error *error)
{
    TRY(coo_create(x, SHAPE(t->order, t->limit), count, error));
    for (uint64_t i = 0; i < count; i += STEP) {
        const uint64_t some = count - i < STEP ? count - i : STEP;
        TRY(npy_entries_read(t, first + i, some, x, i, error));
        progress_update(progress, (double)(first + i + some) / (double)t->entries,
                        "%" PRIu64 " entries", first + i + some);
    }
    x->shape = npy_tensor_shape(t);
    return STATUS_OK;
}

static enum status read_pieces(struct npy_tensor *t, struct coo *x, const struct tns_pieces *pieces,
                               struct error *error)
{
    const uint64_t bytes = 4 * (uint64_t)t->order + 8 + pieces->overhead;
    const uint64_t most = pieces->memory / bytes > STEP ? pieces->memory / bytes : STEP;
    for (uint64_t first = 0;; first += most) {
        const bool is_last = t->entries - first <= most;
        TRY(read_piece(t, first, is_last ? t->entries - first : most, x, pieces->progress, error));
        if (is_last)
            return STATUS_OK;
        TRY(pieces->take(pieces->context, x, error));
        coo_free(x);
    }
}

void npy_show_done(const struct npy_tensor *t, struct progress *progress, double seconds)
{
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    const uint64_t bytes = npy_tensor_bytes(t);
    progress_done(progress, "%" PRIu64 " entr%s, %s of arrays%s", t->entries,
                  t->entries == 1 ? "y" : "ies", number_size(bytes, size),
                  pace_bytes(bytes, "", seconds, how_fast));
}

enum status npy_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                            const struct tns_pieces *pieces, struct tns_report *report,
                            struct error *error)
{
    struct npy_tensor t;
    const double start = clock_now();
    *x = (struct coo){0};
    *report = (struct tns_report){0};
    TRY_OR(done, npy_tensor_open(&t, path, options, error));
    progress_stage(pieces->progress, "reading %s", path);
    TRY_OR(done, read_pieces(&t, x, pieces, error));
    report->entries = t.entries;
    report->text_bytes = npy_tensor_bytes(&t);
    npy_show_done(&t, pieces->progress, clock_now() - start);
done:
    if (error->status != STATUS_OK) {
        progress_clear(pieces->progress);
        coo_free(x);
    }
    npy_tensor_close(&t);
    return error->status;
}

enum status npy_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error)
{
    const struct tns_pieces whole = tns_whole(options->memory, &path, progress);
    return npy_read_pieces(x, path, options, &whole, report, error);
}
