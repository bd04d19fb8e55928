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

/* text (64) = the held-out error with its standard error, and a ridge that was chosen. */
static void held_text(const struct rank_outcome *o, char *text)
{
    const struct held_error *held = &o->result.held;
    char error[32];
    snprintf(error, sizeof error, "(%.1g)", held->error);
    int used = snprintf(text, 64, "%10.4g %-8s", held->rmse, error);
    if (o->ridge > 0)
        snprintf(text + used, 64 - (size_t)used, " %8g", o->ridge);
}

static void show_outcome(struct progress *to, const struct rank_outcome *o)
{
    const struct cpals_result *r = &o->result;
    char bar[BAR + 1], core[BAR + 1] = "", held[64] = "", percent[CORE_TEXT] = "-", agree[32] = "",
                                  fit[FIT_TEXT];
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
    fit_text(r->fit, r->trust.noise, 6, fit);
    if (r->held.entries > 0) { /* there is no core consistency */
        held_text(o, held);
        progress_note(to, "%7ju %9s %s %s %s", (uintmax_t)o->rank, fit, bar, held, agree);
    } else {
        progress_note(to, "%7ju %9s %s %10s %-*s %s", (uintmax_t)o->rank, fit, bar, percent, BAR,
                      core, agree);
    }
}

static void show_head(struct progress *to, const struct rank_outcome *outcome, int count)
{
    const bool agree = rank_any_agreement(outcome, count);
    bool ridge = false;
    for (int i = 0; i < count; i++)
        ridge = ridge || outcome[i].ridge > 0;
    if (rank_any_held(outcome, count))
        progress_note(to, "   rank       fit 0 to 1               held-out error     %s%s",
                      ridge ? "   ridge " : "", agree ? "starts that agree" : "");
    else
        progress_note(to, "   rank       fit 0 to 1                     core 0 to 100%s",
                      agree ? "             starts that agree" : "");
}

void cpd_range_show(struct progress *to, const struct rank_outcome *outcome, int count, bool more,
                    const char *stem)
{
    char suggestion[RANK_CHOICE_TEXT];
    if (!rank_any_model(outcome, count))
        return;
    show_head(to, outcome, count);
    for (int i = 0; i < count; i++)
        show_outcome(to, &outcome[i]);
    if (more)
        progress_note(to, "not all ranks were tried before the end of the run");
    uint64_t rank = rank_suggestion(outcome, count, suggestion);
    progress_note(to, "%s", suggestion);
    if (stem && rank > 0)
        progress_note(to, "the names of its files begin with %s.r%ju", stem, (uintmax_t)rank);
}
