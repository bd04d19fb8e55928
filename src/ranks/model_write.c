#include "ranks/model_write.h"

#include <stdbool.h>

#include "formats/ktensor/npy.h"

/* Opens the files that rank 0 has made. If another rank has aborted meanwhile, rank 0 may have
 * removed the files; then the error is that of the abort. */
static enum status join_files(struct outfile *file, const struct ktensor_files *files,
                              const uint64_t *key, struct comm *c, struct error *error)
{
    struct error aborted = {0};
    for (int i = 0; i < files->count; i++)
        if (outfile_join(&file[i], files->path[i], key[i], error) != STATUS_OK) {
            if (comm_check(c, &aborted) != STATUS_OK)
                *error = aborted;
            return error->status;
        }
    return STATUS_OK;
}

/* Every rank opens the files, which rank 0 makes. All ranks learn of a failure at once: a rank
 * whose host does not see the files should end the others before these write for minutes. */
static enum status open_files(struct outfile *file, const struct ktensor_files *files,
                              struct comm *c, struct error *error)
{
    uint64_t key[KTENSOR_MOST_FILES] = {0};
    for (int i = 0; c->rank == 0 && i < files->count && error->status == STATUS_OK; i++)
        outfile_open_shared(&file[i], files->path[i], &key[i], error);
    TRY(comm_allreduce_error(c, error));
    TRY(comm_bcast(c, 0, key, sizeof key, error));
    if (c->rank != 0)
        join_files(file, files, key, c, error);
    return comm_allreduce_error(c, error);
}

static enum status write_header_and_lambda(struct outfile *file, const struct ktensor *part,
                                           const struct shape *whole, struct error *error)
{
    struct outfile *lambda = &file[whole->order];
    for (int n = 0; n < whole->order; n++)
        TRY(npy_write_header(&file[n], whole->dims[n], part->rank, error));
    TRY(npy_write_header(lambda, part->rank, 0, error));
    const struct outfile_extent weights =
        npy_extent(lambda, part->rank, 0, part->lambda, 0, part->rank);
    return outfile_write_extents(&weights, 1, error);
}

/* Writes this rank's rows, and on rank 0 headers and lambda, to the disk. */
static enum status write_own(struct outfile *file, const struct model_rows *m, int rank,
                             struct error *error)
{
    const struct ktensor *part = m->part;
    const struct ktensor_rows *own = m->own;
    const struct shape *whole = m->whole;
    if (rank == 0)
        TRY(write_header_and_lambda(file, part, whole, error));
    struct outfile_extent rows[MAX_ORDER];
    for (int n = 0; n < whole->order; n++)
        rows[n] = npy_extent(&file[n], whole->dims[n], part->rank,
                             part->factor[n] + own->first[n] * part->rank,
                             part->first[n] + own->first[n], own->count[n]);
    TRY(outfile_write_extents(rows, whole->order, error));
    for (int i = 0; i <= whole->order; i++)
        TRY(outfile_sync(&file[i], error));
    return STATUS_OK;
}

/* The new files, of which *count are open, and the maps replace the older ones. */
static enum status replace_older(struct outfile *file, int *count, const struct labels *names,
                                 struct ktensor_files *files, struct stem_lock *lock,
                                 struct error *error)
{
    if (names)
        TRY(ktensor_files_add_maps(files, lock->stem, names, error));
    TRY(ktensor_write_maps(file, count, names, lock, error));
    TRY(ktensor_files_older(file, count, files, lock, error));
    return outfile_set_replace(lock, file, *count, error);
}

/* Rank 0 gives the files their final names, and keeps the old files until all ranks know. */
static enum status replace_files(struct outfile *file, const struct labels *names,
                                 struct ktensor_files *files, struct comm *c,
                                 struct stem_lock *lock, struct error *error)
{
    int count = files->count;
    bool replaced =
        c->rank == 0 && replace_older(file, &count, names, files, lock, error) == STATUS_OK;
    comm_allreduce_error(c, error);
    if (replaced && error->status == STATUS_OK)
        outfile_set_keep(lock, file, count);
    else if (replaced)
        outfile_set_discard(lock, file, count);
    return error->status;
}

enum status model_write_together(const struct model_rows *m, struct comm *c, const char *stem,
                                 struct stem_lock *lock, struct ktensor_files *files,
                                 struct error *error)
{
    struct outfile file[KTENSOR_MOST_FILES] = {0}; /* of the modes, then of lambda */
    ktensor_files_name(files, m->whole->order, stem, KTENSOR_NPY, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, open_files(file, files, c, error));
    write_own(file, m, c->rank, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    replace_files(file, m->names, files, c, lock, error);
done:
    for (int i = 0; i < KTENSOR_MOST_FILES; i++)
        outfile_discard(&file[i]);
    return error->status;
}

enum status model_writable_together(int order, const char *stem, struct comm *c,
                                    struct error *error)
{
    struct outfile file[KTENSOR_MOST_FILES] = {0};
    struct ktensor_files files;
    ktensor_files_name(&files, order, stem, KTENSOR_NPY, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    open_files(file, &files, c, error);
done:
    for (int i = 0; i < KTENSOR_MOST_FILES; i++)
        outfile_discard(&file[i]);
    ktensor_files_free(&files);
    return error->status;
}
