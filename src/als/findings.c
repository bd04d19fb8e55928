#include "als/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

#define FIRST_ROOM 8

const char *finding_name(enum finding_kind kind)
{
    static const char *const name[FINDING_KINDS] = {
        [FINDING_VECTOR] = "vector",
        [FINDING_SHORT_MODE] = "short_mode",
        [FINDING_DROPPED_ZEROS] = "dropped_zeros",
        [FINDING_EMPTY_SLICES] = "empty_slices",
        [FINDING_FEW_ENTRIES] = "few_entries",
        [FINDING_RANDOM_MODE] = "random_mode",
        [FINDING_TOLERANCE] = "tolerance",
        [FINDING_RESUMED] = "resumed",
        [FINDING_NOT_CONVERGED] = "not_converged",
        [FINDING_FIT_CHECKED] = "fit_checked",
        [FINDING_ROUNDING] = "rounding",
        [FINDING_FIT_FELL] = "fit_fell",
        [FINDING_BEST_EARLIER] = "best_earlier",
        [FINDING_HELD_OUT] = "held_out",
        [FINDING_UNTESTED] = "untested",
        [FINDING_DEGENERATE] = "degenerate",
        [FINDING_ZERO] = "zero",
        [FINDING_NO_MOMENTUM] = "no_momentum",
        [FINDING_CORE] = "core_consistency",
        [FINDING_CORE_UNKNOWN] = "core_consistency_unknown",
        [FINDING_ONE_START] = "one_start",
        [FINDING_STARTS_CUT] = "starts_cut",
        [FINDING_STARTS_AGREE] = "starts_agree",
        [FINDING_STARTS_DIFFER] = "starts_differ",
        [FINDING_STARTS_ALONE] = "starts_alone",
        [FINDING_STARTS_AMBIGUOUS] = "starts_ambiguous",
        [FINDING_STARTS_SPREAD] = "starts_spread",
        [FINDING_HALVES_ALIKE] = "halves_alike",
        [FINDING_HALVES_DIFFER] = "halves_differ",
        [FINDING_HALVES_UNKNOWN] = "halves_unknown",
    };
    return name[kind];
}

static enum status make_room(struct findings *f)
{
    size_t room = f->room ? 2 * f->room : FIRST_ROOM;
    if (f->count < f->room)
        return STATUS_OK;
    if (memory_resize(&f->finding, room, sizeof *f->finding, &f->error) != STATUS_OK)
        return f->error.status;
    f->room = room;
    return STATUS_OK;
}

void findings_add(struct findings *f, enum finding_kind kind, bool warning, const char *format, ...)
{
    char sentence[FINDING_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (f->error.status != STATUS_OK)
        return;
    if (make_room(f) != STATUS_OK)
        return;
    struct finding of = {kind, warning, memory_text(&f->error, "%s", sentence), NULL};
    if (of.sentence)
        f->finding[f->count++] = of;
}

void findings_advise(struct findings *f, const char *format, ...)
{
    char advice[FINDING_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(advice, sizeof advice, format, args);
    va_end(args);
    if (f->error.status == STATUS_OK)
        f->finding[f->count - 1].advice = memory_text(&f->error, "%s", advice);
}

const char *finding_text(const struct finding *finding, char *text)
{
    snprintf(text, FINDING_TEXT, "%s%s%s%s", finding->warning ? "warning: " : "", finding->sentence,
             finding->advice ? "; " : "", finding->advice ? finding->advice : "");
    return text;
}

void findings_free(struct findings *f)
{
    for (size_t i = 0; i < f->count; i++) {
        memory_free(f->finding[i].sentence);
        memory_free(f->finding[i].advice);
    }
    memory_free(f->finding);
    *f = (struct findings){0};
}
