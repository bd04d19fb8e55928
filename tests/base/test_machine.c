#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/machine.h"
#include "base/memory.h"
#include "support/sanitized.h"

#define SIZE ((size_t)64 << 20)

static char *touched_array(void)
{
    struct error error = {0};
    char *array = memory_array(SIZE, 1, &error);
    assert_non_null(array);
    memset(array, 1, SIZE);
    assert_true(array[SIZE / 2] == 1);
    return array;
}

/* No more than the machine has, and no less than this test takes. */
static void test_available(void **state)
{
    (void)state;
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(machine_memory_available() > (1 << 20));
    assert_true(machine_memory_available() <= all);
    assert_true(MACHINE_MEMORY_FRACTION > 0 && MACHINE_MEMORY_FRACTION < 1);
    assert_int_equal(machine_memory_budget(12345), 12345);
    assert_true(machine_memory_budget(0) > 0 && machine_memory_budget(0) < all);
}

static void test_peak_and_use(void **state)
{
    (void)state;
    assert_true(machine_memory_peak() > 0);
    char *array = touched_array();
    assert_true(machine_memory_peak() >= SIZE);
    assert_true(machine_memory_in_use() >= SIZE &&
                machine_memory_in_use() <= machine_memory_peak());
    memory_free(array);
}

/* What is freed is no longer in use, but stays in the peak. */
static void test_use_falls(void **state)
{
    (void)state;
    char *array = touched_array();
    uint64_t used = machine_memory_in_use(), peak = machine_memory_peak();
    memory_free(array);
    if (!SANITIZED)
        assert_true(machine_memory_in_use() < used - SIZE / 2);
    assert_true(machine_memory_peak() >= peak);
}

static void test_core_cache(void **state)
{
    (void)state;
    assert_in_range(machine_core_cache(), 1 << 14, 1 << 28);
    assert_int_equal(machine_core_cache(), machine_core_cache());
}

static void test_shared_cache(void **state)
{
    (void)state;
    uint64_t bytes = machine_shared_cache();
    assert_true(bytes == 0 || bytes >= machine_core_cache());
    assert_true(bytes <= UINT64_C(1) << 36 && bytes % 1024 == 0);
}

/* ---  --- */

#define MB       (UINT64_C(1) << 20)
#define NO_LIMIT "9223372036854771712\n" /* as version 1 says it */
#define V2_MOUNT "29 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                                  \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"                         \
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n"

static char root[] = "/tmp/memory_limits_XXXXXX";

/* Writes a file below the root folder; makes the folders on its path. */
static void put(const char *path, const char *text)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *at = strchr(whole + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A number of MB as text. */
static const char *mb(int number)
{
    static char text[4][32];
    static int next;
    next = (next + 1) % 4;
    snprintf(text[next], sizeof text[next], "%ju\n", (uintmax_t)number * MB);
    return text[next];
}

static void put_in(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "sys/fs/cgroup/%s/%s", folder, name);
    put(path, text);
}

/* Empties the root folder. */
static void restart(const char *group, const char *mounts)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'/*", root);
    assert_int_equal(system(command), 0);
    put("proc/self/cgroup", group);
    put("proc/self/mountinfo", mounts);
}

static void test_version_2(void **state)
{
    (void)state;
    restart("0::/job\n", V2_MOUNT);
    assert_true(memory_limits_groups(root) == UINT64_MAX);
    put_in("job", "memory.max", mb(100));
    assert_true(memory_limits_groups(root) == 100 * MB);
    put_in("job", "memory.current", mb(40));
    assert_true(memory_limits_groups(root) == 60 * MB);
    put_in("job", "memory.high", mb(90));
    assert_true(memory_limits_groups(root) == 50 * MB);
    put_in("job", "memory.high", "max\n");
    assert_true(memory_limits_groups(root) == 60 * MB);
    put_in("job", "memory.current", mb(140));
    assert_true(memory_limits_groups(root) == 0);
    put_in("job", "memory.max", "max\n");
    assert_true(memory_limits_groups(root) == UINT64_MAX);
}

/* Page cache is not counted as used, and never more of it than is used. */
static void test_page_cache(void **state)
{
    (void)state;
    restart("0::/job\n", V2_MOUNT);
    put_in("job", "memory.max", mb(100));
    put_in("job", "memory.current", mb(95));
    put_in("job", "memory.stat",
           "anon 1048576\nfile 62914560\nslab 9437184\ninactive_anon 5242880\n"
           "inactive_file 52428800\nactive_file 10485760\nslab_reclaimable 5242880\n");
    assert_true(memory_limits_groups(root) == 70 * MB);
    put_in("job", "memory.stat", "inactive_file 999999999999\nactive_file 999999999999\n");
    assert_true(memory_limits_groups(root) == 100 * MB);
    put_in("job", "memory.stat", "inactive_file many\nactive_file\n\n");
    assert_true(memory_limits_groups(root) == 5 * MB);
}

/* Slurm: the limit may stand at the job, the step or the task. */
static void test_nested(void **state)
{
    (void)state;
    const char *groups[] = {"system.slice", "system.slice/job_7", "system.slice/job_7/step_0",
                            "system.slice/job_7/step_0/task_1"};
    for (int limited = 0; limited < 4; limited++) {
        restart("0::/system.slice/job_7/step_0/task_1\n", V2_MOUNT);
        for (int i = 0; i < 4; i++) {
            put_in(groups[i], "memory.max",
                   i == limited  ? mb(100)
                   : i > limited ? "max\n"
                                 : mb(300));
            put_in(groups[i], "memory.current", mb(40 - 10 * i));
        }
        assert_true(memory_limits_groups(root) == (uint64_t)(60 + 10 * limited) * MB);
    }
    /* the least of what is left counts, which need not be the least limit */
    put_in(groups[1], "memory.max", mb(110));
    put_in(groups[1], "memory.current", mb(100));
    assert_true(memory_limits_groups(root) == 10 * MB);
}

static void test_version_1(void **state)
{
    (void)state;
    restart("5:cpu,cpuacct:/other\n4:memory:/slurm/uid_1/job_2\n1:name=systemd:/x\n", V1_MOUNTS);
    put_in("memory", "memory.limit_in_bytes", NO_LIMIT);
    put_in("memory/slurm/uid_1/job_2", "memory.limit_in_bytes", NO_LIMIT);
    assert_true(memory_limits_groups(root) == UINT64_MAX);
    put_in("memory/slurm/uid_1", "memory.limit_in_bytes", mb(80));
    put_in("memory/slurm/uid_1", "memory.usage_in_bytes", mb(50));
    put_in("memory/slurm/uid_1", "memory.stat",
           "cache 1\ninactive_file 1\ntotal_inactive_file 20971520\ntotal_active_file 1048576\n");
    assert_true(memory_limits_groups(root) == 51 * MB);
    /* a group that leaves the groups within it alone */
    put_in("memory/slurm/uid_1", "memory.use_hierarchy", "0\n");
    assert_true(memory_limits_groups(root) == UINT64_MAX);
    /* a limit around the groups that can be seen */
    put_in("memory/slurm/uid_1/job_2", "memory.usage_in_bytes", mb(10));
    put_in("memory/slurm/uid_1/job_2", "memory.stat", "hierarchical_memory_limit 31457280\n");
    assert_true(memory_limits_groups(root) == 20 * MB);
}

/* Version 1 for memory and version 2 for other things, as in systemd's hybrid layout. */
static void test_hybrid(void **state)
{
    (void)state;
    restart("4:memory:/job\n0::/user.slice\n",
            V1_MOUNTS "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put_in("memory/job", "memory.limit_in_bytes", mb(30));
    put_in("memory/job", "memory.usage_in_bytes", mb(10));
    put_in("unified/user.slice", "cgroup.procs", "1\n");
    assert_true(memory_limits_groups(root) == 20 * MB);
    put_in("unified/user.slice", "memory.max", mb(15));
    assert_true(memory_limits_groups(root) == 15 * MB);
}

/* A container: a group of the host is mounted as the highest one, and the path is the host's, or
 * leads out of what is mounted. */
static void test_container(void **state)
{
    (void)state;
    const char *mount = "29 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    const char *groups[] = {"0::/docker/abc/inner\n", "0::/docker/abc\n", "0::/docker/abcd\n",
                            "0::/../outside\n", "0::/\n"};
    const uint64_t left[] = {10, 40, 40, 40, 40};
    for (int i = 0; i < 5; i++) {
        restart(groups[i], mount);
        put_in(".", "memory.max", mb(40));
        put_in("inner", "memory.max", mb(10));
        assert_true(memory_limits_groups(root) == left[i] * MB);
    }
}

static void test_nonsense(void **state)
{
    (void)state;
    const char *bad[] = {
        "", "\n", "none", "-", "::", "0:", "0::", "0::job\n", "\xff\xfe", "0::/a:b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        restart(bad[i], V2_MOUNT);
        assert_true(memory_limits_groups(root) == UINT64_MAX);
        restart("0::/job\n", bad[i]);
        put_in("job", "memory.max", mb(1));
        assert_true(memory_limits_groups(root) == UINT64_MAX);
        restart("0::/job\n", V2_MOUNT);
        put_in("job", "memory.max", i == 5 ? "lots" : bad[i][0] == '0' ? "max" : bad[i]);
        assert_true(memory_limits_groups(root) == UINT64_MAX);
        put_in("job", "memory.max", mb(7));
        put_in("job", "memory.current", "what");
        assert_true(memory_limits_groups(root) == 7 * MB);
    }
    assert_true(memory_limits_groups("/no/such/root") == UINT64_MAX);
}

/* A path longer than any file's is no group. */
static void test_long_path(void **state)
{
    (void)state;
    char *group = malloc(10000);
    assert_non_null(group);
    memset(group, 'x', 9999);
    memcpy(group, "0::/", 4);
    group[9999] = '\0';
    restart(group, V2_MOUNT);
    put_in(".", "memory.max", mb(40));
    assert_true(memory_limits_groups(root) == 40 * MB);
    free(group);
}

/* What is left, in units of 64 MB, for a child process that may take `more` MB more of what `key`
 * counts; -1 without a limit. */
static int left_with(unsigned resource, const char *key, int more)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rlim_t bytes =
            (rlim_t)(system_number("/proc/self/status", key) * 1024 + (uint64_t)more * MB);
        struct rlimit limit = {bytes, RLIM_INFINITY};
        if (more > 0 && setrlimit(resource, &limit) != 0)
            _exit(254);
        uint64_t left = memory_limits_process();
        bool is_honoured = machine_memory_available() <= left;
        _exit(left == UINT64_MAX ? 255 : !is_honoured ? 253 : (int)(left / (64 * MB)));
    }
    int status;
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

/* The libraries' share is taken from what is left. */
static void test_process(void **state)
{
    (void)state;
    assert_int_equal(left_with(RLIMIT_AS, "VmSize:", 0), -1);
    assert_in_range(left_with(RLIMIT_AS, "VmSize:", 4096), (4096 - 256) / 64 - 2, 4096 / 64 - 4);
    assert_in_range(left_with(RLIMIT_DATA, "VmData:", 4096), (4096 - 256) / 64 - 2, 4096 / 64 - 4);
    assert_int_equal(left_with(RLIMIT_AS, "VmSize:", 200), 0);
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

int main(void)
{
    if (!mkdtemp(root))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_available),    cmocka_unit_test(test_peak_and_use),
        cmocka_unit_test(test_use_falls),    cmocka_unit_test(test_core_cache),
        cmocka_unit_test(test_shared_cache), cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_page_cache),   cmocka_unit_test(test_nested),
        cmocka_unit_test(test_version_1),    cmocka_unit_test(test_hybrid),
        cmocka_unit_test(test_container),    cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_long_path),    cmocka_unit_test(test_process),
    };
    return cmocka_run_group_tests(tests, NULL, remove_root);
}
