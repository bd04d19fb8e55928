#include "commands/cpd/cpd_range.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/fit_text.h"

#define BAR 20 /* characters */

/* text (BAR + 1) = a bar that is filled to this part, 0 to 1. */
static void draw(char *text, double part)
{
    int length = (int)lround(BAR * fmin(fmax(part, 0), 1));
    memset(text, '.', BAR);
    memset(text, '#', (size_t)length);
    text[BAR] = '\0';
}

static void show_outcome(struct progress *to, const struct rank_outcome *o)
{
    const struct cpals_result *r = &o->result;
    char bar[BAR + 1], core[BAR + 1] = "", percent[CORE_TEXT] = "-", agree[32] = "", fit[FIT_TEXT];
    if (o->failure.status != STATUS_OK) {
        progress_note(to, "%7ju         - failed: %s", (uintmax_t)o->rank, o->failure.message);
        return;
    }
    draw(bar, r->fit);
    if (r->core.state == CORE_KNOWN) {
        draw(core, r->core.percent / 100);
        core_consistency_text(&r->core, percent, sizeof percent);
    }
    if (o->agreement.others > 0)
        snprintf(agree, sizeof agree, "%d of %d", o->agreement.agree, o->agreement.others);
    progress_note(to, "%7ju %9s %s %10s %-*s %s", (uintmax_t)o->rank,
                  fit_text(r->fit, r->trust.noise, 6, fit), bar, percent, BAR, core, agree);
}

void cpd_range_show(struct progress *to, const struct rank_outcome *outcome, int count, bool more,
                    const char *stem)
{
    char suggestion[RANK_CHOICE_TEXT];
    if (!rank_any_model(outcome, count))
        return;
    progress_note(to, "   rank       fit 0 to 1                     core 0 to 100%s",
                  rank_any_agreement(outcome, count) ? "             starts that agree" : "");
    for (int i = 0; i < count; i++)
        show_outcome(to, &outcome[i]);
    if (more)
        progress_note(to, "not all ranks were tried before the end of the run");
    uint64_t rank = rank_suggestion(outcome, count, suggestion);
    progress_note(to, "%s", suggestion);
    if (stem && rank > 0)
        progress_note(to, "the names of its files begin with %s.r%ju", stem, (uintmax_t)rank);
}
