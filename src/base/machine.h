/* What the machine has: memory, as far as this process may take it, and caches. */
#ifndef BLCO_MACHINE_H
#define BLCO_MACHINE_H

#include <stdint.h>

/* Bytes of memory that this process may still take: what the system calls available, or what the
 * control group's limit leaves, whichever is less. */
uint64_t machine_memory_available(void);

/* Share of machine_memory_available() used without --host-memory. */
#define MACHINE_MEMORY_SHARE 0.8

/* Bytes that this process holds in memory of its own now. */
uint64_t machine_memory_in_use(void);

/* Bytes of the largest cache that a processor core has to itself. */
uint64_t machine_core_cache(void);

/* Largest resident size of this process so far, in bytes. */
uint64_t machine_memory_peak(void);

#endif
