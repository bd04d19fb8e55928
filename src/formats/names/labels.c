#include "formats/names/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/outfile_set.h"
#include "formats/names/name_list.h"
#include "formats/tns/foreign_file.h"

/* --- the option --- */

/* What follows "MODE=" at `text`, and the mode; NULL if there is something else. */
static const char *parse_mode(const char *text, uint64_t *mode)
{
    const char *end = text + strlen(text), *rest = number_parse_unsigned(text, end, mode);
    return rest && *rest == '=' ? rest + 1 : NULL;
}

/* The comma that ends the file's name, or the end of the text. */
static const char *name_end(const char *name)
{
    uint64_t mode;
    const char *end = name + strcspn(name, ",");
    while (*end && !parse_mode(end + 1, &mode))
        end += 1 + strcspn(end + 1, ",");
    return end;
}

enum status labels_add(struct labels *l, const char *text, struct error *error)
{
    const char *at = text, *name, *end;
    if (strcmp(text, "none") == 0) {
        l->none = true;
        return STATUS_OK;
    }
    do {
        uint64_t mode;
        name = parse_mode(at, &mode);
        end = name ? name_end(name) : NULL;
        if (!name || end == name)
            return error_set(error, STATUS_INPUT,
                             "--labels: '%s', expected MODE=FILE, as 1=dates.map, or several of "
                             "them separated by commas, or none",
                             text);
        if (mode < 1 || mode > MAX_ORDER)
            return error_set(error, STATUS_INPUT, "--labels: mode %" PRIu64 ", expected 1 to %d",
                             mode, MAX_ORDER);
        char **path = &l->mode[mode - 1].path;
        if (*path)
            return error_set(error, STATUS_INPUT,
                             "--labels: mode %" PRIu64 " twice, expected one file for each mode",
                             mode);
        *path = memory_text(error, "%.*s", (int)(end - name), name);
        l->mode[mode - 1].given = true;
        TRY(error->status);
        at = end + 1;
    } while (*end);
    return STATUS_OK;
}

static void free_mode(struct mode_labels *m)
{
    memory_free(m->path, m->own_path);
    name_table_free(&m->names);
    name_table_free(&m->own);
    *m = (struct mode_labels){0};
}

enum status labels_read(struct labels *l, const struct shape *shape, struct error *error)
{
    for (int n = shape->order; n < MAX_ORDER; n++)
        if (l->mode[n].path)
            return error_set(error, STATUS_INPUT, "--labels: mode %d, expected 1 to %d", n + 1,
                             shape->order);
    for (int n = 0; n < shape->order; n++) {
        struct mode_labels *m = &l->mode[n];
        const uint64_t count = shape->dims[n] > 0 ? shape->dims[n] : ANY_LABELS;
        char thing[32];
        snprintf(thing, sizeof thing, "index of mode %d", n + 1);
        if (m->path && m->names.count == 0)
            TRY(name_list_labels(&m->names, m->path, count, thing, error));
        if (m->own_path && m->own.count == 0)
            TRY(name_list_labels(&m->own, m->own_path, count, thing, error));
    }
    return STATUS_OK;
}

/* --- files beside a tensor or a model --- */

static enum status read_mode_names(struct labels *l, const char *log, const char *stem, int order,
                                   struct error *error)
{
    struct mode_labels m = {0};
    char suffix[NAME_MAPS_SUFFIX];
    if (mode_names_any(&l->modes))
        return STATUS_OK;
    TRY(outfile_set_find(&m.path, log, stem, name_maps_suffix(NAME_MAPS_MODES, suffix), error));
    if (m.path)
        TRY_OR(done, name_list_labels(&m.names, m.path, l->partial ? ANY_LABELS : (uint64_t)order,
                                      "mode", error));
    for (uint32_t n = 0; n < m.names.count && n < (uint32_t)order; n++) {
        const struct name name = name_table_get(&m.names, n);
        if (mode_names_set(&l->modes, (int)n, name.text, name.length, error) != STATUS_OK) {
            error_prefix(error, "%s: ", m.path);
            break;
        }
    }
done:
    free_mode(&m);
    return error->status;
}

enum status labels_find(struct labels *l, const char *stem, int order, struct error *error)
{
    char *log = NULL, suffix[NAME_MAPS_SUFFIX];
    l->order = order;
    if (l->none)
        return STATUS_OK;
    TRY(stem_lock_read(stem, &log, error));
    for (int n = 0; n < order; n++) {
        struct mode_labels *m = &l->mode[n];
        char **path = m->given ? &m->own_path : &m->path;
        if (!*path)
            TRY_OR(done, outfile_set_find(path, log, stem, name_maps_suffix(n, suffix), error));
    }
    read_mode_names(l, log, stem, order, error);
done:
    memory_free(log);
    return error->status;
}

enum status labels_find_tensor(struct labels *l, const char *path, int order, struct error *error)
{
    char *stem = NULL;
    l->order = order;
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    stem = name_maps_stem(path, error);
    if (stem)
        labels_find(l, stem, order, error);
    memory_free(stem);
    return error->status;
}

/* --- the table of labels --- */

void labels_take(struct labels *l, struct tensor_names *names)
{
    l->modes = names->modes;
    l->order = names->order;
    for (int n = 0; n < names->order; n++) {
        l->mode[n].names = names->index[n];
        name_table_seal(&l->mode[n].names);
    }
    memory_free(names->unused);
    *names = (struct tensor_names){0};
}

const struct name_table *labels_own(const struct labels *l, int n)
{
    return l->mode[n].own.count > 0 ? &l->mode[n].own : &l->mode[n].names;
}

const char *labels_get(const struct labels *l, int n, uint64_t i)
{
    const struct name_table *names = &l->mode[n].names;
    const char *label = i < names->count ? name_table_get(names, (uint32_t)i).text : NULL;
    return label && *label ? label : NULL;
}

size_t labels_longest(const struct labels *l, int n)
{
    const struct name_table *names = &l->mode[n].names;
    size_t longest = 0;
    for (uint32_t i = 0; i < names->count; i++) {
        const size_t length = name_table_get(names, i).length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

void labels_forget(struct labels *l)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        struct mode_labels *m = &l->mode[n], given = {.given = true};
        if (m->given) {
            given.path = m->path;
            given.names = m->names;
            m->path = NULL;
            m->names = (struct name_table){0};
        }
        free_mode(m);
        *m = given.path ? given : *m;
    }
    l->modes = (struct mode_names){.name = {""}};
}

void labels_free(struct labels *l)
{
    for (int n = 0; n < MAX_ORDER; n++)
        free_mode(&l->mode[n]);
    *l = (struct labels){0};
}

#define PIECE ((size_t)1 << 20) /* bytes handed over at a time, at least */

bool map_exists(const struct labels *names, int i)
{
    if (!names)
        return false;
    if (i < NAME_MAPS_MODES)
        return names->mode[i].names.count > 0;
    bool any = mode_names_any(&names->modes);
    for (int n = 0; n < NAME_MAPS_MODES; n++)
        any = any || names->mode[n].names.count > 0;
    return any;
}

/* The text of a map file, piece by piece. */
struct map_text {
    const struct labels *names;
    int i;                /* the number of the file */
    uint64_t next, lines; /* the next text line, and how many there are */
    char *piece, *other;  /* the last piece that was made, and room for another; owned by piece */
};

static enum status begin_text(struct map_text *t, const struct labels *names, int i,
                              struct error *error)
{
    const bool modes = i == NAME_MAPS_MODES;
    const size_t longest = modes ? MODE_NAME_BYTES : labels_longest(names, i);
    const size_t room = PIECE + UTF8_MARK_BYTES + NAME_ESCAPE * longest + 1;
    *t = (struct map_text){.names = names, .i = i};
    t->lines = modes ? (uint64_t)names->order : names->mode[i].names.count;
    t->piece = memory_array(2, room, error);
    t->other = t->piece ? t->piece + room : NULL;
    return error->status;
}

static struct name name_of(const struct map_text *t, uint64_t k)
{
    if (t->i < NAME_MAPS_MODES)
        return name_table_get(&t->names->mode[t->i].names, (uint32_t)k);
    return (struct name){t->names->modes.name[k], strlen(t->names->modes.name[k])};
}

/* Makes the next piece, of whole text lines; returns its bytes, 0 after the last. Readers skip one
 * mark of UTF-8 before the first name. */
static size_t next_piece(struct map_text *t)
{
    char *at = t->piece;
    for (; t->next < t->lines && at < t->piece + PIECE; t->next++) {
        const struct name name = name_of(t, t->next);
        if (t->next == 0 && strncmp(name.text, UTF8_MARK, UTF8_MARK_BYTES) == 0)
            at = stpcpy(at, UTF8_MARK);
        at = name_escape(name, at);
        *at++ = '\n';
    }
    return (size_t)(at - t->piece);
}

enum status map_is_same(bool *same, const char *path, const struct labels *names, int i,
                        struct error *error)
{
    struct map_text t;
    FILE *file = fopen(path, "re");
    *same = false;
    if (!file)
        return STATUS_OK;
    TRY_OR(done, begin_text(&t, names, i, error));
    *same = true;
    for (size_t size; *same && (size = next_piece(&t)) > 0;)
        *same = fread(t.other, 1, size, file) == size && memcmp(t.other, t.piece, size) == 0;
    *same = *same && getc(file) == EOF;
    memory_free(t.piece);
done:
    fclose(file);
    return error->status;
}

/* Appends the text of file i to an open file. */
static enum status map_write(struct outfile *f, const struct labels *names, int i,
                             struct error *error)
{
    struct map_text t;
    TRY(begin_text(&t, names, i, error));
    for (size_t size; error->status == STATUS_OK && (size = next_piece(&t)) > 0;)
        outfile_write(f, t.piece, size, error);
    memory_free(t.piece);
    return error->status;
}

enum status maps_write(struct outfile *file, int *count, const struct labels *names, int maps,
                       const char *stem, struct error *error)
{
    for (int i = 0; i < maps; i++) {
        bool same;
        if (!map_exists(names, i))
            continue;
        char *path = name_maps_path(stem, i, error);
        if (path && map_is_same(&same, path, names, i, error) == STATUS_OK && !same &&
            outfile_open(&file[(*count)++], path, error) == STATUS_OK)
            map_write(&file[*count - 1], names, i, error);
        memory_free(path);
        TRY(error->status);
    }
    return STATUS_OK;
}
