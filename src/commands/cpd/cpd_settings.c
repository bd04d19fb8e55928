#include "commands/cpd/cpd_settings.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "commands/options/cli_modes.h"
#include "commands/cmd.h"
#include "formats/ktensor/ktensor_io.h"

#define MAX_ITERATIONS 1000000000
#define MAX_STARTS     10000

enum {
    KEY_TOL = CMD_KEY_OWN,
    KEY_SEED,
    KEY_INIT,
    KEY_FORMAT,
    KEY_NOWRITE,
    KEY_RESCUE,
    KEY_RECORD,
    KEY_RIDGE,
    KEY_STARTS,
    KEY_CORE,
    KEY_FIX,
    KEY_CHECK,
    KEY_CHECKPOINT,
    KEY_EVERY,
    KEY_RESUME,
    KEY_RESUME_IF_EXISTS,
    KEY_REQUIRE_CONVERGED,
    KEY_JSON,
    KEY_TIME_LIMIT
};

static const struct cli_option model_options[] = {
    {"rank", 'r', "R",
     "number of components (required); a range as\n1:4 or 4:32:4: a model of each, and a "
     "suggestion"},
    {"iters", 'i', "N", "at most N iterations (50)"},
    {"tol", KEY_TOL, "X",
     "stop when the fit changes by less than X (1e-5);\n0: only after the last iteration"},
    {"require-converged", KEY_REQUIRE_CONVERGED, NULL,
     "exit with 7 where the run ends before that; the model\nis written all the same"},
    {"check-every", KEY_CHECK, "N",
     "compute the fit of every N-th iteration, and of the\nlast one, from the residual: a pass "
     "over "
     "the nonzeros\n(0: only where rounding could pass for convergence)"},
    {"accelerate", CMD_KEY_ACCELERATE, "HOW",
     "off, momentum (fewer iterations where many are\nneeded; more memory) or auto: momentum "
     "where\nmemory has room for it (auto)"},
    {"seed", KEY_SEED, "N", "seed of the random start (1)"},
    {"starts", KEY_STARTS, "N",
     "N random starts, of the seeds that follow; the best\ncounts, and how far the others agree is "
     "shown (1)"},
    {"init", KEY_INIT, "START",
     "random (uniform on [0,1)), normal, nvecs (about the\nsingular vectors of the unfoldings), or "
     "the STEM of\na model to start from (random)"},
    {"core-consistency", KEY_CORE, NULL,
     "show the core consistency: whether the components\nmean something (of a range of -r: "
     "always)"},
    {"ridge", KEY_RIDGE, "X",
     "add X to the diagonal of the normal equations (0);\nas 1=X,3=Y: for single modes"},
    {"nonneg", CMD_KEY_NONNEG, "[MODES]",
     "keep the factor matrices of these modes, as 1,3,\nnonnegative; without a list: of all modes"},
    {"fix", KEY_FIX, "MODES",
     "keep the factor matrices of these modes as --init\nSTEM gives them; other modes start at "
     "random\nwhere STEM's have another length, or no file"},
    {NULL, 0, NULL, NULL}};

static const struct cli_option output_options[] = {
    {"stem", 'o', "STEM", "the names of the files begin with STEM\n(the tensor's name)"},
    {"format", KEY_FORMAT, "LIST", "one or more of text, npy, ktns, separated by\ncommas (text)"},
    {"nowrite", KEY_NOWRITE, NULL, "write no files"},
    {"rescue", KEY_RESCUE, "DIR",
     "where the model goes if it cannot be written at STEM\n(the temporary folder)"},
    {"record", KEY_RECORD, "FILE",
     "write a record of the run in FILE (JSON), with\n--nowrite, too; STEM.json is where blco "
     "report\n"
     "looks for it"},
    {"json", KEY_JSON, NULL, "print the record on standard output, and tables on\nstandard error"},
    {"verbose", 'v', NULL,
     "show the memory plan, the kernels, all stages and the\ntime of each mode; of several ranks, "
     "a "
     "table of them"},
    {NULL, 0, NULL, NULL}};

static const struct cli_option checkpoint_options[] = {
    {"checkpoint", KEY_CHECKPOINT, "FILE",
     "save the state of the run in FILE now and then, and\nat the end"},
    {"checkpoint-every", KEY_EVERY, "TIME",
     "how often: after a time as 90s, 10m or 1h30m, or\nafter N iterations as 50i (10m)"},
    {"resume", KEY_RESUME, "FILE", "go on from the checkpoint in FILE"},
    {"resume-if-exists", KEY_RESUME_IF_EXISTS, "FILE",
     "go on from FILE where it exists, else begin anew"},
    {"time-limit", KEY_TIME_LIMIT, "TIME",
     "stop after the iteration in which TIME has passed\nsince the start, as 3h50m"},
    {NULL, 0, NULL, NULL}};

const struct cli_section cmd_cpd_sections[] = {
    {"Model", model_options},         {"Input", cmd_input_options},
    {"Output", output_options},       {"Checkpoints", checkpoint_options},
    {"Machine", cmd_machine_options}, {"Several GPUs or processes", cmd_ranks_options},
    {"General", cmd_general_options}, {NULL, NULL}};

static const char usage[] =
    "Usage: blco cpd TENSOR -r RANK [-o STEM] [OPTION]...\n\n"
    "Decomposes a sparse tensor into RANK components (CP-ALS) and writes the weights\n"
    "to STEM.lambda.mat and the factor matrix of each mode to STEM.mode1.mat, ...\n"
    "TENSOR is text (.tns), plain or gzip, a .blco file, or - for standard input.\n";

void cmd_cpd_help(FILE *stream)
{
    static const char *const used_most[] = {
        "rank",   "iters", "tol",    "seed",       "starts",
        "nonneg", "stem",  "format", "checkpoint", "resume-if-exists",
        "gpus",   "help",  NULL};
    fputs(usage, stream);
    cli_help_some(stream, "Options that are used most", cmd_cpd_sections, used_most);
    fprintf(stream, "\nblco cpd --help=all shows every option, blco-cpd(1) explains them.\n");
}

void cmd_cpd_help_all(FILE *stream)
{
    fputs(usage, stream);
    cli_help(stream, cmd_cpd_sections);
    fprintf(stream,
            "\nProcesses that mpirun or srun starts work on one tensor together, each with a\n"
            "GPU where there are GPUs. Options of memory count for each GPU or process, -t\n"
            "for each process. More in blco-cluster(7).\n"
            "\nSIGINT, SIGTERM or SIGHUP ends the run after the present iteration, and the\n"
            "model so far and a checkpoint are written; SIGUSR1 asks for a checkpoint. Exit\n"
            "codes: 0 done, 2 usage or input, 3 memory, 4 numerical breakdown, 5 output, 7 not\n"
            "converged (--require-converged), 129, 130 or 143 interrupted. More in\n"
            "blco-cpd(1).\n");
}

static enum status set_formats(struct cpd_settings *s, const char *text, struct error *error)
{
    static const struct {
        const char *name;
        unsigned bit;
    } formats[] = {{"text", KTENSOR_TEXT}, {"npy", KTENSOR_NPY}, {"ktns", KTENSOR_KTNS}};
    s->formats = 0;
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, ",");
        unsigned bit = 0;
        for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
            if (strlen(formats[i].name) == length && memcmp(word, formats[i].name, length) == 0)
                bit = formats[i].bit;
        if (!bit)
            return error_set(error, STATUS_INPUT,
                             "--format: '%s', expected text, npy, ktns or several of them "
                             "separated by commas",
                             text);
        s->formats |= bit;
        word += length;
        if (!*word)
            return STATUS_OK;
    }
}

static enum status set_init(struct cpd_settings *s, const char *text, struct error *error)
{
    s->init_as_given = text;
    s->init_stem = NULL;
    if (!*text)
        return error_set(
            error, STATUS_INPUT,
            "--init: '', expected random, normal, nvecs or the beginning of a model's names");
    s->guess = GUESS_RANDOM;
    if (strcmp(text, "normal") == 0)
        s->guess = GUESS_NORMAL;
    else if (strcmp(text, "nvecs") == 0)
        s->guess = GUESS_NVECS;
    else if (strcmp(text, "random") != 0)
        s->init_stem = text;
    return STATUS_OK;
}

static enum status copy_stem(struct cpd_settings *s, const char *text, size_t length,
                             struct error *error)
{
    memory_free(s->stem);
    s->stem = memory_zeros(length + 1, 1, error);
    if (s->stem)
        memcpy(s->stem, text, length);
    return error->status;
}

static enum status set_stem(struct cpd_settings *s, const char *text, struct error *error)
{
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] == '/')
        return error_set(error, STATUS_INPUT, "--stem: '%s', expected the beginning of a file name",
                         text);
    return copy_stem(s, text, length, error);
}

/* A number of iterations as 50i, or a time. */
static enum status set_every(struct cpd_settings *s, const char *text, struct error *error)
{
    size_t length = strlen(text);
    uint64_t number;
    s->every_iterations = 0;
    s->every_seconds = 0;
    if (length == 0 || text[length - 1] != 'i')
        return cli_duration("--checkpoint-every", text, &s->every_seconds, error);
    const char *end = text + length - 1;
    if (number_parse_unsigned(text, end, &number) != end || end == text || number < 1 ||
        number > MAX_ITERATIONS)
        return error_set(error, STATUS_INPUT,
                         "--checkpoint-every: '%s', expected a number of iterations as 50i", text);
    s->every_iterations = (int)number;
    return STATUS_OK;
}

static enum status set_option(void *settings, int key, const char *text, struct error *error)
{
    struct cpd_settings *s = settings;
    uint64_t number = 0;
    switch (key) {
    case 'i':
        cli_unsigned("--iters", text, 1, MAX_ITERATIONS, &number, error);
        s->iterations = (int)number;
        return error->status;
    case KEY_TOL:
        return cli_nonnegative("--tol", text, &s->tolerance, error);
    case KEY_CHECK:
        cli_unsigned("--check-every", text, 0, MAX_ITERATIONS, &number, error);
        s->check_every = (int)number;
        return error->status;
    case KEY_SEED:
        return cli_unsigned("--seed", text, 0, CMD_MAX_SEED, &s->seed, error);
    case KEY_INIT:
        return set_init(s, text, error);
    case KEY_STARTS:
        cli_unsigned("--starts", text, 1, MAX_STARTS, &number, error);
        s->starts = (int)number;
        return error->status;
    case KEY_CORE:
        s->core_consistency = true;
        return STATUS_OK;
    case 'r':
        return rank_range_parse(&s->ranks, text, error);
    case KEY_RIDGE:
        return cli_mode_numbers("--ridge", text, s->common.options.problem.rules.ridge,
                                &s->most_ridge, error);
    case KEY_FIX:
        return cli_modes("--fix", text, s->common.options.problem.rules.fixed, &s->most_fixed,
                         error);
    case 'o':
        return set_stem(s, text, error);
    case KEY_FORMAT:
        return set_formats(s, text, error);
    case KEY_RESCUE:
        return cli_name("--rescue", text, &s->rescue, error);
    case KEY_RECORD:
        return cli_file("--record", text, &s->record_as_given, error);
    case KEY_NOWRITE:
        s->nowrite = true;
        return STATUS_OK;
    case KEY_CHECKPOINT:
        return cli_file("--checkpoint", text, &s->checkpoint, error);
    case KEY_EVERY:
        return set_every(s, text, error);
    case KEY_RESUME:
        return cli_file("--resume", text, &s->resume, error);
    case KEY_RESUME_IF_EXISTS:
        return cli_file("--resume-if-exists", text, &s->resume_if_exists, error);
    case KEY_REQUIRE_CONVERGED:
        s->require_converged = true;
        return STATUS_OK;
    case KEY_JSON:
        s->json = true;
        return STATUS_OK;
    case KEY_TIME_LIMIT:
        return cli_duration("--time-limit", text, &s->time_limit, error);
    case 'v':
        s->verbose = true;
        return STATUS_OK;
    default:
        return cmd_common_set(&s->common, key, text, error);
    }
}

static bool several_ranks(const struct cpd_settings *s)
{
    return s->ranks.last > s->ranks.first;
}

/* Refuses what makes no sense with several starts or several ranks. */
static enum status check_runs(const struct cpd_settings *s, struct error *error)
{
    const char *several = several_ranks(s) ? "a range of -r" : "--starts";
    if (s->starts == 1 && !several_ranks(s))
        return STATUS_OK;
    if (s->init_stem)
        return error_set(error, STATUS_INPUT, "--init %s and %s: one start, of one rank, expected",
                         s->init_stem, several);
    const char *checkpoint = s->checkpoint         ? "checkpoint"
                             : s->resume           ? "resume"
                             : s->resume_if_exists ? "resume-if-exists"
                                                   : NULL;
    if (checkpoint)
        return error_set(error, STATUS_INPUT,
                         "--%s and %s: a checkpoint has the state of one start, of one rank",
                         checkpoint, several);
    if (s->seed > CMD_MAX_SEED - (uint64_t)(s->starts - 1))
        return error_set(error, STATUS_INPUT, "--seed %ju: the seeds of %d starts end beyond %ju",
                         (uintmax_t)s->seed, s->starts, (uintmax_t)CMD_MAX_SEED);
    return STATUS_OK;
}

void cpd_settings_resume(struct cpd_settings *s, const char *checkpoint)
{
    s->resume = checkpoint;
    s->init_stem = NULL;
    s->guess = GUESS_RANDOM;
}

/* The name of a record among those of several ranks: the rank stands before the ending .json. */
static char *record_of_rank(const char *name, uint64_t rank, struct error *error)
{
    size_t length = strlen(name);
    bool ending = length > 5 && strcmp(name + length - 5, ".json") == 0;
    return memory_text(error, "%.*s.r%ju%s", (int)(ending ? length - 5 : length), name,
                       (uintmax_t)rank, ending ? ".json" : "");
}

enum status cpd_settings_take_rank(struct cpd_settings *s, uint64_t rank, struct error *error)
{
    s->common.options.problem.rank = rank;
    memory_free(s->record);
    s->record = NULL;
    if (s->record_as_given)
        s->record = several_ranks(s) ? record_of_rank(s->record_as_given, rank, error)
                                     : memory_text(error, "%s", s->record_as_given);
    if (error->status != STATUS_OK || !s->base_stem)
        return error->status;
    memory_free(s->stem);
    s->stem = memory_text(error, "%s.r%ju", s->base_stem, (uintmax_t)rank);
    return error->status;
}

/* The models of all starts, and what a checkpoint is written from: the state, the model beside one
 * that is extrapolated, the best model. */
static uint64_t models_kept(const struct cpd_settings *s)
{
    return (uint64_t)(s->starts > 0 ? s->starts : 1) + (s->checkpoint ? 3 : 0);
}

/* Of several ranks, the stem is the beginning of each rank's. */
static void settle_ranks(struct cpd_settings *s)
{
    s->common.options.problem.rank = s->ranks.first;
    s->common.options.models = models_kept(s);
    s->common.options.spends = !several_ranks(s);
    if (!several_ranks(s))
        return;
    s->core_consistency = true;
    s->base_stem = s->stem;
    s->stem = NULL;
}

/* Sets the stem to the name of the tensor's file without its folder and endings. */
static enum status default_stem(struct cpd_settings *s, struct error *error)
{
    if (strcmp(s->tensor, "-") == 0)
        return error_set(error, STATUS_INPUT,
                         "standard input has no name for the files: -o STEM or --nowrite expected");
    static const char *const endings[] = {".gz", ".tns", ".blco"};
    const char *slash = strrchr(s->tensor, '/');
    const char *name = slash ? slash + 1 : s->tensor;
    size_t length = strlen(name);
    for (int i = 0; i < 3; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && memcmp(name + length - ending, endings[i], ending) == 0)
            length -= ending;
    }
    if (length == 0)
        return error_set(error, STATUS_INPUT, "'%s' is not the name of a file", s->tensor);
    return copy_stem(s, name, length, error);
}

/* Refuses options that contradict each other, and works out what follows from them. */
static enum status settle(struct cpd_settings *s, struct error *error)
{
    if (s->ranks.first == 0)
        return error_set(error, STATUS_INPUT, "no rank given: -r RANK expected");
    if (s->resume && s->init_as_given)
        return error_set(error, STATUS_INPUT,
                         "--resume and --init %s: both say where to start from", s->init_as_given);
    if (s->resume && s->resume_if_exists)
        return error_set(error, STATUS_INPUT,
                         "--resume and --resume-if-exists: one of them expected");
    if (s->require_converged && s->tolerance == 0)
        return error_set(error, STATUS_INPUT,
                         "--require-converged and --tol 0: such a run never converges");
    if (s->most_fixed > 0 && !s->resume && !s->init_stem)
        return error_set(error, STATUS_INPUT, "--fix: --init STEM expected, too");
    if ((s->every_seconds > 0 || s->every_iterations > 0) && !s->checkpoint)
        return error_set(error, STATUS_INPUT,
                         "--checkpoint-every: --checkpoint FILE expected, too");
    s->recorded = s->record_as_given || s->json;
    s->common.options.iterations = (uint64_t)s->iterations * (uint64_t)s->starts;
    if (check_runs(s, error) != STATUS_OK ||
        (!s->stem && !s->nowrite && default_stem(s, error) != STATUS_OK))
        return error->status;
    settle_ranks(s);
    return cpd_settings_take_rank(s, s->ranks.first, error);
}

enum status cpd_settings_parse(struct cpd_settings *s, int argc, char **argv, struct error *error)
{
    *s = (struct cpd_settings){
        .formats = KTENSOR_TEXT, .iterations = 50, .tolerance = 1e-5, .seed = 1, .starts = 1};
    cmd_common_init(&s->common);
    s->common.options.problem.acceleration = ACCELERATE_AUTO;
    int first;
    if (cli_parse(argc, argv, cmd_cpd_sections, set_option, s, &first, error) != STATUS_OK ||
        s->common.help || s->common.version)
        return error->status;
    if (cli_single_operand(argc, argv, first, "tensor", &s->tensor, error) != STATUS_OK)
        return error->status;
    settle(s, error);
    return cli_hint(argv, error);
}

static enum status check_most(const char *option, int most, int order, struct error *error)
{
    return most <= order ? STATUS_OK
                         : error_set(error, STATUS_INPUT, "%s: mode %d, but the tensor has %d",
                                     option, most, order);
}

enum status cpd_settings_check_order(const struct cpd_settings *s, int order, struct error *error)
{
    if (check_most("--nonneg", s->common.most_nonneg, order, error) != STATUS_OK ||
        check_most("--fix", s->most_fixed, order, error) != STATUS_OK ||
        check_most("--ridge", s->most_ridge, order, error) != STATUS_OK)
        return error->status;
    return mode_rules_last(&s->common.options.problem.rules, order) >= 0
               ? STATUS_OK
               : error_set(error, STATUS_INPUT,
                           "--fix: all %d modes, so that nothing is left to do", order);
}

void cpd_settings_free(struct cpd_settings *s)
{
    memory_free(s->base_stem);
    memory_free(s->record);
    s->record = NULL;
    memory_free(s->stem);
    s->base_stem = s->stem = NULL;
}
