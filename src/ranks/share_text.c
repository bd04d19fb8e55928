#include "ranks/share_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/machine.h"
#include "formats/tns/tns.h"
#include "plan/process_grid.h"
#include "ranks/file_identity.h"

/* What the ranks read, all together. */
struct tally {
    uint64_t entries, bytes; /* in the file; of text */
    uint32_t largest[MAX_ORDER];
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

static enum status append(struct reading *r, struct coo *piece, struct error *error)
{
    uint64_t bytes = 4 * (uint64_t)piece->shape.order + 8 + TNS_CLEAN_BYTES;
    if (share_append(r->share, piece, error) == STATUS_OK && r->share->nnz > r->memory / bytes)
        error_set(error, STATUS_MEMORY,
                  "%s: more than %" PRIu64 " entries in the share of rank %d, for which there is "
                  "not enough memory: convert it to .blco, which takes less, or allow more with "
                  "--host-memory",
                  r->path, r->memory / bytes, r->comm->rank);
    return error->status;
}

/* *piece = the entries of the window; empty on failure. */
static enum status parse(struct tns_text *t, const struct line_window *window, struct coo *piece,
                         struct error *error)
{
    const struct tns_format *f = &t->head.format;
    uint64_t lines, used = 0;
    if (tns_text_cut(t, window, &lines, error) != STATUS_OK ||
        coo_create(piece, SHAPE(f->order, f->limit), lines, error) != STATUS_OK)
        return error->status;
    if (tns_text_parse(t, window, piece, &used, error) == STATUS_OK)
        coo_resize(piece, used, error);
    if (error->status != STATUS_OK)
        coo_free(piece);
    return error->status;
}

/* --- a file that every rank reads a share of --- */

/* Opens the file on the ranks that have not done so, and reads the header on each. */
static enum status begin_share(struct reading *r, const char *path,
                               const struct tns_options *options, const struct tns_sizes *sizes,
                               struct error *error)
{
    struct line_window window = {0};
    if (r->comm->rank > 0)
        tns_text_open(&r->text, path, options, sizes, error);
    if (error->status == STATUS_OK && tns_text_has_shares(&r->text) &&
        tns_text_next(&r->text, &window, error) == STATUS_OK && window.begin == window.end)
        tns_text_end(&r->text, 0, error);
    if (comm_allreduce_error(r->comm, error) != STATUS_OK)
        return error->status;
    bool regular = tns_text_has_shares(&r->text);
    const struct file_identity mine = {regular ? line_reader_file_bytes(r->text.reader) : 0,
                                       r->text.head_bytes};
    ranks_same_file(r->comm, path, &mine, error);
    return comm_allreduce_error(r->comm, error);
}

static enum status read_share(struct reading *r, struct error *error)
{
    struct line_window window;
    if (tns_text_take_share(&r->text, r->comm->rank, r->comm->size, error) != STATUS_OK)
        return error->status;
    while (tns_text_next(&r->text, &window, error) == STATUS_OK && window.begin < window.end) {
        struct coo piece;
        if (parse(&r->text, &window, &piece, error) != STATUS_OK ||
            append(r, &piece, error) != STATUS_OK)
            return error->status;
        tns_text_progress(&r->text, r->progress);
    }
    return error->status;
}

/* --- a file that rank 0 reads --- */

/* An array of `nnz` numbers of `size` bytes that rank 0 has goes to the ranks in even shares, to
 * each rank's `to`. */
static enum status deal_array(struct comm *c, const void *from, void *to, uint64_t nnz, size_t size,
                              uint64_t *send_first, uint64_t *receive_first, struct error *error)
{
    uint64_t mine = share_begin(nnz, c->rank + 1, c->size) - share_begin(nnz, c->rank, c->size);
    for (int k = 0; k <= c->size; k++) {
        send_first[k] = c->rank == 0 ? share_begin(nnz, k, c->size) * size : 0;
        receive_first[k] = k > 0 ? mine * size : 0;
    }
    return comm_alltoallv(c, from, send_first, to, receive_first, error);
}

/* Deals x out, which rank 0 has, of `order` and `nnz`: each rank's part becomes its next piece. */
static enum status deal(struct reading *r, const struct coo *x, const struct shape *shape,
                        uint64_t nnz, struct error *error)
{
    struct comm *c = r->comm;
    struct share *s = r->share;
    uint64_t first[2][MAX_RANKS + 1];
    struct coo piece = {0};
    uint64_t mine = share_begin(nnz, c->rank + 1, c->size) - share_begin(nnz, c->rank, c->size);
    if (coo_create(&piece, shape, mine, error) == STATUS_OK)
        append(r, &piece, error);
    if (comm_allreduce_error(c, error) != STATUS_OK)
        return error->status;
    const struct coo *to = &s->piece[s->pieces - 1];
    for (int n = 0; n < shape->order && error->status == STATUS_OK; n++)
        deal_array(c, x->index[n], to->index[n], nnz, sizeof *x->index[n], first[0], first[1],
                   error);
    if (error->status == STATUS_OK)
        deal_array(c, x->value, to->value, nnz, sizeof *x->value, first[0], first[1], error);
    return error->status;
}

/* The next window of rank 0 goes to all; *over at the end, and where rank 0 has failed. */
static enum status deal_window(struct reading *r, bool *over, struct error *error)
{
    struct coo x = {0};
    struct line_window window = {0};
    if (r->comm->rank == 0 && tns_text_next(&r->text, &window, error) == STATUS_OK &&
        window.begin < window.end && parse(&r->text, &window, &x, error) == STATUS_OK)
        tns_text_progress(&r->text, r->progress);
    struct {
        struct shape shape; /* of order 0: over */
        uint64_t nnz;
    } next = {x.shape, x.nnz};
    struct error meeting = {0};
    if (comm_bcast(r->comm, 0, &next, sizeof next, &meeting) != STATUS_OK)
        error_set(error, meeting.status, "%s", meeting.message);
    *over = next.shape.order == 0;
    if (error->status == STATUS_OK && !*over)
        deal(r, &x, &next.shape, next.nnz, error);
    coo_free(&x);
    return error->status;
}

static enum status read_and_deal(struct reading *r, struct error *error)
{
    bool over = false;
    r->share->dealt = true;
    while (!over && deal_window(r, &over, error) == STATUS_OK)
        ;
    return error->status;
}

/* --- both --- */

/* *t = the sums and the largest of all ranks. */
static enum status add_up(struct reading *r, struct tally *t, struct error *error)
{
    const struct tally mine = *t;
    *t = (struct tally){0};
    for (int k = 0; k < r->comm->size; k++) {
        struct tally its = mine;
        if (comm_bcast(r->comm, k, &its, sizeof its, error) != STATUS_OK)
            return error->status;
        t->entries += its.entries;
        t->bytes += its.bytes;
        for (int n = 0; n < MAX_ORDER; n++)
            t->largest[n] = its.largest[n] > t->largest[n] ? its.largest[n] : t->largest[n];
    }
    return STATUS_OK;
}

/* Rank 0, which knows the header in any case, checks what all have read, and tells the shape. */
static enum status finish(struct reading *r, struct error *error)
{
    struct tally t = {.entries = r->share->nnz};
    struct shape shape = {0};
    if (r->text.reader) {
        t.bytes = line_reader_bytes(r->text.reader);
        for (int n = 0; n < MAX_ORDER; n++)
            t.largest[n] = r->text.largest[n];
    }
    if (add_up(r, &t, error) != STATUS_OK)
        return error->status;
    if (r->comm->rank == 0 && tns_text_end(&r->text, t.entries, error) == STATUS_OK) {
        shape = tns_text_shape(&r->text, t.largest);
        tns_text_done(&r->text, r->progress, t.entries, t.bytes);
    }
    if (comm_allreduce_error(r->comm, error) != STATUS_OK ||
        comm_bcast(r->comm, 0, &shape, sizeof shape, error) != STATUS_OK)
        return error->status;
    share_set_shape(r->share, &shape);
    r->share->total = t.entries;
    return STATUS_OK;
}

enum status share_read_text(struct share *s, struct comm *c, const char *path,
                            const struct tns_options *options, const struct tns_sizes *sizes,
                            struct progress *progress, struct error *error)
{
    struct reading r = {.share = s, .comm = c, .path = path, .progress = progress};
    int has_shares = 0;
    *s = (struct share){0};
    r.memory = machine_memory_budget(options->memory);
    if (options->memory == 0)
        r.memory /= (uint64_t)c->local_size;
    if (c->rank == 0 && tns_text_open(&r.text, path, options, sizes, error) == STATUS_OK) {
        progress_stage(progress, "reading %s", r.text.name);
        has_shares = tns_text_has_shares(&r.text) && strcmp(path, "-") != 0;
    }
    if (comm_allreduce_error(c, error) == STATUS_OK &&
        comm_bcast(c, 0, &has_shares, sizeof has_shares, error) == STATUS_OK) {
        if (!has_shares)
            read_and_deal(&r, error);
        else if (begin_share(&r, path, options, sizes, error) == STATUS_OK)
            read_share(&r, error);
    }
    if (comm_allreduce_error(c, error) != STATUS_OK || finish(&r, error) != STATUS_OK) {
        progress_clear(progress);
        share_free(s);
    }
    tns_text_close(&r.text);
    return error->status;
}
