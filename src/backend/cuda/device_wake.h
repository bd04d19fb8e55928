/* Whether there is a GPU; and its first use, which takes some tenths of a second. */
#ifndef BLCO_DEVICE_WAKE_H
#define BLCO_DEVICE_WAKE_H

#include <stdatomic.h>

#include "base/error.h"

/* As `available` in struct backend_kind: no context is made. */
enum status device_available(struct error *error);

/* As `wake` there: makes the GPU's context and loads the first kernel, in two steps. */
enum status device_wake(int device, const atomic_bool *unwanted, struct error *error);

#endif
