/* Which GPU this is, and what drives it. */
#ifndef BLCO_DEVICE_INFO_H
#define BLCO_DEVICE_INFO_H

#include "backend/backend.h"

/* The present device. STATUS_INTERNAL where it does not answer. */
enum status device_info(struct backend_device *device, struct error *error);

#endif
