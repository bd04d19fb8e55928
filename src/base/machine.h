/* What the machine has: memory, as far as this process may take it, and caches. */
#ifndef BLCO_MACHINE_H
#define BLCO_MACHINE_H

#include <stdint.h>

/* Bytes of memory that this process may still take: what the system calls available, or what the
 * limits of memory_limits.h leave, whichever is less; UINT64_MAX where neither is known. */
uint64_t machine_memory_available(void);

/* Share of machine_memory_available() used without --host-memory. */
#define MACHINE_MEMORY_SHARE 0.8

/* Bytes of memory that may be used: `limit`, or MACHINE_MEMORY_SHARE of what is available where
 * `limit` is 0. */
uint64_t machine_memory_budget(uint64_t limit);

/* Bytes that this process holds in memory now, without mapped files; 0 where the system does not
 * say. */
uint64_t machine_memory_in_use(void);

/* Bytes of the largest cache that a processor core has to itself (its second level); 1 MiB where
 * the system does not say. */
uint64_t machine_core_cache(void);

/* Bytes of the cache that the first processor core shares with others (its third level); 0 where
 * the system does not say. */
uint64_t machine_shared_cache(void);

/* Largest number of bytes of memory that this process has held so far, mapped files included. */
uint64_t machine_memory_peak(void);

#endif
