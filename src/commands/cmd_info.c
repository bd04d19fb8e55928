/* blco info: what is in a tensor file, and the memory plan of decomposing it. */
#include "commands/cmd.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/number.h"
#include "base/utf8.h"
#include "commands/machine_choice.h"
#include "commands/options/cmd_common.h"
#include "formats/blco/blco_pieces.h"
#include "formats/names/labels.h"
#include "formats/tensor_file.h"
#include "plan/process_grid.h"
#include "plan/rank_rates.h"
#include "plan/row_cuts.h"
#include "ranks/row_deal.h"
#include "tensor/coo_census.h"
#include "tensor/coo_statistics.h"
#include "tensor/ordering.h"

/* Least bytes for counters, however little memory may be used: with fewer, the file would be read
 * too many times. */
#define LEAST_COUNTERS (UINT64_C(16) << 20)

#define MOST_SAMPLE    (UINT64_C(1) << 20)
#define GPUS_OF_A_HOST 8 /* at most, in machines whose GPUs are linked */

/* What --ranks says: how the tensor would be split among several ranks, and what an
 * iteration would cost them. */

struct info_ranks {
    struct rank_machine machine;
    struct process_grid grid; /* owned */
    struct grid_cost cost;
    bool is_chosen;    /* by the model, not by the user */
    bool is_estimated; /* the cost, from a sample       */
    bool dealt;        /* rows are, and no mode is kept (ranks/row_deal.h): no mode is cut */
};

/* A tensor file, and what `blco info` finds out of it. */
struct job {
    struct cmd_common common; /* common.ranks.ranks 0: nothing about ranks is wanted */
    bool json;
    const char *path; /* borrowed */
    struct coo x;     /* of a .blco file only order, lengths and nnz; owned */
    const struct tensor_format *format;
    bool gzip;                    /* of text and CSV                               */
    enum tns_header header;       /* of text                                       */
    struct coo_cleaning cleaning; /* of text and of NumPy arrays                   */
    struct tensor_names names;    /* of CSV; owned                                 */
    struct labels labels;         /* names of modes, and the maps beside the file; owned          */
    struct coo_listed listed;     /* what is listed besides nonzeros               */
    uint64_t file_bytes;          /* of text after inflation, of NumPy arrays without headers */
    struct plan_tensor tensor;    /* what the plan needs to know                   */
    uint64_t entries;             /* of the file, duplicates and zeros included    */
    struct coo_statistics statistics;
    const struct backend_kind *kind;
    struct plan plan;         /* of the tensor, or of a rank's part of the tensor */
    struct coo_census census; /* where ranks are wanted; owned                    */
    struct info_ranks ranks;  /* likewise                                         */
};

static const struct cli_option info_options[] = {
    {"--json", 0, NULL, "print JSON in place of text", CLI_FLAG(struct job, json)}, {.name = NULL}};

static const struct cli_option plan_options[] = {
    {"--rank", 'r', "R", "show the memory plan for R components ({default})", CMD_RANK,
     .initial = "16"},
    {"--loss", 0, "WHAT", "show the memory plan for this --loss of blco cpd:\n{words}\n({default})",
     CLI_CHOICE(struct cmd_common, options.problem.loss, loss_words), .initial = "squares"},
    {"--unlisted", 0, "WHAT",
     "show the memory plan for this --unlisted of blco cpd:\n{words}, or a weight ({default})",
     CMD_UNLISTED},
    {"--accelerate", 0, "HOW",
     "show the memory plan for this --accelerate of blco\ncpd: {words} ({default})",
     CMD_ACCELERATE},
    {"--ranks", 0, "N", "show how N ranks (GPUs or processes) would share the\nwork",
     CLI_INT(struct job, common.ranks.ranks, 1, MAX_RANKS)},
    {"--grid", 0, "AxBxC",
     "cut mode 1 into A ranges of rows, mode 2 into B, ...,\nfor A*B*C ranks (the "
     "cheapest grid)",
     CMD_GRID},
    {"--on", 0, "WHAT",
     "what the ranks are: {words}, even if\nthis machine has none (as --backend)",
     CLI_CHOICE(struct job, common.ranks.on, cmd_on_words), .needs = "--ranks or --grid"},
    {.name = NULL}};

static const struct cli_section sections[] = {
    {"Output", info_options},         {"Plan", plan_options},
    {"Input", cmd_input_options},     {"Machine", cmd_machine_options},
    {"General", cmd_general_options}, {NULL, NULL}};

/* --- finding out --- */

/* Counts the nonzeros: what the tensor is like, and where ranks are wanted what they need to know.
 * Counters take the memory beside so many nonzeros. */
static enum status count(struct job *job, const struct coo_pieces *pieces, uint64_t nnz,
                         struct error *error)
{
    struct progress *progress = &job->common.progress;
    const uint64_t all = cmd_host_memory(&job->common), taken = coo_bytes(pieces->shape.order, nnz);
    const uint64_t memory = all > taken + LEAST_COUNTERS ? all - taken : LEAST_COUNTERS;
    const bool blco = job->format == &tensor_blco; /* which is read only now */
    double start = clock_now();
    uint64_t bytes = 0;
    TRY(cmd_check_grid(&job->common.ranks, pieces->shape.order, error));
    if (pieces->nnz == 0)
        return STATUS_OK;
    if (blco)
        progress_stage(progress, "reading %s", job->path);
    TRY(coo_pieces_statistics(pieces, memory, &job->statistics, progress, error));
    if (blco)
        progress_done(progress, "%ju nonzeros, %s in %.2f s", (uintmax_t)pieces->nnz,
                      NUMBER_SIZE(job->file_bytes), clock_now() - start);
    if (job->common.ranks.ranks == 0)
        return STATUS_OK;
    start = clock_now();
    progress_stage(progress, "counting the nonzeros of each row");
    for (int n = 0; n < pieces->shape.order; n++)
        bytes += pieces->shape.dims[n] * sizeof *job->census.count[n];
    if (bytes > memory)
        return error_set(error, STATUS_MEMORY,
                         "--ranks: counters of %s, 8 bytes for each row of each mode, do not fit "
                         "into the %s of memory that may be used",
                         NUMBER_SIZE(bytes), NUMBER_SIZE(memory));
    TRY(coo_pieces_census(pieces, coo_census_stride(pieces->nnz, MOST_SAMPLE), 1, &job->census,
                          error));
    progress_done(progress, "%.2f s", clock_now() - start);
    return STATUS_OK;
}

/* Reads a file into memory, and counts. */
static enum status gather_text(struct job *job, struct error *error)
{
    struct tensor_reader r = {.format = job->format,
                              .path = job->path,
                              .tns = &job->common.tns,
                              .csv = &job->common.csv,
                              .memory = job->common.tns.memory,
                              .overhead = TENSOR_CLEAN_BYTES,
                              .progress = &job->common.progress};
    tensor_reader_whole(&r, &job->x, error);
    if (error->status == STATUS_OK && job->format->names)
        job->format->names(&r, &job->names);
    job->gzip = r.gzip;
    job->header = (enum tns_header)r.header;
    job->entries = r.entries;
    job->file_bytes = r.bytes;
    tensor_reader_close(&r);
    TRY(error->status);
    TRY(tensor_clean(&job->x, job->path, &job->common.tns, NULL, &job->cleaning, error));
    job->labels.modes = job->names.modes;
    job->listed = coo_count_listed(&job->x);
    job->listed.dropped = job->cleaning.zeros;
    job->tensor = (struct plan_tensor){
        .shape = job->x.shape, .nnz = job->x.nnz, .unknown = job->listed.unknown};
    const struct coo_pieces pieces = coo_in_one_piece(&job->x);
    return count(job, &pieces, job->x.nnz, error);
}

/* Holds some segments for each thread in memory at a time; counters take the rest of the memory. */
static enum status gather_blco(struct job *job, struct error *error)
{
    struct blco_file file;
    TRY(blco_file_open(&file, job->path, error));
    job->file_bytes = file.header->file_bytes;
    job->labels.modes = *file.modes;
    job->entries = file.header->nnz;
    job->listed = file.listed;
    job->x = (struct coo){.shape = file.shape, .nnz = job->entries};
    job->tensor = file_for_plan(&file);
    struct tensor_reader r = {.format = &tensor_blco,
                              .file = &file,
                              .cut = TENSOR_PIECES,
                              .memory = cmd_host_memory(&job->common) / 4};
    const struct coo_pieces pieces = {
        .shape = job->x.shape, .nnz = job->x.nnz, .each = tensor_reader_each, .pieces = &r};
    TRY_OR(done, tns_check_lengths(job->path, &job->x.shape, &job->common.tns, error));
    count(job, &pieces, blco_pieces_nnz(&file, r.memory), error);
done:
    blco_file_close(&file);
    return error->status;
}

/* Chooses the grid, or takes the user's; job->plan is that of the whole tensor. Where each row has
 * a system of its own (`deals`), the model knows no seconds, and rows may be dealt. STATUS_INPUT,
 * STATUS_MEMORY. */
static enum status choose_ranks(struct job *job, const struct rank_machine *machine, bool deals,
                                struct error *error)
{
    const struct cmd_ranks *ranks = &job->common.ranks;
    const struct plan_tensor *tensor = &job->plan.request.tensor;
    const uint64_t row_bytes = job->plan.request.row_bytes;
    struct info_ranks *r = &job->ranks;
    struct grid_request request = {.ranks = ranks->ranks, .row_bytes = row_bytes};
    memcpy(request.parts, ranks->parts, sizeof request.parts);
    *r = (struct info_ranks){.machine = *machine,
                             .is_chosen = ranks->modes == 0,
                             .is_estimated = job->census.sample.nnz < tensor->nnz};
    rank_rates(&request, &tensor->shape, &r->machine);
    TRY(process_grid_choose(&r->grid, &r->cost, &request, &job->census, tensor->nnz, error));
    if (!deals)
        return STATUS_OK;
    const int kept = row_deal_kept(&r->grid, row_bytes);
    r->cost.mttkrp_seconds = r->cost.solve_seconds = r->cost.move_seconds = NAN;
    if (kept >= 0) {
        r->cost.moved_bytes = (uint64_t)row_deal_kept_bytes(&r->grid.shape, kept, row_bytes);
        return STATUS_OK;
    }
    process_grid_free(&r->grid);
    *r = (struct info_ranks){.machine = *machine, .cost = r->cost, .dealt = true};
    r->cost.largest_nnz = r->cost.moved_bytes = 0;
    TRY(process_grid_alone(&r->grid, &tensor->shape, error));
    r->grid.ranks = ranks->ranks;
    for (int n = 0; n < tensor->shape.order; n++) {
        const uint64_t rows = r->grid.shape.dims[n], parts = (uint64_t)r->grid.ranks;
        struct row_deal deal;
        uint64_t all = 0, own = 0, most = 0;
        TRY(row_deal_make(&deal, job->census.count[n], rows, r->grid.ranks, false, error));
        for (uint64_t i = 0; i < rows; i++)
            all += job->census.count[n][i];
        for (uint64_t k = 0; k < parts; k++) {
            own += deal.own[k];
            most = deal.own[k] > most ? deal.own[k] : most;
        }
        most += (all - own + parts - 1) / parts; /* of common rows, about */
        if (most > r->cost.largest_nnz)
            r->cost.largest_nnz = most;
        r->cost.moved_bytes += deal.stripe * row_bytes * (parts - 1);
        row_deal_free(&deal);
    }
    r->cost.imbalance = (double)r->cost.largest_nnz * ranks->ranks / (double)tensor->nnz - 1;
    return STATUS_OK;
}

static struct shape longest_ranges(const struct process_grid *g)
{
    struct shape shape = g->shape;
    for (int n = 0; n < shape.order; n++)
        shape.dims[n] = row_cuts_longest(g->cut[n], g->parts[n]);
    return shape;
}

/* job->plan = the memory plan, of a rank's part where ranks are wanted. */
static enum status make_plan(struct job *job, struct error *error)
{
    const struct backend_options *options = &job->common.options;
    const struct cmd_ranks *wanted = &job->common.ranks;
    const int threads = omp_get_max_threads();
    TRY(backend_plan(&job->plan, job->kind, &job->tensor, options, error));
    if (wanted->ranks == 0)
        return STATUS_OK;
    const bool device =
        wanted->on == CMD_ON_BACKEND ? job->kind->device != NULL : wanted->on == CMD_ON_GPUS;
    /* processes are on one host as long as this host has a core for each thread */
    const struct rank_machine machine = {.device = device,
                                         .one_host = device ? wanted->ranks <= GPUS_OF_A_HOST
                                                            : wanted->ranks * threads <=
                                                                  omp_get_num_procs(),
                                         .threads = threads};
    const bool deals = wanted->ranks > 1 && problem_by_rows(&options->problem);
    TRY(choose_ranks(job, &machine, deals, error));
    /* of a rank with the longest ranges and the most nonzeros; ranks of one host share the host's
     * memory, unless the user says how much a rank may use */
    const struct plan_tensor tensor = {.shape = longest_ranges(&job->ranks.grid),
                                       .nnz = job->ranks.cost.largest_nnz,
                                       .is_part = job->ranks.grid.ranks > 1};
    struct backend_options mine = *options;
    if (mine.host_memory == 0 && job->ranks.machine.one_host)
        mine.host_memory = machine_memory_budget(0) / (uint64_t)job->ranks.grid.ranks;
    return backend_plan(&job->plan, job->kind, &tensor, &mine, error);
}

/* Refuses what no run of this problem takes. */
static enum status check_problem(const struct job *job, struct error *error)
{
    const struct problem *p = &job->common.options.problem;
    char reason[64], text[UNLISTED_TEXT];
    if (problem_has_rates(p))
        snprintf(reason, sizeof reason, "%s", loss_of(p->loss)->option);
    else if (p->unlisted.weighed)
        snprintf(reason, sizeof reason, "--unlisted %s", unlisted_text(&p->unlisted, text));
    else if (job->listed.unknown > 0)
        snprintf(reason, sizeof reason, "unknown entries (nan)");
    else
        return STATUS_OK;
    return cmd_check_by_rows(&job->common, reason, error);
}

/* --- as text --- */

/* Zeros that the file lists: those that cleaning drops from text, those that a .blco file keeps. */
static uint64_t info_zeros(const struct job *job)
{
    return job->format == &tensor_blco ? job->listed.zeros : job->listed.dropped;
}

/* Entries that are left, without unknown entries and zeros. */
static uint64_t info_nonzeros(const struct job *job)
{
    return job->x.nnz - job->listed.unknown - job->listed.zeros;
}

static double info_density(const struct job *job)
{
    double places = 1;
    for (int n = 0; n < job->x.shape.order; n++)
        places *= (double)job->x.shape.dims[n];
    return (double)info_nonzeros(job) / places;
}

static const char *exact(double value, char *text)
{
    *number_format(value, text) = '\0';
    return text;
}

static void show_modes(const struct job *job, const struct coo_statistics *s)
{
    const struct mode_names *names = &job->labels.modes;
    const bool named = mode_names_any(names);
    char shown[PRINTABLE_ROOM(MODE_NAME_BYTES)];
    printf("\nmode      length  empty slices  nonzeros of the fullest slice%s\n",
           named ? "  name" : "");
    for (int n = 0; n < job->x.shape.order; n++)
        printf("%4d  %10ju  %12ju  %29ju%s%s\n", n + 1, (uintmax_t)job->x.shape.dims[n],
               (uintmax_t)s->empty_slices[n], (uintmax_t)s->largest_slice[n], named ? "  " : "",
               printable(names->name[n], shown, sizeof shown));
}

/* Prints the grid, its parts and its cost; or how rows are dealt. */
static void show_ranks(const struct info_ranks *r)
{
    char name[128], moved[NUMBER_SIZE_TEXT];
    const struct grid_cost *cost = &r->cost;
    const struct shape rows = longest_ranges(&r->grid);
    process_grid_name(r->grid.parts, r->grid.shape.order, name, sizeof name);
    printf("\nranks        %d", r->grid.ranks);
    if (r->machine.device)
        printf(" GPU%s", r->grid.ranks == 1 ? "" : "s");
    else
        printf(" process%s of %d thread%s", r->grid.ranks == 1 ? "" : "es", r->machine.threads,
               r->machine.threads == 1 ? "" : "s");
    printf(" on %s\n", r->machine.one_host || r->grid.ranks == 1 ? "one host" : "several hosts");
    if (r->dealt)
        printf("grid         none: each rank has all entries of the rows that it solves\n");
    else
        printf("grid         %s, %s\n", name,
               r->is_chosen ? "the cheapest by the model" : "as given");
    printf("fullest rank %s%ju nonzeros, %.1f %% above the mean\n", r->is_estimated ? "about " : "",
           (uintmax_t)cost->largest_nnz, 100 * (cost->imbalance > 0 ? cost->imbalance : 0));
    printf("rows         ");
    cmd_print_lengths(&rows);
    printf(" in a rank at most\n");
    printf("moves        %s sent by a rank in an iteration, and as much received\n",
           number_size(cost->moved_bytes, moved));
    if (isnan(cost->mttkrp_seconds))
        return;
    printf(
        "iteration    about %.3g s of MTTKRP + %.3g s of solves + %.3g s of moving rows = %.3g s\n",
        cost->mttkrp_seconds, cost->solve_seconds, cost->move_seconds,
        cost->mttkrp_seconds + cost->solve_seconds + cost->move_seconds);
}

static void show_format(const struct job *job)
{
    static const char *const headers[] = {[TNS_HEADER_NONE] = "no header",
                                          [TNS_HEADER_DIMS] = "header of order and lengths",
                                          [TNS_HEADER_SPTENSOR] = "sptensor header"};
    const bool csv = job->format == &tensor_csv, text = job->format == &tensor_text,
               blco = job->format == &tensor_blco;
    const char *name = csv ? "CSV" : text ? headers[job->header] : blco ? ".blco" : "NumPy arrays";
    printf("format       %s%s, %s%s, %.2f bytes %s\n", job->gzip ? "gzip, " : "", name,
           NUMBER_SIZE(job->file_bytes), csv || text ? " of text" : "",
           (double)job->file_bytes / (double)(job->entries ? job->entries : 1),
           csv    ? "a row"
           : blco ? "a nonzero"
                  : "an entry");
}

/* How the tensor was made of a table, if it was. */
static void show_table(const struct job *job)
{
    const struct mode_names *names = &job->labels.modes;
    char shown[PRINTABLE_ROOM(MODE_NAME_BYTES)];
    if (!mode_names_of_table(names))
        return;
    printf("table        ");
    printf(names->value[0] ? "values of %s" : "rows are counted",
           printable(names->value, shown, sizeof shown));
    if (names->change[0])
        printf(", %s", names->change);
    for (int n = 0; n < job->x.shape.order; n++)
        if (names->bin[n][0])
            printf(", %s in bins of %s", printable(names->name[n], shown, sizeof shown),
                   names->bin[n]);
    printf("\n");
}

static void show(const struct job *job)
{
    cmd_print_tensor(job->path);
    show_format(job);
    printf("order        %d\n", job->x.shape.order);
    printf("entries      %ju\n", (uintmax_t)job->entries);
    printf("duplicates   %ju\n", (uintmax_t)job->cleaning.duplicates);
    const uint64_t dropped = job->listed.dropped;
    printf("zeros        %ju", (uintmax_t)info_zeros(job));
    if (job->format == &tensor_blco && dropped > 0)
        printf(", and %ju dropped when the file was written", (uintmax_t)dropped);
    printf("\nunknown      %ju\n", (uintmax_t)job->listed.unknown);
    const struct coo *x = &job->x;
    printf("lengths      ");
    cmd_print_lengths(&x->shape);
    printf("\nnonzeros     %ju\n", (uintmax_t)info_nonzeros(job));
    printf("density      %.3g\n", info_density(job));
    char shown[PRINTABLE_ROOM(PATH_MAX)];
    for (int n = 0; n < job->x.shape.order; n++)
        if (job->labels.mode[n].path)
            printf("names        %s\n", printable(job->labels.mode[n].path, shown, sizeof shown));
    show_table(job);
    printf("line         %d bits", ordering_line_bits(&job->x.shape));
    for (int n = 0; n < job->x.shape.order; n++)
        printf("%s%d", n ? " + " : " = ", ordering_bits(job->x.shape.dims[n]));
    printf("\n");
    if (job->x.nnz == 0)
        return;
    const struct coo_statistics *s = &job->statistics;
    char least[NUMBER_MAX_TEXT + 1], largest[NUMBER_MAX_TEXT + 1], norm[NUMBER_MAX_TEXT + 1];
    if (job->listed.unknown == job->x.nnz)
        printf("values       none is known\n");
    else
        printf("values       %s to %s, %s\n", exact(s->least, least), exact(s->largest, largest),
               s->all_integer ? "all whole numbers" : "not all whole numbers");
    printf("norm         %s\n", exact(s->norm, norm));
    show_modes(job, &job->statistics);
    if (job->common.ranks.ranks)
        show_ranks(&job->ranks);
    char text[4096];
    const uint64_t components = job->plan.request.rank;
    plan_describe(&job->plan, NULL, text, sizeof text);
    printf("\nmemory plan %sfor %ju component%s, backend %s%s\n%s",
           job->common.ranks.ranks ? "of a rank " : "", (uintmax_t)components,
           components == 1 ? "" : "s", job->kind->name, job->plan.fits ? "" : ": does not fit",
           text);
    if (text[0] && text[strlen(text) - 1] != '\n')
        printf("\n");
}

/* --- as JSON --- */

static void put_ranks(struct json *j, const struct info_ranks *r)
{
    json_put_object(j, "ranks");
    json_put_unsigned(j, "count", (uint64_t)r->grid.ranks);
    json_put_string(j, "on",
                    word_of(cmd_on_words, r->machine.device ? CMD_ON_GPUS : CMD_ON_PROCESSORS));
    json_put_unsigned(j, "threads", (uint64_t)r->machine.threads);
    json_put_bool(j, "one_host", r->machine.one_host || r->grid.ranks == 1);
    json_put_counts(j, "grid", r->grid.parts, (size_t)r->grid.shape.order);
    json_put_bool(j, "estimated", r->is_estimated);
    json_put_unsigned(j, "largest_nonzeros", r->cost.largest_nnz);
    json_put_number(j, "imbalance", r->cost.imbalance > 0 ? r->cost.imbalance : 0);
    json_put_unsigned(j, "moved_bytes", r->cost.moved_bytes);
    json_put_number(j, "mttkrp_seconds", r->cost.mttkrp_seconds);
    json_put_number(j, "solve_seconds", r->cost.solve_seconds);
    json_put_number(j, "move_seconds", r->cost.move_seconds);
    json_end(j);
}

static void put_plan(struct json *j, const struct plan *plan, const char *backend)
{
    char obstacle[512];
    json_put_object(j, "plan");
    json_put_string(j, "backend", backend);
    json_put_unsigned(j, "rank", plan->request.rank);
    json_put_bool(j, "fits", plan->fits);
    json_put_bool(j, "streamed", plan->streamed);
    json_put_unsigned(j, "orderings", (uint64_t)plan_orderings(plan));
    json_put_array(j, "conflict");
    for (int n = 0; n < plan->request.tensor.shape.order; n++)
        json_put_string(j, NULL, conflict_name(plan->conflict[n]));
    json_end(j);
    json_put_unsigned(j, "ordering_bytes", plan->tensor_bytes);
    json_put_unsigned(j, "factor_bytes", plan->factor_bytes);
    json_put_unsigned(j, "copy_bytes", plan->copy_bytes);
    json_put_unsigned(j, "total_bytes", plan->total_bytes);
    json_put_unsigned(j, "budget_bytes", plan->request.budget);
    if (plan->streamed)
        json_put_unsigned(j, "host_bytes", plan->host_bytes);
    if (!plan->fits) {
        plan_obstacle(plan, obstacle, sizeof obstacle);
        json_put_string(j, "obstacle", obstacle);
    }
    json_end(j);
}

/* Prints what was found as one JSON object, which blco-info(1) describes. */
static enum status print_json(const struct job *job, struct error *error)
{
    struct json j;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    json_put_string(&j, "tensor", job->path);
    const bool is_text = job->format == &tensor_text || job->format == &tensor_csv;
    json_put_string(&j, "format", job->format->name);
    json_put_unsigned(&j, is_text ? "text_bytes" : "file_bytes", job->file_bytes);
    if (is_text)
        json_put_bool(&j, "gzip", job->gzip);
    if (job->format == &tensor_text)
        json_put_string(&j, "header", word_of(tns_header_words, (int)job->header));
    json_put_unsigned(&j, "entries", job->entries);
    json_put_unsigned(&j, "duplicates", job->cleaning.duplicates);
    json_put_unsigned(&j, "zeros", info_zeros(job));
    if (job->format == &tensor_blco)
        json_put_unsigned(&j, "dropped_zeros", job->listed.dropped);
    json_put_unsigned(&j, "unknown", job->listed.unknown);
    const struct coo *x = &job->x;
    json_put_unsigned(&j, "order", (uint64_t)x->shape.order);
    json_put_unsigneds(&j, "lengths", x->shape.dims, (size_t)x->shape.order);
    mode_names_put(&j, &job->labels.modes, x->shape.order);
    if (mode_names_of_table(&job->labels.modes)) {
        const struct mode_names *names = &job->labels.modes;
        json_put_object(&j, "table");
        json_put_string(&j, "value", names->value[0] ? names->value : NULL);
        json_put_string(&j, "values", names->change[0] ? names->change : NULL);
        json_put_array(&j, "modes");
        for (int n = 0; n < x->shape.order; n++) {
            json_put_object(&j, NULL);
            json_put_string(&j, "order", names->order[n]);
            json_put_string(&j, "bin", names->bin[n][0] ? names->bin[n] : NULL);
            json_end(&j);
        }
        json_end(&j);
        json_end(&j);
    }
    bool has_maps = false; /* files that have names of indices */
    for (int n = 0; n < x->shape.order; n++)
        has_maps = has_maps || job->labels.mode[n].path;
    if (has_maps) {
        json_put_array(&j, "maps");
        for (int n = 0; n < x->shape.order; n++)
            json_put_string(&j, NULL, job->labels.mode[n].path);
        json_end(&j);
    }
    json_put_unsigned(&j, "nonzeros", info_nonzeros(job));
    json_put_number(&j, "density", info_density(job));
    json_put_unsigned(&j, "line_bits", (uint64_t)ordering_line_bits(&x->shape));
    if (job->x.nnz > 0) {
        size_t order = (size_t)job->x.shape.order;
        json_put_number(&j, "least", job->statistics.least);
        json_put_number(&j, "largest", job->statistics.largest);
        json_put_bool(&j, "whole_numbers", job->statistics.all_integer);
        json_put_number(&j, "norm", job->statistics.norm);
        json_put_unsigneds(&j, "empty_slices", job->statistics.empty_slices, order);
        json_put_unsigneds(&j, "fullest_slice", job->statistics.largest_slice, order);
        if (job->common.ranks.ranks)
            put_ranks(&j, &job->ranks);
        put_plan(&j, &job->plan, job->kind->name);
    }
    json_end(&j);
    return cmd_print_json(&j);
}

/* --- the command --- */

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct job *job = settings;
    struct cmd_common *common = &job->common;
    struct tensor_reader in = {.path = line->operand[0], .csv = &common->csv, .tns = &common->tns};
    common->options.models = 1;
    common->options.spends = true;
    problem_complete_loss(&common->options.problem);
    cmd_count_ranks(&common->ranks, error);
    TRY(cli_hint(line, error));
    TRY(cli_single_operand(line, "tensor", error));
    TRY(machine_choose_now(common, &job->kind, NULL, error));
    TRY(tensor_file_find_format(&in, error));
    job->path = in.path;
    job->format = in.format;
    TRY(cmd_begin(common, error));
    TRY((job->format == &tensor_blco ? gather_blco : gather_text)(job, error));
    if (job->format != &tensor_csv) {
        TRY(labels_find_tensor(&job->labels, job->path, job->x.shape.order, error));
        TRY(labels_read(&job->labels, &job->x.shape, error));
    }
    TRY(check_problem(job, error));
    problem_take_unknown(&common->options.problem, job->listed.unknown);
    if (job->x.nnz > 0)
        TRY(make_plan(job, error));
    progress_clear(&job->common.progress);
    if (job->json)
        TRY(print_json(job, error));
    else
        show(job);
    if (job->x.nnz > 0 && !job->plan.fits) {
        char obstacle[512];
        plan_obstacle(&job->plan, obstacle, sizeof obstacle);
        error_set(error, STATUS_MEMORY, "%s: does not fit: %s", job->path, obstacle);
    }
    return error->status;
}

static void free_job(void *settings)
{
    struct job *job = settings;
    coo_free(&job->x);
    tensor_names_free(&job->names);
    labels_free(&job->labels);
    coo_census_free(&job->census);
    process_grid_free(&job->ranks.grid);
}

const struct command cmd_info = {
    .name = "info",
    .summary = "say what is in a tensor file, and what decomposing it takes",
    .usage = "Usage: blco info TENSOR [OPTION]...\n\n"
             "Prints what is in a tensor file (order, lengths, nonzeros, density, "
             "duplicates,\nzeros, values, slices), and how much memory decomposing it "
             "takes.\n"
             "TENSOR is text (.tns) or CSV (--columns), plain or gzip, a .blco file,\n"
             "COORDS.npy,VALUES.npy, or - for text or CSV from standard input.\n"
             "A .blco file may be larger than memory.\n",
    .ending = "\nExit status: 0 done, 2 usage or input, 3 memory or a tensor that does not fit,\n5 "
              "output. More in blco-info(1).\n",
    .sections = sections,
    .settings = sizeof(struct job),
    .run = run,
    .free = free_job,
    .operands = CMD_TENSORS,
};
