#include "commands/cpd/cpd_names.h"

enum status cpd_names_find(struct labels *names, struct rank_tensor *t, const char *path,
                           struct error *error)
{
    if (names->order > 0)
        return STATUS_OK;
    if (t->input.names.order > 0)
        return labels_take(names, &t->input.names, error);
    names->modes = t->input.names.modes;
    TRY(labels_find_tensor(names, path, t->shape.order, error));
    return labels_read(names, &t->shape, error);
}
