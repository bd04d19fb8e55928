#include "report/mode_name.h"

#include <stdio.h>

const char *mode_name(int n, char name[MODE_NAME_ROOM])
{
    snprintf(name, MODE_NAME_ROOM, "mode %d", n + 1);
    return name;
}

const char *mode_heading(int n, char name[MODE_NAME_ROOM])
{
    mode_name(n, name);
    name[0] = 'M';
    return name;
}
