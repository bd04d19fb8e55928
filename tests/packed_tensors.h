/* Packed tensors of all kinds for tests: lengths, values in every form, and what they decode to.
 * Include it after cmocka.h. */
#ifndef BLCO_TESTS_PACKED_TENSORS_H
#define BLCO_TESTS_PACKED_TENSORS_H

#include <string.h>

#include "blco_pack.h"
#include "naive.h"
#include "packed.h"
#include "values.h"

#define FORM_BY_REGION VALUES_FORMS /* another one in each fifth of mode 1 */

/* Lines of about `bits` bits, spread unevenly over the modes. */
static inline void random_lengths(uint64_t *seed, int order, int bits, uint64_t *dims)
{
    int left = bits;
    for (int n = 0; n < order; n++) {
        int share = left / (order - n), b = (int)(naive_random(seed) % (uint64_t)(2 * share + 1));
        b = b < 32 ? b : 32;
        left -= b < left ? b : left;
        uint64_t most = UINT64_C(1) << b;
        dims[n] = most / 2 + naive_random(seed) % (most / 2 + 1);
        dims[n] = dims[n] < 1 ? 1 : dims[n] > MAX_LENGTH ? MAX_LENGTH : dims[n];
    }
}

static inline double value_in_form(int form, uint64_t i)
{
    switch (form) {
    case VALUES_CONSTANT:
        return -1.5;
    case VALUES_U8:
        return (double)(i % 256);
    case VALUES_U16:
        return (double)(300 + i % 65000);
    case VALUES_F32:
        return 0.25 + (double)(i % 1000000);
    default:
        return 0.1 + (double)i;
    }
}

/* A tensor with values whose narrowest form is (mostly) this one. */
static inline void coo_in_form(struct coo *x, int order, const uint64_t *dims, uint64_t nnz,
                               uint64_t seed, int form)
{
    naive_random_coo(x, order, dims, nnz, seed, (int)(seed % 2));
    for (uint64_t i = 0; i < x->nnz; i++) {
        int region = (int)(x->index[0][i] * (uint64_t)VALUES_FORMS / dims[0]);
        x->value[i] = value_in_form(form == FORM_BY_REGION ? region : form, i + seed);
    }
}

/* The nonzeros in the order in which they are packed; the caller frees them. */
static inline void unpack_all(const struct packed *p, struct coo *x)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, p->order, p->dims, p->nnz, &error), STATUS_OK);
    for (uint64_t s = 0; s < p->nsegments; s++)
        if (blco_unpack(p->bytes + p->segment[s].offset, &p->segment[s], x, s * p->segment_nnz,
                        (uint32_t)packed_nnz(p, s, s + 1), "x", &error) != STATUS_OK)
            fail_msg("%s", error.message);
}

/* Moves all nonzeros of a block, the middle one of segment s, beyond the length of mode n, and
 * returns their number; *first is the first of them. */
static inline uint64_t damage(struct packed *p, uint64_t s, int n, uint64_t *first)
{
    uint8_t *entry =
        p->bytes + p->segment[s].offset + p->segment[s].nblocks / 2 * blco_block_stride(p->order);
    struct blco_file_block b;
    blco_block_load(&b, p->order, entry);
    b.base[n] |= UINT32_C(1) << 31;
    assert_true(b.base[n] >= p->dims[n] && b.bits[n] < 32);
    blco_block_store(&b, p->order, entry);
    *first = s * p->segment_nnz + b.first;
    return b.count;
}

#endif
