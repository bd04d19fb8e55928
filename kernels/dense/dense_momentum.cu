/* The decision and the extrapolation between two sweeps. */
#include "kernels/dense/dense_momentum.h"

#include "kernels/dense/dense_vector.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr int ROWS = 4;           /* of a thread, at least, where there are enough  */
constexpr uint32_t BLOCKS = 4096; /* thread blocks, at most                         */

/* One thread block. */
__global__ void __launch_bounds__(THREADS)
    decide_kernel(const dense_momentum_fit fit, dense_momentum *m, double *kept, const int *halt)
{
    __shared__ double sums[THREADS];
    __shared__ int taken_back;
    const uint32_t thread = threadIdx.x;
    double sum = 0;
    if (*halt)
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
        m->penalty = rounded_product(fit.ridge, sums[0]);
        const fit_terms terms = {
            fit.norm_sq,           fit.terms->inner, fit.terms->model_sq, fit.terms->inner_size,
            fit.terms->model_size, fit.epsilon,      m->penalty};
        const fit_numbers numbers = fit_of_terms(&terms);
        momentum state = m->state;
        m->step = momentum_next(&state, numbers.objective, numbers.noise);
        m->state = state;
        taken_back = state.taken_back;
    }
    __syncthreads();
    for (uint32_t r = thread; !taken_back && r < fit.rank; r += THREADS)
        kept[r] = fit.lambda[r];
}

__device__ __forceinline__ double one_for_zero(double norm)
{
    return norm != 0 ? norm : 1;
}

/* The factors of a thread's columns of A and S; 0 beyond the rank. */
template <int LENGTH> struct column_factors {
    double of_a[LENGTH], of_s[LENGTH];
    bool inside[LENGTH];

    __device__ column_factors(const dense_extrapolate_args &args, const momentum_step &step,
                              uint32_t first)
    {
#pragma unroll
        for (int i = 0; i < LENGTH; i++) {
            const uint32_t c = first + (uint32_t)i;
            inside[i] = c < args.rank;
            const bool counts = inside[i] && args.gram_a[(uint64_t)c * args.rank + c] != 0;
            of_a[i] = counts ? step.now / one_for_zero(args.norm_a[c]) : 0;
            of_s[i] = counts ? step.before / one_for_zero(args.norm_s[c]) : 0;
        }
    }
};

/* A thread takes one vector of each row, or every 256th vector. */
template <typename Real>
__global__ void __launch_bounds__(THREADS) extrapolate_kernel(const dense_extrapolate_args args)
{
    constexpr int LENGTH = vector<Real>::LENGTH;
    const momentum_step step = *args.step;
    const uint32_t vectors = args.ld / LENGTH;
    const uint32_t width = min(vectors, (uint32_t)THREADS), height = THREADS / width;
    const uint32_t x = threadIdx.x % width, y = threadIdx.x / width;
    if (*args.halt || step.now == 0 || y >= height)
        return;
    for (uint32_t v = x; v < vectors; v += width) {
        const column_factors<LENGTH> factors(args, step, v * LENGTH);
        const vector<Real> *a = (const vector<Real> *)args.a + v;
        vector<Real> *s = (vector<Real> *)args.s + v;
        for (uint64_t row = (uint64_t)blockIdx.x * height + y; row < args.rows;
             row += (uint64_t)gridDim.x * height) {
            vector<Real> to = a[row * vectors];
            if (step.before != 0) {
                const vector<Real> from = s[row * vectors];
#pragma unroll
                for (int i = 0; i < LENGTH; i++) {
                    const double sum =
                        fma(factors.of_a[i], (double)to.x[i], factors.of_s[i] * (double)from.x[i]);
                    to.x[i] = (Real)(!factors.inside[i] || (args.clip && sum < 0) ? 0 : sum);
                }
            }
            s[row * vectors] = to;
        }
    }
}

__global__ void __launch_bounds__(THREADS)
    extrapolated_gram_kernel(const double *raw, uint32_t rank, const double *norm_a,
                             const double *gram_a, double *norm_s, double *gram_s,
                             const momentum_step *step, const int *halt)
{
    const uint64_t e = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (e >= (uint64_t)rank * rank || *halt || step->now == 0)
        return;
    const uint64_t i = e / rank, j = e % rank;
    if (step->before == 0) {
        gram_s[e] = gram_a[e];
        if (i == j)
            norm_s[i] = norm_a[i];
        return;
    }
    const double norm_i = sqrt(raw[i * rank + i]), norm_j = sqrt(raw[j * rank + j]);
    /* symmetric, as in normalise_kernel */
    const double first = i < j ? norm_i : norm_j, second = i < j ? norm_j : norm_i;
    gram_s[e] = norm_i == 0 || norm_j == 0 ? 0.0 : raw[e] / first / second;
    if (i == j)
        norm_s[i] = norm_i;
}

template <typename Real>
cudaError_t extrapolate_launch(const dense_extrapolate_args &args, cudaStream_t stream)
{
    const uint32_t vectors = args.ld / vector<Real>::LENGTH;
    const uint64_t height = vectors < THREADS ? THREADS / vectors : 1;
    const uint64_t enough = (args.rows + height * ROWS - 1) / (height * ROWS);
    if (enough == 0)
        return cudaSuccess;
    extrapolate_kernel<Real>
        <<<(uint32_t)(enough < BLOCKS ? enough : BLOCKS), THREADS, 0, stream>>>(args);
    return cudaGetLastError();
}

} // namespace

extern "C" {

cudaError_t dense_momentum_decide(const struct dense_momentum_fit *fit, struct dense_momentum *m,
                                  double *kept, const int *halt, cudaStream_t stream)
{
    decide_kernel<<<1, THREADS, 0, stream>>>(*fit, m, kept, halt);
    return cudaGetLastError();
}

cudaError_t dense_extrapolate(const struct dense_extrapolate_args *args, enum precision precision,
                              cudaStream_t stream)
{
    return precision == PRECISION_SINGLE ? extrapolate_launch<float>(*args, stream)
                                         : extrapolate_launch<double>(*args, stream);
}

cudaError_t dense_extrapolated_gram(const double *raw, uint32_t rank, const double *norm_a,
                                    const double *gram_a, double *norm_s, double *gram_s,
                                    const struct momentum_step *step, const int *halt,
                                    cudaStream_t stream)
{
    const uint64_t entries = (uint64_t)rank * rank;
    extrapolated_gram_kernel<<<(uint32_t)((entries + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        raw, rank, norm_a, gram_a, norm_s, gram_s, step, halt);
    return cudaGetLastError();
}
}
