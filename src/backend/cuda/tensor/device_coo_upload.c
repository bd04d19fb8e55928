/* Copies nonzeros to the device, as lines that are made on the way where these have one word. */
#include <stdbool.h>
#include <string.h>

#include "backend/cuda/tensor/device_coo.h"
#include "base/least.h"
#include "base/vector_clones.h"

#define AT_ONCE 1024 /* lines that stay in the L1 cache while all modes are added */

/* How lines are made from the modes that have bits on them. */
struct line_form {
    int modes;
    const uint32_t *index[MAX_ORDER];
    int shift[MAX_ORDER];
};

/* Two modes at a time: each load and store of a line serves both. */
VECTOR_CLONES static void add_pair(uint64_t *restrict line, const uint32_t *a, int a_shift,
                                   const uint32_t *b, int b_shift, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        line[i] |= (uint64_t)a[i] << a_shift | (uint64_t)b[i] << b_shift;
}

/* device_staging_write of lines. */
static bool write_lines(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct line_form *p = from;
    memset(to, 0, count * sizeof(uint64_t));
    for (uint64_t i = 0; i < count; i += AT_ONCE)
        for (int a = 0; a < p->modes; a += 2) {
            const int b = a + 1 < p->modes ? a + 1 : a;
            add_pair((uint64_t *)to + i, p->index[a] + first + i, p->shift[a],
                     p->index[b] + first + i, p->shift[b], least_of(AT_ONCE, count - i));
        }
    return true;
}

static enum status send_lines(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, struct error *error)
{
    const struct ordering *o = &d->ordering;
    struct line_form form = {.modes = 0};
    for (int n = 0; n < x->shape.order; n++)
        if (o->mode_bits[n] > 0) {
            form.index[form.modes] = x->index[n];
            form.shift[form.modes++] = o->place[n][0];
        }
    d->line = device_pool_take(d->pool, d->nnz, sizeof *d->line, error);
    TRY(error->status);
    const struct device_elements lines = {d->line, d->nnz, sizeof *d->line};
    return device_staging_send(staging, &lines, write_lines, &form, error);
}

enum status device_coo_upload(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error)
{
    device_coo_init(d, &x->shape, x->nnz, pool);
    d->value = device_pool_take(pool, d->nnz, sizeof *d->value, error);
    TRY_OR(done, error->status);
    const struct device_elements values = {d->value, d->nnz, sizeof *d->value};
    TRY_OR(done, device_staging_send(staging, &values, NULL, x->value, error));
    if (d->ordering.line_bits <= 64) {
        send_lines(d, x, staging, error);
        goto done;
    }
    TRY_OR(done, device_coo_take_indices(d, error));
    for (int n = 0; n < d->shape.order; n++) {
        const struct device_elements indices = {d->index[n], d->nnz, sizeof *d->index[n]};
        TRY_OR(done, device_staging_send(staging, &indices, NULL, x->index[n], error));
    }
done:
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}
