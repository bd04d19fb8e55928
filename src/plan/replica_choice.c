#include "plan/replica_choice.h"

#include <math.h>

#include "base/memory.h"

/* The time of MTTKRP from a mode's own ordering, which needs no sort and hardly any atomics, over
 * the time from alto. Measured on an H200: 0.53 to 0.79. */
#define KERNEL_RATIO 0.7

bool replica_choice_sweep(struct replica_choice *c, const double *seconds)
{
    double gained = 0;
    for (int n = 0; n < c->order; n++) {
        const double own = fmax(KERNEL_RATIO * seconds[n], c->bus_seconds[n]);
        gained += seconds[n] > own ? seconds[n] - own : 0;
    }
    c->sweeps++;
    c->lost_seconds += gained;
    double left = c->iterations > c->sweeps ? (double)(c->iterations - c->sweeps) : 0;
    return gained > 0 &&
           (c->lost_seconds >= c->build_seconds || gained * left / 2 >= c->build_seconds);
}

#define BINS 4096 /* of rows; replica_pieces_guess works with so many at most */

static const char doing[] = "building an ordering on the GPU";

enum status replica_pieces_whole(struct replica_pieces *p, uint64_t length, struct error *error)
{
    *p = (struct replica_pieces){.end = memory_array(1, sizeof *p->end, error)};
    if (p->end)
        p->end[p->count++] = (uint32_t)length;
    return error->status;
}

enum status replica_pieces_cut(struct replica_pieces *p, const uint32_t *count, uint64_t length,
                               uint64_t nnz, uint64_t most, struct error *error)
{
    uint64_t all = 0;
    *p = (struct replica_pieces){0};
    for (uint64_t i = 0; i < length; i++) {
        if (count[i] > most)
            return error_set(error, STATUS_MEMORY, "%s: row %ju has more nonzeros than a piece",
                             doing, (uintmax_t)(i + 1));
        all += count[i];
    }
    if (all != nnz) /* a count went beyond its 32 bits */
        return error_set(error, STATUS_MEMORY, "%s: a row has more than 2^32 nonzeros", doing);
    /* Any two neighbouring replica pieces together exceed `most`. */
    p->end = memory_array(2 * (nnz / most) + 2, sizeof *p->end, error);
    TRY(error->status);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < length; i++) {
        if (sum + count[i] > most) {
            p->end[p->count++] = (uint32_t)i; /* before the row for which there is no room */
            sum = 0;
        }
        sum += count[i];
    }
    p->end[p->count++] = (uint32_t)length;
    return STATUS_OK;
}

enum status replica_pieces_guess(struct replica_pieces *p, const struct batch_rows *batches,
                                 uint64_t length, uint64_t nnz, uint64_t most, struct error *error)
{
    uint64_t bins = length < BINS ? length : BINS;
    double *bin = memory_zeros(bins + 1, sizeof *bin, error), sum = 0;
    *p = (struct replica_pieces){.end = bin ? memory_array(bins, sizeof *p->end, error) : NULL};
    if (!p->end)
        goto done;
    /* The nonzeros of each bin, estimated; bins have equally many rows. */
    for (uint64_t b = 0; b < batches->count; b++) {
        const struct row_range *range = &batches->range[b];
        uint64_t first = range->first * bins / length, last = range->last * bins / length;
        double share = (double)nnz / (double)batches->count / (double)(last - first + 1);
        bin[first] += share;
        bin[last + 1] -= share;
    }
    for (uint64_t i = 1; i < bins; i++) /* from differences to values */
        bin[i] += bin[i - 1];
    for (uint64_t i = 0; i < bins; i++) {
        if (i > 0 && sum + bin[i] > (double)most) {
            p->end[p->count++] = (uint32_t)((i * length + bins - 1) / bins);
            sum = 0;
        }
        sum += bin[i];
    }
    p->end[p->count++] = (uint32_t)length;
done:
    memory_free(bin);
    return error->status;
}

void replica_pieces_free(struct replica_pieces *p)
{
    memory_free(p->end);
    *p = (struct replica_pieces){0};
}

uint32_t replica_pieces_begin(const struct replica_pieces *p, uint64_t i)
{
    return i > 0 ? p->end[i - 1] : 0;
}

uint64_t replica_pieces_batches(const struct replica_pieces *p, uint64_t i,
                                const struct batch_rows *batches, uint64_t *list)
{
    const struct row_range *range = batches->range;
    uint32_t begin = replica_pieces_begin(p, i), end = p->end[i];
    uint64_t count = 0;
    for (uint64_t b = 0; b < batches->count; b++)
        if (range[b].first < end && range[b].last >= begin)
            list[count++] = b;
    return count;
}
