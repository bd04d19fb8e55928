/* blco top: the strongest entries of each component of a model. */
#include "commands/cmd.h"

#include "commands/options/cmd_common.h"
#include "commands/top_unlisted.h"
#include "formats/ktensor/ktensor_formats.h"
#include "report/top_show.h"

struct settings {
    struct cmd_common common;
    uint64_t count;
    struct labels labels;     /* owned       */
    uint64_t component, mode; /* from 1; 0: all */
    struct given_indices given;
    bool json;
};

static enum status set_labels(const struct cli_option *o, void *to, const char *text,
                              struct error *error)
{
    (void)o;
    return labels_add(to, text, error);
}

static enum status set_given(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    return given_indices_add(to, o->name, text, error);
}

static const struct cli_option top_options[] = {
    {"--count", 'n', "N", "entries of each component in each mode ({default}),\nor of --unlisted",
     CLI_UNSIGNED(struct settings, count, 1, MAX_LENGTH), .initial = "10"},
    {"--labels", 0, "MODE=FILE",
     "show labels in place of indices: text line k of FILE\nis the label of index k of the mode; "
     "for several\nmodes, separate them by commas or repeat the option;\nnone: indices "
     "(STEM.modeN.map, if it exists)",
     CLI_OWN(set_labels, struct labels, struct settings, labels)},
    {"--component", 0, "N", "only component N",
     CLI_UNSIGNED(struct settings, component, 1, UINT64_MAX - 1)},
    {"--mode", 0, "N", "only mode N", CLI_UNSIGNED(struct settings, mode, 1, MAX_ORDER)},
    {"--unlisted", 0, "MODE=NAME",
     "instead: of the entries with this label or index that\nTENSOR does not list, those where the "
     "model is\nlargest; repeat the option for several modes",
     CLI_OWN(set_given, struct given_indices, struct settings, given),
     .excludes = "--component --mode"},
    {"--index-base", 0, "0|1", "the number of the first index ({default}, where TENSOR\nis .npy 0)",
     CMD_INDEX_BASE},
    {"--json", 0, NULL, "print JSON in place of text", CLI_FLAG(struct settings, json)},
    {.name = NULL}};

static const struct cli_section sections[] = {{"Entries", top_options},
                                              {"Machine", cmd_host_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

static enum status choose(const struct settings *s, struct top_view *view, struct error *error)
{
    const struct ktensor *k = view->model;
    if (s->component > k->rank)
        return error_set(error, STATUS_INPUT, "--component: %ju, expected 1 to %ju",
                         (uintmax_t)s->component, (uintmax_t)k->rank);
    if (s->mode > (uint64_t)k->shape.order)
        return error_set(error, STATUS_INPUT, "--mode: %ju, expected 1 to %d", (uintmax_t)s->mode,
                         k->shape.order);
    view->component = s->component ? s->component - 1 : 0;
    view->end_component = s->component ? s->component : k->rank;
    view->mode = s->mode ? (int)s->mode - 1 : 0;
    view->end_mode = s->mode ? (int)s->mode : k->shape.order;
    return STATUS_OK;
}

static void print_json(const char *stem, const struct top_view *view, struct error *error)
{
    const struct ktensor *k = view->model;
    struct json j;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    json_put_string(&j, "model", stem);
    json_put_unsigned(&j, "rank", k->rank);
    json_put_unsigneds(&j, "lengths", k->shape.dims, (size_t)k->shape.order);
    json_put_unsigned(&j, "index_base", (uint64_t)view->index_base);
    top_put_json(&j, view);
    json_end(&j);
    cmd_print_json(&j);
    json_free(&j);
}

/* top (N) = the strongest entries of the modes that are shown. */
static enum status find_entries(const struct settings *s, const struct top_view *view,
                                struct top_entries *top, struct error *error)
{
    const struct ktensor *k = view->model;
    for (int n = view->mode; n < view->end_mode; n++)
        TRY(top_entries_find(&top[n], k->factor[n], k->shape.dims[n], k->rank, s->count, error));
    return STATUS_OK;
}

static enum status show_components(const struct settings *s, const struct ktensor *model,
                                   const char *stem, struct error *error)
{
    struct top_entries top[MAX_ORDER] = {{0}};
    struct top_view view = {
        .model = model, .labels = &s->labels, .top = top, .index_base = s->common.tns.index_base};
    TRY(choose(s, &view, error));
    TRY_OR(done, find_entries(s, &view, top, error));
    if (s->json)
        print_json(stem, &view, error);
    else
        top_print(stdout, &view);
done:
    for (int n = 0; n < MAX_ORDER; n++)
        top_entries_free(&top[n]);
    return error->status;
}

/* name[0]: the model; name[1]: with --unlisted the tensor. */
static enum status show(struct settings *s, const char *const name[2], struct error *error)
{
    struct ktensor model;
    TRY_OR(done, cmd_read_model(&model, name[0], &s->common, error));
    TRY_OR(done, ktensor_find_labels(&s->labels, name[0], model.shape.order, error));
    TRY_OR(done, labels_read(&s->labels, &model.shape, error));
    if (s->given.count == 0) {
        show_components(s, &model, name[0], error);
        goto done;
    }
    const struct top_unlisted t = {.common = &s->common,
                                   .stem = name[0],
                                   .tensor = name[1],
                                   .model = &model,
                                   .labels = &s->labels,
                                   .given = s->given,
                                   .count = s->count,
                                   .json = s->json};
    top_unlisted(&t, error);
done:
    ktensor_free(&model);
    return error->status;
}

static enum status take_operands(const struct cli_line *line, const struct settings *s,
                                 const char *name[2], struct error *error)
{
    static const char *const names[] = {"STEM", "TENSOR"};
    if (s->given.count == 0)
        return cli_single_operand(line, "model", &name[0], error);
    return cli_two_operands(line, "names", names, name, error);
}

static int run_command(int argc, char **argv, struct error *error)
{
    struct cli_line line = {.argc = argc, .argv = argv};
    struct settings settings = {0};
    const char *name[2] = {NULL};
    if (!cmd_parse(&line, &cmd_top, &settings.common, error))
        goto done;
    TRY_OR(done, take_operands(&line, &settings, name, error));
    show(&settings, name, error);
done:
    labels_free(&settings.labels);
    return (int)error->status;
}

const struct command cmd_top = {
    .name = "top",
    .summary = "show the strongest entries of each component of a model",
    .usage = "Usage: blco top STEM [-n N] [--labels MODE=FILE[,MODE=FILE]...] "
             "[OPTION]...\n       blco top STEM TENSOR --unlisted MODE=NAME [-n N] "
             "[OPTION]...\n\nPrints the entries of largest magnitude of each component in each "
             "mode, the\nstrongest first. STEM is the beginning of the names of a model's files, "
             "as\ngiven to blco cpd -o, or a .ktns file. With --unlisted: what to recommend, "
             "which\nlinks to expect. TENSOR is text (.tns), plain or gzip, a .blco file, "
             "COORDS.npy,\nor - for text from standard input.\n",
    .ending = "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. More in blco-top(1).\n",
    .sections = sections,
    .run = run_command,
    .operands = CMD_MODELS " " CMD_TENSORS,
};
