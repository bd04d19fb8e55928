#include "commands/top_unlisted.h"

#include "commands/model_entries.h"
#include "formats/npy/npy_tensor.h"
#include "report/unlisted_show.h"

static enum status note(void *context, struct coo *piece, struct error *error)
{
    return unlisted_slice_note(context, piece, error);
}

static enum status read_slice(struct unlisted_slice *s, const struct top_unlisted *t,
                              const struct tns_options *tns, enum tensor_format format,
                              struct progress *progress, struct error *error)
{
    const struct model_entries entries = {.path = t->tensor,
                                          .format = format,
                                          .tns = tns,
                                          .shape = &t->model->shape,
                                          .values_optional = true,
                                          .memory = cmd_host_memory(t->common),
                                          .take = note,
                                          .context = s,
                                          .progress = progress};
    TRY(model_entries_each(&entries, error));
    unlisted_slice_sort(s);
    return STATUS_OK;
}

static void print_json(const struct top_unlisted *t, const struct unlisted_view *view,
                       struct error *error)
{
    struct json j;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    json_put_string(&j, "model", t->stem);
    json_put_string(&j, "tensor", t->tensor);
    json_put_unsigneds(&j, "lengths", t->model->shape.dims, (size_t)t->model->shape.order);
    json_put_unsigned(&j, "index_base", (uint64_t)view->index_base);
    unlisted_put_json(&j, view);
    json_end(&j);
    cmd_print_json(&j);
    json_free(&j);
}

enum status top_unlisted(const struct top_unlisted *t, struct error *error)
{
    struct tns_options tns = t->common->tns;
    struct unlisted_slice slice = {.shape = t->model->shape};
    struct unlisted_best best = {0};
    struct progress progress;
    enum tensor_format format;
    cmd_show_progress(&progress, t->common);
    TRY(model_entries_format(&format, t->tensor, error));
    if (format == TENSOR_NPY)
        tns.index_base = npy_tensor_index_base(&tns);
    TRY(given_indices_find(&slice, &t->given, t->labels, tns.index_base, error));
    if (unlisted_slice_check(&slice, error) != STATUS_OK)
        return error_prefix(error, "%s: ", t->given.option);
    TRY_OR(done, read_slice(&slice, t, &tns, format, &progress, error));
    progress_stage(&progress, "searching");
    TRY_OR(done, unlisted_best_find(&best, t->model, &slice, t->count, &progress, error));
    progress_clear(&progress);
    const struct unlisted_view view = {.slice = &slice,
                                       .best = &best,
                                       .labels = t->labels,
                                       .tensor = t->tensor,
                                       .index_base = tns.index_base};
    if (t->json)
        print_json(t, &view, error);
    else
        unlisted_print(stdout, &view);
done:
    progress_clear(&progress);
    unlisted_best_free(&best);
    unlisted_slice_free(&slice);
    return error->status;
}
