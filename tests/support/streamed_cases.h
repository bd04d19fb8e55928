/* Tensors that are streamed to a GPU, with factor matrices there, and the expected MTTKRPs. Include
 * it after cmocka.h. */
#pragma once

#include <math.h>

#include "backend/cuda/stream/device_stream.h"
#include "formats/blco/packed_tensor.h"
#include "support/gpu_arrays.h"
#include "support/mttkrp_case.h"

#define COPIES 5

struct tensor_case {
    int order;
    uint64_t dims[MAX_ORDER];
    uint64_t nnz, rank;
    int skewed;
};

static inline void make_case(struct mttkrp_case *q, const struct tensor_case *s,
                             enum precision precision)
{
    struct error error = {0};
    naive_random_coo(&q->x, SHAPE(s->order, s->dims), s->nnz, s->rank, s->skewed);
    assert_int_equal(ktensor_create(&q->k, SHAPE(s->order, s->dims), s->rank, &error), STATUS_OK);
    ktensor_randomise(&q->k, precision == PRECISION_SINGLE ? KTENSOR_RANDOM : KTENSOR_NORMAL, 7);
    if (precision == PRECISION_SINGLE)
        make_positive(&q->x);
    expect_products(q);
}

/* Factors on the device, rows padded with zeros, and an M full of NaN. */
static inline void make_factors(struct device_factors *f, const struct ktensor *k,
                                enum precision precision)
{
    uint64_t entries = VECTOR_BYTES / precision_bytes(precision), longest = 0;
    *f = (struct device_factors){
        .shape.order = k->shape.order, .precision = precision, .copies = COPIES};
    f->vectors = (uint32_t)((k->rank + entries - 1) / entries);
    for (int n = 0; n < k->shape.order; n++) {
        uint64_t ld = f->vectors * entries;
        double *wide = calloc(k->shape.dims[n] * ld, sizeof *wide);
        assert_non_null(wide);
        float *narrow = (float *)wide;
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            for (uint64_t r = 0; r < ld; r++) {
                double entry = r < k->rank ? k->factor[n][i * k->rank + r] : 0;
                if (precision == PRECISION_SINGLE)
                    narrow[i * ld + r] = (float)entry;
                else
                    wide[i * ld + r] = entry;
            }
        f->shape.dims[n] = k->shape.dims[n];
        f->factor[n] = uploaded(wide, k->shape.dims[n] * f->vectors * 16);
        longest = f->shape.dims[n] > longest ? f->shape.dims[n] : longest;
        free(wide);
    }
    f->m = uploaded(NULL, COPIES * longest * f->vectors * 16);
}

static inline void free_factors(struct device_factors *f)
{
    for (int n = 0; n < f->shape.order; n++)
        cudaFree(f->factor[n]);
    cudaFree(f->m);
}

/* ||M - expected|| / ||expected|| */
static inline long double difference(const struct mttkrp_case *q, const struct device_factors *f,
                                     int mode)
{
    uint64_t ld = f->vectors * (VECTOR_BYTES / precision_bytes(f->precision));
    void *m = downloaded(f->m, f->shape.dims[mode], f->vectors * 16);
    long double off = 0, norm = 0;
    for (uint64_t i = 0; i < f->shape.dims[mode]; i++)
        for (uint64_t r = 0; r < q->k.rank; r++) {
            long double expected = q->expected[mode][i * q->k.rank + r];
            long double got = (long double)entry(m, i * ld + r, f->precision);
            off += (got - expected) * (got - expected);
            norm += expected * expected;
        }
    free(m);
    return norm > 0 ? sqrtl(off / norm) : sqrtl(off);
}

/* Packs the orderings that these conflict resolutions need. */
static inline int pack(struct packed_tensor *packed, const struct coo *x,
                       const enum conflict *conflict, uint64_t segment_nnz)
{
    struct error error = {0};
    bool alto = false;
    int count = 0;
    for (int n = 0; n < x->shape.order; n++) {
        alto |= conflict[n] != CONFLICT_ORDERED;
        if (conflict[n] == CONFLICT_ORDERED)
            assert_int_equal(packed_tensor_build(&packed[count++], x, n, segment_nnz, NULL, &error),
                             STATUS_OK);
    }
    if (alto)
        assert_int_equal(
            packed_tensor_build(&packed[count++], x, ORDERING_ALTO, segment_nnz, NULL, &error),
            STATUS_OK);
    return count;
}

struct streaming {
    enum conflict conflict[MAX_ORDER];
    bool sorted[MAX_ORDER];
    uint64_t segment_nnz, batch_nnz, bytes;
};

/* Modes in the order of a sweep, one mode several times, and in any order. */
static inline void check_modes(struct device_stream *s, const struct mttkrp_case *q,
                               const struct device_factors *f)
{
    struct error error = {0};
    uint64_t seed = 3;
    int order = s->order;
    for (int call = 0; call < 2 * order + 8; call++) {
        int mode = call < 2 * order       ? call % order
                   : call < 2 * order + 4 ? order / 2
                                          : (int)(naive_random(&seed) % (uint64_t)order);
        if (device_stream_mttkrp(s, mode, f, NULL, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        good(cudaDeviceSynchronize());
        long double off = difference(q, f, mode);
        if (!(off <= (f->precision == PRECISION_SINGLE ? 1e-5L : 1e-12L)))
            fail_msg("call %d: order %d, rank %d, %s, mode %d: relative error %Lg", call, order,
                     (int)q->k.rank, conflict_name(s->conflict[mode]), mode + 1, off);
    }
}

static const enum conflict resolutions[] = {CONFLICT_ORDERED, CONFLICT_HIERARCHICAL,
                                            CONFLICT_REGISTER, CONFLICT_ATOMIC};

#define WAYS 8

/* Conflict resolutions: the same for all modes, or another for each mode, some with sorted batches;
 * in the last way all batches are sorted. */
static inline void set_conflicts(struct streaming *t, int order, int which)
{
    for (int n = 0; n < order; n++) {
        t->conflict[n] = which == WAYS - 1 ? CONFLICT_REGISTER
                                           : resolutions[which < 4 ? which : (n + which) % 3];
        t->sorted[n] = t->conflict[n] == CONFLICT_REGISTER && which >= 4;
    }
}
