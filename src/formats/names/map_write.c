#include "formats/names/map_write.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/names/name_list.h"
#include "formats/tns/foreign_file.h"

#define PIECE ((size_t)1 << 20) /* bytes handed over at a time, at least */

bool map_exists(const struct labels *names, int i)
{
    if (!names)
        return false;
    if (i < NAME_MAPS_MODES)
        return names->mode[i].count > 0;
    bool any = mode_names_any(&names->modes);
    for (int n = 0; n < NAME_MAPS_MODES; n++)
        any = any || names->mode[n].count > 0;
    return any;
}

/* A function that takes the text of a file piece by piece. */
typedef enum status taker(void *context, const char *piece, size_t size, struct error *error);

/* Copies text line k of file i to `to`; returns the end of the copy. Readers skip one mark of UTF-8
 * before the first name. */
static char *put_line(const struct labels *names, int i, uint64_t k, char *to)
{
    const char *name =
        i == NAME_MAPS_MODES ? names->modes.of[k] : names->mode[i].text + names->mode[i].first[k];
    if (k == 0 && strncmp(name, UTF8_MARK, UTF8_MARK_BYTES) == 0)
        to = stpcpy(to, UTF8_MARK);
    to = name_escape((struct name){name, strlen(name)}, to);
    *to++ = '\n';
    return to;
}

/* Hands the text of file i over to `take`. */
static enum status each_piece(const struct labels *names, int i, taker *take, void *context,
                              struct error *error)
{
    const uint64_t lines = i == NAME_MAPS_MODES ? (uint64_t)names->order : names->mode[i].count;
    const size_t longest = i == NAME_MAPS_MODES ? MODE_NAME_BYTES : labels_longest(names, i);
    char *piece = memory_array(PIECE + UTF8_MARK_BYTES + NAME_ESCAPE * longest + 1, 1, error);
    if (!piece)
        return error->status;
    char *at = piece;
    for (uint64_t k = 0; k < lines; k++) {
        at = put_line(names, i, k, at);
        if (at < piece + PIECE && k + 1 < lines)
            continue;
        if (take(context, piece, (size_t)(at - piece), error) != STATUS_OK)
            break;
        at = piece;
    }
    memory_free(piece);
    return error->status;
}

static enum status append(void *file, const char *piece, size_t size, struct error *error)
{
    return outfile_write(file, piece, size, error);
}

enum status map_write(struct outfile *f, const struct labels *names, int i, struct error *error)
{
    return each_piece(names, i, append, f, error);
}

/* A file that is compared with the text. */
struct comparison {
    FILE *file;
    bool same; /* so far */
};

static enum status compare(void *comparison, const char *piece, size_t size, struct error *error)
{
    struct comparison *c = comparison;
    char part[4096];
    (void)error;
    for (size_t at = 0; at < size && c->same; at += sizeof part) {
        const size_t wanted = size - at < sizeof part ? size - at : sizeof part;
        c->same =
            fread(part, 1, wanted, c->file) == wanted && memcmp(part, piece + at, wanted) == 0;
    }
    return STATUS_OK;
}

enum status map_is_same(bool *same, const char *path, const struct labels *names, int i,
                        struct error *error)
{
    struct comparison c = {.file = fopen(path, "re"), .same = true};
    *same = false;
    if (!c.file)
        return STATUS_OK;
    TRY_OR(done, each_piece(names, i, compare, &c, error));
    *same = c.same && getc(c.file) == EOF;
done:
    fclose(c.file);
    return error->status;
}
