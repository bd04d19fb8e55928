#include <math.h>

#include "bench/to_fit_show.h"
#include "plan/process_grid.h"

#define NUMBER_TEXT 16 /* bytes of a number's text */

/* About four digits: "0.0012", "17.82", "1782"; "never" for INFINITY. */
static const char *short_number(double value, char *text)
{
    int decimals = value < 10 ? 4 : value < 100 ? 2 : value < 1000 ? 1 : 0;
    if (isinf(value))
        snprintf(text, NUMBER_TEXT, "never");
    else
        snprintf(text, NUMBER_TEXT, "%.*f", decimals, value);
    return text;
}

/* Medians of an even number of runs may lie halfway between whole numbers. */
static const char *count_number(double value, char *text)
{
    if (isinf(value))
        return short_number(value, text);
    snprintf(text, NUMBER_TEXT, "%.5g", value);
    return text;
}

/* " 1e-3", for powers of ten. */
static void show_power(FILE *stream, double value)
{
    fprintf(stream, " 1e%.0f", log10(value));
}

static void show_way(FILE *stream, const struct to_fit_way *way)
{
    const struct to_fit_summary *s = &way->summary;
    char seconds[NUMBER_TEXT], iterations[NUMBER_TEXT];
    fprintf(stream, "%-18s", way->way->name);
    for (int level = 0; level < TO_FIT_LEVELS; level++)
        fprintf(stream, "  %9s %6s", short_number(s->seconds[level], seconds),
                count_number(s->iterations[level], iterations));
    fprintf(stream, "   ");
    for (int level = 0; level < TO_FIT_LEVELS; level++)
        fprintf(stream, " %4d", s->never[level]);
    fprintf(stream, "\n");
}

static void show_medians(FILE *stream, const struct to_fit *t)
{
    fprintf(stream,
            "\nMedians of %d start%s until the fit is near the best of all ways from the same "
            "start, and\nhow many runs never came that near:\n\n%-18s",
            t->starts, t->starts == 1 ? "" : "s", "");
    for (int level = 0; level < TO_FIT_LEVELS; level++)
        fprintf(stream, "       within 1e%.0f", log10(to_fit_level[level]));
    fprintf(stream, "    never within\n%-18s", "way");
    for (int level = 0; level < TO_FIT_LEVELS; level++)
        fprintf(stream, "  %9s %6s", "seconds", "iter.");
    fprintf(stream, "   ");
    for (int level = 0; level < TO_FIT_LEVELS; level++)
        show_power(stream, to_fit_level[level]);
    fprintf(stream, "\n");
    for (int w = 0; w < t->ways; w++)
        show_way(stream, &t->way[w]);
}

static void show_answers(FILE *stream, const struct to_fit *t)
{
    if (t->ways < 2)
        return;
    fprintf(stream,
            "\nRuns whose last fit differs from that of \"%s\" from the same start:\n\n%-18s",
            t->way[0].way->name, "");
    fprintf(stream, "      worse by   better by\n%-18s", "way");
    for (int i = 0; i < 2; i++) {
        fprintf(stream, "  ");
        for (int g = 0; g < TO_FIT_GAPS; g++)
            show_power(stream, to_fit_gap[g]);
    }
    fprintf(stream, "\n");
    for (int w = 1; w < t->ways; w++) {
        const struct to_fit_summary *s = &t->way[w].summary;
        fprintf(stream, "%-18s  ", t->way[w].way->name);
        for (int g = 0; g < TO_FIT_GAPS; g++)
            fprintf(stream, " %4d", s->worse[g]);
        fprintf(stream, "  ");
        for (int g = 0; g < TO_FIT_GAPS; g++)
            fprintf(stream, " %4d", s->better[g]);
        fprintf(stream, "\n");
    }
}

static void show_grid(FILE *stream, const struct to_fit *t)
{
    char name[128];
    if (t->ranks == 0)
        return;
    process_grid_name(t->parts, t->shape.order, name, sizeof name);
    fprintf(stream, "\n%d ranks, grid %s\n", t->ranks, name);
}

void to_fit_table(FILE *stream, const struct to_fit *t)
{
    show_medians(stream, t);
    show_answers(stream, t);
    show_grid(stream, t);
}
