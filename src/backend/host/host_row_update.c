#include "backend/host/host_row_update.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/host/host_dense.h"
#include "backend/host/host_entries.h"
#include "backend/host/host_ranks.h"
#include "backend/host/host_poisson_row.h"
#include "backend/host/host_row_solve.h"
#include "base/least.h"
#include "base/memory.h"
#include "numerics/poisson_term.h"

#define SENT_BYTES  (UINT64_C(32) << 20) /* of systems that ranks sum at a time, about          */
#define LIFT        1e-6  /* of the mean of a column: what a zero of a start becomes */
#define RIDGE_LIMIT 1e200 /* of a component that has become zero, which stays so */

enum status host_row_systems_create(struct host_row_systems *s, const struct host_model *model,
                                    struct error *error)
{
    const uint64_t rank = model->rank, ld = host_system_ld(rank);
    s->v = memory_zeros(rank, ld * sizeof *s->v, error);
    s->ridge = memory_array(rank, sizeof *s->ridge, error);
    s->now = memory_array(rank, sizeof *s->now, error);
    s->out = memory_array(rank, sizeof *s->out, error);
    s->apart = memory_array(rank, sizeof *s->apart, error);
    s->common = memory_array(rank, sizeof *s->common, error);
    return error->status;
}

void host_row_systems_free(struct host_row_systems *s)
{
    memory_free(s->v);
    memory_free(s->ridge);
    memory_free(s->now);
    memory_free(s->out);
    memory_free(s->apart);
    memory_free(s->common);
}

/* Where the sinks below put what they get. */
struct solving {
    struct host_state *h;
    struct host_row_solve solve;
    struct host_poisson_rows counts; /* with LOSS_POISSON, in place of `solve` */
    uint64_t from;                   /* the first row ...                              */
    uint64_t to;                     /* ... and its row in h->solve.m                  */
    const struct comm *peers;        /* of keep_system, and ...                       */
    double *sent;                    /* ... where it puts systems: (rows x sent_length); borrowed */
};

/* Doubles of scratch memory for a row. */
static uint64_t scratch_of(const struct solving *s)
{
    return host_state_counts(s->h) ? host_poisson_row_room(s->counts.ld, s->counts.solver)
                                   : host_row_solve_room(s->solve.ld);
}

/* Whether systems have G. */
static bool has_matrix(const struct host_row_systems *s)
{
    return s->loss == LOSS_SQUARES || s->solver == SOLVER_NEWTON;
}

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

/* Fills h->systems.apart and .common. */
static struct host_poisson_rows begin_counts(struct host_state *h, int mode, const double *apart)
{
    const struct host_model *model = &h->model;
    const struct host_row_systems *s = &h->systems;
    for (uint64_t r = 0; r < model->rank; r++) {
        s->apart[r] = apart[r];
        s->common[r] = s->count.weight / apart[r];
        for (int n = 0; n < model->shape.order; n++)
            s->common[r] *= n == mode ? 1 : model->factor[n].sum[r];
    }
    return (struct host_poisson_rows){.rank = model->rank,
                                      .ld = host_system_ld(model->rank),
                                      .solver = s->solver,
                                      .common = s->common,
                                      .unit = s->apart,
                                      .count = s->of_count};
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
    if (host_state_counts(h))
        return (struct solving){.h = h, .counts = begin_counts(h, mode, apart)};
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

/* Row `row` of h->solve.m = a, in the scale of the entries to be. */
static void put_row(const struct solving *s, uint64_t row, const double *a)
{
    const struct host_model *model = &s->h->model;
    host_entries_write(host_model_row(model, s->h->solve.m, s->to + (row - s->from)), a,
                       model->rank, model->precision);
}

/* Solves a row from its whole system. A row without known entries is zero, and so it is already. */
static void solve_squares(const struct solving *s, uint64_t row, const struct host_system *system,
                          double *a, double *scratch, struct host_row_totals *totals)
{
    const double known = system->number[SYSTEM_KNOWN];
    const bool counted = s->h->systems.ridge_scale == RIDGE_COUNTED;
    if (known == 0 && !s->solve.v)
        return;
    const struct host_row_system x = {.b = system->b, .g = system->g, .ridge = counted ? known : 1};
    const double change = host_row_solve(&s->solve, &x, a, scratch);
    totals->misfit += system->number[SYSTEM_MISFIT] + change;
    totals->size += system->number[SYSTEM_SIZE] + fabs(change);
    for (uint64_t r = 0; r < s->h->model.rank; r++) {
        if (counted)
            totals->penalty += known * s->solve.ridge[r] * a[r] * a[r];
        a[r] *= s->h->systems.out[r];
    }
    put_row(s, row, a);
}

/* The same of counts. A row without counts is zero. */
static void improve_counts(const struct solving *s, uint64_t row, const struct host_system *system,
                           double *a, double *scratch, struct host_row_totals *totals)
{
    const struct host_poisson_row x = {
        .b = system->b, .q = system->q, .g = system->g, .least = system->number[SYSTEM_LEAST]};
    const double floor =
        s->h->model.precision == PRECISION_SINGLE ? POISSON_FLOOR_SINGLE : POISSON_FLOOR;
    if (x.least == 0)
        return;
    const double violation = host_poisson_row_improve(&s->counts, &x, a, scratch);
    totals->violation = fmax(totals->violation, violation);
    for (uint64_t r = 0; r < s->h->model.rank; r++) {
        a[r] *= s->h->systems.out[r];
        a[r] = a[r] < floor ? floor : a[r]; /* a NaN stays */
    }
    put_row(s, row, a);
}

/* Puts the new row into h->solve.m. */
static void solve_row(void *context, uint64_t row, struct host_system *system, double *a,
                      double *scratch, struct host_row_totals *totals)
{
    const struct solving *s = context;
    if (host_state_counts(s->h))
        improve_counts(s, row, system, a, scratch, totals);
    else
        solve_squares(s, row, system, a, scratch, totals);
}

/* Doubles of a system that is sent: its numbers, b, of counts q, G's entries (i, j) with i <= j,
 * and for each peer the least value in its part of the row. */
static uint64_t sent_length(const struct solving *s, int peers)
{
    const struct host_row_systems *systems = &s->h->systems;
    const uint64_t rank = s->h->model.rank;
    return SYSTEM_NUMBERS + rank + (systems->loss == LOSS_POISSON ? rank : 0) +
           (has_matrix(systems) ? rank * (rank + 1) / 2 : 0) + (uint64_t)peers;
}

static void copy_part(double *part, double **sent, uint64_t count, bool back)
{
    memcpy(back ? part : *sent, back ? *sent : part, count * sizeof *part);
    *sent += count;
}

/* Copies the part of a system that counts to `sent`, or back. Returns where the least values are.
 */
static double *copy_system(const struct host_row_systems *s, const struct host_system *system,
                           double *sent, uint64_t rank, bool back)
{
    const uint64_t ld = host_system_ld(rank);
    copy_part(system->number, &sent, SYSTEM_NUMBERS, back);
    copy_part(system->b, &sent, rank, back);
    if (s->loss == LOSS_POISSON)
        copy_part(system->q, &sent, rank, back);
    for (uint64_t i = 0; has_matrix(s) && i < rank; i++)
        copy_part(system->g + i * ld + i, &sent, rank - i, back);
    return sent;
}

/* Keeps the system of a row, to be summed with those of other ranks. */
static void keep_system(void *context, uint64_t row, struct host_system *system, double *a,
                        double *scratch, struct host_row_totals *totals)
{
    const struct solving *s = context;
    const struct comm *peers = s->peers;
    double *sent = s->sent + (row - s->from) * sent_length(s, peers->size);
    (void)a, (void)scratch, (void)totals;
    double *least = copy_system(&s->h->systems, system, sent, s->h->model.rank, false);
    least[peers->rank] = system->number[SYSTEM_LEAST];
}

/* The summed system that was sent. */
static void take_system(const struct solving *s, struct host_system *system, double *sent)
{
    const double *least = copy_system(&s->h->systems, system, sent, s->h->model.rank, true);
    system->number[SYSTEM_LEAST] = 0;
    for (int k = 0; k < s->peers->size; k++)
        system->number[SYSTEM_LEAST] = host_system_least(system->number[SYSTEM_LEAST], least[k]);
}

static struct host_systems systems_of(struct solving *s, int mode, const struct host_rows *factors,
                                      host_system_sink *sink)
{
    const struct host_row_systems *systems = &s->h->systems;
    return (struct host_systems){.slices = &s->h->sweep.ordered[mode],
                                 .factors = factors,
                                 .now = systems->now,
                                 .loss = systems->loss,
                                 .matrix = has_matrix(systems),
                                 .unlisted = systems->count.weight,
                                 .weighed = systems->weighed,
                                 .sink = sink,
                                 .context = s,
                                 .scratch = scratch_of(s)};
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
    const uint64_t rank = model->rank, ld = host_system_ld(rank);
    const uint64_t length = host_system_length(rank, has_matrix(&h->systems));
    const uint64_t room = length + ld + scratch_of(s), step = sent_length(s, s->peers->size);
    struct host_row_totals *totals = memory_zeros(count, sizeof *totals, error);
    double *rooms = memory_zeros((size_t)omp_get_max_threads(), room * sizeof *rooms, error);
    if (error->status != STATUS_OK)
        goto done;
#pragma omp parallel for schedule(static) if (count > 1)
    for (uint64_t i = 0; i < count; i++) {
        double *at = rooms + (uint64_t)omp_get_thread_num() * room, *a = at + length;
        struct host_system system = host_system_at(at, rank);
        const void *old = host_model_row(model, model->factor[mode].entries, s->from + i);
        host_entries_read(a, old, rank, model->precision);
        for (uint64_t r = 0; r < rank; r++)
            a[r] *= h->systems.now[r];
        take_system(s, &system, sent + i * step);
        solve_row(s, s->from + i, &system, a, a + ld, &totals[i]);
    }
    for (uint64_t i = 0; i < count; i++)
        host_row_totals_add(&h->systems.totals, &totals[i]);
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
    const uint64_t length = sent_length(s, peers);
    const uint64_t most = SENT_BYTES / ((uint64_t)peers * length * sizeof *s->sent);
    const uint64_t step = least_of(rows->stripe, most > 0 ? most : 1);
    uint64_t *first = memory_array((size_t)peers + 1, sizeof *first, error);
    s->peers = rows->peers;
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

/* No step of counts leaves a zero, so that none may be there at the start: zeros of factor matrix n
 * become a small part of the mean of its columns, whose sums are then found anew. Rows that are
 * not there stay zero. */
static enum status lift_zeros(struct host_state *h, int n, struct error *error)
{
    const struct host_model *model = &h->model;
    const struct host_factor *f = &model->factor[n];
    const uint64_t rank = model->rank, *row = h->ranks->part.row[n];
    double *to = h->solve.column, *entry = h->solve.row;
    for (uint64_t r = 0; r < rank; r++)
        to[r] = LIFT / (double)h->ranks->part.whole.dims[n] * (f->sum[r] > 0 ? f->sum[r] : 1) /
                f->scale[r];
    for (uint64_t i = 0; i < model->shape.dims[n]; i++) {
        void *at = host_model_row(model, f->entries, i);
        if (row && row[i] == NO_ROW)
            continue;
        host_entries_read(entry, at, rank, model->precision);
        for (uint64_t r = 0; r < rank; r++)
            entry[r] = entry[r] == 0 ? to[r] : entry[r];
        host_entries_write(at, entry, rank, model->precision);
    }
    host_sweep_changed(&h->sweep, n);
    return host_state_make_sums(h, n, error);
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
            const double of = host_state_counts(h) ? f->sum[r] : sqrt(f->gram[r * rank + r]);
            const double norm = h->rules.fixed[n] ? 1 : of;
            inverse[r] = norm > 0 ? 1 / norm : 1;
            f->scale[r] *= inverse[r];
            f->sum[r] = h->rules.fixed[n] ? f->sum[r] : of > 0;
            model->lambda[r] /= inverse[r];
        }
        host_model_scale_gram(model, n, inverse);
    }
}

/* *sums over the nonzeros of all ranks, of the model as it stands. */
static enum status sum_values(struct solving *s, int mode, struct host_value_sums *sums,
                              struct error *error)
{
    struct host_state *h = s->h;
    const struct host_rows factors = host_model_rows(&h->model);
    const struct host_systems x = systems_of(s, mode, &factors, NULL);
    *sums = (struct host_value_sums){0};
    if (h->built.nnz > 0 && host_systems_values(&x, sums, error) != STATUS_OK)
        return error->status;
    double of[] = {sums->model_sq, sums->model, sums->misfit};
    if (comm_allreduce_sum(h->ranks->all, of, 3, error) != STATUS_OK)
        return error->status;
    *sums = (struct host_value_sums){of[0], of[1], of[2]};
    return STATUS_OK;
}

/* h times the sum of the model's rates in all cells. */
static double mass(const struct host_state *h)
{
    const struct host_model *model = &h->model;
    double sum = 0;
    for (uint64_t r = 0; r < model->rank; r++) {
        double of = model->lambda[r];
        for (int n = 0; n < model->shape.order; n++)
            of *= model->factor[n].sum[r];
        sum += of;
    }
    return h->systems.count.weight * sum;
}

/* The weights of a model that was only loaded say nothing of its size: lambda is multiplied so that
 * the model's listed entries have the norm of the tensor's; of counts, so that the entries that
 * count have their total. */
static enum status fit_weights(struct host_state *h, int mode, struct error *error)
{
    for (int n = 0; host_state_counts(h) && n < h->model.shape.order; n++)
        if (!h->rules.fixed[n] && lift_zeros(h, n, error) != STATUS_OK)
            return error->status;
    scale_columns(h);
    struct solving s = begin_mode(h, mode);
    struct host_model *model = &h->model;
    struct host_value_sums sums;
    if (sum_values(&s, mode, &sums, error) != STATUS_OK)
        return error->status;
    const double scale = host_state_counts(h) ? h->systems.null.total / (mass(h) + sums.model)
                                              : sqrt(h->norm_sq / sums.model_sq);
    for (uint64_t r = 0; isfinite(scale) && r < model->rank; r++)
        model->lambda[r] *= scale;
    model->weights_fit = true;
    return STATUS_OK;
}

/* The largest of all ranks' x. */
static enum status largest_of_ranks(struct comm *c, double *x, struct error *error)
{
    double *all = memory_array((size_t)c->size, sizeof *all, error);
    if (!all)
        return error->status;
    if (comm_allgather(c, x, sizeof *x, all, error) != STATUS_OK)
        goto done;
    for (int k = 0; k < c->size; k++)
        *x = fmax(*x, all[k]);
done:
    memory_free(all);
    return error->status;
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
    *totals = (struct host_row_totals){sums[0], sums[1], sums[2], totals->violation};
    if (!host_state_counts(h))
        return STATUS_OK;
    h->systems.violation[mode] = totals->violation;
    return largest_of_ranks(h->ranks->all, &h->systems.violation[mode], error);
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
    return host_state_counts(h) ? host_state_make_sums(h, mode, error) : STATUS_OK;
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

enum status host_row_update_fit_counts(struct host_state *h, int mode, struct backend_fit *fit,
                                       struct error *error)
{
    struct host_value_sums sums;
    const double all = mass(h), null = h->systems.null.deviance;
    struct solving s = begin_mode(h, mode);
    if (sum_values(&s, mode, &sums, error) != STATUS_OK)
        return error->status;
    if (backend_fit_of_counts(fit, sums.misfit + all, null, all, mode + 1, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < h->model.shape.order; n++)
        fit->violation = fmax(fit->violation, h->rules.fixed[n] ? 0 : h->systems.violation[n]);
    return STATUS_OK;
}
