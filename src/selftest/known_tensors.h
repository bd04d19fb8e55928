/* Small tensors of which the answers are known. The caller frees each with coo_free; it is empty on
 * failure. Errors: STATUS_MEMORY. */
#pragma once

#include "model/ktensor.h"
#include "tensor/coo.h"

/* The product of two n x n matrices, C_ij = sum_k A_ik B_kj: n^3 ones in n^2 x n^2 x n^2. */
enum status known_multiplication(struct coo *x, uint32_t n, struct error *error);

/* The numbers length, length - 1, ..., 1 on the superdiagonal of three modes of this length. */
enum status known_superdiagonal(struct coo *x, uint32_t length, struct error *error);

/* Applicants to six departments of the University of California, Berkeley, in 1973: admitted or
 * rejected, male or female, department (P. J. Bickel et al.: Sex bias in graduate admissions,
 * Science 187, 1975). */
enum status known_admissions(struct coo *x, struct error *error);

/* The tensor that the model k stands for: all places where it is not zero. */
enum status known_planted(struct coo *x, const struct ktensor *k, struct error *error);

/* A tensor of `nnz` nonzeros, or fewer where random coordinates coincide: distinct coordinates in
 * random order, skewed towards low indices where `skewed`; values in [-1, 1) without zero. */
enum status known_scattered(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed,
                            int skewed, struct error *error);

/* The model of rank 7 for the product of two 2 x 2 matrices (V. Strassen: Gaussian elimination is
 * not optimal, Numerische Mathematik 13, 1969), in place of the 4 x 7 factor matrices of k. */
void known_strassen(struct ktensor *k);

/* The oracle of self-test and tests: MTTKRP and fit straight from their definitions, in long
 * double, one nonzero after the other. */

/* m (I_mode x R, row-major) = X_(mode) (Khatri-Rao product of the other modes' factors). */
void naive_mttkrp(const struct coo *x, const struct ktensor *k, int mode, long double *m);

/* 1 - ||X - model|| / ||X||, from the nonzeros and the Grams, in long double. */
long double naive_fit(const struct coo *x, const struct ktensor *k);

/* ||A - B|| / ||B|| of a (n) and b (n), or ||A|| where B is zero. */
long double naive_relative_error(const double *a, const long double *b, uint64_t n);
