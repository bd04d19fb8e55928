/* The decision between two sweeps. */
#include "kernels/dense/dense_momentum.h"

namespace
{

constexpr int THREADS = 256;

/* One thread block. Issues all loads before the first barrier. */
__global__ void __launch_bounds__(THREADS)
    decide_kernel(const dense_momentum_fit fit, dense_momentum *m, double *kept, const int *halt)
{
    __shared__ double sums[THREADS];
    __shared__ int keeps;
    const uint32_t thread = threadIdx.x;
    const int halted = *halt;
    dense_fit_terms found = {0, 0, 0, 0};
    if (thread == 0)
        found = *fit.terms;
    double sum = 0;
    if (halted)
        return;
    for (uint32_t r = thread; fit.ridge != 0 && r < fit.rank; r += THREADS)
        sum += fit.lambda[r] * fit.lambda[r];
    sums[thread] = sum;
    __syncthreads();
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half)
            sums[thread] += sums[thread + half];
        __syncthreads();
    }
    if (thread == 0) {
        m->penalty = ridge_penalty(fit.ridge, sums[0]);
        const fit_terms terms = {fit.norm_sq,      found.inner, found.model_sq, found.inner_size,
                                 found.model_size, fit.epsilon, m->penalty};
        const fit_numbers numbers = fit_of_terms(&terms);
        momentum state = fit.before;
        m->step = momentum_next(&state, numbers.objective, numbers.noise);
        m->state = state;
        keeps = !state.rejected && !state.undecided;
    }
    __syncthreads();
    for (uint32_t r = thread; keeps && r < fit.rank; r += THREADS)
        kept[r] = fit.lambda[r];
}

} // namespace

cudaError_t dense_momentum_decide(const struct dense_momentum_fit *fit, struct dense_momentum *m,
                                  double *kept, const int *halt, cudaStream_t stream)
{
    return launch_kernel(decide_kernel, 1, THREADS, stream, *fit, m, kept, halt);
}
