/* The CUDA backend: an iteration runs on the GPU, and only a few scalars come back. Factor matrices
 * are not rescaled: their column norms are kept beside them and enter the R x R matrix by which the
 * next M is multiplied (device_dense.h). MTTKRP needs only factor matrices, so all R x R work runs
 * on the side stream during the next MTTKRP. */
#include "backend/backend_kind.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/device_row_update.h"
#include "backend/cuda/device_sweep.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "backend/cuda/runtime/device_rates.h"
#include "base/machine.h"
#include "base/memory.h"
#include "kernels/mttkrp/mttkrp.h"
#include "numerics/tile_rows.h"

static const char too_old[] = "the GPU is too old for this build of blco";

/* Drivers before CUDA 12.2 load all device code at once unless told otherwise ("Lazy Loading" in
 * the CUDA C++ Programming Guide). */
static void ask_for_lazy_loading(void)
{
    setenv("CUDA_MODULE_LOADING", "LAZY", 0);
}

/* As `likely` in struct backend_kind, by the driver's files, on Linux and in WSL. The environment
 * is complete afterwards: while a thread wakes the device, nothing may be added to it. */
static bool device_likely(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    ask_for_lazy_loading();
    return (!visible || (*visible && strchr("0123456789GM", *visible))) && /* GPU-..., MIG-... */
           (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0);
}

/* As `available` in struct backend_kind: no context is made. */
static enum status device_available(struct error *error)
{
    int count = 0;
    ask_for_lazy_loading();
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorInsufficientDriver)
        return error_set(error, STATUS_INPUT,
                         "no NVIDIA driver, or one that is too old for this CUDA");
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
        return error_set(error, STATUS_INPUT, "no NVIDIA GPU on this machine");
    if (code != cudaSuccess)
        return error_set(error, STATUS_INPUT, "no usable GPU: %s", cudaGetErrorString(code));
    /* whether this program has code for one of them, or one does not say */
    for (int device = 0; device < count; device++) {
        int major = 0, minor = 0;
        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ||
            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) ||
            10 * major + minor >= mttkrp_oldest_capability())
            return STATUS_OK;
    }
    return error_set(error, STATUS_INPUT, too_old);
}

/* As `wake` in struct backend_kind: starts the driver, makes the GPU's context and loads the first
 * kernel, in three steps. */
static enum status device_wake(int device, const atomic_bool *unwanted, struct error *error)
{
    /* Any kernel will do: an architecture that this binary has no code for shows here. */
    struct mttkrp_args args = {.vectors = 1};
    TRY(device_available(error));
    if (atomic_load(unwanted))
        return STATUS_OK;
    cudaError_t code = cudaSetDevice(device);
    if (code == cudaSuccess)
        code = cudaFree(NULL); /* makes the context, where choosing the GPU has not done so */
    if (code == cudaSuccess && !atomic_load(unwanted))
        code = mttkrp_prepare(&args);
    (void)cudaGetLastError();
    if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction)
        return error_set(error, STATUS_INPUT, too_old);
    if (code != cudaSuccess)
        return error_set(error, STATUS_INPUT, "the GPU does not answer: %s",
                         cudaGetErrorString(code));
    return STATUS_OK;
}

#define OUTPUT_COPIES 32 /* of a short mode's M, for `hierarchical` */

/* Bytes of a nonzero while it is sorted: key and value, twice. If the GPU has no room for that, the
 * tensor stays packed. */
#define BUILDING_BYTES 32

static enum status make_request(struct plan_request *request, const struct backend_options *options,
                                struct error *error)
{
    uint64_t available, all;
    int processors, shared, cache;
    const int device = options->device;
    TRY(device_memory_free(device, &available, &all, error));
    TRY(device_attribute(device, cudaDevAttrMultiProcessorCount, &processors, error));
    TRY(device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared, error));
    TRY(device_attribute(device, cudaDevAttrL2CacheSize, &cache, error));
    request->row_bytes = device_row_bytes(request->rank, request->precision);
    request->budget = available - available / 16;
    request->copies = OUTPUT_COPIES;
    request->short_mode = (uint64_t)processors;
    request->tiles = shared >= TILE_BYTES;
    request->cache_bytes = (uint64_t)cache;
    request->can_stream = true;
    request->must_stream = request->tensor.nnz > available / BUILDING_BYTES;
    request->host_budget = machine_memory_budget(options->host_memory);
    if (options->memory && options->memory < request->budget)
        request->budget = options->memory;
    return problem_by_rows(&options->problem) ? device_row_update_plan(request, options, error)
                                              : STATUS_OK;
}

void device_state_close(void *state)
{
    struct device_state *s = state;
    struct error ignored = {0};
    if (!s)
        return;
    (void)device_use(s->device, &ignored);
    device_ranks_close(&s->ranks);
    cudaDeviceSynchronize();
    for (int n = 0; n < s->order; n++)
        device_free(s->model.gram[n], s->model.norm[n]);
    device_momentum_close(&s->momentum);
    device_row_update_close(s);
    device_terms_close(s);
    device_sweep_close(&s->sweep);
    for (int p = 0; p < 2; p++)
        device_dense_close(s->dense_of[p]);
    device_columns_close(&s->columns);
    device_free(s->solve.inverse, s->solve.raw, s->solve.inner, s->model.lambda, s->scalars);
    device_pinned_free(s->result);
    device_staging_close(&s->staging);
    for (int i = 0; i < OPERATION_EVENTS; i++)
        device_event_destroy(s->events.own[i]);
    device_event_destroy(s->solve.ready);
    for (int i = 0; i < 2; i++)
        device_event_destroy(s->events.spare[i]);
    device_queue_destroy(s->side);
    device_queue_destroy(s->stream);
    memory_free(s);
}

/* The dense steps for factor matrices of this precision. */
static enum status open_dense(struct device_state *s, enum precision precision, struct error *error)
{
    struct device_dense **dense = &s->dense_of[precision];
    const uint64_t ld = device_row_bytes(s->rank, precision) / precision_bytes(precision);
    const struct device_dense_place place = {s->device, s->stream, s->side};
    TRY(device_dense_open(dense, &place, s->rank, ld, precision, error));
    return mode_rules_any(s->problem->asked->rules.nonneg) ? device_dense_open_nonneg(*dense, error)
                                                           : STATUS_OK;
}

static enum status open_device(void **state, const struct tensor_source *source,
                               const struct plan *plan, const struct backend_options *options,
                               struct progress *progress, struct error *error)
{
    static const char doing[] = "a stream";
    const struct problem *problem = &options->problem;
    const enum precision first = precision_first(problem->precision);
    const enum precision last = precision_last(problem->precision);
    struct device_state *s = memory_zeros(1, sizeof *s, error);
    *state = NULL;
    TRY(error->status);
    s->device = options->device;
    s->order = source->x->shape.order;
    s->rank = problem->rank;
    s->ld = plan->request.row_bytes / precision_bytes(plan->request.precision);
    s->problem = source->problem;
    TRY_OR(failed, device_use(s->device, error));
    /* the small kernels of the side stream go first, so that they do not wait for MTTKRP's thread
     * blocks */
    TRY_OR(failed, cuda_status(device_queue_create(&s->stream, QUEUE_LAST), doing, error));
    TRY_OR(failed, cuda_status(device_queue_create(&s->side, QUEUE_FIRST), doing, error));
    s->solve.reciprocal = 1;
    TRY_OR(failed, cuda_status(device_event_create(&s->solve.ready), doing, error));
    for (int i = 0; i < 2; i++)
        TRY_OR(failed, cuda_status(device_event_create_timed(&s->events.spare[i]), doing, error));
    TRY_OR(failed, device_staging_open(&s->staging, s->device, s->stream, error));
    TRY_OR(failed, device_sweep_open(&s->sweep, source, plan, &s->staging, progress, error));
    if (source->file)
        TRY_OR(failed, backend_check_norm(s->sweep.orderings.norm_sq, source->file_name, error));
    s->sweep.factors.wide_values = first != last;
    const uint64_t rank = s->rank, square = rank * rank;
    for (int n = 0; n < s->order; n++) {
        TRY_OR(failed, device_array_into(&s->model.gram[n], square, sizeof(double), error));
        TRY_OR(failed, device_array_into(&s->model.norm[n], rank, sizeof(double), error));
    }
    TRY_OR(failed, device_columns_open(&s->columns, s->device, rank, s->stream, error));
    TRY_OR(failed, device_array_into(&s->solve.inverse, square, sizeof(double), error));
    TRY_OR(failed, device_array_into(&s->solve.raw, square, sizeof(double), error));
    TRY_OR(failed, device_array_into(&s->solve.inner, rank, sizeof(double), error));
    TRY_OR(failed, device_array_into(&s->model.lambda, rank, sizeof(double), error));
    TRY_OR(failed, device_array_into(&s->scalars, 1, sizeof *s->scalars, error));
    s->result = device_pinned_array(1, sizeof *s->result, error);
    TRY_OR(failed, error->status);
    TRY_OR(failed, open_dense(s, last, error));
    if (first != last)
        TRY_OR(failed, open_dense(s, first, error));
    s->dense = s->dense_of[last];
    TRY_OR(failed, device_ranks_open(&s->ranks, source->ranks, s->device, error));
    TRY_OR(failed, device_row_update_open(s, error));
    if (plan->request.momentum)
        TRY_OR(failed, device_momentum_open(s, error));
    *state = s;
    return STATUS_OK;
failed:
    comm_abort(source->ranks->all, error); /* GPUs that wait for this one then end their work */
    device_state_close(s);
    return error->status;
}

/* An early MTTKRP does not count as part of the operations before it. An event that is already
 * recorded at the end of the stream is used: to record one delays the stream by more than a
 * microsecond. */
static enum status record_event(void *queue, int event, struct error *error)
{
    struct device_state *s = queue;
    cudaEvent_t *own = &s->events.own[event], *at = &s->events.at[event];
    TRY(device_use(s->device, error));
    *at = s->m_early ? s->events.swept : s->events.end;
    if (*at)
        return STATUS_OK;
    if (!*own)
        TRY(cuda_status(device_event_create_timed(own), "timing", error));
    *at = *own;
    return cuda_status(cudaEventRecord(*own, s->stream), "timing", error);
}

static enum status time_elapsed(void *queue, int from, int to, double *seconds, struct error *error)
{
    struct device_state *s = queue;
    *seconds = 0;
    TRY(device_use(s->device, error));
    return cuda_status(device_event_seconds(s->events.at[from], s->events.at[to], seconds),
                       "timing", error);
}

void device_state_built(void *state, struct backend_built *built)
{
    const struct device_state *s = state;
    const struct device_orderings *o = &s->sweep.orderings;
    *built = (struct backend_built){.plan = o->plan,
                                    .groups = o->sweep.groups,
                                    .nnz = o->nnz,
                                    .norm_sq = o->norm_sq,
                                    .seconds = o->seconds};
    for (int n = 0; n < s->order; n++)
        device_sweep_kernel(&s->sweep, n, &built->kernel[n]);
}

static enum status measure_rates(const struct shape *shape, const struct backend_options *options,
                                 struct backend_rates *rates, struct error *error)
{
    const enum precision first = precision_first(options->problem.precision);
    struct device_rates_request request = {
        .device = options->device,
        .shape = shape,
        .row_bytes = options->problem.rank * precision_bytes(first),
        .vectors = device_row_bytes(options->problem.rank, first) / VECTOR_BYTES,
        .precision = first,
        .memory = options->memory};
    return device_rates(&request, rates, error);
}

static const struct event_ops events = {record_event, time_elapsed};

#define MEMBER(result, name, parameters) .name = device_state_##name,
static const struct backend_ops operations = {BACKEND_OPERATIONS(MEMBER).events = &events};

const struct backend_kind backend_cuda = {.name = "cuda",
                                          .takes_parts = true,
                                          .available = device_available,
                                          .likely = device_likely,
                                          .wake = device_wake,
                                          .request = make_request,
                                          .open = open_device,
                                          .meet = device_comm_init,
                                          .leave = device_comm_leave,
                                          .ops = &operations,
                                          .rates = measure_rates,
                                          .devices = device_count,
                                          .device = device_info};
