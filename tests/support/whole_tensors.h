/* Tensors of a rank alone, for tests. Include it after cmocka.h. */
#pragma once

#include "ranks/rank_tensor.h"

struct whole {
    struct comm *self;
    struct rank_tensor tensor;
};

/* The nonzeros of x, which stay the caller's. The caller frees *w with close_whole, after a failure
 * too. */
static inline enum status take_whole_of(struct whole *w, const struct coo *x, struct error *error)
{
    *w = (struct whole){.self = comm_self(error)};
    return w->self ? rank_tensor_share(&w->tensor, w->self, x, NULL, error) : error->status;
}

static inline void whole_of(struct whole *w, const struct coo *x)
{
    struct error error = {0};
    assert_int_equal(take_whole_of(w, x, &error), STATUS_OK);
}

/* The tensor of a file; likewise. `csv` may be NULL. */
static inline enum status try_open_whole(struct whole *w, const char *path,
                                         const struct tns_options *options,
                                         const struct csv_options *csv, struct error *error)
{
    const struct rank_request request = {.path = path, .tns = options, .csv = csv};
    *w = (struct whole){.self = comm_self(error)};
    assert_non_null(w->self);
    return rank_tensor_open(&w->tensor, w->self, &request, NULL, error);
}

static inline void open_whole(struct whole *w, const char *path)
{
    static const struct tns_options one_based_text = {.index_base = 1};
    struct error error = {0};
    if (try_open_whole(w, path, &one_based_text, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

static inline void close_whole(struct whole *w)
{
    rank_tensor_close(&w->tensor);
    comm_finalize(w->self);
    w->self = NULL;
}
