#include "base/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CORE_CACHE (UINT64_C(1) << 20) /* bytes, where the system does not say */

/* The number behind `key` in a file of "key value" text lines, or the file's first number where key
 * is empty; UINT64_MAX where there is none (a control group without a limit says "max"). */
static uint64_t number_in_file(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return UINT64_MAX;
    uint64_t value = UINT64_MAX;
    char text[256];
    size_t length = strlen(key);
    while (value == UINT64_MAX && fgets(text, sizeof text, file)) {
        unsigned long long number;
        if (strncmp(text, key, length) == 0 && sscanf(text + length, "%llu", &number) == 1)
            value = number;
    }
    fclose(file);
    return value;
}

uint64_t machine_memory_available(void)
{
    uint64_t available = number_in_file("/proc/meminfo", "MemAvailable:");
    if (available != UINT64_MAX)
        available *= 1024;
    uint64_t limit = number_in_file("/sys/fs/cgroup/memory.max", "");
    uint64_t used = number_in_file("/sys/fs/cgroup/memory.current", "");
    if (limit != UINT64_MAX && used != UINT64_MAX) {
        uint64_t left = limit > used ? limit - used : 0;
        if (left < available)
            available = left;
    }
    return available;
}

uint64_t machine_memory_budget(uint64_t limit)
{
    return limit ? limit : (uint64_t)(MACHINE_MEMORY_SHARE * (double)machine_memory_available());
}

uint64_t machine_memory_in_use(void)
{
    uint64_t used = number_in_file("/proc/self/status", "RssAnon:");
    return used == UINT64_MAX ? 0 : used * 1024;
}

uint64_t machine_core_cache(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : CORE_CACHE;
}

uint64_t machine_memory_peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}
