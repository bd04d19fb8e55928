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

/* The arguments of comm_alltoallv when all ranks send pieces to rank 0. */
struct parcels {
    uint64_t *count, *send, *receive; /* (ranks), (ranks + 1), (ranks + 1); owned */
};

static enum status parcels_create(struct parcels *p, const struct comm *c, struct error *error)
{
    size_t ranks = (size_t)c->size;
    p->count = memory_array(ranks, sizeof *p->count, error);
    p->send = memory_zeros(ranks + 1, sizeof *p->send, error);
    p->receive = memory_zeros(ranks + 1, sizeof *p->receive, error);
    return error->status;
}

static void parcels_free(struct parcels *p)
{
    memory_free(p->count);
    memory_free(p->send);
    memory_free(p->receive);
}

/* *all = on rank 0 the pieces of all ranks, on the others none. */
static enum status gather_pieces(const struct checkpoint_pieces *own, struct checkpoint_pieces *all,
                                 struct parcels *p, struct comm *c, struct error *error)
{
    size_t size = sizeof *own->piece;
    TRY(comm_allgather(c, &own->count, sizeof own->count, p->count, error));
    for (int k = 0; k < c->size; k++) {
        p->send[k + 1] = own->count * size;
        p->receive[k + 1] = p->receive[k] + (c->rank == 0 ? p->count[k] * size : 0);
    }
    all->count = p->receive[c->size] / size;
    all->piece = memory_array(all->count, size, error);
    TRY(comm_allreduce_error(c, error));
    return comm_alltoallv(c, own->piece, p->send, all->piece, p->receive, error);
}

/* Completes the file: rank 0 writes the directory of all pieces. */
static enum status complete(struct outfile *f, const struct checkpoint_about *about,
                            const struct checkpoint_pieces *own, struct comm *c,
                            struct error *error)
{
    struct parcels p = {0};
    struct checkpoint_pieces all = {0};
    parcels_create(&p, c, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, gather_pieces(own, &all, &p, c, error));
    if (c->rank != 0)
        goto done;
    TRY_OR(done, checkpoint_write_directory(f, about, &all, error));
    outfile_commit(f, error);
done:
    parcels_free(&p);
    memory_free(all.piece);
    return error->status;
}

/* Writes this rank's rows to the disk. */
static enum status write_rows(struct outfile *f, const struct checkpoint_about *about,
                              const struct checkpoint_rows *model, bool is_first,
                              struct checkpoint_pieces *own, struct error *error)
{
    TRY(checkpoint_write_rows(f, about, model, is_first, own, error));
    return outfile_sync(f, error);
}

enum status checkpoint_write_together(const char *path, const struct checkpoint_about *about,
                                      const struct checkpoint_rows *model, struct comm *c,
                                      struct error *error)
{
    struct outfile file = {0};
    struct checkpoint_pieces own = {0};
    TRY_OR(done, open_file(&file, path, c, error));
    write_rows(&file, about, model, c->rank == 0, &own, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    complete(&file, about, &own, c, error);
    comm_allreduce_error(c, error);
done:
    memory_free(own.piece);
    outfile_discard(&file);
    return error->status;
}
