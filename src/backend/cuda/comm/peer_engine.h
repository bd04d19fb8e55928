/* Collective operations of GPUs of one process that see each other's memory: each GPU reads what it
 * needs from the others' arrays, and adds in the order of the ranks. Streams wait for each other by
 * events; the ranks, which are threads, meet on the host only to know that these are recorded.
 * Connecting takes milliseconds. */
#ifndef BLCO_PEER_ENGINE_H
#define BLCO_PEER_ENGINE_H

#include "backend/cuda/comm/device_engine.h"

/* Whether this rank's GPU sees the memory of all others, within one process. False for too many
 * ranks, and where the variable NCCL_P2P_DISABLE is 1, by which machines are told from which GPUs
 * cannot be read although they say so. */
bool peer_engine_serves(const struct device_places *places);

extern const struct device_engine peer_engine;

#endif
