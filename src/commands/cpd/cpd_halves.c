#include "commands/cpd/cpd_halves.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define ROW_TEXT (32 + 12 * MAX_ORDER)

static void show_component(struct progress *to, const struct split_half *s, uint64_t r)
{
    const int modes = s->match.order;
    const struct half_partners *of = &s->component[r];
    const double *cosine = s->match.cosine + of->pair * (uint64_t)modes;
    char text[ROW_TEXT] = "";
    for (int n = 0, used = 0; n < modes; n++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %10.4f", fabs(cosine[n]));
    progress_note(to, "  %9ju %10.4f %10.4f %10.4f%s%s", (uintmax_t)r + 1,
                  s->match.pair[of->pair].score, of->with[0], of->with[1], text,
                  of->score < HALVES_ALIKE ? "  differs" : "");
}

void cpd_halves_show(struct progress *to, const struct split_half *s)
{
    char modes[ROW_TEXT] = "", mode[32];
    if (s->halves.mode == 0 || s->state != HALVES_COMPARED)
        return;
    for (int n = 0, used = 0; n < s->match.order; n++) {
        snprintf(mode, sizeof mode, "mode %d", s->match.mode[n] + 1);
        used += snprintf(modes + used, sizeof modes - (size_t)used, " %10s", mode);
    }
    progress_note(to, "  component     halves     half 1     half 2%s", modes);
    for (uint64_t r = 0; r < s->match.pairs; r++)
        show_component(to, s, r);
}

static void put_half(struct json *j, const struct split_half *s, int k)
{
    const struct starts *starts = &s->starts[k];
    const struct cpals_result *best = &starts->start[starts->best].result;
    json_put_object(j, NULL);
    json_put_unsigned(j, "nonzeros", s->nonzeros[k]);
    json_put_number(j, "fit", starts->modelled > 0 ? best->fit : NAN);
    json_put_unsigned(j, "iterations", (uint64_t)best->iterations);
    json_end(j);
}

/* The scores of the components of the whole. */
static void put_scores(struct json *j, const struct split_half *s)
{
    json_put_array(j, "components");
    for (uint64_t r = 0; r < s->match.pairs; r++)
        json_put_number(j, NULL, s->component[r].score);
    json_end(j);
}

void cpd_halves_put(struct json *j, const struct split_half *s)
{
    const bool known = s->state == HALVES_COMPARED;
    if (s->halves.mode == 0)
        return;
    json_put_object(j, "split_half");
    json_put_unsigned(j, "mode", (uint64_t)s->halves.mode);
    json_put_unsigned(j, "seed", s->halves.seed);
    json_put_array(j, "halves");
    put_half(j, s, 0);
    put_half(j, s, 1);
    json_end(j);
    json_put_number(j, "score", known ? s->match.score : NAN);
    if (known) {
        json_put_unsigned(j, "alike", s->alike);
        put_scores(j, s);
    }
    json_end(j);
}

struct halves_outcome cpd_halves_outcome(const struct split_half *s)
{
    return (struct halves_outcome){.asked = s->halves.mode > 0,
                                   .known = s->halves.mode > 0 && s->state == HALVES_COMPARED,
                                   .score = s->match.score,
                                   .alike = s->alike};
}
