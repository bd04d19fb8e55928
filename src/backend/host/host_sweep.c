#include "backend/host/host_sweep.h"

#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "ranks/nonzero_exchange.h"

/* Measured: gathering a row costs about the same from all tables of up to CACHES times the cache of
 * a core, and BEYOND times as much from larger ones. */
#define CACHES       2
#define BEYOND       8.0
#define LONG_PRODUCT 4096 /* entries of a table: more are worth several threads */

void host_sweep_close(struct host_sweep *s)
{
    blco_free(&s->alto);
    for (int n = 0; n < MAX_ORDER; n++) {
        host_mttkrp_free(&s->reduced[n]);
        host_mttkrp_free(&s->within[n]);
        host_slices_free(&s->ordered[n]);
        host_slices_free(&s->tuple_tensor[n]);
        memory_free(s->coordinate[n], s->product[n], s->partial[n]);
    }
    memory_free(s->scratch);
    memset(s, 0, sizeof *s);
}

/* The orderings of a tensor that are being built. */
struct building {
    const struct coo *x;
    struct coo *spent;           /* NULL, or x, which nobody needs afterwards */
    struct blco *alto;           /* NULL where it is not wanted               */
    bool narrow;                 /* the orderings may be                      */
    struct host_slices *ordered; /* [n]: the ordering of mode n               */
    const bool *wanted;          /* [n]: whether ordered[n] is wanted         */
    struct backend_seconds *times;
    struct progress *progress; /* may be NULL            */
    int all, done;             /* numbers of orderings   */
};

static void announce(struct building *b)
{
    progress_update(b->progress, (double)b->done / b->all, "ordering %d of %d", b->done + 1,
                    b->all);
    b->done++;
}

/* Makes the slices of mode n from *built, which is freed. */
static enum status take_slices(struct building *b, struct blco *built, int n, struct error *error)
{
    TRY(host_slices_take(&b->ordered[n], built, n, error));
    return b->narrow ? host_slices_narrow(&b->ordered[n], error) : STATUS_OK;
}

/* Builds one ordering straight from x, by a sort; the last one from the same x spends it. */
static enum status build_one(struct building *b, int kind, bool last, struct error *error)
{
    struct blco_options options = {.kind = kind, .spent = last ? b->spent : NULL};
    bool alto = kind == ORDERING_ALTO;
    double start = clock_now();
    announce(b);
    struct blco built;
    TRY(blco_build(alto ? b->alto : &built, b->x, &options, error));
    if (!alto)
        TRY(take_slices(b, &built, kind, error));
    *(alto ? &b->times->alto : &b->times->replica[kind]) = clock_lap(&start);
    return STATUS_OK;
}

/* Builds the orderings `mode n` from the common one, which comes last, for it takes the arrays
 * over. */
static enum status build_from_common(struct building *b, struct error *error)
{
    struct blco presort;
    double start = clock_now();
    TRY(blco_build_common(&presort, b->x, b->spent, error));
    b->times->presort = clock_lap(&start);
    int order = b->x->shape.order, common = presort.ordering.kind;
    for (int i = 0; i <= order; i++) {
        int n = i < order ? i : common;
        if (!b->wanted[n] || (n == common && i < order))
            continue;
        announce(b);
        struct blco built;
        TRY_OR(done, blco_build_from(&built, &presort, n, i == order, error));
        TRY_OR(done, take_slices(b, &built, n, error));
        b->times->replica[n] = clock_lap(&start);
    }
done:
    blco_free(&presort);
    return error->status;
}

static enum status build_orderings(struct building *b, struct error *error)
{
    int replicas = 0;
    for (int n = 0; n < b->x->shape.order; n++)
        replicas += b->wanted[n];
    b->all = replicas + (b->alto != NULL);
    if (b->alto)
        TRY(build_one(b, ORDERING_ALTO, replicas == 0, error));
    if (replicas > 1 && ordering_line_bits(&b->x->shape) <= 64)
        return build_from_common(b, error);
    for (int n = 0; n < b->x->shape.order; n++)
        if (b->wanted[n] && build_one(b, n, b->done + 1 == b->all, error) != STATUS_OK)
            return error->status;
    return STATUS_OK;
}

/* Builds the ordering of each mode from the nonzeros that this rank needs for it. */
static enum status build_dealt(struct building *b, const struct rank_rows *ranks,
                               struct error *error)
{
    const struct coo *x = b->x;
    struct coo taken;
    b->all = x->shape.order;
    b->x = b->spent = &taken;
    for (int n = 0; n < b->all && error->status == STATUS_OK; n++) {
        if (nonzero_exchange_mode(&taken, ranks, n, x, error) == STATUS_OK && taken.nnz > 0)
            build_one(b, n, true, error);
        coo_free(&taken);
    }
    return error->status;
}

/* Builds the orderings of x, the tensor or the reduced tensor, that s->sweep asks for. */
static enum status build_decided(struct host_sweep *s, const struct tensor_source *source,
                                 const struct coo *x, struct progress *progress,
                                 struct error *error)
{
    struct building b = {.x = x,
                         .spent = x == source->spent ? source->spent : NULL,
                         .alto = s->sweep.alto ? &s->alto : NULL,
                         .ordered = s->ordered,
                         .wanted = s->sweep.ordered,
                         .narrow = s->narrow,
                         .times = &s->seconds,
                         .progress = progress};
    memcpy(s->tuples, x->shape.dims, sizeof s->tuples);
    return source->ranks->dealt ? build_dealt(&b, source->ranks, error)
                                : build_orderings(&b, error);
}

/* Builds the tensor of one group's tuples in the orderings of the group's modes, and takes the
 * coordinates over from *tuples. */
static enum status build_tuples(struct host_sweep *s, int group, struct coo *tuples,
                                struct error *error)
{
    int first = s->sweep.groups.first[group], size = tuples->shape.order - 1;
    bool wanted[MAX_ORDER] = {false};
    struct backend_seconds unused;
    for (int k = 0; k < size; k++)
        wanted[k] = true;
    struct building b = {.x = tuples,
                         .ordered = &s->tuple_tensor[first],
                         .narrow = s->narrow,
                         .wanted = wanted,
                         .times = &unused};
    TRY(build_orderings(&b, error));
    s->product[group] = memory_array(tuples->nnz, s->row_bytes, error);
    s->partial[group] = memory_array(tuples->nnz, s->row_bytes, error);
    for (int k = 0; k < size; k++) {
        s->coordinate[first + k] = tuples->index[k];
        tuples->index[k] = NULL;
    }
    return error->status;
}

/* Whether the groups fit into the budget, given that fewer orderings are built than one per mode.
 * Beside an ordering, a group takes two rows for each tuple and, for each of its modes, a
 * coordinate and an ordering of the tuples. */
static bool groups_fit(const struct grouped_tensor *grouped, const struct plan *plan)
{
    const struct mode_groups *groups = &grouped->mode_groups;
    const int order = plan->request.tensor.shape.order;
    const uint64_t fewer = (uint64_t)(order - groups->groups) * plan->tensor_bytes;
    uint64_t bytes = 0;
    for (int g = 0; g < groups->groups; g++) {
        const uint64_t size = (uint64_t)mode_groups_size(groups, g);
        const uint64_t tuples = grouped->reduced.shape.dims[g];
        if (size > 1)
            bytes += tuples * (2 * plan->request.row_bytes + size * sizeof(uint32_t)) +
                     size * host_slices_bytes((int)size + 1, tuples, tuples);
    }
    return bytes <= plan->request.budget - plan->total_bytes + fewer;
}

/* Builds with mode groups where they pay and fit. Otherwise builds nothing, and s->sweep.grouped
 * stays false. */
static enum status try_groups(struct host_sweep *s, const struct tensor_source *source,
                              const struct plan *plan, struct progress *progress,
                              struct error *error)
{
    const struct coo *x = source->x;
    const struct gather_cost cost = {.row_bytes = plan->request.row_bytes,
                                     .cache_bytes = CACHES * machine_core_cache(),
                                     .beyond = BEYOND};
    struct mode_groups groups;
    struct grouped_tensor grouped = {0};
    double start = clock_now();
    TRY(mode_groups_choose(&groups, x, &cost, error));
    if (groups.groups < x->shape.order) {
        TRY(mode_groups_apply(&grouped, &groups, x, error));
        if (groups_fit(&grouped, plan)) {
            sweep_decide(&s->sweep, plan, &groups);
            TRY_OR(done, build_decided(s, source, &grouped.reduced, progress, error));
            for (int g = 0; g < groups.groups; g++)
                if (mode_groups_size(&groups, g) > 1)
                    TRY_OR(done, build_tuples(s, g, &grouped.tuples[g], error));
        }
    }
    s->seconds.grouping = clock_now() - start - backend_build_seconds(&s->seconds);
done:
    grouped_tensor_free(&grouped);
    return error->status;
}

/* Prepares every MTTKRP of the sweep, and allocates scratch rows for the one that needs most. */
static enum status prepare_mttkrps(struct host_sweep *s, uint64_t copies, struct error *error)
{
    const struct mode_groups *groups = &s->sweep.groups;
    uint64_t rows = 0;
    for (int g = 0; g < groups->groups; g++) {
        const enum conflict conflict = s->sweep.conflict[g];
        struct host_mttkrp *reduced = &s->reduced[g];
        if (!s->sweep.alto && s->ordered[g].nnz == 0)
            continue;
        if (conflict_traits[conflict].ordered)
            TRY(host_mttkrp_prepare_ordered(reduced, &s->ordered[g], error));
        else
            TRY(host_mttkrp_prepare(reduced, &s->alto, g, conflict, copies, error));
        rows = reduced->scratch_rows > rows ? reduced->scratch_rows : rows;
        if (mode_groups_size(groups, g) == 1)
            continue;
        for (int n = groups->first[g]; n < groups->first[g + 1]; n++) {
            TRY(host_mttkrp_prepare_ordered(&s->within[n], &s->tuple_tensor[n], error));
            rows = s->within[n].scratch_rows > rows ? s->within[n].scratch_rows : rows;
        }
    }
    s->scratch = memory_array(rows, s->row_bytes, error);
    return error->status;
}

enum status host_sweep_open(struct host_sweep *s, const struct tensor_source *source,
                            const struct plan *plan, struct progress *progress, struct error *error)
{
    const struct coo *x = source->x;
    struct mode_groups none;
    memset(s, 0, sizeof *s);
    s->shape = x->shape;
    s->row_bytes = plan->request.row_bytes;
    s->narrow = plan->request.narrow;
    mode_groups_none(&none, x->shape.order);
    sweep_decide(&s->sweep, plan, &none);
    if (x->nnz == 0 && !source->ranks->dealt)
        return STATUS_OK;
    const struct plan_request *r = &plan->request;
    const bool
        room = /* for the reduced tensor and its tuples' numbers, while orderings are built */
        r->budget - plan->total_bytes >= 2 * r->nonzero_bytes + r->tensor.nnz * sizeof(uint32_t);
    if (sweep_may_group(plan) && room)
        TRY_OR(failed, try_groups(s, source, plan, progress, error));
    if (!s->sweep.grouped)
        TRY_OR(failed, build_decided(s, source, x, progress, error));
    TRY_OR(failed, prepare_mttkrps(s, plan->request.copies, error));
    return STATUS_OK;
failed:
    host_sweep_close(s);
    return error->status;
}

/* Row t of product[group] = the elementwise product of the rows of the factors of tuple t. */
static void make_products(struct host_sweep *s, int group, const struct host_rows *factors)
{
    const int first = s->sweep.groups.first[group], end = s->sweep.groups.first[group + 1];
    const enum precision precision = factors->precision;
    const uint64_t rank = factors->rank, bytes = rank * precision_bytes(precision);
#pragma omp parallel for schedule(static) if (s->tuples[group] * rank > LONG_PRODUCT)
    for (uint64_t t = 0; t < s->tuples[group]; t++) {
        void *to = host_entry(s->product[group], t * rank, precision);
        memcpy(to, host_entry_of(factors->of[first], s->coordinate[first][t] * rank, precision),
               bytes);
        for (int n = first + 1; n < end; n++) {
            const uint64_t at = s->coordinate[n][t] * rank;
            host_entries_multiply(to, host_entry_of(factors->of[n], at, precision), rank,
                                  precision);
        }
    }
}

void host_sweep_mttkrp(struct host_sweep *s, int mode, const struct host_rows *factors, void *m)
{
    const struct mode_groups *groups = &s->sweep.groups;
    const struct sweep_steps steps = sweep_steps(&s->sweep, mode);
    for (int i = 0; i < steps.count; i++) {
        const int group = steps.step[i].group, first = groups->first[group];
        const int size = mode_groups_size(groups, group);
        struct host_rows rows = {.rank = factors->rank, .precision = factors->precision};
        switch (steps.step[i].action) {
        case SWEEP_PRODUCTS:
            make_products(s, group, factors);
            break;
        case SWEEP_REDUCED: /* the group's partial products, or m where the group is one mode */
            for (int g = 0; g < groups->groups; g++)
                rows.of[g] = s->product[g] ? s->product[g] : factors->of[groups->first[g]];
            host_mttkrp(&s->reduced[group], &rows, s->partial[group] ? s->partial[group] : m,
                        s->scratch);
            break;
        case SWEEP_TUPLES: /* the group's tuples, with the partial products as one more factor */
            for (int k = 0; k < size; k++)
                rows.of[k] = factors->of[first + k];
            rows.of[size] = s->partial[group];
            host_mttkrp(&s->within[mode], &rows, m, s->scratch);
            break;
        }
    }
}
