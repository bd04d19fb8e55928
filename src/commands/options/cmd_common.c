#include "commands/options/cmd_common.h"

#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "base/version.h"
#include "formats/names/labels.h"
#include "plan/process_grid.h"

static const struct word help_words[] = {{"all", true}, {NULL, 0}};
static const struct word sharing_words[] = {{"auto", false}, {"off", true}, {NULL, 0}};
static const struct word progress_words[] = {
    {"auto", PROGRESS_AUTO}, {"lines", PROGRESS_LINES}, {"never", PROGRESS_NEVER}, {NULL, 0}};

static enum status set_help(const struct cli_option *o, void *to, const char *text,
                            struct error *error)
{
    struct cmd_common *common = to;
    int all;
    common->help = true;
    common->help_all = text != NULL;
    return text ? cli_choice(o->name, text, o->words, &all, error) : STATUS_OK;
}

static enum status set_sharing(const struct cli_option *o, void *to, const char *text,
                               struct error *error)
{
    int off;
    TRY(cli_choice(o->name, text, o->words, &off, error));
    *(bool *)to = off;
    return STATUS_OK;
}

enum status cmd_set_labels(const struct cli_option *o, void *to, const char *text,
                           struct error *error)
{
    (void)o;
    return labels_add(to, text, error);
}

enum status cmd_set_dims(const struct cli_option *o, void *to, const char *text,
                         struct error *error)
{
    struct tns_options *tns = to;
    return cli_lengths(o->name, text, tns->dims, &tns->ndims, error);
}

/* Adds a setting, COLUMN=..., to list[0..*count). */
static enum status add_setting(const struct cli_option *o, const char **list, int *count,
                               const char *text, struct error *error)
{
    if (!strchr(text, '='))
        return error_set(error, STATUS_INPUT, "%s: '%s', expected %s", o->name, text, o->argument);
    if (*count == MAX_ORDER)
        return error_set(error, STATUS_INPUT, "%s: more than %d times, expected once a column",
                         o->name, MAX_ORDER);
    list[(*count)++] = text;
    return STATUS_OK;
}

static enum status add_order(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    struct csv_options *csv = to;
    return add_setting(o, csv->order, &csv->orders, text, error);
}

static enum status add_bin(const struct cli_option *o, void *to, const char *text,
                           struct error *error)
{
    struct csv_options *csv = to;
    return add_setting(o, csv->bin, &csv->bins, text, error);
}

/* Without a list: all modes. */
enum status cmd_set_nonneg(const struct cli_option *o, void *to, const char *text,
                           struct error *error)
{
    struct cmd_common *common = to;
    bool *nonneg = common->options.problem.rules.nonneg;
    if (text)
        return cli_modes(o->name, text, nonneg, &common->most_nonneg, error);
    for (int n = 0; n < MAX_ORDER; n++)
        nonneg[n] = true;
    return STATUS_OK;
}

enum { UNLISTED_UNKNOWN, UNLISTED_ZERO };
const struct word cmd_unlisted_words[] = {
    {"zero", UNLISTED_ZERO}, {"unknown", UNLISTED_UNKNOWN}, {NULL, 0}};

enum status cmd_set_unlisted(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    struct unlisted *u = to;
    struct error unused = {0};
    double weight;
    int word = 0;
    if (word_find(o->words, text, strlen(text), &word))
        weight = word == UNLISTED_ZERO;
    else if (cli_nonnegative(o->name, text, &weight, &unused) != STATUS_OK || weight > 1)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected zero, unknown, or a weight from 0 to 1", o->name,
                         text);
    u->weighed = weight != 1;
    u->weight = u->weighed ? weight : 0;
    return STATUS_OK;
}

const struct cli_option cmd_input_options[] = {
    {"--index-base", 0, "0|1",
     "first index of every mode in the file ({default}, of .npy\nfiles 0)", CMD_INDEX_BASE},
    {"--dims", 0, "LIST",
     "lengths of the modes, as 4,5,6 or 4x5x6, or - in\nplace of one (from the header, or the "
     "largest index)",
     CMD_DIMS},
    {"--columns", 0, "LIST", "of CSV: the columns that are modes, as user,item,hour",
     CLI_NAME(struct cmd_common, csv.columns)},
    {"--value", 0, "COLUMN", "of CSV: the column of values (rows are counted)",
     CLI_NAME(struct cmd_common, csv.value), .needs = "--columns"},
    {"--order", 0, "COLUMN=HOW",
     "of CSV: number names sorted, by number, in order of\nappearance, or as in a FILE of names "
     "(numbers and\ndates by value, others by appearance); repeatable",
     CLI_OWN(add_order, struct csv_options, struct cmd_common, csv), .needs = "--columns"},
    {"--bin", 0, "COLUMN=WIDTH",
     "of CSV: bins of dates, as 15m, 1h, 1d or\nhour-of-week, or of numbers, as 10 or .5; "
     "repeatable",
     CLI_OWN(add_bin, struct csv_options, struct cmd_common, csv), .needs = "--columns"},
    {.name = NULL}};

const struct cli_option cmd_machine_options[] = {
    {"--backend", 0, "NAME", "{words} ({default}: cuda where a GPU\nanswers, else host)",
     CMD_BACKEND},
    CMD_THREADS,
    {"--memory", 0, "SIZE",
     "GPU memory to use, as 500M or 16G (fifteen\nsixteenths of what is free)",
     CLI_SIZE(struct cmd_common, options.memory), .may_differ = true},
    {"--host-memory", 0, "SIZE", "host memory to use (four fifths of what is free)",
     CLI_SIZE(struct cmd_common, options.host_memory), .may_differ = true},
    {"--conflict", 0, "NAME", "how additions to one row are kept apart ({default}):\n{words}",
     CLI_CHOICE(struct cmd_common, options.conflict, conflict_words), .initial = "auto"},
    {"--precision", 0, "NAME", "{words} ({default});\nauto: single first, then double",
     CLI_CHOICE(struct cmd_common, options.problem.precision, precision_words),
     .initial = "double"},
    {"--sharing", 0, "NAME",
     "whether neighbouring modes share partial products:\n{words} ({default})",
     CLI_OWN(set_sharing, bool, struct cmd_common, options.no_sharing), .words = sharing_words,
     .initial = "auto"},
    {.name = NULL}};

const struct cli_option cmd_ranks_options[] = {
    {"--gpus", 0, "N|all|LIST",
     "work on N GPUs of this machine, on all, or on those\nwith these numbers, as 0,2 (the first "
     "one)",
     CMD_GPUS, .used_most = true},
    {"--grid", 0, "AxBx...",
     "cut mode 1 into A ranges of rows, mode 2 into B, ...,\none part for each GPU or process (the "
     "cheapest)",
     CMD_GRID},
    {.name = NULL}};

const struct cli_option cmd_threads_options[] = {CMD_THREADS, {.name = NULL}};

const struct cli_option cmd_host_options[] = {
    CMD_THREADS,
    {"--host-memory", 0, "SIZE", "memory to use, as 500M or 16G (four fifths of\nwhat is free)",
     CLI_SIZE(struct cmd_common, options.host_memory)},
    {.name = NULL}};

const struct cli_option cmd_general_options[] = {
    {"--progress", 0, "HOW",
     "how long stages show progress: lines (a new text line\nat intervals), never, or auto: on a "
     "terminal one line\nthat is rewritten, elsewhere lines ({default})",
     CLI_CHOICE(struct cmd_common, progress_kind, progress_words), .initial = "auto",
     .excludes = "--quiet", .may_differ = true},
    {"--quiet", 'q', NULL, "print nothing but results and errors",
     CLI_FLAG(struct cmd_common, quiet), .may_differ = true},
    {"--help", 'h', "[=all]", "print this help; all: every option", CLI_SETTINGS(set_help),
     .words = help_words, .ends = true, .used_most = true, .may_differ = true},
    {"--version", 'V', NULL, "print the version", CLI_FLAG(struct cmd_common, version),
     .ends = true, .may_differ = true},
    {.name = NULL}};

void cmd_help(FILE *stream, const struct command *command, bool all)
{
    const bool is_short = command->short_ending && !all;
    const char *ending = is_short ? command->short_ending : command->ending;
    fputs(command->usage, stream);
    cli_help(stream, command->sections, is_short ? "Options that are used most" : NULL);
    fputs(ending ? ending : "", stream);
}

bool cmd_answered(const struct command *command, const struct cmd_common *common)
{
    if (common->help)
        cmd_help(stdout, command, common->help_all);
    else if (common->version)
        printf("blco %s\n", version_text);
    return common->help || common->version;
}

int cmd_run(const struct command *command, int argc, char **argv, struct error *error)
{
    struct cli_line line = {.argc = argc, .argv = argv};
    struct cmd_common *settings = memory_zeros(command->settings, 1, error);
    if (!settings)
        return (int)error->status;
    if (!command->verbatim || argc < 2 || strcmp(argv[1], command->verbatim) != 0)
        cli_parse(&line, command->sections, settings, error);
    settings->tns.memory = settings->options.host_memory; /* reading may take as much */
    progress_init(&settings->progress, settings->quiet ? NULL : stderr, settings->progress_kind);
    enum status status = error->status;
    if (status == STATUS_OK ? !cmd_answered(command, settings) : command->together)
        status = command->run(settings, &line, error);
    const int code = status == STATUS_OK && settings->signal ? 128 + settings->signal : (int)status;
    progress_clear(&settings->progress);
    if (command->free)
        command->free(settings);
    memory_free(settings);
    return code;
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
    else if (slurm && cli_unsigned("SLURM_CPUS_PER_TASK", slurm, 1, CMD_MAX_THREADS, &number,
                                   &ignored) == STATUS_OK)
        omp_set_num_threads((int)number);
    else if (sharers > 1)
        omp_set_num_threads(omp_get_num_procs() > sharers ? omp_get_num_procs() / sharers : 1);
    return omp_get_max_threads();
}

bool cmd_ends_in(const char *text, size_t length, const char *ending)
{
    const size_t size = strlen(ending);
    return length > size && memcmp(text + length - size, ending, size) == 0;
}

enum status cmd_begin(const struct cmd_common *common, struct error *error)
{
    cmd_set_threads(common->threads, 1);
    return threads_start(error);
}

enum status cmd_read_model(struct named_model *m, const char *stem, struct cmd_common *common,
                           struct error *error)
{
    m->stem = stem;
    TRY(cmd_begin(common, error));
    progress_stage(&common->progress, "reading %s", stem);
    named_model_read(m, NULL, error);
    progress_clear(&common->progress);
    TRY(error->status);
    char expected[64] = "";
    words_list(expected, sizeof expected, loss_words, ", ", " or ");
    return !m->facts.known || loss_of_word(m->facts.loss)
               ? STATUS_OK
               : error_set(error, STATUS_INPUT,
                           "%s." MODEL_FACTS_SUFFIX ": \"loss\": '%s', expected %s", stem,
                           m->facts.loss, expected);
}

const struct loss *cmd_model_loss(const struct named_model *m)
{
    return m->facts.known ? loss_of_word(m->facts.loss) : loss_of(LOSS_SQUARES);
}

enum status cmd_print_json(struct json *j)
{
    if (j->error->status == STATUS_OK)
        fwrite(j->text, 1, j->used, stdout);
    json_free(j);
    return j->error->status;
}

enum status cmd_check_by_rows(const struct cmd_common *common, const char *reason,
                              struct error *error)
{
    const enum conflict conflict = common->options.conflict;
    if (conflict != CONFLICT_AUTO && !conflict_traits[conflict].ordered)
        return error_set(error, STATUS_INPUT, "--conflict %s and %s: expected auto or ordered",
                         conflict_name(conflict), reason);
    if (common->ranks.modes > 0)
        return error_set(error, STATUS_INPUT,
                         "--grid and %s: no mode is cut where each row has a system of its own",
                         reason);
    return STATUS_OK;
}

uint64_t cmd_host_memory(const struct cmd_common *common)
{
    return machine_memory_budget(common->options.host_memory);
}

const struct word cmd_value_words[] = {
    {"log1p", VALUES_LOG1P}, {"binary", VALUES_BINARY}, {NULL, 0}};

enum status cmd_set_values(const struct cli_option *o, void *to, const char *text,
                           struct error *error)
{
    struct value_rule *rule = to;
    const size_t length = strlen("tfidf:");
    const char *number = text + length, *end = text + strlen(text);
    uint64_t mode = 0;
    int kind = VALUES_AS_THEY_ARE;
    if (strncmp(text, "tfidf:", length) == 0 && number < end &&
        number_parse_unsigned(number, end, &mode) == end && mode >= 1 && mode <= MAX_ORDER) {
        *rule = (struct value_rule){VALUES_TFIDF, (int)mode - 1};
        return STATUS_OK;
    }
    if (!word_find(o->words, text, strlen(text), &kind))
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected log1p, binary or tfidf:MODE with a mode from 1 to %d",
                         o->name, text, MAX_ORDER);
    *rule = (struct value_rule){(enum value_kind)kind, 0};
    return STATUS_OK;
}

const struct word cmd_on_words[] = {
    {"gpus", CMD_ON_GPUS}, {"processors", CMD_ON_PROCESSORS}, {NULL, 0}};

enum status cmd_set_grid(const struct cli_option *o, void *to, const char *text,
                         struct error *error)
{
    struct cmd_ranks *ranks = to;
    return cli_grid(o->name, text, ranks->parts, &ranks->modes, error);
}

enum status cmd_set_gpus(const struct cli_option *o, void *to, const char *text,
                         struct error *error)
{
    struct cmd_gpus *gpus = to;
    struct error unused = {0};
    uint64_t number;
    *gpus = (struct cmd_gpus){.listed = strchr(text, ',') != NULL,
                              .all_unless_given = gpus->all_unless_given};
    for (const char *at = text; gpus->listed && *at; at += *at == ',') {
        char word[32];
        const size_t length = strcspn(at, ",");
        if (length >= sizeof word || gpus->count == CMD_MAX_GPUS)
            return error_set(error, STATUS_INPUT, "%s: '%s', expected at most %d numbers", o->name,
                             text, CMD_MAX_GPUS);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        TRY(cli_unsigned(o->name, word, 0, INT_MAX, &number, error));
        gpus->device[gpus->count++] = (int)number;
        at += length;
    }
    if (gpus->listed)
        return STATUS_OK;
    if (strcmp(text, "all") == 0)
        gpus->count = CMD_ALL_GPUS;
    else if (cli_unsigned(o->name, text, 1, CMD_MAX_GPUS, &number, &unused) == STATUS_OK)
        gpus->count = (int)number;
    else
        error_set(error, STATUS_INPUT,
                  "%s: '%s', expected a number of GPUs from 1 to %d, all, or the numbers of GPUs, "
                  "as 0,2",
                  o->name, text, CMD_MAX_GPUS);
    return error->status;
}

enum status cmd_check_parts(const struct cmd_ranks *ranks, int count, const char *what,
                            struct error *error)
{
    char name[128];
    int product = 1;
    for (int n = 0; n < ranks->modes; n++)
        product *= ranks->parts[n];
    if (ranks->modes == 0 || product == count)
        return STATUS_OK;
    process_grid_name(ranks->parts, ranks->modes, name, sizeof name);
    return error_set(error, STATUS_INPUT,
                     "--grid: '%s', expected a product of %d, the number of %s", name, count, what);
}

enum status cmd_count_ranks(struct cmd_ranks *ranks, struct error *error)
{
    if (ranks->modes > 0 && ranks->ranks == 0) {
        ranks->ranks = 1;
        for (int n = 0; n < ranks->modes; n++)
            ranks->ranks *= ranks->parts[n];
    }
    return cmd_check_parts(ranks, ranks->ranks, "--ranks", error);
}

enum status cmd_check_grid(const struct cmd_ranks *ranks, int order, struct error *error)
{
    char name[128];
    if (ranks->modes == 0 || ranks->modes == order)
        return STATUS_OK;
    process_grid_name(ranks->parts, ranks->modes, name, sizeof name);
    return error_set(error, STATUS_INPUT,
                     "--grid: '%s', expected %d number%s, one for each mode of the tensor", name,
                     order, order == 1 ? "" : "s");
}

int cmd_take_numbers(const char *text, uint64_t number[3])
{
    const char *end = text + strlen(text);
    for (int count = 0; count < 3; text++) {
        text = number_parse_unsigned(text, end, &number[count++]);
        if (text == end)
            return count;
        if (!text || *text != ':')
            break;
    }
    return 0;
}

enum status rank_range_set(const struct cli_option *o, void *to, const char *text,
                           struct error *error)
{
    struct rank_range *range = to;
    uint64_t number[3] = {0, 0, 1};
    if (!strchr(text, ':')) {
        TRY(cli_unsigned(o->name, text, 1, CMD_MAX_RANK, &number[0], error));
        *range = (struct rank_range){number[0], number[0], 1};
        return STATUS_OK;
    }
    if (cmd_take_numbers(text, number) == 0 || number[0] < 1 || number[1] < number[0] ||
        number[1] > CMD_MAX_RANK || number[2] < 1 || number[2] > CMD_MAX_RANK)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected ranks from 1 to %d, as 1:4 or 4:32:4", o->name, text,
                         CMD_MAX_RANK);
    uint64_t steps = (number[1] - number[0]) / number[2];
    if (steps >= RANK_RANGE_MOST)
        return error_set(error, STATUS_INPUT, "%s: '%s' are %ju ranks, expected %d at most",
                         o->name, text, (uintmax_t)steps + 1, RANK_RANGE_MOST);
    *range = (struct rank_range){number[0], number[0] + steps * number[2], number[2]};
    return STATUS_OK;
}

int rank_range_count(const struct rank_range *range)
{
    return (int)((range->last - range->first) / range->step) + 1;
}
