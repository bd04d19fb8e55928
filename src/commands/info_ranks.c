#include "commands/info_ranks.h"

#include <omp.h>
#include <string.h>

#include "base/machine.h"
#include "base/number.h"
#include "plan/row_cuts.h"

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
    printf("grid         %s, %s\n", name, r->is_chosen ? "the cheapest by the model" : "as given");
    printf("fullest rank %s%ju nonzeros, %.1f %% above the mean\n", r->is_estimated ? "about " : "",
           (uintmax_t)cost->largest_nnz, 100 * (cost->imbalance > 0 ? cost->imbalance : 0));
    printf("rows         ");
    cmd_print_lengths(&rows);
    printf(" in a rank at most\n");
    printf("moves        %s sent by a rank in an iteration, and as much received\n",
           number_size(cost->moved_bytes, moved));
    printf(
        "iteration    about %.3g s of MTTKRP + %.3g s of solves + %.3g s of moving rows = %.3g s\n",
        cost->mttkrp_seconds, cost->solve_seconds, cost->move_seconds,
        cost->mttkrp_seconds + cost->solve_seconds + cost->move_seconds);
}

void info_ranks_free(struct info_ranks *r)
{
    process_grid_free(&r->grid);
}
