#include "base/outfile_extents.h"

#include <omp.h>
#include <stdbool.h>

#define WRITERS 4                 /* more are no faster on one disk                              */
#define PIECE   ((size_t)8 << 20) /* bytes: large for the disk, small beside what is written     */

/* What the writers share. */
struct writing {
    const struct outfile_extent *extents;
    int count;
    size_t taken[OUTFILE_MOST_EXTENTS]; /* bytes of each extent that a writer has taken */
    bool failed;
    struct error *error; /* of the writer that has set `failed` */
};

static void note(struct writing *w, const struct error *failure)
{
    if (!__atomic_exchange_n(&w->failed, true, __ATOMIC_ACQ_REL))
        error_set(w->error, failure->status, "%s", failure->message);
}

/* Writes what no other writer has taken of an extent. */
static void write_extent(struct writing *w, int i)
{
    const struct outfile_extent *x = &w->extents[i];
    while (!__atomic_load_n(&w->failed, __ATOMIC_ACQUIRE)) {
        size_t at = __atomic_fetch_add(&w->taken[i], PIECE, __ATOMIC_RELAXED);
        struct error failure = {0};
        if (at >= x->size)
            return;
        size_t size = x->size - at < PIECE ? x->size - at : PIECE;
        if (outfile_write_at(x->file, (const char *)x->bytes + at, size, x->offset + at,
                             &failure) != STATUS_OK)
            note(w, &failure);
        else if (x->size > PIECE)
            outfile_begin_sync(x->file, size, x->offset + at);
    }
}

/* Pieces that there are, but no more than writers. */
static int writers_for(const struct outfile_extent *extents, int count)
{
    size_t pieces = 0;
    for (int i = 0; i < count; i++)
        pieces += (extents[i].size + PIECE - 1) / PIECE;
    return pieces < 1 ? 1 : pieces < WRITERS ? (int)pieces : WRITERS;
}

/* The writers begin with different extents: a file system may let one thread alone write to a
 * file. */
enum status outfile_write_extents(const struct outfile_extent *extents, int count,
                                  struct error *error)
{
    struct writing w = {.extents = extents, .count = count, .error = error};
    int writers = writers_for(extents, count);
#pragma omp parallel num_threads(writers)
    for (int i = 0; i < count; i++)
        write_extent(&w, (omp_get_thread_num() * count / writers + i) % count);
    return error->status;
}
