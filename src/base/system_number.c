#include "base/system_number.h"

#include <stdio.h>
#include <string.h>

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
