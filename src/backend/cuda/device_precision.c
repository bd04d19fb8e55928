/* From single precision to double, between two iterations. */
#include "backend/cuda/device_state.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "kernels/dense/dense_widen.h"

/* Widens factor matrix n, which needs more room than before, and so goes through M. */
static enum status widen(struct device_state *s, int n, struct error *error)
{
    const struct device_factors *f = &s->sweep.factors;
    const uint64_t rows = f->shape.dims[n], bytes = device_row_bytes(s->rank, PRECISION_DOUBLE);
    static const char doing[] = "widening a factor matrix";
    cudaError_t code = dense_widen_rows(f->factor[n], s->ld, f->m, bytes / sizeof(double), rows,
                                        s->rank, s->stream);
    TRY(cuda_status(code, doing, error));
    code = cudaMemcpyAsync(f->factor[n], f->m, rows * bytes, cudaMemcpyDeviceToDevice, s->stream);
    return cuda_status(code, doing, error);
}

void device_state_set_precision(struct device_state *s, enum precision precision)
{
    const uint64_t bytes = device_row_bytes(s->rank, precision);
    s->ld = bytes / precision_bytes(precision);
    s->dense = s->dense_of[precision];
    device_sweep_set_precision(&s->sweep, precision, (uint32_t)(bytes / VECTOR_BYTES));
    device_state_forget(s);
}

/* Queued work ends before anything changes. */
enum status device_state_widen(void *state, struct error *error)
{
    struct device_state *s = state;
    TRY(device_use(s->device, error));
    TRY(device_state_wait(s, error));
    for (int n = 0; n < s->order; n++)
        TRY(widen(s, n, error));
    device_state_set_precision(s, PRECISION_DOUBLE);
    return STATUS_OK;
}
