#include "commands/cli.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"

#define MAX_OPTIONS 64
#define MAX_THREADS 4096

const struct cli_option cli_input_options[] = {
    {"index-base", CLI_KEY_INDEX_BASE, "0|1", "first index of every mode in the file (1)"},
    {"dims", CLI_KEY_DIMS, "LIST",
     "lengths of the modes, as 4,5,6 or 4x5x6\n(from the header, or the largest index of each)"},
    {NULL, 0, NULL, NULL}};

const struct cli_option cli_machine_options[] = {
    {"backend", CLI_KEY_BACKEND, "NAME",
     "auto, cuda or host (auto: cuda where a GPU\nanswers, else host)"},
    {"threads", 't', "N",
     "processor threads (OMP_NUM_THREADS, else\nSLURM_CPUS_PER_TASK, else all available)"},
    {"memory", CLI_KEY_MEMORY, "SIZE", "GPU memory to use, as 500M or 16G (what is free)"},
    {"host-memory", CLI_KEY_HOST_MEMORY, "SIZE",
     "host memory to use (four fifths of what is free)"},
    {"conflict", CLI_KEY_CONFLICT, "NAME",
     "how additions to one output row are kept apart:\nauto, ordered, hierarchical, register, "
     "atomic (auto)"},
    {"precision", CLI_KEY_PRECISION, "NAME", "double or single (double)"},
    {"sharing", CLI_KEY_SHARING, "NAME",
     "whether neighbouring modes share partial products:\nauto or off (auto)"},
    {NULL, 0, NULL, NULL}};

const struct cli_option cli_general_options[] = {
    {"quiet", 'q', NULL, "print nothing but results and errors"},
    {"help", CLI_KEY_HELP, NULL, "print this help"},
    {"version", CLI_KEY_VERSION, NULL, "print the version"},
    {NULL, 0, NULL, NULL}};

void cli_common_init(struct cli_common *common)
{
    *common = (struct cli_common){
        .tns = {.index_base = 1}, .backend = "auto", .options = {.conflict = CONFLICT_AUTO}};
}

static enum status set_conflict(struct cli_common *common, const char *text, struct error *error)
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

static enum status set_sharing(struct cli_common *common, const char *text, struct error *error)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "off") != 0)
        return error_set(error, STATUS_INPUT, "--sharing: '%s', expected auto or off", text);
    common->options.no_sharing = strcmp(text, "off") == 0;
    return STATUS_OK;
}

static enum status set_precision(struct cli_common *common, const char *text, struct error *error)
{
    if (strcmp(text, "double") == 0)
        common->options.precision = PRECISION_DOUBLE;
    else if (strcmp(text, "single") == 0)
        common->options.precision = PRECISION_SINGLE;
    else
        return error_set(error, STATUS_INPUT, "--precision: '%s', expected double or single", text);
    return STATUS_OK;
}

static enum status set_backend(struct cli_common *common, const char *text, struct error *error)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "cuda") != 0 && strcmp(text, "host") != 0)
        return error_set(error, STATUS_INPUT, "--backend: '%s', expected auto, cuda or host", text);
    common->backend = text;
    return STATUS_OK;
}

enum status cli_common_set(struct cli_common *common, int key, const char *text,
                           struct error *error)
{
    uint64_t number = 0;
    switch (key) {
    case CLI_KEY_HELP:
        common->help = true;
        break;
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
    case CLI_KEY_INDEX_BASE:
        cli_unsigned("--index-base", text, 0, 1, &number, error);
        common->tns.index_base = (int)number;
        break;
    case CLI_KEY_DIMS:
        return cli_lengths("--dims", text, common->tns.dims, &common->tns.ndims, error);
    case CLI_KEY_BACKEND:
        return set_backend(common, text, error);
    case CLI_KEY_MEMORY:
        return cli_size("--memory", text, &common->options.memory, error);
    case CLI_KEY_HOST_MEMORY:
        return cli_size("--host-memory", text, &common->options.host_memory, error);
    case CLI_KEY_CONFLICT:
        return set_conflict(common, text, error);
    case CLI_KEY_PRECISION:
        return set_precision(common, text, error);
    case CLI_KEY_SHARING:
        return set_sharing(common, text, error);
    default:
        return error_set(error, STATUS_INTERNAL, "option key %d is in a table but not handled",
                         key);
    }
    return error->status;
}

/* The options of all groups as getopt_long takes them, long and short. */
struct getopt_tables {
    struct option longs[MAX_OPTIONS + 1];
    char shorts[3 * MAX_OPTIONS + 2];
};

static void fill_tables(struct getopt_tables *t, const struct cli_group *groups)
{
    memset(t, 0, sizeof *t);
    int count = 0;
    char *s = t->shorts;
    *s++ = ':'; /* a missing argument is told apart from an unknown option */
    for (; groups->title; groups++)
        for (const struct cli_option *o = groups->options; o->name && count < MAX_OPTIONS; o++) {
            t->longs[count++] = (struct option){
                o->name, o->argument ? required_argument : no_argument, NULL, o->key};
            if (o->key <= UCHAR_MAX) {
                *s++ = (char)o->key;
                if (o->argument)
                    *s++ = ':';
            }
        }
}

static enum status refuse_option(int answer, const char *word, struct error *error)
{
    char letter[3] = {'-', (char)optopt, 0};
    bool is_long = strncmp(word, "--", 2) == 0;
    const char *name = is_long || optopt == 0 || optopt > UCHAR_MAX ? word : letter;
    int length = (int)strcspn(name, "=");
    if (answer == ':')
        return error_set(error, STATUS_INPUT, "option %.*s needs an argument", length, name);
    if (is_long && optopt != 0)
        return error_set(error, STATUS_INPUT, "option %.*s takes no argument", length, name);
    return error_set(error, STATUS_INPUT, "unknown or ambiguous option %.*s", length, name);
}

enum status cli_parse(int argc, char **argv, const struct cli_group *groups, cli_setter set,
                      void *settings, int *first, struct error *error)
{
    struct getopt_tables tables;
    fill_tables(&tables, groups);
    opterr = 0;
    optind = 0; /* getopt begins again, whatever it parsed before */
    int key;
    while ((key = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
        if (key == '?' || key == ':')
            return refuse_option(key, argv[optind - 1], error);
        if (set(settings, key, optarg, error) != STATUS_OK)
            return error->status;
        if (key == CLI_KEY_HELP || key == CLI_KEY_VERSION)
            break;
    }
    *first = optind;
    return STATUS_OK;
}

enum status cli_single_operand(int argc, char **argv, int first, const char *what,
                               const char **operand, struct error *error)
{
    if (first >= argc)
        return error_set(error, STATUS_INPUT, "no %s given", what);
    if (first + 1 < argc)
        return error_set(error, STATUS_INPUT, "one %s expected, but '%s' follows '%s'", what,
                         argv[first + 1], argv[first]);
    *operand = argv[first];
    return STATUS_OK;
}

static void help_option(FILE *stream, const struct cli_option *o)
{
    const int column = 27;
    int used = o->key <= UCHAR_MAX ? fprintf(stream, "  -%c, --%s", o->key, o->name)
                                   : fprintf(stream, "      --%s", o->name);
    if (o->argument)
        used += fprintf(stream, " %s", o->argument);
    fprintf(stream, "%*s", column - used > 1 ? column - used : 1, "");
    for (const char *c = o->help; *c; c++) {
        fputc(*c, stream);
        if (*c == '\n')
            fprintf(stream, "%*s", column, "");
    }
    fputc('\n', stream);
}

void cli_help(FILE *stream, const struct cli_group *groups)
{
    for (; groups->title; groups++) {
        fprintf(stream, "\n%s:\n", groups->title);
        for (const struct cli_option *o = groups->options; o->name; o++)
            help_option(stream, o);
    }
}

enum status cli_unsigned(const char *option, const char *text, uint64_t least, uint64_t most,
                         uint64_t *value, struct error *error)
{
    const char *end = text + strlen(text);
    const char *rest = number_parse_unsigned(text, end, value);
    if (!rest || rest != end || *value < least || *value > most)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a whole number from %ju to %ju",
                         option, text, (uintmax_t)least, (uintmax_t)most);
    return STATUS_OK;
}

enum status cli_nonnegative(const char *option, const char *text, double *value,
                            struct error *error)
{
    const char *end = text + strlen(text);
    const char *rest = number_parse(text, end, value);
    if (!rest || rest != end || !isfinite(*value) || *value < 0)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a number of 0 or more", option,
                         text);
    return STATUS_OK;
}

enum status cli_size(const char *option, const char *text, uint64_t *bytes, struct error *error)
{
    static const char units[] = "KMGT";
    const char *end = text + strlen(text);
    uint64_t number = 0;
    const char *rest = number_parse_unsigned(text, end, &number);
    int shift = 0;
    const char *unit = rest && *rest ? strchr(units, *rest) : NULL;
    if (unit) {
        shift = 10 * (int)(unit - units + 1);
        rest++;
    }
    if (!rest || *rest || number == 0 || number > (UINT64_MAX >> 1) >> shift)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected bytes as 800000000, 500M or 16G (K, M, G, T: powers "
                         "of 1024)",
                         option, text);
    *bytes = number << shift;
    return STATUS_OK;
}

enum status cli_lengths(const char *option, const char *text, uint64_t *lengths, int *count,
                        struct error *error)
{
    const char *end = text + strlen(text);
    const char *rest = text;
    for (*count = 0; *count < MAX_ORDER;) {
        rest = number_parse_unsigned(rest, end, &lengths[*count]);
        if (!rest || lengths[*count] == 0 || lengths[*count] > MAX_LENGTH)
            break;
        ++*count;
        if (rest == end)
            return STATUS_OK;
        if (*rest != ',' && *rest != 'x')
            break;
        rest++;
    }
    return error_set(error, STATUS_INPUT,
                     "%s: '%s', expected 1 to %d lengths from 1 to %ju, as 4,5,6 or 4x5x6", option,
                     text, MAX_ORDER, (uintmax_t)MAX_LENGTH);
}

enum status cli_header(const char *text, enum tns_header *header, struct error *error)
{
    static const char *const names[] = {
        [TNS_HEADER_NONE] = "none", [TNS_HEADER_DIMS] = "dims", [TNS_HEADER_SPTENSOR] = "sptensor"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        if (strcmp(text, names[i]) == 0) {
            *header = (enum tns_header)i;
            return STATUS_OK;
        }
    return error_set(error, STATUS_INPUT, "--header: '%s', expected none, dims or sptensor", text);
}

int cli_set_threads(int threads)
{
    const char *openmp = getenv("OMP_NUM_THREADS");
    const char *slurm = getenv("SLURM_CPUS_PER_TASK");
    struct error ignored = {0};
    uint64_t number;
    if (threads > 0)
        omp_set_num_threads(threads);
    else if (!(openmp && *openmp) && slurm &&
             cli_unsigned("SLURM_CPUS_PER_TASK", slurm, 1, MAX_THREADS, &number, &ignored) ==
                 STATUS_OK)
        omp_set_num_threads((int)number);
    return omp_get_max_threads();
}

enum status cli_choose_backend(const struct cli_common *common, const struct backend_kind **kind,
                               struct error *why_not, struct error *error)
{
    const struct plan_tensor any = {.shape = {1, {1}}, .nnz = 1}; /* the smallest */
    struct plan_request request;
    if (backend_choose(kind, common->backend, why_not, error) != STATUS_OK)
        return error->status;
    return (*kind)->request(&request, &any, &common->options, error);
}

/* Levenshtein distance of two short words. */
static int edit_distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    int la = (int)strlen(a), lb = (int)strlen(b), row[MOST + 1];
    if (la > MOST || lb > MOST)
        return MOST;
    for (int j = 0; j <= lb; j++)
        row[j] = j;
    for (int i = 1; i <= la; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

uint64_t cli_host_memory(const struct cli_common *common)
{
    uint64_t given = common->options.host_memory;
    return given ? given : (uint64_t)(MACHINE_MEMORY_SHARE * (double)machine_memory_available());
}

const char *cli_nearest(const char *word, const char *const *names, int count)
{
    const char *nearest = NULL;
    int least = 3; /* up to two slips, as "cdp" for "cpd", count as near */
    for (int i = 0; i < count; i++) {
        int distance = edit_distance(word, names[i]);
        if (distance < least) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
