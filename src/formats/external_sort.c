#include "formats/external_sort.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/memory.h"
#include "formats/external_sort_piece.h"
#include "tensor/ordering_sort.h"

#define LEAST_WINDOW 256 /* entries of a run in memory                      */
#define WRITER_SHARE 8   /* an eighth of the memory is for what is written */

void external_sort_init(struct external_sort *r)
{
    *r = (struct external_sort){.file = {.fd = -1}};
}

void external_sort_free(struct external_sort *r)
{
    outfile_discard(&r->file);
    memory_free(r->run);
    external_sort_init(r);
}

static uint64_t *count_up(uint64_t count, struct error *error)
{
    uint64_t *position = memory_array(count, sizeof *position, error);
    if (position) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < count; i++)
            position[i] = i;
    }
    return position;
}

/* --- spilling --- */

/* A run is its arrays of indices, one after the other, then its values. */
static enum status write_run(struct external_sort *r, const struct coo *x, const uint64_t *position,
                             void *scratch, struct error *error)
{
    uint32_t *index = scratch;
    double *value = scratch;
    for (int n = 0; n < x->shape.order; n++) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++)
            index[i] = x->index[n][position[i]];
        if (outfile_write_at(&r->file, index, x->nnz * sizeof *index, r->bytes, error) != STATUS_OK)
            return error->status;
        r->bytes += x->nnz * sizeof *index;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++)
        value[i] = x->value[position[i]];
    if (outfile_write_at(&r->file, value, x->nnz * sizeof *value, r->bytes, error) != STATUS_OK)
        return error->status;
    r->bytes += x->nnz * sizeof *value;
    return STATUS_OK;
}

/* The lengths may grow from part to part: a mode's bits that a shorter length does not need are
 * zero in this part, so that the order is the same on the longer line. */
enum status external_sort_spill(struct external_sort *r, const char *path, const struct coo *part,
                                struct error *error)
{
    struct ordering alto;
    ordering_create(&alto, ORDERING_ALTO, &part->shape, 64);
    uint64_t *position = count_up(part->nnz, error);
    uint64_t *key = memory_array(part->nnz, sizeof *key, error);
    if (!position || !key ||
        memory_resize(&r->run, r->count + 1, sizeof *r->run, error) != STATUS_OK ||
        (r->file.fd < 0 && outfile_open_scratch(&r->file, path, error) != STATUS_OK) ||
        ordering_sort(&alto, part, position, part->nnz, key, error) != STATUS_OK)
        goto done;
    r->run[r->count] = (struct external_sort_spill_file){.offset = r->bytes, .count = part->nnz};
    if (write_run(r, part, position, key, error) == STATUS_OK)
        r->count++;
done:
    memory_free(position);
    memory_free(key);
    return error->status;
}

/* --- merging --- */

/* The next entries of each run are in memory, in a window of its own: run k's in window.
 * [k * length, k * length + filled[k]). Of the entries in all windows those can be passed on that
 * lie before the last one of every run that goes on behind its window. */
struct merger {
    struct external_sort *runs;
    struct ordering alto;
    struct coo window;  /* (count * length); owned      */
    uint64_t length;    /* entries of a window          */
    uint64_t *filled;   /* (count); owned               */
    uint64_t *position; /* (count * length); owned      */
};

static void merger_free(struct merger *m)
{
    coo_free(&m->window);
    memory_free(m->filled);
    memory_free(m->position);
}

static bool goes_on(const struct merger *m, uint64_t k)
{
    return m->runs->run[k].read < m->runs->run[k].count;
}

static void move_entries(struct coo *x, uint64_t to, uint64_t from, uint64_t count)
{
    for (int n = 0; n < x->shape.order; n++)
        memmove(x->index[n] + to, x->index[n] + from, count * sizeof *x->index[n]);
    memmove(x->value + to, x->value + from, count * sizeof *x->value);
}

/* Fills the window of run k from its file. */
static enum status refill(struct merger *m, uint64_t k, struct error *error)
{
    struct external_sort_spill_file *run = &m->runs->run[k];
    const struct coo *x = &m->window;
    uint64_t room = m->length - m->filled[k], left = run->count - run->read;
    uint64_t count = room < left ? room : left, to = k * m->length + m->filled[k];
    uint64_t at = run->offset;
    for (int n = 0; n < x->shape.order && count > 0; n++) {
        if (outfile_read_at(&m->runs->file, x->index[n] + to, count * sizeof *x->index[n],
                            at + run->read * sizeof *x->index[n], error) != STATUS_OK)
            return error->status;
        at += run->count * sizeof *x->index[n];
    }
    if (count > 0 && outfile_read_at(&m->runs->file, x->value + to, count * sizeof *x->value,
                                     at + run->read * sizeof *x->value, error) != STATUS_OK)
        return error->status;
    run->read += count;
    m->filled[k] += count;
    return STATUS_OK;
}

/* The entry before which all can be passed on; false where there is none, and all can. */
static bool find_limit(const struct merger *m, uint32_t *limit)
{
    bool found = false;
    for (uint64_t k = 0; k < m->runs->count; k++) {
        uint32_t last[MAX_ORDER] = {0};
        if (!goes_on(m, k))
            continue;
        coo_coordinates(&m->window, k * m->length + m->filled[k] - 1, last);
        if (!found || ordering_precedes(&m->alto, last, limit))
            memcpy(limit, last, sizeof last);
        found = true;
    }
    return found;
}

/* How many entries of window k lie before the limit. */
static uint64_t count_before(const struct merger *m, uint64_t k, const uint32_t *limit)
{
    uint64_t low = 0, high = m->filled[k];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint32_t coordinate[MAX_ORDER];
        coo_coordinates(&m->window, k * m->length + middle, coordinate);
        if (ordering_precedes(&m->alto, coordinate, limit))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Lists the entries that can be passed on, in run order. Returns how many; taken[k] of run k. */
static uint64_t choose(const struct merger *m, uint64_t *taken)
{
    uint32_t limit[MAX_ORDER] = {0};
    uint64_t count = 0;
    bool limited = find_limit(m, limit);
    for (uint64_t k = 0; k < m->runs->count; k++) {
        taken[k] = limited ? count_before(m, k, limit) : m->filled[k];
        for (uint64_t i = 0; i < taken[k]; i++)
            m->position[count++] = k * m->length + i;
    }
    return count;
}

/* Twice the room, where a window has nothing but entries that may be equal. */
static enum status widen(struct merger *m, struct error *error)
{
    uint64_t length = 2 * m->length, count = m->runs->count;
    if (coo_resize(&m->window, count * length, error) != STATUS_OK ||
        memory_resize(&m->position, count * length, sizeof *m->position, error) != STATUS_OK)
        return error->status;
    for (uint64_t k = count; k-- > 1;)
        move_entries(&m->window, k * length, k * m->length, m->filled[k]);
    m->length = length;
    return STATUS_OK;
}

static enum status merger_create(struct merger *m, struct external_sort *r,
                                 const struct shape *shape, uint64_t memory, struct error *error)
{
    *m = (struct merger){.runs = r};
    ordering_create(&m->alto, ORDERING_ALTO, shape, 64);
    m->length = memory / r->count / (4 * (uint64_t)shape->order + 8 + EXTERNAL_SORT_OVERHEAD);
    if (m->length < LEAST_WINDOW)
        m->length = LEAST_WINDOW;
    m->filled = memory_zeros(2 * r->count, sizeof *m->filled, error);
    m->position = memory_array(r->count * m->length, sizeof *m->position, error);
    if (error->status == STATUS_OK)
        coo_create(&m->window, shape, r->count * m->length, error);
    return error->status;
}

static enum status merge_runs(struct merger *m, struct blco_writer *w, struct coo_cleaning *report,
                              struct progress *progress, struct error *error)
{
    struct external_sort *r = m->runs;
    uint64_t *taken = m->filled + r->count, done = 0, all = 0;
    for (uint64_t k = 0; k < r->count; k++)
        all += r->run[k].count;
    while (done < all) {
        for (uint64_t k = 0; k < r->count; k++)
            if (goes_on(m, k) && refill(m, k, error) != STATUS_OK)
                return error->status;
        uint64_t count = choose(m, taken);
        if (count == 0 && widen(m, error) != STATUS_OK)
            return error->status;
        if (count > 0 && external_sort_emit(&m->alto, &m->window, m->position, count, w, report,
                                            error) != STATUS_OK)
            return error->status;
        for (uint64_t k = 0; k < r->count && count > 0; k++) {
            m->filled[k] -= taken[k];
            move_entries(&m->window, k * m->length, k * m->length + taken[k], m->filled[k]);
        }
        done += count;
        progress_update(progress, (double)done / (double)all, "%.0f million entries",
                        (double)done / 1e6);
    }
    return STATUS_OK;
}

static enum status merge_in_memory(struct coo *x, struct blco_writer *w,
                                   struct coo_cleaning *report, struct error *error)
{
    struct ordering alto;
    ordering_create(&alto, ORDERING_ALTO, &x->shape, 64);
    uint64_t *position = count_up(x->nnz, error);
    if (position)
        external_sort_emit(&alto, x, position, x->nnz, w, report, error);
    memory_free(position);
    return error->status;
}

static enum status merge(struct external_sort *r, struct coo *last, const char *path,
                         uint64_t memory, struct blco_writer *w, struct coo_cleaning *report,
                         struct progress *progress, struct error *error)
{
    if (r->count == 0)
        return merge_in_memory(last, w, report, error);
    struct coo shape = *last; /* its order and lengths */
    if (last->nnz > 0)
        external_sort_spill(r, path, last, error);
    coo_free(last);
    struct merger m = {0};
    if (error->status == STATUS_OK &&
        merger_create(&m, r, &shape.shape, memory, error) == STATUS_OK)
        merge_runs(&m, w, report, progress, error);
    merger_free(&m);
    return error->status;
}

enum status external_sort_write(struct external_sort *r, struct coo *last, const char *path,
                                uint64_t memory, struct external_sort_report *report,
                                struct progress *progress, struct error *error)
{
    struct blco_writer w;
    *report = (struct external_sort_report){0};
    if (blco_writer_open(&w, path, &last->shape, memory / WRITER_SHARE, error) == STATUS_OK &&
        merge(r, last, path, memory - memory / WRITER_SHARE, &w, &report->cleaning, progress,
              error) == STATUS_OK) {
        report->nnz = w.nnz + w.filled;
        blco_writer_commit(&w, &report->bytes, error);
    }
    blco_writer_discard(&w);
    coo_free(last);
    return error->status;
}
