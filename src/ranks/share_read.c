#include "ranks/share_read.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "formats/blco/blco_pieces.h"
#include "formats/npy/npy_tensor.h"
#include "formats/tensor_file.h"
#include "formats/tns/tns.h"
#include "formats/tns/tns_text.h"
#include "plan/process_grid.h"

#define PIECE 16 /* segments: about a million nonzeros */

/* --- what the formats share --- */

/* Two numbers that differ where two files differ, without reading them whole. */
struct file_identity {
    uint64_t bytes, mark; /* the size; some number that the beginning of the file gives */
};

/* STATUS_INPUT on all ranks where a rank's file is not rank 0's (ranks may be on several hosts). */
static enum status check_same_file(struct comm *c, const char *path,
                                   const struct file_identity *mine, struct error *error)
{
    struct file_identity first = *mine;
    if (comm_bcast(c, 0, &first, sizeof first, error) == STATUS_OK &&
        (first.bytes != mine->bytes || first.mark != mine->mark))
        error_set(error, STATUS_INPUT, "%s: rank %d finds another file than rank 0 under this name",
                  path, c->rank);
    return comm_allreduce_error(c, error);
}

/* The bytes that the share of a rank may take, cleaning included. */
static uint64_t share_memory(const struct comm *c, const struct tns_options *options)
{
    const uint64_t memory = machine_memory_budget(options->memory);
    return options->memory == 0 ? memory / (uint64_t)c->local_size : memory;
}

/* Refuses a share of more entries than `memory` holds. */
static enum status check_memory(uint64_t entries, int order, uint64_t memory, const char *path,
                                const struct comm *c, struct error *error)
{
    const uint64_t most = memory / (4 * (uint64_t)order + 8 + TNS_CLEAN_BYTES);
    if (entries > most)
        return error_set(
            error, STATUS_MEMORY,
            "%s: more than %" PRIu64 " entries in the share of rank %d, for which there is "
            "not enough memory: convert it to .blco, which takes less, or allow more with "
            "--host-memory",
            path, most, c->rank);
    return STATUS_OK;
}

/* largest (MAX_ORDER) becomes that of all ranks. */
static enum status largest_of_ranks(uint32_t *largest, struct comm *c, struct error *error)
{
    uint32_t mine[MAX_ORDER];
    memcpy(mine, largest, sizeof mine);
    for (int k = 0; k < c->size; k++) {
        uint32_t its[MAX_ORDER];
        memcpy(its, mine, sizeof its);
        TRY(comm_bcast(c, k, its, sizeof its, error));
        for (int n = 0; n < MAX_ORDER; n++)
            largest[n] = its[n] > largest[n] ? its[n] : largest[n];
    }
    return STATUS_OK;
}

/* Rank k gets the numbers first[k] to first[k + 1] - 1, of `size` bytes each, of rank 0's array
 * `from` at `to`. */
static enum status deal_array(struct comm *c, const void *from, void *to, size_t size,
                              const uint64_t *first, struct error *error)
{
    uint64_t send[MAX_RANKS + 1], receive[MAX_RANKS + 1];
    for (int k = 0; k <= c->size; k++) {
        send[k] = c->rank == 0 ? first[k] * size : 0;
        receive[k] = k > 0 ? (first[c->rank + 1] - first[c->rank]) * size : 0;
    }
    return comm_alltoallv(c, from, send, to, receive, error);
}

/* Cuts rank 0's entries x into even parts; the next piece of each rank's share is its part. Every
 * rank knows the shape and nnz of x; only rank 0 has its arrays. Fails on every rank. */
static enum status deal(struct share *s, struct comm *c, const struct coo *x, struct error *error)
{
    uint64_t first[MAX_RANKS + 1];
    struct coo piece;
    for (int k = 0; k <= c->size; k++)
        first[k] = even_cut(x->nnz, k, c->size);
    if (coo_create(&piece, &x->shape, first[c->rank + 1] - first[c->rank], error) == STATUS_OK)
        share_append(s, &piece, error);
    TRY(comm_allreduce_error(c, error));
    const struct coo *to = &s->piece[s->pieces - 1];
    for (int n = 0; n < x->shape.order; n++)
        TRY(deal_array(c, x->index[n], to->index[n], sizeof *x->index[n], first, error));
    return deal_array(c, x->value, to->value, sizeof *x->value, first, error);
}

/* --- text --- */

/* *piece = the entries of the next window; empty, of order 0, at the end and on failure. */
static enum status parse_window(struct tns_text *t, struct coo *piece, struct progress *progress,
                                struct error *error)
{
    struct line_window window;
    uint64_t lines, used = 0;
    *piece = (struct coo){0};
    TRY(tns_text_next(t, &window, error));
    if (window.begin == window.end)
        return STATUS_OK;
    TRY(tns_text_cut(t, &window, &lines, error));
    TRY(coo_create(piece, SHAPE(t->head.format.order, t->head.format.limit), lines, error));
    TRY_OR(done, tns_text_parse(t, &window, piece, &used, error));
    TRY_OR(done, coo_resize(piece, used, error));
    tns_text_progress(t, progress);
done:
    if (error->status != STATUS_OK)
        coo_free(piece);
    return error->status;
}

/* Opens the file, which rank 0 has open already, and reads the header. */
static enum status read_header(struct tns_text *t, const struct comm *c, const char *path,
                               const struct tns_options *options, struct error *error)
{
    struct line_window window = {0};
    if (c->rank > 0)
        TRY(tns_text_open(t, path, options, error));
    if (!tns_text_has_shares(t))
        return STATUS_OK;
    TRY(tns_text_next(t, &window, error));
    return window.begin == window.end ? tns_text_end(t, 0, error) : STATUS_OK;
}

/* Reads this rank's share of a file that every rank can read. */
static enum status read_lines(struct share *s, struct tns_text *t, const struct comm *c,
                              uint64_t memory, struct progress *progress, struct error *error)
{
    TRY(tns_text_take_share(t, c->rank, c->size, error));
    for (;;) {
        struct coo piece;
        TRY(parse_window(t, &piece, progress, error));
        const int order = piece.shape.order;
        if (order == 0)
            return STATUS_OK;
        TRY(share_append(s, &piece, error));
        TRY(check_memory(s->nnz, order, memory, t->name, c, error));
    }
}

/* Deals out the next window of rank 0; *over at the end, and where rank 0 has failed. */
static enum status deal_window(struct share *s, struct tns_text *t, struct comm *c, bool *over,
                               struct progress *progress, struct error *error)
{
    struct coo x = {0};
    if (c->rank == 0)
        parse_window(t, &x, progress, error);
    struct {
        struct shape shape; /* order 0: no more windows */
        uint64_t nnz;
    } next = {x.shape, x.nnz};
    struct error unsent = {0};
    if (comm_bcast(c, 0, &next, sizeof next, &unsent) != STATUS_OK)
        error_set(error, unsent.status, "%s", unsent.message);
    *over = next.shape.order == 0;
    if (error->status == STATUS_OK && !*over) {
        x.shape = next.shape;
        x.nnz = next.nnz;
        deal(s, c, &x, error);
    }
    coo_free(&x);
    return error->status;
}

/* Reads the entries: each rank its share (s->dealt is false), or rank 0 all. */
static enum status read_text(struct share *s, struct tns_text *t, struct comm *c, const char *path,
                             const struct tns_options *options, struct progress *progress,
                             struct error *error)
{
    const uint64_t memory = share_memory(c, options);
    int has_shares = 0;
    if (c->rank == 0 && tns_text_open(t, path, options, error) == STATUS_OK) {
        progress_stage(progress, "reading %s", t->name);
        has_shares = tns_text_has_shares(t) && strcmp(path, "-") != 0;
    }
    TRY(comm_allreduce_error(c, error));
    TRY(comm_bcast(c, 0, &has_shares, sizeof has_shares, error));
    if (has_shares) {
        read_header(t, c, path, options, error);
        TRY(comm_allreduce_error(c, error));
        const bool regular = tns_text_has_shares(t);
        const struct file_identity mine = {regular ? line_reader_file_bytes(t->reader) : 0,
                                           t->head_bytes};
        TRY(check_same_file(c, path, &mine, error));
        return read_lines(s, t, c, memory, progress, error);
    }
    s->dealt = true;
    for (bool over;;) {
        TRY(deal_window(s, t, c, &over, progress, error));
        if (over) /* also where rank 0 has failed, of which the others do not know yet */
            break;
        check_memory(s->nnz, s->piece[0].shape.order, memory, path, c, error);
        TRY(comm_allreduce_error(c, error));
    }
    return STATUS_OK;
}

/* Rank 0, which always has the header, checks the end; then the share gets the shape and the number
 * of entries of the tensor. */
static enum status finish_text(struct share *s, struct tns_text *t, struct comm *c,
                               struct progress *progress, struct error *error)
{
    struct shape shape = {0};
    const uint64_t bytes = t->reader ? line_reader_bytes(t->reader) : 0;
    double sum[] = {(double)s->nnz, (double)bytes}; /* exact: below 2^53 */
    TRY(largest_of_ranks(t->largest, c, error));
    TRY(comm_allreduce_sum(c, sum, 2, error));
    s->total = (uint64_t)sum[0];
    if (c->rank == 0 && tns_text_end(t, s->total, error) == STATUS_OK) {
        shape = tns_text_shape(t, t->largest);
        tns_text_done(t, progress, s->total, (uint64_t)sum[1]);
    }
    TRY(comm_allreduce_error(c, error));
    TRY(comm_bcast(c, 0, &shape, sizeof shape, error));
    share_set_shape(s, &shape);
    return STATUS_OK;
}

enum status share_read_text(struct share *s, struct comm *c, const char *path,
                            const struct tns_options *options, struct progress *progress,
                            struct error *error)
{
    struct tns_text text = {0}; /* stays empty on the ranks that do not read the file themselves */
    *s = (struct share){0};
    read_text(s, &text, c, path, options, progress, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    finish_text(s, &text, c, progress, error);
done:
    if (error->status != STATUS_OK) {
        progress_clear(progress);
        share_free(s);
    }
    tns_text_close(&text);
    return error->status;
}

/* --- CSV --- */

enum status share_read_csv(struct share *s, struct comm *c, const struct csv_source *source,
                           struct tensor_names *names, struct progress *progress,
                           struct error *error)
{
    struct coo x = {0};
    struct tns_report report;
    *s = (struct share){.dealt = true};
    if (c->rank == 0 && csv_read(&x, names, source, progress, &report, error) == STATUS_OK)
        tensor_check_lengths(source->path, &x.shape, source->text, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_bcast(c, 0, &x.shape, sizeof x.shape, error));
    TRY_OR(done, comm_bcast(c, 0, &x.nnz, sizeof x.nnz, error));
    TRY_OR(done, deal(s, c, &x, error));
    share_set_shape(s, &x.shape);
    s->total = x.nnz;
done:
    if (error->status != STATUS_OK)
        share_free(s);
    if (c->rank > 0) /* only shape and nnz were set */
        x = (struct coo){0};
    coo_free(&x);
    return error->status;
}

/* --- NumPy arrays --- */

static enum status read_range(struct share *s, struct npy_tensor *t, const struct comm *c,
                              struct error *error)
{
    struct coo piece = {0};
    const uint64_t first = even_cut(t->entries, c->rank, c->size);
    const uint64_t count = even_cut(t->entries, c->rank + 1, c->size) - first;
    TRY(check_memory(count, t->order, share_memory(c, t->options), t->path, c, error));
    TRY(coo_create(&piece, SHAPE(t->order, t->limit), count, error));
    if (npy_entries_read(t, first, count, &piece, 0, error) != STATUS_OK) {
        coo_free(&piece);
        return error->status;
    }
    return share_append(s, &piece, error);
}

enum status share_read_npy(struct share *s, struct comm *c, const char *path,
                           const struct tns_options *options, struct progress *progress,
                           struct error *error)
{
    struct npy_tensor t = {0};
    const double start = clock_now();
    *s = (struct share){0};
    progress_stage(progress, "reading %s", path);
    npy_tensor_open(&t, path, options, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    const struct file_identity mine = {t.coords.in.size + t.values.in.size, t.entries};
    TRY_OR(done, check_same_file(c, path, &mine, error));
    read_range(s, &t, c, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, largest_of_ranks(t.largest, c, error));
    const struct shape shape = npy_tensor_shape(&t);
    share_set_shape(s, &shape);
    s->total = t.entries;
    npy_show_done(&t, progress, clock_now() - start);
done:
    if (error->status != STATUS_OK) {
        progress_clear(progress);
        share_free(s);
    }
    npy_tensor_close(&t);
    return error->status;
}

/* --- .blco files --- */

static enum status decode_piece(struct share *s, const struct blco_file *f, uint64_t begin,
                                uint64_t end, struct error *error)
{
    struct coo piece;
    TRY(coo_create(&piece, &f->shape, blco_file_nnz(f, begin, end), error));
    if (blco_file_decode(f, begin, end, &piece, error) != STATUS_OK) {
        coo_free(&piece);
        return error->status;
    }
    return share_append(s, &piece, error);
}

static enum status decode_share(struct share *s, const struct comm *c, const struct blco_file *f,
                                struct progress *progress, struct error *error)
{
    uint64_t begin = even_cut(f->header->nsegments, c->rank, c->size);
    uint64_t end = even_cut(f->header->nsegments, c->rank + 1, c->size);
    for (uint64_t b = begin; b < end; b += PIECE) {
        TRY(decode_piece(s, f, b, end - b < PIECE ? end : b + PIECE, error));
        progress_update(progress, (double)(b - begin) / (double)(end - begin), "%.1f million",
                        (double)s->nnz / 1e6);
    }
    return STATUS_OK;
}

enum status share_open_blco(struct blco_file *f, struct comm *c, const char *path,
                            const struct tns_options *options, struct error *error)
{
    tensor_open_blco(f, path, options, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    const struct file_identity mine = {f->header->file_bytes, f->header->header_crc};
    check_same_file(c, path, &mine, error);
done:
    if (error->status != STATUS_OK)
        blco_file_close(f);
    return error->status;
}

/* Compares what all shares together list with the header. */
static enum status check_listed(const struct share *s, struct comm *c, const struct blco_file *f,
                                struct error *error)
{
    double sum[2] = {0}; /* exact: below 2^53 */
    for (size_t p = 0; p < s->pieces; p++) {
        const struct coo_listed own = coo_count_listed(&s->piece[p]);
        sum[0] += (double)own.unknown;
        sum[1] += (double)own.zeros;
    }
    TRY(comm_allreduce_sum(c, sum, 2, error));
    const struct coo_listed all = {.unknown = (uint64_t)sum[0], .zeros = (uint64_t)sum[1]};
    return blco_file_check_listed(f, &all, error);
}

enum status share_read_blco(struct share *s, struct comm *c, const struct blco_file *f,
                            struct progress *progress, struct error *error)
{
    double start = clock_now();
    *s = (struct share){0};
    progress_stage(progress, "reading %s", f->name);
    decode_share(s, c, f, progress, error);
    TRY_OR(failed, comm_allreduce_error(c, error));
    TRY_OR(failed, check_listed(s, c, f, error));
    share_set_shape(s, &f->shape);
    s->total = f->header->nnz;
    s->clean = true;
    blco_file_note_read(f, clock_now() - start, progress);
    return STATUS_OK;
failed:
    progress_clear(progress);
    share_free(s);
    return error->status;
}

static enum status sample_share(struct share *s, const struct comm *c, const struct blco_file *f,
                                uint64_t every, struct error *error)
{
    struct coo sample;
    uint64_t begin = even_cut(f->header->nsegments, c->rank, c->size);
    uint64_t end = even_cut(f->header->nsegments, c->rank + 1, c->size);
    TRY(blco_sample(&sample, f, begin, end, every, error));
    return share_append(s, &sample, error);
}

enum status share_sample_blco(struct share *s, struct comm *c, const struct blco_file *f,
                              uint64_t every, struct error *error)
{
    *s = (struct share){0};
    sample_share(s, c, f, every, error);
    double total = (double)s->nnz;
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_allreduce_sum(c, &total, 1, error));
    share_set_shape(s, &f->shape);
    s->total = (uint64_t)total;
done:
    if (error->status != STATUS_OK)
        share_free(s);
    return error->status;
}
