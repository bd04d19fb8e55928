#include "backend/cuda/device_ranks.h"

#include <sched.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_queue.h"

enum status device_ranks_open(struct device_ranks *r, const struct rank_rows *ranks, int device,
                              struct error *error)
{
    *r = (struct device_ranks){.ranks = ranks, .all = ranks->devices};
    if (ranks->all->size == 1)
        return STATUS_OK;
    if (cuda_status(device_event_create(&r->moved), "an event", error) != STATUS_OK) {
        comm_abort(ranks->all, error);
        return error->status;
    }
    if (!r->all)
        TRY(device_comm_init(&r->all, ranks->all, device, error));
    TRY(device_comm_wait(r->all, error));
    for (int n = 0; n < ranks->part.whole.order;
         n++) { /* GPUs that have the same range of mode n */
        struct comm *peers = ranks->mode[n].peers;
        if (peers == ranks->all)
            r->peers[n] = r->all;
        if (r->peers[n] || peers->size == 1)
            continue;
        TRY(device_comm_init(&r->peers[n], peers, device, error));
        TRY(device_comm_wait(r->peers[n], error));
    }
    return STATUS_OK;
}

/* Afterwards nothing on the device waits for other ranks. */
static void give_up(struct device_ranks *r)
{
    for (int n = 0; n < MAX_ORDER; n++)
        if (r->peers[n] != r->all)
            device_comm_abort(r->peers[n]);
    device_comm_abort(r->all);
}

void device_ranks_close(struct device_ranks *r)
{
    struct error aborted = {0};
    if (r->all && comm_check(r->ranks->all, &aborted) != STATUS_OK)
        give_up(r);
    for (int n = 0; n < MAX_ORDER; n++)
        if (r->peers[n] != r->all)
            device_comm_finalize(r->peers[n]);
    if (r->ranks && r->all != r->ranks->devices)
        device_comm_finalize(r->all);
    else
        device_comm_release(r->all);
    device_event_destroy(r->moved);
    for (int i = 0; i < DEVICE_MOST_MOVES; i++) {
        device_event_destroy(r->begin[i]);
        device_event_destroy(r->end[i]);
    }
    *r = (struct device_ranks){0};
}

uint64_t device_ranks_rows(const struct rank_rows *ranks, int n)
{
    const struct mode_rows *m = &ranks->mode[n];
    uint64_t stripes = m->stripe * (uint64_t)m->peers->size, here = ranks->part.here.dims[n];
    uint64_t rows = stripes > here ? stripes : here;
    return rows > 0 ? rows : 1;
}

/* Later work on the stream waits for the previous operation. */
static enum status begin(struct device_ranks *r, cudaStream_t stream, struct error *error)
{
    return cuda_status(cudaStreamWaitEvent(stream, r->moved, 0), "the order of moves", error);
}

static enum status end(struct device_ranks *r, cudaStream_t stream, struct error *error)
{
    return cuda_status(cudaEventRecord(r->moved, stream), "the order of moves", error);
}

static enum status record(cudaEvent_t *event, cudaStream_t stream, struct error *error)
{
    if (!*event)
        TRY(cuda_status(device_event_create_timed(event), "timing", error));
    return cuda_status(cudaEventRecord(*event, stream), "timing", error);
}

/* Moves rows of mode n, in order and timed: sums stripes or gathers them. */
static enum status move(struct device_ranks *r, int n, bool gathers,
                        const struct device_stripes *stripes, cudaStream_t stream,
                        struct error *error)
{
    const struct device_comm *c = r->peers[n];
    bool timed = r->moves < DEVICE_MOST_MOVES;
    if (!c || stripes->stripe == 0)
        return STATUS_OK;
    TRY(begin(r, stream, error));
    if (timed)
        TRY(record(&r->begin[r->moves], stream, error));
    TRY((gathers ? c->engine->allgather : c->engine->reduce_scatter)(c->state, stripes, stream,
                                                                     error));
    if (timed)
        TRY(record(&r->end[r->moves], stream, error));
    r->moves += timed;
    return end(r, stream, error);
}

static struct device_stripes stripes_of(const struct device_ranks *r, int n,
                                        const struct device_matrix *a)
{
    const struct mode_rows *m = &r->ranks->mode[n];
    uint64_t row_bytes = a->ld * precision_bytes(a->precision);
    /* the first row of the room for this rank's stripe */
    uint64_t own = m->row ? m->first : (uint64_t)m->peers->rank * m->stripe;
    return (struct device_stripes){.numbers = a->entries,
                                   .own = (char *)a->entries + own * row_bytes,
                                   .stripe = m->stripe * a->ld,
                                   .precision = a->precision};
}

enum status device_ranks_scatter(struct device_ranks *r, int n, const struct device_matrix *m,
                                 cudaStream_t stream, struct error *error)
{
    const struct device_stripes stripes = stripes_of(r, n, m);
    return move(r, n, false, &stripes, stream, error);
}

enum status device_ranks_gather(struct device_ranks *r, int n, const struct device_matrix *a,
                                cudaStream_t stream, struct error *error)
{
    const struct device_stripes stripes = stripes_of(r, n, a);
    return move(r, n, true, &stripes, stream, error);
}

enum status device_ranks_scatter_numbers(struct device_ranks *r, int n, double *numbers,
                                         uint64_t count, cudaStream_t stream, struct error *error)
{
    const uint64_t own = (uint64_t)r->ranks->mode[n].peers->rank * count;
    const struct device_stripes stripes = {
        .numbers = numbers, .own = numbers + own, .stripe = count, .precision = PRECISION_DOUBLE};
    return move(r, n, false, &stripes, stream, error);
}

static enum status reduce(struct device_ranks *r, const struct device_numbers *x,
                          cudaStream_t stream, struct error *error)
{
    if (!r->all)
        return STATUS_OK;
    TRY(begin(r, stream, error));
    TRY(r->all->engine->allreduce(r->all->state, x, stream, error));
    return end(r, stream, error);
}

enum status device_ranks_sum(struct device_ranks *r, const double *from, double *to, uint64_t count,
                             cudaStream_t stream, struct error *error)
{
    const struct device_numbers x = {from, to, count, false};
    return reduce(r, &x, stream, error);
}

enum status device_ranks_max(struct device_ranks *r, double *x, uint64_t count, cudaStream_t stream,
                             struct error *error)
{
    const struct device_numbers largest = {x, x, count, true};
    return reduce(r, &largest, stream, error);
}

bool device_ranks_alone(const struct device_ranks *r)
{
    return !r->all;
}

/* Waits until the stream is empty. A rank that fails meanwhile ends this one. */
static enum status poll(struct device_ranks *r, cudaStream_t stream, struct error *error)
{
    cudaError_t code;
    while ((code = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        if (comm_check(r->ranks->all, error) != STATUS_OK ||
            r->all->engine->check(r->all->state, error) != STATUS_OK) {
            give_up(r);
            return error->status;
        }
        sched_yield();
    }
    TRY(comm_check(r->ranks->all, error));
    return cuda_status(code, "an iteration", error);
}

enum status device_ranks_wait(struct device_ranks *r, cudaStream_t stream, struct error *error)
{
    if (!r->all)
        return cuda_status(cudaStreamSynchronize(stream), "an iteration", error);
    TRY(poll(r, stream, error));
    const int moves = r->moves; /* whose times are known now */
    r->moves = 0;
    for (int i = 0; i < moves; i++) {
        double seconds;
        TRY(cuda_status(device_event_seconds(r->begin[i], r->end[i], &seconds), "timing", error));
        r->ranks->all->seconds += seconds;
    }
    return STATUS_OK;
}

enum status device_ranks_before_wait(struct device_ranks *r, cudaStream_t stream,
                                     struct error *error)
{
    return r->all ? poll(r, stream, error) : STATUS_OK;
}
