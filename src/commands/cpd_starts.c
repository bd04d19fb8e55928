#include "commands/cpd_starts.h"

#include <stdint.h>
#include <stdio.h>

static void show_start(struct progress *progress, const struct start_outcome *of, bool best)
{
    if (of->result.stop == CPALS_BREAKDOWN)
        progress_note(progress, "  %18ju %10d %11s %6s  broke down: %s", (uintmax_t)of->seed,
                      of->result.iterations, "-", "-", of->result.breakdown.message);
    else
        progress_note(progress, "  %18ju %10d %11.9f %6.4f  %s%s", (uintmax_t)of->seed,
                      of->result.iterations, of->result.fit, of->score,
                      cpals_stop_text(of->result.stop), best ? ", best" : "");
}

static void show_table(struct progress *progress, const struct starts *s)
{
    progress_note(progress, "                seed iterations         fit  score");
    for (int i = 0; i < s->made; i++)
        show_start(progress, &s->start[i], i == s->best);
}

/* What the scores mean, the gravest first. */
static void explain(struct progress *progress, const struct starts *s)
{
    const struct starts_agreement of = starts_agreement(s), *a = &of;
    if (a->agree == a->others)
        progress_note(progress,
                      "all starts%s lead to the same components (score %.2f or more): others would "
                      "hardly find better ones",
                      s->modelled < s->made ? " that came to a model" : "", STARTS_SAME);
    else if (a->different > 0)
        progress_note(progress,
                      "warning: %d of %d other starts fit as well (within %g %%) with other "
                      "components: the components of this rank are not unique; try a lower rank, "
                      "or a smaller --tol",
                      a->different, a->others, 100 * STARTS_EQUAL_FIT);
    else if (a->agree > 0)
        progress_note(progress,
                      "%d of %d other starts lead to the components of the best (score %.2f or "
                      "more), the rest to others that fit less",
                      a->agree, a->others, STARTS_SAME);
    else
        progress_note(progress,
                      "warning: no other start leads to the components of the best (score %.2f or "
                      "more): try more starts, more iterations, or a lower rank",
                      STARTS_SAME);
}

void cpd_tell_starts(struct progress *progress, const struct starts *s)
{
    if (s->asked < 2)
        return;
    show_table(progress, s);
    if (s->made < s->asked)
        progress_note(progress, "%d of %d starts were begun before the end of the run", s->made,
                      s->asked);
    if (s->modelled > 1)
        explain(progress, s);
}

void cpd_tell_core(struct progress *progress, const struct core_consistency *core)
{
    static const char *const why[CORE_STATES] = {
        [CORE_FEW_MODES] = "it takes three modes or more",
        [CORE_ZERO] = "a component is zero",
        [CORE_OVERFLOW] = "its numbers are more than a double holds",
        [CORE_ENDED] = "the run was ended before",
    };
    char text[CORE_TEXT];
    if (core->state == CORE_KNOWN) {
        core_consistency_text(core, text, sizeof text);
        progress_note(progress, "core consistency %s%s", text,
                      core->estimated ? " (estimated, with its standard error)" : "");
    }
    if (core->state == CORE_TOO_LARGE)
        progress_note(progress,
                      "core consistency not known: it is computed for %d components at most",
                      CORE_PASSES);
    else if (core->state == CORE_DEPENDENT)
        progress_note(progress, "core consistency not known: the columns of mode %d are dependent",
                      core->mode + 1);
    else if (why[core->state])
        progress_note(progress, "core consistency not known: %s", why[core->state]);
}
