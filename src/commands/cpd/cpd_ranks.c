#include "commands/cpd/cpd_ranks.h"

#include "base/memory.h"
#include "base/number.h"

enum status cpd_ranks_create(struct cpd_ranks *r, int count, struct error *error)
{
    *r = (struct cpd_ranks){.count = count};
    r->place = memory_zeros((size_t)count, sizeof *r->place, error);
    r->telling = memory_zeros((size_t)count, sizeof *r->telling, error);
    return error->status;
}

static double sum_of(const struct rank_report *r, enum operation op)
{
    double sum = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        sum += r->operation[op][n];
    return sum;
}

/* Ranks that are threads of one process have one peak, the process's. */
void cpd_ranks_show(struct progress *to, const struct cpd_ranks *ranks)
{
    progress_note(to, "rank host             GPU  threads      nonzeros    mttkrp    update "
                      "    moving      peak");
    for (int r = 0; r < ranks->count; r++) {
        const struct rank_place *p = &ranks->place[r];
        const struct rank_report *t = &ranks->telling[r].report;
        char gpu[16] = "-", peak[NUMBER_SIZE_TEXT];
        if (p->device_bus[0])
            snprintf(gpu, sizeof gpu, "%d", p->device);
        progress_note(to, "%4d %-16.16s %4s %8d %13ju %7.3f s %7.3f s %8.3f s %9s", r, p->host, gpu,
                      p->threads, (uintmax_t)t->nnz, sum_of(t, OP_MTTKRP), sum_of(t, OP_UPDATE),
                      t->communication, number_size(ranks->telling[r].peak, peak));
    }
}

void cpd_ranks_free(struct cpd_ranks *r)
{
    memory_free(r->place);
    memory_free(r->telling);
    *r = (struct cpd_ranks){0};
}
