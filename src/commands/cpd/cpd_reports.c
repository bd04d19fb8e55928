#include "commands/cpd/cpd_reports.h"

#include "base/memory.h"
#include "base/number.h"

enum status cpd_reports_create(struct cpd_reports *r, int count, struct error *error)
{
    *r = (struct cpd_reports){.count = count};
    r->place = memory_zeros((size_t)count, sizeof *r->place, error);
    r->report = memory_zeros((size_t)count, sizeof *r->report, error);
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
void cpd_reports_show(struct progress *to, const struct cpd_reports *reports)
{
    progress_note(to, "rank host             GPU  threads      nonzeros    mttkrp    update "
                      "    moving      peak");
    for (int r = 0; r < reports->count; r++) {
        const struct rank_place *p = &reports->place[r];
        const struct rank_report *t = &reports->report[r].rank;
        char gpu[16] = "-", peak[NUMBER_SIZE_TEXT];
        if (p->device_bus[0])
            snprintf(gpu, sizeof gpu, "%d", p->device);
        progress_note(to, "%4d %-16.16s %4s %8d %13ju %7.3f s %7.3f s %8.3f s %9s", r, p->host, gpu,
                      p->threads, (uintmax_t)t->nnz, sum_of(t, OP_MTTKRP), sum_of(t, OP_UPDATE),
                      t->communication, number_size(reports->report[r].peak, peak));
    }
}

void cpd_reports_free(struct cpd_reports *r)
{
    memory_free(r->place);
    memory_free(r->report);
    *r = (struct cpd_reports){0};
}
