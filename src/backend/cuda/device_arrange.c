/* The model leaves the device arranged: the device measures the columns, and the threads that take
 * the rows from it put the columns in order and divide them. */
#include "backend/cuda/device_state.h"

#include <math.h>
#include <string.h>

#include "backend/cuda/runtime/device_factor_copy.h"
#include "backend/cuda/runtime/device_info.h"
#include "base/memory.h"

/* entry (3 x R) = of each column of mode n the scale that gives it unit length, its weight, and the
 * bound of its zeros. */
static enum status describe_entries(struct device_state *s, int n,
                                    const struct backend_zeros *zeros, double *entry,
                                    struct error *error)
{
    for (uint64_t r = 0; r < s->rank; r++) {
        entry[s->rank + r] = zeros->lambda[r];
        entry[2 * s->rank + r] = zeros->bound[n] ? zeros->bound[n][r] : -INFINITY;
    }
    return device_state_scales(s, n, entry, error);
}

static enum status measure(struct device_state *s, int n, const double *entry,
                           struct column *column, struct error *error)
{
    const struct mode_rows *own = &s->ranks.ranks->mode[n];
    const struct part *part = &s->ranks.ranks->part;
    struct dense_columns_args args = {
        .a = device_state_row(s, s->sweep.factors.factor[n], own->first),
        .rows = own->count,
        .ld = (uint32_t)s->ld,
        .first = part->first[n] + own->first};
    uint32_t parts = 0;
    if (device_state_send_rows(s, n, &args.row, error) != STATUS_OK)
        return error->status;
    if (args.row)
        args.row += own->first;
    if (device_columns_measure(&s->columns, &args, s->sweep.factors.precision, entry, &parts,
                               s->stream, error) != STATUS_OK)
        return error->status;
    for (uint64_t r = 0; r < s->rank; r++)
        column[r] = (struct column){0, 0, NO_ROW};
    for (uint64_t p = 0; p < parts; p++)
        for (uint64_t r = 0; r < s->rank; r++) {
            const struct dense_column *found = &s->columns.found[p * s->rank + r];
            column_add(&column[r], &(struct column){found->largest, found->sum, found->row});
        }
    return STATUS_OK;
}

enum status device_state_columns(void *state, int mode, const struct backend_zeros *zeros,
                                 struct column *column, struct error *error)
{
    struct device_state *s = state;
    double *entry = memory_array(3, s->rank * sizeof *entry, error);
    if (entry && device_use(s->device, error) == STATUS_OK)
        device_state_settle(s, error);
    device_momentum_set_aside(s);
    if (error->status == STATUS_OK && describe_entries(s, mode, zeros, entry, error) == STATUS_OK)
        measure(s, mode, entry, column, error);
    memory_free(entry);
    return error->status;
}

/* room (3 x R): what describes the columns in the new order. */
static enum status store_mode(struct device_state *s, int n, double *host,
                              const struct backend_zeros *zeros, const struct arrangement *a,
                              double *entry, double *room, struct error *error)
{
    const struct device_factors *f = &s->sweep.factors;
    if (describe_entries(s, n, zeros, entry, error) != STATUS_OK)
        return error->status;
    for (uint64_t r = 0; r < s->rank; r++)
        for (int what = 0; what < 3; what++)
            room[(uint64_t)what * s->rank + r] = entry[(uint64_t)what * s->rank + a->from[r]];
    const struct device_factor_columns columns = {.from = a->from,
                                                  .scale = room,
                                                  .weight = room + s->rank,
                                                  .bound =
                                                      zeros->bound[n] ? room + 2 * s->rank : NULL,
                                                  .divisor = a->divisor + (uint64_t)n * s->rank};
    const struct device_rows rows = {.a = f->factor[n],
                                     .rows = s->ranks.ranks->part.here.dims[n],
                                     .columns = s->rank,
                                     .ld = s->ld,
                                     .precision = f->precision};
    return device_factor_download_columns(&s->staging, &rows, host, &columns, error);
}

enum status device_state_store_arranged(void *state, struct ktensor *k,
                                        const struct backend_zeros *zeros,
                                        const struct arrangement *a, struct error *error)
{
    struct device_state *s = state;
    double *entry = memory_array(6, s->rank * sizeof *entry, error);
    if (entry && device_use(s->device, error) == STATUS_OK)
        device_state_settle(s, error);
    device_momentum_set_aside(s);
    for (int n = 0; n < s->order && error->status == STATUS_OK; n++)
        store_mode(s, n, k->factor[n], zeros, a, entry, entry + 3 * s->rank, error);
    memory_free(entry);
    return error->status;
}
