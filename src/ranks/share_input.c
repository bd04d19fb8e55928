#include "ranks/share_input.h"

#include "formats/tensor_file.h"
#include "ranks/share_blco.h"
#include "ranks/share_text.h"

enum status share_read(struct share *s, struct comm *c, const char *path,
                       const struct tns_options *options, struct progress *progress,
                       struct error *error)
{
    static const struct tns_sizes sizes = {.window = TNS_MOST_WINDOW, .section = TNS_SECTION};
    enum tensor_format format = TENSOR_TEXT;
    *s = (struct share){0};
    if (c->rank == 0)
        tensor_format(path, &format, error);
    if (comm_agree_error(c, error) != STATUS_OK ||
        comm_broadcast(c, 0, &format, sizeof format, error) != STATUS_OK)
        return error->status;
    return format == TENSOR_BLCO
               ? share_read_blco(s, c, path, options, progress, error)
               : share_read_text(s, c, path, options, &sizes, TNS_MAPPED_WINDOW, progress, error);
}
