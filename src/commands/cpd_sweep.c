/* The ranks of a sweep side by side. */
#include "commands/cpd_starts.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BAR 20 /* characters */

/* text (BAR + 1) = a bar as long as this part of its room, of 0 to 1. */
static void draw(char *text, double part)
{
    int length = (int)lround(BAR * fmin(fmax(part, 0), 1));
    memset(text, '.', BAR);
    memset(text, '#', (size_t)length);
    text[BAR] = '\0';
}

static void show_outcome(struct progress *progress, const struct rank_outcome *o)
{
    char fit[BAR + 1], core[BAR + 1] = "", percent[CORE_TEXT] = "-", agree[32] = "";
    if (o->failure.status != STATUS_OK) {
        progress_note(progress, "%7ju         - failed: %s", (uintmax_t)o->rank,
                      o->failure.message);
        return;
    }
    draw(fit, o->fit);
    if (o->core.state == CORE_KNOWN) {
        draw(core, o->core.percent / 100);
        core_consistency_text(&o->core, percent, sizeof percent);
    }
    if (o->agreement.others > 0)
        snprintf(agree, sizeof agree, "%d of %d", o->agreement.agree, o->agreement.others);
    progress_note(progress, "%7ju %9.6f %s %10s %-*s %s", (uintmax_t)o->rank, o->fit, fit, percent,
                  BAR, core, agree);
}

/* Whether some rank has had several starts to compare. */
static bool any_agreement(const struct rank_outcome *outcome, int count)
{
    int i = 0;
    while (i < count && outcome[i].agreement.others <= 0)
        i++;
    return i < count;
}

static bool any_model(const struct rank_outcome *outcome, int count)
{
    int i = 0;
    while (i < count && outcome[i].failure.status != STATUS_OK)
        i++;
    return i < count;
}

/* A choice of rank 1, whose core consistency is always 100, says nothing. */
static void suggest(struct progress *progress, const struct rank_outcome *outcome, int count,
                    const char *stem)
{
    int choice = rank_choice(outcome, count);
    const char *agree = any_agreement(outcome, count)
                            ? " and with which at least half of the other starts agree"
                            : "";
    if (choice < 0 || outcome[choice].rank == 1)
        progress_note(progress,
                      "no rank above 1 is suggested: none has a core consistency of %d or more%s",
                      RANK_CHOICE_CORE, agree);
    else
        progress_note(progress,
                      "rank %ju is suggested: the largest of these with a core consistency of %d "
                      "or more%s%s",
                      (uintmax_t)outcome[choice].rank, RANK_CHOICE_CORE, agree,
                      choice == count - 1 ? "; larger ones may do as well" : "");
    if (stem && choice >= 0 && outcome[choice].rank > 1)
        progress_note(progress, "the names of its files begin with %s.r%ju", stem,
                      (uintmax_t)outcome[choice].rank);
}

void cpd_tell_ranks(struct progress *progress, const struct rank_outcome *outcome, int count,
                    bool more, const char *stem)
{
    if (!any_model(outcome, count))
        return;
    progress_note(progress, "   rank       fit 0 to 1                     core 0 to 100%s",
                  any_agreement(outcome, count) ? "             starts that agree" : "");
    for (int i = 0; i < count; i++)
        show_outcome(progress, &outcome[i]);
    if (more)
        progress_note(progress, "not all ranks were tried before the end of the run");
    suggest(progress, outcome, count, stem);
}
