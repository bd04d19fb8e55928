/* blco compare: which components of two models belong together, and how alike they are. */
#include "commands/cmd.h"

#include <limits.h>
#include <stdio.h>

#include "base/utf8.h"
#include "commands/options/cli_values.h"
#include "commands/options/cmd_common.h"
#include "formats/ktensor/ktensor_io.h"
#include "report/match_show.h"

struct settings {
    struct cmd_common common;
    double at_least; /* 0: every score will do */
    bool no_weights, json;
    bool mode[MAX_ORDER]; /* that are compared      */
    int modes;            /* the largest; 0: all are */
    const char *name[2];
};

static enum status set_at_least(const struct cli_option *o, void *to, const char *text,
                                struct error *error)
{
    double score;
    TRY(cli_nonnegative(o->name, text, &score, error));
    if (score > 1)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a number from 0 to 1", o->name,
                         text);
    *(double *)to = score;
    return STATUS_OK;
}

static enum status set_modes(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    struct settings *s = to;
    return cli_modes(o->name, text, s->mode, &s->modes, error);
}

static const struct cli_option compare_options[] = {
    {"--at-least", 0, "X", "exit with status 6 if the score is below X (0 to 1)",
     CLI_OWN(set_at_least, double, struct settings, at_least)},
    {"--no-weights", 0, NULL, "compare the columns alone, not the weights",
     CLI_FLAG(struct settings, no_weights)},
    {"--modes", 0, "MODES", "compare these modes alone, as 2,3; the others may\nhave other lengths",
     CLI_SETTINGS(set_modes)},
    {"--json", 0, NULL, "print JSON in place of a table", CLI_FLAG(struct settings, json)},
    {.name = NULL}};

static const struct cli_section sections[] = {{"Comparison", compare_options},
                                              {"Machine", cmd_threads_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

/* The lengths of the modes that are compared, which both models have. */
static struct shape compared_shape(const struct ktensor *model, const struct ktensor_match *match)
{
    struct shape shape = {.order = match->order};
    for (int n = 0; n < match->order; n++)
        shape.dims[n] = model->shape.dims[match->mode[n]];
    return shape;
}

static void print_text(const struct settings *s, const struct ktensor *model,
                       const struct ktensor_match *match, const struct labels *names)
{
    const struct shape compared = compared_shape(model, match);
    for (int i = 0; i < 2; i++) {
        char shown[PRINTABLE_ROOM(PATH_MAX)];
        printf("model %c      %s, %ju component%s\n", 'A' + i,
               printable(s->name[i], shown, sizeof shown), (uintmax_t)model[i].rank,
               model[i].rank == 1 ? "" : "s");
    }
    for (int n = 0; n < match->order && s->modes; n++)
        printf(n == 0 ? "modes        %d" : ", %d", match->mode[n] + 1);
    printf(s->modes ? "\nlengths      " : "lengths      ");
    cmd_print_lengths(&compared);
    printf("\n");
    match_print(stdout, match, names);
}

static void print_json(const struct settings *s, const struct ktensor *model,
                       const struct ktensor_match *match, const struct labels *names,
                       struct error *error)
{
    struct json j;
    const struct shape compared = compared_shape(model, match);
    json_begin(&j, error);
    json_put_object(&j, NULL);
    for (int i = 0; i < 2; i++) {
        json_put_object(&j, i == 0 ? "a" : "b");
        json_put_string(&j, "model", s->name[i]);
        json_put_unsigned(&j, "rank", model[i].rank);
        json_end(&j);
    }
    json_put_unsigneds(&j, "lengths", compared.dims, (size_t)compared.order);
    mode_names_put(&j, &names->modes, model[0].shape.order);
    match_put_json(&j, match);
    json_end(&j);
    cmd_print_json(&j);
    json_free(&j);
}

/* Where only some modes have different lengths, the others can be compared. */
static enum status advise(const struct ktensor *a, const struct ktensor *b, struct error *error)
{
    char list[4 * MAX_ORDER] = "";
    if (a->shape.order != b->shape.order)
        return error->status;
    for (int n = 0, used = 0; n < a->shape.order; n++)
        if (a->shape.dims[n] == b->shape.dims[n])
            used += snprintf(list + used, sizeof list - (size_t)used, "%s%d", used > 0 ? "," : "",
                             n + 1);
    return *list ? error_append(error, "; --modes %s compares those of equal lengths", list)
                 : error->status;
}

static enum status compare(const struct settings *s, struct error *error)
{
    struct ktensor model[2] = {{.rank = 0}, {.rank = 0}};
    struct ktensor_match match = {0};
    struct labels names = {0};
    TRY_OR(done, cmd_read_model(&model[0], s->name[0], &s->common, error));
    TRY_OR(done, cmd_read_model(&model[1], s->name[1], &s->common, error));
    if (s->modes > model[0].shape.order) {
        error_set(error, STATUS_INPUT, "--modes: mode %d, but %s has %d mode%s", s->modes,
                  s->name[0], model[0].shape.order, model[0].shape.order == 1 ? "" : "s");
        goto done;
    }
    if (ktensor_match(&match, &model[0], &model[1], !s->no_weights, s->modes ? s->mode : NULL,
                      error) == STATUS_INPUT &&
        !s->modes)
        advise(&model[0], &model[1], error);
    TRY_OR(done, error->status);
    for (int i = 0; i < 2; i++) /* names of the modes are those of A, or of B where A has none */
        TRY_OR(done, ktensor_find_labels(&names, s->name[i], model[0].shape.order, error));
    if (s->json)
        print_json(s, model, &match, &names, error);
    else
        print_text(s, model, &match, &names);
    if (match.score < s->at_least)
        error_set(error, STATUS_UNLIKE, "score %.9g, expected %.9g or more", match.score,
                  s->at_least);
done:
    labels_free(&names);
    ktensor_match_free(&match);
    ktensor_free(&model[0]);
    ktensor_free(&model[1]);
    return error->status;
}

static int run_command(int argc, char **argv, struct error *error)
{
    static const char *const names[] = {"A", "B"};
    struct cli_line line = {.argc = argc, .argv = argv};
    struct settings settings = {0};
    if (!cmd_parse(&line, &cmd_compare, &settings.common, error))
        return (int)error->status;
    if (cli_two_operands(&line, "models", names, settings.name, error) == STATUS_OK)
        compare(&settings, error);
    return (int)error->status;
}

const struct command cmd_compare = {
    .name = "compare",
    .summary = "say how alike two models are",
    .usage =
        "Usage: blco compare A B [OPTION]...\n\nPairs the components of two models and shows how "
        "alike they are (factor match\nscore; 1: the same except for order and signs). A and B are "
        "the beginnings of\nthe names of the models' files, as given to blco cpd -o, or .ktns "
        "files. If the\nranks differ, each component of the smaller model gets a partner.\n",
    .ending = "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output, 6 a score\nbelow "
              "--at-least. More in blco-compare(1).\n",
    .sections = sections,
    .run = run_command,
    .operands = CMD_MODELS,
};
