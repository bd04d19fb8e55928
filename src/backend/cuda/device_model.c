/* Loading models. */
#include "backend/cuda/device_row_update.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "base/memory.h"
#include "kernels/dense/dense_random.h"
#include "problem/initial_guess.h"

/* The Gram of a factor matrix, from the rows that this rank solves. */
static enum status make_gram(struct device_state *s, int n, struct error *error)
{
    const struct mode_rows *rows = &s->ranks.ranks->mode[n];
    const struct device_dense_rows own = {
        .a = device_state_row(s, s->sweep.factors.factor[n], rows->first),
        .count = rows->count,
        .raw = s->model.gram[n]};
    return device_dense_gram(s->dense, &own, error);
}

/* Sums the Grams over all ranks. If another rank fails, these sums never end, so nothing may wait
 * for the stream before device_ranks_wait. */
static enum status sum_grams(struct device_state *s, struct error *error)
{
    for (int n = 0; n < s->order; n++)
        TRY(device_ranks_sum(&s->ranks, s->model.gram[n], s->model.gram[n], s->rank * s->rank,
                             s->stream, error));
    return device_ranks_wait(&s->ranks, s->stream, error);
}

/* norm (R) = the inverse of mode n's scales; one without `carried`. */
static void norms_of(const struct device_state *s, int n, const struct carried *carried,
                     double *norm)
{
    for (uint64_t r = 0; r < s->rank; r++)
        norm[r] = carried ? 1 / carried->scale[(uint64_t)n * s->rank + r] : 1;
}

/* Queues the Gram of factor matrix n: from `carried`, or of this rank's rows. */
static enum status load_gram(struct device_state *s, int n, const struct carried *carried,
                             struct error *error)
{
    const uint64_t square = s->rank * s->rank;
    if (!carried)
        return make_gram(s, n, error);
    return cuda_status(cudaMemcpyAsync(s->model.gram[n], carried->gram + (uint64_t)n * square,
                                       square * sizeof *s->model.gram[n], cudaMemcpyHostToDevice,
                                       s->stream),
                       "the Grams", error);
}

/* The norms and the Gram of factor matrix n. norm (R) is scratch. */
static enum status load_norms(struct device_state *s, int n, const struct carried *carried,
                              double *norm, struct error *error)
{
    norms_of(s, n, carried, norm);
    TRY(load_gram(s, n, carried, error));
    cudaError_t code = cudaMemcpyAsync(s->model.norm[n], norm, s->rank * sizeof *norm,
                                       cudaMemcpyHostToDevice, s->stream);
    TRY(cuda_status(code, "the factors", error));
    return device_ranks_wait(&s->ranks, s->stream, error);
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
    device_state_forget(s);
    *row = m;
    const struct device_elements numbers = {m, part->here.dims[n], sizeof **row};
    return device_staging_send(&s->staging, &numbers, write_numbers, part->row[n], error);
}

/* Factor matrix n of uniform random numbers, which are never negative. */
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
    TRY(device_state_send_rows(s, n, &args.row, error));
    return cuda_status(dense_random(&args, f->precision, s->stream), "the random start", error);
}

static enum status upload_rows(struct device_state *s, int n, const double *rows,
                               struct error *error)
{
    const struct device_matrix a = device_state_matrix(s, n, s->sweep.factors.factor[n]);
    return device_factor_upload(&s->staging, rows, &a, error);
}

/* Normal random numbers need logarithms, whose last bits differ between GPU and host: the host
 * makes them. */
static enum status upload_normal(struct device_state *s, int n, uint64_t seed, struct error *error)
{
    const struct part *part = &s->ranks.ranks->part;
    const uint64_t rows = part->here.dims[n];
    double *made = memory_array(rows, s->rank * sizeof *made, error);
    if (!made)
        return error->status;
    ktensor_random_rows(made, part, n, s->rank, KTENSOR_NORMAL, seed);
    if (s->rules.nonneg[n])
        entries_drop_signs(made, rows * s->rank);
    upload_rows(s, n, made, error);
    memory_free(made);
    return error->status;
}

static enum status load_rows(struct device_state *s, int n, const struct model_source *from,
                             struct error *error)
{
    if (from->k)
        return upload_rows(s, n, from->k->factor[n], error);
    return from->init == KTENSOR_RANDOM ? make_rows(s, n, from->seed, error)
                                        : upload_normal(s, n, from->seed, error);
}

/* All factor matrices with their norms and Grams. norm (R) is scratch. */
static enum status load_modes(struct device_state *s, const struct model_source *from, double *norm,
                              struct error *error)
{
    for (int n = 0; n < s->order; n++) {
        TRY(load_rows(s, n, from, error));
        if (s->rows.counts)
            TRY(device_row_update_sum_columns(s, n, s->sweep.factors.factor[n], s->rows.sum[n],
                                              error));
        TRY(load_norms(s, n, from->carried, norm, error));
        device_sweep_changed(&s->sweep, n);
    }
    return from->carried ? STATUS_OK : sum_grams(s, error);
}

/* The model that is loaded is not normalised: norms are one, Grams are those of its columns.
 * s->model.lambda is valid until the first update. */
enum status device_state_load(void *state, const struct model_source *from, struct error *error)
{
    struct device_state *s = state;
    cudaError_t code;
    TRY(device_use(s->device, error));
    double *norm = memory_array(s->rank, sizeof *norm, error);
    if (!norm)
        return error->status;
    if (s->sweep.factors.precision != from->precision)
        device_state_set_precision(s, from->precision);
    code = cudaMemsetAsync(s->scalars, 0, sizeof *s->scalars, s->side);
    TRY_OR(done, cuda_status(code, "the result", error));
    TRY_OR(done, load_modes(s, from, norm, error));
    device_send(s->model.lambda, from->lambda, s->rank * sizeof *s->model.lambda, s->side, "lambda",
                error);
done:
    s->model.weights_fit = from->carried != NULL;
    s->model.last_mode = -1;
    device_state_forget(s);
    memory_free(norm);
    return error->status;
}

/* Numbers that are rotated: the last entry (of `entry` bytes) of each row becomes the first. */
struct rotated {
    void *a, *room; /* (rows x pitch bytes); device */
    uint64_t rows;
    size_t pitch, entry;
};

/* `bytes` of each row. */
static enum status copy_columns(const struct device_state *s, const struct rotated *q, void *to,
                                const void *from, size_t bytes, struct error *error)
{
    return cuda_status(cudaMemcpy2DAsync(to, q->pitch, from, q->pitch, bytes, q->rows,
                                         cudaMemcpyDeviceToDevice, s->stream),
                       "rotating columns", error);
}

static enum status rotate_columns(const struct device_state *s, const struct rotated *q,
                                  struct error *error)
{
    const size_t rest = (s->rank - 1) * q->entry;
    char *a = q->a, *room = q->room;
    TRY(copy_columns(s, q, room + q->entry, a, rest, error));
    TRY(copy_columns(s, q, room, a + rest, q->entry, error));
    return copy_columns(s, q, a, room, rest + q->entry, error);
}

enum status device_state_rotate(void *state, int mode, struct error *error)
{
    struct device_state *s = state;
    TRY(device_use(s->device, error));
    TRY(device_state_wait(s, error));
    device_state_forget(s);
    device_sweep_changed(&s->sweep, mode);
    if (s->rank == 1)
        return STATUS_OK;
    const struct device_factors *f = &s->sweep.factors;
    const size_t entry = precision_bytes(f->precision), number = sizeof *s->solve.inner;
    const struct rotated rows = {f->factor[mode], f->m, f->shape.dims[mode], s->ld * entry, entry};
    const struct rotated norms = {s->model.norm[mode], s->solve.inner, 1, s->rank * number, number};
    TRY(rotate_columns(s, &rows, error));
    return rotate_columns(s, &norms, error);
}
