/* What all rows of an update need, and which kernel computes them. */
#include "kernels/dense/dense_nonneg.h"

#include <cfloat>

#include "kernels/dense/dense_modes.cuh"
#include "numerics/nonneg.h"

namespace
{

/* V(r,r). */
__device__ double diagonal_of(const dense_modes &modes, double ridge, uint64_t r)
{
    return hadamard(modes, r * modes.rank + r, false) + ridge;
}

__global__ void prepare_kernel(const dense_modes modes, double ridge, const double *lambda,
                               const nonneg_floor limits, double rows, uint32_t width,
                               double *system, const int *halt)
{
    const uint64_t e = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= (uint64_t)width * width || (halt && *halt))
        return;
    const uint64_t rank = modes.rank, r = e / width, s = e % width;
    const bool inside = r < rank && s < rank;
    const double diagonal = r < rank ? diagonal_of(modes, ridge, r) : 0;
    const double inverse = diagonal < DBL_MIN ? 0 : 1 / diagonal; /* a NaN stays */
    system[e] = inside && r != s ? hadamard(modes, r * rank + s, false) * inverse : 0;
    if (r != s)
        return;
    double *behind = system + (uint64_t)width * width + r;
    const double norm = inside ? modes.norm[modes.mode][r] : 1;
    const double weight = inside ? lambda[r] : 0;
    const double of_m = inside ? scale(modes, (uint32_t)r) : 0;
    behind[SCALE_OF_M * width] = of_m * limits.lowest > 1 ? 0 : of_m * inverse; /* a NaN stays */
    behind[SCALE_OF_A * width] = weight / (norm != 0 ? norm : 1);
    behind[DIAGONAL * width] = diagonal;
    double largest = 0; /* max over s of lambda_s sqrt(V(s,s)) */
    for (uint32_t k = 0; k < modes.rank; k++)
        largest = fmax(largest, fabs(lambda[k]) * sqrt(diagonal_of(modes, ridge, k)));
    const double least = limits.lost * largest / sqrt(diagonal);
    behind[LEAST * width] =
        inverse == 0 ? 0 : limits.floor / sqrt(rows) * fmax(fabs(weight), least);
}

} // namespace

uint64_t dense_nonneg_system_size(uint32_t rank)
{
    const uint64_t width = nonneg_width(rank);
    return width * width + ROWS_BEHIND * width;
}

cudaError_t dense_nonneg_prepare(const struct dense_modes *modes, double ridge,
                                 const double *lambda, uint64_t rows, enum precision precision,
                                 double *system, const int *halt, cudaStream_t stream)
{
    const nonneg_floor limits =
        precision == PRECISION_SINGLE ? nonneg_floor_single : nonneg_floor_double;
    const uint32_t width = nonneg_width(modes->rank);
    return launch_kernel(prepare_kernel, thread_blocks((uint64_t)width * width, 256), 256, stream,
                         *modes, ridge, lambda, limits, (double)rows, width, system, halt);
}

int dense_nonneg_sums(uint32_t rank)
{
    return nonneg_width(rank) <= NONNEG_SUMS_WIDTH;
}

cudaError_t dense_nonneg(const struct dense_nonneg_args *args, enum precision precision,
                         const struct dense_streams *streams)
{
    return args->rank <= NONNEG_TILE_RANK ? dense_nonneg_tiles(args, precision, streams)
                                          : dense_nonneg_wide(args, precision, streams->pass);
}
