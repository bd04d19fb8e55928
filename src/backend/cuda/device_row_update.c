#include "backend/cuda/device_row_update.h"

#include <math.h>

#include "backend/cuda/rows/device_row_chunks.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/least.h"
#include "base/memory.h"
#include "kernels/dense/dense_columns.h"

#define USUAL_RANKS 64 /* more take more memory than the plan knows of */

static const char doing[] = "systems of rows on the GPU";

/* What is sent of a row: its system, and of counts the least value that each rank has. */
static uint64_t numbers_of_row(const struct device_common_rows *c)
{
    return c->length + (c->least ? (uint64_t)c->ranks->all->size : 0);
}

/* Accepts one rank. counts: as in struct row_systems_args. The caller closes *c, also after a
 * failure. STATUS_MEMORY. */
static enum status open_common(struct device_common_rows *c, const struct rank_rows *ranks,
                               const struct device_row_size *size, bool counts, struct error *error)
{
    const uint32_t all = (uint32_t)ranks->all->size;
    uint64_t most = 0;
    *c = (struct device_common_rows){.ranks = ranks, .least = counts && size->matrix};
    c->length = (uint32_t)row_system_length((uint32_t)size->rank, size->matrix);
    for (int n = 0; n < ranks->part.whole.order; n++) {
        c->rows[n] = mode_rows_common(&ranks->mode[n], 0);
        most = c->rows[n] > most ? c->rows[n] : most;
    }
    return device_array_into(&c->sent, all * most * numbers_of_row(c), sizeof *c->sent, error);
}

/* The piece of the common rows of stripe k; that of the rank's other rows comes after those of its
 * own stripe. */
static uint32_t piece_of(const struct device_common_rows *c, int k)
{
    return (uint32_t)(k + (k > c->ranks->all->rank));
}

static uint32_t own_piece(const struct device_common_rows *c, int n)
{
    return c->rows[n] > 0 ? (uint32_t)c->ranks->all->rank + 1 : 0;
}

static uint32_t pieces_of(const struct device_common_rows *c, int n)
{
    return c->rows[n] > 0 ? (uint32_t)c->ranks->all->size + 1 : 1;
}

/* Where the ordering of mode n is cut: the common rows of each stripe and, as one piece, the rows
 * whose nonzeros this rank has, in the order of their rows. The caller frees cuts->row, also after
 * a failure. STATUS_MEMORY. */
static enum status cut_common(const struct device_common_rows *c, int n,
                              struct device_row_cuts *cuts, struct error *error)
{
    const struct mode_rows *m = &c->ranks->mode[n];
    const uint32_t count = pieces_of(c, n) - 1, own = own_piece(c, n);
    uint64_t *row = memory_array(count, sizeof *row, error);
    *cuts = (struct device_row_cuts){row, count};
    if (!row || count == 0)
        return error->status;
    for (int k = 1; k < m->peers->size; k++)
        row[piece_of(c, k) - 1] = m->stripe_first[k];
    row[own - 1] = m->first + mode_rows_common(m, m->peers->rank);
    return STATUS_OK;
}

/* The place of the common rows of stripe k in what is sent. */
static struct row_sent place_of(const struct device_common_rows *c, int n, int k)
{
    double *part = c->sent + (uint64_t)k * c->rows[n] * numbers_of_row(c);
    return (struct row_sent){.part = part,
                             .least = part + c->rows[n] * c->length,
                             .first = (uint32_t)c->ranks->mode[n].stripe_first[k],
                             .peers = c->least ? (uint32_t)c->ranks->all->size : 0,
                             .peer = (uint32_t)c->ranks->all->rank};
}

/* A pass that has begun, over an ordering that is cut so. The systems of common rows are summed,
 * and those of this rank solved. Asynchronous; every rank calls it. */
static enum status pass_common(const struct device_common_rows *c, struct device_ranks *ranks,
                               struct device_row_systems *systems,
                               const struct device_row_pass *pass, struct error *error)
{
    const int n = pass->mode, size = c->ranks->all->size, me = c->ranks->all->rank;
    const uint64_t numbers = c->rows[n] * numbers_of_row(c);
    const size_t bytes = (size_t)size * numbers * sizeof *c->sent;
    for (uint32_t piece = 0; pass->values && piece < pieces_of(c, n); piece++)
        TRY(device_row_systems_piece(systems, pass, piece, NULL, error));
    if (pass->values)
        return STATUS_OK;
    if (c->rows[n] > 0) {
        TRY(cuda_status(cudaMemsetAsync(c->sent, 0, bytes, pass->stream),
                        "systems of rows on several GPUs", error));
        for (int k = 0; k < size; k++) {
            const struct row_sent sent = place_of(c, n, k);
            TRY(device_row_systems_piece(systems, pass, piece_of(c, k), &sent, error));
        }
        TRY(device_ranks_scatter_numbers(ranks, n, c->sent, numbers, pass->stream, error));
        const struct row_sent mine = place_of(c, n, me);
        TRY(device_row_systems_take(systems, pass, &mine, mode_rows_common(&c->ranks->mode[n], me),
                                    error));
    }
    return device_row_systems_piece(systems, pass, own_piece(c, n), NULL, error);
}

static struct device_row_size size_of(const struct problem *problem)
{
    return (struct device_row_size){.rank = problem->rank, .matrix = problem_has_matrices(problem)};
}

enum status device_row_update_plan(struct plan_request *request,
                                   const struct backend_options *options, struct error *error)
{
    const struct device_row_size size = size_of(&options->problem);
    const char *what = problem_has_rates(&options->problem)
                           ? loss_of(options->problem.loss)->option
                           : "unlisted entries that are unknown or weighed";
    if (size.rank > ROW_SYSTEMS_RANK)
        return error_set(error, STATUS_INPUT,
                         "%s: rank %llu, expected at most %d on a GPU, or --backend host", what,
                         (unsigned long long)size.rank, ROW_SYSTEMS_RANK);
    device_row_systems_plan(&size, request);
    if (request->tensor.is_part) { /* several GPUs do not stream, and send systems of common rows */
        const struct shape *shape = &request->tensor.shape;
        const uint64_t numbers = row_system_length((uint32_t)size.rank, size.matrix) + USUAL_RANKS;
        const uint64_t system = numbers * sizeof(double) + sizeof(struct row_totals);
        const uint64_t few = USUAL_RANKS * ROW_DEAL_SHARES, all = ROW_DEAL_SENT / system;
        request->can_stream = request->must_stream = false;
        request->system_bytes +=
            least_of(shape_longest(shape), few > all ? few : all) * system +
            (uint64_t)shape->order * device_row_chunks_bytes(request->tensor.nnz);
    }
    return STATUS_OK;
}

/* The systems, with orderings that are cut into pieces. */
static enum status open_pieces(struct device_state *s, struct device_row_source *from,
                               const struct device_row_size *size, struct error *error)
{
    struct device_row_update *u = &s->rows;
    struct device_row_cuts cuts[MAX_ORDER] = {{0}};
    TRY_OR(done, open_common(&u->common, s->ranks.ranks, size, u->rates, error));
    from->cuts = cuts;
    for (int n = 0; n < s->order; n++) {
        TRY_OR(done, cut_common(&u->common, n, &cuts[n], error));
        from->sums = u->common.rows[n] > from->sums ? u->common.rows[n] : from->sums;
    }
    device_row_systems_open(&u->systems, from, size, s->stream, error);
done:
    for (int n = 0; n < s->order; n++)
        memory_free(cuts[n].row);
    from->cuts = NULL;
    return error->status;
}

enum status device_row_update_open(struct device_state *s, struct error *error)
{
    struct device_row_update *u = &s->rows;
    struct device_orderings *o = &s->sweep.orderings;
    const struct problem *problem = s->problem->asked;
    struct device_row_source from = {.order = s->order,
                                     .stream = o->plan.streamed ? &o->stream : NULL};
    const struct device_row_size size = size_of(problem);
    u->on = problem_by_rows(problem);
    u->rates = problem_has_rates(problem);
    if (!u->on)
        return STATUS_OK;
    for (int n = 0; u->rates && n < s->order; n++)
        TRY(device_array_into(&u->sum[n], s->rank, sizeof(double), error));
    if (u->rates) {
        TRY(device_array_into(&u->made, s->rank, sizeof *u->made, error));
        TRY(device_array_into(&u->partial, DENSE_SUM_PARTS * s->rank, sizeof *u->partial, error));
    }
    for (int n = 0; n < s->order; n++)
        from.tensor[n] = o->ordered[n].blco.nnz > 0 ? &o->ordered[n] : NULL;
    if (!device_ranks_alone(&s->ranks))
        return open_pieces(s, &from, &size, error);
    return device_row_systems_open(&u->systems, &from, &size, s->stream, error);
}

void device_row_update_close(struct device_state *s)
{
    struct device_row_update *u = &s->rows;
    device_row_systems_close(&u->systems);
    device_free(u->common.sent);
    for (int n = 0; n < s->order; n++)
        device_free(u->sum[n]);
    device_free(u->made, u->partial);
    *u = (struct device_row_update){0};
}

enum status device_row_update_sum_columns(struct device_state *s, int n, const void *rows,
                                          double *sum, struct error *error)
{
    const struct mode_rows *own = &s->ranks.ranks->mode[n];
    const struct dense_column_sums_args args = {
        .a = (const char *)rows + own->first * s->ld * precision_bytes(s->sweep.factors.precision),
        .rows = own->count,
        .ld = (uint32_t)s->ld,
        .rank = (uint32_t)s->rank,
        .partial = s->rows.partial,
        .sum = sum};
    TRY(cuda_status(dense_column_sums(&args, s->sweep.factors.precision, s->stream), doing, error));
    return device_ranks_sum(&s->ranks, sum, sum, s->rank, s->stream, error);
}

/* values: no row is solved. */
static enum status queue_pass(struct device_state *s, int mode, bool values, struct error *error)
{
    struct device_row_update *u = &s->rows;
    struct row_common_args common = {
        .modes = device_state_modes(s, mode),
        .lambda = device_state_lambda(s),
        .cells = 1,
        .rules = backend_row_rules(s->problem, mode, s->sweep.factors.precision),
        .to = u->systems.common};
    for (int n = 0; n < s->order; n++) {
        common.cells *= n == mode ? 1 : (double)s->ranks.ranks->part.whole.dims[n];
        common.sum[n] = u->sum[n];
    }
    TRY(cuda_status(row_common_make(&common, s->side), doing, error));
    TRY(cuda_status(device_queue_follow(s->stream, s->side, s->solve.ready), doing, error));
    struct device_row_pass pass = {.mode = mode, .stream = s->stream, .values = values};
    TRY(device_row_systems_begin(&u->systems, &s->sweep.factors, &common.rules, &pass, error));
    return device_ranks_alone(&s->ranks)
               ? device_row_systems_piece(&u->systems, &pass, 0, NULL, error)
               : pass_common(&u->common, &s->ranks, &u->systems, &pass, error);
}

#define TOTALS (sizeof(struct row_totals) / sizeof(double))

/* Queues s->scalars->rows.totals, of the last pass of all ranks. Where rows were solved, nobody
 * asks for the violation. */
static enum status queue_totals(struct device_state *s, const struct row_model_args *model,
                                cudaStream_t stream, struct error *error)
{
    struct row_totals *to = &s->scalars->rows.totals;
    double *numbers = &to->misfit;
    TRY(device_row_systems_totals(&s->rows.systems, to, model, stream, error));
    return device_ranks_sum(&s->ranks, numbers, numbers, TOTALS, stream, error);
}

enum status device_row_update_values(struct device_state *s, int mode, struct error *error)
{
    struct device_row_update *u = &s->rows;
    struct device_row_scalars *to = &s->scalars->rows;
    const struct row_model_args model = {.sum = u->sum[mode], .to = &to->model};
    const struct row_model_args none = {.lambda = NULL};
    TRY(queue_pass(s, mode, true, error));
    return queue_totals(s, u->rates ? &model : &none, s->stream, error);
}

enum status device_row_update_solve(struct device_state *s, int mode, struct error *error)
{
    TRY(queue_pass(s, mode, false, error));
    if (!s->rows.rates)
        return STATUS_OK;
    const struct row_model_args none = {.lambda = NULL};
    TRY(device_row_systems_totals(&s->rows.systems, &s->scalars->rows.solved[mode], &none,
                                  s->stream, error));
    return device_row_update_sum_columns(s, mode, s->sweep.factors.m, s->rows.made, error);
}

enum status device_row_update_sums(struct device_state *s, int mode, struct error *error)
{
    struct device_row_scalars *to = &s->scalars->rows;
    const struct row_model_args model = {.lambda = device_state_lambda(s),
                                         .power = backend_penalty_power(s->problem),
                                         .to = &to->model};
    if (!s->rows.rates)
        return queue_totals(s, &model, s->side, error);
    s->events.end = NULL;
    TRY(device_row_update_values(s, mode, error));
    TRY(device_ranks_max(&s->ranks, &to->solved[0].misfit, (uint64_t)s->order * TOTALS, s->stream,
                         error));
    return cuda_status(device_queue_follow(s->side, s->stream, s->solve.ready), doing, error);
}

enum status device_row_update_fit(const struct device_state *s, int mode, struct backend_fit *fit,
                                  struct error *error)
{
    const struct device_row_scalars *r = &s->result->rows;
    if (!s->rows.rates) {
        const struct dense_fit_terms *terms = &s->result->fit;
        const double weight = s->problem->count.weight;
        const double epsilon =
            backend_fit_epsilon(s->ranks.ranks->part.whole.dims[mode], s->sweep.factors.precision);
        struct fit_squares squares = {
            .norm_sq = s->sweep.orderings.norm_sq,
            .penalty = backend_penalty(s->problem, mode, r->model, r->totals.penalty),
            .components_sq = s->problem->listed * terms->model_size,
            .residual_sq = r->totals.misfit + weight * terms->model_sq};
        squares.noise_sq =
            fit_noise_of_rows(&squares, r->totals.size, weight, terms->model_size, epsilon);
        return backend_fit_of(fit, &squares, mode + 1, error);
    }
    TRY(backend_fit_of_counts(fit, r->totals.misfit + r->model, s->problem->null.deviance, r->model,
                              mode + 1, error));
    for (int n = 0; n < s->order; n++)
        fit->violation =
            fmax(fit->violation, s->problem->asked->rules.fixed[n] ? 0 : r->solved[n].violation);
    return STATUS_OK;
}
