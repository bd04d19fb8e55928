#include "commands/cpd/cpd_range.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/fit_text.h"

#define BAR        20 /* characters */
#define AGREE_HEAD "starts that agree"

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
    int used = snprintf(text, 64, "%10.4g %-8s", held->value, error);
    if (o->ridge > 0)
        snprintf(text + used, 64 - (size_t)used, " %8g", o->ridge);
}

/* text (64) = the score of the halves of the tensor, and how many components are alike. */
static void halves_text(const struct rank_outcome *o, char *text)
{
    const struct halves_outcome *h = &o->halves;
    if (h->known)
        snprintf(text, 64, " %.4f, %ju of %ju", h->score, (uintmax_t)h->alike, (uintmax_t)o->rank);
    else
        snprintf(text, 64, "%s", h->asked ? " -" : "");
}

/* Which columns the table has. */
struct columns {
    bool core; /* the core consistency, unless entries are held out  */
    int width; /* of the starts that agree, where a column follows */
};

static void show_outcome(struct progress *to, const struct rank_outcome *o,
                         const struct columns *columns)
{
    const struct cpals_result *r = &o->result;
    char bar[BAR + 1], core[BAR + 1] = "", held[64] = "", percent[CORE_TEXT] = "-", agree[32] = "",
                                  fit[FIT_TEXT], halves[64];
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
    halves_text(o, halves);
    if (r->held.entries > 0) { /* there is no core consistency */
        held_text(o, held);
        progress_note(to, "%7ju %9s %s %s %-*s%s", (uintmax_t)o->rank, fit, bar, held,
                      columns->width, agree, halves);
    } else if (columns->core) {
        progress_note(to, "%7ju %9s %s %10s %-*s %-*s%s", (uintmax_t)o->rank, fit, bar, percent,
                      BAR, core, columns->width, agree, halves);
    } else {
        progress_note(to, "%7ju %9s %s %-*s%s", (uintmax_t)o->rank, fit, bar, columns->width, agree,
                      halves);
    }
}

static void show_head(struct progress *to, const struct rank_outcome *outcome, int count)
{
    const char *agree = rank_any_agreement(outcome, count) ? AGREE_HEAD : "";
    const char *halves = rank_any_halves(outcome, count) ? " halves: score, alike" : "";
    bool ridge = false;
    for (int i = 0; i < count; i++)
        ridge = ridge || outcome[i].ridge > 0;
    if (rank_any_held(outcome, count))
        progress_note(to, "   rank       fit 0 to 1               held-out error     %s%s%s",
                      ridge ? "   ridge " : "", agree, halves);
    else if (!rank_any_core(outcome, count))
        progress_note(to, "   rank       fit 0 to 1           %s%s", agree, halves);
    else
        progress_note(to, "   rank       fit 0 to 1                     core 0 to 100%*s%s%s",
                      *agree || *halves ? 13 : 0, "", agree, halves);
}

void cpd_range_show(struct progress *to, const struct rank_outcome *outcome, int count, bool more,
                    const char *stem)
{
    char suggestion[RANK_CHOICE_TEXT];
    const bool padded = rank_any_agreement(outcome, count) && rank_any_halves(outcome, count);
    const struct columns columns = {.core = rank_any_core(outcome, count),
                                    .width = padded ? (int)strlen(AGREE_HEAD) : 0};
    if (!rank_any_model(outcome, count))
        return;
    show_head(to, outcome, count);
    for (int i = 0; i < count; i++)
        show_outcome(to, &outcome[i], &columns);
    if (more)
        progress_note(to, "not all ranks were tried before the end of the run");
    uint64_t rank = rank_suggestion(outcome, count, suggestion);
    progress_note(to, "%s", suggestion);
    if (stem && rank > 0)
        progress_note(to, "the names of its files begin with %s.r%ju", stem, (uintmax_t)rank);
}
