#include "formats/external_sort.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/ordering.h"

/* --- Entries in memory on their way to a .blco file: sorted, entries with the same coordinates
 * summed, zeros dropped or kept. --- */

/* Where cleaned entries go. */
struct entry_sums {
    struct blco_writer *writer;
    enum coo_zeros zeros;
    struct coo_cleaning cleaning; /* so far */
};

/* Sorts position[0..count), which names entries of x in input order, along the writer's line, sums
 * the values of entries with the same coordinates in input order, and appends the sums to the file;
 * those that are zero only where zeros are kept. Summed values of x and position[] are overwritten.
 * STATUS_INPUT as from coo_overflow, STATUS_MEMORY, STATUS_OUTPUT. */
static enum status entry_sums_append(struct entry_sums *s, struct coo *x, uint64_t *position,
                                     uint64_t count, struct error *error)
{
    uint64_t infinite = x->nnz, *key = memory_array(count, sizeof *key, error);
    TRY(error->status);
    TRY_OR(done, ordering_sort(&s->writer->alto.ordering, x, position, count, key, error));
    coo_sum_repeats(x, position, key, &count, s->zeros, &s->cleaning, &infinite);
    if (infinite < x->nnz)
        TRY_OR(done, coo_overflow(x, NULL, infinite, error));
    blco_writer_append(s->writer, x, position, count, error);
done:
    memory_free(key);
    return error->status;
}

/* --- Merges the spills of an external sort. --- */

#define LEAST_WINDOW 256 /* entries of a spill in memory */

/* The next entries of each spill are in memory, in its window: those of spill k are entries
 * [k * length, k * length + filled[k]) of `window`. A spill goes on if it has more entries. An
 * entry can be emitted if it comes before the last entry in the window of every spill that goes on.
 */
struct merger {
    const struct external_sort *sort; /* whose spills these are                                  */
    struct entry_sums *sums;
    struct coo window;  /* (spills * length); owned                                 */
    uint64_t length;    /* entries of a window                                      */
    uint64_t *filled;   /* (spills) entries in each window; owned                   */
    uint64_t *taken;    /* (spills) how many of these are emitted next; in `filled` */
    uint64_t *position; /* (spills * length); owned                                 */
};

static bool goes_on(const struct merger *m, uint64_t k)
{
    return m->sort->spill[k].read < m->sort->spill[k].count;
}

/* Fills the window of spill k from the spill file. */
static enum status refill(struct merger *m, uint64_t k, struct error *error)
{
    struct spill *spill = &m->sort->spill[k];
    const struct coo *x = &m->window;
    uint64_t room = m->length - m->filled[k], left = spill->count - spill->read;
    uint64_t count = room < left ? room : left, to = k * m->length + m->filled[k];
    uint64_t at = spill->offset;
    for (int column = 0; column < COO_COLUMNS && count > 0; column++) {
        const size_t size = coo_column_bytes(column);
        if (!x->column[column])
            continue;
        TRY(outfile_read_at(&m->sort->file, coo_at(x, column, to), count * size,
                            at + spill->read * size, error));
        at += spill->count * size;
    }
    spill->read += count;
    m->filled[k] += count;
    return STATUS_OK;
}

/* Finds the limit, the entry before which all entries can be emitted; false if no spill goes on, so
 * that all entries can be emitted. */
static bool find_limit(const struct merger *m, uint32_t *limit)
{
    bool found = false;
    for (uint64_t k = 0; k < m->sort->spills; k++) {
        uint32_t last[MAX_ORDER] = {0};
        if (!goes_on(m, k))
            continue;
        coo_coordinates(&m->window, k * m->length + m->filled[k] - 1, last);
        if (!found || ordering_precedes(&m->sums->writer->alto.ordering, last, limit))
            memcpy(limit, last, sizeof last);
        found = true;
    }
    return found;
}

/* The number of entries of window k before the limit. */
static uint64_t count_before(const struct merger *m, uint64_t k, const uint32_t *limit)
{
    uint64_t low = 0, high = m->filled[k];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint32_t coordinate[MAX_ORDER];
        coo_coordinates(&m->window, k * m->length + middle, coordinate);
        if (ordering_precedes(&m->sums->writer->alto.ordering, coordinate, limit))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Lists the entries that can be emitted, spill after spill. Returns their number; m->taken[k] of
 * them are from spill k. */
static uint64_t choose(const struct merger *m)
{
    uint32_t limit[MAX_ORDER] = {0};
    uint64_t count = 0;
    bool limited = find_limit(m, limit);
    for (uint64_t k = 0; k < m->sort->spills; k++) {
        m->taken[k] = limited ? count_before(m, k, limit) : m->filled[k];
        for (uint64_t i = 0; i < m->taken[k]; i++)
            m->position[count++] = k * m->length + i;
    }
    return count;
}

static void drop_first(struct merger *m, uint64_t k, uint64_t count)
{
    m->filled[k] -= count;
    coo_move(&m->window, k * m->length, &m->window, k * m->length + count, m->filled[k]);
}

/* Whether window k has an entry i, and it has these coordinates (order). */
static bool is_at(const struct merger *m, uint64_t k, uint64_t i, const uint32_t *coordinate)
{
    bool same = i < m->filled[k];
    for (int n = 0; n < m->window.shape.order && same; n++)
        same = m->window.index[n][k * m->length + i] == coordinate[n];
    return same;
}

/* Emits the sum of the entries at the limit, which may fill the windows: they are summed in input
 * order, spill after spill, so that the windows need not hold them all. *count is how many. */
static enum status emit_equals(struct merger *m, uint64_t *count, struct error *error)
{
    uint32_t limit[MAX_ORDER] = {0};
    struct coo_sum sum = {0};
    struct coo one = {.shape = m->window.shape, .nnz = 1, .value = &sum.value};
    for (int n = 0; n < one.shape.order; n++)
        one.index[n] = &limit[n];
    find_limit(m, limit);
    for (uint64_t k = 0; k < m->sort->spills; k++) {
        uint64_t equal;
        do {
            for (equal = 0; is_at(m, k, equal, limit); equal++)
                coo_sum_add(&sum, m->window.value[k * m->length + equal], m->sums->zeros);
            drop_first(m, k, equal);
            *count += equal;
            if (goes_on(m, k))
                TRY(refill(m, k, error));
        } while (equal > 0 && m->filled[k] > 0);
    }
    const bool stays = coo_sum_count(&sum, m->sums->zeros, &m->sums->cleaning);
    if (isinf(sum.value))
        return coo_overflow(&one, NULL, 0, error);
    return stays ? blco_writer_append(m->sums->writer, &one, NULL, 1, error) : STATUS_OK;
}

/* Appends the entries of all spills to the file in alto order and cleaned, in about `memory` bytes.
 * STATUS_INPUT as from coo_overflow, STATUS_OUTPUT, STATUS_MEMORY. */
static enum status merge_spills(const struct external_sort *s, uint64_t memory,
                                struct entry_sums *sums, struct error *error)
{
    struct merger m = {.sort = s, .sums = sums};
    const struct shape *shape = &sums->writer->pending.shape;
    m.length = memory / s->spills / (coo_bytes(shape->order, 1) + EXTERNAL_SORT_OVERHEAD);
    if (m.length < LEAST_WINDOW)
        m.length = LEAST_WINDOW;
    m.filled = memory_zeros(2 * s->spills, sizeof *m.filled, error);
    m.taken = m.filled ? m.filled + s->spills : NULL;
    m.position = memory_array(s->spills * m.length, sizeof *m.position, error);
    TRY_OR(done, error->status);
    TRY_OR(done, coo_create(&m.window, shape, s->spills * m.length, error));
    uint64_t merged = 0, all = 0;
    for (uint64_t k = 0; k < s->spills; k++)
        all += s->spill[k].count;
    while (merged < all) {
        for (uint64_t k = 0; k < s->spills; k++)
            if (goes_on(&m, k))
                TRY_OR(done, refill(&m, k, error));
        uint64_t count = choose(&m);
        if (count > 0) {
            TRY_OR(done, entry_sums_append(sums, &m.window, m.position, count, error));
            for (uint64_t k = 0; k < s->spills; k++)
                drop_first(&m, k, m.taken[k]);
        } else {
            TRY_OR(done, emit_equals(&m, &count, error));
        }
        merged += count;
        progress_update(s->progress, (double)merged / (double)all, "%.0f million entries",
                        (double)merged / 1e6);
    }
done:
    coo_free(&m.window);
    memory_free(m.filled, m.position);
    return error->status;
}

/* --- The sort: spills, then the merge. --- */

#define WRITER_PART 8 /* an eighth of the memory is for the entries that are written */

void external_sort_init(struct external_sort *s, const char *path, uint64_t memory,
                        struct progress *progress)
{
    *s = (struct external_sort){
        .path = path, .memory = memory, .progress = progress, .file = {.fd = -1}};
}

void external_sort_free(struct external_sort *s)
{
    outfile_discard(&s->file);
    memory_free(s->spill);
    external_sort_init(s, NULL, 0, NULL);
}

/* The lengths may grow from piece to piece: bits of a mode that a shorter length does not need are
 * zero in this piece, so that the order is the same on the longer line. */
enum status external_sort_spill(struct external_sort *s, const struct coo *piece,
                                struct error *error)
{
    struct ordering alto;
    ordering_create(&alto, ORDERING_ALTO, &piece->shape, 64);
    uint64_t *position = ordering_positions(piece->nnz, error);
    uint64_t *key = memory_array(piece->nnz, sizeof *key, error);
    TRY_OR(done, error->status);
    TRY_OR(done, memory_resize(&s->spill, s->spills + 1, sizeof *s->spill, error));
    if (s->file.fd < 0)
        TRY_OR(done, outfile_open_scratch(&s->file, s->path, error));
    TRY_OR(done, ordering_sort(&alto, piece, position, piece->nnz, key, error));
    s->spill[s->spills] = (struct spill){.offset = s->bytes, .count = piece->nnz};
    for (int k = 0; k < COO_COLUMNS; k++) {
        const uint64_t bytes = piece->nnz * coo_column_bytes(k);
        if (!piece->column[k])
            continue;
        coo_gather(key, piece, k, position, piece->nnz); /* the keys are not needed any more */
        TRY_OR(done, outfile_write_at(&s->file, key, bytes, s->bytes, error));
        s->bytes += bytes;
    }
    s->spills++;
done:
    memory_free(position, key);
    return error->status;
}

enum status external_sort_write(struct external_sort *s, struct coo *last,
                                struct external_sort_report *report, struct error *error)
{
    struct blco_writer w;
    struct entry_sums sums = {.writer = &w, .zeros = s->zeros, .cleaning = s->cleaned};
    const uint64_t part = s->memory / WRITER_PART;
    uint64_t *position = NULL;
    *report = (struct external_sort_report){0};
    TRY_OR(done, blco_writer_open(&w, s->path, &last->shape, part, error));
    w.modes = s->modes;
    if (s->spills == 0) {
        position = ordering_positions(last->nnz, error);
        TRY_OR(done, error->status);
        TRY_OR(done, entry_sums_append(&sums, last, position, last->nnz, error));
    } else {
        if (last->nnz > 0)
            TRY_OR(done, external_sort_spill(s, last, error));
        coo_free(last);
        TRY_OR(done, merge_spills(s, s->memory - part, &sums, error));
    }
    report->cleaning = sums.cleaning;
    report->nnz = w.nnz + w.filled;
    w.listed.dropped = report->cleaning.zeros;
    blco_writer_commit(&w, &report->bytes, error);
done:
    memory_free(position);
    blco_writer_discard(&w);
    coo_free(last);
    return error->status;
}
