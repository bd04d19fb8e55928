#include "backend/host/host_sweep.h"

#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"

/* Tables of rows up to so many caches of a core are gathered from at about the same speed, and
 * larger ones at so many times the cost (measured). */
#define CACHES       2
#define BEYOND       8.0
#define LONG_PRODUCT 4096 /* entries of a table that are worth the threads     */

/* Groups of the tensors that were built; the plan's conflicts are per mode, so with groups of one
 * mode they are per group. */
static bool is_shared(const struct host_sweep *s)
{
    return s->mode_groups.groups < s->shape.order;
}

static void free_tensors(struct host_sweep *s)
{
    s->build = (struct backend_build){0};
    blco_free(&s->alto);
    for (int n = 0; n < MAX_ORDER; n++) {
        blco_free(&s->ordered[n]);
        blco_free(&s->tuple_tensor[n]);
        memory_free(s->coordinate[n]);
        memory_free(s->product[n]);
        memory_free(s->partial[n]);
        s->coordinate[n] = NULL;
        s->product[n] = s->partial[n] = NULL;
    }
}

void host_sweep_close(struct host_sweep *s)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        host_mttkrp_free(&s->outer[n]);
        host_mttkrp_free(&s->inner[n]);
    }
    free_tensors(s);
    memory_free(s->scratch);
    memset(s, 0, sizeof *s);
}

/* The orderings of a tensor that are being built. */
struct building {
    const struct coo *x;
    struct blco *alto;    /* NULL: not wanted           */
    struct blco *ordered; /* per mode                   */
    const bool *wanted;
    struct backend_build *times;
    struct progress *progress; /* may be NULL */
    int all, done;
};

static void announce(struct building *b)
{
    progress_update(b->progress, (double)b->done / b->all, "ordering %d of %d", b->done + 1,
                    b->all);
    b->done++;
}

/* From x, by a sort of its own. */
static enum status build_one(struct building *b, int kind, struct error *error)
{
    struct blco_options options = {.kind = kind};
    bool alto = kind == ORDERING_ALTO;
    double start = clock_now();
    announce(b);
    enum status status = blco_build(alto ? b->alto : &b->ordered[kind], b->x, &options, error);
    *(alto ? &b->times->alto : &b->times->replica[kind]) = clock_lap(&start);
    return status;
}

/* The orderings `mode n` by way of a common order, whose own mode comes last. */
static enum status build_from_common(struct building *b, struct error *error)
{
    struct blco_presort source;
    double start = clock_now();
    if (blco_presort_create(&source, b->x, error) != STATUS_OK)
        return error->status;
    b->times->presort = clock_lap(&start);
    int order = b->x->shape.order, common = source.line_order.kind;
    for (int i = 0; i <= order && error->status == STATUS_OK; i++) {
        int n = i < order ? i : common;
        if (!b->wanted[n] || (n == common && i < order))
            continue;
        announce(b);
        blco_build_from(&b->ordered[n], &source, n, i == order, error);
        b->times->replica[n] = clock_lap(&start);
    }
    blco_presort_free(&source);
    return error->status;
}

static enum status build_orderings(struct building *b, struct error *error)
{
    int replicas = 0;
    for (int n = 0; n < b->x->shape.order; n++)
        replicas += b->wanted[n];
    b->all = replicas + (b->alto != NULL);
    if (b->alto && build_one(b, ORDERING_ALTO, error) != STATUS_OK)
        return error->status;
    if (replicas > 1 && blco_presort_possible(&b->x->shape))
        return build_from_common(b, error);
    for (int n = 0; n < b->x->shape.order; n++)
        if (b->wanted[n] && build_one(b, n, error) != STATUS_OK)
            return error->status;
    return STATUS_OK;
}

static enum status build_plain(struct host_sweep *s, const struct coo *x, const struct plan *plan,
                               struct progress *progress, struct error *error)
{
    bool wanted[MAX_ORDER];
    for (int n = 0; n < s->shape.order; n++)
        wanted[n] = plan->conflict[n] == CONFLICT_ORDERED;
    memcpy(s->tuples, x->shape.dims, sizeof s->tuples);
    struct building b = {.x = x,
                         .alto = plan->alto ? &s->alto : NULL,
                         .ordered = s->ordered,
                         .wanted = wanted,
                         .times = &s->build,
                         .progress = progress};
    return build_orderings(&b, error);
}

/* Tensors of the tuples of one group, whose coordinates are taken over. */
static enum status build_tuples(struct host_sweep *s, int group, struct coo *tuples,
                                struct error *error)
{
    int first = s->mode_groups.first[group], size = tuples->shape.order - 1;
    bool wanted[MAX_ORDER] = {false};
    struct backend_build unused;
    for (int k = 0; k < size; k++)
        wanted[k] = true;
    struct building b = {
        .x = tuples, .ordered = &s->tuple_tensor[first], .wanted = wanted, .times = &unused};
    enum status status = build_orderings(&b, error);
    s->product[group] = memory_array(tuples->nnz, s->rank * sizeof(double), error);
    s->partial[group] = memory_array(tuples->nnz, s->rank * sizeof(double), error);
    for (int k = 0; k < size; k++) {
        s->coordinate[first + k] = tuples->index[k];
        tuples->index[k] = NULL;
    }
    return status == STATUS_OK ? error->status : status;
}

static enum status build_shared(struct host_sweep *s, struct grouped_tensor *grouped,
                                struct progress *progress, struct error *error)
{
    bool wanted[MAX_ORDER];
    for (int g = 0; g < s->mode_groups.groups; g++)
        wanted[g] = true;
    struct building b = {.x = &grouped->reduced,
                         .ordered = s->ordered,
                         .wanted = wanted,
                         .times = &s->build,
                         .progress = progress};
    enum status status = build_orderings(&b, error);
    for (int g = 0; g < s->mode_groups.groups && status == STATUS_OK; g++) {
        s->tuples[g] = grouped->reduced.shape.dims[g];
        if (mode_groups_size(&s->mode_groups, g) > 1)
            status = build_tuples(s, g, &grouped->tuples[g], error);
    }
    return status;
}

/* Bytes that groups of modes take beyond an ordering for each group: per tuple, two rows and, per
 * mode of the group, a coordinate and an ordering of the tuples. */
static uint64_t bytes_of_groups(const struct host_sweep *s, const struct grouped_tensor *grouped)
{
    uint64_t bytes = 0;
    for (int g = 0; g < s->mode_groups.groups; g++) {
        uint64_t size = (uint64_t)mode_groups_size(&s->mode_groups, g);
        if (size > 1)
            bytes += grouped->reduced.shape.dims[g] *
                     (2 * s->rank * sizeof(double) +
                      size * (sizeof(uint32_t) + 2 * sizeof(uint64_t) + sizeof(double)));
    }
    return bytes;
}

/* Whether the groups fit where the plan has room for every mode's ordering. */
static bool groups_fit(const struct host_sweep *s, const struct grouped_tensor *grouped,
                       const struct plan *plan)
{
    uint64_t fewer = (uint64_t)(s->shape.order - s->mode_groups.groups) * plan->tensor_bytes;
    return bytes_of_groups(s, grouped) <= plan->request.budget - plan->total_bytes + fewer;
}

/* Leaves s->mode_groups without groups where nothing is to be gained by them. */
static enum status try_shared(struct host_sweep *s, const struct coo *x, const struct plan *plan,
                              struct progress *progress, struct error *error)
{
    struct grouped_tensor grouped;
    if (mode_groups_choose(&s->mode_groups, x, s->rank * sizeof(double),
                           CACHES * machine_core_cache(), BEYOND, error) != STATUS_OK ||
        !is_shared(s) || mode_groups_apply(&grouped, &s->mode_groups, x, error) != STATUS_OK)
        return error->status;
    if (groups_fit(s, &grouped, plan))
        build_shared(s, &grouped, progress, error);
    else
        mode_groups_none(&s->mode_groups, s->shape.order);
    grouped_tensor_free(&grouped);
    return error->status;
}

static enum status build(struct host_sweep *s, const struct coo *x, const struct plan *plan,
                         struct progress *progress, struct error *error)
{
    double start = clock_now();
    if (plan->request.share && plan->replicas == s->shape.order && !plan->alto && plan->fits) {
        if (try_shared(s, x, plan, progress, error) != STATUS_OK)
            return error->status;
        s->build.mode_groups = clock_now() - start - backend_build_seconds(&s->build);
    }
    return is_shared(s) ? STATUS_OK : build_plain(s, x, plan, progress, error);
}

static enum status prepare_mttkrps(struct host_sweep *s, const struct plan *plan,
                                   struct error *error)
{
    uint64_t scratch_rows = 0;
    for (int g = 0; g < s->mode_groups.groups; g++) {
        enum conflict conflict = is_shared(s) ? CONFLICT_ORDERED : plan->conflict[g];
        const struct blco *tensor = conflict == CONFLICT_ORDERED ? &s->ordered[g] : &s->alto;
        if (host_mttkrp_prepare(&s->outer[g], tensor, g, conflict, plan->request.copies, error) !=
            STATUS_OK)
            return error->status;
        if (s->outer[g].scratch_rows > scratch_rows)
            scratch_rows = s->outer[g].scratch_rows;
        int first = s->mode_groups.first[g], size = mode_groups_size(&s->mode_groups, g);
        for (int k = 0; k < size && size > 1; k++) {
            struct host_mttkrp *inner = &s->inner[first + k];
            if (host_mttkrp_prepare(inner, &s->tuple_tensor[first + k], k, CONFLICT_ORDERED, 1,
                                    error) != STATUS_OK)
                return error->status;
            if (inner->scratch_rows > scratch_rows)
                scratch_rows = inner->scratch_rows;
        }
    }
    s->scratch = memory_array(scratch_rows, s->rank * sizeof(double), error);
    return error->status;
}

enum status host_sweep_open(struct host_sweep *s, const struct coo *x, struct plan *plan,
                            struct progress *progress, struct error *error)
{
    memset(s, 0, sizeof *s);
    s->shape.order = x->shape.order;
    s->rank = plan->request.rank;
    memcpy(s->shape.dims, x->shape.dims, sizeof s->shape.dims);
    mode_groups_none(&s->mode_groups, s->shape.order);
    enum status status = build(s, x, plan, progress, error);
    if (status == STATUS_OK)
        status = prepare_mttkrps(s, plan, error);
    plan->mode_groups = s->mode_groups;
    if (status != STATUS_OK)
        host_sweep_close(s);
    return status;
}

void host_sweep_changed(struct host_sweep *s, int mode)
{
    partial_cache_changed(&s->tables, &s->mode_groups, mode);
}

/* The products of a group's factors, a row per tuple. */
static void make_products(struct host_sweep *s, int group, double *const *factor)
{
    int first = s->mode_groups.first[group], end = s->mode_groups.first[group + 1];
    uint64_t rank = s->rank;
#pragma omp parallel for schedule(static) if (s->tuples[group] * rank > LONG_PRODUCT)
    for (uint64_t t = 0; t < s->tuples[group]; t++) {
        double *to = s->product[group] + t * rank;
        memcpy(to, factor[first] + s->coordinate[first][t] * rank, rank * sizeof *to);
        for (int n = first + 1; n < end; n++) {
            const double *row = factor[n] + s->coordinate[n][t] * rank;
            for (uint64_t r = 0; r < rank; r++)
                to[r] *= row[r];
        }
    }
}

/* MTTKRP of the reduced tensor into m (tuples x R). */
static void run_outer(struct host_sweep *s, int group, double *const *factor, double *m)
{
    double *rows[MAX_ORDER];
    for (int g = 0; g < s->mode_groups.groups; g++)
        rows[g] = s->product[g] ? s->product[g] : factor[s->mode_groups.first[g]];
    host_mttkrp(&s->outer[group], s->rank, rows, m, s->scratch);
}

/* MTTKRP of the group's tuples, with the partial products as one more factor. */
static void run_inner(struct host_sweep *s, int group, int mode, double *const *factor, double *m)
{
    int first = s->mode_groups.first[group], size = mode_groups_size(&s->mode_groups, group);
    double *rows[MAX_ORDER + 1];
    for (int k = 0; k < size; k++)
        rows[k] = factor[first + k];
    rows[size] = s->partial[group];
    host_mttkrp(&s->inner[mode], s->rank, rows, m, s->scratch);
}

void host_sweep_mttkrp(struct host_sweep *s, int mode, double *const *factor, double *m)
{
    struct partial_steps steps = partial_cache_steps(&s->tables, &s->mode_groups, mode);
    for (int g = 0; g < s->mode_groups.groups; g++)
        if (steps.products[g])
            make_products(s, g, factor);
    if (steps.outer)
        run_outer(s, steps.group, factor, steps.inner ? s->partial[steps.group] : m);
    if (steps.inner)
        run_inner(s, steps.group, mode, factor, m);
}
