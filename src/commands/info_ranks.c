#include "commands/info_ranks.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/machine.h"
#include "base/number.h"
#include "plan/row_cuts.h"
#include "ranks/row_deal.h"

#define MOST_SAMPLE    (UINT64_C(1) << 20)
#define GPUS_OF_A_HOST 8 /* at most, in machines whose GPUs are linked */

enum status info_ranks_census(struct coo_census *c, const struct coo_pieces *pieces,
                              uint64_t memory, struct error *error)
{
    char need[NUMBER_SIZE_TEXT], room[NUMBER_SIZE_TEXT];
    uint64_t bytes = 0;
    for (int n = 0; n < pieces->shape.order; n++)
        bytes += pieces->shape.dims[n] * sizeof *c->count[n];
    if (bytes <= memory)
        return coo_pieces_census(pieces, MOST_SAMPLE, c, error);
    return error_set(error, STATUS_MEMORY,
                     "--ranks: counters of %s, 8 bytes for each row of each mode, do not fit into "
                     "the %s of memory that may be used",
                     number_size(bytes, need), number_size(memory, room));
}

struct rank_machine info_ranks_machine(const struct backend_kind *kind,
                                       const struct cmd_ranks *ranks, int threads)
{
    bool device = ranks->on == CMD_ON_BACKEND ? kind->device != NULL : ranks->on == CMD_ON_GPUS;
    return (struct rank_machine){.device = device,
                                 .one_host = device ? ranks->ranks <= GPUS_OF_A_HOST
                                                    : ranks->ranks * threads <= omp_get_num_procs(),
                                 .threads = threads};
}

enum status info_ranks_choose(struct info_ranks *r, const struct cmd_ranks *ranks,
                              const struct rank_machine *machine, const struct coo_census *census,
                              const struct plan *plan, struct error *error)
{
    const struct plan_tensor *tensor = &plan->request.tensor;
    struct grid_request request = {.ranks = ranks->ranks, .row_bytes = plan->request.row_bytes};
    memcpy(request.parts, ranks->parts, sizeof request.parts);
    *r = (struct info_ranks){.machine = *machine,
                             .is_chosen = ranks->modes == 0,
                             .is_estimated = census->sample.nnz < tensor->nnz};
    rank_rates(&request, &tensor->shape, &r->machine);
    return process_grid_choose(&r->grid, &r->cost, &request, census, tensor->nnz, error);
}

/* Raises the most nonzeros of a rank, and the bytes that it sends, by those of mode n. */
static enum status deal_mode(struct info_ranks *r, const uint64_t *count, int n, uint64_t row_bytes,
                             struct error *error)
{
    const uint64_t rows = r->grid.shape.dims[n], ranks = (uint64_t)r->grid.ranks;
    struct row_deal deal;
    uint64_t all = 0, own = 0, most = 0;
    TRY(row_deal_make(&deal, count, rows, r->grid.ranks, false, error));
    for (uint64_t i = 0; i < rows; i++)
        all += count[i];
    for (uint64_t k = 0; k < ranks; k++) {
        own += deal.own[k];
        most = deal.own[k] > most ? deal.own[k] : most;
    }
    most += (all - own + ranks - 1) / ranks; /* of common rows, about */
    if (most > r->cost.largest_nnz)
        r->cost.largest_nnz = most;
    r->cost.moved_bytes += deal.stripe * row_bytes * (ranks - 1);
    row_deal_free(&deal);
    return STATUS_OK;
}

enum status info_ranks_deal(struct info_ranks *r, const struct cmd_ranks *ranks,
                            const struct rank_machine *machine, const struct coo_census *census,
                            const struct plan *plan, struct error *error)
{
    const struct plan_tensor *tensor = &plan->request.tensor;
    const uint64_t row_bytes = plan->request.row_bytes;
    TRY(info_ranks_choose(r, ranks, machine, census, plan, error));
    const int kept = row_deal_kept(&r->grid, row_bytes);
    r->cost.mttkrp_seconds = r->cost.solve_seconds = r->cost.move_seconds = NAN;
    if (kept >= 0) {
        r->cost.moved_bytes = (uint64_t)row_deal_kept_bytes(&r->grid, kept, row_bytes);
        return STATUS_OK;
    }
    process_grid_free(&r->grid);
    *r = (struct info_ranks){.machine = *machine, .cost = r->cost, .dealt = true};
    r->cost.largest_nnz = r->cost.moved_bytes = 0;
    TRY(process_grid_alone(&r->grid, &tensor->shape, error));
    r->grid.ranks = ranks->ranks;
    for (int n = 0; n < tensor->shape.order; n++)
        TRY(deal_mode(r, census->count[n], n, row_bytes, error));
    r->cost.imbalance = (double)r->cost.largest_nnz * ranks->ranks / (double)tensor->nnz - 1;
    return STATUS_OK;
}

static struct shape longest_ranges(const struct process_grid *g)
{
    struct shape shape = g->shape;
    for (int n = 0; n < shape.order; n++)
        shape.dims[n] = row_cuts_longest(g->cut[n], g->parts[n]);
    return shape;
}

enum status info_ranks_plan(struct plan *plan, const struct info_ranks *r,
                            const struct backend_kind *kind, const struct backend_options *options,
                            struct error *error)
{
    const struct plan_tensor tensor = {.shape = longest_ranges(&r->grid),
                                       .nnz = r->cost.largest_nnz,
                                       .is_part = r->grid.ranks > 1};
    struct backend_options mine = *options;
    if (mine.host_memory == 0 && r->machine.one_host)
        mine.host_memory = machine_memory_budget(0) / (uint64_t)r->grid.ranks;
    return backend_plan(plan, kind, &tensor, &mine, error);
}

static void show_machine(const struct info_ranks *r)
{
    const char *s = r->grid.ranks == 1 ? "" : "s";
    printf("\nranks        %d", r->grid.ranks);
    if (r->machine.device)
        printf(" GPU%s", s);
    else
        printf(" process%s of %d thread%s", *s ? "es" : "", r->machine.threads,
               r->machine.threads == 1 ? "" : "s");
    printf(" on %s\n", r->machine.one_host || r->grid.ranks == 1 ? "one host" : "several hosts");
}

void info_ranks_show(const struct info_ranks *r)
{
    char name[128], moved[NUMBER_SIZE_TEXT];
    const struct grid_cost *cost = &r->cost;
    const struct shape rows = longest_ranges(&r->grid);
    process_grid_name(r->grid.parts, r->grid.shape.order, name, sizeof name);
    show_machine(r);
    if (r->dealt)
        printf("grid         none: each rank has all entries of the rows that it solves\n");
    else
        printf("grid         %s, %s\n", name,
               r->is_chosen ? "the cheapest by the model" : "as given");
    printf("fullest rank %s%ju nonzeros, %.1f %% above the mean\n", r->is_estimated ? "about " : "",
           (uintmax_t)cost->largest_nnz, 100 * (cost->imbalance > 0 ? cost->imbalance : 0));
    printf("rows         ");
    cmd_print_lengths(&rows);
    printf(" in a rank at most\n");
    printf("moves        %s sent by a rank in an iteration, and as much received\n",
           number_size(cost->moved_bytes, moved));
    if (isnan(cost->mttkrp_seconds))
        return;
    printf(
        "iteration    about %.3g s of MTTKRP + %.3g s of solves + %.3g s of moving rows = %.3g s\n",
        cost->mttkrp_seconds, cost->solve_seconds, cost->move_seconds,
        cost->mttkrp_seconds + cost->solve_seconds + cost->move_seconds);
}

void info_ranks_free(struct info_ranks *r)
{
    process_grid_free(&r->grid);
}
