#include "commands/cpd/cpd_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "commands/options/cli_values.h"
#include "formats/names/name_list.h"

#define MAX_ITERATIONS 1000000000
#define MAX_STARTS     10000
#define MAX_RUNS       30000

#define REPLICATE_PARTS 10 /* unless --replicate says how many */

#define HOLDOUT_SEED       1   /* unless the user gives another                 */
#define ITERATIONS         50  /* unless the user says how many ...             */
#define BY_ROWS_ITERATIONS 200 /* ... and where each row has a system of its own */

const struct word cpd_init_words[] = {
    {"random", GUESS_RANDOM}, {"normal", GUESS_NORMAL}, {"nvecs", GUESS_NVECS}, {NULL, 0}};

static enum status set_init(const struct cli_option *o, void *to, const char *text,
                            struct error *error)
{
    struct cpd_settings *s = to;
    char expected[64] = "";
    int init = GUESS_RANDOM;
    words_list(expected, sizeof expected, o->words, ", ", ", ");
    if (!*text)
        return error_set(error, STATUS_INPUT,
                         "%s: '', expected %s or the beginning of a model's names", o->name,
                         expected);
    s->init_stem = word_find(o->words, text, strlen(text), &init) ? NULL : text;
    s->runs.guess.kind = s->init_stem ? GUESS_MODEL : (enum guess)init;
    return STATUS_OK;
}

static const struct word auto_words[] = {{"auto", true}, {NULL, 0}};

static enum status set_starts(const struct cli_option *o, void *to, const char *text,
                              struct error *error)
{
    struct cpd_settings *s = to;
    uint64_t starts = STARTS_MOST;
    int word;
    s->runs.until_found = word_find(o->words, text, strlen(text), &word);
    if (!s->runs.until_found &&
        cli_unsigned(o->name, text, 1, MAX_STARTS, &starts, error) != STATUS_OK)
        return error_append(error, ", or %s", o->words->text);
    s->runs.starts = (int)starts;
    return STATUS_OK;
}

static enum status set_ridge(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    struct cpd_settings *s = to;
    int word;
    s->runs.choose_ridge = word_find(o->words, text, strlen(text), &word);
    if (s->runs.choose_ridge)
        return STATUS_OK;
    double *ridge = s->common.options.problem.rules.ridge;
    if (cli_mode_numbers(o->name, text, ridge, s->ridged, &s->most_ridge, error) != STATUS_OK)
        return error_append(error, ", or %s", o->words->text);
    return STATUS_OK;
}

/* What cmd_set_values reads, or the modes to centre, as center:1,2, with a shrinkage, as
 * center:1,2:10, or both, as log1p+center:1,2. */
static enum status set_values(const struct cli_option *o, void *to, const char *text,
                              struct error *error)
{
    static const char word[] = "center:";
    struct cpd_settings *s = to;
    const char *center = strstr(text, word), *colon, *end = text + strlen(text);
    const bool centres = center && (center == text || center[-1] == '+');
    char kind[64] = "";
    s->common.values = (struct value_rule){.kind = VALUES_AS_THEY_ARE};
    s->center = NULL;
    s->shrinkage = -1;
    if (!centres || center > text) {
        if (centres)
            snprintf(kind, sizeof kind, "%.*s", (int)(center - text) - 1, text);
        if (cmd_set_values(o, &s->common.values, centres ? kind : text, error) != STATUS_OK)
            return error_append(error, ", or center:MODES");
    }
    if (!centres)
        return STATUS_OK;
    s->center = center + strlen(word);
    colon = strrchr(s->center, ':');
    if (colon && number_parse(colon + 1, end, &s->shrinkage) == end) {
        if (!(s->shrinkage >= 0 && isfinite(s->shrinkage)))
            return error_set(error, STATUS_INPUT, "%s: '%s', expected a shrinkage of 0 or more",
                             o->name, text);
        end = colon;
    }
    s->center_length = (size_t)(end - s->center);
    return s->center_length > 0
               ? STATUS_OK
               : error_set(error, STATUS_INPUT, "%s: '%s', expected modes to centre, as center:1,2",
                           o->name, text);
}

static enum status set_fixed(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    struct cpd_settings *s = to;
    return cli_modes(o->name, text, s->common.options.problem.rules.fixed, &s->most_fixed, error);
}

/* A share, as 0.1, or a share and a seed, as 0.1:7. */
static enum status set_holdout(const struct cli_option *o, void *to, const char *text,
                               struct error *error)
{
    struct holdout *h = to;
    const char *end = text + strcspn(text, ":");
    h->seed = HOLDOUT_SEED;
    if (*end)
        TRY(cli_unsigned(o->name, end + 1, 0, CMD_MAX_SEED, &h->seed, error));
    if (number_parse(text, end, &h->share) != end || !(h->share > 0 && h->share < 1))
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected a share between 0 and 1, as 0.1, or a share and a "
                         "seed, as 0.1:7",
                         o->name, text);
    return STATUS_OK;
}

/* A mode, as 1, or a mode and a seed, as 1:7. */
static enum status set_halves(const struct cli_option *o, void *to, const char *text,
                              struct error *error)
{
    struct slice_parts *parts = to;
    const char *end = text + strcspn(text, ":");
    uint64_t mode = 0, seed = 0;
    if (*end)
        TRY(cli_unsigned(o->name, end + 1, 0, CMD_MAX_SEED, &seed, error));
    if (number_parse_unsigned(text, end, &mode) != end || mode < 1 || mode > MAX_ORDER)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected a mode from 1 to %d, as 1, or a mode and a seed, as "
                         "1:7",
                         o->name, text, MAX_ORDER);
    *parts = (struct slice_parts){.mode = (int)mode, .parts = 2, .divisions = 1, .seed = seed};
    return STATUS_OK;
}

/* A mode, as 1, perhaps with a number of parts, as 1:10, and of divisions, as 1:10:3. */
static enum status set_replicates(const struct cli_option *o, void *to, const char *text,
                                  struct error *error)
{
    struct slice_parts *parts = to;
    uint64_t number[3] = {0, REPLICATE_PARTS, 1};
    if (cmd_take_numbers(text, number) == 0 || number[0] < 1 || number[0] > MAX_ORDER ||
        number[1] < 2 || number[2] < 1 || number[1] > MOST_REPLICATES ||
        number[2] > MOST_REPLICATES || number[1] * number[2] > MOST_REPLICATES)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected a mode from 1 to %d, as 1, or with a number of parts "
                         "from 2 on, as 1:10, or of divisions, too, as 1:10:3, of at most %d parts "
                         "in all",
                         o->name, text, MAX_ORDER, MOST_REPLICATES);
    *parts = (struct slice_parts){
        .mode = (int)number[0], .parts = (int)number[1], .divisions = (int)number[2]};
    return STATUS_OK;
}

static enum status set_stem(const struct cli_option *o, void *to, const char *text,
                            struct error *error)
{
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] == '/')
        return error_set(error, STATUS_INPUT, "%s: '%s', expected the beginning of a file name",
                         o->name, text);
    struct cpd_settings *s = to;
    memory_free(s->base_stem);
    s->base_stem = memory_text(error, "%s", text);
    return error->status;
}

/* A number of iterations, as 50i, or a time. */
static enum status set_every(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    struct checkpoint_options *saving = to;
    size_t length = strlen(text);
    uint64_t number;
    saving->iterations = 0;
    saving->seconds = 0;
    if (length == 0 || text[length - 1] != 'i')
        return cli_duration(o->name, text, &saving->seconds, error);
    const char *end = text + length - 1;
    if (number_parse_unsigned(text, end, &number) != end || end == text || number < 1 ||
        number > MAX_ITERATIONS)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a number of iterations as 50i",
                         o->name, text);
    saving->iterations = (int)number;
    return STATUS_OK;
}

static const struct cli_option model_options[] = {
    {"--rank", 'r', "R",
     "number of components (required); a range, as 1:4 or\n4:32:4, makes a model of each and "
     "suggests a rank",
     CLI_OWN(rank_range_set, struct rank_range, struct cpd_settings, ranks), .used_most = true},
    {"--iters", 'i', "N",
     "at most N iterations (50; 200 with --unlisted or\na --loss other than squares)",
     CLI_INT(struct cpd_settings, als.max_iterations, 1, MAX_ITERATIONS), .used_most = true},
    {"--tol", 0, "X",
     "stop when the fit changes by less than X ({default});\n0: run all iterations",
     CLI_NUMBER(struct cpd_settings, als.tolerance), .initial = "1e-5", .used_most = true},
    {"--require-converged", 0, NULL,
     "exit with status 7 if the run ends before it has\nconverged; the model is written as usual",
     CLI_FLAG(struct cpd_settings, require_converged)},
    {"--check-every", 0, "N",
     "compute the fit of every N-th iteration, and of the\nlast one, from the residual: a pass "
     "over the nonzeros\n({default}: only where rounding could hide a change)",
     CLI_INT(struct cpd_settings, als.check_every, 0, MAX_ITERATIONS), .initial = "0"},
    {"--accelerate", 0, "HOW",
     "off, momentum (fewer iterations where many are\nneeded; more memory) or auto: momentum if "
     "memory has\nroom for it ({default})",
     CMD_ACCELERATE},
    {"--seed", 0, "N", "seed of the random start ({default})",
     CMD_SEED(struct cpd_settings, runs.guess.seed), .initial = "1",
     CLI_GIVEN(struct cpd_settings, seed_given), .used_most = true},
    {"--starts", 0, "N",
     "run from N random starts and write the best model;\nauto: until it was found three times, or "
     "30 ({default})",
     CLI_SETTINGS(set_starts), .words = auto_words, .initial = "1", .used_most = true},
    {"--init", 0, "START",
     "random (uniform on [0,1)), normal, nvecs (about the\nsingular vectors of the unfoldings), or "
     "the STEM of\na model to start from ({default})",
     CLI_SETTINGS(set_init), .words = cpd_init_words, .initial = "random"},
    {"--match", 0, "HOW",
     "how rows of --init STEM find those of the tensor:\n{words}; by names, where both "
     "have\nnames; "
     "all: the model has to have all; index: they\nagree ({default})",
     CLI_CHOICE(struct cpd_settings, match, match_words), .initial = "names",
     CLI_GIVEN(struct cpd_settings, match_given)},
    {"--core-consistency", 0, NULL,
     "show the core consistency: whether each component\nhas a meaning of its own (always with a "
     "range of -r)",
     CLI_FLAG(struct cpd_settings, als.core_consistency)},
    {"--ridge", 0, "X",
     "add X to the diagonal of the normal equations ({default});\n1=X,3=Y: of these modes only; "
     "auto: the X with which\nthe held-out error is least",
     CLI_SETTINGS(set_ridge), .words = auto_words, .initial = "0"},
    {"--values", 0, "HOW",
     "what becomes of a value x: ln(1 + x) (log1p), 1\n(binary), tfidf:MODE: more where the index "
     "of this\nmode is rare, or center:MODES: x less its mean and\nthose of the slices of MODES, "
     "as 1,2, which the model\nkeeps; log1p+center:MODES: both; default: x",
     CLI_SETTINGS(set_values), .words = cmd_value_words},
    {"--unlisted", 0, "WHAT",
     "what an entry that the tensor does not list is: zero,\nunknown, or a zero of this weight, as "
     "0.1 ({default})",
     CMD_UNLISTED},
    {"--fade", 0, "X",
     "with --unlisted: begin with zeros of weight 1, and\nmultiply that by X after each iteration; "
     "0: begin\nwithout ({default}; 0 with --init STEM)",
     CLI_NUMBER(struct cpd_settings, common.options.problem.unlisted.fade), .initial = "0.8",
     CLI_GIVEN(struct cpd_settings, fade_given)},
    {"--ridge-scale", 0, "HOW",
     "of --ridge: unit, balanced or counted (unit; balanced\nif unlisted entries are unknown or "
     "weighed)",
     CLI_CHOICE(struct cpd_settings, common.options.problem.ridge_scale, ridge_scale_words),
     CLI_GIVEN(struct cpd_settings, ridge_scale_given), .needs = "--ridge"},
    {"--holdout", 0, "F[:SEED]",
     "leave out this share of the entries, as 0.1, and show\nhow well the model predicts them",
     CLI_OWN(set_holdout, struct holdout, struct cpd_settings, common.options.problem.holdout)},
    {"--early-stop", 0, "K",
     "with --holdout: stop after K iterations without a\nsmaller held-out error, and write the "
     "best model",
     CLI_INT(struct cpd_settings, als.early_stop, 1, MAX_ITERATIONS), .needs = "--holdout"},
    {"--split-half", 0, "MODE[:SEED]",
     "also decompose two halves of the slices of MODE,\n1, 3, ... and 2, 4, ..., or by a SEED, and "
     "show\nwhich components both have",
     CLI_OWN(set_halves, struct slice_parts, struct cpd_settings, runs.parts)},
    {"--replicate", 0, "MODE[:N[:M]]",
     "also decompose the tensor without each of\nN parts (10) of the slices of MODE, by M "
     "divisions\n(1), and show which components are found again",
     CLI_OWN(set_replicates, struct slice_parts, struct cpd_settings, runs.parts),
     .excludes = "--split-half"},
    {"--loss", 0, "WHAT", "{words}: what the\nmodel minimises ({default})",
     CLI_CHOICE(struct cpd_settings, common.options.problem.loss, loss_words), .initial = "squares",
     .used_most = true},
    {"--solver", 0, "HOW",
     "with a --loss other than squares, the step of a row:\n{words} ({default})",
     CLI_CHOICE(struct cpd_settings, common.options.problem.solver, solver_words),
     .initial = "newton", CLI_GIVEN(struct cpd_settings, solver_given)},
    {"--inner", 0, "K",
     "with --solver mu: K multiplicative steps of a mode\nbefore the next mode ({default})",
     CLI_INT(struct cpd_settings, common.options.problem.inner, 1, PROBLEM_MOST_INNER),
     .initial = "1", CLI_GIVEN(struct cpd_settings, inner_given)},
    {"--nonneg", 0, "[MODES]",
     "keep the factor matrices of these modes, as 1,3,\nnonnegative; without a list: of all modes",
     CMD_NONNEG, .used_most = true},
    {"--fix", 0, "MODES",
     "keep the factor matrices of these modes as in the\nmodel of --init STEM; other modes start "
     "at random if\nthey have another length there, or no file",
     CLI_SETTINGS(set_fixed)},
    {.name = NULL}};

static const struct cli_option output_options[] = {
    {"--stem", 'o', "STEM", "files begin with STEM (the tensor's name)", CLI_SETTINGS(set_stem),
     .used_most = true},
    {"--format", 0, "LIST", "{words}, or a list ({default})",
     CLI_WORDS(struct cpd_settings, formats, ktensor_format_words), .initial = "text",
     .used_most = true},
    {"--nowrite", 0, NULL, "write no files", CLI_FLAG(struct cpd_settings, nowrite),
     .excludes = "--stem --format --rescue"},
    {"--rescue", 0, "DIR",
     "folder for the model if it cannot be written at STEM\n(the temporary folder)",
     CLI_NAME(struct cpd_settings, rescue)},
    {"--record", 0, "FILE",
     "write a record of the run to FILE (JSON), also with\n--nowrite; blco report looks for it at "
     "STEM.json",
     CLI_FILE(struct cpd_settings, record_as_given)},
    {"--json", 0, NULL, "print the record on standard output, and tables on\nstandard error",
     CLI_FLAG(struct cpd_settings, json)},
    {"--verbose", 'v', NULL,
     "show the memory plan, the kernels, all stages and the\ntime of each mode; with several GPUs "
     "or processes, a\ntable of them",
     CLI_FLAG(struct cpd_settings, verbose), .excludes = "--quiet", .may_differ = true},
    {.name = NULL}};

static const struct cli_option checkpoint_options[] = {
    {"--checkpoint", 0, "FILE",
     "save the state of the run in FILE at intervals and\nwhen the run ends",
     CLI_FILE(struct cpd_settings, saving.path), .used_most = true},
    {"--checkpoint-every", 0, "TIME",
     "the interval: a time as 90s, 10m or 1h30m, or a\nnumber of iterations as 50i (10m)",
     CLI_OWN(set_every, struct checkpoint_options, struct cpd_settings, saving),
     .needs = "--checkpoint"},
    {"--resume", 0, "FILE", "go on from the checkpoint in FILE",
     CLI_FILE(struct cpd_settings, resume), .excludes = "--resume-if-exists --init"},
    {"--resume-if-exists", 0, "FILE", "go on from FILE if it exists, else start a new run",
     CLI_FILE(struct cpd_settings, resume_if_exists)},
    {"--time-limit", 0, "TIME",
     "stop after the iteration during which TIME, as 3h50m,\nhas passed since the start",
     CLI_DURATION(struct cpd_settings, time_limit)},
    {.name = NULL}};

const struct cli_section cpd_sections[] = {
    {"Model", model_options},         {"Input", cmd_input_options},
    {"Output", output_options},       {"Checkpoints", checkpoint_options},
    {"Machine", cmd_machine_options}, {"Several GPUs or processes", cmd_ranks_options},
    {"General", cmd_general_options}, {NULL, NULL}};

bool cpd_settings_range(const struct cpd_settings *s)
{
    return s->ranks.last > s->ranks.first;
}

/* Refuses what makes no sense with several starts, a range of -r or replicates. */
static enum status check_runs(const struct cpd_settings *s, struct error *error)
{
    const struct slice_parts *parts = &s->runs.parts;
    const int models = (1 + slice_parts_replicates(parts)) * s->runs.starts;
    const char *several = cpd_settings_range(s)           ? "a range of -r"
                          : s->runs.starts > 1            ? "--starts"
                          : slice_parts_are_halves(parts) ? "--split-half"
                          : parts->mode > 0               ? "--replicate"
                                                          : NULL;
    if (!several)
        return STATUS_OK;
    if (s->init_stem)
        return error_set(error, STATUS_INPUT, "--init %s and %s: --init provides a single start",
                         s->init_stem, several);
    const char *checkpoint = s->saving.path        ? "checkpoint"
                             : s->resume           ? "resume"
                             : s->resume_if_exists ? "resume-if-exists"
                                                   : NULL;
    if (checkpoint)
        return error_set(error, STATUS_INPUT,
                         "--%s and %s: a checkpoint has the state of one start, of one rank",
                         checkpoint, several);
    if (s->runs.guess.seed > CMD_MAX_SEED - (uint64_t)(models - 1))
        return error_set(error, STATUS_INPUT,
                         "--seed %ju: %d starts need seeds above %ju, the largest",
                         (uintmax_t)s->runs.guess.seed, models, (uintmax_t)CMD_MAX_SEED);
    if (models > MAX_RUNS)
        return error_set(error, STATUS_INPUT,
                         "--starts %d and %d replicates: %d starts in all, expected at most %d",
                         s->runs.starts, slice_parts_replicates(parts), models, MAX_RUNS);
    return STATUS_OK;
}

/* A name for the present rank of -r, which the caller frees: with a range, the rank stands before
 * the ending, if the name has it. NULL without a name. */
static char *name_of_rank(const struct cpd_settings *s, const char *name, const char *ending,
                          struct error *error)
{
    if (!name || !cpd_settings_range(s))
        return name ? memory_text(error, "%s", name) : NULL;
    const size_t length = strlen(name);
    const bool ends = cmd_ends_in(name, length, ending);
    return memory_text(error, "%.*s.r%ju%s", (int)(ends ? length - strlen(ending) : length), name,
                       (uintmax_t)s->common.options.problem.rank, ends ? ending : "");
}

enum status cpd_settings_take_rank(struct cpd_settings *s, uint64_t rank, struct error *error)
{
    s->common.options.problem.rank = rank;
    memory_free(s->record, s->stem);
    s->record = name_of_rank(s, s->record_as_given, ".json", error);
    s->stem = name_of_rank(s, s->base_stem, "", error);
    return error->status;
}

/* Sets the base stem to the name of the tensor's file without its folder and endings. */
static enum status default_stem(struct cpd_settings *s, struct error *error)
{
    if (strcmp(s->tensor, "-") == 0)
        return error_set(error, STATUS_INPUT,
                         "standard input has no name for the files: -o STEM or --nowrite expected");
    static const char *const endings[] = {".gz", ".tns", ".csv", ".tsv", ".blco", ".npy"};
    size_t length = name_maps_length(s->tensor);
    const char *slash = memrchr(s->tensor, '/', length);
    const char *name = slash ? slash + 1 : s->tensor;
    length -= (size_t)(name - s->tensor);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (cmd_ends_in(name, length, endings[i]))
            length -= strlen(endings[i]);
    if (length == 0)
        return error_set(error, STATUS_INPUT, "'%s' is not the name of a file", s->tensor);
    s->base_stem = memory_text(error, "%.*s", (int)length, name);
    return error->status;
}

enum status cpd_settings_check_by_rows(const struct cpd_settings *s, const char *reason,
                                       struct error *error)
{
    const bool counts = problem_has_rates(&s->common.options.problem);
    TRY(cmd_check_by_rows(&s->common, reason, error));
    if (s->runs.guess.kind == GUESS_NVECS)
        return error_set(error, STATUS_INPUT, "--init nvecs and %s: nvecs %s", reason,
                         counts ? "is for squares" : "treats unlisted entries as zeros");
    return STATUS_OK;
}

bool cpd_settings_by_rows(const struct cpd_settings *s, uint64_t unknown)
{
    struct problem p = s->common.options.problem;
    problem_take_unknown(&p, unknown);
    return problem_by_rows(&p);
}

/* What follows from --loss. */
static enum status complete_loss(struct cpd_settings *s, struct error *error)
{
    struct problem *p = &s->common.options.problem;
    const struct loss *loss = loss_of(p->loss);
    if (s->inner_given && p->solver != SOLVER_MU)
        return error_set(error, STATUS_INPUT, "--inner %d: only with --solver mu", p->inner);
    if (s->solver_given && !problem_has_rates(p))
        return error_set(error, STATUS_INPUT, "--solver %s: only with another --loss than squares",
                         word_of(solver_words, (int)p->solver));
    if (!loss->rates)
        return STATUS_OK;
    if (!loss_takes_zeros(loss) && (!p->unlisted.weighed || p->unlisted.weight > 0))
        return error_set(error, STATUS_INPUT, "%s: no value is 0: expected --unlisted unknown",
                         loss->option);
    if (mode_rules_largest_ridge(&p->rules, MAX_ORDER) > 0 || s->runs.choose_ridge ||
        s->ridge_scale_given)
        return error_set(error, STATUS_INPUT, "--ridge and %s: a ridge is for squares alone",
                         loss->option);
    s->common.tns.check = s->common.values.kind == VALUES_AS_THEY_ARE ? &loss->values : NULL;
    problem_complete_loss(p);
    return cpd_settings_check_by_rows(s, loss->option, error);
}

/* What follows from --unlisted. */
static enum status complete_unlisted(struct cpd_settings *s, struct error *error)
{
    struct problem *p = &s->common.options.problem;
    const bool weighed = p->unlisted.weighed;
    const double fade = p->unlisted.fade;
    char text[UNLISTED_TEXT], reason[64];
    if (!s->ridge_scale_given)
        p->ridge_scale = weighed && !problem_has_rates(p) ? RIDGE_BALANCED : RIDGE_UNIT;
    if (s->fade_given && !weighed)
        return error_set(error, STATUS_INPUT,
                         "--fade %g: only where --unlisted is unknown or a weight", fade);
    if (fade >= 1)
        return error_set(error, STATUS_INPUT, "--fade %g: expected less than 1", fade);
    if (!weighed && p->ridge_scale != RIDGE_UNIT)
        return error_set(error, STATUS_INPUT,
                         "--ridge-scale %s: only where --unlisted is unknown or a weight",
                         word_of(ridge_scale_words, (int)p->ridge_scale));
    const bool fits = s->init_stem && !s->fade_given; /* a start that knows what is unlisted */
    p->unlisted.fade = weighed && !fits ? fade : 0;
    s->common.tns.zeros = weighed ? COO_KEEP_ZEROS : COO_DROP_ZEROS;
    if (s->als.max_iterations == 0)
        s->als.max_iterations = problem_by_rows(p) ? BY_ROWS_ITERATIONS : ITERATIONS;
    snprintf(reason, sizeof reason, "--unlisted %s", unlisted_text(&p->unlisted, text));
    return weighed ? cpd_settings_check_by_rows(s, reason, error) : STATUS_OK;
}

/* Where zeros would be no zeros, or no entry negative, there is nothing to centre. */
static enum status check_center(const struct cpd_settings *s, struct error *error)
{
    const struct problem *p = &s->common.options.problem;
    const int length = (int)s->center_length;
    if (!s->center)
        return STATUS_OK;
    if (problem_has_rates(p))
        return error_set(error, STATUS_INPUT,
                         "--values center:%.*s and %s: centred values are no counts", length,
                         s->center, loss_of(p->loss)->option);
    if (!p->unlisted.weighed || p->unlisted.weight > 0)
        return error_set(error, STATUS_INPUT,
                         "--values center:%.*s: entries that are not listed would not stay zeros: "
                         "expected --unlisted unknown",
                         length, s->center);
    return STATUS_OK;
}

static enum status complete(struct cpd_settings *s, struct error *error)
{
    const double holdout = s->common.options.problem.holdout.share;
    char reason[64];
    if (s->ranks.first == 0)
        return error_set(error, STATUS_INPUT, "no rank given: -r RANK expected");
    if (s->require_converged && s->als.tolerance == 0)
        return error_set(error, STATUS_INPUT,
                         "--require-converged and --tol 0: such a run never converges");
    if (s->match_given && !s->init_stem)
        return error_set(error, STATUS_INPUT, "--match: only where --init is the STEM of a model");
    if (s->most_fixed > 0 && !s->resume && !s->init_stem)
        return error_set(error, STATUS_INPUT, "--fix needs --init STEM");
    for (int n = 0; n < MAX_ORDER; n++)
        if (s->ridged[n] && s->common.options.problem.rules.fixed[n])
            return error_set(error, STATUS_INPUT,
                             "--ridge and --fix: mode %d, expected one of them", n + 1);
    s->recorded = s->record_as_given || s->json;
    s->common.options.iterations = (uint64_t)s->als.max_iterations *
                                   (uint64_t)(s->runs.until_found ? STARTS_ENOUGH : s->runs.starts);
    TRY(complete_loss(s, error));
    TRY(complete_unlisted(s, error));
    TRY(check_center(s, error));
    if (holdout > 0) {
        snprintf(reason, sizeof reason, "--holdout %g", holdout);
        TRY(cpd_settings_check_by_rows(s, reason, error));
    } else if (s->runs.choose_ridge) {
        return error_set(error, STATUS_INPUT,
                         "--ridge auto needs entries that are held out: --holdout 0.1 expected");
    }
    TRY(check_runs(s, error));
    if (!s->base_stem && !s->nowrite)
        TRY(default_stem(s, error));
    if (cpd_settings_range(s) && !s->nowrite)
        s->ranks_path = memory_text(error, "%s.ranks.json", s->base_stem);
    /* For checkpoints also the state, the previous model (momentum) and the best one. */
    s->common.options.models = run_list_models(&s->runs) + (s->saving.path ? 3 : 0);
    return cpd_settings_take_rank(s, s->ranks.first, error);
}

enum status cpd_settings_complete(struct cpd_settings *s, const struct cli_line *line,
                                  struct error *error)
{
    TRY(cli_single_operand(line, "tensor", error));
    s->tensor = line->operand[0];
    complete(s, error);
    return cli_hint(line, error);
}

static enum status check_most(const char *option, int most, int order, struct error *error)
{
    return most <= order ? STATUS_OK
                         : error_set(error, STATUS_INPUT, "%s: mode %d, but the tensor has %d",
                                     option, most, order);
}

enum status cpd_settings_check_order(const struct cpd_settings *s, int order, struct error *error)
{
    TRY(check_most("--nonneg", s->common.most_nonneg, order, error));
    TRY(check_most("--fix", s->most_fixed, order, error));
    TRY(check_most("--ridge", s->most_ridge, order, error));
    bool signs = false; /* some mode has them */
    for (int n = 0; n < order; n++)
        signs = signs || !s->common.options.problem.rules.nonneg[n];
    if (s->center && !signs)
        return error_set(error, STATUS_INPUT,
                         "--values center:%.*s and --nonneg: no component could be negative, as "
                         "half of the centred values are: leave out a mode",
                         (int)s->center_length, s->center);
    return mode_rules_last(&s->common.options.problem.rules, order) >= 0
               ? STATUS_OK
               : error_set(error, STATUS_INPUT,
                           "--fix: all %d modes are fixed, expected at least one that is not",
                           order);
}
