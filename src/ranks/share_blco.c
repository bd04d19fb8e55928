#include "ranks/share_blco.h"

#include "base/clock.h"
#include "formats/blco/blco_pieces.h"
#include "formats/tensor_file.h"

#define PIECE 16 /* segments: about a million nonzeros */

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
    ranks_same_file(c, path, &mine, error);
    comm_allreduce_error(c, error);
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
