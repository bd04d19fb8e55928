/* blco compare: which components of two models belong together, and how alike they are. */
#include "commands/cmd.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "commands/options/cmd_common.h"
#include "formats/ktensor/ktensor_io.h"
#include "formats/names/name_match.h"
#include "model/ktensor_match.h"
#include "report/text_table.h"

#define SCORE_DECIMALS 6
#define WEIGHT_DIGITS  6  /* of the largest weight */
#define WEIGHT_WIDTH   11 /* of a column of weights, at least */
#define LEAST_WIDTH    9  /* of the column of a mode */

struct settings {
    struct cmd_common common;
    double at_least; /* 0: every score will do */
    bool no_weights, json;
    bool mode[MAX_ORDER]; /* that are compared      */
    int modes;            /* the largest; 0: all are */
    enum match how;
    struct named_model
        model[2]; /* owned, as what follows; of rows with names, those that both have */
    uint64_t rows[2][MAX_ORDER]; /* of the models as they are */
    struct ktensor_match match;
    const struct labels *names; /* those of A, or of B where A's modes have none; borrowed */
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
    {"--match", 0, "HOW",
     "how rows of B find those of A: {words};\nby names, where there are any: those of both "
     "count;\n"
     "all: A has to have all of B; index: they agree\n({default})",
     CLI_CHOICE(struct settings, how, match_words), .initial = "names"},
    {"--json", 0, NULL, "print JSON in place of a table", CLI_FLAG(struct settings, json)},
    {.name = NULL}};

static const struct cli_section sections[] = {{"Comparison", compare_options},
                                              {"Machine", cmd_threads_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

/* The lengths of the modes that are compared, which both models have. */
static struct shape compared_shape(const struct settings *s)
{
    struct shape shape = {.order = s->match.order};
    for (int n = 0; n < shape.order; n++)
        shape.dims[n] = s->model[0].k.shape.dims[s->match.mode[n]];
    return shape;
}

/* How wide the column of a mode is. */
static int mode_width(const struct labels *names, int n)
{
    char name[MODE_NAME_ROOM];
    const int width = (int)utf8_width(mode_name(names, n, name));
    return width > LEAST_WIDTH ? width : LEAST_WIDTH;
}

static void print_number(int width, double x, int decimals)
{
    char text[DECIMALS_ROOM];
    printf(" %*s", width, decimals_show(x, decimals, text));
}

/* Prints the components of the larger model that have no partner. */
static void print_alone(const char *name, const uint64_t *partner, uint64_t rank, uint64_t pairs)
{
    if (rank == pairs)
        return;
    printf("\ncomponents of %s without a partner:", name);
    const char *before = " ";
    for (uint64_t r = 0; r < rank; r++)
        if (partner[r] == NO_PARTNER) {
            printf("%s%ju", before, (uintmax_t)r + 1);
            before = ", ";
        }
    printf("\n");
}

/* Prints the scores, a table with a text line for each pair, and the components that have no
 * partner. Components and modes count from 1; modes that have a name show it. */
static void print_text(const struct settings *s)
{
    const struct shape compared = compared_shape(s);
    const struct ktensor_match *m = &s->match;
    const int order = m->order;
    struct number_column weights = {.digits = WEIGHT_DIGITS};
    char weight[NUMBER_SHOWN_ROOM];
    for (int i = 0; i < 2; i++) {
        char shown[PRINTABLE_ROOM(PATH_MAX)];
        printf("model %c      %s, %ju component%s\n", 'A' + i,
               printable(s->model[i].stem, shown, sizeof shown), (uintmax_t)s->model[i].k.rank,
               s->model[i].k.rank == 1 ? "" : "s");
    }
    for (int n = 0; n < order && s->modes; n++)
        printf(n == 0 ? "modes        %d" : ", %d", m->mode[n] + 1);
    printf(s->modes ? "\nlengths      " : "lengths      ");
    cmd_print_lengths(&compared);
    for (int n = 0; n < order; n++) {
        const uint64_t a = s->rows[0][m->mode[n]], b = s->rows[1][m->mode[n]];
        if (compared.dims[n] < a || compared.dims[n] < b)
            printf("\nnames        mode %d: %ju in both, of %ju and %ju", m->mode[n] + 1,
                   (uintmax_t)compared.dims[n], (uintmax_t)a, (uintmax_t)b);
    }
    printf("\nscore        %.6f, mean of %ju pair%s%s\n", m->score, (uintmax_t)m->pairs,
           m->pairs == 1 ? "" : "s", m->with_weights ? "" : ", without weights");
    printf("congruence   %.6f, mean of the magnitudes\n", m->congruence);
    for (uint64_t p = 0; p < m->pairs; p++) {
        number_column_add(&weights, m->weight_a[m->pair[p].a]);
        number_column_add(&weights, m->weight_b[m->pair[p].b]);
    }
    const int wanted = (int)strlen(number_column_show(&weights, weights.largest, weight));
    const int width = wanted > WEIGHT_WIDTH ? wanted : WEIGHT_WIDTH;
    printf("\n%6s %6s %9s %11s %*s %*s", "A", "B", "score", "congruence", width, "weight A", width,
           "weight B");
    for (int n = 0; n < order; n++) {
        char name[MODE_NAME_ROOM];
        mode_name(s->names, m->mode[n], name);
        printf(" %*s%s", mode_width(s->names, m->mode[n]) - (int)utf8_width(name), "", name);
    }
    printf("\n");
    for (uint64_t p = 0; p < m->pairs; p++) {
        const struct ktensor_pair *pair = &m->pair[p];
        printf("%6ju %6ju", (uintmax_t)pair->a + 1, (uintmax_t)pair->b + 1);
        print_number(9, pair->score, SCORE_DECIMALS);
        print_number(11, pair->congruence, SCORE_DECIMALS);
        printf(" %*s", width, number_column_show(&weights, m->weight_a[pair->a], weight));
        printf(" %*s", width, number_column_show(&weights, m->weight_b[pair->b], weight));
        for (int n = 0; n < order; n++)
            print_number(mode_width(s->names, m->mode[n]),
                         m->cosine[p * (uint64_t)order + (uint64_t)n], SCORE_DECIMALS);
        printf("\n");
    }
    print_alone("A", m->partner_a, m->rank_a, m->pairs);
    print_alone("B", m->partner_b, m->rank_b, m->pairs);
}

static void put_alone(struct json *j, const char *name, const uint64_t *partner, uint64_t rank)
{
    json_put_array(j, name);
    for (uint64_t r = 0; r < rank; r++)
        if (partner[r] == NO_PARTNER)
            json_put_unsigned(j, NULL, r + 1);
    json_end(j);
}

/* Prints the comparison as JSON; its numbers have all digits. */
static enum status print_json(const struct settings *s, struct error *error)
{
    const struct shape compared = compared_shape(s);
    const struct ktensor_match *m = &s->match;
    struct json document, *j = &document;
    json_begin(j, error);
    json_put_object(j, NULL);
    for (int i = 0; i < 2; i++) {
        json_put_object(j, i == 0 ? "a" : "b");
        json_put_string(j, "model", s->model[i].stem);
        json_put_unsigned(j, "rank", s->model[i].k.rank);
        json_end(j);
    }
    json_put_unsigneds(j, "lengths", compared.dims, (size_t)compared.order);
    mode_names_put(j, &s->names->modes, s->model[0].k.shape.order);
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
    json_end(j);
    return cmd_print_json(j);
}

/* Where only some modes have different lengths, the others can be compared. */
static enum status advise(const struct named_model model[2], struct error *error)
{
    const struct shape *a = &model[0].k.shape, *b = &model[1].k.shape;
    char list[4 * MAX_ORDER] = "";
    for (int n = 0; n < a->order && a->order == b->order; n++)
        if (a->dims[n] == b->dims[n])
            words_append(list, sizeof list, "%s%d", *list ? "," : "", n + 1);
    return *list ? error_append(error, "; --modes %s compares those of equal lengths", list)
                 : error->status;
}

/* Leaves of both models the modes and rows that both have, in the order of A. */
static enum status take_common(struct settings *s, const struct name_match *m, struct error *error)
{
    const struct ktensor *from[2] = {&s->model[0].k, &s->model[1].k};
    const uint64_t rank[2] = {from[0]->rank, from[1]->rank};
    struct shape shape = from[0]->shape, other = shape;
    struct ktensor to[2] = {{.rank = 0}, {.rank = 0}};
    for (int n = 0; n < m->order; n++) {
        other.dims[n] = from[1]->shape.dims[m->mode[n]];
        if (m->index[n])
            shape.dims[n] = other.dims[n] = m->count[n] - m->only_b[n];
        if (shape.dims[n] == 0)
            return error_set(error, STATUS_INPUT, "%s: mode %d has no name that %s has",
                             s->model[1].stem, m->mode[n] + 1, s->model[0].stem);
    }
    for (int i = 0; i < 2; i++) {
        TRY_OR(done, ktensor_create(&to[i], i == 0 ? &shape : &other, rank[i], error));
        memcpy(to[i].lambda, from[i]->lambda, rank[i] * sizeof *to[i].lambda);
    }
    for (int n = 0; n < m->order; n++)
        for (int i = 0; i < 2; i++) {
            const double *a = from[i]->factor[i == 0 ? n : m->mode[n]];
            double *row = to[i].factor[n];
            if (!m->index[n])
                memcpy(row, a, to[i].shape.dims[n] * rank[i] * sizeof *a);
            for (uint64_t k = 0; m->index[n] && k < m->count[n]; k++) /* names of B */
                if (m->index[n][k] != NO_INDEX) {
                    memcpy(row, a + (i == 0 ? m->index[n][k] : k) * rank[i], rank[i] * sizeof *a);
                    row += rank[i];
                }
        }
    for (int i = 0; i < 2; i++) {
        ktensor_free(&s->model[i].k);
        s->model[i].k = to[i];
        to[i] = (struct ktensor){0};
    }
done:
    for (int i = 0; i < 2; i++)
        ktensor_free(&to[i]);
    return error->status;
}

/* Matches the rows of the modes that are compared by their names. */
static enum status match_names(struct settings *s, struct error *error)
{
    const int order = s->model[0].k.shape.order;
    struct labels names[2] = {s->model[0].names, s->model[1].names};
    struct name_match m;
    if (s->model[1].k.shape.order != order)
        return STATUS_OK; /* which ktensor_match refuses */
    for (int n = 0; s->modes && n < order; n++)
        for (int i = 0; i < 2; i++)
            names[i].mode[n].names.count *= s->mode[n];
    const struct named_side a = {s->model[0].stem, &names[0]}, b = {s->model[1].stem, &names[1]};
    TRY(name_match_find(&m, &a, &b, order, s->how, error));
    for (int n = 0; n < order; n++)
        s->rows[1][n] = s->model[1].k.shape.dims[m.mode[n]];
    for (int n = 0; s->modes && n < order; n++)
        if (m.mode[n] != n)
            TRY_OR(done, error_set(error, STATUS_INPUT,
                                   "--modes: mode %d of %s is mode %d of %s, expected the same "
                                   "order of modes",
                                   n + 1, a.what, m.mode[n] + 1, b.what));
    if (!name_match_is_same(&m))
        take_common(s, &m, error);
done:
    name_match_free(&m);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct settings *s = settings;
    TRY(cli_two_operands(line, "models", "A", "B", error));
    for (int i = 0; i < 2; i++) {
        struct named_model *m = &s->model[i];
        m->names.none = s->how == MATCH_INDEX;
        TRY(cmd_read_model(m, line->operand[i], &s->common, error));
        TRY(named_model_drop_means(m, error));
        memcpy(s->rows[i], m->k.shape.dims, sizeof s->rows[i]);
    }
    const int order = s->model[0].k.shape.order;
    s->names = &s->model[!mode_names_any(&s->model[0].names.modes)].names;
    if (s->modes > order)
        return error_set(error, STATUS_INPUT, "--modes: mode %d, but %s has %d mode%s", s->modes,
                         s->model[0].stem, order, order == 1 ? "" : "s");
    TRY(match_names(s, error));
    if (ktensor_match(&s->match, &s->model[0].k, &s->model[1].k, !s->no_weights,
                      s->modes ? s->mode : NULL, error) == STATUS_INPUT &&
        !s->modes)
        advise(s->model, error);
    TRY(error->status);
    if (s->json)
        TRY(print_json(s, error));
    else
        print_text(s);
    if (s->match.score < s->at_least)
        error_set(error, STATUS_UNLIKE, "score %.9g, expected %.9g or more", s->match.score,
                  s->at_least);
    return error->status;
}

static void free_settings(void *settings)
{
    struct settings *s = settings;
    ktensor_match_free(&s->match);
    named_model_free(&s->model[0]);
    named_model_free(&s->model[1]);
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
    .free = free_settings,
    .operands = CMD_MODELS,
};
