#include "device_sweep.h"

#include <string.h>

#include "cuda_error.h"
#include "device_memory.h"
#include "memory.h"

#define VECTOR_BYTES 16

/* An array of device memory into *array, a pointer. */
static enum status allocate(void *array, uint64_t count, uint64_t size, struct error *error)
{
    void *pointer = device_array(count, size, error);
    memcpy(array, &pointer, sizeof pointer);
    return pointer ? STATUS_OK : error->status;
}

static uint64_t row_bytes(const struct device_sweep *s)
{
    return (uint64_t)s->factors.vectors * VECTOR_BYTES;
}

/* Groups of the tensors that were built; the plan's conflicts are per mode, so with groups of one
 * mode they are per group. */
static bool is_shared(const struct device_sweep *s)
{
    return s->grouping.groups < s->order;
}

static void free_tensors(struct device_sweep *s)
{
    s->build = (struct backend_build){0};
    device_tensor_free(&s->alto);
    for (int n = 0; n < MAX_ORDER; n++) {
        device_tensor_free(&s->ordered[n]);
        device_tensor_free(&s->tuple_tensor[n]);
        device_free(s->coordinate[n]);
        s->coordinate[n] = NULL;
    }
}

/* Seconds since *start, which becomes now. */
static void lap(double *start, double *seconds)
{
    double now = progress_now();
    *seconds = now - *start;
    *start = now;
}

/* Makes building faster; goes without where there is no room for it. */
static enum status presort(struct device_coo *x, cudaStream_t stream, struct error *error)
{
    enum status status = device_coo_sort(x, stream, error);
    if (status != STATUS_MEMORY)
        return status;
    *error = (struct error){0};
    return STATUS_OK;
}

/* The orderings of a tensor: alto, and one for each of the modes listed. `times` says how long each
 * step took. */
static enum status build_orderings(struct device_tensor *alto, struct device_tensor *ordered,
                                   const bool *wanted, const struct coo *x, int real_size,
                                   cudaStream_t stream, struct backend_build *times,
                                   struct progress *progress, struct error *error)
{
    int all = alto != NULL, done = 0;
    double start = progress_now();
    for (int n = 0; n < x->order; n++)
        all += wanted[n];
    struct device_coo coo = {0};
    enum status status = device_coo_upload(&coo, x, stream, error);
    lap(&start, &times->upload);
    if (status == STATUS_OK && all > 1)
        status = presort(&coo, stream, error);
    lap(&start, &times->presort);
    if (status == STATUS_OK && alto) {
        status = device_tensor_build(alto, &coo, ORDERING_ALTO, real_size, stream, error);
        lap(&start, &times->alto);
        done++;
        progress_update(progress, (double)done / all, "ordering %d of %d", done, all);
    }
    for (int n = 0; n < x->order && status == STATUS_OK; n++)
        if (wanted[n]) {
            status = device_tensor_build(&ordered[n], &coo, n, real_size, stream, error);
            lap(&start, &times->replica[n]);
            done++;
            progress_update(progress, (double)done / all, "ordering %d of %d", done, all);
        }
    device_coo_free(&coo);
    return status;
}

static enum status build_plain(struct device_sweep *s, const struct coo *x, const struct plan *plan,
                               cudaStream_t stream, struct progress *progress, struct error *error)
{
    bool wanted[MAX_ORDER];
    for (int n = 0; n < s->order; n++)
        wanted[n] = plan->conflict[n] == CONFLICT_ORDERED;
    enum status status =
        build_orderings(plan->alto ? &s->alto : NULL, s->ordered, wanted, x,
                        (int)plan->request.real_size, stream, &s->build, progress, error);
    memcpy(s->tuples, x->dims, sizeof s->tuples);
    if (status != STATUS_OK)
        free_tensors(s);
    return status;
}

/* Tensors and coordinates of the tuples of one group. */
static enum status build_tuples(struct device_sweep *s, const struct coo *tuples, int first,
                                int real_size, cudaStream_t stream, struct error *error)
{
    int size = tuples->order - 1;
    struct backend_build unused;
    bool wanted[MAX_ORDER] = {false};
    for (int k = 0; k < size; k++)
        wanted[k] = true;
    enum status status = build_orderings(NULL, &s->tuple_tensor[first], wanted, tuples, real_size,
                                         stream, &unused, NULL, error);
    for (int k = 0; k < size && status == STATUS_OK; k++) {
        uint32_t **to = &s->coordinate[first + k];
        status = allocate(to, tuples->nnz, sizeof **to, error);
        if (status == STATUS_OK)
            status = cuda_status(cudaMemcpy(*to, tuples->index[k], tuples->nnz * sizeof **to,
                                            cudaMemcpyHostToDevice),
                                 "the tuples", error);
    }
    return status;
}

static enum status build_shared(struct device_sweep *s, const struct coo *x,
                                const struct plan *plan, cudaStream_t stream,
                                struct progress *progress, struct error *error)
{
    int size = (int)plan->request.real_size;
    struct grouped grouped;
    enum status status = grouping_apply(&grouped, &s->grouping, x, error);
    if (status != STATUS_OK)
        return status;
    bool wanted[MAX_ORDER];
    for (int g = 0; g < s->grouping.groups; g++)
        wanted[g] = true;
    status = build_orderings(NULL, s->ordered, wanted, &grouped.reduced, size, stream, &s->build,
                             progress, error);
    for (int g = 0; g < s->grouping.groups && status == STATUS_OK; g++) {
        s->tuples[g] = grouped.reduced.dims[g];
        if (grouping_size(&s->grouping, g) == 1)
            continue;
        status = build_tuples(s, &grouped.tuples[g], s->grouping.first[g], size, stream, error);
        if (status == STATUS_OK)
            status = allocate(&s->product[g], s->tuples[g], row_bytes(s), error);
        if (status == STATUS_OK)
            status = allocate(&s->partial[g], s->tuples[g], row_bytes(s), error);
    }
    grouped_free(&grouped);
    if (status != STATUS_OK)
        free_tensors(s);
    return status;
}

/* Alto as the file has it, or packed. */
static enum status pack_alto(struct packed *p, const struct tensor_source *source,
                             const struct plan *plan, struct progress *progress,
                             struct error *error)
{
    return source->file
               ? packed_load(p, source->file, progress, error)
               : packed_build(p, source->x, ORDERING_ALTO, plan_segment_nnz(plan), progress, error);
}

/* The orderings that a streamed plan asks for; *count of them are to be freed. */
static enum status pack(struct packed *packed, int *count, const struct tensor_source *source,
                        const struct plan *plan, struct backend_build *times,
                        struct progress *progress, struct error *error)
{
    double start = progress_now();
    enum status status = STATUS_OK;
    if (plan->alto) {
        status = pack_alto(&packed[(*count)++], source, plan, progress, error);
        lap(&start, &times->alto);
    }
    for (int n = 0; n < source->x->order && status == STATUS_OK; n++)
        if (plan->conflict[n] == CONFLICT_ORDERED) {
            status = packed_build(&packed[(*count)++], source->x, n, plan_segment_nnz(plan),
                                  progress, error);
            lap(&start, &times->replica[n]);
        }
    return status;
}

/* Packed on the host; what fits stays on the device. */
static enum status build_streamed(struct device_sweep *s, const struct tensor_source *source,
                                  const struct plan *plan, struct progress *progress,
                                  struct error *error)
{
    struct packed packed[MAX_ORDER + 1];
    int count = 0;
    enum status status = pack(packed, &count, source, plan, &s->build, progress, error);
    double start = progress_now();
    if (status == STATUS_OK && source->file)
        s->norm_sq = packed_norm_sq(&packed[0]);
    if (status == STATUS_OK)
        status = device_stream_open(&s->stream, packed, count, plan->conflict, plan->batch_nnz,
                                    plan->queue_bytes + plan->resident_bytes,
                                    plan->request.real_size == sizeof(float), error);
    else
        while (count > 0)
            packed_free(&packed[--count]);
    lap(&start, &s->build.upload);
    s->streamed = status == STATUS_OK;
    return status;
}

/* Less than *plan, where the device turned out to have less room than that; in the end, with the
 * tensor on the host. False where there is nothing less. */
static bool plan_less(struct plan *plan)
{
    struct plan_request request = plan->request;
    struct plan smaller;
    size_t available, all;
    request.budget = plan->total_bytes - 1;
    plan_make(&smaller, &request);
    if (smaller.streamed && cudaMemGetInfo(&available, &all) == cudaSuccess &&
        available - available / 16 < request.budget) {
        request.budget = available - available / 16;
        plan_make(&smaller, &request);
    }
    if (smaller.fits)
        *plan = smaller;
    return smaller.fits;
}

/* With shared partial products where the plan has room for every mode's ordering, which is more
 * than they take. */
static enum status build(struct device_sweep *s, const struct tensor_source *source,
                         struct plan *plan, cudaStream_t stream, struct progress *progress,
                         struct error *error)
{
    const struct coo *x = source->x;
    int device, cache = 0;
    if (plan->request.share && plan->replicas == s->order && !plan->alto && !plan->streamed) {
        enum status status = cuda_status(cudaGetDevice(&device), "the device", error);
        if (status == STATUS_OK)
            status = cuda_status(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device),
                                 "the device", error);
        if (status == STATUS_OK)
            status = grouping_choose(&s->grouping, x, row_bytes(s), (uint64_t)cache, error);
        if (status == STATUS_OK && is_shared(s))
            status = build_shared(s, x, plan, stream, progress, error);
        if (status != STATUS_MEMORY && (status != STATUS_OK || is_shared(s)))
            return status;
        *error = (struct error){0};
        grouping_none(&s->grouping, s->order);
    }
    while (!plan->streamed) {
        enum status status = build_plain(s, x, plan, stream, progress, error);
        if (status != STATUS_MEMORY || !plan_less(plan))
            return status;
        *error = (struct error){0};
    }
    return build_streamed(s, source, plan, progress, error);
}

static enum status open_mttkrps(struct device_sweep *s, const struct plan *plan,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < s->grouping.groups && !s->streamed && status == STATUS_OK; g++) {
        enum conflict conflict = is_shared(s) ? CONFLICT_ORDERED : plan->conflict[g];
        const struct device_tensor *tensor =
            conflict == CONFLICT_ORDERED ? &s->ordered[g] : &s->alto;
        status = device_mttkrp_open(&s->outer[g], tensor, g, conflict, error);
        int first = s->grouping.first[g], size = grouping_size(&s->grouping, g);
        for (int k = 0; k < size && size > 1 && status == STATUS_OK; k++)
            status = device_mttkrp_open(&s->inner[first + k], &s->tuple_tensor[first + k], k,
                                        CONFLICT_ORDERED, error);
    }
    return status;
}

static enum status allocate_factors(struct device_sweep *s, const struct plan *plan,
                                    struct error *error)
{
    struct device_factors *f = &s->factors;
    uint64_t longest = 0;
    f->order = s->order;
    f->single = plan->request.real_size == sizeof(float);
    f->copies = (uint32_t)plan->request.copies;
    memcpy(f->dims, s->dims, sizeof f->dims);
    enum status status = STATUS_OK;
    for (int n = 0; n < s->order && status == STATUS_OK; n++) {
        uint64_t copies = plan->conflict[n] == CONFLICT_HIERARCHICAL ? f->copies : 1;
        longest = copies * f->dims[n] > longest ? copies * f->dims[n] : longest;
        status = allocate(&f->factor[n], f->dims[n], row_bytes(s), error);
    }
    for (int n = 0; n < s->order; n++) {
        uint64_t outer = s->outer[n].tensor ? device_mttkrp_table_rows(&s->outer[n]) : 0;
        uint64_t inner = s->inner[n].tensor ? device_mttkrp_table_rows(&s->inner[n]) : 0;
        f->table_rows = outer > f->table_rows ? outer : f->table_rows;
        f->table_rows = inner > f->table_rows ? inner : f->table_rows;
    }
    if (status == STATUS_OK)
        status = allocate(&f->m, longest, row_bytes(s), error);
    return status == STATUS_OK ? allocate(&f->table, f->table_rows, row_bytes(s), error) : status;
}

enum status device_sweep_open(struct device_sweep *s, const struct tensor_source *source,
                              struct plan *plan, uint32_t vectors, cudaStream_t stream,
                              struct progress *progress, struct error *error)
{
    const struct coo *x = source->x;
    memset(s, 0, sizeof *s);
    s->order = x->order;
    s->norm_sq = source->file ? 0 : coo_norm_sq(x);
    memcpy(s->dims, x->dims, sizeof s->dims);
    s->factors.vectors = vectors;
    grouping_none(&s->grouping, s->order);
    double start = progress_now();
    enum status status = build(s, source, plan, stream, progress, error);
    if (plan->request.share)
        s->build.grouping = progress_now() - start - backend_build_seconds(&s->build);
    if (status == STATUS_OK)
        status = open_mttkrps(s, plan, error);
    if (status == STATUS_OK)
        status = allocate_factors(s, plan, error);
    if (status != STATUS_OK)
        device_sweep_close(s);
    else
        plan->grouping = s->grouping;
    return status;
}

void device_sweep_close(struct device_sweep *s)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        device_mttkrp_close(&s->outer[n]);
        device_mttkrp_close(&s->inner[n]);
        device_free(s->product[n]);
        device_free(s->partial[n]);
        device_free(s->factors.factor[n]);
    }
    free_tensors(s);
    device_stream_close(&s->stream);
    device_free(s->factors.m);
    device_free(s->factors.table);
    memset(s, 0, sizeof *s);
}

bool device_sweep_describe(const struct device_sweep *s, int mode, char *text, size_t size)
{
    if (s->streamed) {
        device_stream_describe(&s->stream, mode, text, size);
        return true;
    }
    int group = grouping_of(&s->grouping, mode);
    const struct device_mttkrp *outer = &s->outer[group], *inner = &s->inner[mode];
    bool settled = device_mttkrp_settled(outer);
    device_mttkrp_describe(outer, outer->best, text, size);
    if (grouping_size(&s->grouping, group) > 1 && strlen(text) + 4 < size) {
        strcat(text, " + ");
        size_t used = strlen(text);
        device_mttkrp_describe(inner, inner->best, text + used, size - used);
        settled = settled && device_mttkrp_settled(inner);
    }
    return settled;
}

uint64_t device_sweep_bus_bytes(const struct device_sweep *s, int mode)
{
    return s->streamed ? device_stream_bytes(&s->stream, mode) : 0;
}

void device_sweep_changed(struct device_sweep *s, int mode)
{
    int group = grouping_of(&s->grouping, mode);
    s->product_current[group] = false;
    for (int g = 0; g < s->grouping.groups; g++)
        if (g != group)
            s->partial_current[g] = false;
}

/* The product of a group's factors, a row per tuple. */
static enum status refresh_product(struct device_sweep *s, int group, cudaStream_t stream,
                                   struct error *error)
{
    int first = s->grouping.first[group], size = grouping_size(&s->grouping, group);
    if (size == 1 || s->product_current[group])
        return STATUS_OK;
    struct mttkrp_tuples tuples = {.modes = size, .count = s->tuples[group]};
    for (int k = 0; k < size; k++) {
        tuples.coordinate[k] = s->coordinate[first + k];
        tuples.rows[k] = s->factors.factor[first + k];
    }
    s->product_current[group] = true;
    return cuda_status(mttkrp_tuple_products(s->product[group], &tuples, s->factors.vectors,
                                             s->factors.single, stream),
                       "products of factors", error);
}

/* MTTKRP of the reduced tensor: M where the group is one mode, otherwise its partial products. */
static enum status run_outer(struct device_sweep *s, int group, cudaStream_t stream,
                             struct error *error)
{
    struct device_factors f = s->factors;
    f.order = s->grouping.groups;
    enum status status = STATUS_OK;
    for (int g = 0; g < s->grouping.groups && status == STATUS_OK; g++) {
        if (g != group)
            status = refresh_product(s, g, stream, error);
        f.dims[g] = s->tuples[g];
        f.factor[g] = s->product[g] ? s->product[g] : s->factors.factor[s->grouping.first[g]];
    }
    if (s->partial[group])
        f.m = s->partial[group];
    return status == STATUS_OK ? device_mttkrp_run(&s->outer[group], &f, stream, error) : status;
}

/* MTTKRP of the group's tuples, with the partial products as one more factor. */
static enum status run_inner(struct device_sweep *s, int group, int mode, cudaStream_t stream,
                             struct error *error)
{
    int first = s->grouping.first[group], size = grouping_size(&s->grouping, group);
    struct device_factors f = s->factors;
    f.order = size + 1;
    for (int k = 0; k < size; k++) {
        f.dims[k] = s->dims[first + k];
        f.factor[k] = s->factors.factor[first + k];
    }
    f.dims[size] = s->tuples[group];
    f.factor[size] = s->partial[group];
    return device_mttkrp_run(&s->inner[mode], &f, stream, error);
}

enum status device_sweep_mttkrp(struct device_sweep *s, int mode, cudaStream_t stream,
                                struct error *error)
{
    if (s->streamed)
        return device_stream_mttkrp(&s->stream, mode, &s->factors, stream, error);
    int group = grouping_of(&s->grouping, mode);
    if (grouping_size(&s->grouping, group) == 1)
        return run_outer(s, group, stream, error);
    enum status status = STATUS_OK;
    if (!s->partial_current[group])
        status = run_outer(s, group, stream, error);
    s->partial_current[group] = true;
    return status == STATUS_OK ? run_inner(s, group, mode, stream, error) : status;
}
