/* Limits of memory that others have set for this process: control groups and resource limits. */
#ifndef BLCO_MEMORY_LIMITS_H
#define BLCO_MEMORY_LIMITS_H

#include <stdint.h>

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

#endif
