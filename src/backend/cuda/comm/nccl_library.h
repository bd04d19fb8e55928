/* NCCL, NVIDIA's collective operations between GPUs, loaded when several GPUs are asked for and
 * never before: a program without NCCL at hand builds and runs. What is declared here is the part
 * of NCCL's interface that blco uses, as every NCCL 2 has had it since version 2.4 (NCCL
 * documentation, "NCCL API"). */
#ifndef BLCO_NCCL_LIBRARY_H
#define BLCO_NCCL_LIBRARY_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "base/error.h"

typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef int ncclResult_t; /* 0: done */

enum { NCCL_FLOAT = 7, NCCL_DOUBLE = 8 }; /* ncclDataType_t */
enum { NCCL_SUM = 0, NCCL_MAX = 2 };      /* ncclRedOp_t    */

struct nccl_library {
    ncclResult_t (*ncclGetUniqueId)(ncclUniqueId *id);
    ncclResult_t (*ncclCommInitRank)(ncclComm_t *comm, int size, ncclUniqueId id, int rank);
    ncclResult_t (*ncclCommDestroy)(ncclComm_t comm);
    ncclResult_t (*ncclCommAbort)(ncclComm_t comm);
    ncclResult_t (*ncclCommGetAsyncError)(ncclComm_t comm, ncclResult_t *error);
    ncclResult_t (*ncclReduceScatter)(const void *send, void *receive, size_t count, int type,
                                      int op, ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*ncclAllGather)(const void *send, void *receive, size_t count, int type,
                                  ncclComm_t comm, cudaStream_t stream);
    ncclResult_t (*ncclAllReduce)(const void *send, void *receive, size_t count, int type, int op,
                                  ncclComm_t comm, cudaStream_t stream);
    const char *(*ncclGetErrorString)(ncclResult_t result);
    const char *(*ncclGetLastError)(ncclComm_t comm);
};

/* The functions of libnccl.so.2, loaded by the first call; for all threads, to the end of the
 * program. NULL with STATUS_INPUT where NCCL cannot be loaded. */
const struct nccl_library *nccl_library(struct error *error);

/* STATUS_OK, or STATUS_INTERNAL with NCCL's reason, "what: ...". comm may be NULL. */
enum status nccl_status(ncclResult_t result, ncclComm_t comm, const char *what,
                        struct error *error);

#endif
