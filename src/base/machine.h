/* What the machine has: memory, as far as this process may take it, and caches; and the text files
 * in which the system says so. Implemented in machine.c, and memory_limits.c: the limits of memory
 * that others have set for this process, control groups and resource limits. */
#ifndef BLCO_MACHINE_H
#define BLCO_MACHINE_H

#include <stdint.h>

/* Bytes of memory that this process may still take: what the system calls available, or what the
 * limits below leave, whichever is less; UINT64_MAX where neither is known. */
uint64_t machine_memory_available(void);

/* The fraction of machine_memory_available(), and of what this process has taken of it, that is
 * used without
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

/* Bytes that the control groups of this process leave to it: of the group and of all groups around
 * it, as far as they can be seen, the least of what is below the limit. Page cache that the system
 * can take back counts as free. Both versions of control groups are read ("Control Group v2" and
 * "Memory Resource Controller" in the documentation of Linux). UINT64_MAX without a limit. `root`
 * stands before the path of every file: "" for this machine, a folder in tests. */
uint64_t memory_limits_groups(const char *root);

/* Bytes that RLIMIT_AS (ulimit -v) and RLIMIT_DATA (ulimit -d) leave, less MEMORY_LIMITS_LIBRARIES;
 * UINT64_MAX without a limit. */
uint64_t memory_limits_process(void);

/* Bytes that libraries which are loaded later, their buffers and the stacks of threads may take. */
#define MEMORY_LIMITS_LIBRARIES (UINT64_C(256) << 20)

/* The number after `key` in a file of "key value" text lines, or the file's first number where key
 * is empty; UINT64_MAX where there is none, as in a missing file or before the word "max". */
uint64_t system_number(const char *path, const char *key);

#endif
