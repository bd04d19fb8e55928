/* A model that is spread over the ranks, each of which has some rows: arranges it, and brings the
 * rows to rank 0: all of them into one model, or those that rank 0 asks for, while it writes files.
 */
#pragma once

#include "model/ktensor_arrange.h"
#include "ranks/rank_rows.h"

/* A model of which each rank has rows; each row is brought by one rank (rank_rows_stored). */
struct model_rows {
    const struct ktensor *part;    /* the rows of this rank; borrowed */
    const struct rank_rows *ranks; /* borrowed */
    int mode;                      /* whose rows `block` is about; -1: none yet */
    struct model_block *block;     /* (blocks of the rows that this rank brings): owned */
    bool stored;                   /* rank 0's rows are where they go */
    /* Messages, where ranks do not share memory. A record is the number of a row, then the row. */
    uint64_t most;               /* records that rank 0 receives at a time */
    double *outgoing, *incoming; /* (most records at most), the latter rank 0's; owned */
    uint64_t *count;             /* (ranks): records that each rank sends; owned */
};

/* Every rank calls this. A rank then needs up to 64 MB for messages, or none where ranks are
 * threads of one process. The caller calls model_rows_close, after a failure too. STATUS_MEMORY,
 * the same on all ranks. */
enum status model_rows_open(struct model_rows *m, const struct ktensor *part,
                            const struct rank_rows *ranks, struct error *error);

/* As `bring` of struct ktensor_source, whose context is the struct model_rows. Rank 0 calls this;
 * the others are in model_rows_end. Errors of operations of struct comm. */
enum status model_rows_bring(void *rows, int n, uint64_t first, uint64_t count, double *to,
                             struct error *error);

/* Rank 0 calls this when it wants no more rows, even if it has failed; the others at once, and they
 * send rows until then. *error may have a failure of before, which stays. Errors of operations of
 * struct comm. */
enum status model_rows_end(struct model_rows *m, struct error *error);

/* Accepts a zeroed one. */
void model_rows_close(struct model_rows *m);

/* *whole, which is empty, gets room for the model on rank 0, and no rows on the others. Where ranks
 * are threads of one process, it is the same object on all of them. The caller frees *whole when
 * all ranks need it no more, after a failure too. Every rank calls this. STATUS_MEMORY, and
 * failures of other ranks. */
enum status model_whole_create(struct ktensor *whole, uint64_t rank, const struct rank_rows *ranks,
                               struct error *error);

/* Every rank calls this once it has stored its rows (rank_rows_stored) in *whole or, those of other
 * processes than rank 0, in *part, from where they go to *whole. *whole gets the weights and shares
 * of *part. STATUS_MEMORY, and failures of other ranks. */
enum status model_whole_complete(struct ktensor *whole, const struct ktensor *part,
                                 const struct rank_rows *ranks, struct error *error);

/* *whole = the model, on rank 0; on the other ranks it gets no rows. Where ranks are threads of one
 * process, *whole is the same object on all of them, and every rank copies its rows to it. *whole
 * is empty at first. The factor matrices of *part are freed one by one as soon as they are there;
 * *part must not be used afterwards. Every rank calls this. The caller frees *whole when all ranks
 * have returned; after a failure it can only be freed. STATUS_MEMORY, and failures of other ranks.
 */
enum status model_collect(struct ktensor *whole, struct ktensor *part,
                          const struct rank_rows *ranks, struct error *error);

/* ktensor_arrange for a model of which *part has this rank's rows; every rank of c calls this. Each
 * row of the model is among the `own` rows of exactly one rank; lambda is the same on all ranks,
 * before and after. Order and signs are those of ktensor_arrange for the whole model, norms agree
 * up to rounding. A rank that fails ends the others (comm_abort), and *part is unchanged on all.
 * STATUS_MEMORY, and failures of other ranks. */
enum status model_arrange_together(struct ktensor *part, const struct ktensor_rows *own,
                                   struct comm *c, struct error *error);

/* column[0..count), the statistics of this rank's own rows, become those of all rows of the model,
 * with the same bits on all ranks: a ktensor_combine, for callers that arrange the rows themselves.
 * Every rank of `comm`, a struct comm, calls it. STATUS_MEMORY, and failures of other ranks. */
enum status model_columns_together(void *comm, struct column *column, uint64_t count,
                                   struct error *error);
