#include "backend/host/host_blocks.h"

#include "backend/host/simd_width.h"
#include "base/least.h"
#include "base/machine.h"

#define AHEAD        16          /* nonzeros from a row's prefetch to its use */
#define LINE_DOUBLES 8           /* of a cache */
#define NEAR_BYTES   (16 * 1024) /* of a block's z and wz, which stay in the nearest cache */

_Static_assert(HOST_SYSTEM_PAD <= HOST_SLICES_PAD, "kernels read on after the last nonzero");
_Static_assert(HOST_SYSTEM_BLOCK % HOST_SYSTEM_PAD == 0, "a block has room for what is read on");

static const struct host_systems_kernels *kernels(uint64_t rank)
{
#if SIMD_X86
    const uint64_t simd = simd_width(rank, PRECISION_DOUBLE);
    if (simd >= 4)
        return simd == 8 ? &host_systems_double8 : &host_systems_double4;
#else
    (void)rank;
#endif
    return &host_systems_double2;
}

/* As many nonzeros as fit, at least two for each entry of the widest vectors. */
static uint64_t nonzeros_of_block(uint64_t ld, bool matrix)
{
    const uint64_t fit = NEAR_BYTES / ((matrix ? 2 : 1) * ld * sizeof(double));
    const uint64_t least = 2 * HOST_SYSTEM_PAD, most = least_of(HOST_SYSTEM_BLOCK, fit);
    return most < least ? least : most / HOST_SYSTEM_PAD * HOST_SYSTEM_PAD;
}

struct host_blocks host_blocks_of(const struct host_slices *slices, const struct host_rows *factors,
                                  const double *now, bool matrix)
{
    struct host_blocks b = {.slices = slices,
                            .kernel = kernels(factors->rank),
                            .factors = factors,
                            .now = now,
                            .products = {.others = slices->shape.order - 1,
                                         .nnz = slices->nnz,
                                         .rank = factors->rank,
                                         .ld = host_system_ld(factors->rank),
                                         .precision = factors->precision}};
    b.most = nonzeros_of_block(b.products.ld, matrix);
    uint64_t bytes = 0; /* of the other modes' rows */
    for (int n = 0, k = 0; n < slices->shape.order; n++) {
        if (n == slices->mode)
            continue;
        bytes += slices->shape.dims[n] * factors->rank * precision_bytes(factors->precision);
        b.products.rows[k] = factors->of[n];
        b.products.coordinate[k++] = slices->coordinate[n];
    }
    b.products.ahead = bytes > machine_core_cache() ? AHEAD : 0;
    return b;
}

uint64_t host_block_room(uint64_t ld)
{
    return (3 * HOST_SYSTEM_BLOCK + 1) * ld;
}

void host_block_begin(struct host_block *x, uint64_t ld, double *room)
{
    x->z = room;
    x->wz = x->z + HOST_SYSTEM_BLOCK * ld;
    x->laid = x->wz + HOST_SYSTEM_BLOCK * ld;
    x->a = x->laid + HOST_SYSTEM_BLOCK * ld;
    x->laid_slice = UINT64_MAX;
    for (uint64_t k = 0; k < HOST_SYSTEM_BLOCK; k++)
        x->row[k] = x->laid;
}

void host_blocks_row(const struct host_blocks *b, uint64_t row, double *a)
{
    const struct host_rows *f = b->factors;
    b->kernel->read_row(&b->products,
                        host_entry_of(f->of[b->slices->mode], row * f->rank, f->precision), b->now,
                        a);
}

/* laid (ld) = the row of a slice, laid out. */
static void lay_out(const struct host_blocks *b, const struct host_block *x, uint64_t slice,
                    double *laid)
{
    host_blocks_row(b, b->slices->row[slice], x->a);
    b->kernel->lay_out(&b->products, x->a, laid);
}

void host_block_read(const struct host_blocks *b, struct host_block *x, uint64_t slice,
                     uint64_t first, uint64_t last)
{
    const struct host_slices *s = b->slices;
    const uint64_t ld = b->products.ld, count = least_of(b->most, last - first);
    x->first = first;
    x->count = count;
    x->parts = 0;
    for (uint64_t k = 0; k < count; k += LINE_DOUBLES)
        __builtin_prefetch(s->value + first + HOST_SYSTEM_BLOCK + k);
    for (uint64_t k = 0; k < count; slice++) {
        const uint64_t end = least_of(s->end[slice] - first, count);
        if (x->parts > 0 || x->laid_slice != slice)
            lay_out(b, x, slice, x->laid + x->parts * ld);
        x->part[x->parts++] = (struct host_block_part){slice, k, end - k};
        k = end;
    }
    x->laid_slice = x->part[0].slice;
    for (uint64_t n = 0; x->parts > 1 && n < x->parts; n++)
        for (uint64_t k = 0; k < x->part[n].count; k++)
            x->row[x->part[n].first + k] = x->laid + n * ld;
    b->kernel->products(&b->products, &(struct host_products_block){.first = first,
                                                                    .count = count,
                                                                    .one = x->parts == 1,
                                                                    .a = x->row,
                                                                    .z = x->z,
                                                                    .m = x->t.m});
}
