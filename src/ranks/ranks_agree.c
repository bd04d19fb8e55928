#include "ranks/ranks_agree.h"

enum status ranks_agree(struct comm *c, struct error *error)
{
    struct error meeting = {0}, theirs = *error;
    int failed = error->status == STATUS_OK ? 0 : c->size - c->rank; /* the lowest rank's is most */
    if (comm_agree(c, &failed, &meeting) == STATUS_OK && failed > 0 &&
        comm_broadcast(c, c->size - failed, &theirs, sizeof theirs, &meeting) == STATUS_OK)
        *error = theirs;
    return error_set(error, meeting.status, "%s", meeting.message);
}

enum status ranks_same_file(struct comm *c, const char *path, const struct file_identity *mine,
                            struct error *error)
{
    struct file_identity first = *mine;
    if (comm_broadcast(c, 0, &first, sizeof first, error) == STATUS_OK &&
        (first.bytes != mine->bytes || first.mark != mine->mark))
        error_set(error, STATUS_INPUT, "%s: rank %d finds another file than rank 0 under this name",
                  path, c->rank);
    return error->status;
}
