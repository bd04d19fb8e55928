#include "tensor_input.h"

enum status tensor_input_read(struct coo *x, const char *path, const struct tns_options *options,
                              struct progress *progress, double *read_seconds,
                              double *clean_seconds, struct error *error)
{
    struct tns_report report;
    struct coo_cleaning cleaning;
    double start = progress_now();
    if (tns_read(x, path, options, progress, &report, error) != STATUS_OK)
        return error->status;
    double middle = progress_now();
    *read_seconds = middle - start;
    if (coo_clean(x, &cleaning, error) != STATUS_OK)
        return error->status;
    *clean_seconds = progress_now() - middle;
    if (cleaning.duplicates > 0)
        progress_note(progress, "%ju duplicate entries added to earlier ones",
                      (uintmax_t)cleaning.duplicates);
    if (cleaning.zeros > 0)
        progress_note(progress, "%ju explicit zeros dropped", (uintmax_t)cleaning.zeros);
    if (x->nnz == 0)
        return error_set(error, STATUS_INPUT, "%s: all %ju entries are zero", path,
                         (uintmax_t)report.entries);
    return STATUS_OK;
}
