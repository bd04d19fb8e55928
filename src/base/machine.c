#include "base/machine.h"

#include <math.h>
#include <mntent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/least.h"

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

#define PATH    4096                /* characters of a path            */
#define ENDLESS (UINT64_C(1) << 62) /* bytes: version 1 says "no limit" with a number above */
#define MOUNTS  "/proc/self/mountinfo"
#define GROUPS  "/proc/self/cgroup"

/* How a version of control groups names what a group has. */
struct version {
    const char *type;         /* of the file system in MOUNTS                                   */
    const char *controller;   /* in GROUPS and among the file system's options; "" in version 2 */
    const char *limit[2];     /* files */
    const char *use;          /* file  */
    const char *limit_around; /* in memory.stat: the least limit of this group and those around */
    const char *cache[3];     /* in memory.stat: what the system can take back                  */
};

static const struct version versions[] = {
    {"cgroup2",
     "",
     {"memory.max", "memory.high"},
     "memory.current",
     NULL,
     {"inactive_file ", "active_file ", "slab_reclaimable "}},
    {"cgroup",
     "memory",
     {"memory.limit_in_bytes"},
     "memory.usage_in_bytes",
     "hierarchical_memory_limit ",
     {"total_inactive_file ", "total_active_file "}},
};

/* Whether `word` stands in a list of words with commas between them. */
static bool has_word(char *list, const char *word)
{
    const struct mntent mount = {.mnt_opts = list};
    return hasmntopt(&mount, word);
}

static FILE *open_below(const char *root, const char *path)
{
    char whole[PATH];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    return fopen(whole, "r");
}

/* The group of this process, as "/a/b": a text line of GROUPS is "4:memory:/a/b" or "0::/a/b". */
static bool find_group(const char *root, const struct version *v, char *group)
{
    char text[PATH];
    bool found = false;
    FILE *file = open_below(root, GROUPS);
    while (file && !found && fgets(text, sizeof text, file)) {
        char *controllers = strchr(text, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        found = *path == '/' && has_word(controllers + 1, v->controller);
        if (found)
            memcpy(group, path, strlen(path) + 1);
    }
    if (file)
        fclose(file);
    return found;
}

/* Where the groups of this version are mounted, and which group stands there: a text line of MOUNTS
 * is "35 31 0:32 /group /mount/point rw shared:9 - cgroup cgroup rw,memory". */
static bool find_mount(const char *root, const struct version *v, char *top, char *mount)
{
    char text[2 * PATH], type[64], options[1024];
    bool found = false;
    FILE *file = open_below(root, MOUNTS);
    while (file && !found && fgets(text, sizeof text, file)) {
        const char *about = strstr(text, " - ");
        found = about && sscanf(about, " - %63s %*s %1023s", type, options) == 2 &&
                strcmp(type, v->type) == 0 &&
                (!*v->controller || has_word(options, v->controller)) &&
                sscanf(text, "%*s %*s %*s %4095s %4095s", top, mount) == 2;
    }
    if (file)
        fclose(file);
    return found;
}

static uint64_t number_of(const char *folder, const char *name, const char *key)
{
    char path[PATH];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length < (int)sizeof path ? system_number(path, key) : UINT64_MAX;
}

/* Bytes that the limits of the group of this folder leave. */
static uint64_t left_in(const char *folder, const struct version *v)
{
    uint64_t limit = UINT64_MAX, cache = 0;
    for (int i = 0; i < 2 && v->limit[i]; i++)
        limit = least_of(limit, number_of(folder, v->limit[i], ""));
    if (v->limit_around)
        limit = least_of(limit, number_of(folder, "memory.stat", v->limit_around));
    if (limit >= ENDLESS)
        return UINT64_MAX;
    uint64_t use = number_of(folder, v->use, "");
    if (use == UINT64_MAX)
        return limit;
    for (int i = 0; i < 3 && v->cache[i]; i++) {
        uint64_t bytes = number_of(folder, "memory.stat", v->cache[i]);
        cache += bytes < ENDLESS ? least_of(bytes, use - cache) : 0;
    }
    return limit > use - cache ? limit - (use - cache) : 0;
}

uint64_t memory_limits_groups(const char *root)
{
    uint64_t left = UINT64_MAX;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        const struct version *v = &versions[i];
        char group[PATH], top[PATH], mount[PATH], folder[3 * PATH];
        if (!find_group(root, v, group) || !find_mount(root, v, top, mount))
            continue;
        /* The part of the group below the one that is mounted: "" where it is that one, or outside.
         */
        const size_t highest = strlen(root) + strlen(mount);
        const size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);
        const bool inside = strncmp(group, top, length) == 0 &&
                            (group[length] == '/' || group[length] == '\0') &&
                            !strstr(group, "/..") && strcmp(group, "/") != 0;
        snprintf(folder, sizeof folder, "%s%s%s", root, mount, inside ? group + length : "");
        left = least_of(left, left_in(folder, v));
        while (strlen(folder) > highest) {
            *strrchr(folder, '/') = '\0';
            /* In version 1, a group may leave the groups within it alone. */
            if (number_of(folder, "memory.use_hierarchy", "") != 0)
                left = least_of(left, left_in(folder, v));
        }
    }
    return left;
}

/* `key` names what counts for the limit, in kB. */
static uint64_t left_of(const struct rlimit *limit, const char *key)
{
    if (limit->rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    uint64_t used = system_number("/proc/self/status", key);
    used = (used == UINT64_MAX ? 0 : used * 1024) + MEMORY_LIMITS_LIBRARIES;
    return limit->rlim_cur > used ? limit->rlim_cur - used : 0;
}

uint64_t memory_limits_process(void)
{
    struct rlimit addresses = {RLIM_INFINITY, RLIM_INFINITY}, data = addresses;
    (void)getrlimit(RLIMIT_AS, &addresses);
    (void)getrlimit(RLIMIT_DATA, &data);
    return least_of(left_of(&addresses, "VmSize:"), left_of(&data, "VmData:"));
}

uint64_t machine_memory_available(void)
{
    uint64_t available = system_number("/proc/meminfo", "MemAvailable:");
    if (available != UINT64_MAX)
        available *= 1024;
    return least_of(available, least_of(memory_limits_groups(""), memory_limits_process()));
}

uint64_t machine_memory_budget(uint64_t limit)
{
    double had = (double)machine_memory_available() + (double)machine_memory_in_use();
    return limit ? limit : (uint64_t)fmin(MACHINE_MEMORY_FRACTION * had, (double)(UINT64_MAX / 2));
}
