#include "formats/tensor_input.h"

#include <string.h>

#include "base/clock.h"
#include "formats/tensor_file.h"

static enum status open_blco(struct tensor_input *input, const char *path,
                             const struct tns_options *options, struct error *error)
{
    TRY(tensor_open_blco(&input->file, path, options, error));
    input->unread = true;
    input->names.modes = *input->file.modes;
    input->listed = input->file.listed;
    input->x = (struct coo){.shape = input->file.shape, .nnz = input->file.header->nnz};
    return STATUS_OK;
}

static enum status read_text(struct tensor_input *input, const struct csv_source *source,
                             bool is_csv, struct progress *progress, struct error *error)
{
    struct tensor_report report;
    if (is_csv)
        tensor_read_csv(&input->x, &input->names, source, progress, &report, error);
    else
        tensor_read_text(&input->x, source->path, source->text, progress, &report, error);
    TRY(error->status);
    input->read_seconds = report.read_seconds;
    input->clean_seconds = report.clean_seconds;
    input->listed = coo_count_listed(&input->x);
    input->listed.dropped = report.cleaning.zeros;
    tensor_note_cleaning(progress, &report.cleaning);
    return tensor_check_left(source->path, report.text.entries, input->x.nnz, &input->listed,
                             error);
}

enum status tensor_input_open(struct tensor_input *input, const char *path,
                              const struct tns_options *options, const struct csv_options *csv,
                              struct progress *progress, struct error *error)
{
    const struct csv_source source = {.path = path, .options = csv, .text = options};
    enum tensor_format format;
    *input = (struct tensor_input){0};
    TRY(tensor_format(path, csv, options, &format, error));
    return format == TENSOR_BLCO ? open_blco(input, path, options, error)
                                 : read_text(input, &source, format == TENSOR_CSV, progress, error);
}

enum status tensor_input_read(struct tensor_input *input, struct progress *progress,
                              struct error *error)
{
    if (!input->unread)
        return STATUS_OK;
    double start = clock_now();
    TRY(blco_file_read(&input->file, &input->x, progress, error));
    input->read_seconds = clock_now() - start;
    input->unread = false;
    blco_file_close(&input->file);
    return STATUS_OK;
}

void tensor_input_close(struct tensor_input *input)
{
    coo_free(&input->x);
    blco_file_close(&input->file);
    tensor_names_free(&input->names);
    *input = (struct tensor_input){0};
}
