#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/to_fit.h"

const double to_fit_level[TO_FIT_LEVELS] = {1e-3, 1e-4, 1e-6};
const double to_fit_gap[TO_FIT_GAPS] = {1e-3, 1e-4};

static void find_best(struct to_fit *t)
{
    for (int s = 0; s < t->starts; s++) {
        t->best[s] = t->way[0].run[s].fit;
        for (int w = 1; w < t->ways; w++)
            t->best[s] = fmax(t->best[s], t->way[w].run[s].fit);
    }
}

static void find_level(struct to_fit_run *run, int level, double best)
{
    const struct fit_trace *trace = &run->trace;
    run->reached[level] = 0;
    run->reached_seconds[level] = INFINITY;
    if (run->off_by > to_fit_level[level])
        return;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->fit[i] >= best - to_fit_level[level]) {
            run->reached[level] = (int)i + 1;
            run->reached_seconds[level] = trace->seconds[i];
            return;
        }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the numbers, which may be INFINITY. */
static double median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, by_value);
    double below = value[(count - 1) / 2], above = value[count / 2];
    return below + (below < above ? (above - below) / 2 : 0); /* no difference of infinities */
}

static void summarise_level(struct to_fit_way *way, int level, int starts, double *room)
{
    struct to_fit_summary *s = &way->summary;
    s->never[level] = 0;
    for (int i = 0; i < starts; i++) {
        int reached = way->run[i].reached[level];
        s->never[level] += reached == 0;
        room[i] = reached > 0 ? (double)reached : (double)INFINITY;
    }
    s->iterations[level] = median(room, starts);
    for (int i = 0; i < starts; i++)
        room[i] = way->run[i].reached_seconds[level];
    s->seconds[level] = median(room, starts);
}

static void compare(struct to_fit_way *way, const struct to_fit_way *first, int starts)
{
    struct to_fit_summary *s = &way->summary;
    for (int g = 0; g < TO_FIT_GAPS; g++) {
        s->worse[g] = s->better[g] = 0;
        for (int i = 0; i < starts; i++) {
            s->worse[g] += way->run[i].fit < first->run[i].fit - to_fit_gap[g];
            s->better[g] += way->run[i].fit > first->run[i].fit + to_fit_gap[g];
        }
    }
}

enum status to_fit_reach(struct to_fit *t, struct error *error)
{
    double *room = memory_array((size_t)t->starts, sizeof *room, error);
    if (!room)
        return error->status;
    find_best(t);
    for (int w = 0; w < t->ways; w++) {
        for (int level = 0; level < TO_FIT_LEVELS; level++) {
            for (int s = 0; s < t->starts; s++)
                find_level(&t->way[w].run[s], level, t->best[s]);
            summarise_level(&t->way[w], level, t->starts, room);
        }
        compare(&t->way[w], &t->way[0], t->starts);
    }
    memory_free(room);
    return STATUS_OK;
}
