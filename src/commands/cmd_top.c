/* blco top: the strongest entries of each component of a model. */
#include "commands/cmd.h"

#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "commands/model_entries.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"
#include "formats/names/labels.h"
#include "report/residuals.h"
#include "report/text_table.h"
#include "report/top_entries.h"
#include "report/unlisted_best.h"
#include "report/unlisted_slice.h"

#define EVERY  "all" /* modes, or indices of a mode */
#define DIGITS 5     /* of the largest value that is shown */

/* The arguments of --unlisted: MODE=NAME, with names or numbers; MODE=all; all. */
struct given_indices {
    bool any; /* argument */
    int count;
    const char *text[MAX_ORDER]; /* (count) those with a mode; borrowed */
};

struct settings {
    struct cmd_common common;
    uint64_t count;
    struct named_model model; /* owned */
    enum match match;
    uint64_t component, mode; /* from 1; 0: all */
    struct given_indices given;
    const char *stem, *tensor, *output; /* as given; borrowed */
    bool json, force;

    /* Of --unlisted: the slice that is searched; the mode that each index is searched of, or -1;
     * and where the entries that are found go: as JSON, into the file `target`, or, where that is
     * NULL, into a table. */
    struct unlisted_slice slice; /* owned */
    int each;
    struct json document; /* owned */
    struct prediction_file file;
    const char *target;
};

static enum status set_given(const struct cli_option *o, void *to, const char *text,
                             struct error *error)
{
    struct given_indices *g = to;
    const char *sign = strchr(text, '=');
    g->any = true;
    if (strcmp(text, EVERY) == 0)
        return STATUS_OK;
    if (!sign || sign == text || !sign[1])
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected MODE=NAME, MODE=" EVERY " or " EVERY, o->name, text);
    if (g->count == MAX_ORDER)
        return error_set(error, STATUS_INPUT, "%s: more than %d modes", o->name, MAX_ORDER);
    g->text[g->count++] = text;
    return STATUS_OK;
}

static const struct cli_option top_options[] = {
    {"--count", 'n', "N", "entries of each component in each mode ({default}),\nor of --unlisted",
     CLI_UNSIGNED(struct settings, count, 1, MAX_LENGTH), .initial = "10"},
    {"--labels", 0, "MODE=FILE",
     "show labels in place of indices: text line k of FILE\nis the label of index k of the mode; "
     "for several\nmodes, separate them by commas or repeat the option;\nnone: indices "
     "(STEM.modeN.map, if it exists)",
     CLI_OWN(cmd_set_labels, struct labels, struct settings, model.names)},
    {"--component", 0, "N", "only component N",
     CLI_UNSIGNED(struct settings, component, 1, UINT64_MAX - 1)},
    {"--mode", 0, "N", "only mode N", CLI_UNSIGNED(struct settings, mode, 1, MAX_ORDER)},
    {"--unlisted", 0, "MODE=NAME",
     "instead: of the entries with this label or index that\nTENSOR does not list, those where the "
     "model is\nlargest; repeat the option for several modes;\nMODE=all: of each index of MODE; "
     "all: of the whole\ntensor",
     CLI_OWN(set_given, struct given_indices, struct settings, given),
     .excludes = "--component --mode"},
    {"--output", 'o', "FILE",
     "write text lines with the entries of --unlisted;\nFILE.npy: an array of indices and "
     "values,\nFILE.gz: gzip",
     CLI_NAME(struct settings, output), .needs = "--unlisted", .excludes = "--json"},
    {"--force", 0, NULL, "replace FILE if it exists", CLI_FLAG(struct settings, force),
     .needs = "--output"},
    {"--match", 0, "HOW",
     "how indices of TENSOR find those of the model:\n{words}; by names, where there are\nany; "
     "all: "
     "the model has to have all; index: they\nagree ({default})",
     CLI_CHOICE(struct settings, match, match_words), .initial = "names", .needs = "--unlisted"},
    {"--index-base", 0, "0|1", "the number of the first index ({default}, where TENSOR\nis .npy 0)",
     CMD_INDEX_BASE},
    {"--json", 0, NULL, "print JSON in place of text", CLI_FLAG(struct settings, json)},
    {.name = NULL}};

static const struct cli_section sections[] = {{"Entries", top_options},
                                              {"Machine", cmd_host_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

static enum status show_components(const struct settings *s, struct error *error)
{
    const struct ktensor *model = &s->model.k;
    struct top_entries top[MAX_ORDER] = {{0}};
    struct top_view view = {.model = model,
                            .labels = &s->model.names,
                            .top = top,
                            .index_base = s->common.tns.index_base};
    struct json j;
    if (s->component > model->rank)
        return error_set(error, STATUS_INPUT, "--component: %ju, expected 1 to %ju",
                         (uintmax_t)s->component, (uintmax_t)model->rank);
    if (s->mode > (uint64_t)model->shape.order)
        return error_set(error, STATUS_INPUT, "--mode: %ju, expected 1 to %d", (uintmax_t)s->mode,
                         model->shape.order);
    view.component = s->component ? s->component - 1 : 0;
    view.end_component = s->component ? s->component : model->rank;
    view.mode = s->mode ? (int)s->mode - 1 : 0;
    view.end_mode = s->mode ? (int)s->mode : model->shape.order;
    for (int n = view.mode; n < view.end_mode; n++)
        TRY_OR(done, top_entries_find(&top[n], model->factor[n], model->shape.dims[n], model->rank,
                                      s->count, error));
    if (!s->json) {
        top_print(stdout, &view);
        goto done;
    }
    json_begin(&j, error);
    json_put_object(&j, NULL);
    json_put_string(&j, "model", s->stem);
    json_put_unsigned(&j, "rank", model->rank);
    json_put_unsigneds(&j, "lengths", model->shape.dims, (size_t)model->shape.order);
    json_put_unsigned(&j, "index_base", (uint64_t)view.index_base);
    top_put_json(&j, &view);
    json_end(&j);
    cmd_print_json(&j);
done:
    for (int n = 0; n < MAX_ORDER; n++)
        top_entries_free(&top[n]);
    return error->status;
}

/* --- the strongest entries that a tensor does not list --- */

/* The index of a mode with this label or this number; UINT64_MAX where there is none. */
static uint64_t find_index(const struct labels *labels, int n, uint64_t length, const char *text,
                           uint64_t index_base)
{
    for (uint64_t i = 0; i < labels->mode[n].names.count; i++) {
        const char *label = labels_get(labels, n, i);
        if (label && strcmp(label, text) == 0)
            return i;
    }
    uint64_t number;
    const char *end = text + strlen(text);
    const bool found = number_parse_unsigned(text, end, &number) == end && number >= index_base &&
                       number - index_base < length;
    return found ? number - index_base : UINT64_MAX;
}

/* Sets the given indices of the slice, which has its shape, and the mode whose indices are all
 * asked for. A mode is given by its name or its number from 1, an index by its label or, where no
 * label is the same, by its number. STATUS_INPUT where there is no such mode or index, a mode is
 * given twice, or all are given. */
static enum status find_given(struct settings *s, struct error *error)
{
    struct unlisted_slice *slice = &s->slice;
    const uint64_t base = (uint64_t)s->common.tns.index_base;
    const int order = slice->shape.order;
    s->each = -1;
    for (int i = 0; i < s->given.count; i++) {
        const char *text = s->given.text[i], *sign = strchr(text, '=');
        const int n = mode_names_find(&s->model.names.modes, order, text, (size_t)(sign - text));
        if (n < 0)
            return error_set(error, STATUS_INPUT,
                             "--unlisted: no mode is named '%.*s', expected a name or a number "
                             "from 1 to %d",
                             (int)(sign - text), text, order);
        if (slice->given[n] || n == s->each)
            return error_set(error, STATUS_INPUT,
                             "--unlisted: mode %d twice, expected one index of it", n + 1);
        if (strcmp(sign + 1, EVERY) == 0) {
            if (s->each >= 0)
                return error_set(error, STATUS_INPUT,
                                 "--unlisted: each index of mode %d and of mode %d, expected one "
                                 "of them",
                                 s->each + 1, n + 1);
            s->each = n;
            continue;
        }
        const uint64_t length = slice->shape.dims[n];
        const uint64_t index = find_index(&s->model.names, n, length, sign + 1, base);
        if (index == UINT64_MAX)
            return error_set(error, STATUS_INPUT,
                             "--unlisted: '%s' is no index of mode %d, expected %sa number from "
                             "%ju to %ju",
                             sign + 1, n + 1,
                             s->model.names.mode[n].names.count > 0 ? "a label or " : "",
                             (uintmax_t)base, (uintmax_t)(length - 1 + base));
        slice->given[n] = true;
        slice->index[n] = (uint32_t)index;
    }
    if (s->given.count == order)
        return error_set(error, STATUS_INPUT,
                         "--unlisted: an index of each mode, expected a mode without one");
    return STATUS_OK;
}

static enum status note(void *slice, const struct coo *piece, const struct coo *at,
                        const uint64_t *from, struct error *error)
{
    (void)piece, (void)from; /* names that the model lacks are not in the slice */
    return unlisted_slice_note(slice, at, error);
}

/* What a search of the slice has found. */
struct found {
    const struct settings *settings;
    const struct best_entry *entry;
};

static void found_row(const struct text_table *t, uint64_t row, uint64_t *index, double *number)
{
    const struct found *f = t->context;
    for (int k = 0; k < t->modes; k++)
        index[k] = f->entry[row].cell.index[t->mode[k]];
    number[0] = loss_expected(cmd_model_loss(&f->settings->model), f->entry[row].value);
}

static void print_found(const struct settings *settings, const struct unlisted_best *best)
{
    static const struct table_column column = {"model", DIGITS, false};
    const struct unlisted_slice *s = &settings->slice;
    const struct labels *labels = &settings->model.names;
    const struct found found = {settings, best->entry};
    struct text_table t = {.rows = best->count,
                           .numbers = 1,
                           .column = &column,
                           .labels = labels,
                           .index_base = settings->common.tns.index_base,
                           .context = &found,
                           .row = found_row};
    char name[MODE_NAME_ROOM], label[LABEL_SHOWN_ROOM], tensor[1024];
    const char *between = "";
    for (int n = 0; n < s->shape.order; n++)
        if (s->given[n]) {
            printf("%s%s %s", between, mode_name(labels, n, name),
                   label_show(labels, n, s->index[n], t.index_base, label));
            between = ", ";
        } else {
            t.mode[t.modes++] = n;
        }
    printf("%s%ju entr%s in %s; ", t.modes < s->shape.order ? ": " : "", (uintmax_t)s->count,
           s->count == 1 ? "y" : "ies", printable(settings->tensor, tensor, sizeof tensor));
    if (t.rows == 0) {
        printf("the model is 0 at all others\n");
        return;
    }
    printf("of the others, the model is largest at\n");
    text_table_print(stdout, &t);
}

static enum status write_found(void *settings, struct unlisted_best *best, struct error *error)
{
    struct settings *s = settings;
    const struct best_entry *entry = best->entry;
    struct coo cells;
    for (uint64_t i = 0; s->json && i < best->count; i++) {
        json_put_object(&s->document, NULL);
        indices_put(&s->document, &s->model.names, s->slice.shape.order, entry[i].cell.index,
                    s->common.tns.index_base);
        json_put_number(&s->document, "model",
                        loss_expected(cmd_model_loss(&s->model), entry[i].value));
        json_end(&s->document);
    }
    if (!s->json && !s->target)
        print_found(s, best);
    if (!s->target)
        return error->status;
    TRY(coo_create(&cells, &s->slice.shape, best->count, error));
    for (uint64_t i = 0; i < best->count; i++) {
        for (int n = 0; n < cells.shape.order; n++)
            cells.index[n][i] = entry[i].cell.index[n];
        cells.value[i] = entry[i].value;
    }
    prediction_file_append(&s->file, &cells, cells.value, error);
    coo_free(&cells);
    return error->status;
}

/* Says which model and which slice is searched, and begins the array of the entries. */
static void begin_json(struct settings *s, struct error *error)
{
    struct json *j = &s->document;
    const struct shape *shape = &s->slice.shape;
    const struct labels *labels = &s->model.names;
    json_begin(j, error);
    json_put_object(j, NULL);
    json_put_string(j, "model", s->stem);
    json_put_string(j, "tensor", s->tensor);
    json_put_unsigneds(j, "lengths", shape->dims, (size_t)shape->order);
    json_put_unsigned(j, "index_base", (uint64_t)s->common.tns.index_base);
    json_put_array(j, "given");
    for (int n = 0; n < shape->order; n++)
        if (s->slice.given[n]) {
            mode_begin(j, NULL, labels, n);
            index_put(j, labels, n, s->slice.index[n], s->common.tns.index_base);
            json_end(j);
        }
    json_end(j);
    if (s->each >= 0) {
        mode_begin(j, "each", labels, s->each);
        json_end(j);
    }
    json_put_unsigned(j, "listed", s->slice.count);
    json_put_array(j, "unlisted");
}

/* Reads the tensor, finds the entries that are wanted and writes them. */
static enum status show_unlisted(struct settings *s, struct error *error)
{
    const struct ktensor *model = &s->model.k;
    const struct tns_options *tns = &s->common.tns;
    struct progress *progress = &s->common.progress;
    bool searching = false;
    struct model_entries entries = {.reader = {.path = s->tensor},
                                    .model = &s->model,
                                    .match = s->match,
                                    .values_optional = true};
    s->slice.shape = model->shape;
    TRY(model_entries_find(&entries, &s->common, error));
    TRY(find_given(s, error));
    s->target = s->output ? s->output : s->each >= 0 && !s->json ? "-" : NULL;
    const bool from_0 = s->target && prediction_file_is_array(s->target) && !tns->index_base_given;
    const struct prediction_form form = {.order = model->shape.order,
                                         .labels = &s->model.names,
                                         .index_base = from_0 ? 0 : tns->index_base,
                                         .coordinates = true,
                                         .loss = cmd_model_loss(&s->model)};
    TRY_OR(done, model_entries_open(&entries, error));
    TRY_OR(done, model_entries_each(&entries, note, &s->slice, error));
    if (s->target)
        TRY_OR(done, prediction_file_open(&s->file, s->target, &form, error));
    if (s->json)
        begin_json(s, error);
    progress_stage(progress, "searching");
    searching = true;
    TRY_OR(done, unlisted_best_of_each(model, &s->slice, s->each, s->count, write_found, s,
                                       progress, error));
    if (s->target)
        TRY_OR(done, prediction_file_commit(&s->file, error));
    progress_clear(progress);
    if (s->json) {
        json_end(&s->document);
        json_end(&s->document);
        cmd_print_json(&s->document);
    }
done:
    if (error->status == STATUS_INPUT && searching)
        error_prefix(error, "--unlisted: ");
    model_entries_close(&entries);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct settings *s = settings;
    const bool unlisted = s->given.any;
    s->file.array.fd = -1;
    s->stem = line->operand[0];
    s->tensor = line->operand[1];
    TRY(unlisted ? cli_two_operands(line, "names", "STEM", "TENSOR", error)
                 : cli_single_operand(line, "model", error));
    if (!unlisted && s->common.options.host_memory > 0)
        return error_set(error, STATUS_INPUT, "--host-memory: only with --unlisted");
    if (s->output)
        TRY(values_target_check(s->output, s->stem, &s->model.names, s->tensor, s->force, error));
    TRY(cmd_read_model(&s->model, s->stem, &s->common, error));
    bool labelled = s->common.tns.index_base_given && !unlisted;
    for (int n = 0; n < s->model.k.shape.order; n++)
        labelled = labelled && s->model.names.mode[n].names.count > 0;
    if (labelled)
        return error_set(error, STATUS_INPUT,
                         "--index-base: every mode of %s has labels, expected --labels none",
                         s->stem);
    if (!unlisted)
        TRY(named_model_drop_means(&s->model, error));
    return unlisted ? show_unlisted(s, error) : show_components(s, error);
}

static void free_settings(void *settings)
{
    struct settings *s = settings;
    if (s->stem)
        prediction_file_free(&s->file);
    unlisted_slice_free(&s->slice);
    json_free(&s->document);
    named_model_free(&s->model);
}

const struct command cmd_top = {
    .name = "top",
    .summary = "show the strongest entries of each component of a model",
    .usage = "Usage: blco top STEM [-n N] [--labels MODE=FILE[,MODE=FILE]...] "
             "[OPTION]...\n       blco top STEM TENSOR --unlisted MODE=NAME|MODE=all|all [-n N] "
             "[-o FILE]\n                [OPTION]...\n\nPrints the entries of largest magnitude of "
             "each component in each "
             "mode, the\nstrongest first. STEM is the beginning of the names of a model's files, "
             "as\ngiven to blco cpd -o, or a .ktns file. With --unlisted: what to recommend, "
             "which\nlinks to expect. TENSOR is text (.tns), plain or gzip, a .blco file, "
             "COORDS.npy,\nor - for text from standard input.\n",
    .ending = "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. More in blco-top(1).\n",
    .sections = sections,
    .settings = sizeof(struct settings),
    .run = run,
    .free = free_settings,
    .operands = CMD_MODELS " " CMD_TENSORS,
};
