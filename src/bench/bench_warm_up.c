#include "bench/bench_warm_up.h"

#include "als/cpals.h"

/* Whether the backend still tries kernels for a mode. */
static bool tries_kernels(struct backend *b)
{
    struct backend_built built;
    bool tries = false;
    backend_built(b, &built);
    for (int n = 0; n < b->order; n++)
        tries |= !built.kernel[n].chosen;
    return tries;
}

enum status bench_warm_up(struct backend *b, struct backend_fit *fit, struct error *error)
{
    int trying = 1; /* on any rank */
    for (int sweep = 0; sweep < BENCH_MOST_WARM_UP && trying; sweep++) {
        TRY(cpals_sweep(b, NULL, fit, error));
        trying = tries_kernels(b);
        TRY(comm_allreduce_max(b->ranks->all, &trying, error));
    }
    return STATUS_OK;
}
