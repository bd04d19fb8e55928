#include "formats/reader/tensor_reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"

#define MARGIN 1.1 /* later entries may be shorter, on average, by this factor */

/* The name for messages. */
static const char *reader_name(const struct tensor_reader *r)
{
    return strcmp(r->path, "-") == 0 ? "standard input" : r->path;
}

enum status tensor_reader_open(struct tensor_reader *r, struct error *error)
{
    r->memory = machine_memory_budget(r->memory);
    r->shares = r->shares > 0 ? r->shares : 1;
    return r->format->open(r, error);
}

enum status tensor_reader_next(struct tensor_reader *r, struct error *error)
{
    if (!r->begun) {
        r->begun = true;
        r->start = clock_now();
        progress_stage(r->progress, "reading %s", reader_name(r));
    }
    if (r->format->next(r, error) != STATUS_OK)
        progress_clear(r->progress);
    else if (r->cut == TENSOR_WHOLE && !r->over)
        error_set(error, STATUS_MEMORY,
                  "%s: more than %" PRIu64 " entries, for which there is not enough memory: "
                  "convert it to .blco, which takes less, or allow more with --host-memory",
                  reader_name(r), r->piece.nnz);
    return error->status;
}

enum status tensor_reader_end(struct tensor_reader *r, struct error *error)
{
    if (r->format->end(r, error) != STATUS_OK)
        progress_clear(r->progress);
    r->piece.shape = r->shape;
    return error->status;
}

void tensor_reader_keep(struct tensor_reader *r, struct coo *x)
{
    const uint64_t nnz = r->piece.nnz;
    struct error unused = {0};
    *x = r->piece;
    x->nnz = r->room;
    if (nnz < r->room)
        coo_resize(x, nnz, &unused); /* which never fails */
    r->piece = (struct coo){0};
    r->room = 0;
}

enum status tensor_reader_whole(struct tensor_reader *r, struct coo *x, struct error *error)
{
    *x = (struct coo){0};
    r->cut = TENSOR_WHOLE;
    TRY(tensor_reader_open(r, error));
    TRY(tensor_reader_next(r, error));
    TRY(tensor_reader_end(r, error));
    tensor_reader_keep(r, x);
    return STATUS_OK;
}

enum status tensor_reader_hand(struct tensor_reader *r, coo_taker take, void *context,
                               struct error *error)
{
    while (!r->over) {
        TRY(tensor_reader_next(r, error));
        if (r->over) /* the end is checked before the last entries are used */
            TRY(tensor_reader_end(r, error));
        if (take(context, &r->piece, error) != STATUS_OK) {
            progress_clear(r->progress);
            return error->status;
        }
    }
    return STATUS_OK;
}

enum status tensor_reader_each(void *reader, coo_taker take, void *context, struct error *error)
{
    struct tensor_reader r = *(const struct tensor_reader *)reader;
    if (tensor_reader_open(&r, error) == STATUS_OK)
        tensor_reader_hand(&r, take, context, error);
    tensor_reader_close(&r);
    return error->status;
}

void tensor_reader_close(struct tensor_reader *r)
{
    if (r->state)
        r->format->close(r);
    memory_free(r->state);
    coo_free(&r->piece);
    *r = (struct tensor_reader){0};
}

uint64_t tensor_reader_most(const struct tensor_reader *r, int order, uint64_t taken)
{
    return (r->memory - taken) / (coo_bytes(order, 1) + r->overhead);
}

enum status tensor_reader_make_room(struct tensor_reader *r, int order, uint64_t used,
                                    uint64_t more, uint64_t most, double read, struct error *error)
{
    const uint64_t needed = used + more;
    if (r->entries + needed > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%s: more than %" PRIu64 " entries", reader_name(r),
                         MAX_NNZ);
    if (needed <= r->room)
        return STATUS_OK;
    uint64_t room = needed + needed / 2;
    const double expected = read > 0 ? (double)needed * MARGIN / read : 0;
    const bool fits = expected * (double)coo_bytes(order, 1) < (double)machine_memory_available();
    if (fits && room < (uint64_t)expected)
        room = (uint64_t)expected;
    if (room > most)
        room = needed > most ? needed : most;
    if (r->piece.shape.order == 0) {
        const struct shape shape = {.order = order};
        TRY(coo_create(&r->piece, &shape, room, error));
    } else {
        r->piece.nnz = r->room;
        TRY(coo_resize(&r->piece, room, error));
    }
    r->room = room;
    return STATUS_OK;
}

void tensor_reader_set_piece(struct tensor_reader *r, uint64_t nnz, bool over)
{
    r->piece.nnz = nnz;
    r->entries += nnz;
    r->over = over;
}
