/* The hash of a tensor depends on its nonzeros, and on nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "support/naive.h"
#include "tensor/fingerprint.h"

static void swap_nonzeros(struct coo *x, uint64_t i, uint64_t j)
{
    double value = x->value[i];
    x->value[i] = x->value[j];
    x->value[j] = value;
    for (int n = 0; n < x->shape.order; n++) {
        uint32_t index = x->index[n][i];
        x->index[n][i] = x->index[n][j];
        x->index[n][j] = index;
    }
}

static void test_any_order(void **state)
{
    (void)state;
    struct coo x;
    naive_random_coo(&x, &(struct shape){4, {9, 30, 5, 70}}, 3000, 1, 0);
    uint64_t hash = fingerprint_hash(&x, NULL), seed = 5;
    for (int i = 0; i < 1000; i++)
        swap_nonzeros(&x, naive_random(&seed) % x.nnz, naive_random(&seed) % x.nnz);
    assert_true(fingerprint_hash(&x, NULL) == hash);
    coo_free(&x);
}

/* The nonzeros whose first index is `limit` or more, counted from there, and the others. */
static void test_parts_add_up(void **state)
{
    (void)state;
    struct coo x, part;
    struct error error = {0};
    naive_random_coo(&x, &(struct shape){3, {90, 30, 5}}, 2000, 1, 0);
    for (uint32_t limit = 0; limit <= 90; limit += 15) {
        uint64_t sum = 0;
        for (uint32_t from = 0; from <= limit; from += limit > 0 ? limit : 1) {
            assert_int_equal(coo_create(&part, &x.shape, x.nnz, &error), STATUS_OK);
            part.nnz = 0;
            for (uint64_t i = 0; i < x.nnz; i++)
                if ((x.index[0][i] >= limit) == (from == limit)) {
                    for (int n = 0; n < 3; n++)
                        part.index[n][part.nnz] = x.index[n][i] - (n == 0 ? from : 0);
                    part.value[part.nnz++] = x.value[i];
                }
            sum += fingerprint_hash(&part, (uint64_t[]){from, 0, 0});
            coo_free(&part);
        }
        assert_true(sum == fingerprint_hash(&x, NULL));
    }
    coo_free(&x);
}

/* Another value, another coordinate, values or coordinates that trade places. */
static void test_any_change(void **state)
{
    (void)state;
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {90, 90, 90}}, 500, 1, 0);
    uint64_t hash = fingerprint_hash(&x, NULL);
    for (uint64_t i = 0; i + 1 < x.nnz; i++) {
        double value = x.value[i];
        x.value[i] = -value;
        assert_true(fingerprint_hash(&x, NULL) != hash);
        x.value[i] = x.value[i + 1];
        x.value[i + 1] = value;
        assert_true(x.value[i] == value || fingerprint_hash(&x, NULL) != hash);
        x.value[i + 1] = x.value[i];
        x.value[i] = value;
        for (int n = 0; n < 3; n++) {
            uint32_t *a = &x.index[n][i], *b = &x.index[(n + 1) % 3][i], kept = *a;
            *a = kept ^ 1;
            assert_true(fingerprint_hash(&x, NULL) != hash);
            *a = *b;
            *b = kept;
            assert_true(*a == kept || fingerprint_hash(&x, NULL) != hash);
            *b = *a;
            *a = kept;
        }
    }
    assert_true(fingerprint_hash(&x, NULL) == hash);
    coo_free(&x);
}

/* Every NaN is the same unknown entry, which is another value than any number. */
static void test_unknown(void **state)
{
    (void)state;
    struct coo x;
    static const uint64_t nan_bits[] = {0xfff8000000000000, 0x7ff8000000000001, 0x7ff0000000000001};
    naive_random_coo(&x, &(struct shape){3, {90, 90, 90}}, 500, 1, 0);
    const uint64_t known = fingerprint_hash(&x, NULL);
    x.value[7] = COO_UNKNOWN;
    const uint64_t hash = fingerprint_hash(&x, NULL);
    assert_true(hash != known);
    for (int i = 0; i < 3; i++) {
        memcpy(&x.value[7], &nan_bits[i], sizeof *x.value);
        assert_true(fingerprint_hash(&x, NULL) == hash);
    }
    x.value[7] = 0;
    assert_true(fingerprint_hash(&x, NULL) != hash);
    coo_free(&x);
}

/* The definition in fingerprint.h, worked out by hand for one nonzero: files depend on it. */
static void test_known(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    assert_int_equal(coo_create(&x, &(struct shape){2, {4, 5}}, 1, &error), STATUS_OK);
    x.index[0][0] = 2;
    x.index[1][0] = 4;
    x.value[0] = 1.5;
    assert_true(fingerprint_hash(&x, NULL) == UINT64_C(0xd85fbec4bcc0e79));
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),  cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_any_change), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
