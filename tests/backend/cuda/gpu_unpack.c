/* Packed nonzeros decoded on the device, exactly as on the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "formats/blco/decoded_layout.h"
#include "kernels/packed/unpack.h"
#include "support/gpu_arrays.h"
#include "support/packed_tensors.h"

#define SHAPES 96

/* What the kernel made of segments [begin, end) of a packed tensor. */
struct decoded {
    uint64_t first, nnz;
    uint64_t *index[PACKED_WORDS];
    void *value;
    int damaged;
};

static struct unpack_segment *directory(const struct packed_tensor *p, uint64_t begin, uint64_t end)
{
    struct unpack_segment *segment = host_array(end - begin, sizeof *segment);
    for (uint64_t i = begin; i < end; i++) {
        segment[i - begin].offset = p->segment[i].offset;
        segment[i - begin].ngroups = p->segment[i].ngroups;
    }
    void *device = uploaded(segment, (end - begin) * sizeof *segment);
    memory_free(segment);
    return device;
}

static void decode(const struct packed_tensor *p, const struct packed_layout *layout,
                   uint64_t begin, uint64_t end, enum precision precision, struct decoded *d)
{
    uint64_t at = p->segment[begin].offset;
    struct packed_spread spread;
    decoded_layout_spread(&spread, layout, p->kind, &p->shape);
    d->first = begin * p->segment_nnz;
    d->nnz = packed_tensor_nnz(p, begin, end);
    d->damaged = 0;
    size_t word = d->nnz * sizeof(uint64_t), value = d->nnz * precision_bytes(precision);
    struct packed_spread *table = uploaded(&spread, sizeof spread);
    uint8_t *bytes =
        uploaded(p->bytes + at, p->segment[end - 1].offset + p->segment[end - 1].bytes - at);
    struct unpack_segment *segment = directory(p, begin, end);
    int *damaged = uploaded(&d->damaged, sizeof d->damaged);
    struct unpack_args args = {.layout = *layout,
                               .spread = table,
                               .bytes = bytes,
                               .offset = at,
                               .segment = segment,
                               .segment_nnz = (uint32_t)p->segment_nnz,
                               .nnz = d->nnz,
                               .index = {uploaded(NULL, word), uploaded(NULL, word)},
                               .value = uploaded(NULL, value),
                               .precision = precision,
                               .damaged = damaged};
    good(unpack_launch(&args, NULL));
    for (int w = 0; w < PACKED_WORDS; w++)
        d->index[w] = downloaded(args.index[w], word, 1);
    d->value = downloaded(args.value, value, 1);
    fetch(&d->damaged, damaged, sizeof d->damaged);
    cudaFree(table);
    cudaFree(bytes);
    cudaFree(segment);
    cudaFree(damaged);
    cudaFree(args.index[0]);
    cudaFree(args.index[1]);
    cudaFree(args.value);
}

static void decoded_free(struct decoded *d)
{
    free(d->index[0]);
    free(d->index[1]);
    free(d->value);
}

/* What the coordinates of nonzero i become. */
static void words_of(const struct packed_layout *l, const struct coo *x, uint64_t i, uint64_t *word)
{
    word[0] = word[1] = 0;
    for (int n = 0; n < x->shape.order; n++)
        word[l->mode[n].word] |= (uint64_t)x->index[n][i] << l->mode[n].shift;
}

/* Decoded nonzero i has these words ([1] is not written where the layout has one word), and this
 * value to the last bit. */
static void check_nonzero(const struct decoded *d, const struct packed_layout *l, uint64_t i,
                          const uint64_t *word, double expected, enum precision precision)
{
    unsigned long long number = d->first + i;
    for (int w = 0; w < PACKED_WORDS; w++) {
        uint64_t wanted = w < l->words ? word[w] : UINT64_MAX;
        if (d->index[w][i] != wanted)
            fail_msg("nonzero %llu, word %d: %llx, expected %llx", number, w,
                     (unsigned long long)d->index[w][i], (unsigned long long)wanted);
    }
    double value = entry(d->value, i, precision);
    double wanted = precision == PRECISION_SINGLE ? (double)(float)expected : expected;
    if (memcmp(&value, &wanted, sizeof value) != 0)
        fail_msg("nonzero %llu: value %.17g, expected %.17g", number, value, wanted);
}

static void check_range(const struct packed_tensor *p, const struct packed_layout *layout,
                        const struct coo *x, uint64_t begin, uint64_t end, enum precision precision)
{
    struct decoded d;
    decode(p, layout, begin, end, precision, &d);
    assert_int_equal(d.damaged, 0);
    for (uint64_t i = 0; i < d.nnz; i++) {
        uint64_t word[PACKED_WORDS];
        words_of(layout, x, d.first + i, word);
        check_nonzero(&d, layout, i, word, x->value[d.first + i], precision);
    }
    decoded_free(&d);
}

/* All segments together, and some in the middle. */
static void check_packed(const struct packed_tensor *p, const struct packed_layout *layout,
                         uint64_t *seed)
{
    struct coo x;
    unpack_all(p, &x);
    uint64_t begin = naive_random(seed) % p->nsegments;
    uint64_t end = begin + 1 + naive_random(seed) % (p->nsegments - begin);
    check_range(p, layout, &x, 0, p->nsegments,
                naive_random(seed) % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE);
    check_range(p, layout, &x, begin, end,
                naive_random(seed) % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE);
    coo_free(&x);
}

static void check_tensor(const struct coo *x, int kind, uint64_t segment_nnz, uint64_t *seed)
{
    struct error error = {0};
    struct packed_layout layout;
    struct packed_tensor p;
    assert_true(decoded_layout_create(&layout, &x->shape));
    assert_int_equal(packed_tensor_build(&p, x, kind, segment_nnz, NULL, &error), STATUS_OK);
    check_packed(&p, &layout, seed);
    packed_tensor_free(&p);
}

static void test_decoded_as_on_the_host(void **state)
{
    (void)state;
    static const int bits[] = {0, 12, 30, 50, 64, 66, 90, 120};
    static const uint64_t segments[] = {1, 7, 1000, 65536};
    int words[3] = {0};
    uint64_t seed = 1;
    for (int i = 0; i < SHAPES; i++) {
        struct packed_layout layout;
        struct coo x;
        uint64_t nnz = 1 + naive_random(&seed) % (i % 4 == 3 ? 100000 : 3000);
        int line_bits = bits[naive_random(&seed) % 8];
        if (!packable_coo(&x, &layout, &seed, i, line_bits, nnz))
            continue;
        int kind = (int)(naive_random(&seed) % (uint64_t)(x.shape.order + 1)) - 1;
        check_tensor(&x, kind, segments[i % 4], &seed);
        words[layout.words]++;
        coo_free(&x);
    }
    assert_true(words[1] > 10 && words[2] > 10);
}

/* Lines of 1 to 128 bits, full ones among them, with as few and as many low bits as there can be.
 */
static void test_all_lengths_of_lines(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int bits = 1; bits <= 128; bits++) {
        uint64_t dims[MAX_ORDER], most = bits < 12 ? UINT64_C(1) << bits : 3000;
        int order = (bits + 31) / 32;
        for (int n = 0; n < order; n++) {
            int share = bits / order + (n < bits % order);
            dims[n] = share < 32 ? UINT64_C(1) << share : MAX_LENGTH;
        }
        struct coo x;
        coo_in_form(&x, SHAPE(order, dims), 1 + naive_random(&seed) % most, naive_random(&seed),
                    bits % SAMPLE_FORMS);
        check_tensor(&x, bits % (order + 1) - 1, bits % 2 ? 0 : 600, &seed);
        coo_free(&x);
    }
}

/* Neighbours without gaps, and two nonzeros as far from each other as there can be. */
static void test_dense_and_scattered(void **state)
{
    (void)state;
    static const uint64_t dense[] = {64, 64, 64}, wide[] = {MAX_LENGTH, MAX_LENGTH};
    static const uint64_t wider[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH};
    uint64_t seed = 5;
    struct error error = {0};
    struct coo x;
    coo_in_form(&x, SHAPE(3, dense), 1 << 18, 1, SAMPLE_BYTES);
    check_tensor(&x, ORDERING_ALTO, 0, &seed);
    check_tensor(&x, 1, 0, &seed);
    coo_free(&x);
    for (int order = 2; order <= 4; order += 2) {
        ok(coo_create(&x, SHAPE(order, order == 2 ? wide : wider), 2, &error), &error);
        for (int n = 0; n < order; n++) {
            x.index[n][0] = 0;
            x.index[n][1] = (uint32_t)(MAX_LENGTH - 1);
        }
        x.value[0] = -0.0;
        x.value[1] = INFINITY;
        check_tensor(&x, ORDERING_ALTO, 0, &seed);
        check_tensor(&x, 0, 1, &seed);
        coo_free(&x);
    }
}

/* A length that is less than some coordinates, but has as many bits. */
static void test_coordinates_beyond_a_length(void **state)
{
    (void)state;
    static const uint64_t dims[] = {7, 900, 70, 1 << 30, 1 << 29}, less[] = {5, 600, 65};
    for (int order = 3; order <= 5; order += 2)
        for (int n = 0; n < 3; n++) {
            struct error error = {0};
            struct packed_layout layout;
            struct packed_tensor p;
            struct coo x;
            uint64_t beyond = 0;
            naive_random_coo(&x, SHAPE(order, dims), 5000, 1, 0);
            ok(packed_tensor_build(&p, &x, n % 2 ? ORDERING_ALTO : 0, 1000, NULL, &error), &error);
            coo_free(&x);
            unpack_all(&p, &x);
            p.shape.dims[n] = less[n];
            assert_true(decoded_layout_create(&layout, &p.shape));
            struct decoded d;
            decode(&p, &layout, 0, p.nsegments, n % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE, &d);
            assert_int_equal(d.damaged, n + 1);
            for (uint64_t i = 0; i < d.nnz; i++) {
                uint64_t word[PACKED_WORDS];
                words_of(&layout, &x, i, word);
                if (x.index[n][i] >= less[n])
                    word[0] = word[1] = 0;
                beyond += x.index[n][i] >= less[n];
                check_nonzero(&d, &layout, i, word, x.value[i],
                              n % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE);
            }
            assert_true(beyond > 100 && beyond < d.nnz);
            decoded_free(&d);
            packed_tensor_free(&p);
            coo_free(&x);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoded_as_on_the_host),
        cmocka_unit_test(test_all_lengths_of_lines),
        cmocka_unit_test(test_dense_and_scattered),
        cmocka_unit_test(test_coordinates_beyond_a_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
