#include "backend/host/host_row_update.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/host/host_entries.h"
#include "base/least.h"
#include "base/memory.h"
#include "numerics/poisson_term.h"

#define SENT_BYTES (UINT64_C(32) << 20) /* of systems that ranks sum at a time, about */

enum status host_row_systems_create(struct host_row_systems *s, const struct host_model *model,
                                    struct error *error)
{
    const uint64_t rank = s->rank = model->rank, ld = s->ld = host_system_ld(rank);
    s->v = memory_zeros(rank, ld * sizeof *s->v, error);
    s->ridge = memory_array(rank, sizeof *s->ridge, error);
    s->now = memory_array(rank, sizeof *s->now, error);
    s->out_scale = memory_array(rank, sizeof *s->out_scale, error);
    s->cell = memory_array(rank, sizeof *s->cell, error);
    s->unit = memory_array(rank, sizeof *s->unit, error);
    s->linear = memory_array(rank, sizeof *s->linear, error);
    return error->status;
}

void host_row_systems_free(struct host_row_systems *s)
{
    memory_free(s->v, s->ridge, s->now, s->out_scale, s->cell, s->unit, s->linear);
}

/* A pass of this mode, with the model as it stands; fills h->systems, h->solve.row and .column. */
static struct host_row_pass begin_pass(struct host_state *h, int mode)
{
    const struct host_model *model = &h->model;
    struct host_row_systems *s = &h->systems;
    const double *scale = model->factor[mode].scale;
    double *m_scale = h->solve.row, *column = h->solve.column;
    struct host_row_pass pass = {
        .h = h, .step = h->rates ? host_row_counts_improve : host_row_squares_solve};
    s->rules = backend_row_rules(h->problem, mode, model->precision);
    host_model_scale_of_m(model, mode, m_scale);
    host_model_expected_norms(model, column);
    for (uint64_t r = 0; r < model->rank; r++) {
        s->now[r] = model->lambda[r] * scale[r] * m_scale[r];
        s->out_scale[r] = column[r] / m_scale[r];
    }
    pass.scratch = (h->rates ? host_row_counts_begin : host_row_squares_begin)(h, mode);
    return pass;
}

/* How many rows are solved together. */
static uint64_t rows_together(const struct host_row_pass *s)
{
    return s->h->systems.rules.matrix ? host_rows_kernels(s->h->model.rank)->rows : 1;
}

/* What the pass is, for host_systems.h. *factors outlives it. Rows that take the diagonal step need
 * no G. */
static struct host_systems systems_of(struct host_row_pass *s, int mode,
                                      const struct host_rows *factors, host_system_sink *sink)
{
    const struct row_rules *rules = &s->h->systems.rules;
    const bool newton = rules->rates && rules->matrix;
    return (struct host_systems){
        .slices = &s->h->sweep.ordered[mode],
        .factors = factors,
        .now = s->h->systems.now,
        .loss = loss_of(s->h->problem->asked->loss),
        .rules = rules,
        .sink = sink,
        .context = s,
        .factor = newton && sink == s->step ? (uint64_t)poisson_short_rows(factors->rank) : 0,
        .rows = rows_together(s),
        .scratch = s->scratch};
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

/* Hands the systems of rows [first, last) that are here to the sink. STATUS_MEMORY. */
static enum status sum_systems(struct host_row_pass *s, int mode, host_system_sink *sink,
                               uint64_t first, uint64_t last, struct error *error)
{
    struct host_state *h = s->h;
    const struct host_rows factors = host_model_rows(&h->model);
    const struct host_systems x = systems_of(s, mode, &factors, sink);
    if (x.slices->nnz == 0)
        return STATUS_OK;
    return host_systems_sum(&x, slice_from(x.slices, first), slice_from(x.slices, last),
                            &h->systems.totals, error);
}

/* Doubles of a system that is sent: its numbers, b, of counts q, G's entries (i, j) with i <= j,
 * and for each peer the least value in its part of the row. */
static uint64_t sent_length(const struct host_row_pass *s, int peers)
{
    const struct row_rules *rules = &s->h->systems.rules;
    const uint64_t rank = s->h->model.rank;
    return SYSTEM_NUMBERS + rank + (rules->rates ? rank : 0) +
           (rules->matrix ? rank * (rank + 1) / 2 : 0) + (uint64_t)peers;
}

static void copy_part(double *part, double **sent, uint64_t count, bool back)
{
    memcpy(back ? part : *sent, back ? *sent : part, count * sizeof *part);
    *sent += count;
}

/* Copies the part of a system that counts to `sent`, or back. Returns where the least values are.
 */
static double *copy_system(const struct host_row_systems *c, const struct host_system *system,
                           double *sent, bool back)
{
    const uint64_t rank = c->rank, ld = c->ld;
    copy_part(system->number, &sent, SYSTEM_NUMBERS, back);
    copy_part(system->b, &sent, rank, back);
    if (c->rules.rates)
        copy_part(system->q, &sent, rank, back);
    for (uint64_t i = 0; c->rules.matrix && i < rank; i++)
        copy_part(system->g + i * ld + i, &sent, rank - i, back);
    return sent;
}

/* Keeps the systems of rows, to be summed with those of other ranks. */
static void keep_systems(void *context, const struct host_system_rows *rows, double *scratch,
                         struct host_row_totals *totals)
{
    const struct host_row_pass *s = context;
    const struct comm *peers = s->peers;
    (void)scratch, (void)totals;
    for (uint64_t l = 0; l < rows->count; l++) {
        const struct host_system *system = &rows->system[l];
        double *sent = s->sent + (rows->row[l] - s->from) * sent_length(s, peers->size);
        double *least = copy_system(&s->h->systems, system, sent, false);
        least[peers->rank] = system->number[SYSTEM_LEAST];
    }
}

/* Solves `count` common rows from s->from on, whose summed systems are in `sent`. */
static enum status solve_sent(struct host_row_pass *s, int mode, double *sent, uint64_t count,
                              struct error *error)
{
    struct host_state *h = s->h;
    const struct host_model *model = &h->model;
    const uint64_t rank = model->rank, ld = h->systems.ld, batch = rows_together(s);
    const uint64_t length = host_system_length(rank, h->systems.rules.matrix);
    const uint64_t room = batch * (length + ld) + s->scratch, times = (count + batch - 1) / batch;
    struct host_row_totals *totals = memory_zeros(times, sizeof *totals, error);
    double *rooms = memory_zeros((size_t)omp_get_max_threads(), room * sizeof *rooms, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(static) if (times > 1)
    for (uint64_t k = 0; k < times; k++) {
        struct host_system_rows rows = {.count = least_of(batch, count - k * batch)};
        double *at = rooms + (uint64_t)omp_get_thread_num() * room;
        for (uint64_t l = 0; l < rows.count; l++, at += length + ld) {
            const uint64_t i = k * batch + l;
            double *a = rows.a[l] = at + length;
            rows.row[l] = s->from + i;
            host_entries_read(a, host_model_row(model, model->factor[mode].entries, rows.row[l]),
                              rank, model->precision);
            for (uint64_t r = 0; r < rank; r++)
                a[r] *= h->systems.now[r];
            rows.system[l] = host_system_at(at, rank);
            double *number = rows.system[l].number;
            const double *least = copy_system(&s->h->systems, &rows.system[l],
                                              sent + i * sent_length(s, s->peers->size), true);
            number[SYSTEM_LEAST] = 0;
            for (int peer = 0; peer < s->peers->size; peer++)
                number[SYSTEM_LEAST] = loss_least(number[SYSTEM_LEAST], least[peer]);
        }
        s->step(s, &rows, at, &totals[k]);
    }
    for (uint64_t k = 0; k < times; k++)
        host_row_totals_add(&h->systems.totals, &totals[k]);
done:
    memory_free(totals, rooms);
    return error->status;
}

/* The common rows of stripe k that are summed after `done` rows of each stripe. */
struct rows_at_once {
    uint64_t first, count;
};

static struct rows_at_once rows_at_once(const struct mode_rows *rows, int k, uint64_t done,
                                        uint64_t step)
{
    const uint64_t begin = rows->stripe_first[k], common = mode_rows_common(rows, k);
    const uint64_t at = least_of(done, common);
    return (struct rows_at_once){begin + at, least_of(step, common - at)};
}

/* The common rows of the mode (ranks/rank_rows.h) that this rank solves, of which several ranks
 * have nonzeros (ranks/row_deal.h): their systems are summed where a row is solved, some rows of
 * every stripe at a time. Every peer calls it. */
static enum status solve_common(struct host_row_pass *s, int mode, struct error *error)
{
    const struct mode_rows *rows = &s->h->ranks->mode[mode];
    const int peers = rows->peers->size, me = rows->peers->rank;
    const uint64_t length = sent_length(s, peers);
    const uint64_t most = SENT_BYTES / ((uint64_t)peers * length * sizeof *s->sent);
    const uint64_t common = mode_rows_common(rows, 0), step = least_of(common, most > 0 ? most : 1);
    uint64_t *first = memory_array((size_t)peers + 1, sizeof *first, error);
    s->peers = rows->peers;
    s->sent = memory_array((uint64_t)peers * step, length * sizeof *s->sent, error);
    TRY_OR(done, error->status);
    for (int k = 0; k <= peers; k++)
        first[k] = (uint64_t)k * step;
    for (uint64_t done = 0; done < common; done += step) {
        const struct comm_rows sums = {first, length};
        memset(s->sent, 0, (uint64_t)peers * step * length * sizeof *s->sent);
        for (int k = 0; k < peers; k++) {
            const struct rows_at_once at = rows_at_once(rows, k, done, step);
            s->from = at.first - first[k]; /* may wrap around: row - from is right */
            TRY_OR(done, sum_systems(s, mode, keep_systems, at.first, at.first + at.count, error));
        }
        TRY_OR(done, comm_reduce_scatter(rows->peers, s->sent, &sums, error));
        const struct rows_at_once mine = rows_at_once(rows, me, done, step);
        s->from = mine.first;
        TRY_OR(done, solve_sent(s, mode, s->sent + first[me] * length, mine.count, error));
    }
done:
    memory_free(first, s->sent);
    return error->status;
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
        to[r] = POISSON_LIFT / (double)h->ranks->part.whole.dims[n] *
                (f->sum[r] > 0 ? f->sum[r] : 1) / f->scale[r];
    for (uint64_t i = 0; i < model->shape.dims[n]; i++) {
        void *at = host_model_row(model, f->entries, i);
        if (row && row[i] == NO_ROW)
            continue;
        host_entries_read(entry, at, rank, model->precision);
        for (uint64_t r = 0; r < rank; r++)
            entry[r] = entry[r] == 0 ? to[r] : entry[r];
        host_entries_write(at, entry, rank, model->precision);
    }
    sweep_changed(&h->sweep.sweep, n);
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
            const double length = h->rates ? f->sum[r] : sqrt(f->gram[r * rank + r]);
            const double norm = h->problem->asked->rules.fixed[n] ? 1 : length;
            inverse[r] = norm > 0 ? 1 / norm : 1;
            f->scale[r] *= inverse[r];
            f->sum[r] = h->problem->asked->rules.fixed[n] ? f->sum[r] : length > 0;
            model->lambda[r] /= inverse[r];
        }
        host_model_scale_gram(model, n, inverse);
    }
}

/* *sums over the nonzeros of all ranks, of the model as it stands. */
static enum status sum_values(struct host_row_pass *s, int mode, struct loss_sums *sums,
                              struct error *error)
{
    struct host_state *h = s->h;
    const struct host_rows factors = host_model_rows(&h->model);
    const struct host_systems x = systems_of(s, mode, &factors, NULL);
    *sums = (struct loss_sums){0};
    if (x.slices->nnz > 0)
        TRY(host_systems_values(&x, sums, error));
    double sent[] = {sums->model_sq, sums->model, sums->misfit};
    TRY(comm_allreduce_sum(h->ranks->all, sent, 3, error));
    *sums = (struct loss_sums){sent[0], sent[1], sent[2]};
    return STATUS_OK;
}

/* h times the sum of the model's rates in all cells. */
static double mass(const struct host_state *h)
{
    const struct host_model *model = &h->model;
    double sum = 0;
    for (uint64_t r = 0; r < model->rank; r++) {
        double product = model->lambda[r];
        for (int n = 0; n < model->shape.order; n++)
            product *= model->factor[n].sum[r];
        sum += product;
    }
    return h->problem->count.weight * sum;
}

/* The weights of a model that was only loaded say nothing of its size: lambda is multiplied so that
 * the model's listed entries have the norm of the tensor's; of counts, so that the entries that
 * count have their total. */
static enum status fit_weights(struct host_state *h, int mode, struct error *error)
{
    for (int n = 0; h->rates && n < h->model.shape.order; n++)
        if (!h->problem->asked->rules.fixed[n] && lift_zeros(h, n, error) != STATUS_OK)
            return error->status;
    scale_columns(h);
    struct host_row_pass s = begin_pass(h, mode);
    struct host_model *model = &h->model;
    struct loss_sums sums;
    TRY(sum_values(&s, mode, &sums, error));
    const double scale = h->rates ? h->problem->null.total / (mass(h) + sums.model)
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
    TRY(error->status);
    TRY_OR(done, comm_allgather(c, x, sizeof *x, all, error));
    for (int k = 0; k < c->size; k++)
        *x = fmax(*x, all[k]);
done:
    memory_free(all);
    return error->status;
}

enum status host_row_update_solve(struct host_state *h, int mode, struct error *error)
{
    const struct host_model *model = &h->model;
    if (!model->weights_fit)
        TRY(fit_weights(h, mode, error));
    struct host_row_pass s = begin_pass(h, mode);
    struct host_row_totals *totals = &h->systems.totals;
    *totals = (struct host_row_totals){0};
    host_entries_zero(h->solve.m, model->shape.dims[mode] * model->rank, model->precision);
    const struct mode_rows *rows = &h->ranks->mode[mode];
    if (rows->common > 0)
        TRY(solve_common(&s, mode, error));
    const uint64_t own = rows->first + mode_rows_common(rows, rows->peers->rank);
    TRY(sum_systems(&s, mode, s.step, own, rows->first + rows->count, error));
    double sums[] = {totals->misfit, totals->size, totals->penalty};
    TRY(comm_allreduce_sum(h->ranks->all, sums, 3, error));
    *totals = (struct host_row_totals){sums[0], sums[1], sums[2], totals->violation};
    if (!h->rates)
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
    sweep_changed(&h->sweep.sweep, mode);
    TRY(host_ranks_allgather(h, mode, f->entries, error));
    TRY(host_state_make_gram(h, mode, error));
    for (uint64_t r = 0; r < rank; r++)
        f->scale[r] = 1 / h->solve.column[r];
    host_model_scale_gram(model, mode, f->scale);
    return h->rates ? host_state_make_sums(h, mode, error) : STATUS_OK;
}

void host_row_update_squares(const struct host_state *h, int mode, double model_sq,
                             double model_size, struct fit_squares *s)
{
    const struct host_row_totals *t = &h->systems.totals;
    const double weight = h->problem->count.weight;
    const double epsilon = backend_fit_epsilon(h->ranks->part.whole.dims[mode], h->model.precision);
    s->norm_sq = h->norm_sq;
    s->components_sq = h->problem->listed * model_size;
    s->residual_sq = t->misfit + weight * model_sq;
    s->noise_sq = fit_noise_of_rows(s, t->size, weight, model_size, epsilon);
}

enum status host_row_update_fit_counts(struct host_state *h, int mode, struct backend_fit *fit,
                                       struct error *error)
{
    struct loss_sums sums;
    const double all = mass(h), null = h->problem->null.deviance;
    struct host_row_pass s = begin_pass(h, mode);
    TRY(sum_values(&s, mode, &sums, error));
    TRY(backend_fit_of_counts(fit, sums.misfit + all, null, all, mode + 1, error));
    for (int n = 0; n < h->model.shape.order; n++)
        fit->violation =
            fmax(fit->violation, h->problem->asked->rules.fixed[n] ? 0 : h->systems.violation[n]);
    return STATUS_OK;
}
