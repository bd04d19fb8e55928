#include "backend/cuda/device_ranks.h"

#include <sched.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_queue.h"

static enum status open_sharing(struct device_ranks *r, int n, int device, struct error *error)
{
    struct comm *sharing = r->ranks->mode[n].peers;
    if (sharing == r->ranks->all)
        r->sharing[n] = r->all;
    else if (sharing->size > 1 &&
             device_comm_init(&r->sharing[n], sharing, device, error) == STATUS_OK)
        return device_comm_wait(r->sharing[n], error);
    return error->status;
}

enum status device_ranks_open(struct device_ranks *r, const struct rank_rows *ranks, int device,
                              struct error *error)
{
    *r = (struct device_ranks){.ranks = ranks, .all = ranks->devices};
    if (ranks->all->size == 1)
        return STATUS_OK;
    enum status status = cuda_status(device_event_create(&r->moved), "an event", error);
    if (status != STATUS_OK)
        comm_abort(ranks->all, error);
    else if (!r->all)
        status = device_comm_init(&r->all, ranks->all, device, error);
    if (status == STATUS_OK)
        status = device_comm_wait(r->all, error);
    for (int n = 0; n < ranks->part.whole.order && status == STATUS_OK; n++)
        status = open_sharing(r, n, device, error);
    return status;
}

/* After this nothing on the device waits for other ranks. */
static void give_up(struct device_ranks *r)
{
    for (int n = 0; n < MAX_ORDER; n++)
        if (r->sharing[n] != r->all)
            device_comm_abort(r->sharing[n]);
    device_comm_abort(r->all);
}

void device_ranks_close(struct device_ranks *r)
{
    struct error aborted = {0};
    if (r->all && comm_check(r->ranks->all, &aborted) != STATUS_OK)
        give_up(r);
    for (int n = 0; n < MAX_ORDER; n++)
        if (r->sharing[n] != r->all)
            device_comm_finalize(r->sharing[n]);
    if (r->ranks && r->all != r->ranks->devices)
        device_comm_finalize(r->all);
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

/* Waits, in the queue, for the operation before this one. */
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
    cudaError_t code = *event ? cudaSuccess : device_event_create_timed(event);
    if (code == cudaSuccess)
        code = cudaEventRecord(*event, stream);
    return cuda_status(code, "timing", error);
}

typedef enum status collective(struct device_comm *c, const struct device_stripes *stripes,
                               cudaStream_t stream, struct error *error);

/* Moves rows of mode n, in order and timed. */
static enum status move(struct device_ranks *r, int n, collective *call,
                        const struct device_stripes *stripes, cudaStream_t stream,
                        struct error *error)
{
    bool timed = r->moves < DEVICE_MOST_MOVES;
    if (!r->sharing[n] || stripes->stripe == 0)
        return STATUS_OK;
    if (begin(r, stream, error) != STATUS_OK)
        return error->status;
    if (timed && record(&r->begin[r->moves], stream, error) != STATUS_OK)
        return error->status;
    if (call(r->sharing[n], stripes, stream, error) != STATUS_OK)
        return error->status;
    if (timed && record(&r->end[r->moves], stream, error) != STATUS_OK)
        return error->status;
    r->moves += timed;
    return end(r, stream, error);
}

/* The first row of the room for this rank's stripe. */
static uint64_t own_room(const struct mode_rows *m)
{
    return m->row ? m->first : (uint64_t)m->peers->rank * m->stripe;
}

static struct device_stripes stripes_of(const struct device_ranks *r, int n,
                                        const struct device_matrix *a)
{
    const struct mode_rows *m = &r->ranks->mode[n];
    uint64_t row_bytes = a->ld * precision_bytes(a->precision);
    return (struct device_stripes){.numbers = a->entries,
                                   .own = (char *)a->entries + own_room(m) * row_bytes,
                                   .stripe = m->stripe * a->ld,
                                   .precision = a->precision};
}

enum status device_ranks_scatter(struct device_ranks *r, int n, const struct device_matrix *m,
                                 cudaStream_t stream, struct error *error)
{
    const struct device_stripes stripes = stripes_of(r, n, m);
    return move(r, n, device_comm_reduce_scatter, &stripes, stream, error);
}

enum status device_ranks_gather(struct device_ranks *r, int n, const struct device_matrix *a,
                                cudaStream_t stream, struct error *error)
{
    const struct device_stripes stripes = stripes_of(r, n, a);
    return move(r, n, device_comm_allgather, &stripes, stream, error);
}

enum status device_ranks_sum(struct device_ranks *r, const double *from, double *to, uint64_t count,
                             cudaStream_t stream, struct error *error)
{
    if (!r->all)
        return STATUS_OK;
    if (begin(r, stream, error) != STATUS_OK)
        return error->status;
    if (device_comm_allreduce_sum(r->all, from, to, count, stream, error) != STATUS_OK)
        return error->status;
    return end(r, stream, error);
}

bool device_ranks_alone(const struct device_ranks *r)
{
    return !r->all;
}

static enum status book_moves(struct device_ranks *r, struct error *error)
{
    const int moves = r->moves;
    r->moves = 0;
    for (int i = 0; i < moves; i++) {
        float ms = 0;
        cudaError_t code = cudaEventSynchronize(r->end[i]);
        if (code == cudaSuccess)
            code = cudaEventElapsedTime(&ms, r->begin[i], r->end[i]);
        if (cuda_status(code, "timing", error) != STATUS_OK)
            return error->status;
        r->ranks->all->seconds += ms / 1e3;
    }
    return STATUS_OK;
}

/* Looks whether the stream is empty, and, so that a rank which fails ends this one, whether that
 * has happened. */
static enum status poll(struct device_ranks *r, cudaStream_t stream, struct error *error)
{
    for (;;) {
        cudaError_t code = cudaStreamQuery(stream);
        if (code != cudaErrorNotReady)
            return cuda_status(code, "an iteration", error);
        if (comm_check(r->ranks->all, error) != STATUS_OK ||
            device_comm_check(r->all, error) != STATUS_OK) {
            give_up(r);
            return error->status;
        }
        sched_yield();
    }
}

enum status device_ranks_wait(struct device_ranks *r, cudaStream_t stream, struct error *error)
{
    if (!r->all)
        return cuda_status(cudaStreamSynchronize(stream), "an iteration", error);
    return poll(r, stream, error) == STATUS_OK ? book_moves(r, error) : error->status;
}

enum status device_ranks_before_wait(struct device_ranks *r, cudaStream_t stream,
                                     struct error *error)
{
    return r->all ? poll(r, stream, error) : STATUS_OK;
}
