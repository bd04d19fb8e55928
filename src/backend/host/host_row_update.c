#include "backend/host/host_row_update.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_entries.h"
#include "backend/host/host_ranks.h"
#include "backend/host/host_row_solve.h"
#include "base/least.h"
#include "base/memory.h"

#define SENT_BYTES  (UINT64_C(32) << 20) /* of systems that ranks sum at a time, about          */
#define RIDGE_LIMIT 1e200                /* of a component that has become zero, which stays so */

enum status host_row_systems_create(struct host_row_systems *s, const struct host_model *model,
                                    struct error *error)
{
    const uint64_t rank = model->rank, ld = host_system_ld(rank);
    s->v = memory_zeros(rank, ld * sizeof *s->v, error);
    s->ridge = memory_array(rank, sizeof *s->ridge, error);
    s->now = memory_array(rank, sizeof *s->now, error);
    s->out = memory_array(rank, sizeof *s->out, error);
    return error->status;
}

void host_row_systems_free(struct host_row_systems *s)
{
    memory_free(s->v);
    memory_free(s->ridge);
    memory_free(s->now);
    memory_free(s->out);
}

/* Where the sinks below put what they get. */
struct solving {
    struct host_state *h;
    struct host_row_solve solve;
    uint64_t from; /* the first row ...                              */
    uint64_t to;   /* ... and its row in h->solve.m                  */
    double *sent;  /* of keep_system: (rows x sent_length); borrowed */
};

/* The ridge of each component, for rows in units of h->systems.now: `apart` (R) is by how much the
 * entries' columns are longer than those of the model. */
static void fill_ridge(struct host_state *h, int mode, const double *apart)
{
    const struct host_row_systems *s = &h->systems;
    const struct host_model *model = &h->model;
    const double power = 2.0 * (model->shape.order - 1) / model->shape.order;
    const double ridge = h->rules.ridge[mode] * s->count.ridge;
    for (uint64_t r = 0; r < model->rank; r++) {
        double x = ridge;
        if (ridge > 0 && s->ridge_scale == RIDGE_BALANCED)
            x = model->lambda[r] > 0 ? ridge * s->balance * pow(model->lambda[r], -power)
                                     : RIDGE_LIMIT;
        s->ridge[r] = (x < RIDGE_LIMIT ? x : RIDGE_LIMIT) / (apart[r] * apart[r]);
    }
}

/* h V, for products of entries instead of those of the model's columns. */
static void fill_common(struct host_state *h, int mode, const double *apart)
{
    const uint64_t rank = h->model.rank, ld = host_system_ld(rank);
    host_model_hadamard(&h->model, mode, h->solve.v);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            h->systems.v[i * ld + j] =
                h->systems.count.weight * h->solve.v[i * rank + j] / (apart[i] * apart[j]);
}

/* Fills h->systems, h->solve.row and .column for a pass. */
static struct solving begin_mode(struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    const struct host_row_systems *s = &h->systems;
    const double *scale = model->factor[mode].scale;
    double *apart = h->solve.row, *column = h->solve.column;
    host_model_scale_of_m(model, mode, apart);
    host_model_expected_norms(model, column);
    for (uint64_t r = 0; r < model->rank; r++) {
        s->now[r] = model->lambda[r] * scale[r] * apart[r];
        s->out[r] = column[r] / apart[r];
    }
    fill_ridge(h, mode, apart);
    if (s->count.weight != 0)
        fill_common(h, mode, apart);
    return (struct solving){.h = h,
                            .solve = {.rank = model->rank,
                                      .ld = host_system_ld(model->rank),
                                      .v = s->count.weight != 0 ? s->v : NULL,
                                      .ridge = s->ridge,
                                      .nonneg = h->rules.nonneg[mode]}};
}

/* Solves a row from its whole system, and puts it into h->solve.m. A row without known entries is
 * zero, and so it is already. */
static void solve_row(void *context, uint64_t row, double *system, double *a, double *scratch,
                      struct host_row_totals *totals)
{
    const struct solving *s = context;
    const struct host_model *model = &s->h->model;
    const uint64_t rank = model->rank, ld = s->solve.ld;
    const double known = *host_system_number(system, ld, SYSTEM_KNOWN);
    const double misfit = *host_system_number(system, ld, SYSTEM_MISFIT);
    if (known == 0 && !s->solve.v)
        return;
    const struct host_row_system x = {.b = system,
                                      .g = system + ld,
                                      .ridge =
                                          s->h->systems.ridge_scale == RIDGE_COUNTED ? known : 1};
    const double change = host_row_solve(&s->solve, &x, a, scratch);
    totals->misfit += misfit + change;
    totals->size += *host_system_number(system, ld, SYSTEM_SIZE) + fabs(change);
    for (uint64_t r = 0; r < rank; r++) {
        if (s->h->systems.ridge_scale == RIDGE_COUNTED)
            totals->penalty += known * s->solve.ridge[r] * a[r] * a[r];
        a[r] *= s->h->systems.out[r];
    }
    host_entries_write(host_model_row(model, s->h->solve.m, s->to + (row - s->from)), a, rank,
                       model->precision);
}

/* Doubles of a system that is sent: b (R), G's entries (i, j) with i <= j, the numbers. */
static uint64_t sent_length(uint64_t rank)
{
    return rank + rank * (rank + 1) / 2 + SYSTEM_NUMBERS;
}

static void copy_part(double *part, double **sent, uint64_t count, bool back)
{
    memcpy(back ? part : *sent, back ? *sent : part, count * sizeof *part);
    *sent += count;
}

/* Copies the part of a system that counts to `sent`, or back. */
static void copy_system(double *system, double *sent, uint64_t rank, bool back)
{
    const uint64_t ld = host_system_ld(rank);
    copy_part(system, &sent, rank, back);
    for (uint64_t i = 0; i < rank; i++)
        copy_part(system + ld + i * ld + i, &sent, rank - i, back);
    copy_part(host_system_number(system, ld, SYSTEM_KNOWN), &sent, SYSTEM_NUMBERS, back);
}

/* Keeps the system of a row, to be summed with those of other ranks. */
static void keep_system(void *context, uint64_t row, double *system, double *a, double *scratch,
                        struct host_row_totals *totals)
{
    const struct solving *s = context;
    const uint64_t rank = s->h->model.rank;
    (void)a, (void)scratch, (void)totals;
    copy_system(system, s->sent + (row - s->from) * sent_length(rank), rank, false);
}

static struct host_systems systems_of(struct solving *s, int mode, const struct host_rows *factors,
                                      host_system_sink *sink)
{
    return (struct host_systems){.slices = &s->h->sweep.ordered[mode],
                                 .factors = factors,
                                 .now = s->h->systems.now,
                                 .unlisted = s->h->systems.count.weight,
                                 .sink = sink,
                                 .context = s,
                                 .scratch = host_row_solve_room(s->solve.ld)};
}

/* The first slice of rows `row` and later. */
static uint64_t slice_from(const struct host_slices *x, uint64_t row)
{
    uint64_t low = 0, high = x->count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (x->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Hands the systems of rows [first, last) to the sink. */
static enum status sum_rows(struct solving *s, int mode, host_system_sink *sink, uint64_t first,
                            uint64_t last, struct error *error)
{
    struct host_state *h = s->h;
    const struct host_rows factors = host_model_rows(&h->model);
    const struct host_systems x = systems_of(s, mode, &factors, sink);
    if (h->built.nnz == 0)
        return STATUS_OK;
    return host_systems_sum(&x, slice_from(x.slices, first), slice_from(x.slices, last),
                            &h->systems.totals, error);
}

/* Solves `count` common rows from s->from on, whose summed systems are in `sent`. */
static enum status solve_sent(struct solving *s, int mode, double *sent, uint64_t count,
                              struct error *error)
{
    struct host_state *h = s->h;
    const struct host_model *model = &h->model;
    const uint64_t rank = model->rank, ld = s->solve.ld;
    const uint64_t length = host_system_ld(host_system_length(rank));
    const uint64_t room = length + ld + host_row_solve_room(ld);
    struct host_row_totals *totals = memory_zeros(count, sizeof *totals, error);
    double *rooms = memory_zeros((size_t)omp_get_max_threads(), room * sizeof *rooms, error);
    if (error->status != STATUS_OK)
        goto done;
#pragma omp parallel for schedule(static) if (count > 1)
    for (uint64_t i = 0; i < count; i++) {
        double *system = rooms + (uint64_t)omp_get_thread_num() * room, *a = system + length;
        const void *old = host_model_row(model, model->factor[mode].entries, s->from + i);
        host_entries_read(a, old, rank, model->precision);
        for (uint64_t r = 0; r < rank; r++)
            a[r] *= h->systems.now[r];
        copy_system(system, sent + i * sent_length(rank), rank, true);
        solve_row(s, s->from + i, system, a, a + ld, &totals[i]);
    }
    for (uint64_t i = 0; i < count; i++) {
        h->systems.totals.misfit += totals[i].misfit;
        h->systems.totals.size += totals[i].size;
        h->systems.totals.penalty += totals[i].penalty;
    }
done:
    memory_free(totals);
    memory_free(rooms);
    return error->status;
}

/* The rows of stripe k that are summed after `done` rows of each stripe. */
struct rows_at_once {
    uint64_t first, count;
};

static struct rows_at_once rows_at_once(const struct mode_rows *rows, int k, uint64_t done,
                                        uint64_t step)
{
    const uint64_t *stripe = rows->stripe_first + k;
    const uint64_t first = least_of(stripe[0] + done, stripe[1]);
    return (struct rows_at_once){first, least_of(step, stripe[1] - first)};
}

/* Some rows of every stripe at a time: the systems of all peers are summed where a row is solved.
 */
static enum status solve_common(struct solving *s, int mode, struct error *error)
{
    const struct mode_rows *rows = &s->h->ranks->mode[mode];
    const int peers = rows->peers->size, me = rows->peers->rank;
    const uint64_t length = sent_length(s->h->model.rank);
    const uint64_t most = SENT_BYTES / ((uint64_t)peers * length * sizeof *s->sent);
    const uint64_t step = least_of(rows->stripe, most > 0 ? most : 1);
    uint64_t *first = memory_array((size_t)peers + 1, sizeof *first, error);
    s->sent = memory_array((uint64_t)peers * step, length * sizeof *s->sent, error);
    if (error->status != STATUS_OK)
        goto done;
    for (int k = 0; k <= peers; k++)
        first[k] = (uint64_t)k * step;
    for (uint64_t done = 0; done < rows->stripe; done += step) {
        const struct comm_rows sums = {first, length};
        memset(s->sent, 0, (uint64_t)peers * step * length * sizeof *s->sent);
        for (int k = 0; k < peers; k++) {
            const struct rows_at_once at = rows_at_once(rows, k, done, step);
            s->from = at.first - first[k]; /* may wrap around: row - from is right */
            if (sum_rows(s, mode, keep_system, at.first, at.first + at.count, error) != STATUS_OK)
                goto done;
        }
        if (comm_reduce_scatter(rows->peers, s->sent, &sums, error) != STATUS_OK)
            goto done;
        const struct rows_at_once mine = rows_at_once(rows, me, done, step);
        s->from = mine.first;
        s->to = rows->first + mine.first - rows->stripe_first[me];
        if (solve_sent(s, mode, s->sent + first[me] * length, mine.count, error) != STATUS_OK)
            goto done;
    }
done:
    memory_free(first);
    memory_free(s->sent);
    return error->status;
}

/* Rows that only this rank touches; all, where it has no peers. */
static enum status solve_own(struct solving *s, int mode, struct error *error)
{
    const struct mode_rows *rows = &s->h->ranks->mode[mode];
    const uint64_t end = rows->first + rows->count;
    if (rows->peers->size > 1 && !rows->row)
        return STATUS_OK;
    s->from = s->to = 0;
    return sum_rows(s, mode, solve_row, rows->row ? rows->first + rows->stripe : 0, end, error);
}

/* Unit columns, as they are after an update; the model stays. Fixed modes keep their lengths. */
static void scale_columns(struct host_state *h)
{
    struct host_model *model = &h->model;
    const uint64_t rank = model->rank;
    double *inverse = h->solve.row;
    for (int n = 0; n < model->shape.order; n++) {
        const struct host_factor *f = &model->factor[n];
        for (uint64_t r = 0; r < rank; r++) {
            const double norm = h->rules.fixed[n] ? 1 : sqrt(f->gram[r * rank + r]);
            inverse[r] = norm > 0 ? 1 / norm : 1;
            f->scale[r] *= inverse[r];
            model->lambda[r] /= inverse[r];
        }
        host_model_scale_gram(model, n, inverse);
    }
}

/* The weights of a model that was only loaded say nothing of its size: lambda is multiplied so that
 * the model's listed entries have the norm of the tensor's. */
static enum status fit_weights(struct host_state *h, int mode, struct error *error)
{
    scale_columns(h);
    struct solving s = begin_mode(h, mode);
    struct host_model *model = &h->model;
    const struct host_rows factors = host_model_rows(model);
    const struct host_systems x = systems_of(&s, mode, &factors, NULL);
    double sum_sq = 0;
    if (h->built.nnz > 0 && host_systems_model_sq(&x, &sum_sq, error) != STATUS_OK)
        return error->status;
    if (comm_allreduce_sum(h->ranks->all, &sum_sq, 1, error) != STATUS_OK)
        return error->status;
    const double scale = sqrt(h->norm_sq / sum_sq);
    for (uint64_t r = 0; isfinite(scale) && r < model->rank; r++)
        model->lambda[r] *= scale;
    model->weights_fit = true;
    return STATUS_OK;
}

enum status host_row_update_solve(struct host_state *h, int mode, struct error *error)
{
    const struct host_model *model = &h->model;
    if (!model->weights_fit && fit_weights(h, mode, error) != STATUS_OK)
        return error->status;
    struct solving s = begin_mode(h, mode);
    struct host_row_totals *totals = &h->systems.totals;
    *totals = (struct host_row_totals){0};
    host_entries_zero(h->solve.m, model->shape.dims[mode] * model->rank, model->precision);
    if (h->ranks->mode[mode].peers->size > 1 && solve_common(&s, mode, error) != STATUS_OK)
        return error->status;
    if (solve_own(&s, mode, error) != STATUS_OK)
        return error->status;
    double sums[] = {totals->misfit, totals->size, totals->penalty};
    if (comm_allreduce_sum(h->ranks->all, sums, 3, error) != STATUS_OK)
        return error->status;
    *totals = (struct host_row_totals){sums[0], sums[1], sums[2]};
    return STATUS_OK;
}

enum status host_row_update_take(struct host_state *h, int mode, struct error *error)
{
    struct host_model *model = &h->model;
    struct host_factor *f = &model->factor[mode];
    const uint64_t rank = model->rank, rows = model->shape.dims[mode];
    void *made = h->solve.m;
    if (rows == shape_longest(&model->shape)) {
        h->solve.m = f->entries;
        f->entries = made;
    } else {
        memory_copy(f->entries, made, rows * rank * precision_bytes(model->precision));
    }
    host_sweep_changed(&h->sweep, mode);
    if (host_ranks_allgather(h, mode, f->entries, error) != STATUS_OK)
        return error->status;
    if (host_state_make_gram(h, mode, error) != STATUS_OK)
        return error->status;
    for (uint64_t r = 0; r < rank; r++)
        f->scale[r] = 1 / h->solve.column[r];
    host_model_scale_gram(model, mode, f->scale);
    return STATUS_OK;
}

/* What the ridge adds to the misfit. */
static double penalty(const struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    const struct host_row_systems *s = &h->systems;
    const int order = model->shape.order;
    double sum = 0, ridge = 0;
    if (s->ridge_scale == RIDGE_COUNTED)
        return s->totals.penalty;
    for (int n = 0; n < order; n++)
        ridge += h->rules.ridge[n];
    for (uint64_t r = 0; r < model->rank; r++)
        sum += s->ridge_scale == RIDGE_BALANCED ? pow(model->lambda[r], 2.0 / order)
                                                : model->lambda[r] * model->lambda[r];
    return s->count.ridge * sum *
           (s->ridge_scale == RIDGE_BALANCED ? ridge * s->balance : h->rules.ridge[mode]);
}

void host_row_update_squares(const struct host_state *h, int mode, double model_sq,
                             double model_size, struct fit_squares *s)
{
    const struct host_row_totals *t = &h->systems.totals;
    const double weight = h->systems.count.weight;
    const double epsilon = backend_fit_epsilon(h->ranks->part.whole.dims[mode], h->model.precision);
    s->norm_sq = h->norm_sq;
    s->residual_sq = t->misfit + weight * model_sq;
    s->noise_sq = FIT_ROUNDINGS * DBL_EPSILON * (t->size + weight * model_size);
    s->noise_sq += 2 * FIT_ROUNDINGS * epsilon * sqrt(fabs(s->residual_sq) * h->norm_sq);
    s->penalty = penalty(h, mode);
}
