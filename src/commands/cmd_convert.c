/* blco convert: from one kind of tensor file to another. */
#include "commands/cmd.h"

#include <string.h>

#include "als/findings.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/outfile.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"
#include "formats/blco/blco_pieces.h"
#include "formats/external_sort.h"
#include "formats/names/labels.h"
#include "formats/names/name_list.h"
#include "formats/tensor_file.h"
#include "formats/tns/tns_writer.h"

struct settings {
    struct cmd_common common;
    struct text_output text;
    const char *input, *output;
    const struct tensor_format *from; /* of IN */
    bool force, keep_zeros;
    uint64_t memory;               /* bytes of host memory to use */
    struct tensor_names names;     /* of CSV; of a .blco file those of the modes; owned */
    struct labels labels;          /* of OUT; owned               */
    struct outfile map[NAME_MAPS]; /* (maps) under hidden names until OUT is complete; owned */
    int maps;
    struct value_change change; /* of the pieces of a .blco file; owned */
    struct blco_file file;      /* of IN, if it is one; owned  */
    struct tns_writer writer;   /* of OUT, if it is text       */
    double start;               /* of writing OUT */
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

static void note_unused(struct settings *s, struct error *error)
{
    char text[FINDING_TEXT];
    struct findings findings = {0};
    find_unused_column(&findings, s->input, s->names.unused);
    if (findings.count > 0)
        progress_note(&s->common.progress, "%s", finding_text(findings.finding, text));
    *error = findings.error;
    findings_free(&findings);
}

/* Reads text, CSV or NumPy arrays. What memory does not hold is spilled to *sort; without one, it
 * is refused. *last gets the rest, with the lengths of the tensor. */
static enum status read_text(struct settings *s, struct external_sort *sort, struct coo *last,
                             struct error *error)
{
    struct tensor_reader r = {.format = s->from,
                              .path = s->input,
                              .tns = &s->common.tns,
                              .csv = &s->common.csv,
                              .cut = TENSOR_PIECES,
                              .memory = sort ? s->memory / 4 * 3 : s->memory,
                              .overhead = EXTERNAL_SORT_OVERHEAD,
                              .progress = &s->common.progress};
    *last = (struct coo){0};
    TRY_OR(done, tensor_reader_open(&r, error));
    TRY_OR(done, tensor_reader_next(&r, error));
    while (!r.over) {
        if (!sort)
            TRY_OR(done, error_set(error, STATUS_MEMORY,
                                   "%s: more than the %ju entries that memory has room for: "
                                   "convert it to .blco first, and that to text",
                                   s->input, (uintmax_t)r.piece.nnz));
        TRY_OR(done, external_sort_spill(sort, &r.piece, error));
        TRY_OR(done, tensor_reader_next(&r, error));
    }
    TRY_OR(done, tensor_reader_end(&r, error));
    tensor_reader_keep(&r, last);
    if (s->from->names)
        s->from->names(&r, &s->names);
    note_unused(s, error);
done:
    tensor_reader_close(&r);
    return error->status;
}

/* Cleans entries of text, all of which are in memory, and changes their values. */
static enum status clean_text(const struct settings *s, struct coo *x,
                              struct coo_cleaning *cleaning, struct error *error)
{
    TRY(tensor_clean(x, s->input, &s->common.tns, NULL, cleaning, error));
    if (value_change_all(&s->common.values, x, error) != STATUS_OK)
        error_prefix(error, "%s: ", s->input);
    return error->status;
}

/* Finds the names of the tensor, which is read: those of CSV, or with the names of modes that it
 * has from the maps beside it. Writes the maps of OUT, but for those that are there with the same
 * text, and the names of modes if OUT itself has them. */
static enum status write_maps(struct settings *s, const struct shape *shape, bool has_modes,
                              struct error *error)
{
    struct labels *labels = &s->labels;
    const bool named = strcmp(s->output, "-") != 0;
    char change[VALUE_RULE_TEXT];
    if (s->from == &tensor_csv) {
        labels_take(labels, &s->names);
    } else {
        labels->modes = s->names.modes;
        if (named)
            TRY(labels_find_tensor(labels, s->input, shape->order, error));
        if (named)
            TRY(labels_read(labels, shape, error));
    }
    if (s->common.values.kind != VALUES_AS_THEY_ARE)
        mode_names_add_change(&labels->modes, value_rule_text(&s->common.values, change));
    char *stem = named ? name_maps_stem(s->output, error) : NULL;
    if (!stem)
        return error->status;
    const bool with_modes = !has_modes && mode_names_any(&labels->modes);
    const int maps = with_modes ? NAME_MAPS : NAME_MAPS_MODES; /* that of the modes is the last */
    maps_write(s->map, &s->maps, labels, maps, stem, error);
    memory_free(stem);
    return error->status;
}

/* Gives the maps their names, once OUT has its own. */
static enum status commit_maps(struct settings *s, struct error *error)
{
    for (int i = 0; i < s->maps; i++)
        TRY(outfile_commit(&s->map[i], error));
    return STATUS_OK;
}

/* --- to .blco --- */

static enum status count_piece(void *change, struct coo *piece, struct error *error)
{
    (void)error;
    value_change_count(change, piece, NULL);
    return STATUS_OK;
}

/* The pieces of IN, a .blco file that is open. */
static struct tensor_reader pieces_of(const struct settings *s)
{
    return (struct tensor_reader){
        .format = &tensor_blco, .file = &s->file, .cut = TENSOR_PIECES, .memory = s->memory / 2};
}

/* Opens IN, a .blco file, which cannot bring back zeros that were dropped when it was written, and
 * finds what becomes of its values. */
static enum status open_blco(struct settings *s, struct error *error)
{
    TRY(blco_file_open(&s->file, s->input, error));
    const uint64_t dropped = s->file.listed.dropped;
    struct tensor_reader r = pieces_of(s);
    if (s->keep_zeros && dropped > 0)
        return error_set(error, STATUS_INPUT,
                         "%s: %ju zeros were dropped when it was written: convert its text with "
                         "--keep-zeros",
                         s->input, (uintmax_t)dropped);
    s->names.modes = *s->file.modes;
    TRY(tns_check_lengths(s->input, &s->file.shape, &s->common.tns, error));
    TRY(value_change_begin(&s->change, &s->common.values, &s->file.shape, error));
    if (s->change.factor)
        TRY(tensor_reader_each(&r, count_piece, &s->change, error));
    value_change_weigh(&s->change);
    return STATUS_OK;
}

static void show_blco(struct settings *s, uint64_t nnz, uint64_t bytes, const char *how)
{
    char lasted[PACE_TEXT];
    progress_done(&s->common.progress, "%ju nonzeros, %s, %.2f bytes a nonzero%s%s", (uintmax_t)nnz,
                  NUMBER_SIZE(bytes), (double)bytes / (double)(nnz ? nnz : 1), how,
                  pace(0, NULL, clock_now() - s->start, lasted));
}

static enum status text_to_blco(struct settings *s, struct error *error)
{
    struct external_sort sort;
    struct coo last = {0};
    struct external_sort_report report;
    char from[64] = "";
    external_sort_init(&sort, s->output, s->memory, &s->common.progress);
    sort.zeros = s->common.tns.zeros;
    TRY_OR(done, read_text(s, &sort, &last, error));
    if (s->common.values.kind != VALUES_AS_THEY_ARE) {
        if (sort.spills > 0)
            TRY_OR(done, error_set(error, STATUS_MEMORY,
                                   "%s: does not fit into memory, in which --values changes text: "
                                   "convert it to .blco without --values, and that with it",
                                   s->input));
        TRY_OR(done, clean_text(s, &last, &sort.cleaned, error));
    }
    s->start = clock_now();
    progress_stage(&s->common.progress, "writing %s", s->output);
    TRY_OR(done, write_maps(s, &last.shape, true, error));
    sort.modes = &s->labels.modes;
    if (external_sort_write(&sort, &last, &report, error) != STATUS_OK) {
        tensor_name_overflow(s->input, error);
        goto done;
    }
    TRY_OR(done, commit_maps(s, error));
    if (sort.spills > 0)
        snprintf(from, sizeof from, " from %ju runs", (uintmax_t)sort.spills);
    show_blco(s, report.nnz, report.bytes, from);
    tensor_note_cleaning(&s->common.progress, &report.cleaning);
done:
    coo_free(&last);
    external_sort_free(&sort);
    return error->status;
}

static enum status blco_to_blco(struct settings *s, struct error *error)
{
    const struct blco_copying how = {s->output, &s->labels.modes, &s->change, s->memory,
                                     &s->common.progress};
    uint64_t bytes;
    s->start = clock_now();
    TRY(open_blco(s, error));
    progress_stage(&s->common.progress, "writing %s", s->output);
    TRY(write_maps(s, &s->file.shape, mode_names_any(s->file.modes), error));
    TRY(blco_copy(&s->file, &how, &bytes, error));
    TRY(commit_maps(s, error));
    show_blco(s, s->file.header->nnz, bytes, "");
    return STATUS_OK;
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

static enum status append(void *settings, struct coo *piece, struct error *error)
{
    struct settings *s = settings;
    TRY(value_change_apply(&s->change, piece, NULL, error));
    return tns_writer_append(&s->writer, piece, error);
}

/* Writes OUT from pieces whose values s->change changes. */
static enum status write_text(struct settings *s, const struct coo_pieces *pieces,
                              struct error *error)
{
    struct tns_write_options options = s->text.options;
    struct line_writer_report report;
    char how_fast[PACE_TEXT];
    options.progress = &s->common.progress;
    if (!s->text.index_base_given)
        options.index_base = s->common.tns.index_base;
    TRY(write_maps(s, &pieces->shape, false, error));
    /* text without a header has the lengths of its largest indices: it would have fewer indices
     * than there are names */
    if (!s->text.header_given && map_exists(&s->labels, NAME_MAPS_MODES)) {
        uint32_t largest[MAX_ORDER] = {0};
        TRY(pieces->each(pieces->pieces, find_largest, largest, error));
        for (int n = 0; n < pieces->shape.order; n++)
            if (largest[n] + UINT64_C(1) < pieces->shape.dims[n])
                options.header = TNS_HEADER_DIMS;
    }
    TRY(tns_writer_open(&s->writer, s->output, &pieces->shape, pieces->nnz, &options, error));
    TRY_OR(done, pieces->each(pieces->pieces, append, s, error));
    TRY_OR(done, line_writer_commit(s->writer.lines, &report, error));
    TRY_OR(done, commit_maps(s, error));
    progress_done(&s->common.progress, "%ju nonzeros, %s%s", (uintmax_t)pieces->nnz,
                  NUMBER_SIZE(report.file_bytes),
                  pace_bytes(report.text_bytes, " of text", clock_now() - s->start, how_fast));
done:
    line_writer_free(s->writer.lines);
    return error->status;
}

static enum status blco_to_text(struct settings *s, struct error *error)
{
    s->start = clock_now();
    TRY(open_blco(s, error));
    struct tensor_reader r = pieces_of(s);
    const struct coo_pieces pieces = {.shape = s->file.shape,
                                      .nnz = s->file.header->nnz,
                                      .each = tensor_reader_each,
                                      .pieces = &r};
    return write_text(s, &pieces, error);
}

static enum status text_to_text(struct settings *s, struct error *error)
{
    struct coo x;
    struct coo_cleaning cleaning = {0};
    TRY(read_text(s, NULL, &x, error));
    s->start = clock_now();
    TRY_OR(done, clean_text(s, &x, &cleaning, error));
    const struct coo_pieces pieces = coo_in_one_piece(&x);
    TRY_OR(done, write_text(s, &pieces, error));
    tensor_note_cleaning(&s->common.progress, &cleaning);
done:
    coo_free(&x);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct settings *s = settings;
    TRY(cli_two_operands(line, "files", "IN", "OUT", error));
    s->input = line->operand[0];
    s->output = line->operand[1];
    s->common.tns.zeros = s->keep_zeros ? COO_KEEP_ZEROS : COO_DROP_ZEROS;
    const struct tensor_format *to = tensor_format_named(s->output);
    TRY(text_output_check(&s->text, s->output, error));
    const size_t length = strlen(s->output);
    if (to == &tensor_text && strcmp(s->output, "-") != 0 &&
        !cmd_ends_in(s->output, length, ".tns") && !cmd_ends_in(s->output, length, ".tns.gz"))
        return error_set(error, STATUS_INPUT,
                         "%s: expected a name that ends in .blco, .tns or .tns.gz", s->output);
    struct tensor_reader in = {
        .path = s->input, .tns = to == &tensor_blco ? &s->common.tns : NULL, .csv = &s->common.csv};
    TRY(tensor_file_find_format(&in, error));
    s->from = in.format;
    struct file_roles files = {0};
    file_roles_add_tensor(&files, s->input, &s->common.csv, error);
    TRY(tensor_target_check(s->output, &files, s->force, error));
    TRY(tensor_maps_check(s->input, s->output, s->from == &tensor_csv ? &s->common.csv : NULL,
                          s->force, error));
    TRY(cmd_begin(&s->common, error));
    s->memory = cmd_host_memory(&s->common);
    if (s->from == &tensor_blco)
        return (to == &tensor_blco ? blco_to_blco : blco_to_text)(s, error);
    return (to == &tensor_blco ? text_to_blco : text_to_text)(s, error);
}

static void free_settings(void *settings)
{
    struct settings *s = settings;
    blco_file_close(&s->file);
    tensor_names_free(&s->names);
    for (int i = 0; i < s->maps; i++)
        outfile_discard(&s->map[i]);
    labels_free(&s->labels);
    value_change_free(&s->change);
}

const struct command cmd_convert = {
    .name = "convert",
    .summary = "write a tensor file as another kind of tensor file",
    .usage = "Usage: blco convert IN OUT [OPTION]...\n\n"
             "Writes the tensor in IN to OUT, in the format that the name of OUT says: .blco,\n"
             ".tns or .tns.gz, or - for text to standard output. IN is text (.tns) or CSV\n"
             "(--columns), plain or gzip, a .blco file, COORDS.npy,VALUES.npy, or - for text\n"
             "or CSV from standard input. Duplicates are summed and zeros dropped; a value\n"
             "nan is an unknown entry. The names of CSV go to files OUT.mode1.map ... without\n"
             "the ending of OUT. IN may be larger than memory if IN or OUT is a .blco file;\n"
             "text is then sorted in a temporary file in the folder of OUT.\n",
    .ending =
        "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. More in\nblco-convert(1).\n",
    .sections = sections,
    .settings = sizeof(struct settings),
    .run = run,
    .free = free_settings,
    .operands = CMD_TENSORS,
};
