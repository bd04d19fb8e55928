#include "base/shared_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The library in `folder`, or NULL where the folder does not have it. What keeps a library that is
 * there from being loaded goes into `reason`. */
static void *open_in(const char *folder, const char *file, char *reason, size_t size)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (folder[0] == '\0' || length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0)
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(reason, size, "%s", dlerror());
    return library;
}

void *shared_library_open(const struct shared_library *l, struct error *error)
{
    char reason[512] = "";
    void *library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(reason, sizeof reason, "%s", dlerror());
    for (const char *const *folder = l->folders; !library && folder && *folder; folder++)
        library = open_in(*folder, l->file, reason, sizeof reason);
    if (!library)
        error_set(error, STATUS_INPUT, "%s, which cannot be loaded (%s): %s", l->need, reason,
                  l->remedy);
    return library;
}

const char *shared_library_bind(void *library, const struct library_function *functions,
                                size_t count)
{
    const char *missing = NULL;
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, functions[i].name);
        memcpy(functions[i].pointer, &function, sizeof function);
        if (!function)
            missing = functions[i].name;
    }
    return missing;
}
