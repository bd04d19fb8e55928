/* blco top: the strongest entries of each component of a model. */
#include "commands/cmd.h"

#include "commands/options/cmd_common.h"
#include "report/top_show.h"

#define DEFAULT_COUNT 10

enum { KEY_LABELS = CMD_KEY_OWN, KEY_COMPONENT, KEY_MODE, KEY_JSON };

static const struct cli_option top_options[] = {
    {"count", 'n', "N", "entries of each component in each mode (10)"},
    {"labels", KEY_LABELS, "MODE=FILE",
     "show labels in place of indices: text line k of FILE\nis the label of index k of the mode; "
     "several files\nseparated by commas, or several times"},
    {"component", KEY_COMPONENT, "N", "only component N"},
    {"mode", KEY_MODE, "N", "only mode N"},
    {"index-base", CMD_KEY_INDEX_BASE, "0|1", "the number of the first index (1)"},
    {"json", KEY_JSON, NULL, "print JSON in place of text"},
    {NULL, 0, NULL, NULL}};

const struct cli_section cmd_top_sections[] = {{"Entries", top_options},
                                               {"Machine", cmd_threads_options},
                                               {"General", cmd_general_options},
                                               {NULL, NULL}};

void cmd_top_help(FILE *stream)
{
    fprintf(stream,
            "Usage: blco top STEM [-n N] [--labels MODE=FILE[,MODE=FILE]...] [OPTION]...\n\n"
            "Prints the entries of largest magnitude of each component in each mode, the\n"
            "strongest first. STEM is the beginning of the names of a model's files, as\n"
            "blco cpd -o has it, or a .ktns file.\n");
    cli_help(stream, cmd_top_sections);
    fprintf(stream,
            "\nExit codes: 0 done, 2 usage or input, 3 memory, 5 output. More in blco-top(1).\n");
}

struct settings {
    struct cmd_common common;
    uint64_t count;
    struct labels labels;     /* owned       */
    uint64_t component, mode; /* from 1; 0: all */
    bool json;
};

static enum status set_option(void *settings, int key, const char *text, struct error *error)
{
    struct settings *s = settings;
    switch (key) {
    case 'n':
        return cli_unsigned("--count", text, 1, MAX_LENGTH, &s->count, error);
    case KEY_LABELS:
        return labels_add(&s->labels, text, error);
    case KEY_COMPONENT:
        return cli_unsigned("--component", text, 1, UINT64_MAX - 1, &s->component, error);
    case KEY_MODE:
        return cli_unsigned("--mode", text, 1, MAX_ORDER, &s->mode, error);
    case KEY_JSON:
        s->json = true;
        return STATUS_OK;
    default:
        return cmd_common_set(&s->common, key, text, error);
    }
}

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
        if (top_entries_find(&top[n], k->factor[n], k->shape.dims[n], k->rank, s->count, error) !=
            STATUS_OK)
            return error->status;
    return STATUS_OK;
}

static enum status show_top(struct settings *s, const char *stem, struct error *error)
{
    struct ktensor model;
    struct top_entries top[MAX_ORDER] = {{0}};
    struct top_view view = {
        .model = &model, .labels = &s->labels, .top = top, .index_base = s->common.tns.index_base};
    if (cmd_read_model(&model, stem, &s->common, error) == STATUS_OK &&
        choose(s, &view, error) == STATUS_OK &&
        labels_read(&s->labels, &model.shape, error) == STATUS_OK &&
        find_entries(s, &view, top, error) == STATUS_OK) {
        if (s->json)
            print_json(stem, &view, error);
        else
            top_print(stdout, &view);
    }
    for (int n = 0; n < MAX_ORDER; n++)
        top_entries_free(&top[n]);
    ktensor_free(&model);
    return error->status;
}

int cmd_top(int argc, char **argv, struct error *error)
{
    struct settings settings = {.count = DEFAULT_COUNT};
    const char *stem = NULL;
    int first;
    cmd_common_init(&settings.common);
    if (cli_parse(argc, argv, cmd_top_sections, set_option, &settings, &first, error) ==
            STATUS_OK &&
        !cmd_common_answered(&settings.common, cmd_top_help) &&
        cli_single_operand(argc, argv, first, "model", &stem, error) == STATUS_OK)
        show_top(&settings, stem, error);
    labels_free(&settings.labels);
    return (int)error->status;
}
