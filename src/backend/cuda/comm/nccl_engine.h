/* Collective operations by NCCL, between GPUs of one process or of several. Connecting takes half a
 * second. */
#ifndef BLCO_NCCL_ENGINE_H
#define BLCO_NCCL_ENGINE_H

#include "backend/cuda/comm/device_engine.h"

extern const struct device_engine nccl_engine;

#endif
