#include "bench/bench_derived.h"

double bench_gathered_bytes(const struct bench_result *r)
{
    return (double)r->nnz * (double)(r->shape.order - 1) *
           (double)(r->rank * precision_bytes(r->precision));
}

double bench_floor(const struct bench_result *r, int mode)
{
    double row = (double)(r->rank * precision_bytes(r->precision));
    double seconds = (double)r->shape.dims[mode] * row / r->rates.copy_bytes_per_second;
    for (int n = 0; n < r->shape.order; n++)
        if (n != mode)
            seconds += (double)r->nnz * row / r->rates.gather_bytes_per_second[n];
    return seconds;
}

double bench_als_seconds(const struct bench_als *als, enum operation op)
{
    double seconds = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        seconds += als->operation[op][n];
    return seconds;
}

double bench_transfer(const struct bench_result *r)
{
    return 16 * (double)r->nnz / r->rates.upload_bytes_per_second;
}
