/* Loading models. */
#include "backend/cuda/device_row_update.h"

#include <string.h>

#include "backend/cuda/device_state.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "base/memory.h"
#include "kernels/dense/dense_random.h"
#include "kernels/dense/dense_sums.h"
#include "problem/initial_guess.h"

void device_state_set_precision(struct device_state *s, enum precision precision)
{
    const uint64_t bytes = device_row_bytes(s->rank, precision);
    s->ld = bytes / precision_bytes(precision);
    s->dense = s->dense_of[precision];
    device_sweep_set_precision(&s->sweep, precision, (uint32_t)(bytes / VECTOR_BYTES));
    device_state_forget(s);
}

/* Queued work ends before anything changes. A wide factor matrix needs more room than before, and
 * so goes through M. */
enum status device_state_widen(void *state, struct error *error)
{
    struct device_state *s = state;
    const struct device_factors *f = &s->sweep.factors;
    const uint64_t bytes = device_row_bytes(s->rank, PRECISION_DOUBLE);
    static const char doing[] = "widening a factor matrix";
    TRY(device_state_wait(s, error));
    for (int n = 0; n < s->order; n++) {
        const uint64_t rows = f->shape.dims[n];
        cudaError_t code = dense_widen_rows(f->factor[n], s->ld, f->m, bytes / sizeof(double), rows,
                                            s->rank, s->stream);
        TRY(cuda_status(code, doing, error));
        TRY(device_copy(f->factor[n], f->m, rows * bytes, s->stream, doing, error));
    }
    device_state_set_precision(s, PRECISION_DOUBLE);
    return STATUS_OK;
}

/* The norms and the Gram of factor matrix n: from `carried`, or one, and the Gram of this rank's
 * rows. norm (R) is scratch. */
static enum status load_norms(struct device_state *s, int n, const struct carried *carried,
                              double *norm, struct error *error)
{
    const uint64_t square = s->rank * s->rank;
    const struct mode_rows *rows = &s->ranks.ranks->mode[n];
    const struct device_dense_rows own = {
        .a = device_state_row(s, s->sweep.factors.factor[n], rows->first),
        .count = rows->count,
        .raw = s->model.gram[n]};
    for (uint64_t r = 0; r < s->rank; r++)
        norm[r] = carried ? 1 / carried->scale[(uint64_t)n * s->rank + r] : 1;
    if (carried)
        TRY(device_copy(s->model.gram[n], carried->gram + (uint64_t)n * square,
                        square * sizeof *s->model.gram[n], s->stream, "the Grams", error));
    else
        TRY(device_dense_gram(s->dense, &own, error));
    TRY(device_copy(s->model.norm[n], norm, s->rank * sizeof *norm, s->stream, "the factors",
                    error));
    return device_ranks_wait(&s->ranks, s->stream, error);
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
    return device_staging_send(&s->staging, &numbers, NULL, part->row[n], error);
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
    TRY(error->status);
    ktensor_random_rows(made, part, n, s->rank, KTENSOR_NORMAL, seed);
    if (s->problem->asked->rules.nonneg[n])
        entries_drop_signs(made, rows * s->rank);
    upload_rows(s, n, made, error);
    memory_free(made);
    return error->status;
}

/* The model that is loaded is not normalised: norms are one, Grams are those of its columns.
 * s->model.lambda is valid until the first update. */
enum status device_state_load(void *state, const struct model_source *from, struct error *error)
{
    struct device_state *s = state;
    cudaError_t code;
    TRY(device_use(s->device, error));
    double *norm = memory_array(s->rank, sizeof *norm, error);
    TRY(error->status);
    if (s->sweep.factors.precision != from->precision)
        device_state_set_precision(s, from->precision);
    code = cudaMemsetAsync(s->scalars, 0, sizeof *s->scalars, s->side);
    TRY_OR(done, cuda_status(code, "the result", error));
    for (int n = 0; n < s->order; n++) {
        if (from->k)
            TRY_OR(done, upload_rows(s, n, from->k->factor[n], error));
        else if (from->init == KTENSOR_RANDOM)
            TRY_OR(done, make_rows(s, n, from->seed, error));
        else
            TRY_OR(done, upload_normal(s, n, from->seed, error));
        if (s->rows.rates)
            TRY_OR(done, device_row_update_sum_columns(s, n, s->sweep.factors.factor[n],
                                                       s->rows.sum[n], error));
        TRY_OR(done, load_norms(s, n, from->carried, norm, error));
        device_sweep_changed(&s->sweep, n);
    }
    /* If another rank fails, these sums never end, so nothing may wait for the stream before
     * device_ranks_wait. */
    for (int n = 0; n < s->order && !from->carried; n++)
        TRY_OR(done, device_ranks_sum(&s->ranks, s->model.gram[n], s->model.gram[n],
                                      s->rank * s->rank, s->stream, error));
    if (!from->carried)
        TRY_OR(done, device_ranks_wait(&s->ranks, s->stream, error));
    device_send(s->model.lambda, from->lambda, s->rank * sizeof *s->model.lambda, s->side, "lambda",
                error);
done:
    s->model.weights_fit = from->carried != NULL;
    s->model.last_mode = -1;
    device_state_forget(s);
    memory_free(norm);
    return error->status;
}

/* The last entry (of `entry` bytes) of each row of a (rows x pitch bytes; device) becomes the
 * first, by way of a room of the same size. */
static enum status rotate_columns(const struct device_state *s, char *a, char *room, uint64_t rows,
                                  size_t pitch, size_t entry, struct error *error)
{
    const size_t rest = (s->rank - 1) * entry;
    const struct {
        char *to;
        const char *from;
        size_t bytes;
    } copies[] = {{room + entry, a, rest}, {room, a + rest, entry}, {a, room, rest + entry}};
    for (int k = 0; k < 3; k++)
        TRY(cuda_status(cudaMemcpy2DAsync(copies[k].to, pitch, copies[k].from, pitch,
                                          copies[k].bytes, rows, cudaMemcpyDeviceToDevice,
                                          s->stream),
                        "rotating columns", error));
    return STATUS_OK;
}

enum status device_state_rotate(void *state, int mode, struct error *error)
{
    struct device_state *s = state;
    TRY(device_state_wait(s, error));
    device_state_forget(s);
    device_sweep_changed(&s->sweep, mode);
    if (s->rank == 1)
        return STATUS_OK;
    const struct device_factors *f = &s->sweep.factors;
    const size_t entry = precision_bytes(f->precision), number = sizeof *s->solve.inner;
    TRY(rotate_columns(s, f->factor[mode], f->m, f->shape.dims[mode], s->ld * entry, entry, error));
    return rotate_columns(s, (char *)s->model.norm[mode], (char *)s->solve.inner, 1,
                          s->rank * number, number, error);
}

/* scale (R) = the inverse of the column norms of factor matrix n; 1 for a zero column. */
static enum status fetch_scales(const struct device_state *s, int n, double *scale,
                                struct error *error)
{
    TRY(device_fetch(scale, s->model.norm[n], s->rank * sizeof *scale, s->stream, "the norms",
                     error));
    for (uint64_t r = 0; r < s->rank; r++)
        scale[r] = scale[r] != 0 ? 1 / scale[r] : 1;
    return STATUS_OK;
}

enum status device_state_gram(void *state, int mode, double *gram, struct error *error)
{
    struct device_state *s = state;
    TRY(device_state_wait(s, error));
    return device_fetch(gram, s->model.gram[mode], s->rank * s->rank * sizeof *gram, s->stream,
                        "the Grams", error);
}

enum status device_state_weights(void *state, double *lambda, struct error *error)
{
    struct device_state *s = state;
    TRY(device_state_wait(s, error));
    return device_fetch(lambda, device_state_lambda(s), s->rank * sizeof *lambda, s->stream,
                        "lambda", error);
}

enum status device_state_save(void *state, struct ktensor *k, struct carried *carried,
                              struct error *error)
{
    struct device_state *s = state;
    TRY(device_state_weights(s, k->lambda, error));
    for (int n = 0; n < s->order; n++) {
        const struct device_matrix a = device_state_matrix(s, n, s->sweep.factors.factor[n]);
        TRY(fetch_scales(s, n, carried->scale + (uint64_t)n * s->rank, error));
        TRY(device_state_gram(s, n, carried->gram + (uint64_t)n * s->rank * s->rank, error));
        TRY(device_factor_download(&s->staging, &a, k->factor[n], &(struct host_rows_form){NULL},
                                   error));
    }
    return STATUS_OK;
}

/* The form of mode n's columns. room (4 x R): their scale, weight and bound, and scratch. */
static enum status find_form(const struct device_state *s, int n, const struct model_form *form,
                             double *room, struct column_form *columns, struct error *error)
{
    double *scale = room + 3 * s->rank;
    TRY(fetch_scales(s, n, scale, error));
    *columns = column_form_of(form, n, scale, room);
    return STATUS_OK;
}

enum status device_state_store(void *state, const struct model_form *form, struct ktensor *k,
                               struct error *error)
{
    struct device_state *s = state;
    TRY(device_state_wait(s, error));
    double *room = memory_array(4, s->rank * sizeof *room, error);
    TRY(error->status);
    for (int n = 0; n < s->order; n++) {
        struct device_matrix a = device_state_matrix(s, n, s->sweep.factors.factor[n]);
        struct column_form columns;
        const struct rank_rows_stored rows = rank_rows_stored(s->ranks.ranks, n, form->whole);
        const struct host_rows_form to = {.form = &columns, .number = rows.number};
        double *host = k->factor[n] + rows.at * s->rank;
        a.entries = device_state_row(s, a.entries, rows.first);
        a.rows = rows.count;
        TRY_OR(done, find_form(s, n, form, room, &columns, error));
        TRY_OR(done, device_factor_download(&s->staging, &a, host, &to, error));
    }
done:
    memory_free(room);
    return error->status;
}

/* entry (3 x R): scale, weight and bound of the columns. */
static enum status measure(struct device_state *s, int n, const double *entry,
                           struct column *column, struct error *error)
{
    const struct mode_rows *own = &s->ranks.ranks->mode[n];
    const struct part *part = &s->ranks.ranks->part;
    struct dense_columns_args args = {
        .a = device_state_row(s, s->sweep.factors.factor[n], own->first),
        .rows = own->count,
        .ld = (uint32_t)s->ld,
        .first = part->first[n] + own->first};
    uint32_t parts = 0;
    TRY(device_state_send_rows(s, n, &args.row, error));
    if (args.row)
        args.row += own->first;
    TRY(device_columns_measure(&s->columns, &args, s->sweep.factors.precision, entry, &parts,
                               error));
    for (uint64_t r = 0; r < s->rank; r++)
        column[r] = (struct column){0, 0, NO_ROW};
    for (uint64_t p = 0; p < parts; p++)
        for (uint64_t r = 0; r < s->rank; r++) {
            const struct dense_column *found = &s->columns.found[p * s->rank + r];
            column_add(&column[r], &(struct column){found->largest, found->sum, found->row});
        }
    return STATUS_OK;
}

/* Measures the columns in the order of the components on the device. */
enum status device_state_columns(void *state, int mode, const struct model_form *form,
                                 struct column *column, struct error *error)
{
    struct device_state *s = state;
    struct column_form columns;
    TRY(device_state_wait(s, error));
    double *room = memory_array(4, s->rank * sizeof *room, error);
    TRY(error->status);
    TRY_OR(done, find_form(s, mode, form, room, &columns, error));
    measure(s, mode, room, column, error);
done:
    memory_free(room);
    return error->status;
}

enum status device_state_fetch(void *state, int mode, double *m, struct error *error)
{
    struct device_state *s = state;
    TRY(device_state_wait(s, error));
    if (s->m_mode != mode)
        TRY(device_state_queue_mttkrp(s, mode, error));
    double *scale = memory_array(2, s->rank * sizeof *scale, error);
    TRY(error->status);
    double *one = scale + s->rank;
    for (uint64_t r = 0; r < s->rank; r++)
        scale[r] = 1;
    for (int n = 0; n < s->order; n++) { /* as of unit columns of the other modes */
        if (n == mode)
            continue;
        TRY_OR(done, fetch_scales(s, n, one, error));
        for (uint64_t r = 0; r < s->rank; r++)
            scale[r] *= one[r];
    }
    const struct device_matrix a = device_state_matrix(s, mode, s->sweep.factors.m);
    device_factor_download(&s->staging, &a, m, &(struct host_rows_form){.scale = scale}, error);
done:
    memory_free(scale);
    return error->status;
}
