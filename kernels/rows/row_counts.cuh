/* Improves a row of a model of counts (numerics/poisson_term.h), by a warp. The steps are those of
 * host_row_counts.c. */
#pragma once

#include "kernels/rows/row_solve.cuh"
#include "numerics/poisson_term.h"

template <int COLUMNS> struct row_improver : row_solver<COLUMNS> {
    using solver = row_solver<COLUMNS>;
    using solver::a, solver::d, solver::q, solver::entry, solver::p, solver::room, solver::PARTS;
    const row_common &common;
    const double least;   /* of the row's counts above 0 */
    double linear[PARTS]; /* the part of the gradient that does not depend on the row */

    __device__ __forceinline__ row_improver(const row_problem &problem, row_room<COLUMNS> &storage,
                                            const row_common &of_rows, double least_count)
        : solver(problem, storage), common(of_rows), least(least_count)
    {
        for (int k = 0; k < PARTS; k++) {
            const uint32_t r = entry(k);
            linear[k] = r < p.rank ? __ldg(common.linear + r) : 0;
            linear[k] += r < p.rank && p.rules.weighed ? room.q[r] : 0;
        }
    }

    /* The negative gradient. */
    __device__ __forceinline__ double downhill(int k) const
    {
        return entry(k) < p.rank ? room.b[entry(k)] - linear[k] : 0;
    }

    __device__ __forceinline__ double violation() const
    {
        double most = 0;
        for (int k = 0; k < PARTS; k++) {
            if (entry(k) >= p.rank)
                continue;
            const double unit = __ldg(common.unit + entry(k));
            most = fmax(most, fabs(fmin(a[k] / (unit * p.rules.count), -downhill(k) * unit)));
        }
        return warp_max(most);
    }

    /* d = the damped step. Returns what it surely gains; infinity where it is not damped. */
    __device__ __forceinline__ double newton()
    {
        double square = 0;
        for (int k = 0; k < PARTS; k++) {
            q[k] = downhill(k);
            d[k] = 0;
        }
        this->solve_nonneg(POISSON_PASSES, POISSON_SETTLED * POISSON_SETTLED * least,
                           {POISSON_KEEPS});
        for (int k = 0; k < PARTS; k++)
            square += d[k] * (downhill(k) - q[k]); /* d'Hd */
        square = warp_sum(square);
        const double length = sqrt((square > 0 ? square : 0) / least);
        if (length < POISSON_WHOLE)
            return INFINITY;
        for (int k = 0; k < PARTS; k++)
            d[k] /= 1 + length;
        return least * (length - log1p(length));
    }

    /* d becomes the multiplicative step, if that surely gains more. */
    __device__ __forceinline__ void multiply(double gain)
    {
        double step[PARTS], sum = 0;
        for (int k = 0; k < PARTS; k++) {
            const double b = entry(k) < p.rank ? room.b[entry(k)] : 0;
            const double factor = linear[k] > 0 ? b / linear[k] : 1;
            step[k] = a[k] * (factor - 1);
            sum += linear[k] * a[k] * (factor > 0 ? factor * log(factor) - (factor - 1) : 1);
        }
        sum = warp_sum(sum);
        for (int k = 0; k < PARTS; k++)
            d[k] = sum <= gain ? d[k] : step[k];
    }

    /* What the row is multiplied by before its diagonal step. */
    __device__ __forceinline__ double scale() const
    {
        double counts = 0, mass = 0;
        for (int k = 0; k < PARTS; k++) {
            counts += entry(k) < p.rank ? room.b[entry(k)] * a[k] : 0;
            mass += linear[k] * a[k];
        }
        return poisson_row_scale(warp_sum(counts), warp_sum(mass));
    }

    /* a is multiplied, and d = the damped diagonal step. */
    __device__ __forceinline__ void diagonal()
    {
        const double times = scale(), inverse = 1 / times;
        double slope = 0;
        for (int k = 0; k < PARTS; k++) {
            const uint32_t r = entry(k);
            const double h = r < p.rank ? this->entry_of_h(r, r) : 0;
            const double down = r < p.rank ? room.b[r] * inverse - linear[k] : 0;
            a[k] *= times;
            d[k] = poisson_diagonal(down, times * times / h, a[k]);
            slope += down * d[k];
        }
        slope = warp_sum(slope);
        const double square = this->quadratic();
        const double part =
            poisson_diagonal_part(slope, (square > 0 ? square : 0) * inverse * inverse, least);
        for (int k = 0; k < PARTS; k++)
            d[k] *= part;
    }

    /* a becomes a better row; a short one takes the diagonal step instead of Newton's. */
    __device__ __forceinline__ void improve(bool is_short)
    {
        double gain = INFINITY;
        if (is_short)
            diagonal();
        else
            gain = newton();
        if (gain < INFINITY)
            multiply(gain);
        for (int k = 0; k < PARTS; k++)
            a[k] += d[k];
    }
};
