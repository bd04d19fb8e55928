#include "formats/external_sort.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/ordering_sort.h"

#define LEAST_WINDOW 256 /* entries of a spill in memory                                */
#define WRITER_SHARE 8   /* an eighth of the memory is for the entries that are written */
#define PORTIONS     256 /* of the entries in memory: the work that threads share       */

void external_sort_init(struct external_sort *s)
{
    *s = (struct external_sort){.file = {.fd = -1}};
}

void external_sort_free(struct external_sort *s)
{
    outfile_discard(&s->file);
    memory_free(s->spill);
    external_sort_init(s);
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

static enum status write_spill(struct external_sort *s, const struct coo *x,
                               const uint64_t *position, void *scratch, struct error *error)
{
    uint32_t *index = scratch;
    double *value = scratch;
    for (int n = 0; n < x->shape.order; n++) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++)
            index[i] = x->index[n][position[i]];
        if (outfile_write_at(&s->file, index, x->nnz * sizeof *index, s->bytes, error) != STATUS_OK)
            return error->status;
        s->bytes += x->nnz * sizeof *index;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++)
        value[i] = x->value[position[i]];
    if (outfile_write_at(&s->file, value, x->nnz * sizeof *value, s->bytes, error) != STATUS_OK)
        return error->status;
    s->bytes += x->nnz * sizeof *value;
    return STATUS_OK;
}

/* The lengths may grow from piece to piece: bits of a mode that a shorter length does not need are
 * zero in this piece, so that the order is the same on the longer line. */
enum status external_sort_spill(struct external_sort *s, const char *path, const struct coo *piece,
                                struct error *error)
{
    struct ordering alto;
    ordering_create(&alto, ORDERING_ALTO, &piece->shape, 64);
    uint64_t *position = count_up(piece->nnz, error);
    uint64_t *key = memory_array(piece->nnz, sizeof *key, error);
    if (!position || !key ||
        memory_resize(&s->spill, s->count + 1, sizeof *s->spill, error) != STATUS_OK ||
        (s->file.fd < 0 && outfile_open_scratch(&s->file, path, error) != STATUS_OK) ||
        ordering_sort(&alto, piece, position, piece->nnz, key, error) != STATUS_OK)
        goto done;
    s->spill[s->count] = (struct spill){.offset = s->bytes, .count = piece->nnz};
    if (write_spill(s, piece, position, key, error) == STATUS_OK)
        s->count++;
done:
    memory_free(position);
    memory_free(key);
    return error->status;
}

/* --- summing and writing --- */

/* Entries of x in line order. */
struct sorted {
    struct coo *x;
    uint64_t *position, *key; /* (count); equal coordinates have equal keys */
    uint64_t count;
    uint64_t length; /* of a portion */
};

static bool repeats(const struct sorted *s, uint64_t i)
{
    if (s->key[i] != s->key[i - 1])
        return false;
    for (int n = 0; n < s->x->shape.order; n++)
        if (s->x->index[n][s->position[i]] != s->x->index[n][s->position[i - 1]])
            return false;
    return true;
}

/* Sums the entries equal to entry i, the first of them, into it and leaves the others zero.
 * Explicit zeros are counted as zeros and not as duplicates, as if they had never been there. */
static void sum_repeats(const struct sorted *s, uint64_t i, struct coo_cleaning *report)
{
    double *value = s->x->value, sum = 0;
    uint64_t terms = 0, j = i;
    if (value[s->position[i]] != 0 && (i + 1 == s->count || !repeats(s, i + 1)))
        return;
    do {
        double *term = &value[s->position[j]];
        if (*term == 0)
            report->zeros++;
        else
            sum = terms++ ? sum + *term : *term;
        *term = 0;
    } while (++j < s->count && repeats(s, j));
    value[s->position[i]] = sum;
    report->duplicates += terms > 1 ? terms - 1 : 0;
    report->zeros += terms > 1 && sum == 0;
}

static struct coo_cleaning sum_all_repeats(const struct sorted *s)
{
    uint64_t zeros = 0, duplicates = 0;
#pragma omp parallel for schedule(static) reduction(+ : zeros, duplicates)
    for (uint64_t portion = 0; portion < PORTIONS; portion++) {
        struct coo_cleaning own = {0};
        uint64_t end = (portion + 1) * s->length;
        for (uint64_t i = portion * s->length; i < (end < s->count ? end : s->count); i++)
            if (i == 0 || !repeats(s, i))
                sum_repeats(s, i, &own);
        zeros += own.zeros;
        duplicates += own.duplicates;
    }
    return (struct coo_cleaning){zeros, duplicates};
}

/* Keeps the positions of entries that are not zero. */
static void drop_zeros(struct sorted *s)
{
    uint64_t kept[PORTIONS];
#pragma omp parallel for schedule(static)
    for (uint64_t portion = 0; portion < PORTIONS; portion++) {
        uint64_t begin = portion * s->length, end = begin + s->length, to = begin;
        for (uint64_t i = begin; i < (end < s->count ? end : s->count); i++) {
            s->position[to] = s->position[i];
            to += s->x->value[s->position[i]] != 0;
        }
        kept[portion] = to - begin;
    }
    uint64_t count = 0;
    for (uint64_t portion = 0; portion < PORTIONS; portion++) {
        if (kept[portion] > 0)
            memmove(s->position + count, s->position + portion * s->length,
                    kept[portion] * sizeof *s->position);
        count += kept[portion];
    }
    s->count = count;
}

/* Sorts position[0..count), which names entries of x in input order, along the line, sums the
 * values of entries with the same coordinates in input order, and appends the sums that are not
 * zero to the file. Summed values of x and position[] are overwritten; *report is added to. */
static enum status emit(const struct ordering *alto, struct coo *x, uint64_t *position,
                        uint64_t count, struct blco_writer *w, struct coo_cleaning *report,
                        struct error *error)
{
    uint64_t *key = memory_array(count, sizeof *key, error);
    struct sorted s = {x, position, key, count, count / PORTIONS + 1};
    if (key && ordering_sort(alto, x, position, count, key, error) == STATUS_OK) {
        struct coo_cleaning cleaned = sum_all_repeats(&s);
        if (cleaned.zeros + cleaned.duplicates > 0)
            drop_zeros(&s);
        report->zeros += cleaned.zeros;
        report->duplicates += cleaned.duplicates;
        blco_writer_append(w, x, position, s.count, error);
    }
    memory_free(key);
    return error->status;
}

/* --- merging --- */

/* The next entries of each spill are in memory, in a window: those of spill k in window
 * [k * length, k * length + filled[k]). The entries that can be emitted are those before the last
 * entry in the window of every spill that goes on behind its window. */
struct merger {
    struct external_sort *sort;
    struct ordering alto;
    struct coo window;  /* (count * length); owned                                  */
    uint64_t length;    /* entries of a window                                      */
    uint64_t *filled;   /* (count) entries in each window; owned                    */
    uint64_t *taken;    /* (count) of these, how many are emitted next; in `filled` */
    uint64_t *position; /* (count * length); owned                                  */
};

static void merger_free(struct merger *m)
{
    coo_free(&m->window);
    memory_free(m->filled);
    memory_free(m->position);
}

static bool goes_on(const struct merger *m, uint64_t k)
{
    return m->sort->spill[k].read < m->sort->spill[k].count;
}

static void move_entries(struct coo *x, uint64_t to, uint64_t from, uint64_t count)
{
    for (int n = 0; n < x->shape.order; n++)
        memmove(x->index[n] + to, x->index[n] + from, count * sizeof *x->index[n]);
    memmove(x->value + to, x->value + from, count * sizeof *x->value);
}

/* Fills the window of spill k from the spill file. */
static enum status refill(struct merger *m, uint64_t k, struct error *error)
{
    struct spill *spill = &m->sort->spill[k];
    const struct coo *x = &m->window;
    uint64_t room = m->length - m->filled[k], left = spill->count - spill->read;
    uint64_t count = room < left ? room : left, to = k * m->length + m->filled[k];
    uint64_t at = spill->offset;
    for (int n = 0; n < x->shape.order && count > 0; n++) {
        if (outfile_read_at(&m->sort->file, x->index[n] + to, count * sizeof *x->index[n],
                            at + spill->read * sizeof *x->index[n], error) != STATUS_OK)
            return error->status;
        at += spill->count * sizeof *x->index[n];
    }
    if (count > 0 && outfile_read_at(&m->sort->file, x->value + to, count * sizeof *x->value,
                                     at + spill->read * sizeof *x->value, error) != STATUS_OK)
        return error->status;
    spill->read += count;
    m->filled[k] += count;
    return STATUS_OK;
}

/* Finds the entry before which all entries can be emitted; false if no spill goes on, so that all
 * entries can be. */
static bool find_limit(const struct merger *m, uint32_t *limit)
{
    bool found = false;
    for (uint64_t k = 0; k < m->sort->count; k++) {
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

/* The number of entries of window k before the limit. */
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

/* Lists the entries that can be emitted, spill after spill. Returns their number; m->taken[k] of
 * them are from spill k. */
static uint64_t choose(const struct merger *m)
{
    uint32_t limit[MAX_ORDER] = {0};
    uint64_t count = 0;
    bool limited = find_limit(m, limit);
    for (uint64_t k = 0; k < m->sort->count; k++) {
        m->taken[k] = limited ? count_before(m, k, limit) : m->filled[k];
        for (uint64_t i = 0; i < m->taken[k]; i++)
            m->position[count++] = k * m->length + i;
    }
    return count;
}

/* Doubles the windows, where one holds only entries that may be equal. */
static enum status widen(struct merger *m, struct error *error)
{
    uint64_t length = 2 * m->length, count = m->sort->count;
    if (coo_resize(&m->window, count * length, error) != STATUS_OK ||
        memory_resize(&m->position, count * length, sizeof *m->position, error) != STATUS_OK)
        return error->status;
    for (uint64_t k = count; k-- > 1;)
        move_entries(&m->window, k * length, k * m->length, m->filled[k]);
    m->length = length;
    return STATUS_OK;
}

static enum status merger_create(struct merger *m, struct external_sort *s,
                                 const struct shape *shape, uint64_t memory, struct error *error)
{
    *m = (struct merger){.sort = s};
    ordering_create(&m->alto, ORDERING_ALTO, shape, 64);
    m->length = memory / s->count / (4 * (uint64_t)shape->order + 8 + EXTERNAL_SORT_OVERHEAD);
    if (m->length < LEAST_WINDOW)
        m->length = LEAST_WINDOW;
    m->filled = memory_zeros(2 * s->count, sizeof *m->filled, error);
    m->taken = m->filled ? m->filled + s->count : NULL;
    m->position = memory_array(s->count * m->length, sizeof *m->position, error);
    if (error->status == STATUS_OK)
        coo_create(&m->window, shape, s->count * m->length, error);
    return error->status;
}

static enum status merge_spills(struct merger *m, struct blco_writer *w,
                                struct coo_cleaning *report, struct progress *progress,
                                struct error *error)
{
    struct external_sort *s = m->sort;
    uint64_t done = 0, all = 0;
    for (uint64_t k = 0; k < s->count; k++)
        all += s->spill[k].count;
    while (done < all) {
        for (uint64_t k = 0; k < s->count; k++)
            if (goes_on(m, k) && refill(m, k, error) != STATUS_OK)
                return error->status;
        uint64_t count = choose(m);
        if (count == 0 && widen(m, error) != STATUS_OK)
            return error->status;
        if (count > 0 &&
            emit(&m->alto, &m->window, m->position, count, w, report, error) != STATUS_OK)
            return error->status;
        for (uint64_t k = 0; k < s->count && count > 0; k++) {
            m->filled[k] -= m->taken[k];
            move_entries(&m->window, k * m->length, k * m->length + m->taken[k], m->filled[k]);
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
        emit(&alto, x, position, x->nnz, w, report, error);
    memory_free(position);
    return error->status;
}

static enum status merge(struct external_sort *s, struct coo *last, const char *path,
                         uint64_t memory, struct blco_writer *w, struct coo_cleaning *report,
                         struct progress *progress, struct error *error)
{
    if (s->count == 0)
        return merge_in_memory(last, w, report, error);
    struct shape shape = last->shape;
    if (last->nnz > 0)
        external_sort_spill(s, path, last, error);
    coo_free(last);
    struct merger m = {0};
    if (error->status == STATUS_OK && merger_create(&m, s, &shape, memory, error) == STATUS_OK)
        merge_spills(&m, w, report, progress, error);
    merger_free(&m);
    return error->status;
}

enum status external_sort_write(struct external_sort *s, struct coo *last, const char *path,
                                uint64_t memory, struct external_sort_report *report,
                                struct progress *progress, struct error *error)
{
    struct blco_writer w;
    *report = (struct external_sort_report){0};
    if (blco_writer_open(&w, path, &last->shape, memory / WRITER_SHARE, error) == STATUS_OK &&
        merge(s, last, path, memory - memory / WRITER_SHARE, &w, &report->cleaning, progress,
              error) == STATUS_OK) {
        report->nnz = w.nnz + w.filled;
        blco_writer_commit(&w, &report->bytes, error);
    }
    blco_writer_discard(&w);
    coo_free(last);
    return error->status;
}
