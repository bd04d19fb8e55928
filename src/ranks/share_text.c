#include "ranks/share_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/machine.h"
#include "formats/tns/tns.h"
#include "plan/process_grid.h"
#include "ranks/share_deal.h"

/* What all ranks together have read. */
struct tally {
    uint64_t entries, bytes;     /* entries of the file; bytes of text */
    uint32_t largest[MAX_ORDER]; /* the largest index of each mode     */
};

/* A rank that reads text. */
struct reading {
    struct share *share;
    struct comm *comm;
    const char *path;
    struct tns_text text; /* empty on the ranks that do not read the file themselves */
    uint64_t memory;      /* bytes that the share may take, cleaning included        */
    struct progress *progress;
};

/* Refuses a share that is larger than memory. */
static enum status check_memory(const struct reading *r, int order, struct error *error)
{
    uint64_t bytes = 4 * (uint64_t)order + 8 + TNS_CLEAN_BYTES;
    if (r->share->nnz > r->memory / bytes)
        return error_set(
            error, STATUS_MEMORY,
            "%s: more than %" PRIu64 " entries in the share of rank %d, for which there is "
            "not enough memory: convert it to .blco, which takes less, or allow more with "
            "--host-memory",
            r->path, r->memory / bytes, r->comm->rank);
    return STATUS_OK;
}

static enum status append(struct reading *r, struct coo *piece, struct error *error)
{
    const int order = piece->shape.order;
    TRY(share_append(r->share, piece, error));
    return check_memory(r, order, error);
}

/* *piece = the entries of the window; empty on failure. */
static enum status parse(struct tns_text *t, const struct line_window *window, struct coo *piece,
                         struct error *error)
{
    const struct tns_format *f = &t->head.format;
    uint64_t lines, used = 0;
    *piece = (struct coo){0};
    TRY(tns_text_cut(t, window, &lines, error));
    TRY(coo_create(piece, SHAPE(f->order, f->limit), lines, error));
    TRY_OR(done, tns_text_parse(t, window, piece, &used, error));
    coo_resize(piece, used, error);
done:
    if (error->status != STATUS_OK)
        coo_free(piece);
    return error->status;
}

/* --- a file of which every rank reads a share --- */

/* Opens the file, which rank 0 has open already, and reads the header. */
static enum status read_header(struct reading *r, const struct tns_options *options,
                               struct error *error)
{
    struct line_window window = {0};
    if (r->comm->rank > 0)
        TRY(tns_text_open(&r->text, r->path, options, error));
    if (!tns_text_has_shares(&r->text))
        return STATUS_OK;
    TRY(tns_text_next(&r->text, &window, error));
    return window.begin == window.end ? tns_text_end(&r->text, 0, error) : STATUS_OK;
}

/* Reads the header on every rank, and finds out whether all have the same file. */
static enum status begin_share(struct reading *r, const struct tns_options *options,
                               struct error *error)
{
    read_header(r, options, error);
    TRY(comm_allreduce_error(r->comm, error));
    bool regular = tns_text_has_shares(&r->text);
    const struct file_identity mine = {regular ? line_reader_file_bytes(r->text.reader) : 0,
                                       r->text.head_bytes};
    ranks_same_file(r->comm, r->path, &mine, error);
    return comm_allreduce_error(r->comm, error);
}

/* *piece = the entries of the next window; of order 0 at the end. */
static enum status read_piece(struct reading *r, struct coo *piece, struct error *error)
{
    struct line_window window;
    *piece = (struct coo){0};
    TRY(tns_text_next(&r->text, &window, error));
    if (window.begin == window.end)
        return STATUS_OK;
    TRY(parse(&r->text, &window, piece, error));
    tns_text_progress(&r->text, r->progress);
    return STATUS_OK;
}

static enum status read_share(struct reading *r, struct error *error)
{
    TRY(tns_text_take_share(&r->text, r->comm->rank, r->comm->size, error));
    for (;;) {
        struct coo piece;
        TRY(read_piece(r, &piece, error));
        if (piece.shape.order == 0)
            return STATUS_OK;
        TRY(append(r, &piece, error));
    }
}

/* --- a file that rank 0 reads --- */

/* Deals out the next window of rank 0; *over at the end, and where rank 0 has failed. */
static enum status deal_window(struct reading *r, bool *over, struct error *error)
{
    struct coo x = {0};
    if (r->comm->rank == 0)
        read_piece(r, &x, error);
    struct {
        struct shape shape; /* order 0: no more windows */
        uint64_t nnz;
    } next = {x.shape, x.nnz};
    struct error unsent = {0};
    if (comm_bcast(r->comm, 0, &next, sizeof next, &unsent) != STATUS_OK)
        error_set(error, unsent.status, "%s", unsent.message);
    *over = next.shape.order == 0;
    if (error->status != STATUS_OK || *over)
        goto done;
    x.shape = next.shape;
    x.nnz = next.nnz;
    TRY_OR(done, share_deal(r->share, r->comm, &x, error));
    check_memory(r, x.shape.order, error);
    comm_allreduce_error(r->comm, error);
done:
    coo_free(&x);
    return error->status;
}

static enum status read_and_deal(struct reading *r, struct error *error)
{
    r->share->dealt = true;
    for (bool over = false; !over;)
        TRY(deal_window(r, &over, error));
    return STATUS_OK;
}

/* --- both --- */

/* *t, this rank's tally, becomes that of all ranks. */
static enum status add_up(struct reading *r, struct tally *t, struct error *error)
{
    const struct tally mine = *t;
    *t = (struct tally){0};
    for (int k = 0; k < r->comm->size; k++) {
        struct tally its = mine;
        TRY(comm_bcast(r->comm, k, &its, sizeof its, error));
        t->entries += its.entries;
        t->bytes += its.bytes;
        for (int n = 0; n < MAX_ORDER; n++)
            t->largest[n] = its.largest[n] > t->largest[n] ? its.largest[n] : t->largest[n];
    }
    return STATUS_OK;
}

/* Rank 0, which always has the header, checks what all ranks have read. */
static enum status check_end(struct reading *r, const struct tally *t, struct shape *shape,
                             struct error *error)
{
    TRY(tns_text_end(&r->text, t->entries, error));
    *shape = tns_text_shape(&r->text, t->largest);
    tns_text_done(&r->text, r->progress, t->entries, t->bytes);
    return STATUS_OK;
}

/* Checks the end, and gives the share the shape and the number of entries of the tensor. */
static enum status finish(struct reading *r, struct error *error)
{
    struct tally t = {.entries = r->share->nnz};
    struct shape shape = {0};
    if (r->text.reader) {
        t.bytes = line_reader_bytes(r->text.reader);
        for (int n = 0; n < MAX_ORDER; n++)
            t.largest[n] = r->text.largest[n];
    }
    TRY(add_up(r, &t, error));
    if (r->comm->rank == 0)
        check_end(r, &t, &shape, error);
    TRY(comm_allreduce_error(r->comm, error));
    TRY(comm_bcast(r->comm, 0, &shape, sizeof shape, error));
    share_set_shape(r->share, &shape);
    r->share->total = t.entries;
    return STATUS_OK;
}

/* Rank 0 opens the text; *has_shares = whether each rank can read its share of the file. */
static enum status open_first(struct reading *r, const struct tns_options *options, int *has_shares,
                              struct error *error)
{
    TRY(tns_text_open(&r->text, r->path, options, error));
    progress_stage(r->progress, "reading %s", r->text.name);
    *has_shares = tns_text_has_shares(&r->text) && strcmp(r->path, "-") != 0;
    return STATUS_OK;
}

/* Reads the entries: each rank its share, or rank 0 all. */
static enum status read_entries(struct reading *r, const struct tns_options *options,
                                struct error *error)
{
    struct comm *c = r->comm;
    int has_shares = 0;
    if (c->rank == 0)
        open_first(r, options, &has_shares, error);
    TRY(comm_allreduce_error(c, error));
    TRY(comm_bcast(c, 0, &has_shares, sizeof has_shares, error));
    if (!has_shares)
        return read_and_deal(r, error);
    TRY(begin_share(r, options, error));
    return read_share(r, error);
}

enum status share_read_text(struct share *s, struct comm *c, const char *path,
                            const struct tns_options *options, struct progress *progress,
                            struct error *error)
{
    struct reading r = {.share = s, .comm = c, .path = path, .progress = progress};
    *s = (struct share){0};
    r.memory = machine_memory_budget(options->memory);
    if (options->memory == 0)
        r.memory /= (uint64_t)c->local_size;
    read_entries(&r, options, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    finish(&r, error);
done:
    if (error->status != STATUS_OK) {
        progress_clear(progress);
        share_free(s);
    }
    tns_text_close(&r.text);
    return error->status;
}
