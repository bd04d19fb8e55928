#include "bench/bench.h"
#include "record/run_record.h"

static void put_limits(struct json *j, const struct bench_result *r)
{
    double cache[MAX_ORDER], memory[MAX_ORDER];
    for (int n = 0; n < r->shape.order; n++) {
        cache[n] = bench_floor(r, n).cache;
        memory[n] = bench_floor(r, n).memory;
    }
    json_put_object(j, "limits");
    json_put_number(j, "copy_bytes_per_second", r->rates.copy_bytes_per_second);
    json_put_number(j, "cache_bytes_per_second", r->rates.cache_bytes_per_second);
    if (r->rates.upload_bytes_per_second > 0)
        json_put_number(j, "upload_bytes_per_second", r->rates.upload_bytes_per_second);
    json_put_numbers(j, "gather_bytes_per_second", r->rates.gather_bytes_per_second,
                     (size_t)r->shape.order);
    json_put_numbers(j, "atomic_rows_per_second", r->rates.atomic_rows_per_second,
                     (size_t)r->shape.order);
    json_put_numbers(j, "cache_floor_seconds", cache, (size_t)r->shape.order);
    json_put_numbers(j, "memory_floor_seconds", memory, (size_t)r->shape.order);
    json_end(j);
}

static void put_statistics(struct json *j, const struct bench_statistics *s)
{
    json_put_number(j, "least", s->least);
    json_put_number(j, "lower_quartile", s->lower);
    json_put_number(j, "median", s->median);
    json_put_number(j, "upper_quartile", s->upper);
    json_put_number(j, "most", s->most);
}

/* Where the time of building went, and the series of each mode. */
static void put_modes(struct json *j, const struct bench_result *r,
                      const struct bench_resolution *c)
{
    const size_t order = (size_t)r->shape.order;
    if (c->open_seconds > 0) {
        json_put_object(j, "build_seconds");
        json_put_number(j, "open", c->open_seconds);
        json_put_number(j, "upload", c->build.upload);
        json_put_number(j, "presort", c->build.presort);
        json_put_number(j, "alto", c->build.alto);
        json_put_numbers(j, "orderings", c->build.replica, order);
        json_put_number(j, "grouping", c->build.grouping);
        json_put_number(j, "sum", backend_build_seconds(&c->build));
        json_end(j);
    }
    json_put_array(j, "modes");
    for (int n = 0; n < r->shape.order; n++) {
        const struct bench_series *s = &c->mode[n];
        const double median = s->statistics.median;
        if (!s->measured)
            continue;
        json_put_object(j, NULL);
        json_put_unsigned(j, "mode", (uint64_t)n + 1);
        json_put_string(j, "kernel", s->variant[0] ? s->variant : NULL);
        json_put_number(j, "relative_difference", s->difference);
        put_statistics(j, &s->statistics);
        json_put_number(j, "nonzeros_per_second", (double)r->nnz / median);
        json_put_number(j, "gathered_bytes_per_second", bench_gathered_bytes(r) / median);
        json_put_number(j, "share_of_floor", bench_floor(r, n).seconds / median);
        if (s->bus_bytes > 0) {
            const double rate = (double)s->bus_bytes / median;
            json_put_unsigned(j, "bus_bytes", s->bus_bytes);
            json_put_number(j, "bus_bytes_per_second", rate);
            json_put_number(j, "share_of_upload", rate / r->rates.upload_bytes_per_second);
        }
        json_put_numbers(j, "samples", s->seconds, s->count);
        json_end(j);
    }
    json_end(j);
}

static void put_ranks(struct json *j, const struct bench_ranks *ranks, int order)
{
    json_put_object(j, "ranks");
    json_put_unsigned(j, "count", (uint64_t)ranks->ranks);
    json_put_unsigned(j, "nonzeros", ranks->nnz);
    json_put_counts(j, "grid", ranks->parts, (size_t)order);
    json_put_number(j, "imbalance", ranks->imbalance);
    json_put_number(j, "read_seconds", ranks->read_seconds);
    json_put_number(j, "exchange_seconds", ranks->exchange_seconds);
    json_put_number(j, "mttkrp_seconds", bench_ranks_mttkrp(ranks, order));
    json_put_object(j, "model");
    json_put_unsigned(j, "moved_bytes", ranks->cost.moved_bytes);
    json_put_number(j, "mttkrp_seconds", ranks->cost.mttkrp_seconds);
    json_put_number(j, "move_seconds", ranks->cost.move_seconds);
    json_put_number(j, "solve_seconds", ranks->cost.solve_seconds);
    json_end(j);
    json_put_array(j, "each");
    for (int k = 0; k < ranks->ranks; k++) {
        const struct bench_rank *rank = &ranks->rank[k];
        json_put_object(j, NULL);
        json_put_unsigned(j, "nonzeros", rank->nnz);
        json_put_numbers(j, "mttkrp", rank->mttkrp, (size_t)order);
        json_put_numbers(j, "update", rank->update, (size_t)order);
        json_put_number(j, "communication", rank->communication);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

void bench_record(struct json *j, const char *tensor, const struct bench_request *request,
                  const struct bench_result *r, const struct bench_ranks *ranks)
{
    const struct bench_als *als = &r->als;
    const int order = r->shape.order;
    run_record_tensor(j, tensor, ranks ? &ranks->shape : &r->shape, ranks ? ranks->nnz : r->nnz,
                      NULL, NULL);
    json_put_object(j, "options");
    run_record_options(j, &request->options);
    run_record_modes(j, "nonneg", request->options.problem.rules.nonneg, order);
    json_put_unsigned(j, "samples", request->samples);
    json_end(j);
    put_limits(j, r);
    json_put_string(j, "reference", BENCH_REFERENCE);
    json_put_array(j, "mttkrp");
    for (int i = 0; i < r->resolutions; i++) {
        json_put_object(j, NULL);
        json_put_string(j, "conflict", r->resolution[i].name);
        json_put_bool(j, "fits", r->resolution[i].fits);
        put_modes(j, r, &r->resolution[i]);
        json_end(j);
    }
    json_end(j);
    json_put_object(j, "als");
    run_record_built(j, &als->built);
    put_modes(j, r, &als->own);
    put_statistics(j, &als->statistics);
    json_put_numbers(j, "samples", als->seconds, als->count);
    json_put_object(j, "operations");
    for (int op = OP_MTTKRP; op <= OP_FIT; op++)
        json_put_numbers(j, operation_name((enum operation)op), als->operation[op], (size_t)order);
    json_end(j);
    json_put_number(j, "fit", als->fit.value);
    json_end(j);
    if (ranks)
        put_ranks(j, ranks, order);
}
