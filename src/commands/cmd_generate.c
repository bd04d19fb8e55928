/* blco generate: synthetic tensors. */
#include "commands/cmd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/number.h"
#include "base/pace.h"
#include "base/threads.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"
#include "commands/text_output.h"
#include "formats/blco/blco_writer.h"
#include "formats/external_sort.h"
#include "formats/tensor_writer.h"
#include "generate/generate.h"
#include "generate/generate_parse.h"

#define DEFAULT_SEED 1
#define WRITER_PART 8 /* the writer has 1 / WRITER_PART of the memory */

enum {
    KEY_NNZ = CMD_KEY_OWN,
    KEY_SKEW,
    KEY_FIBERS,
    KEY_RUNS,
    KEY_PRESET,
    KEY_SCALE,
    KEY_LIST,
    KEY_PLANTED_RANK,
    KEY_NOISE,
    KEY_COLLINEARITY,
    KEY_SEED,
    KEY_HEADER,
    KEY_FORCE
};

static const struct cli_option size_options[] = {
    {"dims", CMD_KEY_DIMS, "LIST", "lengths of the modes, as 4,5,6 or 4x5x6"},
    {"nnz", KEY_NNZ, "N", "how many nonzeros"},
    {"preset", KEY_PRESET, "NAME",
     "lengths, nonzeros and skew like those of a FROSTT\ntensor; `list` lists them"},
    {"scale", KEY_SCALE, "X", "X times as many nonzeros as the preset has (1)"},
    {"list", KEY_LIST, NULL, "list the presets"},
    {NULL, 0, NULL, NULL}};

static const struct cli_option skew_options[] = {
    {"skew", KEY_SKEW, "LIST",
     "Zipf exponent of each mode (0: uniform), or `even`\nwhere the indices are used alike and in "
     "order"},
    {"fibers", KEY_FIBERS, "SPEC",
     "COUNT:MODES[:EXPONENT], as 100000:1,2:0.5: the\nindices of these modes come together, as "
     "one of\nCOUNT combinations, chosen by a Zipf exponent (0)"},
    {"runs", KEY_RUNS, "SPEC",
     "MODE:SHARE:LENGTH[:scattered], as 2:0.5:4: this share\nof the nonzeros comes in runs along a "
     "mode, of this\nmean length; scattered: with indices drawn by --skew"},
    {NULL, 0, NULL, NULL}};

static const struct cli_option model_options[] = {
    {"planted-rank", KEY_PLANTED_RANK, "R", "instead of skew: a tensor of R sparse components"},
    {"noise", KEY_NOISE, "S",
     "norm of Gaussian noise on the nonzeros, relative\nto the model's (0)"},
    {"collinearity", KEY_COLLINEARITY, "C",
     "components on the same indices instead, with this\ncosine of any two columns: 0 to 0.9999"},
    {NULL, 0, NULL, NULL}};

static const struct cli_option output_options[] = {
    {"seed", KEY_SEED, "S", "seed of the random numbers (1)"},
    {"header", KEY_HEADER, "NAME", TEXT_OUTPUT_HEADER_HELP},
    {"index-base", CMD_KEY_INDEX_BASE, "0|1", "first index of every mode in text (1)"},
    {"force", KEY_FORCE, NULL, TENSOR_TARGET_FORCE_HELP},
    {NULL, 0, NULL, NULL}};

const struct cli_section cmd_generate_sections[] = {{"Size", size_options},
                                                    {"Skewed, with counts as values", skew_options},
                                                    {"Low rank", model_options},
                                                    {"Output", output_options},
                                                    {"Machine", cmd_host_options},
                                                    {"General", cmd_general_options},
                                                    {NULL, NULL}};

void cmd_generate_help(FILE *stream)
{
    fprintf(stream,
            "Usage: blco generate OUT --dims LIST --nnz N [--skew LIST] [--fibers SPEC]\n"
            "                         [--runs SPEC]\n"
            "       blco generate OUT --preset NAME [--scale X]\n"
            "       blco generate OUT --dims LIST --nnz N --planted-rank R [--noise S]\n"
            "                         [--collinearity C]\n\n"
            "Writes a synthetic sparse tensor to OUT: .blco, .tns or .tns.gz, or - for text\n"
            "to standard output. The same arguments give the same file whatever the number\n"
            "of threads and the memory. A skewed tensor may be larger than memory.\n");
    cli_help(stream, cmd_generate_sections);
    fprintf(stream, "\nExit codes: 0 done, 2 usage or input, 3 memory, 5 output. More in\n"
                    "blco-generate(1).\n");
}

struct settings {
    struct cmd_common common;
    uint64_t nnz, rank, seed;
    double scale, noise, collinearity;
    const char *preset, *skew, *fibers, *runs;
    bool list, has_scale, has_noise, collinear, force;
    struct text_output text;
};

static enum status set_scale(struct settings *s, const char *text, struct error *error)
{
    s->has_scale = true;
    if (cli_nonnegative("--scale", text, &s->scale, error) == STATUS_OK && s->scale <= 0)
        error_set(error, STATUS_INPUT, "--scale: '%s', expected a number above 0", text);
    return error->status;
}

static enum status set_option(void *settings, int key, const char *text, struct error *error)
{
    struct settings *s = settings;
    switch (key) {
    case KEY_NNZ:
        return cli_unsigned("--nnz", text, 1, MAX_NNZ, &s->nnz, error);
    case KEY_SKEW:
        s->skew = text;
        return STATUS_OK;
    case KEY_FIBERS:
        s->fibers = text;
        return STATUS_OK;
    case KEY_RUNS:
        s->runs = text;
        return STATUS_OK;
    case KEY_PRESET:
        s->preset = text;
        return STATUS_OK;
    case KEY_SCALE:
        return set_scale(s, text, error);
    case KEY_LIST:
        s->list = true;
        return STATUS_OK;
    case KEY_PLANTED_RANK:
        return cli_unsigned("--planted-rank", text, 1, CMD_MAX_RANK, &s->rank, error);
    case KEY_NOISE:
        s->has_noise = true;
        return cli_nonnegative("--noise", text, &s->noise, error);
    case KEY_COLLINEARITY:
        s->collinear = true;
        return cli_nonnegative("--collinearity", text, &s->collinearity, error);
    case KEY_SEED:
        return cli_unsigned("--seed", text, 0, CMD_MAX_SEED, &s->seed, error);
    case KEY_HEADER:
        return text_output_set_header(&s->text, text, error);
    case KEY_FORCE:
        s->force = true;
        return STATUS_OK;
    case CMD_KEY_INDEX_BASE:
        return text_output_set_index_base(&s->text, "--index-base", text, error);
    default:
        return cmd_common_set(&s->common, key, text, error);
    }
}

static enum status find_preset(const struct settings *s, struct generate_spec *spec,
                               struct error *error)
{
    const char *names[64];
    int count = 0;
    if (s->common.tns.ndims || s->nnz || s->skew || s->fibers || s->runs || s->rank)
        return error_set(
            error, STATUS_INPUT,
            "--preset gives the lengths, nonzeros and skew; only --scale goes with it");
    for (const struct generate_preset *p = generate_presets; p->name && count < 64; p++) {
        names[count++] = p->name;
        if (strcmp(s->preset, p->name) == 0) {
            *spec = p->spec;
            double nnz = round((double)p->spec.nnz * s->scale);
            if (nnz < 1 || nnz > (double)MAX_NNZ)
                return error_set(error, STATUS_INPUT, "--scale: %g makes %.0f nonzeros", s->scale,
                                 nnz);
            spec->nnz = (uint64_t)nnz;
            return STATUS_OK;
        }
    }
    const char *nearest = cli_nearest(s->preset, names, count);
    return error_set(error, STATUS_INPUT, "--preset: '%s' is none of the presets (%s%s%s)",
                     s->preset, nearest ? "did you mean '" : "see blco generate --list",
                     nearest ? nearest : "", nearest ? "'?" : "");
}

/* Fills *spec from --dims, --nnz and the options of skew, or from --preset. */
static enum status make_spec(const struct settings *s, struct generate_spec *spec,
                             struct error *error)
{
    memset(spec, 0, sizeof *spec);
    if (s->has_scale && !s->preset)
        return error_set(error, STATUS_INPUT, "--scale goes with --preset only");
    if (s->has_noise && !s->rank)
        return error_set(error, STATUS_INPUT, "--noise goes with --planted-rank only");
    if (s->collinear && !s->rank)
        return error_set(error, STATUS_INPUT, "--collinearity goes with --planted-rank only");
    if (s->rank && (s->skew || s->fibers || s->runs))
        return error_set(error, STATUS_INPUT,
                         "--planted-rank does not go with --skew, --fibers or --runs");
    if (s->preset)
        return find_preset(s, spec, error);
    if (!s->common.tns.ndims || !s->nnz)
        return error_set(error, STATUS_INPUT, "--dims and --nnz, or --preset, are required");
    spec->shape.order = s->common.tns.ndims;
    memcpy(spec->shape.dims, s->common.tns.dims, sizeof spec->shape.dims);
    spec->nnz = s->nnz;
    if ((s->skew && generate_parse_skew(s->skew, spec, error) != STATUS_OK) ||
        (s->fibers && generate_parse_fibers(s->fibers, spec, error) != STATUS_OK) ||
        (s->runs && generate_parse_runs(s->runs, spec, error) != STATUS_OK))
        return error->status;
    return STATUS_OK;
}

static void list_presets(void)
{
    printf("%-10s %12s  %s\n", "preset", "nonzeros", "lengths");
    for (const struct generate_preset *p = generate_presets; p->name; p++) {
        printf("%-10s %12ju  ", p->name, (uintmax_t)p->spec.nnz);
        cmd_print_lengths(&p->spec.shape);
        printf("\n");
    }
}

static enum status append(void *context, struct coo *piece, struct error *error)
{
    return tensor_writer_append(context, piece, error);
}

static enum status write_skewed(const struct settings *s, const struct generate_spec *spec,
                                const char *path, struct tns_write_report *report,
                                struct progress *progress, struct error *error)
{
    struct tensor_writer writer;
    const uint64_t memory = cmd_host_memory(&s->common);
    const struct tensor_write_options options = {s->text.options, memory / WRITER_PART};
    const struct generate_run run = {.seed = s->seed,
                                     .memory = memory - options.memory,
                                     .take = append,
                                     .context = &writer,
                                     .progress = progress};
    progress_stage(progress, "writing %s", path);
    if (tensor_writer_open(&writer, path, &spec->shape, spec->nnz, &options, error) != STATUS_OK)
        goto done;
    if (generate_skewed(spec, &run, error) != STATUS_OK)
        goto done;
    tensor_writer_commit(&writer, report, error);
done:
    tensor_writer_free(&writer);
    return error->status;
}

static enum status write_planted(const struct settings *s, const struct generate_spec *spec,
                                 const char *path, struct tns_write_report *report,
                                 struct progress *progress, uint64_t *nnz, struct error *error)
{
    struct coo x;
    struct external_sort sort;
    struct external_sort_report written = {0};
    uint64_t memory = cmd_host_memory(&s->common);
    struct generate_plant plant = {.shape = spec->shape,
                                   .nnz = spec->nnz,
                                   .rank = s->rank,
                                   .noise = s->noise,
                                   .collinear = s->collinear,
                                   .collinearity = s->collinearity};
    struct tns_write_options options = s->text.options;
    options.progress = progress;
    external_sort_init(&sort, path, memory, progress);
    if (generate_planted(&x, &plant, s->seed, memory, progress, error) != STATUS_OK)
        goto done;
    *nnz = x.nnz;
    if (tensor_format_named(path) == TENSOR_BLCO) {
        progress_stage(progress, "writing %s", path);
        external_sort_write(&sort, &x, &written, error);
        report->file_bytes = written.bytes;
    } else {
        tns_write(&x, path, &options, report, error);
    }
done:
    external_sort_free(&sort);
    coo_free(&x);
    return error->status;
}

static enum status check_output(const struct settings *s, const char *path, struct error *error)
{
    if (text_output_check(&s->text, path, error) != STATUS_OK)
        return error->status;
    return tensor_target_check(path, NULL, s->force, error);
}

static enum status generate(const struct settings *s, const char *path, struct error *error)
{
    struct generate_spec spec;
    struct progress progress;
    struct tns_write_report report = {0};
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    if (make_spec(s, &spec, error) != STATUS_OK || check_output(s, path, error) != STATUS_OK)
        return error->status;
    cmd_set_threads(s->common.threads, 1);
    if (threads_start(error) != STATUS_OK)
        return error->status;
    cmd_show_progress(&progress, &s->common);
    double start = clock_now();
    uint64_t nnz = spec.nnz;
    if (s->rank)
        write_planted(s, &spec, path, &report, &progress, &nnz, error);
    else
        write_skewed(s, &spec, path, &report, &progress, error);
    if (error->status == STATUS_OK) {
        progress_done(&progress, "%ju nonzeros, %s, %.2f bytes a nonzero, seed %ju%s",
                      (uintmax_t)nnz, number_size(report.file_bytes, size),
                      (double)report.file_bytes / (double)nnz, (uintmax_t)s->seed,
                      pace((double)nnz / 1e6, "million a second", clock_now() - start, how_fast));
    }
    progress_clear(&progress);
    return error->status;
}

int cmd_generate(int argc, char **argv, struct error *error)
{
    struct settings settings = {.seed = DEFAULT_SEED, .scale = 1, .text.options.index_base = 1};
    const char *path = NULL;
    int first;
    cmd_common_init(&settings.common);
    if (cli_parse(argc, argv, cmd_generate_sections, set_option, &settings, &first, error) !=
            STATUS_OK ||
        cmd_common_answered(&settings.common, cmd_generate_help))
        return (int)error->status;
    if (settings.list || (settings.preset && strcmp(settings.preset, "list") == 0))
        list_presets();
    else if (cli_single_operand(argc, argv, first, "output file", &path, error) == STATUS_OK)
        generate(&settings, path, error);
    return (int)error->status;
}
