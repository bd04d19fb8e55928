#include "commands/options/cmd_common.h"

#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/printable.h"
#include "base/threads.h"
#include "base/version.h"
#include "commands/options/cli_modes.h"
#include "formats/ktensor/ktensor_io.h"

#define MAX_THREADS 4096

#define THREADS_OPTION                                                                             \
    {                                                                                              \
        "threads", 't', "N",                                                                       \
            "processor threads (OMP_NUM_THREADS, else\nSLURM_CPUS_PER_TASK, else all available)"   \
    }

const struct cli_option cmd_input_options[] = {
    {"index-base", CMD_KEY_INDEX_BASE, "0|1", "first index of every mode in the file (1)"},
    {"dims", CMD_KEY_DIMS, "LIST",
     "lengths of the modes, as 4,5,6 or 4x5x6\n(from the header, or the largest index of each)"},
    {NULL, 0, NULL, NULL}};

const struct cli_option cmd_machine_options[] = {
    {"backend", CMD_KEY_BACKEND, "NAME",
     "auto, cuda or host (auto: cuda where a GPU\nanswers, else host)"},
    THREADS_OPTION,
    {"memory", CMD_KEY_MEMORY, "SIZE", "GPU memory to use, as 500M or 16G (what is free)"},
    {"host-memory", CMD_KEY_HOST_MEMORY, "SIZE",
     "host memory to use (four fifths of what is free)"},
    {"conflict", CMD_KEY_CONFLICT, "NAME",
     "how additions to one output row are kept apart:\nauto, ordered, hierarchical, register, "
     "atomic (auto)"},
    {"precision", CMD_KEY_PRECISION, "NAME", "double, single, or auto: first single (double)"},
    {"sharing", CMD_KEY_SHARING, "NAME",
     "whether neighbouring modes share partial products:\nauto or off (auto)"},
    {NULL, 0, NULL, NULL}};

const struct cli_option cmd_ranks_options[] = {
    {"gpus", CMD_KEY_GPUS, "N|all|LIST",
     "work on N GPUs of this machine, on all, or on those\nof these numbers, as 0,2 (the first "
     "one)"},
    {"grid", CMD_KEY_GRID, "AxBx...",
     "cut mode 1 into A ranges of rows, mode 2 into B, ...,\none part for each GPU or process (the "
     "cheapest)"},
    {NULL, 0, NULL, NULL}};

const struct cli_option cmd_threads_options[] = {THREADS_OPTION, {NULL, 0, NULL, NULL}};

const struct cli_option cmd_host_options[] = {
    THREADS_OPTION,
    {"host-memory", CMD_KEY_HOST_MEMORY, "SIZE",
     "memory to use, as 500M or 16G (four fifths of\nwhat is free)"},
    {NULL, 0, NULL, NULL}};

const struct cli_option cmd_general_options[] = {
    {"progress", CMD_KEY_PROGRESS, "HOW",
     "what a long stage shows: lines (a text line now and\nthen), never (nothing), or auto: on a "
     "terminal one\nline that changes, elsewhere as lines (auto)"},
    {"quiet", 'q', NULL, "print nothing but results and errors"},
    {"help", CLI_KEY_HELP, "[=all]", "print this help; all: every option"},
    {"version", CLI_KEY_VERSION, NULL, "print the version"},
    {NULL, 0, NULL, NULL}};

void cmd_common_init(struct cmd_common *common)
{
    *common = (struct cmd_common){
        .tns = {.index_base = 1}, .backend = "auto", .options = {.conflict = CONFLICT_AUTO}};
}

static enum status set_conflict(struct cmd_common *common, const char *text, struct error *error)
{
    int conflict = conflict_by_name(text);
    if (conflict < 0)
        return error_set(error, STATUS_INPUT,
                         "--conflict: '%s', expected auto, ordered, hierarchical, register or "
                         "atomic",
                         text);
    common->options.conflict = (enum conflict)conflict;
    return STATUS_OK;
}

static enum status set_precision(struct cmd_common *common, const char *text, struct error *error)
{
    enum { AUTO = PRECISION_SINGLE + 1 };
    static const char *const names[] = {
        [PRECISION_DOUBLE] = "double", [PRECISION_SINGLE] = "single", [AUTO] = "auto", NULL};
    int choice = 0;
    cli_choice("--precision", text, names, &choice, error);
    common->options.problem.single_first = choice == AUTO;
    common->options.problem.precision = choice == AUTO ? PRECISION_DOUBLE : (enum precision)choice;
    return error->status;
}

/* Without a list: all modes. */
static enum status set_nonneg(struct cmd_common *common, const char *text, struct error *error)
{
    bool *nonneg = common->options.problem.rules.nonneg;
    if (text)
        return cli_modes("--nonneg", text, nonneg, &common->most_nonneg, error);
    for (int n = 0; n < MAX_ORDER; n++)
        nonneg[n] = true;
    return STATUS_OK;
}

static enum status set_sharing(struct cmd_common *common, const char *text, struct error *error)
{
    static const char *const names[] = {"auto", "off", NULL};
    int choice = 0;
    cli_choice("--sharing", text, names, &choice, error);
    common->options.no_sharing = choice == 1;
    return error->status;
}

static enum status set_acceleration(struct cmd_common *common, const char *text,
                                    struct error *error)
{
    static const char *const names[] = {"auto", "off", "momentum", NULL};
    static const enum acceleration kinds[] = {ACCELERATE_AUTO, ACCELERATE_OFF, ACCELERATE_MOMENTUM};
    int choice = 0;
    if (cli_choice("--accelerate", text, names, &choice, error) == STATUS_OK)
        common->options.problem.acceleration = kinds[choice];
    return error->status;
}

static enum status set_progress(struct cmd_common *common, const char *text, struct error *error)
{
    static const char *const names[] = {
        [PROGRESS_AUTO] = "auto", [PROGRESS_LINES] = "lines", [PROGRESS_NEVER] = "never", NULL};
    int choice = 0;
    cli_choice("--progress", text, names, &choice, error);
    common->progress = (enum progress_kind)choice;
    return error->status;
}

static enum status set_backend(struct cmd_common *common, const char *text, struct error *error)
{
    static const char *const names[] = {"auto", "cuda", "host", NULL};
    int choice = 0;
    cli_choice("--backend", text, names, &choice, error);
    common->backend = names[choice];
    return error->status;
}

enum status cmd_common_set(void *settings, int key, const char *text, struct error *error)
{
    static const char *const help_words[] = {"all", NULL};
    struct cmd_common *common = settings;
    uint64_t number = 0;
    int choice;
    switch (key) {
    case CLI_KEY_HELP:
        common->help = true;
        common->help_all = text != NULL;
        return text ? cli_choice("--help", text, help_words, &choice, error) : STATUS_OK;
    case CLI_KEY_VERSION:
        common->version = true;
        break;
    case 'q':
        common->quiet = true;
        break;
    case 't':
        cli_unsigned("--threads", text, 1, MAX_THREADS, &number, error);
        common->threads = (int)number;
        break;
    case 'r':
        return cli_unsigned("--rank", text, 1, CMD_MAX_RANK, &common->options.problem.rank, error);
    case CMD_KEY_RANKS:
        cli_unsigned("--ranks", text, 1, MAX_RANKS, &number, error);
        common->ranks.ranks = (int)number;
        break;
    case CMD_KEY_GRID:
        return cli_grid("--grid", text, common->ranks.parts, &common->ranks.modes, error);
    case CMD_KEY_ON:
        return cmd_set_on(&common->ranks, text, error);
    case CMD_KEY_INDEX_BASE:
        cli_unsigned("--index-base", text, 0, 1, &number, error);
        common->tns.index_base = (int)number;
        break;
    case CMD_KEY_DIMS:
        return cli_lengths("--dims", text, common->tns.dims, &common->tns.ndims, error);
    case CMD_KEY_BACKEND:
        return set_backend(common, text, error);
    case CMD_KEY_MEMORY:
        return cli_size("--memory", text, &common->options.memory, error);
    case CMD_KEY_HOST_MEMORY:
        cli_size("--host-memory", text, &common->options.host_memory, error);
        common->tns.memory = common->options.host_memory;
        break;
    case CMD_KEY_CONFLICT:
        return set_conflict(common, text, error);
    case CMD_KEY_PRECISION:
        return set_precision(common, text, error);
    case CMD_KEY_GPUS:
        return cmd_set_gpus(&common->gpus, text, error);
    case CMD_KEY_ACCELERATE:
        return set_acceleration(common, text, error);
    case CMD_KEY_NONNEG:
        return set_nonneg(common, text, error);
    case CMD_KEY_PROGRESS:
        return set_progress(common, text, error);
    case CMD_KEY_SHARING:
        return set_sharing(common, text, error);
    default:
        return error_set(error, STATUS_INTERNAL, "option key %d is in a table but not handled",
                         key);
    }
    return error->status;
}

bool cmd_common_answered(const struct cmd_common *common, void (*help)(FILE *stream))
{
    if (common->help)
        help(stdout);
    else if (common->version)
        printf("blco %s\n", version_text);
    return common->help || common->version;
}

void cmd_show_progress(struct progress *p, const struct cmd_common *common)
{
    progress_init(p, common->quiet ? NULL : stderr, common->progress);
}

void cmd_print_tensor(const char *path)
{
    char shown[PRINTABLE_ROOM(PATH_MAX)];
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    printf("tensor       %s\n", printable(name, shown, sizeof shown));
}

void cmd_print_lengths(const struct shape *shape)
{
    for (int n = 0; n < shape->order; n++)
        printf("%s%ju", n ? " x " : "", (uintmax_t)shape->dims[n]);
}

int cmd_set_threads(int threads, int sharers)
{
    const char *openmp = getenv("OMP_NUM_THREADS");
    const char *slurm = getenv("SLURM_CPUS_PER_TASK");
    struct error ignored = {0};
    uint64_t number;
    if (threads > 0)
        omp_set_num_threads(threads);
    else if (openmp && *openmp)
        return omp_get_max_threads();
    else if (slurm && cli_unsigned("SLURM_CPUS_PER_TASK", slurm, 1, MAX_THREADS, &number,
                                   &ignored) == STATUS_OK)
        omp_set_num_threads((int)number);
    else if (sharers > 1)
        omp_set_num_threads(omp_get_num_procs() > sharers ? omp_get_num_procs() / sharers : 1);
    return omp_get_max_threads();
}

enum status cmd_read_model(struct ktensor *k, const char *stem, const struct cmd_common *common,
                           struct error *error)
{
    struct progress progress;
    *k = (struct ktensor){0};
    cmd_set_threads(common->threads, 1);
    if (threads_start(error) != STATUS_OK)
        return error->status;
    cmd_show_progress(&progress, common);
    progress_stage(&progress, "reading %s", stem);
    ktensor_read(k, stem, 0, error);
    progress_clear(&progress);
    return error->status;
}

void cmd_print_json(const struct json *j)
{
    if (j->error->status == STATUS_OK)
        fwrite(j->text, 1, j->used, stdout);
}

uint64_t cmd_host_memory(const struct cmd_common *common)
{
    return machine_memory_budget(common->options.host_memory);
}
