/* What the machine has: memory, as far as this process may take it, and caches. */
#ifndef BLCO_MACHINE_H
#define BLCO_MACHINE_H

#include <stdint.h>

/* Bytes of memory that this process may still take: what the system calls available, or what the
 * limits of memory_limits.h leave, whichever is less; UINT64_MAX where neither is known. */
uint64_t machine_memory_available(void);

/* Share of machine_memory_available(), and of what this process has taken of it, used without
 * --host-memory. */
#define MACHINE_MEMORY_SHARE 0.8

/* Bytes of memory that this process may have in all, what it has now included: `limit`, or where
 * `limit` is 0, MACHINE_MEMORY_SHARE of what it has and of what is available. */
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
