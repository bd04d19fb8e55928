#include "ranks/share_npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "formats/npy/npy_tensor.h"

/* Opens the files, and finds out whether every rank has the same. */
static enum status open_files(struct npy_tensor *t, struct comm *c, const char *path,
                              const struct tns_options *options, struct error *error)
{
    npy_tensor_open(t, path, options, error);
    TRY(comm_allreduce_error(c, error));
    const struct file_identity mine = {t->coords.in.size + t->values.in.size, t->entries};
    ranks_same_file(c, path, &mine, error);
    return comm_allreduce_error(c, error);
}

static enum status check_memory(const struct npy_tensor *t, const struct comm *c, uint64_t count,
                                struct error *error)
{
    uint64_t memory = machine_memory_budget(t->options->memory);
    const uint64_t bytes = 4 * (uint64_t)t->order + 8 + TNS_CLEAN_BYTES;
    if (t->options->memory == 0)
        memory /= (uint64_t)c->local_size;
    if (count <= memory / bytes)
        return STATUS_OK;
    return error_set(error, STATUS_MEMORY,
                     "%s: more than %" PRIu64
                     " entries in the share of rank %d, for which there is "
                     "not enough memory: convert it to .blco, which takes less, or allow more with "
                     "--host-memory",
                     t->path, memory / bytes, c->rank);
}

static enum status read_range(struct share *s, struct npy_tensor *t, const struct comm *c,
                              struct error *error)
{
    struct coo piece = {0};
    const uint64_t first = even_cut(t->entries, c->rank, c->size);
    const uint64_t count = even_cut(t->entries, c->rank + 1, c->size) - first;
    TRY(check_memory(t, c, count, error));
    TRY(coo_create(&piece, SHAPE(t->order, t->limit), count, error));
    if (npy_entries_read(t, first, count, &piece, 0, error) != STATUS_OK) {
        coo_free(&piece);
        return error->status;
    }
    return share_append(s, &piece, error);
}

/* t->largest becomes that of all ranks. */
static enum status join_largest(struct npy_tensor *t, struct comm *c, struct error *error)
{
    uint32_t most[MAX_ORDER] = {0};
    for (int k = 0; k < c->size; k++) {
        uint32_t its[MAX_ORDER];
        memcpy(its, t->largest, sizeof its);
        TRY(comm_bcast(c, k, its, sizeof its, error));
        for (int n = 0; n < MAX_ORDER; n++)
            most[n] = its[n] > most[n] ? its[n] : most[n];
    }
    memcpy(t->largest, most, sizeof most);
    return STATUS_OK;
}

enum status share_read_npy(struct share *s, struct comm *c, const char *path,
                           const struct tns_options *options, struct progress *progress,
                           struct error *error)
{
    struct npy_tensor t = {0};
    const double start = clock_now();
    *s = (struct share){0};
    progress_stage(progress, "reading %s", path);
    TRY_OR(done, open_files(&t, c, path, options, error));
    read_range(s, &t, c, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, join_largest(&t, c, error));
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
