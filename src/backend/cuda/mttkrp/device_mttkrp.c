#include "backend/cuda/mttkrp/device_mttkrp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "kernels/mttkrp/chunks.h"
#include "plan/tile_choice.h"

/* Two gathers are fused only if their table fits the L2 cache and is short compared with the
 * tensor.
 */
#define MAX_TABLE_BITS   18 /* of a row's number                          */
#define NONZEROS_PER_ROW 8  /* of the table, at least                     */

/* With so many nonzeros for each row of M on average, nearly every row belongs to many chunks. */
#define UNSHARED_NONZEROS 32

static int field_bits(struct mttkrp_field f)
{
    return __builtin_popcount(f.mask);
}

/* Modes in descending order of their place in the index. */
static void sort_gathers(struct device_mttkrp *w)
{
    int count = 0;
    for (int n = 0; n < w->tensor->blco.shape.order; n++) {
        if (n == w->mode)
            continue;
        struct mttkrp_field f = device_tensor_field(w->tensor, n);
        int k = count++;
        for (; k > 0; k--) {
            struct mttkrp_field above = device_tensor_field(w->tensor, w->gather[k - 1]);
            if (above.word > f.word || (above.word == f.word && above.shift >= f.shift))
                break;
            w->gather[k] = w->gather[k - 1];
        }
        w->gather[k] = n;
    }
}

/* In tiles of shared memory. Those of the L2 cache are blocks like any others, but a row of M may
 * be in several: the plain kernel adds it in each (`ordered` of device_tensor_args). */
static bool is_tiled(const struct device_mttkrp *w)
{
    const struct tile *tile = &w->tensor->blco.ordering.tile;
    return tile->modes > 0 && !tile->in_cache;
}

/* The pair of neighbouring gathers with the smallest table, if one is small enough. */
static void find_fusion(struct device_mttkrp *w)
{
    w->fused = -1;
    int least = MAX_TABLE_BITS + 1;
    for (int g = 0; g + 2 < w->tensor->blco.shape.order; g++) {
        struct mttkrp_field upper = device_tensor_field(w->tensor, w->gather[g]);
        struct mttkrp_field lower = device_tensor_field(w->tensor, w->gather[g + 1]);
        int bits = field_bits(upper) + field_bits(lower);
        if (upper.word == lower.word && upper.shift == lower.shift + field_bits(lower) &&
            bits < least && w->tensor->blco.nnz >> bits >= NONZEROS_PER_ROW) {
            least = bits;
            w->fused = g;
        }
    }
    if (is_tiled(w) || w->tensor->base || w->tensor->blco.index[1])
        w->fused = -1;
}

uint64_t device_mttkrp_table_rows(const struct device_mttkrp *w)
{
    if (w->fused < 0)
        return 0;
    struct mttkrp_field upper = device_tensor_field(w->tensor, w->gather[w->fused]);
    struct mttkrp_field lower = device_tensor_field(w->tensor, w->gather[w->fused + 1]);
    return UINT64_C(1) << (field_bits(upper) + field_bits(lower));
}

static void add_variant(struct device_mttkrp *w, enum mttkrp_path path, int table, int fused)
{
    w->variant[w->variants++] =
        (struct device_mttkrp_variant){.path = path, .table = table, .fused = fused};
}

/* w->unshared = the rows of which one chunk has all nonzeros, for the shortest chunks, so that it
 * holds for longer chunks too. NULL where there is no room for it. */
static enum status find_unshared_rows(struct device_mttkrp *w, cudaStream_t stream,
                                      struct error *error)
{
    static const char doing[] = "finding the rows of one chunk";
    const uint64_t rows = w->tensor->blco.shape.dims[w->mode];
    struct mttkrp_args args;
    device_tensor_args(w->tensor, 0, w->mode, &args);
    uint32_t *first = device_array(rows, sizeof *first, error);
    TRY_OR(done, error->status);
    TRY_OR(done,
           device_array_into(&w->unshared, UNSHARED_ROWS_WORDS(rows), sizeof *w->unshared, error));
    TRY_OR(done,
           cuda_status(unshared_rows_mark(&args, rows, first, w->unshared, stream), doing, error));
    cuda_status(cudaStreamSynchronize(stream), doing, error);
done:
    device_free(first);
    if (error->status == STATUS_MEMORY && !w->unshared)
        *error = (struct error){0};
    return error->status;
}

/* The kernel of a conflict resolution. */
static enum mttkrp_path path_of(enum conflict conflict)
{
    if (conflict_traits[conflict].ordered)
        return MTTKRP_PLAIN;
    return conflict_traits[conflict].each ? MTTKRP_EACH : MTTKRP_SORTED;
}

enum status device_mttkrp_open(struct device_mttkrp *w, const struct device_tensor *tensor,
                               int mode, enum conflict conflict, const struct device_pool *pool,
                               struct error *error)
{
    *w = (struct device_mttkrp){.mode = mode,
                                .conflict = conflict,
                                .tensor = tensor,
                                .pool = pool,
                                .tiles = {.tensor = tensor, .mode = mode},
                                .timed = -1};
    const enum mttkrp_path path = path_of(conflict);
    sort_gathers(w);
    find_fusion(w);
    if (is_tiled(w)) {
        w->variant[w->variants++] = (struct device_mttkrp_variant){.tiled = true};
    } else if (path == MTTKRP_EACH) {
        add_variant(w, path, 2, 0);
    } else if (path == MTTKRP_SORTED) {
        for (int t = 0;
             t < DEVICE_CHUNK_TABLES && device_tensor_chunk_size(tensor, t) <= MTTKRP_SORTED_CHUNK;
             t++)
            add_variant(w, path, t, 0);
    } else {
        for (int fused = 0; fused <= (w->fused >= 0); fused++)
            for (int t = 0; t < DEVICE_CHUNK_TABLES; t++)
                add_variant(w, path, t, fused);
    }
    TRY(cuda_status(device_event_create_timed(&w->start), "an event", error));
    TRY(cuda_status(device_event_create_timed(&w->stop), "an event", error));
    if (conflict_traits[conflict].direct &&
        tensor->blco.nnz / UNSHARED_NONZEROS < tensor->blco.shape.dims[mode])
        return find_unshared_rows(w, pool->stream, error);
    return STATUS_OK;
}

void device_mttkrp_close(struct device_mttkrp *w)
{
    device_event_destroy(w->start);
    device_event_destroy(w->stop);
    device_free(w->unshared);
    device_tiles_free(&w->tiles);
    memset(w, 0, sizeof *w);
}

/* Sets the gathers of a variant; where two are fused, computes their table first. */
static cudaError_t set_gathers(const struct device_mttkrp *w, int fused,
                               const struct device_factors *f, struct mttkrp_args *args,
                               cudaStream_t stream)
{
    cudaError_t code = cudaSuccess;
    args->gathers = 0;
    for (int g = 0; g < f->shape.order - 1; g++) {
        int n = w->gather[g];
        struct mttkrp_gather *gather = &args->gather[args->gathers++];
        gather->field = device_tensor_field(w->tensor, n);
        gather->rows = f->factor[n];
        if (!fused || g != w->fused)
            continue;
        int lower = w->gather[++g];
        struct mttkrp_field field = device_tensor_field(w->tensor, lower);
        int bits = field_bits(field);
        code = mttkrp_khatri_rao(f->table, f->factor[n], f->shape.dims[n], f->factor[lower],
                                 f->shape.dims[lower], bits, f->vectors, f->precision, stream);
        field.mask |= gather->field.mask << bits;
        gather->field = field;
        gather->rows = f->table;
    }
    return code;
}

void device_mttkrp_output(struct mttkrp_args *args, int mode, enum conflict conflict,
                          const struct device_factors *f)
{
    args->gathers = f->shape.order - 1;
    args->path = path_of(conflict);
    args->m = f->m;
    args->copy_size = f->shape.dims[mode] * f->vectors;
    args->copies = conflict_traits[conflict].copied ? f->copies : 1;
    args->vectors = f->vectors;
    args->precision = f->precision;
}

static void set_args(const struct device_mttkrp *w, const struct device_mttkrp_variant *v,
                     const struct device_factors *f, struct mttkrp_args *args)
{
    device_tensor_args(w->tensor, v->table, w->mode, args);
    device_mttkrp_output(args, w->mode, w->conflict, f);
    args->gathers -= v->fused;
    args->ordered = args->ordered && conflict_traits[w->conflict].ordered;
    args->unshared = w->unshared;
    args->wide_values = f->wide_values;
}

enum status device_mttkrp_run_variant(struct device_mttkrp *w, int variant,
                                      const struct device_factors *f, cudaStream_t stream,
                                      struct error *error)
{
    const struct device_mttkrp_variant *v = &w->variant[variant];
    static const char doing[] = "MTTKRP";
    struct mttkrp_args args;
    if (v->tiled) { /* made ready for rows of another length first, as of another precision */
        if (w->tiles.vectors != f->vectors)
            TRY(device_tiles_prepare(&w->tiles, f->vectors, w->pool, error));
        return device_tiles_run(&w->tiles, f, stream, error);
    }
    set_args(w, v, f, &args);
    TRY(cuda_status(set_gathers(w, v->fused, f, &args, stream), doing, error));
    /* the launch stores the rows to which it does not add */
    const struct device_tensor *t = w->tensor;
    cudaError_t code;
    if (args.ordered)
        code = mttkrp_zero_rows(args.m, args.vectors, t->zero_row, t->zero_rows, stream);
    else if (args.unshared)
        code = unshared_rows_zero_others(args.m, args.vectors, args.unshared,
                                         t->blco.shape.dims[w->mode], stream);
    else
        code = mttkrp_zero(&args, stream);
    TRY(cuda_status(code, doing, error));
    TRY(cuda_status(mttkrp_launch(&args, stream), doing, error));
    return cuda_status(mttkrp_merge_copies(&args, stream), doing, error);
}

void device_mttkrp_retry(struct device_mttkrp *w)
{
    w->calls = w->best = 0;
    w->best_seconds = 0;
    w->timed = -1;
}

static const char timing[] = "timing MTTKRP";

enum status device_mttkrp_run(struct device_mttkrp *w, const struct device_factors *f,
                              cudaStream_t stream, struct error *error)
{
    if (w->timed >= 0) { /* the time of the previous trial; waits if that has not ended */
        const int before = w->timed;
        double seconds;
        w->timed = -1;
        TRY(cuda_status(device_event_seconds(w->start, w->stop, &seconds), timing, error));
        if (w->best_seconds == 0 || seconds < w->best_seconds) {
            w->best_seconds = seconds;
            w->best = before;
        }
    }
    /* Call k tries variant k - 1: the first call only warms up. */
    int trial = w->variants > 1 && w->calls > 0 && w->calls <= w->variants ? w->calls - 1 : -1;
    w->calls++;
    /* All kernels are loaded first, so that no trial's time includes the loading. */
    for (int v = 0; w->calls == 1 && trial < 0 && v < w->variants; v++) {
        struct mttkrp_args args;
        if (w->variant[v].tiled)
            continue;
        set_args(w, &w->variant[v], f, &args);
        TRY(cuda_status(mttkrp_prepare(&args), "loading the kernels", error));
    }
    if (trial < 0)
        return device_mttkrp_run_variant(w, w->best, f, stream, error);

    w->timed = trial;
    TRY(cuda_status(cudaEventRecord(w->start, stream), timing, error));
    TRY(device_mttkrp_run_variant(w, trial, f, stream, error));
    return cuda_status(cudaEventRecord(w->stop, stream), timing, error);
}

bool device_mttkrp_tried(const struct device_mttkrp *w)
{
    return w->variants < 2 || (w->calls > w->variants && w->timed < 0);
}

void device_mttkrp_describe(const struct device_mttkrp *w, int variant, char *text, size_t size)
{
    static const char *const paths[MTTKRP_PATHS] = {"plain", "sorted", "each"};
    const struct device_mttkrp_variant *v = &w->variant[variant];
    if (v->tiled) {
        device_tiles_describe(&w->tiles, text, size);
        return;
    }
    const int used = snprintf(text, size, "%s x%u", v->fused ? "fused" : paths[v->path],
                              device_tensor_chunk_size(w->tensor, v->table));
    const struct tile *tile = &w->tensor->blco.ordering.tile;
    if (tile->modes > 0 && used >= 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " in L2 tiles of %" PRIu64 " rows of mode %d",
                 tile_length(tile, w->tensor->blco.shape.dims[tile->mode[0]]), tile->mode[0] + 1);
}
