/* blco convert: from one kind of tensor file to another. */
#include "commands/cmd.h"

#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"
#include "formats/blco/blco_pieces.h"
#include "formats/external_sort.h"
#include "formats/names/labels.h"
#include "formats/tensor_file.h"
#include "formats/tns/tns_writer.h"

struct settings {
    struct cmd_common common;
    struct text_output text;
    const char *in, *out;
    bool force, keep_zeros;
    uint64_t memory;            /* bytes of host memory to use */
    struct tensor_names names;  /* of CSV; of a .blco file those of the modes; owned */
    struct tensor_maps maps;    /* owned                       */
    struct value_change change; /* of the pieces of a .blco file; owned */
};

static const struct cli_option output_options[] = {
    TEXT_OUTPUT_HEADER(struct settings, text),
    {"--out-index-base", 0, "0|1", "first index of every mode in OUT (that of\n--index-base)",
     TEXT_OUTPUT_INDEX_BASE(struct settings, text)},
    {"--keep-zeros", 0, NULL,
     "write entries that are zero, too: where entries that\nare not listed are unknown, a zero is "
     "an observation",
     CLI_FLAG(struct settings, keep_zeros)},
    CMD_VALUES,
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
    TRY(text_output_check(&s->text, s->out, error));
    if (*format == TENSOR_TEXT && strcmp(s->out, "-") != 0 && !ends_in(s->out, ".tns") &&
        !ends_in(s->out, ".tns.gz"))
        return error_set(error, STATUS_INPUT,
                         "%s: expected a name that ends in .blco, .tns or .tns.gz", s->out);
    return STATUS_OK;
}

/* --- reading text --- */

/* Reads FROSTT text or CSV; of CSV the names as well. */
static enum status read_pieces(struct settings *s, struct coo *last,
                               const struct tns_pieces *pieces, struct error *error)
{
    struct tns_report report;
    const struct csv_source source = {s->in, &s->common.csv, &s->common.tns};
    if (!s->maps.csv)
        return tensor_read_pieces(last, s->in, &s->common.tns, pieces, &report, error);
    TRY(csv_read_pieces(last, &s->names, &source, pieces, &report, error));
    return tensor_check_lengths(s->in, &last->shape, &s->common.tns, error);
}

/* Writes the maps of the tensor, which is read, under hidden names until OUT is complete. */
static enum status write_maps(struct settings *s, const struct shape *shape, bool has_modes,
                              struct error *error)
{
    TRY(tensor_maps_find(&s->maps, &s->names, shape, error));
    return tensor_maps_write(&s->maps, has_modes, error);
}

/* --- to .blco --- */

/* Spills the pieces of a text file. */
static enum status spill(void *sort, struct coo *piece, struct error *error)
{
    return external_sort_spill(sort, piece, error);
}

static enum status text_to_spills(struct settings *s, struct external_sort *sort, struct coo *last,
                                  struct error *error)
{
    struct tns_pieces pieces = {.memory = s->memory / 4 * 3,
                                .overhead = EXTERNAL_SORT_OVERHEAD,
                                .take = spill,
                                .context = sort,
                                .progress = sort->progress};
    return read_pieces(s, last, &pieces, error);
}

static bool changes_values(const struct settings *s)
{
    return s->common.values.kind != VALUES_AS_THEY_ARE;
}

/* Changes the values of text, all of which has to be in memory. */
static enum status change_text(const struct settings *s, struct external_sort *sort, struct coo *x,
                               struct error *error)
{
    if (sort->spills.count > 0)
        return error_set(error, STATUS_MEMORY,
                         "%s: does not fit into memory, in which --values changes text: convert it "
                         "to .blco without --values, and that with it",
                         s->in);
    TRY(tensor_clean(x, s->in, &s->common.tns, NULL, &sort->cleaned, error));
    if (value_change_all(&s->common.values, x, error) != STATUS_OK)
        error_prefix(error, "%s: ", s->in);
    return error->status;
}

static enum status count_piece(void *change, struct coo *piece, struct error *error)
{
    (void)error;
    value_change_count(change, piece, NULL);
    return STATUS_OK;
}

/* Finds what becomes of the values of a .blco file. */
static enum status look_at_values(struct settings *s, const struct blco_file *f,
                                  struct error *error)
{
    const struct blco_pieces pieces = blco_pieces_of(f, s->memory / 2);
    TRY(value_change_begin(&s->change, &s->common.values, &f->shape, error));
    if (s->change.factor)
        TRY(blco_pieces_each(&pieces, count_piece, &s->change, error));
    value_change_weigh(&s->change);
    return STATUS_OK;
}

static void show_blco(struct progress *progress, uint64_t nnz, uint64_t bytes, const char *how,
                      double seconds)
{
    char size[NUMBER_SIZE_TEXT], lasted[PACE_TEXT];
    progress_done(progress, "%ju nonzeros, %s, %.2f bytes a nonzero%s%s", (uintmax_t)nnz,
                  number_size(bytes, size), (double)bytes / (double)(nnz ? nnz : 1), how,
                  pace(0, NULL, seconds, lasted));
}

static enum status text_to_blco(struct settings *s, struct progress *progress, struct error *error)
{
    struct external_sort sort;
    struct coo last = {0};
    struct external_sort_report report;
    char from[64] = "";
    external_sort_init(&sort, s->out, s->memory, progress);
    sort.zeros = s->common.tns.zeros;
    TRY_OR(done, text_to_spills(s, &sort, &last, error));
    if (changes_values(s))
        TRY_OR(done, change_text(s, &sort, &last, error));
    double start = clock_now();
    progress_stage(progress, "writing %s", s->out);
    TRY_OR(done, write_maps(s, &last.shape, true, error));
    sort.modes = &s->maps.names.modes;
    if (external_sort_write(&sort, &last, &report, error) != STATUS_OK) {
        tensor_name_overflow(s->in, error);
        goto done;
    }
    TRY_OR(done, tensor_maps_commit(&s->maps, error));
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
static enum status open_blco(struct blco_file *f, struct settings *s, struct error *error)
{
    TRY(blco_file_open(f, s->in, error));
    const uint64_t dropped = f->listed.dropped;
    if (s->keep_zeros && dropped > 0) {
        error_set(error, STATUS_INPUT,
                  "%s: %ju zeros were dropped when it was written: convert its text with "
                  "--keep-zeros",
                  s->in, (uintmax_t)dropped);
        goto done;
    }
    s->names.modes = *f->modes;
    tensor_check_lengths(s->in, &f->shape, &s->common.tns, error);
done:
    if (error->status != STATUS_OK)
        blco_file_close(f);
    return error->status;
}

static enum status blco_to_blco(struct settings *s, struct progress *progress, struct error *error)
{
    struct blco_file f;
    uint64_t bytes;
    double start = clock_now();
    TRY(open_blco(&f, s, error));
    TRY_OR(done, look_at_values(s, &f, error));
    progress_stage(progress, "writing %s", s->out);
    TRY_OR(done, write_maps(s, &f.shape, mode_names_any(f.modes), error));
    const struct blco_copying how = {s->out, &s->change, s->memory, progress};
    TRY_OR(done, blco_copy(&f, &how, &bytes, error));
    TRY_OR(done, tensor_maps_commit(&s->maps, error));
    show_blco(progress, f.header->nnz, bytes, "", clock_now() - start);
done:
    blco_file_close(&f);
    return error->status;
}

/* --- to text --- */

static enum status find_largest(void *largest, struct coo *piece, struct error *error)
{
    uint32_t *index = largest;
    (void)error;
    for (int n = 0; n < piece->shape.order; n++)
        for (uint64_t i = 0; i < piece->nnz; i++)
            index[n] = piece->index[n][i] > index[n] ? piece->index[n][i] : index[n];
    return STATUS_OK;
}

/* Whether text without a header, which has the lengths of its largest indices, would have fewer
 * indices than there are names. */
static bool wants_largest(const struct settings *s)
{
    return !s->text.header_given && map_exists(&s->maps.names, NAME_MAPS_MODES);
}

static void choose_header(struct tns_write_options *options, const uint32_t largest[MAX_ORDER],
                          const struct shape *shape)
{
    for (int n = 0; n < shape->order; n++)
        if (largest[n] + UINT64_C(1) < shape->dims[n])
            options->header = TNS_HEADER_DIMS;
}

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

/* What pieces of a .blco file are appended to. */
struct appended {
    struct tns_writer *writer;
    const struct value_change *change;
};

static enum status append(void *to, struct coo *piece, struct error *error)
{
    const struct appended *text = to;
    TRY(value_change_apply(text->change, piece, NULL, error));
    return tns_writer_append(text->writer, piece, error);
}

static enum status blco_to_text(struct settings *s, struct progress *progress, struct error *error)
{
    struct blco_file f;
    struct tns_writer *w = NULL;
    struct tns_write_options options = text_options(s, progress);
    uint32_t largest[MAX_ORDER] = {0};
    struct line_writer_report report;
    double start = clock_now();
    TRY(open_blco(&f, s, error));
    const struct blco_file_header *h = f.header;
    const struct blco_pieces pieces = blco_pieces_of(&f, s->memory / 2);
    TRY_OR(done, look_at_values(s, &f, error));
    TRY_OR(done, write_maps(s, &f.shape, false, error));
    if (wants_largest(s)) {
        TRY_OR(done, blco_pieces_each(&pieces, find_largest, largest, error));
        choose_header(&options, largest, &f.shape);
    }
    TRY_OR(done, tns_writer_open(&w, s->out, &f.shape, h->nnz, &options, error));
    struct appended text = {w, &s->change};
    TRY_OR(done, blco_pieces_each(&pieces, append, &text, error));
    TRY_OR(done, tns_writer_commit(w, &report, error));
    TRY_OR(done, tensor_maps_commit(&s->maps, error));
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
    struct line_writer_report written;
    struct tns_write_options options = text_options(s, progress);
    uint32_t largest[MAX_ORDER] = {0};
    struct tns_pieces pieces = {.memory = s->memory,
                                .overhead = EXTERNAL_SORT_OVERHEAD,
                                .take = refuse,
                                .context = s,
                                .progress = progress};
    TRY_OR(done, read_pieces(s, &x, &pieces, error));
    double start = clock_now();
    TRY_OR(done, tensor_clean(&x, s->in, &s->common.tns, NULL, &cleaning, error));
    if (value_change_all(&s->common.values, &x, error) != STATUS_OK) {
        error_prefix(error, "%s: ", s->in);
        goto done;
    }
    TRY_OR(done, write_maps(s, &x.shape, false, error));
    if (wants_largest(s)) {
        find_largest(largest, &x, error);
        choose_header(&options, largest, &x.shape);
    }
    TRY_OR(done, tns_write(&x, s->out, &options, &written, error));
    TRY_OR(done, tensor_maps_commit(&s->maps, error));
    show_text(progress, &written, x.nnz, clock_now() - start);
    tensor_note_cleaning(progress, &cleaning);
done:
    coo_free(&x);
    return error->status;
}

static enum status check_target(const struct settings *s, struct error *error)
{
    struct file_roles files = {0};
    file_roles_add_tensor(&files, s->in, &s->common.csv, error);
    tensor_target_check(s->out, &files, s->force, error);
    file_roles_free(&files);
    return error->status;
}

static enum status convert(struct settings *s, struct error *error)
{
    enum tensor_format from, to;
    struct progress progress;
    TRY(output_format(s, &to, error));
    const struct tns_options *text = to == TENSOR_BLCO ? &s->common.tns : NULL;
    TRY(tensor_format(s->in, &s->common.csv, text, &from, error));
    s->maps = (struct tensor_maps){.in = s->in,
                                   .out = s->out,
                                   .csv = from == TENSOR_CSV ? &s->common.csv : NULL,
                                   .force = s->force};
    TRY(check_target(s, error));
    TRY(tensor_maps_check(&s->maps, error));
    cmd_set_threads(s->common.threads, 1);
    TRY(threads_start(error));
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
    tensor_names_free(&s->names);
    tensor_maps_free(&s->maps);
    value_change_free(&s->change);
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
        "is text (.tns) or CSV\n(--columns), plain or gzip, a .blco file, COORDS.npy,VALUES.npy, "
        "or - "
        "for text\nor CSV from standard input. Duplicates are summed and zeros dropped; a value\n"
        "nan is an unknown entry. The names of CSV go to files OUT.mode1.map ... without\nthe "
        "ending "
        "of OUT. IN may be larger than memory if IN or OUT is a .blco file;\ntext is then sorted "
        "in a "
        "temporary file in the folder of OUT.\n",
    .ending =
        "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. More in\nblco-convert(1).\n",
    .sections = sections,
    .run = run_command,
    .operands = CMD_TENSORS,
};
