/* Replicas that the device builds of a streamed tensor: byte for byte what the host packs, in
 * replica pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/cuda/stream/device_replica.h"
#include "formats/blco/decoded_layout.h"
#include "support/gpu_arrays.h"
#include "support/packed_tensors.h"
#include "support/naive.h"

#define SHAPES 80

/* A tensor that is streamed from its alto copy, and what building replicas from alto takes. */
struct streaming {
    struct coo x;
    struct device_stream stream;
    struct device_staging staging;
    cudaStream_t on;
};

/* Takes over x and its alto copy. */
static void open_packed(struct streaming *t, const struct coo *x, struct packed_tensor *alto,
                        uint64_t batch_nnz, uint64_t bytes, enum precision precision)
{
    struct error error = {0};
    enum conflict conflict[MAX_ORDER];
    bool sorted[MAX_ORDER];
    for (int n = 0; n < x->shape.order; n++) {
        conflict[n] = CONFLICT_REGISTER;
        sorted[n] = n % 2;
    }
    t->x = *x;
    good(cudaStreamCreateWithFlags(&t->on, cudaStreamNonBlocking));
    assert_int_equal(device_staging_open(&t->staging, 0, t->on, &error), STATUS_OK);
    const struct device_stream_request request = {conflict, sorted, batch_nnz, bytes, precision};
    if (device_stream_open(&t->stream, alto, 1, &request, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

/* Takes over x. */
static void open_stream(struct streaming *t, const struct coo *x, uint64_t segment_nnz,
                        uint64_t batch_nnz, uint64_t bytes, enum precision precision)
{
    struct error error = {0};
    struct packed_tensor alto;
    assert_int_equal(packed_tensor_build(&alto, x, ORDERING_ALTO, segment_nnz, NULL, &error),
                     STATUS_OK);
    open_packed(t, x, &alto, batch_nnz, bytes, precision);
}

static void close_stream(struct streaming *t)
{
    device_stream_close(&t->stream);
    device_staging_close(&t->staging);
    good(cudaStreamDestroy(t->on));
    coo_free(&t->x);
}

static uint64_t most_in_a_row(const struct coo *x, int mode)
{
    struct error error = {0};
    uint32_t *count = memory_zeros(x->shape.dims[mode], sizeof *count, &error), most = 0;
    assert_non_null(count);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t here = ++count[x->index[mode][i]];
        most = here > most ? here : most;
    }
    memory_free(count);
    return most;
}

static void compare(const struct packed_tensor *got, const struct packed_tensor *expected)
{
    int line_bits = ordering_line_bits(&got->shape);
    assert_int_equal(got->kind, expected->kind);
    assert_int_equal(got->nnz, expected->nnz);
    assert_int_equal(got->segment_nnz, expected->segment_nnz);
    assert_int_equal(got->nsegments, expected->nsegments);
    for (uint64_t s = 0; s < got->nsegments; s++) {
        const struct blco_file_segment *a = &got->segment[s], *b = &expected->segment[s];
        const uint8_t *bytes = got->bytes + a->offset, *wanted = expected->bytes + b->offset;
        if (!segment_is_sound(bytes, a, line_bits, (uint32_t)packed_tensor_nnz(got, s, s + 1)))
            fail_msg("segment %d is not sound", (int)s);
        assert_int_equal(a->ngroups, b->ngroups);
        assert_int_equal(a->offset, b->offset);
        assert_int_equal(a->bytes, b->bytes);
        for (uint32_t i = 0; i < a->bytes; i++)
            if (bytes[i] != wanted[i])
                fail_msg("segment %d of %d, byte %d of %d: %02x, expected %02x", (int)s,
                         (int)got->nsegments, (int)i, (int)a->bytes, bytes[i], wanted[i]);
    }
    assert_int_equal(got->size, expected->size);
}

static struct device_replica_request request_of(struct streaming *t, int mode)
{
    return (struct device_replica_request){
        .mode = mode, .device_bytes = 1 << 30, .host_bytes = 1 << 30, .staging = &t->staging};
}

/* Whether the replica was built; where it was, it is what the host packs. */
static bool build(struct streaming *t, const struct device_replica_request *q)
{
    struct error error = {0};
    struct packed_tensor replica, expected;
    enum status status = device_replica_build(&replica, &t->stream, q, &error);
    if (status == STATUS_MEMORY) {
        assert_null(replica.bytes);
        assert_null(replica.segment);
        return false;
    }
    if (status != STATUS_OK)
        fail_msg("%s", error.message);
    uint64_t segment_nnz = t->stream.ordering[0].packed.segment_nnz;
    assert_int_equal(packed_tensor_build(&expected, &t->x, q->mode, segment_nnz, NULL, &error),
                     STATUS_OK);
    compare(&replica, &expected);
    packed_tensor_free(&expected);
    packed_tensor_free(&replica);
    return true;
}

/* In one replica piece, and in several of some rows each, where no row is too long for that. */
static void check_pieces(struct streaming *t, int mode, int *refused)
{
    static const uint64_t pieces[] = {0, 1, 40, 300, 5000};
    uint64_t row = most_in_a_row(&t->x, mode);
    uint64_t segment_nnz = t->stream.ordering[0].packed.segment_nnz;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct device_replica_request q = request_of(t, mode);
        q.piece_nnz = pieces[i];
        bool whole = pieces[i] == 0 || t->x.nnz <= pieces[i] + segment_nnz;
        if (!whole && t->x.nnz / pieces[i] > 400) /* passes */
            continue;
        assert_true(build(t, &q) == (whole || row <= pieces[i]));
        *refused += !whole && row > pieces[i];
    }
}

static void test_bytes_of_the_host(void **state)
{
    (void)state;
    static const int bits[] = {0, 12, 30, 50, 64, 66, 90, 120};
    static const uint64_t segments[] = {1, 7, 1000, 65536};
    int words[3] = {0}, refused = 0;
    uint64_t seed = 1;
    for (int i = 0; i < SHAPES; i++) {
        struct packed_layout layout;
        struct streaming t;
        struct coo x;
        int order = i % 6 < 5 ? i % 6 + 1 : 16;
        uint64_t dims[MAX_ORDER], nnz = 1 + naive_random(&seed) % (i % 4 >= 2 ? 150000 : 3000);
        random_lengths(&seed, order, bits[naive_random(&seed) % 8], dims);
        for (int n = 0; n < order; n++) /* rows are counted here */
            dims[n] = dims[n] < 1 << 26 ? dims[n] : 1 << 26;
        if (!decoded_layout_create(&layout, SHAPE(order, dims)))
            continue;
        coo_in_form(&x, SHAPE(order, dims), nnz, naive_random(&seed), i % (SAMPLE_BY_REGION + 1));
        uint64_t batch = 1 + naive_random(&seed) % (2 * x.nnz);
        batch = batch < x.nnz / 20 ? x.nnz / 20 : batch; /* a launch or two for each */
        open_stream(&t, &x, segments[i % 4], batch, naive_random(&seed) % (1 << 20),
                    i % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE);
        check_pieces(&t, (int)(naive_random(&seed) % (uint64_t)order), &refused);
        words[layout.words]++;
        close_stream(&t);
    }
    assert_true(words[1] > 10 && words[2] > 10 && refused > 5);
}

/* Values at the limits of the forms: of decimals, of fields, and values that only look like whole
 * numbers. */
static void test_values_at_the_limits(void **state)
{
    (void)state;
    static const double special[] = {0.0,       -0.0,       0.1,       -2.37,      1e22,
                                     1e-22,     1e300,      5e-324,    1.0 / 3,    0x1p53,
                                     0x1p51,    0x1p51 + 1, -0x1p53,   0x1p53 + 2, 123456.789,
                                     0x1.8p-20, 16777217,   1e15 + 0.3};
    enum { COUNT = sizeof special / sizeof *special };
    static const uint64_t dims[] = {40, 900, 70};
    struct streaming t;
    struct coo x;
    int refused = 0;
    naive_random_coo(&x, SHAPE(3, dims), 100000, 1, 0);
    uint64_t seed = 3;
    for (uint64_t i = 0; i < x.nnz; i++) { /* few kinds side by side, in most orders */
        uint64_t kind = x.index[0][i] * 31 % (2 * COUNT);
        double one = special[kind % COUNT], other = (double)(naive_random(&seed) % 1000);
        x.value[i] = kind < COUNT ? one : naive_random(&seed) % 300 ? other / 100 : one;
    }
    open_stream(&t, &x, 0, 1 << 16, 0, PRECISION_DOUBLE);
    for (int n = 0; n < 3; n++)
        check_pieces(&t, n, &refused);
    close_stream(&t);
}

/* From too little memory for any replica piece to enough for all nonzeros at once. */
static void test_memory(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 90, 70};
    struct streaming t;
    struct coo x;
    int built = 0, refused = 0;
    coo_in_form(&x, SHAPE(3, dims), 60000, 1, SAMPLE_BY_REGION);
    open_stream(&t, &x, 500, 3000, 1 << 18, PRECISION_DOUBLE);
    for (uint64_t bytes = 1 << 10; bytes <= 1 << 24; bytes += bytes / 3) {
        struct device_replica_request q = request_of(&t, 0);
        q.device_bytes = bytes;
        *(build(&t, &q) ? &built : &refused) += 1;
    }
    assert_true(built > 5 && refused > 5);
    struct device_replica_request q = request_of(&t, 0);
    q.host_bytes = t.stream.ordering[0].packed.size - 1;
    assert_false(build(&t, &q));
    close_stream(&t);
}

/* Batches that cross the bus while q's replica is built, and the estimated cost. */
static uint64_t batches_sent(struct streaming *t, const struct device_replica_request *q,
                             struct device_replica_cost *cost)
{
    struct error error = {0};
    uint64_t before = t->stream.filled;
    assert_int_equal(device_replica_build_cost(cost, &t->stream, q, &error), STATUS_OK);
    assert_int_equal(t->stream.filled, before);
    assert_true(build(t, q));
    return t->stream.filled - before;
}

/* A replica piece is built from the batches that have its rows; of these, batches that stay on the
 * device are not sent. Rows are counted once for all modes. */
static void test_skipped_batches(void **state)
{
    (void)state;
    static const uint64_t dims[] = {900, 1000, 1100};
    int mixed = 0;
    for (uint64_t bytes = 0; bytes <= 1 << 21; bytes += 1 << 17) {
        struct device_row_counts counts = {0};
        struct streaming t;
        struct coo x;
        naive_random_coo(&x, SHAPE(3, dims), 200000, 1, 0);
        open_stream(&t, &x, 100, 1000, bytes, PRECISION_DOUBLE);
        const struct device_packed_tensor *o = &t.stream.ordering[0];
        uint64_t flowing = o->nbatches - o->nresident;
        mixed += o->nresident > 0 && flowing > 0;
        for (int n = 0; n < 3; n++) {
            struct device_replica_request q = request_of(&t, n);
            struct device_replica_cost cost;
            q.piece_nnz = x.nnz / 10;
            q.counts = &counts;
            uint64_t sent = batches_sent(&t, &q, &cost), counting = n == 0 ? flowing : 0;
            assert_true(cost.pieces >= 10 && cost.pieces <= 12);
            assert_true(sent >= counting);
            assert_true(flowing < 50 || sent - counting <= cost.pieces * flowing / 2);
            assert_null(counts.count[n]);
            assert_true(n == 2 || counts.count[2]);
            double guess = (double)cost.to_device / (double)o->packed.size;
            double was = (double)(sent - counting) / (double)o->nbatches;
            assert_true(guess <= 1.5 * was + 0.1 && was <= 1.5 * guess + 0.1);

            q.piece_nnz = 0; /* all at once */
            assert_int_equal(batches_sent(&t, &q, &cost), flowing);
            assert_int_equal(cost.pieces, 1);
        }
        device_row_counts_free(&counts);
        close_stream(&t);
    }
    assert_true(mixed > 3);
}

/* Moves the last segment to the front. */
static void reverse_segments(struct packed_tensor *p)
{
    struct error error = {0};
    struct packed_tensor q = *p;
    assert_int_equal(p->nnz % p->segment_nnz, 0);
    q.segment = memory_array(q.nsegments, sizeof *q.segment, &error);
    q.bytes = memory_pages(q.size, &error);
    assert_int_equal(error.status, STATUS_OK);
    uint64_t offset = 0;
    for (uint64_t s = 0; s < q.nsegments; s++) {
        const struct blco_file_segment *from = &p->segment[q.nsegments - 1 - s];
        q.segment[s] = *from;
        q.segment[s].offset = offset;
        memcpy(q.bytes + offset, p->bytes + from->offset, from->bytes);
        offset += from->bytes;
    }
    packed_tensor_free(p);
    *p = q;
}

/* Nonzeros out of order are found, though each segment is sound by itself. */
static void test_segments_out_of_order(void **state)
{
    (void)state;
    static const uint64_t dims[] = {900, 1000, 1100};
    struct error error = {0};
    struct packed_tensor alto, replica;
    struct streaming t;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 100000, 1, 0);
    x.nnz -= x.nnz % 1000;
    assert_int_equal(packed_tensor_build(&alto, &x, ORDERING_ALTO, 1000, NULL, &error), STATUS_OK);
    reverse_segments(&alto);
    open_packed(&t, &x, &alto, 1000, 0, PRECISION_DOUBLE);
    struct device_replica_request q = request_of(&t, 0);
    q.piece_nnz = x.nnz / 10;
    assert_int_equal(device_replica_build(&replica, &t.stream, &q, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "out of order"));
    assert_null(replica.bytes);
    close_stream(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_the_host),
        cmocka_unit_test(test_values_at_the_limits),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_skipped_batches),
        cmocka_unit_test(test_segments_out_of_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
