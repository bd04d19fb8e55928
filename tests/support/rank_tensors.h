/* Tensors that the threads of a test open together, as ranks do. Include it after cmocka.h. */
#pragma once

#include "base/memory.h"
#include "ranks/rank_tensor.h"
#include "support/blco_files.h"
#include "support/rank_threads.h"
#include "support/scratch.h"
#include "support/whole_tensors.h"

struct job {
    const char *path;    /* or                */
    const struct coo *x; /* nonzeros in memory */
    struct tns_options options;
    const struct csv_options *csv; /* of CSV */
    int parts[MAX_ORDER];          /* of the grid; 0: chosen */
    bool by_rows, cells;           /* as in struct rank_request */
    bool packed;                   /* the file stays unread ...    */
    bool read;                     /* ... until it is read later   */
    struct progress *progress;     /* of rank 0 */
    struct rank_tensor tensor;
    struct fingerprint print;
};

static inline void open_one(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    struct rank_request request = {.path = job->path,
                                   .tns = &job->options,
                                   .csv = job->csv,
                                   .row_bytes = 64,
                                   .machine = {.one_host = true, .threads = 1},
                                   .by_rows = job->by_rows,
                                   .cells = job->cells,
                                   .packed = job->packed,
                                   .hashed = true};
    memcpy(request.parts, job->parts, sizeof request.parts);
    while (request.modes < MAX_ORDER && job->parts[request.modes] > 0)
        request.modes++;
    if (job->path)
        rank_tensor_open(&job->tensor, c, &request, c->rank == 0 ? job->progress : NULL, error);
    else
        rank_tensor_share(&job->tensor, c, job->x, &request, error);
    if (error->status == STATUS_OK && job->read)
        rank_tensor_read(&job->tensor, NULL, error);
    if (error->status == STATUS_OK &&
        rank_tensor_fingerprint(&job->print, &job->tensor, error) != STATUS_OK)
        rank_tensor_close(&job->tensor);
    rank_rows_close(&job->tensor.rows); /* whose communicators end with this thread's */
}

static inline bool open_all(struct job *job, const struct job *like, int ranks,
                            struct error *errors)
{
    for (int k = 0; k < MOST_RANKS; k++)
        job[k] = *like;
    return run_rank_threads(ranks, open_one, job, sizeof *job, errors);
}

static inline void close_all(struct job *job)
{
    for (int k = 0; k < MOST_RANKS; k++)
        rank_tensor_close(&job[k].tensor);
}

static const struct tns_options one_based = {.index_base = 1};

/* Text lines with many duplicates, whose sums depend on their order, with zeros, and with unknown
 * entries. */
static inline char *text_with_duplicates(int lines)
{
    char *text = malloc((size_t)lines * 60 + 1), *p = text;
    uint64_t seed = 5;
    assert_non_null(text);
    for (int i = 0; i < lines; i++) {
        uint64_t r = naive_random(&seed);
        if (r % 31 == 0)
            p += sprintf(p, "# a comment\n\n");
        double value = r % 13 == 0 ? 0 : (double)(int64_t)naive_random(&seed) * 0x1p-50;
        if (r % 400 == 7)
            value = COO_UNKNOWN;
        p += sprintf(p, "%d %d %d %.17g%s", (int)(r >> 8 & 0xff) % 9 + 1,
                     (int)(r >> 16 & 0xff) % 7 + 1, (int)(r >> 24 & 0xff) % 30 + 1,
                     r % 17 ? value : 1e15, r % 5 ? "\n" : "\r\n");
    }
    p[-1] = '\0'; /* no newline at the end */
    return text;
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
