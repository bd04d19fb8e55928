/* The main function of a program that has several tests, as those of a folder: runs the test whose
 * name the program is called by. The Makefile names the main function of a test TEST_main, links
 * them to one program, and makes links to it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *path = argc > 0 ? argv[0] : "", *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char symbol[256];
    int (*run)(void);
    snprintf(symbol, sizeof symbol, "%s_main", name);
    *(void **)&run = dlsym(NULL, symbol);
    if (!run) {
        fprintf(stderr, "this program has no test of the name %s; call it by a link of that name\n",
                name);
        return 2;
    }
    return run();
}
