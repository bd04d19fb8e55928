#include "commands/model_entries.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/least.h"
#include "base/memory.h"

#define ENTRY_OVERHEAD 24                    /* bytes of an entry for the model's value and a row */
#define MOST_MEMORY    (UINT64_C(256) << 20) /* bytes of the entries that are in memory at a time */

static bool is_csv(const struct model_entries *e)
{
    return e->reader.format == &tensor_csv;
}

enum status model_entries_find(struct model_entries *e, struct cmd_common *common,
                               struct error *error)
{
    const struct labels *names = &e->model->names;
    struct tensor_reader *r = &e->reader;
    r->tns = &common->tns;
    r->memory = cmd_host_memory(common);
    r->overhead = ENTRY_OVERHEAD;
    r->progress = &common->progress;
    e->match = names->none ? MATCH_INDEX : e->match;
    TRY(tensor_file_find_format(r, error));
    if (r->format == &tensor_npy)
        common->tns.index_base = npy_tensor_index_base(&common->tns);
    if (r->format == &tensor_npy && !e->values_optional && !npy_tensor_has_values(r->path))
        return error_set(error, STATUS_INPUT,
                         "%s: no values, which --residuals needs: expected COORDS.npy,VALUES.npy",
                         r->path);
    if (!is_csv(e))
        return STATUS_OK;
    if (!mode_names_of_table(&names->modes))
        return error_set(error, STATUS_INPUT,
                         "%s: is CSV, but the model does not say which columns are its modes: "
                         "convert it with blco convert --columns, and --order with the .map files "
                         "of the model",
                         e->reader.path);
    for (int n = 0; n < names->order; n++)
        if (e->match == MATCH_INDEX || labels_own(names, n)->count == 0)
            return error_set(
                error, STATUS_INPUT,
                "%s: is CSV, whose names are matched with those of the model: expected "
                "neither --match index nor --labels none",
                e->reader.path);
    return STATUS_OK;
}

/* Finds what becomes of values, as of those of the model's tensor: a .blco file that has had the
 * same done to it stays as it is. */
static enum status open_change(struct model_entries *e, struct error *error)
{
    const char *change = e->model->names.modes.change;
    const bool stays =
        e->values_optional || !change[0] || strcmp(e->names.modes.change, change) == 0;
    int kind = VALUES_AS_THEY_ARE;
    if (!stays && !word_find(cmd_value_words, change, strlen(change), &kind))
        return error_set(error, STATUS_INPUT,
                         "%s: the values of the model's tensor were changed (--values %s), which "
                         "needs the whole tensor: expected a .blco file of it, converted so",
                         e->reader.path, change);
    const struct value_rule rule = {.kind = (enum value_kind)kind};
    return value_change_begin(&e->change, &rule, &e->model->k.shape, error);
}

enum status model_entries_open(struct model_entries *e, struct error *error)
{
    struct tensor_reader *r = &e->reader;
    const struct ktensor *k = &e->model->k;
    const struct named_side model = {e->model->stem, &e->model->names}, file = {r->path, &e->names};
    struct tensor_names names = {0};
    e->options = *r->tns;
    e->options.ndims = k->shape.order;
    e->options.order_origin = "the model";
    e->options.values_optional = e->values_optional;
    r->tns = &e->options;
    if (is_csv(e)) {
        e->csv =
            (struct csv_options){.like = &e->model->names, .value_optional = e->values_optional};
        for (int n = 0; n < MAX_ORDER; n++)
            e->csv.names[n] = e->match == MATCH_ALL ? CSV_LIKE_ONLY : CSV_LIKE_FIRST;
        r->csv = &e->csv;
        e->options.ndims = 0;
        TRY(tensor_reader_whole(r, &e->at, error)); /* for names have to be known */
        r->format->names(r, &names);
        labels_take(&e->names, &names);
        e->matched.order = k->shape.order;
        for (int n = 0; n < k->shape.order; n++) {
            e->matched.mode[n] = n;
            e->matched.count[n] = e->names.mode[n].names.count;
            e->matched.only_b[n] = e->matched.count[n] - k->shape.dims[n];
        }
        name_match_note(&e->matched, &model, &file, r->progress);
        return open_change(e, error);
    }
    const int length = (int)name_maps_length(r->path); /* of COORDS.npy,VALUES.npy that of COORDS */
    char *first = memory_text(error, "%.*s", length, r->path);
    if (first && strcmp(first, "-") != 0 && access(first, F_OK) != 0) /* before names are missed */
        error_set(error, STATUS_INPUT, "%s: %s", first, strerror(errno));
    memory_free(first);
    TRY(error->status);
    r->cut = TENSOR_PIECES;
    r->memory = least_of(r->memory / 2, MOST_MEMORY);
    if (r->format->is_clean) { /* which has names of modes */
        TRY(tensor_reader_open(r, error));
        if (r->shape.order != k->shape.order)
            return error_set(error, STATUS_INPUT, "%s: %d mode%s, but the model has %d", r->path,
                             r->shape.order, r->shape.order == 1 ? "" : "s", k->shape.order);
    }
    if (r->state && r->format->names)
        r->format->names(r, &names);
    e->names.modes = names.modes;
    if (e->match != MATCH_INDEX)
        TRY(labels_find_tensor(&e->names, r->path, k->shape.order, error));
    e->names.order = k->shape.order;
    TRY(labels_read(&e->names, &(struct shape){.order = k->shape.order}, error));
    TRY(name_match_find(&e->matched, &model, &file, k->shape.order, e->match, error));
    name_match_note(&e->matched, &model, &file, r->progress);
    for (int n = 0; n < k->shape.order; n++) {
        const int to = e->matched.mode[n];
        e->options.dims[to] = e->matched.index[n] ? e->matched.count[n] : k->shape.dims[n];
        if (r->format->is_clean && r->shape.dims[to] > e->options.dims[to])
            return error_set(error, STATUS_INPUT,
                             "%s: mode %d: length %ju, expected at most %ju, as %s", r->path,
                             to + 1, (uintmax_t)r->shape.dims[to], (uintmax_t)e->options.dims[to],
                             e->matched.index[n] ? "it has names" : "the model has it");
    }
    TRY(open_change(e, error));
    return r->format->is_clean ? STATUS_OK : tensor_reader_open(r, error);
}

/* Makes e->at of the piece: of CSV, whose new names have indices beyond those of the model, too. */
static enum status place(struct model_entries *e, const struct coo *piece, struct error *error)
{
    const struct name_match *m = &e->matched;
    const struct shape *model = &e->model->k.shape;
    struct coo *at = &e->at;
    uint64_t alone = 0, known = 0;
    if (piece->nnz > e->room) {
        coo_free(at);
        e->room = 0;
        TRY(coo_create(at, model, piece->nnz, error));
        TRY(memory_resize(&e->from, piece->nnz, sizeof *e->from, error));
        e->room = piece->nnz;
    }
    at->nnz = piece->nnz;
#pragma omp parallel for schedule(static) reduction(+ : alone)
    for (uint64_t i = 0; i < piece->nnz; i++) {
        bool all = true;
        for (int n = 0; n < model->order; n++) {
            const uint32_t own = piece->index[m->mode[n]][i];
            at->index[n][i] = m->index[n] ? m->index[n][own] : own;
            all = all && at->index[n][i] < model->dims[n];
        }
        at->value[i] = piece->value[i];
        e->from[i] = all ? i : UINT64_MAX;
        alone += !all;
    }
    for (uint64_t i = 0; alone > 0 && i < piece->nnz; i++) /* those that the model has move up */
        if (e->from[i] != UINT64_MAX) {
            coo_move(at, known, at, i, 1);
            e->from[known++] = i;
        }
    at->nnz = piece->nnz - alone;
    e->alone += alone;
    return STATUS_OK;
}

/* A taker of a reader's pieces. */
static enum status hand(void *entries, struct coo *piece, struct error *error)
{
    struct model_entries *e = entries;
    if (e->change.rule.kind != VALUES_AS_THEY_ARE)
        TRY(value_change_apply(&e->change, piece, NULL, error));
    if (!is_csv(e) && name_match_is_same(&e->matched)) /* the reader has checked the lengths */
        return e->take(e->context, piece, piece, NULL, error);
    TRY(place(e, piece, error));
    return e->take(e->context, piece, &e->at, e->at.nnz < piece->nnz ? e->from : NULL, error);
}

enum status model_entries_each(struct model_entries *e, entry_taker take, void *context,
                               struct error *error)
{
    e->take = take;
    e->context = context;
    if (!is_csv(e))
        return tensor_reader_hand(&e->reader, hand, e, error);
    struct coo whole = e->at;
    e->at = (struct coo){0};
    hand(e, &whole, error);
    coo_free(&whole);
    return error->status;
}

const struct labels *model_entries_names(const struct model_entries *e)
{
    return is_csv(e) || !name_match_is_same(&e->matched) ? &e->names : &e->model->names;
}

void model_entries_close(struct model_entries *e)
{
    tensor_reader_close(&e->reader);
    value_change_free(&e->change);
    name_match_free(&e->matched);
    labels_free(&e->names);
    coo_free(&e->at);
    memory_free(e->from);
    *e = (struct model_entries){0};
}
