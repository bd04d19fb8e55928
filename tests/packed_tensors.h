/* Packed tensors of all kinds for tests: lengths, values in every form, and what they decode to.
 * Include it after cmocka.h. */
#ifndef BLCO_TESTS_PACKED_TENSORS_H
#define BLCO_TESTS_PACKED_TENSORS_H

#include <string.h>

#include "blco_pack.h"
#include "naive.h"
#include "packed.h"

#define FORM_BY_REGION PACKED_FORMS /* another one in each quarter of mode 1 */

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
    uint64_t bits = i * UINT64_C(0x9e3779b97f4a7c15);
    switch (form) {
    case PACKED_CONSTANT:
        return -1.5;
    case PACKED_WHOLE: /* of every width and number of decimals, group by group */
        return (double)(int64_t)((bits >> 13) >> (i / 1024 % 48)) / (i / 4096 % 2 ? 1000 : 1) + 1;
    case PACKED_F32:
        return (double)(float)(1e-20 * (double)(bits >> 40) + 1e-30);
    default:
        return 1e-200 * (double)(bits >> 11) + 1e-300;
    }
}

/* A tensor with values whose narrowest form is (mostly) this one. */
static inline void coo_in_form(struct coo *x, int order, const uint64_t *dims, uint64_t nnz,
                               uint64_t seed, int form)
{
    naive_random_coo(x, order, dims, nnz, seed, (int)(seed % 2));
    for (uint64_t i = 0; i < x->nnz; i++) {
        int region = (int)(x->index[0][i] * (uint64_t)PACKED_FORMS / dims[0]);
        x->value[i] = value_in_form(form == FORM_BY_REGION ? region : form, i + seed);
    }
}

/* What decodes a packed tensor on the host; the caller frees it. */
static inline void decoder_of(struct line_decoder *d, const struct packed *p)
{
    struct ordering o;
    struct error error = {0};
    ordering_create(&o, p->kind, p->order, p->dims, 64);
    assert_int_equal(line_decoder_create(d, &o, &error), STATUS_OK);
}

/* The nonzeros in the order in which they are packed; the caller frees them. */
static inline void unpack_all(const struct packed *p, struct coo *x)
{
    struct error error = {0};
    struct line_decoder d;
    decoder_of(&d, p);
    assert_int_equal(coo_create(x, p->order, p->dims, p->nnz, &error), STATUS_OK);
    for (uint64_t s = 0; s < p->nsegments; s++)
        if (blco_unpack(&d, p->bytes + p->segment[s].offset, &p->segment[s], x, s * p->segment_nnz,
                        (uint32_t)packed_nnz(p, s, s + 1), "x", &error) != STATUS_OK)
            fail_msg("%s", error.message);
    line_decoder_free(&d);
}

/* Says that mode n is as short as its bits allow, so that nonzeros lie beyond it. Returns how many
 * do; *first is the first of them. */
static inline uint64_t damage(struct packed *p, int n, uint64_t *first)
{
    struct coo x;
    uint64_t count = 0, length = (UINT64_C(1) << (ordering_bits(p->dims[n]) - 1)) + 1;
    unpack_all(p, &x);
    for (uint64_t i = x.nnz; i-- > 0;) {
        if (x.index[n][i] < length)
            continue;
        count++;
        *first = i;
    }
    coo_free(&x);
    p->dims[n] = length;
    return count;
}

#endif
