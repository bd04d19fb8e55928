/* blco info: what is in a tensor file, and the memory plan of decomposing it. */
#include "commands/cmd.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/printable.h"
#include "base/threads.h"
#include "commands/options/cmd_common.h"
#include "commands/info_findings.h"
#include "commands/machine_choice.h"
#include "formats/blco/blco_pieces.h"
#include "plan/process_grid.h"
#include "tensor/ordering.h"

/* Least bytes for counters, however little memory may be used: with fewer, the file would be read
 * too many times. */
#define LEAST_COUNTERS (UINT64_C(16) << 20)

struct settings {
    struct cmd_common common;
    bool json;
};

static const struct cli_option info_options[] = {
    {"--json", 0, NULL, "print JSON in place of text", CLI_FLAG(struct settings, json)},
    {.name = NULL}};

static const struct cli_option plan_options[] = {
    {"--rank", 'r', "R", "show the memory plan for R components ({default})", CMD_RANK,
     .initial = "16"},
    {"--loss", 0, "WHAT", "show the memory plan for this --loss of blco cpd:\n{words} ({default})",
     CLI_CHOICE(struct cmd_common, options.problem.loss, loss_words), .initial = "squares"},
    {"--unlisted", 0, "WHAT",
     "show the memory plan for this --unlisted of blco cpd:\n{words}, or a weight ({default})",
     CMD_UNLISTED},
    {"--accelerate", 0, "HOW",
     "show the memory plan for this --accelerate of blco\ncpd: {words} ({default})",
     CMD_ACCELERATE},
    {"--ranks", 0, "N", "show how N ranks (GPUs or processes) would share the\nwork",
     CLI_INT(struct settings, common.ranks.ranks, 1, MAX_RANKS)},
    {"--grid", 0, "AxBxC",
     "cut mode 1 into A ranges of rows, mode 2 into B, ...,\nfor A*B*C ranks (the "
     "cheapest grid)",
     CMD_GRID},
    {"--on", 0, "WHAT",
     "what the ranks are: {words}, even if\nthis machine has none (as --backend)",
     CLI_CHOICE(struct settings, common.ranks.on, cmd_on_words), .needs = "--ranks or --grid"},
    {.name = NULL}};

static const struct cli_section sections[] = {
    {"Output", info_options},         {"Plan", plan_options},
    {"Input", cmd_input_options},     {"Machine", cmd_machine_options},
    {"General", cmd_general_options}, {NULL, NULL}};

/* What ranks need to know of the nonzeros, where ranks are wanted. */
static enum status take_census(struct info_findings *f, const struct coo_pieces *pieces,
                               struct progress *progress, struct error *error)
{
    if (f->wanted.ranks == 0)
        return STATUS_OK;
    double start = clock_now();
    progress_stage(progress, "counting the nonzeros of each row");
    TRY(info_ranks_census(&f->census, pieces, f->memory, error));
    progress_done(progress, "%.2f s", clock_now() - start);
    return STATUS_OK;
}

/* Bytes that counters may take beside so many bytes of nonzeros. */
static uint64_t counters_beside(const struct info_findings *f, uint64_t nonzeros)
{
    return f->memory > nonzeros + LEAST_COUNTERS ? f->memory - nonzeros : LEAST_COUNTERS;
}

static enum status gather_text(struct info_findings *f, const char *path,
                               const struct cmd_common *common, struct progress *progress,
                               struct error *error)
{
    const struct csv_source source = {path, &common->csv, &common->tns};
    if (f->format == TENSOR_CSV)
        tensor_read_csv(&f->x, &f->names, &source, progress, &f->report, error);
    else
        tensor_read_text(&f->x, path, &common->tns, progress, &f->report, error);
    TRY(error->status);
    f->labels.modes = f->names.modes;
    f->entries = f->report.text.entries;
    f->file_bytes = f->report.text.text_bytes;
    f->listed = coo_count_listed(&f->x);
    f->listed.dropped = f->report.cleaning.zeros;
    f->tensor =
        (struct plan_tensor){.shape = f->x.shape, .nnz = f->x.nnz, .unknown = f->listed.unknown};
    struct coo_pieces pieces = coo_in_one_piece(&f->x);
    f->memory = counters_beside(f, coo_bytes(f->x.shape.order, f->x.nnz));
    if (cmd_check_grid(&f->wanted, f->x.shape.order, error) != STATUS_OK || f->x.nnz == 0)
        return error->status;
    TRY(coo_statistics(&f->x, f->memory, &f->statistics, progress, error));
    return take_census(f, &pieces, progress, error);
}

static enum status decode(void *pieces, coo_taker take, void *context, struct error *error)
{
    return blco_pieces_each(pieces, take, context, error);
}

/* Holds some segments for each thread in memory at a time; counters take the rest of f->memory. */
static enum status decode_statistics(struct info_findings *f, const struct blco_file *file,
                                     struct progress *progress, struct error *error)
{
    struct blco_pieces some = blco_pieces_of(file, f->memory / 4);
    struct coo_pieces pieces = {
        .shape = f->x.shape, .nnz = f->x.nnz, .each = decode, .pieces = &some};
    uint64_t piece = coo_bytes(f->x.shape.order, blco_file_nnz(file, 0, some.length));
    uint64_t counters = counters_beside(f, piece);
    double start = clock_now();
    progress_stage(progress, "reading %s", file->name);
    TRY(coo_pieces_statistics(&pieces, counters, &f->statistics, progress, error));
    progress_done(progress, "%ju nonzeros, %s in %.2f s", (uintmax_t)f->x.nnz,
                  NUMBER_SIZE(f->file_bytes), clock_now() - start);
    return take_census(f, &pieces, progress, error);
}

static enum status gather_blco(struct info_findings *f, const char *path,
                               const struct tns_options *options, struct progress *progress,
                               struct error *error)
{
    struct blco_file file;
    TRY(blco_file_open(&file, path, error));
    const struct blco_file_header *h = file.header;
    f->file_bytes = h->file_bytes;
    f->labels.modes = *file.modes;
    f->entries = h->nnz;
    f->listed = file.listed;
    f->x = (struct coo){.shape = file.shape, .nnz = h->nnz};
    f->tensor = file_for_plan(&file);
    TRY_OR(done, tensor_check_lengths(path, &f->x.shape, options, error));
    TRY_OR(done, cmd_check_grid(&f->wanted, f->x.shape.order, error));
    if (h->nnz > 0)
        decode_statistics(f, &file, progress, error);
done:
    blco_file_close(&file);
    return error->status;
}

/* f->plan = the memory plan, of a rank's part where ranks are wanted. */
static enum status make_plan(struct info_findings *f, const struct backend_options *options,
                             int threads, struct error *error)
{
    TRY(backend_plan(&f->plan, f->kind, &f->tensor, options, error));
    if (f->wanted.ranks == 0)
        return STATUS_OK;
    const struct rank_machine machine = info_ranks_machine(f->kind, &f->wanted, threads);
    const bool deals = f->wanted.ranks > 1 && problem_by_rows(&options->problem);
    if ((deals ? info_ranks_deal : info_ranks_choose)(&f->ranks, &f->wanted, &machine, &f->census,
                                                      &f->plan, error) != STATUS_OK)
        return error->status;
    return info_ranks_plan(&f->plan, &f->ranks, f->kind, options, error);
}

/* Refuses what no run of this problem takes. */
static enum status check_problem(const struct info_findings *f, const struct cmd_common *common,
                                 struct error *error)
{
    const struct problem *p = &common->options.problem;
    char reason[64], text[UNLISTED_TEXT];
    if (p->loss == LOSS_POISSON)
        snprintf(reason, sizeof reason, "--loss poisson");
    else if (p->unlisted.weighed)
        snprintf(reason, sizeof reason, "--unlisted %s", unlisted_text(&p->unlisted, text));
    else if (f->listed.unknown > 0)
        snprintf(reason, sizeof reason, "unknown entries (nan)");
    else
        return STATUS_OK;
    return cmd_check_by_rows(common, reason, error);
}

static enum status gather(struct info_findings *f, const char *path, struct cmd_common *common,
                          struct error *error)
{
    struct progress progress;
    TRY(machine_choose_now(common, &f->kind, NULL, error));
    TRY(tensor_format(path, &common->csv, &common->tns, &f->format, error));
    int threads = cmd_set_threads(common->threads, 1);
    TRY(threads_start(error));
    cmd_show_progress(&progress, common);
    f->memory = cmd_host_memory(common);
    f->wanted = common->ranks;
    if (f->format == TENSOR_BLCO)
        gather_blco(f, path, &common->tns, &progress, error);
    else
        gather_text(f, path, common, &progress, error);
    if (error->status == STATUS_OK && f->format != TENSOR_CSV &&
        labels_find_tensor(&f->labels, path, f->x.shape.order, error) == STATUS_OK)
        labels_read(&f->labels, &f->x.shape, error);
    if (error->status == STATUS_OK)
        check_problem(f, common, error);
    problem_take_unknown(&common->options.problem, f->listed.unknown);
    if (error->status == STATUS_OK && f->x.nnz > 0)
        make_plan(f, &common->options, threads, error);
    progress_clear(&progress);
    return error->status;
}

static const char *exact(double value, char *text)
{
    *number_format(value, text) = '\0';
    return text;
}

static void show_lengths(const struct info_findings *f)
{
    const struct coo *x = &f->x;
    const uint64_t nonzeros = info_nonzeros(f);
    printf("lengths      ");
    double places = 1;
    for (int n = 0; n < x->shape.order; n++)
        places *= (double)x->shape.dims[n];
    cmd_print_lengths(&x->shape);
    printf("\nnonzeros     %ju\n", (uintmax_t)nonzeros);
    printf("density      %.3g\n", (double)nonzeros / places);
}

static void show_line_bits(const struct coo *x)
{
    printf("line         %d bits", ordering_line_bits(&x->shape));
    for (int n = 0; n < x->shape.order; n++)
        printf("%s%d", n ? " + " : " = ", ordering_bits(x->shape.dims[n]));
    printf("\n");
}

static void show_values(const struct info_findings *f)
{
    const struct coo_statistics *s = &f->statistics;
    char least[NUMBER_MAX_TEXT + 1], largest[NUMBER_MAX_TEXT + 1], norm[NUMBER_MAX_TEXT + 1];
    if (f->listed.unknown == f->x.nnz)
        printf("values       none is known\n");
    else
        printf("values       %s to %s, %s\n", exact(s->least, least), exact(s->largest, largest),
               s->all_integer ? "all whole numbers" : "not all whole numbers");
    printf("norm         %s\n", exact(s->norm, norm));
}

static void show_modes(const struct info_findings *f, const struct coo_statistics *s)
{
    const struct mode_names *names = &f->labels.modes;
    const bool named = mode_names_any(names);
    char shown[PRINTABLE_ROOM(MODE_NAME_BYTES)];
    printf("\nmode      length  empty slices  nonzeros of the fullest slice%s\n",
           named ? "  name" : "");
    for (int n = 0; n < f->x.shape.order; n++)
        printf("%4d  %10ju  %12ju  %29ju%s%s\n", n + 1, (uintmax_t)f->x.shape.dims[n],
               (uintmax_t)s->empty_slices[n], (uintmax_t)s->largest_slice[n], named ? "  " : "",
               printable(names->of[n], shown, sizeof shown));
}

/* The files that have names of indices. */
static void show_maps(const struct info_findings *f)
{
    char shown[PRINTABLE_ROOM(PATH_MAX)];
    for (int n = 0; n < f->x.shape.order; n++)
        if (f->labels.mode[n].path)
            printf("names        %s\n", printable(f->labels.mode[n].path, shown, sizeof shown));
}

static void show_plan(const struct info_findings *f)
{
    char text[4096];
    uint64_t components = f->plan.request.rank;
    plan_describe(&f->plan, NULL, text, sizeof text);
    printf("\nmemory plan %sfor %ju component%s, backend %s%s\n%s",
           f->wanted.ranks ? "of a rank " : "", (uintmax_t)components, components == 1 ? "" : "s",
           f->kind->name, f->plan.fits ? "" : ": does not fit", text);
    if (text[0] && text[strlen(text) - 1] != '\n')
        printf("\n");
}

static void show_format(const struct info_findings *f)
{
    static const char *const headers[] = {[TNS_HEADER_NONE] = "no header",
                                          [TNS_HEADER_DIMS] = "header of order and lengths",
                                          [TNS_HEADER_SPTENSOR] = "sptensor header"};
    char size[NUMBER_SIZE_TEXT];
    const struct tns_report *text = &f->report.text;
    double entries = (double)(f->entries ? f->entries : 1);
    if (f->format == TENSOR_CSV)
        printf("format       %sCSV, %s of text, %.2f bytes a row\n", text->gzip ? "gzip, " : "",
               number_size(text->text_bytes, size), (double)text->text_bytes / entries);
    else if (f->format == TENSOR_TEXT)
        printf("format       %s%s, %s of text, %.2f bytes an entry\n", text->gzip ? "gzip, " : "",
               headers[text->header], number_size(text->text_bytes, size),
               (double)text->text_bytes / entries);
    else if (f->format == TENSOR_NPY)
        printf("format       NumPy arrays, %s, %.2f bytes an entry\n",
               number_size(f->file_bytes, size), (double)f->file_bytes / entries);
    else
        printf("format       .blco, %s, %.2f bytes a nonzero\n", number_size(f->file_bytes, size),
               (double)f->file_bytes / entries);
}

static void show_listed(const struct info_findings *f)
{
    const uint64_t dropped = f->listed.dropped;
    printf("zeros        %ju", (uintmax_t)info_zeros(f));
    if (f->format == TENSOR_BLCO && dropped > 0)
        printf(", and %ju dropped when the file was written", (uintmax_t)dropped);
    printf("\nunknown      %ju\n", (uintmax_t)f->listed.unknown);
}

static void show(const struct info_findings *f, const char *path)
{
    cmd_print_tensor(path);
    show_format(f);
    printf("order        %d\n", f->x.shape.order);
    printf("entries      %ju\n", (uintmax_t)f->entries);
    printf("duplicates   %ju\n", (uintmax_t)f->report.cleaning.duplicates);
    show_listed(f);
    show_lengths(f);
    show_maps(f);
    show_line_bits(&f->x);
    if (f->x.nnz == 0)
        return;
    show_values(f);
    show_modes(f, &f->statistics);
    if (f->wanted.ranks)
        info_ranks_show(&f->ranks);
    show_plan(f);
}

/* Prints what was found. A plan that does not fit is a failure after that. */
static enum status conclude(const struct info_findings *f, const struct settings *s,
                            const char *path, struct error *error)
{
    char obstacle[512];
    if (s->json)
        info_print_json(f, path, error);
    else
        show(f, path);
    if (f->x.nnz == 0 || f->plan.fits || error->status != STATUS_OK)
        return error->status;
    plan_obstacle(&f->plan, obstacle, sizeof obstacle);
    return error_set(error, STATUS_MEMORY, "%s: does not fit: %s", path, obstacle);
}

static int run_command(int argc, char **argv, struct error *error)
{
    struct cli_line line = {.argc = argc, .argv = argv};
    struct settings settings = {0};
    struct cmd_common *common = &settings.common;
    struct info_findings findings = {0};
    const char *path = NULL;
    common->options.models = 1;
    common->options.spends = true;
    if (!cmd_parse(&line, &cmd_info, common, error))
        return (int)error->status;
    problem_complete_loss(&common->options.problem);
    cmd_count_ranks(&common->ranks, error);
    if (cli_hint(&line, error) != STATUS_OK)
        return (int)error->status;
    if (cli_single_operand(&line, "tensor", &path, error) != STATUS_OK)
        return (int)error->status;
    if (gather(&findings, path, common, error) == STATUS_OK)
        conclude(&findings, &settings, path, error);
    coo_free(&findings.x);
    tensor_names_free(&findings.names);
    labels_free(&findings.labels);
    coo_census_free(&findings.census);
    info_ranks_free(&findings.ranks);
    return (int)error->status;
}

const struct command cmd_info = {
    .name = "info",
    .summary = "say what is in a tensor file, and what decomposing it takes",
    .usage = "Usage: blco info TENSOR [OPTION]...\n\n"
             "Prints what is in a tensor file (order, lengths, nonzeros, density, "
             "duplicates,\nzeros, values, slices), and how much memory decomposing it "
             "takes.\n"
             "TENSOR is text (.tns), plain or gzip, a .blco file, COORDS.npy,VALUES.npy, or -\n"
             "for text from standard input.\n"
             "A .blco file may be larger than memory.\n",
    .ending = "\nExit status: 0 done, 2 usage or input, 3 memory or a tensor that does not fit,\n5 "
              "output. More in blco-info(1).\n",
    .sections = sections,
    .run = run_command,
    .operands = CMD_TENSORS,
};
