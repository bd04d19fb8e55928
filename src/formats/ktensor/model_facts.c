#include "formats/ktensor/model_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/memory.h"
#include "base/outfile_set.h"
#include "base/version.h"
#include "formats/ktensor/ktensor_formats.h"

#define FORMAT 1 /* of the file; a reader refuses what is newer */
#define HASH   17

static void put_text(struct json *j, const char *name, const char *text)
{
    if (text[0])
        json_put_string(j, name, text);
}

/* An array, null where a number is not known; nothing where none is. */
static void put_shares(struct json *j, const char *name, const double *share, uint64_t rank)
{
    bool any = false;
    for (uint64_t r = 0; share && r < rank; r++)
        any = any || isfinite(share[r]);
    if (any)
        json_put_numbers(j, name, share, rank);
}

int model_facts_means(const struct model_facts *facts)
{
    int count = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        count += facts->centred[n];
    return count > 0 ? 1 + count : 0;
}

void model_facts_put(struct json *j, const struct model_facts *facts, const struct ktensor *k,
                     const struct labels *names)
{
    const struct mode_names *modes = &names->modes;
    char text[NAME_MAPS_SUFFIX];
    json_put_unsigned(j, "format", FORMAT);
    json_put_string(j, "program", version_text);
    json_put_unsigned(j, "rank", k->rank);
    json_put_array(j, "modes");
    for (int n = 0; n < k->shape.order; n++) {
        json_put_object(j, NULL);
        json_put_unsigned(j, "length", k->shape.dims[n]);
        put_text(j, "name", modes->name[n]);
        if (map_exists(names, n))
            json_put_string(j, "names", name_maps_suffix(n, text));
        put_text(j, "order", modes->order[n]);
        put_text(j, "bin", modes->bin[n]);
        json_end(j);
    }
    json_end(j);
    put_text(j, "value", modes->value);
    put_text(j, "values", modes->change);
    json_put_string(j, "loss", facts->loss);
    json_put_number(j, "unlisted", facts->unlisted);
    json_put_unsigned(j, "norm", facts->norm);
    json_put_unsigned(j, "entries", facts->nnz);
    json_put_unsigned(j, "unknown", facts->unknown);
    if (model_facts_means(facts) > 0) {
        json_put_array(j, "center");
        for (int n = 0; n < k->shape.order; n++)
            if (facts->centred[n])
                json_put_unsigned(j, NULL, (uint64_t)n + 1);
        json_end(j);
        json_put_number(j, "shrinkage", facts->shrinkage);
    }
    if (facts->hashed) {
        char hash[HASH];
        snprintf(hash, sizeof hash, "%016" PRIx64, facts->hash);
        json_put_string(j, "hash", hash);
    }
    put_shares(j, "explained", k->explained, k->rank);
    put_shares(j, "lost", k->lost, k->rank);
}

/* --- reading --- */

/* A file that is read. */
struct facts_file {
    const char *path;
    json_t *json;
};

static enum status refuse(const struct facts_file *f, const char *what, const char *expected,
                          struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: %s, expected %s", f->path, what, expected);
}

/* A text of at most room - 1 bytes, or none. */
static enum status take_text(const struct facts_file *f, const json_t *object, const char *name,
                             char *to, size_t room, struct error *error)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    if (!value)
        return STATUS_OK;
    if (!text || strlen(text) >= room)
        return error_set(error, STATUS_INPUT, "%s: \"%s\": expected a text of at most %zu bytes",
                         f->path, name, room - 1);
    memset(to, 0, room);
    strcpy(to, text);
    return STATUS_OK;
}

/* A whole number, or none. */
static enum status take_count(const struct facts_file *f, const json_t *object, const char *name,
                              uint64_t *to, struct error *error)
{
    const json_t *value = json_object_get(object, name);
    const double number = json_number_of(value);
    if (!value)
        return STATUS_OK;
    if (!(number >= 0 && number < 0x1p63) || number != floor(number))
        return error_set(error, STATUS_INPUT, "%s: \"%s\": expected a whole number, 0 or more",
                         f->path, name);
    *to = (uint64_t)number;
    return STATUS_OK;
}

static enum status take_shares(const struct facts_file *f, const char *name, double *share,
                               uint64_t rank, struct error *error)
{
    const json_t *array = json_object_get(f->json, name);
    if (!array || !share)
        return STATUS_OK;
    if (!json_is_array(array) || json_array_size(array) != rank)
        return error_set(error, STATUS_INPUT,
                         "%s: \"%s\": expected %ju numbers, one for each component", f->path, name,
                         (uintmax_t)rank);
    for (uint64_t r = 0; r < rank; r++)
        share[r] = json_number_of(json_array_get(array, r));
    return STATUS_OK;
}

/* A mode of the file beside what the model and its maps have; of a mode that the model lacks, how
 * it is read from a table. */
static enum status take_mode(const struct facts_file *f, const json_t *mode, int n,
                             const struct ktensor *k, struct labels *names, struct error *error)
{
    struct mode_names *modes = &names->modes;
    char name[MODE_NAME_BYTES] = "", map[NAME_MAPS_SUFFIX] = "";
    uint64_t length = UINT64_MAX;
    TRY(take_count(f, mode, "length", &length, error));
    const bool here = n < k->shape.order && k->shape.dims[n] > 0;
    if (here && length != k->shape.dims[n])
        return error_set(error, STATUS_INPUT, "%s: mode %d: length %jd, but the model has %ju rows",
                         f->path, n + 1, (intmax_t)length, (uintmax_t)k->shape.dims[n]);
    TRY(take_text(f, mode, "name", name, sizeof name, error));
    TRY(take_text(f, mode, "names", map, sizeof map, error));
    TRY(take_text(f, mode, "order", modes->order[n], SOURCE_TEXT, error));
    TRY(take_text(f, mode, "bin", modes->bin[n], SOURCE_TEXT, error));
    if (here && map[0] && !names->none && names->mode[n].names.count == 0)
        return error_set(error, STATUS_INPUT,
                         "%s: mode %d: the names of its indices, %s, are not beside the model",
                         f->path, n + 1, map);
    if (!names->none && !modes->name[n][0])
        memcpy(modes->name[n], name, sizeof name);
    return STATUS_OK;
}

/* The centred modes, or none; k may lack the last modes. */
static enum status take_centred(struct model_facts *facts, const struct facts_file *f,
                                const struct ktensor *k, size_t order, struct error *error)
{
    const json_t *center = json_object_get(f->json, "center"), *mode;
    size_t i;
    if (center && json_array_size(center) == 0)
        return refuse(f, "\"center\"", "different numbers of modes", error);
    json_array_foreach(center, i, mode) {
        const double number = json_number_of(mode);
        if (!(number >= 1 && number <= (double)order) || number != floor(number) ||
            facts->centred[(int)number - 1])
            return refuse(f, "\"center\"", "different numbers of modes", error);
        facts->centred[(int)number - 1] = true;
    }
    if (!center)
        return STATUS_OK;
    facts->shrinkage = json_number_at(f->json, "shrinkage");
    if ((uint64_t)model_facts_means(facts) >= k->rank || !(facts->shrinkage >= 0))
        return refuse(f, "\"center\" and \"shrinkage\"",
                      "fewer modes than the model has components, and a number of 0 or more",
                      error);
    return STATUS_OK;
}

static enum status take_file(struct model_facts *facts, const struct facts_file *f,
                             struct ktensor *k, struct labels *names, struct error *error)
{
    const json_t *modes = json_object_get(f->json, "modes");
    char hash[HASH] = "";
    uint64_t format = 0;
    TRY(take_count(f, f->json, "format", &format, error));
    if (format != FORMAT)
        return refuse(f, "not a description of a model that this blco knows", "\"format\": 1",
                      error);
    if (json_number_at(f->json, "rank") != (double)k->rank ||
        json_array_size(modes) < (size_t)k->shape.order || json_array_size(modes) > MAX_ORDER)
        return error_set(error, STATUS_INPUT,
                         "%s: of another model: expected rank %ju and %d mode%s", f->path,
                         (uintmax_t)k->rank, k->shape.order, k->shape.order == 1 ? "" : "s");
    for (int n = 0; n < (int)json_array_size(modes); n++)
        TRY(take_mode(f, json_array_get(modes, (size_t)n), n, k, names, error));
    TRY(take_text(f, f->json, "value", names->modes.value, MODE_NAME_BYTES, error));
    TRY(take_text(f, f->json, "values", names->modes.change, SOURCE_TEXT, error));
    TRY(take_text(f, f->json, "loss", facts->loss, sizeof facts->loss, error));
    facts->unlisted = json_number_at(f->json, "unlisted");
    if (!(facts->unlisted >= 0 && facts->unlisted <= 1))
        return refuse(f, "\"unlisted\"", "a weight from 0 to 1", error);
    TRY(take_count(f, f->json, "entries", &facts->nnz, error));
    TRY(take_count(f, f->json, "unknown", &facts->unknown, error));
    TRY(take_text(f, f->json, "hash", hash, sizeof hash, error));
    facts->hashed = hash[0] != '\0';
    facts->hash = strtoull(hash, NULL, 16);
    TRY(take_centred(facts, f, k, json_array_size(modes), error));
    facts->norm = json_number_at(f->json, "norm") == 1 ? 1 : 2;
    k->mixture = facts->norm == 1;
    TRY(take_shares(f, "explained", k->explained, k->rank, error));
    TRY(take_shares(f, "lost", k->lost, k->rank, error));
    facts->known = true;
    return STATUS_OK;
}

enum status model_facts_read(struct model_facts *facts, struct ktensor *k, struct labels *names,
                             const char *stem, struct error *error)
{
    char *name = ktensor_stem(stem, error), *log = NULL, *path = NULL;
    struct facts_file file = {0};
    *facts = (struct model_facts){.unlisted = 1, .norm = 2};
    TRY_OR(done, error->status);
    TRY_OR(done, labels_find(names, name, k->shape.order, error));
    TRY_OR(done, labels_read(names, &k->shape, error));
    TRY_OR(done, stem_lock_read(name, &log, error));
    TRY_OR(done, outfile_set_find(&path, log, name, MODEL_FACTS_SUFFIX, error));
    file.path = path;
    if (path && json_read(&file.json, path, error) == STATUS_OK)
        take_file(facts, &file, k, names, error);
done:
    json_decref(file.json);
    memory_free(path, log, name);
    return error->status;
}
