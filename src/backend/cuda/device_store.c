/* Storing models, and their Grams, weights and columns. The device measures the columns; the host
 * threads that receive the rows bring them into their form. */
#include "backend/cuda/device_state.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "base/memory.h"

static enum status wait_for_model(struct device_state *s, struct error *error)
{
    TRY(device_use(s->device, error));
    return device_state_wait(s, error);
}

/* to (count) = an array of the device. */
static enum status fetch(double *to, const double *from, uint64_t count, const char *what,
                         struct error *error)
{
    return cuda_status(cudaMemcpy(to, from, count * sizeof *to, cudaMemcpyDeviceToHost), what,
                       error);
}

/* scale (R) = the inverse of the column norms of factor matrix n; 1 for a zero column. */
static enum status fetch_scales(const struct device_state *s, int n, double *scale,
                                struct error *error)
{
    TRY(fetch(scale, s->model.norm[n], s->rank, "the norms", error));
    for (uint64_t r = 0; r < s->rank; r++)
        scale[r] = scale[r] != 0 ? 1 / scale[r] : 1;
    return STATUS_OK;
}

static enum status fetch_weights(const struct device_state *s, double *lambda, struct error *error)
{
    const double *from =
        s->model.last_mode < 0 ? s->model.lambda : s->model.norm[s->model.last_mode];
    return fetch(lambda, from, s->rank, "lambda", error);
}

static enum status fetch_gram(const struct device_state *s, int n, double *gram,
                              struct error *error)
{
    return fetch(gram, s->model.gram[n], s->rank * s->rank, "the Grams", error);
}

enum status device_state_gram(void *state, int mode, double *gram, struct error *error)
{
    struct device_state *s = state;
    TRY(wait_for_model(s, error));
    return fetch_gram(s, mode, gram, error);
}

enum status device_state_weights(void *state, double *lambda, struct error *error)
{
    struct device_state *s = state;
    TRY(wait_for_model(s, error));
    return fetch_weights(s, lambda, error);
}

static enum status save_mode(struct device_state *s, int n, double *rows, struct carried *carried,
                             struct error *error)
{
    const struct device_matrix a = device_state_matrix(s, n, s->sweep.factors.factor[n]);
    TRY(fetch_scales(s, n, carried->scale + (uint64_t)n * s->rank, error));
    TRY(fetch_gram(s, n, carried->gram + (uint64_t)n * s->rank * s->rank, error));
    return device_factor_download(&s->staging, &a, rows, NULL, error);
}

enum status device_state_save(void *state, struct ktensor *k, struct carried *carried,
                              struct error *error)
{
    struct device_state *s = state;
    TRY(wait_for_model(s, error));
    TRY(fetch_weights(s, k->lambda, error));
    for (int n = 0; n < s->order; n++)
        TRY(save_mode(s, n, k->factor[n], carried, error));
    return STATUS_OK;
}

/* The form of mode n's columns. room (4 x R): their scale, weight and bound, and scratch. */
static enum status find_form(const struct device_state *s, int n, const struct model_form *form,
                             double *room, struct column_form *of, struct error *error)
{
    double *scale = room + 3 * s->rank;
    TRY(fetch_scales(s, n, scale, error));
    *of = column_form_of(form, n, scale, room);
    return STATUS_OK;
}

static enum status store_mode(struct device_state *s, int n, const struct model_form *form,
                              double *room, double *rows, struct error *error)
{
    const struct device_matrix a = device_state_matrix(s, n, s->sweep.factors.factor[n]);
    struct column_form of;
    TRY(find_form(s, n, form, room, &of, error));
    return device_factor_download_form(&s->staging, &a, rows, &of, error);
}

enum status device_state_store(void *state, const struct model_form *form, struct ktensor *k,
                               struct error *error)
{
    struct device_state *s = state;
    TRY(wait_for_model(s, error));
    double *room = memory_array(4, s->rank * sizeof *room, error);
    if (!room)
        return error->status;
    for (int n = 0; n < s->order; n++)
        if (store_mode(s, n, form, room, k->factor[n], error) != STATUS_OK)
            break;
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
    struct column_form of;
    TRY(wait_for_model(s, error));
    double *room = memory_array(4, s->rank * sizeof *room, error);
    if (!room)
        return error->status;
    TRY_OR(done, find_form(s, mode, form, room, &of, error));
    measure(s, mode, room, column, error);
done:
    memory_free(room);
    return error->status;
}

/* scale (R) = what M's columns are multiplied by to be those of unit columns of the other modes.
 * one (R): scratch. */
static enum status fetch_scales_of_m(const struct device_state *s, int mode, double *scale,
                                     double *one, struct error *error)
{
    for (uint64_t r = 0; r < s->rank; r++)
        scale[r] = 1;
    for (int n = 0; n < s->order; n++) {
        if (n == mode)
            continue;
        TRY(fetch_scales(s, n, one, error));
        for (uint64_t r = 0; r < s->rank; r++)
            scale[r] *= one[r];
    }
    return STATUS_OK;
}

enum status device_state_fetch(void *state, int mode, double *m, struct error *error)
{
    struct device_state *s = state;
    TRY(wait_for_model(s, error));
    if (s->m_mode != mode)
        TRY(device_state_queue_mttkrp(s, mode, error));
    double *scale = memory_array(2, s->rank * sizeof *scale, error);
    if (!scale)
        return error->status;
    TRY_OR(done, fetch_scales_of_m(s, mode, scale, scale + s->rank, error));
    const struct device_matrix a = device_state_matrix(s, mode, s->sweep.factors.m);
    device_factor_download(&s->staging, &a, m, scale, error);
done:
    memory_free(scale);
    return error->status;
}
