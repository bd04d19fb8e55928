/* The largest number of modes of a tensor, on the host and on the device. */
#ifndef BLCO_MAX_ORDER_H
#define BLCO_MAX_ORDER_H

#define MAX_ORDER 16

#endif
