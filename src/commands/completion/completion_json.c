#include "base/json.h"
#include "base/version.h"
#include "commands/command_table.h"
#include "commands/completion/completion.h"
#include "commands/options/cli_values.h"

/* What the argument of an option is. */
static const char *kind_of(const struct cli_option *o)
{
    static const struct {
        cli_setter *set;
        const char *kind;
    } kinds[] = {
        {cli_set_unsigned, "integer"}, {cli_set_int, "integer"},       {cli_set_number, "number"},
        {cli_set_size, "size"},        {cli_set_duration, "duration"}, {cli_set_choice, "word"},
        {cli_set_word, "word"},        {cli_set_words, "words"},
    };
    if (!o->argument)
        return "flag";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (o->set == kinds[i].set)
            return kinds[i].kind;
    return "text";
}

/* The words of an argument, where it is one or several of them. */
static void put_words(struct json *j, const struct cli_option *o)
{
    if (!o->words)
        return;
    json_put_array(j, "words");
    for (const struct word *w = o->words; w->text; w++)
        json_put_string(j, NULL, w->text);
    json_end(j);
}

static void put_option(struct json *j, const struct cli_option *o)
{
    char help[CLI_HELP_ROOM], letter[] = {(char)o->letter, '\0'};
    json_put_object(j, NULL);
    json_put_string(j, "name", o->name + 2);
    json_put_string(j, "letter", o->letter ? letter : NULL);
    json_put_string(j, "kind", kind_of(o));
    json_put_string(j, "argument", o->argument);
    json_put_string(j, "default", o->initial);
    put_words(j, o);
    json_put_string(j, "help", cli_help_text(o, help));
    json_end(j);
}

static void put_command(struct json *j, const struct command *command)
{
    json_put_object(j, NULL);
    json_put_string(j, "name", command->name);
    json_put_string(j, "summary", command->summary);
    json_put_array(j, "options");
    for (const struct cli_section *s = command->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            put_option(j, o);
    json_end(j);
    json_end(j);
}

enum status completion_json(FILE *stream, struct error *error)
{
    struct json j;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    json_put_string(&j, "version", version_number);
    json_put_array(&j, "commands");
    for (const struct command *const *c = command_table; *c; c++)
        put_command(&j, *c);
    json_end(&j);
    json_end(&j);
    if (error->status == STATUS_OK)
        fwrite(j.text, 1, j.used, stream);
    json_free(&j);
    return error->status;
}
