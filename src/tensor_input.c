#include "tensor_input.h"

#include "tensor_file.h"

enum status tensor_input_read(struct coo *x, const char *path, const struct tns_options *options,
                              struct progress *progress, double *read_seconds,
                              double *clean_seconds, struct error *error)
{
    struct tensor_report report;
    if (tensor_read(x, path, options, progress, &report, error) != STATUS_OK)
        return error->status;
    *read_seconds = report.read_seconds;
    *clean_seconds = report.clean_seconds;
    tensor_note_cleaning(progress, &report.cleaning);
    if (report.entries == 0)
        return error_set(error, STATUS_INPUT, "%s: no nonzeros", path);
    if (x->nnz == 0)
        return error_set(error, STATUS_INPUT, "%s: all %ju entries are zero", path,
                         (uintmax_t)report.entries);
    return STATUS_OK;
}
