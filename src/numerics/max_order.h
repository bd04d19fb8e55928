/* The largest number of modes of a tensor, on the host and on the device. */
#pragma once

#define MAX_ORDER 16
