#include "commands/cpd/cpd_starts.h"

#include <stdint.h>
#include <stdio.h>

#include "model/fit_text.h"

static void show_start(struct progress *to, const struct start_outcome *of, bool best)
{
    const struct cpals_result *r = &of->result;
    char fit[FIT_TEXT], held[32] = "";
    if (r->held.entries > 0)
        snprintf(held, sizeof held, "%10.4g  ", r->held.value);
    if (r->stop == CPALS_BREAKDOWN)
        progress_note(to, "  %18ju %10d %11s %6s  broke down: %s", (uintmax_t)of->seed,
                      r->iterations, "-", "-", r->breakdown.message);
    else
        progress_note(to, "  %18ju %10d %11s %6.4f  %s%s%s", (uintmax_t)of->seed, r->iterations,
                      fit_text(r->fit, r->trust.noise, 9, fit), of->score, held,
                      cpals_stop_text(r->stop), best ? ", best" : "");
}

void cpd_starts_show(struct progress *to, const struct starts *s)
{
    if (s->asked < 2)
        return;
    progress_note(to, "                seed iterations         fit  score%s",
                  s->start[s->best].result.held.entries > 0 ? "  held-out error" : "");
    for (int i = 0; i < s->made; i++)
        show_start(to, &s->start[i], i == s->best);
}
