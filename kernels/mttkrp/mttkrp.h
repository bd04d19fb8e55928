/* MTTKRP on the device: one kernel for every order, rank, ordering and conflict resolution, and the
 * steps before and after it. Implemented in mttkrp.cu and mttkrp_steps.cu. Device pointers only;
 * nothing of src/ is known here. */
#pragma once

#include "kernels/mttkrp/mttkrp_args.h"
#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Loads the kernel that mttkrp_launch would launch. Call it once before its first launch on the
 * calling thread's device. */
cudaError_t mttkrp_prepare(const struct mttkrp_args *args);

/* The lowest compute capability that this program has code for, as 90 for 9.0. Needs no device. */
int mttkrp_oldest_capability(void);

/* Adds (if ordered: stores) X_(n) times the Khatri-Rao product to M. Rows to which it adds must be
 * zero before. Asynchronous; returns the launch's error. */
cudaError_t mttkrp_launch(const struct mttkrp_args *args, cudaStream_t stream);

/* Sets the rows of M (I_n x vectors * 16 bytes) listed in row (count) to zero. Asynchronous. */
cudaError_t mttkrp_zero_rows(void *m, uint32_t vectors, const uint32_t *row, uint64_t count,
                             cudaStream_t stream);

/* M and its copies = 0, before launches that add to them. Asynchronous. */
cudaError_t mttkrp_zero(const struct mttkrp_args *args, cudaStream_t stream);

/* M = the sum of its copies, after the launches. Asynchronous. */
cudaError_t mttkrp_merge_copies(const struct mttkrp_args *args, cudaStream_t stream);

/* Row (i << b_bits | j) of the table = row i of A times row j of B, entry by entry; other rows do
 * not change. Asynchronous. */
cudaError_t mttkrp_khatri_rao(void *table, const void *a, uint64_t a_rows, const void *b,
                              uint64_t b_rows, int b_bits, uint32_t vectors,
                              enum precision precision, cudaStream_t stream);

/* Tuples of coordinates of `modes` modes, and the factor matrices of these modes. */
struct mttkrp_tuples {
    int modes;
    uint64_t count;
    const uint32_t *coordinate[MAX_ORDER]; /* (count) for each mode                        */
    const void *rows[MAX_ORDER];           /* (I_n x vectors * 16 bytes) for each mode     */
};

/* Row t of product (count x vectors * 16 bytes) = product over the modes n of row coordinate[n][t]
 * of rows[n]. Asynchronous. */
cudaError_t mttkrp_tuple_products(void *product, const struct mttkrp_tuples *tuples,
                                  uint32_t vectors, enum precision precision, cudaStream_t stream);

LAUNCHERS_END
