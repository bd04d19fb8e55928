#include "ranks/file_identity.h"

enum status ranks_same_file(struct comm *c, const char *path, const struct file_identity *mine,
                            struct error *error)
{
    struct file_identity first = *mine;
    if (comm_bcast(c, 0, &first, sizeof first, error) == STATUS_OK &&
        (first.bytes != mine->bytes || first.mark != mine->mark))
        error_set(error, STATUS_INPUT, "%s: rank %d finds another file than rank 0 under this name",
                  path, c->rank);
    return error->status;
}
