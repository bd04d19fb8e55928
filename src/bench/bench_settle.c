#include "bench/bench_settle.h"

#include "als/cpals.h"

enum status bench_settle(struct backend *b, struct backend_fit *fit, struct error *error)
{
    struct backend_built built;
    enum status status = STATUS_OK;
    int trying = 1; /* on any rank */
    for (int sweep = 0; sweep < BENCH_MOST_WARMUP && trying && status == STATUS_OK; sweep++) {
        status = cpals_sweep(b, NULL, fit, error);
        trying = 0;
        backend_built(b, &built);
        for (int n = 0; n < b->order; n++)
            trying |= !built.kernel[n].chosen;
        if (status == STATUS_OK)
            status = comm_allreduce_max(b->ranks->all, &trying, error);
    }
    return status;
}
