#include "host_sweep.h"

#include <string.h>
#include <unistd.h>

#include "memory.h"

/* Tables of rows up to so many second-level caches are gathered from at about the same speed: what
 * a core finds in the last level, of which neither the size nor its share is known for certain. */
#define CACHES       16
#define CACHE_BYTES  (UINT64_C(1) << 20) /* of the second level, where the system does not say */
#define LONG_PRODUCT 4096                /* entries of a table that are worth the threads     */

/* Groups of the tensors that were built; the plan's conflicts are per mode, so with groups of one
 * mode they are per group. */
static bool is_shared(const struct host_sweep *s)
{
    return s->grouping.groups < s->order;
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
        mttkrp_host_free(&s->outer[n]);
        mttkrp_host_free(&s->inner[n]);
    }
    free_tensors(s);
    memory_free(s->scratch);
    memset(s, 0, sizeof *s);
}

/* The orderings of a tensor: alto, unless NULL, and one for each of the modes that are wanted.
 * `times` (may be NULL) says how long each took. */
static enum status build_orderings(struct blco *alto, struct blco *ordered, const bool *wanted,
                                   const struct coo *x, struct backend_build *times,
                                   struct progress *progress, struct error *error)
{
    int all = alto != NULL, done = 0;
    for (int n = 0; n < x->order; n++)
        all += wanted[n];
    for (int n = ORDERING_ALTO; n < x->order; n++) {
        struct blco *b = n == ORDERING_ALTO ? alto : wanted[n] ? &ordered[n] : NULL;
        struct blco_options options = {.kind = n};
        if (!b)
            continue;
        progress_update(progress, (double)done / all, "ordering %d of %d", done + 1, all);
        double start = progress_now();
        if (blco_build(b, x, &options, error) != STATUS_OK)
            return error->status;
        if (times)
            *(n == ORDERING_ALTO ? &times->alto : &times->replica[n]) = progress_now() - start;
        done++;
    }
    return STATUS_OK;
}

static enum status build_plain(struct host_sweep *s, const struct coo *x, const struct plan *plan,
                               struct progress *progress, struct error *error)
{
    bool wanted[MAX_ORDER];
    for (int n = 0; n < s->order; n++)
        wanted[n] = plan->conflict[n] == CONFLICT_ORDERED;
    memcpy(s->tuples, x->dims, sizeof s->tuples);
    return build_orderings(plan->alto ? &s->alto : NULL, s->ordered, wanted, x, &s->build, progress,
                           error);
}

/* Tensors of the tuples of one group, whose coordinates are taken over. */
static enum status build_tuples(struct host_sweep *s, int group, struct coo *tuples,
                                struct error *error)
{
    int first = s->grouping.first[group], size = tuples->order - 1;
    bool wanted[MAX_ORDER] = {false};
    for (int k = 0; k < size; k++)
        wanted[k] = true;
    enum status status =
        build_orderings(NULL, &s->tuple_tensor[first], wanted, tuples, NULL, NULL, error);
    s->product[group] = memory_array(tuples->nnz, s->rank * sizeof(double), error);
    s->partial[group] = memory_array(tuples->nnz, s->rank * sizeof(double), error);
    for (int k = 0; k < size; k++) {
        s->coordinate[first + k] = tuples->index[k];
        tuples->index[k] = NULL;
    }
    return status == STATUS_OK ? error->status : status;
}

static enum status build_shared(struct host_sweep *s, struct grouped *grouped,
                                struct progress *progress, struct error *error)
{
    bool wanted[MAX_ORDER];
    for (int g = 0; g < s->grouping.groups; g++)
        wanted[g] = true;
    enum status status =
        build_orderings(NULL, s->ordered, wanted, &grouped->reduced, &s->build, progress, error);
    for (int g = 0; g < s->grouping.groups && status == STATUS_OK; g++) {
        s->tuples[g] = grouped->reduced.dims[g];
        if (grouping_size(&s->grouping, g) > 1)
            status = build_tuples(s, g, &grouped->tuples[g], error);
    }
    return status;
}

/* Bytes that groups of modes take beyond an ordering for each group: per tuple, two rows and, per
 * mode of the group, a coordinate and an ordering of the tuples. */
static uint64_t bytes_of_groups(const struct host_sweep *s, const struct grouped *grouped)
{
    uint64_t bytes = 0;
    for (int g = 0; g < s->grouping.groups; g++) {
        uint64_t size = (uint64_t)grouping_size(&s->grouping, g);
        if (size > 1)
            bytes += grouped->reduced.dims[g] *
                     (2 * s->rank * sizeof(double) +
                      size * (sizeof(uint32_t) + 2 * sizeof(uint64_t) + sizeof(double)));
    }
    return bytes;
}

static uint64_t cache_bytes(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return CACHES * (bytes > 0 ? (uint64_t)bytes : CACHE_BYTES);
}

/* Whether the groups fit where the plan has room for every mode's ordering. */
static bool groups_fit(const struct host_sweep *s, const struct grouped *grouped,
                       const struct plan *plan)
{
    uint64_t fewer = (uint64_t)(s->order - s->grouping.groups) * plan->tensor_bytes;
    return bytes_of_groups(s, grouped) <= plan->request.budget - plan->total_bytes + fewer;
}

/* Leaves s->grouping without groups where nothing is to be gained by them. */
static enum status try_shared(struct host_sweep *s, const struct coo *x, const struct plan *plan,
                              struct progress *progress, struct error *error)
{
    struct grouped grouped;
    if (grouping_choose(&s->grouping, x, s->rank * sizeof(double), cache_bytes(), error) !=
            STATUS_OK ||
        !is_shared(s) || grouping_apply(&grouped, &s->grouping, x, error) != STATUS_OK)
        return error->status;
    if (groups_fit(s, &grouped, plan))
        build_shared(s, &grouped, progress, error);
    else
        grouping_none(&s->grouping, s->order);
    grouped_free(&grouped);
    return error->status;
}

static enum status build(struct host_sweep *s, const struct coo *x, const struct plan *plan,
                         struct progress *progress, struct error *error)
{
    double start = progress_now();
    if (plan->request.share && plan->replicas == s->order && !plan->alto && plan->fits) {
        if (try_shared(s, x, plan, progress, error) != STATUS_OK)
            return error->status;
        s->build.grouping = progress_now() - start - backend_build_seconds(&s->build);
    }
    return is_shared(s) ? STATUS_OK : build_plain(s, x, plan, progress, error);
}

static enum status prepare_mttkrps(struct host_sweep *s, const struct plan *plan,
                                   struct error *error)
{
    uint64_t scratch_rows = 0;
    for (int g = 0; g < s->grouping.groups; g++) {
        enum conflict conflict = is_shared(s) ? CONFLICT_ORDERED : plan->conflict[g];
        const struct blco *tensor = conflict == CONFLICT_ORDERED ? &s->ordered[g] : &s->alto;
        if (mttkrp_host_prepare(&s->outer[g], tensor, g, conflict, plan->request.copies, error) !=
            STATUS_OK)
            return error->status;
        if (s->outer[g].scratch_rows > scratch_rows)
            scratch_rows = s->outer[g].scratch_rows;
        int first = s->grouping.first[g], size = grouping_size(&s->grouping, g);
        for (int k = 0; k < size && size > 1; k++) {
            struct mttkrp_host *inner = &s->inner[first + k];
            if (mttkrp_host_prepare(inner, &s->tuple_tensor[first + k], k, CONFLICT_ORDERED, 1,
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
    s->order = x->order;
    s->rank = plan->request.rank;
    memcpy(s->dims, x->dims, sizeof s->dims);
    grouping_none(&s->grouping, s->order);
    enum status status = build(s, x, plan, progress, error);
    if (status == STATUS_OK)
        status = prepare_mttkrps(s, plan, error);
    plan->grouping = s->grouping;
    if (status != STATUS_OK)
        host_sweep_close(s);
    return status;
}

void host_sweep_changed(struct host_sweep *s, int mode)
{
    int group = grouping_of(&s->grouping, mode);
    s->product_current[group] = false;
    for (int g = 0; g < s->grouping.groups; g++)
        if (g != group)
            s->partial_current[g] = false;
}

/* The product of a group's factors, a row per tuple. */
static void refresh_product(struct host_sweep *s, int group, double *const *factor)
{
    int first = s->grouping.first[group], size = grouping_size(&s->grouping, group);
    uint64_t rank = s->rank;
    if (size == 1 || s->product_current[group])
        return;
#pragma omp parallel for schedule(static) if (s->tuples[group] * rank > LONG_PRODUCT)
    for (uint64_t t = 0; t < s->tuples[group]; t++) {
        double *to = s->product[group] + t * rank;
        memcpy(to, factor[first] + s->coordinate[first][t] * rank, rank * sizeof *to);
        for (int n = first + 1; n < first + size; n++) {
            const double *row = factor[n] + s->coordinate[n][t] * rank;
            for (uint64_t r = 0; r < rank; r++)
                to[r] *= row[r];
        }
    }
    s->product_current[group] = true;
}

/* MTTKRP of the reduced tensor: M where the group is one mode, otherwise its partial products. */
static void run_outer(struct host_sweep *s, int group, double *const *factor, double *m)
{
    double *rows[MAX_ORDER];
    for (int g = 0; g < s->grouping.groups; g++) {
        if (g != group)
            refresh_product(s, g, factor);
        rows[g] = s->product[g] ? s->product[g] : factor[s->grouping.first[g]];
    }
    mttkrp_host(&s->outer[group], s->rank, rows, m, s->scratch);
}

void host_sweep_mttkrp(struct host_sweep *s, int mode, double *const *factor, double *m)
{
    int group = grouping_of(&s->grouping, mode), first = s->grouping.first[group];
    int size = grouping_size(&s->grouping, group);
    if (size == 1) {
        run_outer(s, group, factor, m);
        return;
    }
    if (!s->partial_current[group])
        run_outer(s, group, factor, s->partial[group]);
    s->partial_current[group] = true;

    /* the group's tuples, with the partial products as one more factor */
    double *rows[MAX_ORDER + 1];
    for (int k = 0; k < size; k++)
        rows[k] = factor[first + k];
    rows[size] = s->partial[group];
    mttkrp_host(&s->inner[mode], s->rank, rows, m, s->scratch);
}
