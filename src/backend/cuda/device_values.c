#include "backend/cuda/device_values.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "base/memory.h"
#include "kernels/residual/model_values.h"

#define PART (UINT64_C(1) << 22) /* coordinates at a time */

static const char doing[] = "the model's values";

enum status device_values_weights(struct device_state *s, double *weight, struct error *error)
{
    double *norm = memory_array(s->rank, sizeof *norm, error);
    if (!norm)
        return error->status;
    TRY_OR(done, device_state_weights(s, weight, error));
    for (int n = 0; n < s->order; n++) {
        cudaError_t code =
            cudaMemcpy(norm, s->model.norm[n], s->rank * sizeof *norm, cudaMemcpyDeviceToHost);
        TRY_OR(done, cuda_status(code, doing, error));
        for (uint64_t r = 0; r < s->rank; r++)
            weight[r] /= norm[r] != 0 ? norm[r] : 1;
    }
done:
    memory_free(norm);
    return error->status;
}

/* Device arrays for a part of the coordinates, and the weights. */
struct room {
    uint32_t *index; /* (order x PART) */
    double *value;   /* (PART)         */
    double *weight;  /* (R)            */
};

static enum status take_room(struct room *room, const struct device_state *s, uint64_t part,
                             struct error *error)
{
    TRY(device_array_into(&room->index, (uint64_t)s->order * part, sizeof *room->index, error));
    TRY(device_array_into(&room->value, part, sizeof *room->value, error));
    return device_array_into(&room->weight, s->rank, sizeof *room->weight, error);
}

/* Of coordinates [first, first + count). */
static enum status find_part(struct device_state *s, const struct room *room, const struct coo *at,
                             uint64_t first, uint64_t count, double *value, struct error *error)
{
    const struct device_factors *f = &s->sweep.factors;
    struct model_values_args args = {.order = s->order,
                                     .count = count,
                                     .weight = room->weight,
                                     .rank = (uint32_t)s->rank,
                                     .vectors = f->vectors,
                                     .precision = f->precision,
                                     .value = room->value};
    for (int n = 0; n < s->order; n++) {
        uint32_t *to = room->index + (uint64_t)n * count;
        args.index[n] = to;
        args.rows[n] = f->factor[n];
        TRY(cuda_status(cudaMemcpyAsync(to, at->index[n] + first, count * sizeof *to,
                                        cudaMemcpyHostToDevice, s->stream),
                        doing, error));
    }
    TRY(cuda_status(model_values(&args, s->stream), doing, error));
    return device_fetch(value + first, room->value, count * sizeof *value, s->stream, doing, error);
}

enum status device_state_values(void *state, const struct coo *at, double *value,
                                struct error *error)
{
    struct device_state *s = state;
    struct room room = {0};
    const uint64_t part = least_of(at->nnz, PART);
    double *weight = memory_array(s->rank, sizeof *weight, error);
    if (!weight)
        return error->status;
    TRY_OR(done, device_use(s->device, error));
    TRY_OR(done, device_state_wait(s, error));
    TRY_OR(done, device_values_weights(s, weight, error));
    TRY_OR(done, take_room(&room, s, part, error));
    TRY_OR(done,
           device_send(room.weight, weight, s->rank * sizeof *weight, s->stream, doing, error));
    for (uint64_t first = 0; first < at->nnz; first += part)
        TRY_OR(done, find_part(s, &room, at, first, least_of(part, at->nnz - first), value, error));
done:
    device_free(room.index);
    device_free(room.value);
    device_free(room.weight);
    memory_free(weight);
    return error->status;
}

void device_state_ridge(void *state, double ridge)
{
    struct device_state *s = state;
    for (int n = 0; n < s->order; n++)
        s->rules.ridge[n] = ridge;
}
