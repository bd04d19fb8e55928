/* blco convert: from one kind of tensor file to another. */
#include "commands/cmd.h"

#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/number.h"
#include "base/pace.h"
#include "base/threads.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"
#include "commands/text_output.h"
#include "formats/blco/blco_copy.h"
#include "formats/blco/blco_pieces.h"
#include "formats/external_sort.h"
#include "formats/tensor_file.h"
#include "formats/tns/tns_writer.h"

struct settings {
    struct cmd_common common;
    struct text_output text;
    const char *in, *out;
    bool force, keep_zeros;
    uint64_t memory; /* bytes of host memory to use */
};

static const struct cli_option output_options[] = {
    TEXT_OUTPUT_HEADER(struct settings, text),
    {"--out-index-base", 0, "0|1", "first index of every mode in OUT (that of\n--index-base)",
     TEXT_OUTPUT_INDEX_BASE(struct settings, text)},
    {"--keep-zeros", 0, NULL,
     "write entries that are zero, too: where entries that\nare not listed are unknown, a zero is "
     "an observation",
     CLI_FLAG(struct settings, keep_zeros)},
    TENSOR_TARGET_FORCE(struct settings, force),
    {.name = NULL}};

static const struct cli_section sections[] = {{"Input", cmd_input_options},
                                              {"Output", output_options},
                                              {"Machine", cmd_host_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), end = strlen(ending);
    return length > end && strcmp(path + length - end, ending) == 0;
}

static enum status output_format(const struct settings *s, enum tensor_format *format,
                                 struct error *error)
{
    *format = tensor_format_named(s->out);
    if (text_output_check(&s->text, s->out, error) != STATUS_OK)
        return error->status;
    if (*format == TENSOR_TEXT && strcmp(s->out, "-") != 0 && !ends_in(s->out, ".tns") &&
        !ends_in(s->out, ".tns.gz"))
        return error_set(error, STATUS_INPUT,
                         "%s: expected a name that ends in .blco, .tns or .tns.gz", s->out);
    return STATUS_OK;
}

/* --- to .blco --- */

/* Spills the pieces of a text file. */
static enum status spill(void *sort, struct coo *piece, struct error *error)
{
    return external_sort_spill(sort, piece, error);
}

static enum status text_to_spills(const struct settings *s, struct external_sort *sort,
                                  struct coo *last, struct error *error)
{
    struct tns_report report;
    struct tns_pieces pieces = {.memory = s->memory / 4 * 3,
                                .overhead = EXTERNAL_SORT_OVERHEAD,
                                .take = spill,
                                .context = sort,
                                .progress = sort->progress};
    return tensor_read_pieces(last, s->in, &s->common.tns, &pieces, &report, error);
}

static void show_blco(struct progress *progress, uint64_t nnz, uint64_t bytes, const char *how,
                      double seconds)
{
    char size[NUMBER_SIZE_TEXT], lasted[PACE_TEXT];
    progress_done(progress, "%ju nonzeros, %s, %.2f bytes a nonzero%s%s", (uintmax_t)nnz,
                  number_size(bytes, size), (double)bytes / (double)(nnz ? nnz : 1), how,
                  pace(0, NULL, seconds, lasted));
}

static enum status text_to_blco(const struct settings *s, struct progress *progress,
                                struct error *error)
{
    struct external_sort sort;
    struct coo last = {0};
    struct external_sort_report report;
    char from[64] = "";
    external_sort_init(&sort, s->out, s->memory, progress);
    sort.zeros = s->common.tns.zeros;
    if (text_to_spills(s, &sort, &last, error) != STATUS_OK)
        goto done;
    double start = clock_now();
    progress_stage(progress, "writing %s", s->out);
    if (external_sort_write(&sort, &last, &report, error) != STATUS_OK) {
        tensor_name_overflow(s->in, error);
        goto done;
    }
    if (sort.spills.count > 0)
        snprintf(from, sizeof from, " from %ju runs", (uintmax_t)sort.spills.count);
    show_blco(progress, report.nnz, report.bytes, from, clock_now() - start);
    tensor_note_cleaning(progress, &report.cleaning);
done:
    coo_free(&last);
    external_sort_free(&sort);
    return error->status;
}

/* Opens IN, a .blco file, which cannot bring back zeros that were dropped when it was written. */
static enum status open_blco(struct blco_file *f, const struct settings *s, struct error *error)
{
    if (blco_file_open(f, s->in, error) != STATUS_OK)
        return error->status;
    const uint64_t dropped = f->listed.dropped;
    if (s->keep_zeros && dropped > 0 && dropped != COO_NOT_KNOWN) {
        error_set(error, STATUS_INPUT,
                  "%s: %ju zeros were dropped when it was written: convert its text with "
                  "--keep-zeros",
                  s->in, (uintmax_t)dropped);
        goto done;
    }
    tensor_check_lengths(s->in, &f->shape, &s->common.tns, error);
done:
    if (error->status != STATUS_OK)
        blco_file_close(f);
    return error->status;
}

static enum status blco_to_blco(const struct settings *s, struct progress *progress,
                                struct error *error)
{
    struct blco_file f;
    uint64_t bytes;
    double start = clock_now();
    if (open_blco(&f, s, error) != STATUS_OK)
        return error->status;
    progress_stage(progress, "writing %s", s->out);
    if (blco_copy(&f, s->out, s->memory, &bytes, progress, error) != STATUS_OK)
        goto done;
    show_blco(progress, f.header->nnz, bytes, "", clock_now() - start);
done:
    blco_file_close(&f);
    return error->status;
}

/* --- to text --- */

static struct tns_write_options text_options(const struct settings *s, struct progress *progress)
{
    struct tns_write_options options = s->text.options;
    if (!s->text.index_base_given)
        options.index_base = s->common.tns.index_base;
    options.progress = progress;
    return options;
}

static void show_text(struct progress *progress, const struct line_writer_report *report,
                      uint64_t nnz, double seconds)
{
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    progress_done(progress, "%ju nonzeros, %s%s", (uintmax_t)nnz,
                  number_size(report->file_bytes, size),
                  pace_bytes(report->text_bytes, " of text", seconds, how_fast));
}

static enum status append(void *writer, struct coo *piece, struct error *error)
{
    return tns_writer_append(writer, piece, error);
}

static enum status blco_to_text(const struct settings *s, struct progress *progress,
                                struct error *error)
{
    struct blco_file f;
    struct tns_writer *w = NULL;
    struct tns_write_options options = text_options(s, progress);
    struct line_writer_report report;
    double start = clock_now();
    if (open_blco(&f, s, error) != STATUS_OK)
        return error->status;
    const struct blco_file_header *h = f.header;
    const struct blco_pieces pieces = blco_pieces_of(&f, s->memory / 2);
    if (tns_writer_open(&w, s->out, &f.shape, h->nnz, &options, error) != STATUS_OK)
        goto done;
    if (blco_pieces_each(&pieces, append, w, error) != STATUS_OK)
        goto done;
    if (tns_writer_commit(w, &report, error) != STATUS_OK)
        goto done;
    show_text(progress, &report, h->nnz, clock_now() - start);
done:
    tns_writer_free(w);
    blco_file_close(&f);
    return error->status;
}

static enum status refuse(void *settings, struct coo *piece, struct error *error)
{
    const struct settings *s = settings;
    return error_set(error, STATUS_MEMORY,
                     "%s: more than the %ju entries that memory has room for: convert it to .blco "
                     "first, and that to text",
                     s->in, (uintmax_t)piece->nnz);
}

static enum status text_to_text(struct settings *s, struct progress *progress, struct error *error)
{
    struct coo x;
    struct coo_cleaning cleaning;
    struct tns_report report;
    struct line_writer_report written;
    struct tns_write_options options = text_options(s, progress);
    struct tns_pieces pieces = {.memory = s->memory,
                                .overhead = EXTERNAL_SORT_OVERHEAD,
                                .take = refuse,
                                .context = s,
                                .progress = progress};
    if (tensor_read_pieces(&x, s->in, &s->common.tns, &pieces, &report, error) != STATUS_OK)
        return error->status;
    double start = clock_now();
    if (tensor_clean(&x, s->in, &s->common.tns, NULL, &cleaning, error) != STATUS_OK)
        goto done;
    if (tns_write(&x, s->out, &options, &written, error) != STATUS_OK)
        goto done;
    show_text(progress, &written, x.nnz, clock_now() - start);
    tensor_note_cleaning(progress, &cleaning);
done:
    coo_free(&x);
    return error->status;
}

static enum status check_target(const struct settings *s, struct error *error)
{
    struct file_roles files = {0};
    file_roles_add(&files, FILE_TENSOR_READ, s->in, error);
    tensor_target_check(s->out, &files, s->force, error);
    file_roles_free(&files);
    return error->status;
}

static enum status convert(struct settings *s, struct error *error)
{
    enum tensor_format from, to;
    struct progress progress;
    if (output_format(s, &to, error) != STATUS_OK)
        return error->status;
    if (tensor_format(s->in, &from, error) != STATUS_OK)
        return error->status;
    if (check_target(s, error) != STATUS_OK)
        return error->status;
    cmd_set_threads(s->common.threads, 1);
    if (threads_start(error) != STATUS_OK)
        return error->status;
    s->memory = cmd_host_memory(&s->common);
    cmd_show_progress(&progress, &s->common);
    if (from == TENSOR_BLCO && to == TENSOR_BLCO)
        blco_to_blco(s, &progress, error);
    else if (from == TENSOR_BLCO)
        blco_to_text(s, &progress, error);
    else if (to == TENSOR_BLCO)
        text_to_blco(s, &progress, error);
    else
        text_to_text(s, &progress, error);
    progress_clear(&progress);
    return error->status;
}

static int run_command(int argc, char **argv, struct error *error)
{
    static const char *const names[] = {"IN", "OUT"};
    struct cli_line line = {.argc = argc, .argv = argv};
    struct settings settings = {0};
    const char *file[2];
    if (!cmd_parse(&line, &cmd_convert, &settings.common, error))
        return (int)error->status;
    if (cli_two_operands(&line, "files", names, file, error) != STATUS_OK)
        return (int)error->status;
    settings.common.tns.zeros = settings.keep_zeros ? COO_KEEP_ZEROS : COO_DROP_ZEROS;
    settings.in = file[0];
    settings.out = file[1];
    return (int)convert(&settings, error);
}

const struct command cmd_convert = {
    .name = "convert",
    .summary = "write a tensor file as another kind of tensor file",
    .usage =
        "Usage: blco convert IN OUT [OPTION]...\n\nWrites the tensor in IN to OUT, in the format "
        "that the name of OUT says: .blco,\n.tns or .tns.gz, or - for text to standard output. IN "
        "is text (.tns), plain\nor gzip, a .blco file, COORDS.npy,VALUES.npy, or - for text from "
        "standard\ninput. Duplicates are summed and zeros dropped; a value nan is an unknown\n"
        "entry. IN may be larger than memory if IN or OUT is a .blco file; text is then\nsorted "
        "in a temporary file in the folder of OUT.\n",
    .ending =
        "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. More in\nblco-convert(1).\n",
    .sections = sections,
    .run = run_command,
    .operands = CMD_TENSORS,
};
