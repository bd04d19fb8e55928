#include "report/mode_view.h"

#include <stdbool.h>

#include "report/peaks.h"

static enum view_kind choose_kind(const struct ktensor *model, int n, enum view_order order)
{
    uint64_t rows = model->shape.dims[n];
    if (rows <= VIEW_BARS)
        return VIEW_AS_BARS;
    bool ordered = order == VIEW_ORDERED;
    if (order == VIEW_FIND_OUT)
        ordered = profile_smoothness(model->factor[n], rows, model->rank) >= VIEW_SMOOTHNESS;
    return ordered ? VIEW_AS_LINE : VIEW_AS_TOP;
}

static uint64_t choose_columns(uint64_t lines)
{
    uint64_t columns = lines > 0 ? VIEW_ALL_COLUMNS / lines : VIEW_MOST_COLUMNS;
    if (columns > VIEW_MOST_COLUMNS)
        return VIEW_MOST_COLUMNS;
    return columns < VIEW_LEAST_COLUMNS ? VIEW_LEAST_COLUMNS : columns;
}

static enum status make_view(struct mode_view *view, const struct ktensor *model, int n,
                             uint64_t columns, uint64_t top, struct error *error)
{
    const double *a = model->factor[n];
    uint64_t rows = model->shape.dims[n], named = view->kind == VIEW_AS_TOP ? top : 1;
    if (view->kind != VIEW_AS_LINE)
        return top_entries_find(&view->top, a, rows, model->rank, named, error);
    TRY(profile_take(&view->profile, a, rows, model->rank, columns, error));
    return peaks_find(&view->top, a, rows, model->rank, VIEW_NAMED, error);
}

enum status mode_views_make(struct mode_view view[MAX_ORDER], const struct ktensor *model,
                            const enum view_order order[MAX_ORDER], uint64_t top,
                            struct error *error)
{
    uint64_t lines = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        view[n] = (struct mode_view){0};
    for (int n = 0; n < model->shape.order; n++) {
        view[n].kind = choose_kind(model, n, order[n]);
        lines += view[n].kind == VIEW_AS_LINE ? model->rank : 0;
    }
    for (int n = 0; n < model->shape.order; n++)
        TRY(make_view(&view[n], model, n, choose_columns(lines), top, error));
    return STATUS_OK;
}

void mode_views_free(struct mode_view view[MAX_ORDER])
{
    for (int n = 0; n < MAX_ORDER; n++) {
        profile_free(&view[n].profile);
        top_entries_free(&view[n].top);
    }
}
