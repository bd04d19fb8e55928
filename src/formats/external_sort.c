#include "formats/external_sort.h"

#include "base/memory.h"
#include "formats/entry_sums.h"
#include "formats/spill_merge.h"
#include "tensor/ordering.h"

#define WRITER_PART 8 /* an eighth of the memory is for the entries that are written */

void external_sort_init(struct external_sort *s, const char *path, uint64_t memory,
                        struct progress *progress)
{
    *s = (struct external_sort){
        .path = path, .memory = memory, .progress = progress, .spills.file = {.fd = -1}};
}

void external_sort_free(struct external_sort *s)
{
    outfile_discard(&s->spills.file);
    memory_free(s->spills.spill);
    external_sort_init(s, NULL, 0, NULL);
}

static enum status write_spill(struct external_sort *s, const struct coo *x,
                               const uint64_t *position, void *scratch, struct error *error)
{
    uint32_t *index = scratch;
    double *value = scratch;
    for (int n = 0; n < x->shape.order; n++) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++)
            index[i] = x->index[n][position[i]];
        TRY(outfile_write_at(&s->spills.file, index, x->nnz * sizeof *index, s->spills.bytes,
                             error));
        s->spills.bytes += x->nnz * sizeof *index;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++)
        value[i] = x->value[position[i]];
    TRY(outfile_write_at(&s->spills.file, value, x->nnz * sizeof *value, s->spills.bytes, error));
    s->spills.bytes += x->nnz * sizeof *value;
    return STATUS_OK;
}

/* Makes room for a spill, and the spill file if there is none. */
static enum status prepare_spill(struct external_sort *s, struct error *error)
{
    struct spills *all = &s->spills;
    TRY(memory_resize(&all->spill, all->count + 1, sizeof *all->spill, error));
    return all->file.fd < 0 ? outfile_open_scratch(&all->file, s->path, error) : STATUS_OK;
}

/* The lengths may grow from piece to piece: bits of a mode that a shorter length does not need are
 * zero in this piece, so that the order is the same on the longer line. */
enum status external_sort_spill(struct external_sort *s, const struct coo *piece,
                                struct error *error)
{
    struct ordering alto;
    ordering_create(&alto, ORDERING_ALTO, &piece->shape, 64);
    uint64_t *position = entry_sums_positions(piece->nnz, error);
    uint64_t *key = memory_array(piece->nnz, sizeof *key, error);
    TRY_OR(done, error->status);
    TRY_OR(done, prepare_spill(s, error));
    TRY_OR(done, ordering_sort(&alto, piece, position, piece->nnz, key, error));
    s->spills.spill[s->spills.count] =
        (struct spill){.offset = s->spills.bytes, .count = piece->nnz};
    TRY_OR(done, write_spill(s, piece, position, key, error));
    s->spills.count++;
done:
    memory_free(position);
    memory_free(key);
    return error->status;
}

static enum status merge_in_memory(struct coo *x, struct entry_sums *sums, struct error *error)
{
    uint64_t *position = entry_sums_positions(x->nnz, error);
    if (!position)
        return error->status;
    entry_sums_append(sums, x, position, x->nnz, error);
    memory_free(position);
    return error->status;
}

static enum status merge(struct external_sort *s, struct coo *last, struct entry_sums *sums,
                         struct error *error)
{
    if (s->spills.count == 0)
        return merge_in_memory(last, sums, error);
    if (last->nnz > 0)
        TRY(external_sort_spill(s, last, error));
    coo_free(last);
    return spill_merge(&s->spills, s->memory - s->memory / WRITER_PART, sums, s->progress, error);
}

enum status external_sort_write(struct external_sort *s, struct coo *last,
                                struct external_sort_report *report, struct error *error)
{
    struct blco_writer w;
    struct entry_sums sums = {.writer = &w, .zeros = s->zeros};
    *report = (struct external_sort_report){0};
    TRY_OR(done, blco_writer_open(&w, s->path, &last->shape, s->memory / WRITER_PART, error));
    w.modes = s->modes;
    TRY_OR(done, merge(s, last, &sums, error));
    report->cleaning = sums.cleaning;
    report->cleaning.zeros += s->cleaned.zeros;
    report->cleaning.duplicates += s->cleaned.duplicates;
    report->nnz = w.nnz + w.filled;
    w.listed.dropped = report->cleaning.zeros;
    blco_writer_commit(&w, &report->bytes, error);
done:
    blco_writer_discard(&w);
    coo_free(last);
    return error->status;
}
