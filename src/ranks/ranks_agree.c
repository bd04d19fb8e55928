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
