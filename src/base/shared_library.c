#include "base/shared_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *shared_library_open(const struct shared_library *l, struct error *error)
{
    char reason[512] = "", path[PATH_MAX];
    void *library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(reason, sizeof reason, "%s", dlerror());
    for (const char *const *folder = l->folders; !library && folder && *folder; folder++) {
        const int length = snprintf(path, sizeof path, "%s/%s", *folder, l->file);
        if (!**folder || length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0)
            continue;
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) /* what keeps a library that is there from being loaded */
            snprintf(reason, sizeof reason, "%s", dlerror());
    }
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
