#include "base/json_tree.h"

#include <math.h>
#include <string.h>

#include "base/infile.h"
#include "base/memory.h"

enum status json_tree_read(struct json_tree *tree, const char *path, struct error *error)
{
    size_t size;
    char *text = infile_whole(path, &size, error);
    *tree = (struct json_tree){0};
    if (text)
        json_tree_parse(tree, text, size, path, error);
    memory_free(text);
    return error->status;
}

void json_tree_free(struct json_tree *tree)
{
    memory_free(tree->text);
    memory_free(tree->value);
    *tree = (struct json_tree){0};
}

const struct json_value *json_first(const struct json_tree *tree,
                                    const struct json_value *container)
{
    return container && container->first ? &tree->value[container->first] : NULL;
}

const struct json_value *json_next(const struct json_tree *tree, const struct json_value *member)
{
    return member && member->next ? &tree->value[member->next] : NULL;
}

const struct json_value *json_member(const struct json_tree *tree, const struct json_value *object,
                                     const char *name)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    const struct json_value *member = json_first(tree, object);
    while (member && strcmp(member->name, name) != 0)
        member = json_next(tree, member);
    return member;
}

const char *json_text_of(const struct json_value *value)
{
    return value ? value->text : NULL;
}

double json_number_of(const struct json_value *value)
{
    return value && value->kind == JSON_NUMBER ? value->number : NAN;
}

bool json_is_true(const struct json_value *value)
{
    return value && value->kind == JSON_BOOL && value->number != 0;
}
