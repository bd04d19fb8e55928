/* blco compare: which components of two models belong together, and how alike they are. */
#include "commands/cmd.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "commands/options/cli_values.h"
#include "commands/options/cmd_common.h"
#include "formats/ktensor/ktensor_io.h"
#include "formats/names/labels.h"
#include "model/ktensor_match.h"
#include "report/text_table.h"

#define SCORE_DECIMALS 6
#define WEIGHT_DIGITS  6 /* of the largest weight */
#define LEAST_WIDTH    9 /* of the column of a mode */

/* How wide the column of a mode is. */
static int mode_width(const struct labels *names, int n)
{
    char name[MODE_NAME_ROOM];
    const int width = (int)utf8_width(mode_name(names, n, name));
    return width > LEAST_WIDTH ? width : LEAST_WIDTH;
}

static void print_number(FILE *stream, int width, double x, int decimals)
{
    char text[DECIMALS_ROOM];
    fprintf(stream, " %*s", width, decimals_show(x, decimals, text));
}

/* Prints the components of the larger model that have no partner. */
static void print_alone(FILE *stream, const char *name, const uint64_t *partner, uint64_t rank,
                        uint64_t pairs)
{
    if (rank == pairs)
        return;
    fprintf(stream, "\ncomponents of %s without a partner:", name);
    const char *before = " ";
    for (uint64_t r = 0; r < rank; r++)
        if (partner[r] == NO_PARTNER) {
            fprintf(stream, "%s%ju", before, (uintmax_t)r + 1);
            before = ", ";
        }
    fprintf(stream, "\n");
}

/* Prints the scores, a table with a text line for each pair, and the components that have no
 * partner. Components and modes count from 1; modes that have a name show it. */
static void match_print(FILE *stream, const struct ktensor_match *m, const struct labels *names)
{
    fprintf(stream, "score        %.6f, mean of %ju pair%s%s\n", m->score, (uintmax_t)m->pairs,
            m->pairs == 1 ? "" : "s", m->with_weights ? "" : ", without weights");
    fprintf(stream, "congruence   %.6f, mean of the magnitudes\n", m->congruence);
    fprintf(stream, "\n%6s %6s %9s %11s %11s %11s", "A", "B", "score", "congruence", "weight A",
            "weight B");
    for (int n = 0; n < m->order; n++) {
        char name[MODE_NAME_ROOM];
        mode_name(names, m->mode[n], name);
        fprintf(stream, " %*s%s", mode_width(names, m->mode[n]) - (int)utf8_width(name), "", name);
    }
    fprintf(stream, "\n");
    double largest = 0;
    for (uint64_t r = 0; r < m->rank_a; r++)
        largest = fmax(largest, fabs(m->weight_a[r]));
    for (uint64_t r = 0; r < m->rank_b; r++)
        largest = fmax(largest, fabs(m->weight_b[r]));
    const int decimals = decimals_for(largest, WEIGHT_DIGITS);
    for (uint64_t p = 0; p < m->pairs; p++) {
        const struct ktensor_pair *pair = &m->pair[p];
        fprintf(stream, "%6ju %6ju", (uintmax_t)pair->a + 1, (uintmax_t)pair->b + 1);
        print_number(stream, 9, pair->score, SCORE_DECIMALS);
        print_number(stream, 11, pair->congruence, SCORE_DECIMALS);
        print_number(stream, 11, m->weight_a[pair->a], decimals);
        print_number(stream, 11, m->weight_b[pair->b], decimals);
        for (int n = 0; n < m->order; n++)
            print_number(stream, mode_width(names, m->mode[n]),
                         m->cosine[p * (uint64_t)m->order + (uint64_t)n], SCORE_DECIMALS);
        fprintf(stream, "\n");
    }
    print_alone(stream, "A", m->partner_a, m->rank_a, m->pairs);
    print_alone(stream, "B", m->partner_b, m->rank_b, m->pairs);
}

static void put_alone(struct json *j, const char *name, const uint64_t *partner, uint64_t rank)
{
    json_put_array(j, name);
    for (uint64_t r = 0; r < rank; r++)
        if (partner[r] == NO_PARTNER)
            json_put_unsigned(j, NULL, r + 1);
    json_end(j);
}

/* Adds the same, with all digits, to the object that is open. */
static void match_put_json(struct json *j, const struct ktensor_match *m)
{
    json_put_bool(j, "weights", m->with_weights);
    json_put_array(j, "compared");
    for (int n = 0; n < m->order; n++)
        json_put_unsigned(j, NULL, (uint64_t)m->mode[n] + 1);
    json_end(j);
    json_put_number(j, "score", m->score);
    json_put_number(j, "congruence", m->congruence);
    json_put_array(j, "pairs");
    for (uint64_t p = 0; p < m->pairs; p++) {
        const struct ktensor_pair *pair = &m->pair[p];
        json_put_object(j, NULL);
        json_put_unsigned(j, "a", pair->a + 1);
        json_put_unsigned(j, "b", pair->b + 1);
        json_put_number(j, "score", pair->score);
        json_put_number(j, "congruence", pair->congruence);
        json_put_number(j, "weight_a", m->weight_a[pair->a]);
        json_put_number(j, "weight_b", m->weight_b[pair->b]);
        json_put_numbers(j, "cosines", m->cosine + p * (uint64_t)m->order, (size_t)m->order);
        json_end(j);
    }
    json_end(j);
    json_put_object(j, "without_partner");
    put_alone(j, "a", m->partner_a, m->rank_a);
    put_alone(j, "b", m->partner_b, m->rank_b);
    json_end(j);
}

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

static int run(void *settings, const struct cli_line *line, struct error *error)
{
    static const char *const operands[] = {"A", "B"};
    struct settings *s = settings;
    struct ktensor model[2] = {{.rank = 0}, {.rank = 0}};
    struct ktensor_match match = {0};
    struct labels names = {0};
    TRY(cli_two_operands(line, "models", operands, error));
    memcpy(s->name, line->operand, sizeof s->name);
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
    .settings = sizeof(struct settings),
    .run = run,
    .operands = CMD_MODELS,
};
