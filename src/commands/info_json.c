#include "commands/info_findings.h"

#include "tensor/ordering.h"

static void put_format(struct json *j, const struct info_findings *f)
{
    const struct tns_report *text = &f->report.text;
    static const char *const formats[] = {
        [TENSOR_TEXT] = "text", [TENSOR_BLCO] = "blco", [TENSOR_CSV] = "csv", [TENSOR_NPY] = "npy"};
    bool is_text = f->format == TENSOR_TEXT || f->format == TENSOR_CSV;
    json_put_string(j, "format", formats[f->format]);
    json_put_unsigned(j, is_text ? "text_bytes" : "file_bytes",
                      is_text ? text->text_bytes : f->file_bytes);
    if (!is_text)
        return;
    json_put_bool(j, "gzip", text->gzip);
    if (f->format == TENSOR_CSV)
        return;
    json_put_string(j, "header", word_of(tns_header_words, (int)text->header));
}

uint64_t info_zeros(const struct info_findings *f)
{
    return f->format == TENSOR_BLCO ? f->listed.zeros : f->listed.dropped;
}

uint64_t info_nonzeros(const struct info_findings *f)
{
    return f->x.nnz - f->listed.unknown - f->listed.zeros;
}

static void put_listed(struct json *j, const struct info_findings *f)
{
    json_put_unsigned(j, "zeros", info_zeros(f));
    if (f->format == TENSOR_BLCO)
        json_put_unsigned(j, "dropped_zeros", f->listed.dropped);
    json_put_unsigned(j, "unknown", f->listed.unknown);
}

/* The files that have names of indices. */
static void put_maps(struct json *j, const struct info_findings *f)
{
    bool any = false;
    for (int n = 0; n < f->x.shape.order; n++)
        any = any || f->labels.mode[n].path;
    if (!any)
        return;
    json_put_array(j, "maps");
    for (int n = 0; n < f->x.shape.order; n++)
        json_put_string(j, NULL, f->labels.mode[n].path);
    json_end(j);
}

static void put_tensor(struct json *j, const struct info_findings *f)
{
    const struct coo *x = &f->x;
    double places = 1;
    for (int n = 0; n < x->shape.order; n++)
        places *= (double)x->shape.dims[n];
    json_put_unsigned(j, "order", (uint64_t)x->shape.order);
    json_put_unsigneds(j, "lengths", x->shape.dims, (size_t)x->shape.order);
    mode_names_put(j, &f->labels.modes, x->shape.order);
    put_maps(j, f);
    json_put_unsigned(j, "nonzeros", info_nonzeros(f));
    json_put_number(j, "density", (double)info_nonzeros(f) / places);
    json_put_unsigned(j, "line_bits", (uint64_t)ordering_line_bits(&x->shape));
}

static void put_statistics(struct json *j, const struct coo_statistics *s, size_t order)
{
    json_put_number(j, "least", s->least);
    json_put_number(j, "largest", s->largest);
    json_put_bool(j, "whole_numbers", s->all_integer);
    json_put_number(j, "norm", s->norm);
    json_put_unsigneds(j, "empty_slices", s->empty_slices, order);
    json_put_unsigneds(j, "fullest_slice", s->largest_slice, order);
}

static void put_ranks(struct json *j, const struct info_ranks *r)
{
    json_put_object(j, "ranks");
    json_put_unsigned(j, "count", (uint64_t)r->grid.ranks);
    json_put_string(j, "on",
                    word_of(cmd_on_words, r->machine.device ? CMD_ON_GPUS : CMD_ON_PROCESSORS));
    json_put_unsigned(j, "threads", (uint64_t)r->machine.threads);
    json_put_bool(j, "one_host", r->machine.one_host || r->grid.ranks == 1);
    json_put_counts(j, "grid", r->grid.parts, (size_t)r->grid.shape.order);
    json_put_bool(j, "estimated", r->is_estimated);
    json_put_unsigned(j, "largest_nonzeros", r->cost.largest_nnz);
    json_put_number(j, "imbalance", r->cost.imbalance > 0 ? r->cost.imbalance : 0);
    json_put_unsigned(j, "moved_bytes", r->cost.moved_bytes);
    json_put_number(j, "mttkrp_seconds", r->cost.mttkrp_seconds);
    json_put_number(j, "solve_seconds", r->cost.solve_seconds);
    json_put_number(j, "move_seconds", r->cost.move_seconds);
    json_end(j);
}

static void put_plan(struct json *j, const struct plan *plan, const char *backend)
{
    char obstacle[512];
    json_put_object(j, "plan");
    json_put_string(j, "backend", backend);
    json_put_unsigned(j, "rank", plan->request.rank);
    json_put_bool(j, "fits", plan->fits);
    json_put_bool(j, "streamed", plan->streamed);
    json_put_unsigned(j, "orderings", (uint64_t)plan_orderings(plan));
    json_put_array(j, "conflict");
    for (int n = 0; n < plan->request.tensor.shape.order; n++)
        json_put_string(j, NULL, conflict_name(plan->conflict[n]));
    json_end(j);
    json_put_unsigned(j, "ordering_bytes", plan->tensor_bytes);
    json_put_unsigned(j, "factor_bytes", plan->factor_bytes);
    json_put_unsigned(j, "copy_bytes", plan->copy_bytes);
    json_put_unsigned(j, "total_bytes", plan->total_bytes);
    json_put_unsigned(j, "budget_bytes", plan->request.budget);
    if (plan->streamed)
        json_put_unsigned(j, "host_bytes", plan->host_bytes);
    if (!plan->fits) {
        plan_obstacle(plan, obstacle, sizeof obstacle);
        json_put_string(j, "obstacle", obstacle);
    }
    json_end(j);
}

enum status info_print_json(const struct info_findings *f, const char *path, struct error *error)
{
    struct json j;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    json_put_string(&j, "tensor", path);
    put_format(&j, f);
    json_put_unsigned(&j, "entries", f->entries);
    json_put_unsigned(&j, "duplicates", f->report.cleaning.duplicates);
    put_listed(&j, f);
    put_tensor(&j, f);
    if (f->x.nnz > 0) {
        put_statistics(&j, &f->statistics, (size_t)f->x.shape.order);
        if (f->wanted.ranks)
            put_ranks(&j, &f->ranks);
        put_plan(&j, &f->plan, f->kind->name);
    }
    json_end(&j);
    cmd_print_json(&j);
    json_free(&j);
    return error->status;
}
