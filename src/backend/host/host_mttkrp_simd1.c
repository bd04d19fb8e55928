/* Any processor: tiles of one column. */
#define LANES 1
#include "mttkrp_kernel.h"
