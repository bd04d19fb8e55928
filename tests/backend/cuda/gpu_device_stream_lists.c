/* Passes over lists of batches of a streamed tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/streamed_cases.h"

/* Collects what the batches of a pass are decoded to, and which batches they were. */
struct seen {
    uint64_t *word; /* (nnz) the first word of each nonzero; device, owned */
    uint64_t nnz, batch_nnz;
    uint64_t batches, number[1000];
};

static cudaError_t see(void *context, const struct device_packed_tensor *o, uint64_t b,
                       const struct device_stream_workspace *workspace)
{
    struct seen *seen = context;
    assert_true(seen->batches < sizeof seen->number / sizeof *seen->number);
    seen->number[seen->batches++] = b;
    cudaError_t code = device_stream_workspace_ready(workspace);
    if (code != cudaSuccess)
        return code;
    return cudaMemcpyAsync(seen->word + b * seen->batch_nnz, workspace->index[0],
                           device_packed_tensor_nnz(o, b) * sizeof *seen->word,
                           cudaMemcpyDeviceToDevice, workspace->product);
}

/* The words of all nonzeros: ~0 where none was seen. */
static uint64_t *words_of_pass(struct device_stream *s, const uint64_t *batch, uint64_t batches,
                               int following, struct seen *seen)
{
    const struct device_stream_pass pass = {.batch = batch,
                                            .batches = batches,
                                            .following = following,
                                            .consume = see,
                                            .context = seen};
    seen->batches = 0;
    good(cudaMemset(seen->word, 0xff, seen->nnz * sizeof *seen->word));
    good(cudaDeviceSynchronize());
    good(device_stream_pass(s, &pass, NULL));
    good(cudaDeviceSynchronize());
    return downloaded(seen->word, seen->nnz, sizeof *seen->word);
}

/* A pass over a list of batches takes each of them once and no other, and only those that flow are
 * sent. */
static void check_list(struct device_stream *s, const uint64_t *list, uint64_t count,
                       const uint64_t *expected, struct seen *seen)
{
    const struct device_packed_tensor *o = &s->ordering[0];
    uint64_t flowing = 0, sent = s->filled;
    uint64_t *got = words_of_pass(s, list, count, DEVICE_STREAM_NOTHING, seen);
    bool *taken = calloc(o->nbatches, sizeof *taken);
    assert_non_null(taken);
    for (uint64_t i = 0; i < count; i++) {
        flowing += list[i] >= o->nresident;
        taken[list[i]] = true;
    }
    assert_int_equal(s->filled - sent, flowing);
    assert_int_equal(seen->batches, count);
    for (uint64_t i = 0; i < seen->nnz; i++)
        assert_true(got[i] == (taken[i / seen->batch_nnz] ? expected[i] : UINT64_MAX));
    free(taken);
    free(got);
}

/* Lists of batches: none, one, the first, the last, all, and random ones. */
static uint64_t choose_list(int which, uint64_t batches, uint64_t *seed, uint64_t *list)
{
    uint64_t count = 0, part = naive_random(seed) % 8;
    if (which == 0)
        return 0;
    if (which < 4) {
        list[0] = which == 1 ? 0 : which == 2 ? batches - 1 : naive_random(seed) % batches;
        return 1;
    }
    for (uint64_t b = 0; b < batches; b++)
        if (which == 4 || naive_random(seed) % 8 <= part)
            list[count++] = b;
    return count;
}

/* Passes over lists between passes over all batches, which fill slots ahead for a pass that may not
 * follow, and between MTTKRPs; from nothing on the device to everything. */
static void test_lists(void **state)
{
    (void)state;
    static const struct tensor_case shape = {3, {50, 310, 4000}, 30000, 8, 1};
    struct mttkrp_case q;
    struct device_factors f;
    uint64_t seed = 1, list[1000];
    int mixed = 0;
    make_case(&q, &shape, PRECISION_DOUBLE);
    make_factors(&f, &q.k, PRECISION_DOUBLE);
    for (uint64_t bytes = 1 << 14; bytes <= 1 << 22; bytes += bytes / 2) {
        struct error error = {0};
        struct streaming t = {.segment_nnz = 100, .batch_nnz = 700, .bytes = bytes};
        struct packed_tensor packed[MAX_ORDER + 1];
        struct device_stream s;
        set_conflicts(&t, 3, 4);
        t.conflict[0] = t.conflict[1] = t.conflict[2] = CONFLICT_REGISTER;
        assert_int_equal(pack(packed, &q.x, t.conflict, t.segment_nnz), 1);
        const struct device_stream_request request = {t.conflict, t.sorted, t.batch_nnz, t.bytes,
                                                      PRECISION_DOUBLE};
        assert_int_equal(device_stream_open(&s, packed, 1, &request, &error), STATUS_OK);
        const struct device_packed_tensor *o = &s.ordering[0];
        struct seen seen = {.nnz = q.x.nnz, .batch_nnz = device_packed_tensor_nnz(o, 0)};
        seen.word = uploaded(NULL, seen.nnz * sizeof *seen.word);
        mixed += o->nresident > 0 && o->nresident < o->nbatches;
        uint64_t *expected = words_of_pass(&s, NULL, 0, 0, &seen);
        for (uint64_t i = 0; i < seen.nnz; i++)
            assert_true(expected[i] != UINT64_MAX);
        for (int which = 0; which < 24; which++) {
            uint64_t count = choose_list(which % 8, o->nbatches, &seed, list);
            check_list(&s, list, count, expected, &seen);
            if (which % 3 == 0) {
                int following = which % 2 ? DEVICE_STREAM_NOTHING : 0;
                uint64_t *all = words_of_pass(&s, NULL, 0, following, &seen);
                assert_memory_equal(all, expected, seen.nnz * sizeof *all);
                free(all);
            }
        }
        check_modes(&s, &q, &f);
        check_list(&s, list, choose_list(5, o->nbatches, &seed, list), expected, &seen);
        free(expected);
        good(cudaFree(seen.word));
        device_stream_close(&s);
    }
    assert_true(mixed > 3);
    free_factors(&f);
    free_case(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
