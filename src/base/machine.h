/* Memory that this process may take, and sizes of caches, as the system reports them. */
#pragma once

#include <stdint.h>

/* Bytes of memory that this process may still take: the memory that the system calls available, or
 * less if the limits below leave less; UINT64_MAX if neither is known. */
uint64_t machine_memory_available(void);

/* Without --host-memory, this fraction of the memory that is available or already taken is used. */
#define MACHINE_MEMORY_FRACTION 0.8

/* Bytes of memory that this process may use in all: `limit`, or if that is 0,
 * MACHINE_MEMORY_FRACTION of the memory that it has taken and that is available. */
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

/* Bytes that the control groups of this process leave to it: the least that its group, or any
 * visible group around that one, leaves below its limit. Page cache that the system can take back
 * counts as free. Both versions of control groups are read ("Control Group v2" and "Memory Resource
 * Controller" in the documentation of Linux). UINT64_MAX without a limit. `root` stands before the
 * path of every file: "" for this machine, a folder in tests. */
uint64_t memory_limits_groups(const char *root);

/* Bytes that RLIMIT_AS (ulimit -v) and RLIMIT_DATA (ulimit -d) leave, less MEMORY_LIMITS_LIBRARIES;
 * UINT64_MAX without a limit. */
uint64_t memory_limits_process(void);

/* Bytes that libraries which are loaded later, their buffers and the stacks of threads may take. */
#define MEMORY_LIMITS_LIBRARIES (UINT64_C(256) << 20)

/* The number after `key` in a file of "key value" text lines, or the file's first number where key
 * is empty; UINT64_MAX where there is none, as in a missing file or before the word "max". */
uint64_t system_number(const char *path, const char *key);
