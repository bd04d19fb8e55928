#include <stddef.h>

#include "bench/bench.h"
#include "plan/process_grid.h"

#define NUMBER_TEXT 16 /* bytes of a number's text */

/* About four digits: "0.1782", "17.82", "1782". */
static const char *short_number(double value, char *text)
{
    int decimals = value < 1 ? 4 : value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
    snprintf(text, NUMBER_TEXT, "%.*f", decimals, value);
    return text;
}

/* A space and the number, right-aligned, in a column of `width`. */
static void show_number(FILE *stream, int width, double value)
{
    char text[NUMBER_TEXT];
    fprintf(stream, " %*s", width - 1, short_number(value, text));
}

static void show_limits(FILE *stream, const struct bench_result *r)
{
    fprintf(stream, "limits       copy %.4g GB/s, cache %.4g GB/s",
            r->rates.copy_bytes_per_second / 1e9, r->rates.cache_bytes_per_second / 1e9);
    if (r->rates.upload_bytes_per_second > 0)
        fprintf(stream, ", upload %.4g GB/s", r->rates.upload_bytes_per_second / 1e9);
    fprintf(stream, "\n\n%4s %12s %12s %15s %10s %7s\n", "mode", "length", "gather GB/s",
            "atomic Mrows/s", "floor ms", "limit");
    for (int n = 0; n < r->shape.order; n++) {
        fprintf(stream, "%4d %12ju", n + 1, (uintmax_t)r->shape.dims[n]);
        show_number(stream, 13, r->rates.gather_bytes_per_second[n] / 1e9);
        show_number(stream, 16, r->rates.atomic_rows_per_second[n] / 1e6);
        show_number(stream, 11, 1e3 * bench_floor(r, n).seconds);
        fprintf(stream, " %7s\n", bench_floor(r, n).name);
    }
}

/* The measurements on backend number i: one backend for each conflict resolution, then that of ALS.
 */
static const struct bench_resolution *opened(const struct bench_result *r, int i)
{
    return i < r->resolutions ? &r->resolution[i] : &r->als.own;
}

static void show_mttkrp(FILE *stream, const struct bench_result *r)
{
    fprintf(stream, "\n%17s%s\n%4s %-12s%8s%8s%8s%8s%8s%8s%7s %s\n", "",
            "  MTTKRP, ms: least, quartiles", "mode", "conflict", "least", "lower", "median",
            "upper", "Mnnz/s", "GB/s", "floor", "kernel");
    for (int n = 0; n < r->shape.order; n++)
        for (int i = 0; i <= r->resolutions; i++) {
            const struct bench_series *s = &opened(r, i)->mode[n];
            const struct bench_statistics *t = &s->statistics;
            if (!s->measured)
                continue;
            fprintf(stream, "%4d %-12s", n + 1, opened(r, i)->name);
            show_number(stream, 8, 1e3 * t->least);
            show_number(stream, 8, 1e3 * t->lower);
            show_number(stream, 8, 1e3 * t->median);
            show_number(stream, 8, 1e3 * t->upper);
            show_number(stream, 8, (double)r->nnz / t->median / 1e6);
            show_number(stream, 8, bench_gathered_bytes(r) / t->median / 1e9);
            fprintf(stream, " %4.0f %% %s\n", 100 * bench_floor(r, n).seconds / t->median,
                    s->variant[0] ? s->variant : "-");
        }
    for (int i = 0; i < r->resolutions; i++) {
        const struct bench_resolution *c = &r->resolution[i];
        bool any = false;
        for (int n = 0; n < r->shape.order; n++)
            any |= c->mode[n].measured;
        if (!any)
            fprintf(stream, "%s: %s\n", c->name,
                    !c->fits                              ? "does not fit into memory"
                    : conflict_traits[c->conflict].copied ? "no mode is short enough, or "
                                                            "memory has no room for copies"
                                                          : "memory has room for one copy only");
    }
}

/* The bytes that each MTTKRP of a streamed tensor moves over the bus, compared with the rate of a
 * plain transfer. Prints nothing if the tensor was not streamed. */
static void show_bus(FILE *stream, const struct bench_result *r)
{
    bool head = false;
    for (int n = 0; n < r->shape.order; n++)
        for (int i = 0; i <= r->resolutions; i++) {
            const struct bench_series *s = &opened(r, i)->mode[n];
            if (!s->measured || s->bus_bytes == 0)
                continue;
            if (!head)
                fprintf(stream, "\n%4s %-12s %18s %8s %18s\n", "mode", "conflict",
                        "bytes over the bus", "GB/s", "of the pinned rate");
            head = true;
            double rate = (double)s->bus_bytes / s->statistics.median;
            fprintf(stream, "%4d %-12s %18ju", n + 1, opened(r, i)->name, (uintmax_t)s->bus_bytes);
            show_number(stream, 9, rate / 1e9);
            fprintf(stream, " %16.1f %%\n", 100 * rate / r->rates.upload_bytes_per_second);
        }
}

#define SUM SIZE_MAX /* in place of a member: all stages together */

/* A stage of opening: that at this offset in a struct backend_seconds, or SUM. */
static double stage_seconds(const struct backend_seconds *build, size_t at)
{
    return at == SUM ? backend_build_seconds(build)
                     : *(const double *)(const void *)((const char *)build + at);
}

/* Prints a row with the time of one stage on every backend, unless no backend had the stage. */
static void show_stage(FILE *stream, const struct bench_result *r, const char *name, size_t at)
{
    bool any = false;
    for (int i = 0; i <= r->resolutions; i++)
        any |= stage_seconds(&opened(r, i)->build, at) > 0;
    if (!any)
        return;
    fprintf(stream, "  %-11s", name);
    for (int i = 0; i <= r->resolutions; i++) {
        double spent = stage_seconds(&opened(r, i)->build, at);
        if (spent > 0)
            show_number(stream, 14, 1e3 * spent);
        else if (opened(r, i)->open_seconds > 0)
            fprintf(stream, "%14s", "-");
    }
    fputc('\n', stream);
}

static void show_build(FILE *stream, const struct bench_result *r)
{
    fprintf(stream, "\nbuilding, ms ");
    for (int i = 0; i <= r->resolutions; i++)
        if (opened(r, i)->open_seconds > 0)
            fprintf(stream, "%14s", opened(r, i)->name);
    fputc('\n', stream);
    show_stage(stream, r, "upload", offsetof(struct backend_seconds, upload));
    show_stage(stream, r, "presort", offsetof(struct backend_seconds, presort));
    show_stage(stream, r, "alto", offsetof(struct backend_seconds, alto));
    for (int n = 0; n < r->shape.order; n++) {
        char name[2 * NUMBER_TEXT];
        snprintf(name, sizeof name, "ordering %d", n + 1);
        show_stage(stream, r, name,
                   offsetof(struct backend_seconds, replica) + (size_t)n * sizeof(double));
    }
    show_stage(stream, r, "grouping", offsetof(struct backend_seconds, grouping));
    show_stage(stream, r, "sum", SUM);
    if (r->rates.upload_bytes_per_second <= 0)
        return;
    fprintf(stream, "  %-11s", "/ transfer");
    for (int i = 0; i <= r->resolutions; i++)
        if (opened(r, i)->open_seconds > 0)
            show_number(stream, 14,
                        backend_build_seconds(&opened(r, i)->build) / bench_transfer(r));
    fprintf(stream, "\n");
}

static void show_als(FILE *stream, const struct bench_result *r)
{
    static const enum operation shown[] = {OP_MTTKRP, OP_UPDATE, OP_FIT};
    const struct bench_als *als = &r->als;
    const struct bench_statistics *t = &als->statistics;
    char median[NUMBER_TEXT], least[NUMBER_TEXT], lower[NUMBER_TEXT], upper[NUMBER_TEXT];
    double mean = 0, rest, mttkrp = bench_als_seconds(als, OP_MTTKRP);
    for (uint64_t i = 0; i < als->count; i++)
        mean += als->seconds[i] / (double)als->count;
    rest = mean;
    fprintf(stream,
            "\nALS iteration: median %s ms (least %s, quartiles %s and %s; %ju iterations)\n",
            short_number(1e3 * t->median, median), short_number(1e3 * t->least, least),
            short_number(1e3 * t->lower, lower), short_number(1e3 * t->upper, upper),
            (uintmax_t)als->count);
    if (als->built.plan.streamed)
        fprintf(stream, "  streamed from host memory, %ju nonzeros at a time\n",
                (uintmax_t)als->built.plan.batch_nnz);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        double seconds = bench_als_seconds(als, shown[i]);
        rest -= seconds;
        fprintf(stream, "  %-11s", operation_name(shown[i]));
        show_number(stream, 10, 1e3 * seconds);
        fprintf(stream, " ms %5.1f %%\n", 100 * seconds / mean);
    }
    fprintf(stream, "  %-11s", "other");
    show_number(stream, 10, 1e3 * rest);
    fprintf(stream, " ms %5.1f %%\n  on average %.2f times its MTTKRPs\n", 100 * rest / mean,
            mean / mttkrp);
}

void bench_table(FILE *stream, const struct bench_result *r)
{
    show_limits(stream, r);
    show_mttkrp(stream, r);
    show_bus(stream, r);
    show_build(stream, r);
    show_als(stream, r);
}

void bench_table_ranks(FILE *stream, const struct bench_ranks *ranks, int order)
{
    char name[128];
    process_grid_name(ranks->parts, order, name, sizeof name);
    fprintf(stream,
            "\n%d ranks, grid %s; the fullest has %.2f %% more nonzeros than the mean\n%4s %14s",
            ranks->ranks, name, 100 * ranks->imbalance, "rank", "nonzeros");
    for (int n = 0; n < order; n++)
        fprintf(stream, " mttkrp %d", n + 1);
    fprintf(stream, "   moving, ms an iteration\n");
    for (int k = 0; k < ranks->ranks; k++) {
        fprintf(stream, "%4d %14ju", k, (uintmax_t)ranks->rank[k].nnz);
        for (int n = 0; n < order; n++)
            show_number(stream, 9, 1e3 * ranks->rank[k].mttkrp[n]);
        show_number(stream, 9, 1e3 * ranks->rank[k].communication);
        fputc('\n', stream);
    }
    fprintf(stream, "slowest rank of each mode: MTTKRP");
    show_number(stream, 9, 1e3 * bench_ranks_mttkrp(ranks, order));
    fprintf(stream, " ms; the model says");
    show_number(stream, 9, 1e3 * ranks->cost.mttkrp_seconds);
    fprintf(stream, " ms, solves");
    show_number(stream, 9, 1e3 * ranks->cost.solve_seconds);
    fprintf(stream, " ms, moving rows");
    show_number(stream, 9, 1e3 * ranks->cost.move_seconds);
    fprintf(stream, " ms\nreading %.3f s, counting and exchanging %.3f s\n", ranks->read_seconds,
            ranks->exchange_seconds);
}
