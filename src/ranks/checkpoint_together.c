#include "ranks/checkpoint_together.h"

#include <string.h>

#include "base/memory.h"

/* Rank 0 makes the file, and the others open it. */
static enum status open_file(struct outfile *f, const char *path, struct comm *c,
                             struct error *error)
{
    uint64_t key = 0;
    if (c->rank == 0)
        outfile_open_shared(f, path, &key, error);
    TRY(comm_allreduce_error(c, error));
    TRY(comm_bcast(c, 0, &key, sizeof key, error));
    if (c->rank != 0)
        outfile_join(f, path, key, error);
    return comm_allreduce_error(c, error);
}

enum status checkpoint_writable_together(const char *path, struct comm *c, struct error *error)
{
    struct outfile file = {0};
    open_file(&file, path, c, error);
    outfile_discard(&file);
    return error->status;
}

/* Completes the file: rank 0 writes the directory of the pieces of all ranks. */
static enum status complete(struct outfile *f, const struct checkpoint_about *about,
                            const struct checkpoint_pieces *own, struct comm *c,
                            struct error *error)
{
    const size_t ranks = (size_t)c->size, size = sizeof *own->piece;
    struct checkpoint_pieces all = {0}; /* on rank 0; none on the others */
    uint64_t *count = memory_array(ranks, sizeof *count, error);
    uint64_t *send = memory_zeros(ranks + 1, sizeof *send, error);
    uint64_t *receive = memory_zeros(ranks + 1, sizeof *receive, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_allgather(c, &own->count, sizeof own->count, count, error));
    for (size_t k = 0; k < ranks; k++) {
        send[k + 1] = own->count * size;
        receive[k + 1] = receive[k] + (c->rank == 0 ? count[k] * size : 0);
    }
    all.count = receive[ranks] / size;
    all.piece = memory_array(all.count, size, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_alltoallv(c, own->piece, send, all.piece, receive, error));
    if (c->rank == 0 && checkpoint_write_directory(f, about, &all, error) == STATUS_OK)
        outfile_commit(f, error);
done:
    memory_free(count);
    memory_free(send);
    memory_free(receive);
    memory_free(all.piece);
    return error->status;
}

enum status checkpoint_write_together(const char *path, const struct checkpoint_about *about,
                                      const struct checkpoint_rows *model, struct comm *c,
                                      struct error *error)
{
    struct outfile file = {0};
    struct checkpoint_pieces own = {0};
    TRY_OR(done, open_file(&file, path, c, error));
    if (checkpoint_write_rows(&file, about, model, c->rank == 0, &own, error) == STATUS_OK)
        outfile_sync(&file, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    complete(&file, about, &own, c, error);
    comm_allreduce_error(c, error);
done:
    memory_free(own.piece);
    outfile_discard(&file);
    return error->status;
}
