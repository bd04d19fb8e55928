#include "report/adjusted_p.h"

#include <math.h>
#include <stdlib.h>

#include "base/least.h"
#include "base/memory.h"

#define LEAST_ROOM 1024 /* p-values */

void p_values_begin(struct p_values *p, uint64_t most)
{
    *p = (struct p_values){.most = most, .rest = INFINITY};
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void sort(struct p_values *p)
{
    if (p->count > 0)
        qsort(p->log_p, p->count, sizeof *p->log_p, compare);
}

enum status p_values_add(struct p_values *p, const double *log_p, uint64_t count,
                         struct error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        p->below_one += log_p[i] < 0;
        if (!(log_p[i] < p->rest))
            continue;
        if (p->count == 2 * p->most) {
            sort(p);
            p->count = p->most;
            p->rest = p->log_p[p->most];
        }
        if (p->count == p->room) {
            const uint64_t room = least_of(2 * p->most, 2 * p->room + LEAST_ROOM);
            TRY(memory_resize(&p->log_p, room, sizeof *p->log_p, error));
            p->room = room;
        }
        p->log_p[p->count++] = log_p[i];
    }
    return STATUS_OK;
}

void p_values_leave(struct p_values *p, double log_p)
{
    p->rest = fmin(p->rest, log_p);
    p->open = true;
}

enum status p_values_adjust(struct p_values *p, double tests, struct error *error)
{
    double least = 0;
    sort(p);
    p->exact = p->rest + log(tests / (p->open ? tests : fmax(1, (double)p->below_one)));
    p->adjusted = memory_array(p->count, sizeof *p->adjusted, error);
    TRY(error->status);
    for (uint64_t i = p->count; i-- > 0;) {
        least = fmin(least, p->log_p[i] + log(tests / (double)(i + 1)));
        p->adjusted[i] = least;
    }
    return STATUS_OK;
}

/* How many entries of an ascending array are at most x. */
static uint64_t count_up_to(const double *a, uint64_t count, double x)
{
    uint64_t first = 0, end = count;
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        if (a[middle] <= x)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

double p_values_adjusted(const struct p_values *p, double log_p)
{
    const uint64_t rank = count_up_to(p->log_p, p->count, log_p);
    return rank > 0 ? p->adjusted[rank - 1] : log_p;
}

uint64_t p_values_alarms(const struct p_values *p, double level)
{
    return count_up_to(p->adjusted, p->count, log(level));
}

void p_values_free(struct p_values *p)
{
    memory_free(p->log_p, p->adjusted);
    *p = (struct p_values){0};
}
