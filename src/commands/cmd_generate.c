/* blco generate: synthetic tensors. */
#include "commands/cmd.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"
#include "formats/external_sort.h"
#include "formats/tensor_file.h"
#include "generate/generate.h"

#define WRITER_PART 8 /* the writer has 1 / WRITER_PART of the memory */

struct settings {
    struct cmd_common common;
    struct generate_spec spec;
    struct generate_plant plant; /* rank 0: no low rank is asked for */
    uint64_t nnz, seed;
    double scale;
    const char *preset, *skew, *fibers, *runs;
    const char *collinearity_given; /* the option's name, or NULL */
    bool list, force;
    struct text_output text;
    const char *path; /* of the file that is made; borrowed */
    uint64_t made;    /* nonzeros                           */
    bool counts;      /* the nonzeros of a skewed tensor, which are not written yet */
    struct tensor_writer writer;
    struct line_writer_report report;
};

/* The i-th preset, NULL after the last one. */
static const char *preset_name(int i)
{
    return generate_presets[i].name;
}

static enum status set_positive(const struct cli_option *o, void *to, const char *text,
                                struct error *error)
{
    double number;
    TRY(cli_nonnegative(o->name, text, &number, error));
    if (number <= 0)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a number above 0", o->name, text);
    *(double *)to = number;
    return STATUS_OK;
}

/* A mean of counts that are clipped. */
static enum status set_clipped(const struct cli_option *o, void *to, const char *text,
                               struct error *error)
{
    struct generate_plant *plant = to;
    plant->clipped = true;
    return set_positive(o, &plant->counts, text, error);
}

static const struct cli_option size_options[] = {
    {"--dims", 0, "LIST", "lengths of the modes, as 4,5,6 or 4x5x6", CMD_DIMS},
    {"--nnz", 0, "N", "number of nonzeros", CLI_UNSIGNED(struct settings, nnz, 1, MAX_NNZ)},
    {"--preset", 0, "NAME",
     "lengths, nonzeros and skew like those of a FROSTT\ntensor; `list` lists them",
     CLI_TEXT(struct settings, preset), .name_at = preset_name,
     .excludes = "--dims --nnz --skew --fibers --runs --planted-rank"},
    {"--scale", 0, "X", "X times as many nonzeros as the preset has ({default})",
     CLI_OWN(set_positive, double, struct settings, scale), .initial = "1", .needs = "--preset"},
    {"--list", 0, NULL, "list the presets", CLI_FLAG(struct settings, list),
     .excludes = "--dims --nnz --preset --seed --header --index-base --force"},
    {.name = NULL}};

static const struct cli_option skew_options[] = {
    {"--skew", 0, "LIST",
     "Zipf exponent of each mode (0: uniform), or `even`:\nall indices equally often, and in order",
     CLI_TEXT(struct settings, skew)},
    {"--fibers", 0, "SPEC",
     "COUNT:MODES[:EXPONENT], as 100000:1,2:0.5: take\nthe indices of these modes from COUNT "
     "combinations,\nwhich are drawn by a Zipf exponent (0)",
     CLI_TEXT(struct settings, fibers)},
    {"--runs", 0, "SPEC",
     "MODE:FRACTION:LENGTH[:scattered], as 2:0.5:4: this\nfraction of the nonzeros is in runs "
     "along the mode,\nof this mean length; scattered: indices from --skew",
     CLI_TEXT(struct settings, runs)},
    {.name = NULL}};

static const struct cli_option model_options[] = {
    {"--planted-rank", 0, "R", "instead of skew: a tensor of R sparse components",
     CLI_UNSIGNED(struct settings, plant.rank, 1, CMD_MAX_RANK),
     .excludes = "--skew --fibers --runs"},
    {"--noise", 0, "S",
     "norm of Gaussian noise on the nonzeros, relative\nto the model's ({default})",
     CLI_NUMBER(struct settings, plant.noise), .initial = "0", .needs = "--planted-rank"},
    {"--poisson", 0, "MEAN",
     "counts: Poisson numbers whose rates are the model's\nvalues, with this mean; zeros are left "
     "out",
     CLI_OWN(set_positive, double, struct settings, plant.counts), .needs = "--planted-rank",
     .excludes = "--noise --collinearity"},
    {"--binary", 0, "MEAN", "ones, where such a count is not 0",
     CLI_OWN(set_clipped, struct generate_plant, struct settings, plant), .needs = "--planted-rank",
     .excludes = "--noise --poisson --collinearity"},
    {"--collinearity", 0, "C",
     "components that share all indices, with this cosine\nbetween any two columns: 0 to 0.9999",
     CLI_NUMBER(struct settings, plant.collinearity),
     CLI_GIVEN(struct settings, collinearity_given), .needs = "--planted-rank"},
    {.name = NULL}};

static const struct cli_option output_options[] = {
    {"--seed", 0, "S", "seed of the random numbers ({default})", CMD_SEED(struct settings, seed),
     .initial = "1"},
    TEXT_OUTPUT_HEADER(struct settings, text),
    {"--index-base", 0, "0|1", "first index of every mode in text ({default})",
     TEXT_OUTPUT_INDEX_BASE(struct settings, text), .initial = "1"},
    TENSOR_TARGET_FORCE(struct settings, force),
    {.name = NULL}};

static const struct cli_section sections[] = {{"Size", size_options},
                                              {"Skewed, with counts as values", skew_options},
                                              {"Low rank", model_options},
                                              {"Output", output_options},
                                              {"Machine", cmd_host_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

static enum status find_preset(const struct settings *s, struct generate_recipe *recipe,
                               struct error *error)
{
    const char *names[64];
    int count = 0;
    for (const struct generate_recipe *p = generate_presets; p->name && count < 64; p++) {
        names[count++] = p->name;
        if (strcmp(s->preset, p->name) == 0) {
            const double nnz = round((double)p->nnz * s->scale);
            if (nnz < 1 || nnz > (double)MAX_NNZ)
                return error_set(error, STATUS_INPUT, "--scale: %g makes %.0f nonzeros", s->scale,
                                 nnz);
            *recipe = *p;
            recipe->nnz = (uint64_t)nnz;
            return STATUS_OK;
        }
    }
    const char *nearest = cli_nearest(s->preset, names, count);
    return error_set(error, STATUS_INPUT, "--preset: '%s' is none of the presets (%s%s%s)",
                     s->preset, nearest ? "did you mean '" : "see blco generate --list",
                     nearest ? nearest : "", nearest ? "'?" : "");
}

/* Fills s->spec from --dims, --nnz and the options of skew, or from --preset. */
static enum status make_spec(struct settings *s, struct error *error)
{
    const struct tns_options *tns = &s->common.tns;
    struct generate_recipe recipe = {
        .nnz = s->nnz, .skew = s->skew, .fibers = s->fibers, .runs = s->runs};
    if (s->preset) {
        TRY(find_preset(s, &recipe, error));
        return generate_read(&s->spec, &recipe, error);
    }
    if (!tns->ndims || !s->nnz)
        return error_set(error, STATUS_INPUT, "--dims and --nnz, or --preset, are required");
    for (int n = 0; n < tns->ndims; n++)
        if (tns->dims[n] == 0)
            return error_set(error, STATUS_INPUT, "--dims: no length of mode %d", n + 1);
    recipe.shape = shape_of(tns->ndims, tns->dims);
    return generate_read(&s->spec, &recipe, error);
}

static enum status append(void *context, struct coo *piece, struct error *error)
{
    struct settings *s = context;
    s->made += piece->nnz;
    return s->counts ? error->status : tensor_writer_append(&s->writer, piece, error);
}

static enum status write_skewed(struct settings *s, struct error *error)
{
    const uint64_t memory = cmd_host_memory(&s->common);
    const struct tensor_write_options options = {s->text.options, memory / WRITER_PART};
    const struct generate_run run = {.seed = s->seed,
                                     .memory = memory - options.memory,
                                     .take = append,
                                     .context = s,
                                     .progress = &s->common.progress};
    progress_stage(&s->common.progress, "writing %s", s->path);
    /* this header says how many nonzeros follow: they are made twice */
    s->counts = options.text.header == TNS_HEADER_SPTENSOR;
    if (s->counts)
        TRY(generate_skewed(&s->spec, &run, error));
    const uint64_t nnz = s->made > 0 ? s->made : s->spec.nnz;
    TRY_OR(done, tensor_writer_open(&s->writer, s->path, &s->spec.shape, nnz, &options, error));
    s->made = 0;
    s->counts = false;
    TRY_OR(done, generate_skewed(&s->spec, &run, error));
    tensor_writer_commit(&s->writer, &s->report, error);
done:
    tensor_writer_free(&s->writer);
    return error->status;
}

static enum status write_planted(struct settings *s, struct error *error)
{
    struct coo x;
    struct external_sort sort;
    struct external_sort_report written = {0};
    const uint64_t memory = cmd_host_memory(&s->common);
    struct tensor_write_options options = {.text = s->text.options};
    options.text.progress = &s->common.progress;
    s->plant.shape = s->spec.shape;
    s->plant.nnz = s->spec.nnz;
    s->plant.collinear = s->collinearity_given != NULL;
    TRY(generate_planted(&x, &s->plant, s->seed, memory, &s->common.progress, error));
    s->made = x.nnz;
    if (tensor_format_named(s->path) == &tensor_blco) {
        progress_stage(&s->common.progress, "writing %s", s->path);
        external_sort_init(&sort, s->path, memory, &s->common.progress);
        external_sort_write(&sort, &x, &written, error);
        external_sort_free(&sort);
        s->report.file_bytes = written.bytes;
    } else {
        tensor_writer_open(&s->writer, s->path, &x.shape, x.nnz, &options, error);
        if (error->status == STATUS_OK && tensor_writer_append(&s->writer, &x, error) == STATUS_OK)
            tensor_writer_commit(&s->writer, &s->report, error);
        tensor_writer_free(&s->writer);
    }
    coo_free(&x);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct settings *s = settings;
    struct file_roles files = {0};
    char how_fast[PACE_TEXT];
    if (s->list || (s->preset && strcmp(s->preset, "list") == 0)) {
        TRY(cli_no_operand(line, error));
        printf("%-10s %12s  %s\n", "preset", "nonzeros", "lengths");
        for (const struct generate_recipe *p = generate_presets; p->name; p++) {
            printf("%-10s %12ju  ", p->name, (uintmax_t)p->nnz);
            cmd_print_lengths(&p->shape);
            printf("\n");
        }
        return STATUS_OK;
    }
    TRY(cli_single_operand(line, "output file", error));
    s->path = line->operand[0];
    TRY(make_spec(s, error));
    TRY(text_output_check(&s->text, s->path, error));
    TRY(tensor_target_check(s->path, &files, s->force, error));
    TRY(tensor_maps_check("-", s->path, NULL, s->force, error));
    TRY(cmd_begin(&s->common, error));
    const double start = clock_now();
    if ((s->plant.rank ? write_planted : write_skewed)(s, error) == STATUS_OK)
        progress_done(
            &s->common.progress, "%ju nonzeros, %s, %.2f bytes a nonzero, seed %ju%s",
            (uintmax_t)s->made, NUMBER_SIZE(s->report.file_bytes),
            (double)s->report.file_bytes / (double)s->made, (uintmax_t)s->seed,
            pace((double)s->made / 1e6, "million a second", clock_now() - start, how_fast));
    return error->status;
}

const struct command cmd_generate = {
    .name = "generate",
    .summary = "make a synthetic tensor",
    .usage = "Usage: blco generate OUT --dims LIST --nnz N [--skew LIST] [--fibers SPEC]\n"
             "                         [--runs SPEC]\n"
             "       blco generate OUT --preset NAME [--scale X]\n"
             "       blco generate OUT --dims LIST --nnz N --planted-rank R\n"
             "                         [--noise S | --poisson MEAN | --binary MEAN]\n"
             "                         [--collinearity C]\n\n"
             "Writes a synthetic sparse tensor to OUT: .blco, .tns or .tns.gz, or - for text\n"
             "to standard output. The same arguments give the same file whatever the number\n"
             "of threads and the memory. A skewed tensor may be larger than memory.\n",
    .ending =
        "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. More in\nblco-generate(1).\n",
    .sections = sections,
    .settings = sizeof(struct settings),
    .run = run,
    .operands = CMD_TENSORS,
};
