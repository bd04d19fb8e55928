/* MTTKRP of one mode on the device, by the fastest of several variants of the kernel. Every variant
 * computes the same M: the first iterations try one variant each, and later iterations keep the
 * fastest (ScalFrag's adaptive launch, measured instead of learned). Implemented in
 * device_mttkrp.c, and for tensors in a tiled ordering in device_tiles.c. */
#pragma once

#include "backend/cuda/mttkrp/device_factors.h"
#include "backend/cuda/tensor/device_tensor.h"
#include "kernels/mttkrp/tiles.h"
#include "plan/conflict.h"

/* MTTKRP of one mode with rows of one or two other modes' factor matrices in shared memory, tile by
 * tile (kernels/mttkrp/tiles.h), from a tensor in a tiled ordering, whose blocks are the tiles. M
 * has the same bits each time. */
struct device_tiles {
    const struct device_tensor *tensor; /* borrowed                                          */
    int mode;                           /* of M                                              */
    uint32_t vectors;                   /* in the rows that *args is for; 0: for none yet    */
    struct tiles_args args; /* all arrays: device, owned; M and the gathers are set by each run */
};

/* Makes *t ready for rows of so many vectors; waits for the pool's stream. STATUS_MEMORY leaves *t
 * ready for none. */
enum status device_tiles_prepare(struct device_tiles *t, uint32_t vectors,
                                 const struct device_pool *pool, struct error *error);

/* f->m = X_(mode) (Khatri-Rao product of the other factors). *t is ready for f->vectors.
 * Asynchronous. */
enum status device_tiles_run(const struct device_tiles *t, const struct device_factors *f,
                             cudaStream_t stream, struct error *error);

/* Writes the rows of a tile and the tiled modes into text: "tiles of 512 rows of mode 3". */
void device_tiles_describe(const struct device_tiles *t, char *text, size_t size);

/* Frees the arrays; only when no work on the device uses them any more. Accepts an empty one. */
void device_tiles_free(struct device_tiles *t);

struct device_mttkrp_variant {
    bool tiled; /* by device_mttkrp.tiles; the members below are for the others */
    enum mttkrp_path path;
    int table; /* of chunks, in struct device_tensor                                  */
    int fused; /* 1: two neighbouring gathers are one, from their Khatri-Rao product  */
};

#define DEVICE_MTTKRP_VARIANTS (2 * DEVICE_CHUNK_TABLES)

struct device_mttkrp {
    int mode;
    enum conflict conflict;
    const struct device_tensor *tensor;
    const struct device_pool *pool; /* borrowed; for the tiles                                  */
    struct device_tiles tiles; /* of a tensor in a tiled ordering, which has no other variant */
    int gather[MAX_ORDER]; /* the other modes, the mode in the index's lowest bits last         */
    int fused;             /* gathers `fused` and `fused + 1` can be fused; -1: none             */
    uint32_t *unshared;    /* (UNSHARED_ROWS_WORDS(I_n)) of chunks.h, or NULL; device, owned */
    struct device_mttkrp_variant variant[DEVICE_MTTKRP_VARIANTS];
    int variants;
    int calls; /* of device_mttkrp_run so far                                       */
    int best;  /* variant                                                           */
    double best_seconds;
    int timed;               /* variant between the events start and stop, or -1                  */
    cudaEvent_t start, stop; /* owned */
};

/* Rows of the largest Khatri-Rao table that a variant of this mode would use; 0 for none. */
uint64_t device_mttkrp_table_rows(const struct device_mttkrp *w);

/* Prepares a mode; `tensor` and `pool` are borrowed and must outlive *w. Waits for the pool's
 * stream if the rows of one chunk are worth finding. The caller closes *w, also after a failure. */
enum status device_mttkrp_open(struct device_mttkrp *w, const struct device_tensor *tensor,
                               int mode, enum conflict conflict, const struct device_pool *pool,
                               struct error *error);
void device_mttkrp_close(struct device_mttkrp *w);

/* Tries every variant again in the next calls. */
void device_mttkrp_retry(struct device_mttkrp *w);

/* f->m = X_(mode) (Khatri-Rao product of the other factors). Asynchronous, but while variants are
 * left to try it waits for the previous trial. */
enum status device_mttkrp_run(struct device_mttkrp *w, const struct device_factors *f,
                              cudaStream_t stream, struct error *error);

/* The same with one variant, untimed. */
enum status device_mttkrp_run_variant(struct device_mttkrp *w, int variant,
                                      const struct device_factors *f, cudaStream_t stream,
                                      struct error *error);

/* For MTTKRP in memory and streamed: sets the arguments that depend on no nonzeros: `gathers` for
 * all other modes (but not the gathers themselves), M and its copies. */
void device_mttkrp_output(struct mttkrp_args *args, int mode, enum conflict conflict,
                          const struct device_factors *f);

/* Whether every variant has been tried, and the fastest is kept from now on. */
bool device_mttkrp_tried(const struct device_mttkrp *w);

/* Writes the variant's kind and the nonzeros of a chunk into text: "fused x2048". */
void device_mttkrp_describe(const struct device_mttkrp *w, int variant, char *text, size_t size);
