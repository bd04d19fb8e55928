/* MTTKRP of one mode on the device: which variants of the kernel could compute it, and which one is
 * the fastest. Every variant computes the same M, so the first iterations try one after the other
 * and the rest of the run keeps the best (ScalFrag's adaptive launch, measured instead of learned).
 */
#ifndef BLCO_DEVICE_MTTKRP_H
#define BLCO_DEVICE_MTTKRP_H

#include "backend/cuda/tensor/device_tensor.h"
#include "plan/conflict.h"

/* What the kernels read and write beside the tensor; all pointers are to device memory. */
struct device_factors {
    struct shape shape;
    int single;              /* entries are float instead of double                     */
    uint32_t vectors;        /* 16-byte vectors in a row of every matrix                */
    void *factor[MAX_ORDER]; /* (I_n x vectors * 16 bytes)                             */
    void *m;                 /* (copies x longest I_n x vectors * 16 bytes)             */
    uint32_t copies;         /* of M that there is room for                             */
    void *table;             /* (table_rows x vectors * 16 bytes): Khatri-Rao products  */
    uint64_t table_rows;
};

struct device_mttkrp_variant {
    enum mttkrp_path path;
    int table; /* chunk table                                                         */
    int fused; /* 1: two neighbouring gathers are one, from their Khatri-Rao product  */
};

#define DEVICE_MTTKRP_VARIANTS (2 * DEVICE_CHUNK_TABLES)

struct device_mttkrp {
    int mode;
    enum conflict conflict;
    const struct device_tensor *tensor;
    int gather[MAX_ORDER]; /* the other modes, the one in the index's lowest bits last          */
    int fused;             /* gathers `fused` and `fused + 1` can be fused; -1: none             */
    uint32_t *unshared; /* bitmap of the mode's rows, see unshared_rows.h; NULL: not known; device,
                           owned */
    struct device_mttkrp_variant variant[DEVICE_MTTKRP_VARIANTS];
    int variants;
    int calls; /* so far                                                            */
    int best;  /* variant                                                           */
    float best_ms;
    int timed; /* variant between the events, or -1                                 */
    cudaEvent_t start, stop;
};

/* Rows of the largest Khatri-Rao table that a variant of this mode would use; 0 for none. */
uint64_t device_mttkrp_table_rows(const struct device_mttkrp *w);

/* Prepares a mode; `tensor` stays the caller's and must outlive *w. Waits for `stream`, which it
 * uses where rows of one chunk are worth finding. */
enum status device_mttkrp_open(struct device_mttkrp *w, const struct device_tensor *tensor,
                               int mode, enum conflict conflict, cudaStream_t stream,
                               struct error *error);
void device_mttkrp_close(struct device_mttkrp *w);

/* M = X_(mode) (Khatri-Rao product of the other factors). Asynchronous. While variants are left to
 * try, waits for the trial before. */
enum status device_mttkrp_run(struct device_mttkrp *w, const struct device_factors *f,
                              cudaStream_t stream, struct error *error);

/* Computes with one variant, untimed. */
enum status device_mttkrp_run_variant(struct device_mttkrp *w, int variant,
                                      const struct device_factors *f, cudaStream_t stream,
                                      struct error *error);

/* What every way to compute a mode shares, in memory or streamed. First the arguments that do not
 * depend on the nonzeros (`gathers` of all other modes, M, its copies), but for the gathers'
 * tables; then M and its copies set to zero, launches that add to them, and the copies merged into
 * M. */
void device_mttkrp_output(struct mttkrp_args *args, int mode, enum conflict conflict,
                          const struct device_factors *f);
cudaError_t device_mttkrp_zero(const struct mttkrp_args *args, cudaStream_t stream);
cudaError_t device_mttkrp_merge(const struct mttkrp_args *args, cudaStream_t stream);

/* Whether every variant has been tried and the fastest is kept from now on. */
bool device_mttkrp_settled(const struct device_mttkrp *w);

/* "fused x2048", kind and nonzeros of a chunk, into text. */
void device_mttkrp_describe(const struct device_mttkrp *w, int variant, char *text, size_t size);

#endif
