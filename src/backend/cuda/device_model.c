/* The model on its way to the device and back. */
#include "backend/cuda/device_state.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_factor_copy.h"
#include "backend/cuda/runtime/device_info.h"
#include "base/memory.h"
#include "kernels/dense/dense_random.h"

/* The Gram of the factor as it stands, from the rows that this rank solves. */
static enum status make_gram(struct device_state *s, int n, struct error *error)
{
    const struct mode_rows *rows = &s->ranks.ranks->mode[n];
    const void *own = device_state_row(s, s->sweep.factors.factor[n], rows->first);
    return device_dense_gram(s->dense, own, rows->count, s->gram[n], s->stream, error);
}

/* From what each rank has, the Grams of all rows. Nothing before may wait behind these sums, which
 * come to no end where another rank fails. */
static enum status sum_grams(struct device_state *s, struct error *error)
{
    enum status status = STATUS_OK;
    for (int n = 0; n < s->order && status == STATUS_OK; n++)
        status = device_ranks_sum(&s->ranks, s->gram[n], s->gram[n], s->rank * s->rank, s->stream,
                                  error);
    return status == STATUS_OK ? device_ranks_wait(&s->ranks, s->stream, error) : status;
}

/* norm (R) = what the scales of mode n undo: one where there are none. */
static void norms_of(const struct device_state *s, int n, const struct carried *carried,
                     double *norm)
{
    for (uint64_t r = 0; r < s->rank; r++)
        norm[r] = carried ? 1 / carried->scale[(uint64_t)n * s->rank + r] : 1;
}

/* The norms and the Gram of factor matrix n; without `carried` the Gram of this rank's rows. */
static enum status load_norms(struct device_state *s, int n, const struct carried *carried,
                              double *norm, struct error *error)
{
    uint64_t square = s->rank * s->rank;
    norms_of(s, n, carried, norm);
    enum status status = carried ? STATUS_OK : make_gram(s, n, error);
    if (status == STATUS_OK && carried)
        status = cuda_status(cudaMemcpyAsync(s->gram[n], carried->gram + (uint64_t)n * square,
                                             square * sizeof *s->gram[n], cudaMemcpyHostToDevice,
                                             s->stream),
                             "the Grams", error);
    if (status == STATUS_OK)
        status = cuda_status(cudaMemcpyAsync(s->norm[n], norm, s->rank * sizeof *norm,
                                             cudaMemcpyHostToDevice, s->stream),
                             "the factors", error);
    return status == STATUS_OK /* before `norm` changes */
               ? device_ranks_wait(&s->ranks, s->stream, error)
               : status;
}

static bool write_numbers(const void *from, uint64_t first, uint64_t count, void *to)
{
    memcpy(to, (const uint64_t *)from + first, count * sizeof(uint64_t));
    return true;
}

enum status device_state_send_rows(struct device_state *s, int n, const uint64_t **row,
                                   struct error *error)
{
    const struct part *part = &s->ranks.ranks->part;
    void *m = s->sweep.factors.m; /* a row of M takes more bytes than a number */
    *row = NULL;
    if (!part->row[n])
        return STATUS_OK;
    device_state_restart(s);
    *row = m;
    const struct device_elements numbers = {m, part->here.dims[n], sizeof **row};
    return device_staging_send(&s->staging, &numbers, write_numbers, part->row[n], error);
}

/* Where a model comes from: the host's *k, with what is carried, or random numbers. */
struct origin {
    const struct ktensor *k;
    const struct carried *carried;
    uint64_t seed; /* where k is NULL, as below: the seed, and the weight of every component */
    double weight;
};

static enum status make_rows(struct device_state *s, int n, uint64_t seed, struct error *error)
{
    const struct part *part = &s->ranks.ranks->part;
    const struct device_factors *f = &s->sweep.factors;
    struct dense_random_args args = {.a = f->factor[n],
                                     .rows = part->here.dims[n],
                                     .ld = (uint32_t)s->ld,
                                     .rank = (uint32_t)s->rank,
                                     .mode = n,
                                     .seed = seed,
                                     .first = part->first[n]};
    _Static_assert(DENSE_NO_ROW == NO_ROW, "rows of zeros have one number");
    if (device_state_send_rows(s, n, &args.row, error) != STATUS_OK)
        return error->status;
    return cuda_status(dense_random(&args, f->precision, s->stream), "the random start", error);
}

/* An array of the device with `rows` padded rows of a factor matrix. */
static struct device_rows padded_rows(const struct device_state *s, void *a, uint64_t rows)
{
    return (struct device_rows){.a = a,
                                .rows = rows,
                                .columns = s->rank,
                                .ld = s->ld,
                                .precision = s->sweep.factors.precision};
}

static enum status load_rows(struct device_state *s, int n, const struct origin *from,
                             struct error *error)
{
    if (!from->k)
        return make_rows(s, n, from->seed, error);
    const struct device_rows to =
        padded_rows(s, s->sweep.factors.factor[n], from->k->shape.dims[n]);
    return device_factor_upload(&s->staging, from->k->factor[n], &to, error);
}

static enum status load_mode(struct device_state *s, int n, const struct origin *from, double *norm,
                             struct error *error)
{
    if (load_rows(s, n, from, error) != STATUS_OK)
        return error->status;
    return load_norms(s, n, from->carried, norm, error);
}

/* The start counts as it stands: norms one, Grams of the columns as given. Its lambda, which is in
 * s->start, counts until the first update. */
static enum status load(struct device_state *s, const struct origin *from, struct error *error)
{
    double *norm = memory_array(s->rank, sizeof *norm, error);
    if (!norm)
        return error->status;
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = cuda_status(cudaMemset(s->scalars, 0, sizeof *s->scalars), "the result", error);
    for (int n = 0; n < s->order && status == STATUS_OK; n++)
        status = load_mode(s, n, from, norm, error);
    if (status == STATUS_OK && !from->carried)
        status = sum_grams(s, error);
    for (uint64_t r = 0; r < s->rank; r++)
        norm[r] = from->k ? from->k->lambda[r] : from->weight;
    if (status == STATUS_OK)
        status = cuda_status(
            cudaMemcpy(s->start, norm, s->rank * sizeof *s->start, cudaMemcpyHostToDevice),
            "lambda", error);
    s->weights_fit = from->carried != NULL;
    s->last_mode = -1;
    device_momentum_restart(&s->momentum);
    device_state_restart(s);
    for (int n = 0; n < s->order; n++)
        device_sweep_changed(&s->sweep, n);
    memory_free(norm);
    return status;
}

enum status device_state_load(void *state, const struct ktensor *k, const struct carried *carried,
                              struct error *error)
{
    struct device_state *s = state;
    return load(s, &(struct origin){.k = k, .carried = carried}, error);
}

/* Numbers that are uniform are never negative. */
enum status device_state_randomise(void *state, enum ktensor_init init, uint64_t seed,
                                   double weight, struct error *error)
{
    struct device_state *s = state;
    if (init != KTENSOR_RANDOM)
        return error_set(error, STATUS_INTERNAL, "a start that the GPU does not make");
    return load(s, &(struct origin){.seed = seed, .weight = weight}, error);
}

enum status device_state_scales(const struct device_state *s, int n, double *scale,
                                struct error *error)
{
    enum status status =
        cuda_status(cudaMemcpy(scale, s->norm[n], s->rank * sizeof *scale, cudaMemcpyDeviceToHost),
                    "the norms", error);
    for (uint64_t r = 0; r < s->rank; r++)
        scale[r] = scale[r] != 0 ? 1 / scale[r] : 1;
    return status;
}

static enum status copy_lambda(const struct device_state *s, double *lambda, struct error *error)
{
    const double *from = s->last_mode < 0 ? s->start : s->norm[s->last_mode];
    return cuda_status(cudaMemcpy(lambda, from, s->rank * sizeof *lambda, cudaMemcpyDeviceToHost),
                       "lambda", error);
}

/* Factor matrix n of unit columns, or with `carried` as it stands, with its scales and its Gram. */
static enum status store_mode(struct device_state *s, int n, struct ktensor *k,
                              struct carried *carried, double *scale, struct error *error)
{
    uint64_t square = s->rank * s->rank;
    const struct device_rows rows =
        padded_rows(s, s->sweep.factors.factor[n], k->shape.dims[n]);
    if (device_state_scales(s, n, scale, error) != STATUS_OK)
        return error->status;
    if (device_factor_download(&s->staging, &rows, k->factor[n], carried ? NULL : scale, error) !=
        STATUS_OK)
        return error->status;
    if (!carried)
        return STATUS_OK;
    memcpy(carried->scale + (uint64_t)n * s->rank, scale, s->rank * sizeof *scale);
    return cuda_status(cudaMemcpy(carried->gram + (uint64_t)n * square, s->gram[n],
                                  square * sizeof *s->gram[n], cudaMemcpyDeviceToHost),
                       "the Grams", error);
}

enum status device_state_store(void *state, struct ktensor *k, struct carried *carried,
                               struct error *error)
{
    struct device_state *s = state;
    double *scale = memory_array(s->rank, sizeof *scale, error);
    if (!scale)
        return error->status;
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = device_state_settle(s, error);
    device_momentum_set_aside(s);
    if (status == STATUS_OK)
        status = copy_lambda(s, k->lambda, error);
    for (int n = 0; n < s->order && status == STATUS_OK; n++)
        status = store_mode(s, n, k, carried, scale, error);
    memory_free(scale);
    return status;
}

enum status device_state_gram(void *state, int mode, double *gram, struct error *error)
{
    struct device_state *s = state;
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = device_state_settle(s, error);
    device_momentum_set_aside(s);
    return status == STATUS_OK
               ? cuda_status(cudaMemcpy(gram, s->gram[mode], s->rank * s->rank * sizeof *gram,
                                        cudaMemcpyDeviceToHost),
                             "a Gram", error)
               : status;
}

enum status device_state_weights(void *state, double *lambda, struct error *error)
{
    struct device_state *s = state;
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = device_state_settle(s, error);
    device_momentum_set_aside(s);
    return status == STATUS_OK ? copy_lambda(s, lambda, error) : status;
}

enum status device_state_fetch(void *state, int mode, double *m, struct error *error)
{
    struct device_state *s = state;
    double *scale = memory_array(2 * s->rank, sizeof *scale, error);
    if (!scale)
        return error->status;
    double *one = scale + s->rank;
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = device_state_settle(s, error);
    if (status == STATUS_OK && s->m_mode != mode)
        status = device_state_queue_mttkrp(s, mode, error);
    for (uint64_t r = 0; r < s->rank; r++)
        scale[r] = 1;
    for (int n = 0; n < s->order && status == STATUS_OK; n++) {
        if (n == mode)
            continue;
        status = device_state_scales(s, n, one, error);
        for (uint64_t r = 0; r < s->rank; r++)
            scale[r] *= one[r];
    }
    const struct device_rows rows =
        padded_rows(s, s->sweep.factors.m, s->sweep.factors.shape.dims[mode]);
    if (status == STATUS_OK)
        status = device_factor_download(&s->staging, &rows, m, scale, error);
    memory_free(scale);
    return status;
}

/* Rotates the columns of a (rows x R, `pitch` bytes from row to row) by way of `room`, of the same
 * size. */
static enum status rotate_columns(const struct device_state *s, void *a, void *room, uint64_t rows,
                                  size_t pitch, size_t entry, struct error *error)
{
    size_t rest = (s->rank - 1) * entry;
    char *from = a, *to = room;
    cudaError_t code = cudaMemcpy2DAsync(to + entry, pitch, from, pitch, rest, rows,
                                         cudaMemcpyDeviceToDevice, s->stream);
    if (code == cudaSuccess)
        code = cudaMemcpy2DAsync(to, pitch, from + rest, pitch, entry, rows,
                                 cudaMemcpyDeviceToDevice, s->stream);
    if (code == cudaSuccess)
        code = cudaMemcpy2DAsync(from, pitch, to, pitch, rest + entry, rows,
                                 cudaMemcpyDeviceToDevice, s->stream);
    return cuda_status(code, "rotating columns", error);
}

enum status device_state_rotate(void *state, int mode, struct error *error)
{
    struct device_state *s = state;
    struct device_factors *f = &s->sweep.factors;
    size_t entry = precision_bytes(f->precision);
    enum status status = device_use(s->device, error);
    if (status == STATUS_OK)
        status = device_state_settle(s, error);
    if (s->rank > 1 && status == STATUS_OK)
        status = rotate_columns(s, f->factor[mode], f->m, f->shape.dims[mode], s->ld * entry, entry,
                                error);
    if (s->rank > 1 && status == STATUS_OK)
        status = rotate_columns(s, s->norm[mode], s->inner, 1, s->rank * sizeof *s->inner,
                                sizeof *s->inner, error);
    device_state_restart(s);
    device_sweep_changed(&s->sweep, mode);
    return status;
}
