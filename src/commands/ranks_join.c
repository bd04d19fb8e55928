#include "commands/ranks_join.h"

#include <string.h>

#include "base/memory.h"
#include "base/printable.h"
#include "base/version.h"
#include "comm/comm_world.h"

#define PATIENCE     120.0 /* seconds that the processes wait for each other at the start */
#define MOST_OPTIONS 64
#define SHOWN        256 /* bytes of a text line that a message shows */

/* What a process was asked for, a text line for each thing, in the order of the tables. */
struct request {
    const struct cli_option *option[MOST_OPTIONS];
    char *value[MOST_OPTIONS]; /* as given; NULL: not given; owned */
    int options;
    char *text; /* the text lines; owned */
};

static void list_options(struct request *r, const struct cli_section *sections)
{
    for (; sections->title; sections++)
        for (const struct cli_option *o = sections->options; o->name; o++)
            if (!o->may_differ && r->options < MOST_OPTIONS)
                r->option[r->options++] = o;
}

/* A cli_taker. Each value of an option that is given several times counts. */
static enum status note_option(void *request, const struct cli_option *o, const char *text,
                               struct error *error)
{
    struct request *r = request;
    for (int i = 0; i < r->options; i++) {
        if (r->option[i] != o)
            continue;
        char *before = r->value[i];
        r->value[i] = memory_text(error, "%s%s%s", before ? before : "", before ? " " : "",
                                  text ? text : "given");
        memory_free(before);
    }
    return error->status;
}

/* Adds "name value"; no text line has a control character. */
static enum status add_line(struct request *r, const char *name, const char *value,
                            struct error *error)
{
    size_t room = PRINTABLE_ROOM(strlen(value) + 1);
    char *before = r->text, *shown = memory_array(room, 1, error);
    r->text = NULL;
    if (shown)
        r->text = memory_text(error, "%s%s %s\n", before ? before : "", name,
                              printable(value, shown, room));
    memory_free(shown);
    memory_free(before);
    return error->status;
}

static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum status describe(struct request *r, struct cli_line *line,
                            const struct cli_section *sections, struct error *error)
{
    list_options(r, sections);
    TRY(cli_each(line, sections, note_option, r, error));
    TRY(add_line(r, "blco", line->argv[0], error));
    TRY(add_line(r, "version", version_text, error));
    for (int i = 0; i < r->options; i++)
        TRY(add_line(r, r->option[i]->name, r->value[i] ? r->value[i] : "not given", error));
    if (line->operands == 0)
        return STATUS_OK;
    return add_line(r, "file", without_folder(line->operand[0]), error);
}

static void free_request(struct request *r)
{
    for (int i = 0; i < r->options; i++)
        memory_free(r->value[i]);
    memory_free(r->text);
}

/* The next text line of *text, of `length` bytes; of length 0 at the end. */
static const char *next_line(const char **text, int *length)
{
    const char *line = *text;
    *length = (int)strcspn(line, "\n");
    *text = line + *length + (line[*length] == '\n');
    return line;
}

/* The first text line of `mine` that is not the one of `first`. */
static enum status compare(const char *mine, const char *first, struct error *error)
{
    int here, there;
    while (*mine || *first) {
        const char *a = next_line(&mine, &here), *b = next_line(&first, &there);
        if (here == there && memcmp(a, b, (size_t)here) == 0)
            continue;
        return error_set(error, STATUS_INPUT,
                         "%.*s, but on rank 0 %.*s: expected the same on all ranks",
                         here < SHOWN ? here : SHOWN, here ? a : "no more files",
                         there < SHOWN ? there : SHOWN, there ? b : "no more files");
    }
    return STATUS_OK;
}

/* Compares r with rank 0's; the ranks that differ fail. */
static enum status compare_with_first(const struct request *r, struct comm *world,
                                      struct error *error)
{
    uint64_t size = r->text ? strlen(r->text) + 1 : 0;
    TRY(comm_bcast(world, 0, &size, sizeof size, error));
    char *first = memory_zeros(size, 1, error);
    if (!first) {
        comm_abort(world, error);
        return error->status;
    }
    if (world->rank == 0)
        memcpy(first, r->text, size);
    TRY_OR(done, comm_bcast(world, 0, first, size, error));
    compare(r->text, first, error);
done:
    memory_free(first);
    return error->status;
}

static enum status compare_requests(struct comm *world, struct cli_line line,
                                    const struct cli_section *sections, struct error *error)
{
    struct request mine = {0};
    describe(&mine, &line, sections, error);
    TRY_OR(done, comm_end_phase(world, error));
    compare_with_first(&mine, world, error);
    comm_end_phase(world, error);
done:
    free_request(&mine);
    return error->status;
}

enum status ranks_join(struct comm **world, const struct cli_line *line,
                       const struct cli_section *sections, struct error *error)
{
    const struct error wrong = *error;
    *error = (struct error){0};
    if (comm_world(world, PATIENCE, error) != STATUS_OK) {
        if (wrong.status != STATUS_OK && error->message[0])
            *error = wrong;
        return error->status;
    }
    *error = wrong;
    TRY(comm_end_phase(*world, error));
    return compare_requests(*world, *line, sections, error);
}
