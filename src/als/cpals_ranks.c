#include "als/cpals_ranks.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "model/ktensor.h"

/* What a rank works with. */
struct rank {
    struct comm *comm;
    const struct process_grid *grid;
    const struct backend_kind *kind;
    struct backend_options options;
    const struct cpals_options *als;
    struct progress *progress; /* of rank 0; NULL for the others                          */
    struct ktensor *k;         /* the whole model, of which each rank writes its own rows */
    int threads;
    struct part part;
    struct coo x; /* the nonzeros of the part; owned */
    struct cpals_result result;
    struct error error;
};

/* rank[r].part and rank[r].x = what rank r has; indices count from the first row of the part. */
static enum status hand_out(struct rank *rank, const struct process_grid *g, const struct coo *x,
                            struct error *error)
{
    uint64_t *used = memory_zeros((size_t)g->ranks, sizeof *used, error);
    uint32_t index[MAX_ORDER];
    for (uint64_t i = 0; used && i < x->nnz; i++) {
        coo_coordinates(x, i, index);
        used[process_grid_rank(g, index)]++;
    }
    for (int r = 0; used && r < g->ranks && error->status == STATUS_OK; r++) {
        rank[r].part = process_grid_part(g, r);
        struct shape shape = rank[r].part.here;
        for (int n = 0; n < shape.order; n++)
            shape.dims[n] = shape.dims[n] ? shape.dims[n] : 1;
        coo_create(&rank[r].x, &shape, used[r], error);
        used[r] = 0;
    }
    for (uint64_t i = 0; error->status == STATUS_OK && i < x->nnz; i++) {
        coo_coordinates(x, i, index);
        int r = process_grid_rank(g, index);
        for (int n = 0; n < x->shape.order; n++)
            rank[r].x.index[n][used[r]] = index[n] - (uint32_t)rank[r].part.first[n];
        rank[r].x.value[used[r]++] = x->value[i];
    }
    memory_free(used);
    return error->status;
}

/* Copies lambda and the rows that are here from the whole model to this rank's model. */
static void copy_start(struct ktensor *part, const struct ktensor *whole)
{
    memcpy(part->lambda, whole->lambda, part->rank * sizeof *part->lambda);
    for (int n = 0; n < part->shape.order; n++)
        memcpy(part->factor[n], whole->factor[n] + part->first[n] * part->rank,
               part->shape.dims[n] * part->rank * sizeof *part->factor[n]);
}

/* Copies the rows that this rank has solved to the whole model; no other rank writes these rows. */
static void copy_result(struct ktensor *whole, const struct ktensor *part,
                        const struct backend_ranks *ranks)
{
    if (ranks->all->rank == 0)
        memcpy(whole->lambda, part->lambda, part->rank * sizeof *part->lambda);
    for (int n = 0; n < part->shape.order; n++) {
        uint64_t first, rows = backend_ranks_rows(ranks, n, &first);
        memcpy(whole->factor[n] + (part->first[n] + first) * part->rank,
               part->factor[n] + first * part->rank, rows * part->rank * sizeof *part->factor[n]);
    }
}

static enum status decompose(struct rank *q, const struct backend_ranks *ranks,
                             struct ktensor *part, struct error *error)
{
    struct backend b = {0};
    if (backend_open_part(&b, q->kind, &q->x, ranks, &q->options, q->progress, error) ==
            STATUS_OK &&
        cpals_iterate(&b, part, q->als, q->progress, &q->result, error) == STATUS_OK)
        backend_store(&b, part, error);
    if (error->status != STATUS_OK)
        comm_abort(q->comm, error);
    backend_close(&b);
    return error->status;
}

static void *run_rank(void *argument)
{
    struct rank *q = argument;
    struct error *error = &q->error;
    struct backend_ranks ranks;
    struct ktensor part = {0};
    omp_set_num_threads(q->threads);
    if (backend_ranks_open(&ranks, q->comm, q->grid, error) == STATUS_OK &&
        ktensor_create_part(&part, &ranks.part, q->k->rank, error) == STATUS_OK) {
        copy_start(&part, q->k);
        decompose(q, &ranks, &part, error);
    }
    if (error->status == STATUS_OK)
        copy_result(q->k, &part, &ranks);
    else
        comm_abort(q->comm, error);
    ktensor_free(&part);
    backend_ranks_close(&ranks);
    coo_free(&q->x);
    comm_close(q->comm);
    return NULL;
}

/* Starts a thread for each rank and waits for all. A rank without a thread ends the others. */
static enum status run_threads(struct rank *rank, int ranks, struct error *error)
{
    pthread_t *thread = memory_array((size_t)ranks, sizeof *thread, error);
    int started = 0;
    while (thread && started < ranks &&
           pthread_create(&thread[started], NULL, run_rank, &rank[started]) == 0)
        started++;
    if (thread && started < ranks)
        error_set(error, STATUS_MEMORY, "no thread could be started for rank %d", started);
    for (int r = started; r < ranks; r++) {
        comm_abort(rank[r].comm, error);
        comm_close(rank[r].comm);
        coo_free(&rank[r].x);
    }
    for (int r = 0; r < started; r++)
        pthread_join(thread[r], NULL);
    for (int r = 0; r < started && error->status == STATUS_OK; r++)
        *error = rank[r].error;
    memory_free(thread);
    return error->status;
}

static struct backend_options share_memory(const struct backend_options *options, int ranks)
{
    struct backend_options mine = *options;
    if (mine.host_memory == 0)
        mine.host_memory = machine_memory_budget(0) / (uint64_t)ranks;
    return mine;
}

enum status cpals_run_ranks(const struct coo *x, const struct process_grid *grid,
                            const struct backend_kind *kind, const struct backend_options *options,
                            const int *device, struct ktensor *k, const struct cpals_options *als,
                            struct progress *progress, struct cpals_result *result,
                            struct error *error)
{
    const struct backend_options mine = share_memory(options, grid->ranks);
    int threads = omp_get_max_threads() / grid->ranks;
    struct rank *rank = memory_zeros((size_t)grid->ranks, sizeof *rank, error);
    struct comm **comm = rank ? memory_array((size_t)grid->ranks, sizeof *comm, error) : NULL;
    if (!comm || hand_out(rank, grid, x, error) != STATUS_OK ||
        comm_threads(comm, grid->ranks, error) != STATUS_OK) {
        for (int r = 0; rank && r < grid->ranks; r++)
            coo_free(&rank[r].x);
    } else {
        for (int r = 0; r < grid->ranks; r++) {
            rank[r].comm = comm[r];
            rank[r].grid = grid;
            rank[r].kind = kind;
            rank[r].options = mine;
            rank[r].options.device = device ? device[r] : 0;
            rank[r].als = als;
            rank[r].progress = r == 0 ? progress : NULL;
            rank[r].k = k;
            rank[r].threads = threads > 1 ? threads : 1;
        }
        if (run_threads(rank, grid->ranks, error) == STATUS_OK) {
            *result = rank[0].result;
            cpals_finish(k, progress, result, error);
        }
    }
    memory_free(comm);
    memory_free(rank);
    return error->status;
}
