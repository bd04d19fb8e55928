/* Collective operations of GPUs: several queued one after the other, in both precisions, of whole
 * vectors or not, by peer memory, where ranks may share a device, and by NCCL where the machine has
 * two GPUs; a rank that aborts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cuda_runtime.h>

#include <cmocka.h>

#include "backend/cuda/comm/device_comm.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_queue.h"
#include "support/rank_threads.h"

#define ROUNDS 6
#define LONGER 100003 /* more than a pass of the kernels' thread blocks, and odd */

struct work {
    uint64_t stripe;
    enum precision precision;
    int devices;
    int aborts; /* the round in which rank 0 fails; ROUNDS: in none */
    bool apart; /* the ranks connect as processes do */
};

/* A rank's device, stream and arrays. */
struct place {
    struct device_comm *comm;
    cudaStream_t stream;
    void *numbers; /* (size x stripe) */
    double *few;   /* (2 x FEW): numbers that are summed, and the largest */
};

enum { FEW = 7 };

static double first_number(int rank, uint64_t i)
{
    return (double)((uint64_t)(rank + 1) * (i % 13));
}

/* What `rounds` sums make of numbers that begin as first_number. */
static double summed(int size, int rounds, uint64_t i)
{
    double x = 0;
    for (int k = 0; k < size; k++)
        x += first_number(k, i);
    for (int r = 1; r < rounds; r++)
        x *= size;
    return x;
}

static double entry(const void *array, uint64_t i, enum precision precision)
{
    return precision == PRECISION_SINGLE ? (double)((const float *)array)[i]
                                         : ((const double *)array)[i];
}

static void put(void *array, uint64_t i, double x, enum precision precision)
{
    if (precision == PRECISION_SINGLE)
        ((float *)array)[i] = (float)x;
    else
        ((double *)array)[i] = x;
}

static enum status send_numbers(struct place *p, const struct comm *c, const struct work *w,
                                struct error *error)
{
    const uint64_t count = (uint64_t)c->size * w->stripe, size = precision_bytes(w->precision);
    double few[2 * FEW];
    void *host = malloc(count * size);
    for (uint64_t i = 0; i < count; i++)
        put(host, i, first_number(c->rank, i), w->precision);
    for (uint64_t i = 0; i < 2 * FEW; i++)
        few[i] = first_number(c->rank, i % FEW);
    cudaError_t code = cudaMalloc(&p->numbers, count * size);
    if (code == cudaSuccess)
        code = cudaMalloc((void **)&p->few, sizeof few);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(p->numbers, host, count * size, cudaMemcpyHostToDevice, p->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(p->few, few, sizeof few, cudaMemcpyHostToDevice, p->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(p->stream);
    free(host);
    return cuda_status(code, "sending", error);
}

/* Queues all operations once, without waiting for any. */
static enum status one_round(const struct place *p, const struct comm *c, const struct work *w,
                             struct error *error)
{
    const uint64_t own = (uint64_t)c->rank * w->stripe * precision_bytes(w->precision);
    const struct device_stripes stripes = {p->numbers, (char *)p->numbers + own, w->stripe,
                                           w->precision};
    const struct device_numbers sum = {p->few, p->few, FEW, false},
                                most = {p->few + FEW, p->few + FEW, FEW, true};
    const struct device_engine *engine = p->comm->engine;
    TRY(engine->reduce_scatter(p->comm->state, &stripes, p->stream, error));
    TRY(engine->allgather(p->comm->state, &stripes, p->stream, error));
    TRY(engine->allreduce(p->comm->state, &sum, p->stream, error));
    return engine->allreduce(p->comm->state, &most, p->stream, error);
}

static enum status compare(const struct place *p, const struct comm *c, const struct work *w,
                           struct error *error)
{
    const uint64_t count = (uint64_t)c->size * w->stripe, size = precision_bytes(w->precision);
    double few[2 * FEW];
    void *host = malloc(count * size);
    cudaError_t code =
        cudaMemcpyAsync(host, p->numbers, count * size, cudaMemcpyDeviceToHost, p->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(few, p->few, sizeof few, cudaMemcpyDeviceToHost, p->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(p->stream);
    cuda_status(code, "fetching", error);
    for (uint64_t i = 0; error->status == STATUS_OK && i < count; i++)
        if (entry(host, i, w->precision) != summed(c->size, ROUNDS, i))
            error_set(error, STATUS_INTERNAL, "number %ju of %ju is %g, expected %g", (uintmax_t)i,
                      (uintmax_t)count, entry(host, i, w->precision), summed(c->size, ROUNDS, i));
    for (uint64_t i = 0; error->status == STATUS_OK && i < FEW; i++)
        if (few[i] != summed(c->size, ROUNDS, i) || few[FEW + i] != first_number(c->size - 1, i))
            error_set(error, STATUS_INTERNAL, "number %ju: sum %g, largest %g", (uintmax_t)i,
                      few[i], few[FEW + i]);
    free(host);
    return error->status;
}

static enum status all_rounds(const struct place *p, struct comm *c, const struct work *w,
                              struct error *error)
{
    for (int r = 0; r < ROUNDS; r++) {
        if (r == w->aborts && c->rank == 0)
            return error_set(error, STATUS_NUMERICAL, "round %d fails", r);
        TRY(one_round(p, c, w, error));
    }
    return compare(p, c, w, error);
}

/* The numbers of the last rank go to all. */
static enum status check_bcast(const struct place *p, const struct comm *c, struct error *error)
{
    const struct device_engine *engine = p->comm->engine;
    const int root = c->size - 1;
    double few[FEW];
    for (uint64_t i = 0; i < FEW; i++)
        few[i] = first_number(c->rank, i);
    cudaError_t code = cudaMemcpyAsync(p->few, few, sizeof few, cudaMemcpyHostToDevice, p->stream);
    TRY(cuda_status(code, "sending", error));
    TRY(engine->bcast(p->comm->state, p->few, sizeof few, root, p->stream, error));
    code = cudaMemcpyAsync(few, p->few, sizeof few, cudaMemcpyDeviceToHost, p->stream);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(p->stream);
    for (uint64_t i = 0; code == cudaSuccess && i < FEW; i++)
        if (few[i] != first_number(root, i))
            error_set(error, STATUS_INTERNAL, "number %ju is %g", (uintmax_t)i, few[i]);
    return cuda_status(code, "fetching", error);
}

static enum status check_engine(const struct place *p, const struct work *w, struct error *error)
{
    const char *off = getenv("NCCL_P2P_DISABLE");
    const bool needs_nccl = w->apart || (off && *off == '1');
    if ((p->comm->engine == &nccl_engine) != needs_nccl)
        error_set(error, STATUS_INTERNAL, "another engine than expected");
    return error->status;
}

static void work_on(struct comm *c, void *context, struct error *error)
{
    const struct work *w = context;
    struct place p = {0};
    const int device = c->rank % w->devices;
    c->shares_memory = !w->apart;
    if (cuda_status(cudaSetDevice(device), "the device", error) != STATUS_OK)
        return;
    if (cuda_status(device_queue_create(&p.stream, QUEUE_NORMAL), "a queue", error) != STATUS_OK)
        return;
    if (device_comm_init(&p.comm, c, device, error) == STATUS_OK &&
        device_comm_wait(p.comm, error) == STATUS_OK && check_engine(&p, w, error) == STATUS_OK &&
        send_numbers(&p, c, w, error) == STATUS_OK)
        if (all_rounds(&p, c, w, error) == STATUS_OK)
            check_bcast(&p, c, error);
    if (error->status != STATUS_OK) {
        comm_abort(c, error);
        device_comm_abort(p.comm);
    }
    device_comm_finalize(p.comm);
    cudaFree(p.numbers);
    cudaFree(p.few);
    device_queue_destroy(p.stream);
}

static int device_count_here(void)
{
    int devices = 0;
    assert_int_equal(cudaGetDeviceCount(&devices), cudaSuccess);
    return devices;
}

static void run(int size, const struct work *w, struct error *error)
{
    struct work of_rank[MOST_RANKS];
    for (int k = 0; k < size; k++)
        of_rank[k] = *w;
    assert_true(run_rank_threads(size, work_on, of_rank, sizeof *of_rank, error));
}

static void check_sums(int size, bool apart)
{
    const uint64_t stripes[] = {1, 5, 64, LONGER, LONGER + 1};
    struct error error[MOST_RANKS];
    for (size_t s = 0; s < sizeof stripes / sizeof *stripes; s++)
        for (int single = 0; single < 2; single++) {
            const struct work w = {stripes[s], single ? PRECISION_SINGLE : PRECISION_DOUBLE,
                                   device_count_here(), ROUNDS, apart};
            run(size, &w, error);
            assert_all_well(error, size);
        }
}

static void test_peers(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++)
        check_sums(size, false);
}

static void test_nccl(void **state)
{
    (void)state;
    const int devices = device_count_here();
    if (devices < 2)
        skip();
    setenv("NCCL_P2P_DISABLE", "1", 1);
    check_sums(devices < 4 ? devices : 4, false);
    unsetenv("NCCL_P2P_DISABLE");
}

/* CUDA lets no process open memory of its own as that of another one: threads that try it go on
 * with NCCL, as processes do that see nothing of each other. */
static void test_refused_peers(void **state)
{
    (void)state;
    const int devices = device_count_here();
    if (devices < 2)
        skip();
    check_sums(devices < 4 ? devices : 4, true);
}

/* All ranks learn why, and none waits for ever or reads what another one has freed. */
static void test_abort(void **state)
{
    (void)state;
    struct error error[MOST_RANKS];
    for (int round = 0; round < ROUNDS; round++) {
        const struct work w = {LONGER, PRECISION_DOUBLE, device_count_here(), round, false};
        run(3, &w, error);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(error[k].status, STATUS_NUMERICAL);
            assert_non_null(strstr(error[k].message, "fails"));
        }
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_peers), cmocka_unit_test(test_nccl),
                                       cmocka_unit_test(test_refused_peers),
                                       cmocka_unit_test(test_abort)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
