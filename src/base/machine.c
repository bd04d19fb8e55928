#include "base/machine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CORE_CACHE  (UINT64_C(1) << 20) /* bytes, where the system does not say */
#define THIRD_CACHE "/sys/devices/system/cpu/cpu0/cache/index3/"

uint64_t machine_memory_in_use(void)
{
    uint64_t used = system_number("/proc/self/status", "RssAnon:");
    return used == UINT64_MAX ? 0 : used * 1024;
}

uint64_t machine_core_cache(void)
{
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : CORE_CACHE;
}

/* sysconf counts the caches of all cores together on some processors. */
uint64_t machine_shared_cache(void)
{
    if (system_number(THIRD_CACHE "level", "") != 3)
        return 0;
    uint64_t kilobytes = system_number(THIRD_CACHE "size", "");
    return kilobytes == UINT64_MAX ? 0 : kilobytes * 1024;
}

/* getrusage() also counts what the process held that started this program, and the system's VmHWM
 * may fall by some pages. */
uint64_t machine_memory_peak(void)
{
    static _Atomic uint64_t peak;
    const uint64_t kilobytes = system_number("/proc/self/status", "VmHWM:");
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const uint64_t now = 1024 * (kilobytes == UINT64_MAX ? (uint64_t)usage.ru_maxrss : kilobytes);
    uint64_t before = peak;
    while (before < now && !atomic_compare_exchange_weak(&peak, &before, now)) {
    }
    return peak;
}

uint64_t system_number(const char *path, const char *key)
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
