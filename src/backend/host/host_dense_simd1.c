/* Any processor: tiles of one column. */
#define LANES 1
#include "dense_kernel.h"
