#include "commands/options/cli.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

#define MAX_OPTIONS 64
#define MOST_NAME   32 /* characters of a word that may be meant for a name */
#define FIRST_LONG  (UCHAR_MAX + 1)
#define OPERAND     1 /* getopt's answer for an operand */

/* The options of all sections, and the form that getopt_long takes them in: the number of option i
 * given by its name is FIRST_LONG + i. "-" leaves the order of arguments, and operands are answers;
 * ":" tells a missing argument from an unknown option. */
struct tables {
    const struct cli_option *option[MAX_OPTIONS];
    int count;
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 3];
};

static int argument_kind(const struct cli_option *o)
{
    return !o->argument            ? no_argument
           : o->argument[0] == '[' ? optional_argument
                                   : required_argument;
}

/* The option of getopt's answer. */
static const struct cli_option *option_of(const struct tables *t, int answer)
{
    if (answer >= FIRST_LONG)
        return t->option[answer - FIRST_LONG];
    for (int i = 0; i < t->count; i++)
        if (t->option[i]->letter == answer)
            return t->option[i];
    return NULL;
}

/* The argument of an option. getopt takes one that may be left out only after "=". The next word,
 * too, is one if it is a list of whole numbers. */
static const char *argument_of(const struct cli_option *o, const struct cli_line *line)
{
    if (argument_kind(o) != optional_argument || cli_after_sign(o) || optarg ||
        optind >= line->argc)
        return optarg;
    const char *next = line->argv[optind];
    if (!*next || next[strspn(next, "0123456789,")])
        return NULL;
    optind++;
    return next;
}

static enum status refuse_option(const struct tables *tables, int answer, const char *given,
                                 struct error *error)
{
    char letter[3] = {'-', (char)optopt, 0};
    bool is_long = strncmp(given, "--", 2) == 0;
    const char *name = is_long || optopt == 0 || optopt > UCHAR_MAX ? given : letter;
    int length = (int)strcspn(name, "=");
    if (answer == ':')
        return error_set(error, STATUS_INPUT, "option %.*s needs an argument", length, name);
    if (is_long && optopt != 0)
        return error_set(error, STATUS_INPUT, "option %.*s takes no argument", length, name);
    char word[MOST_NAME + 1];
    if (!is_long || length - 2 > MOST_NAME)
        return error_set(error, STATUS_INPUT, "unknown option %.*s", length, name);
    snprintf(word, sizeof word, "%.*s", length - 2, name + 2);
    const char *names[MAX_OPTIONS];
    struct word begun[MAX_OPTIONS + 1] = {{0}}; /* the names that begin so */
    char list[256] = "";
    int several = 0;
    for (int i = 0; i < tables->count; i++) {
        names[i] = tables->longs[i].name;
        if (*word && strncmp(names[i], word, strlen(word)) == 0)
            begun[several++].text = names[i];
    }
    words_list(list, sizeof list, begun, ", ", " or ");
    if (several > 0)
        return error_set(error, STATUS_INPUT, "option --%s is ambiguous: %s", word, list);
    const char *nearest = cli_nearest(word, names, tables->count);
    if (!nearest || nearest[0] != word[0])
        return error_set(error, STATUS_INPUT, "unknown option --%s", word);
    return error_set(error, STATUS_INPUT, "unknown option --%s (did you mean --%s?)", word,
                     nearest);
}

enum status cli_hint(const struct cli_line *line, struct error *error)
{
    if (error->status == STATUS_INPUT)
        error_append(error, "; try blco %s --help", line->argv[0]);
    return error->status;
}

static void add_operand(struct cli_line *line, const char *text)
{
    if (line->operands < (int)(sizeof line->operand / sizeof *line->operand))
        line->operand[line->operands] = text;
    line->operands++;
}

enum status cli_each(struct cli_line *line, const struct cli_section *sections, cli_taker *take,
                     void *context, struct error *error)
{
    struct tables tables = {.shorts = "-:"};
    for (const struct cli_section *s = sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name && tables.count < MAX_OPTIONS; o++) {
            const int kind = argument_kind(o), i = tables.count++;
            tables.longs[i] = (struct option){o->name + 2, kind, NULL, FIRST_LONG + i};
            tables.option[i] = o;
            if (o->letter)
                words_append(tables.shorts, sizeof tables.shorts, "%c%s", o->letter,
                             kind == required_argument ? ":" : "");
        }
    line->operands = 0;
    opterr = 0;
    optind = 0; /* getopt starts again, whatever it parsed before */
    for (;;) {
        const int here = optind ? optind : 1;
        const char *at = here < line->argc ? line->argv[here] : NULL; /* what getopt looks at */
        const int answer = getopt_long(line->argc, line->argv, tables.shorts, tables.longs, NULL);
        if (answer == -1)
            break;
        const struct cli_option *o = option_of(&tables, answer);
        if (answer == OPERAND)
            add_operand(line, optarg);
        else if (o)
            take(context, o, argument_of(o, line), error);
        else
            refuse_option(&tables, answer, at, error);
        if (error->status != STATUS_OK)
            return cli_hint(line, error);
        if (o && o->ends)
            return STATUS_OK;
    }
    for (; optind < line->argc; optind++) /* after "--" */
        add_operand(line, line->argv[optind]);
    return STATUS_OK;
}

/* What cli_parse fills, and the options that were given. */
struct parsed {
    char *settings;
    const struct cli_option *given[MAX_OPTIONS];
    int count;
    bool ends;
};

static enum status set_option(void *parsed, const struct cli_option *o, const char *text,
                              struct error *error)
{
    struct parsed *p = parsed;
    bool again = false;
    for (int i = 0; i < p->count; i++)
        again = again || p->given[i] == o;
    if (!again)
        p->given[p->count++] = o;
    p->ends = p->ends || o->ends;
    if (o->given)
        *(const char **)(void *)(p->settings + o->given) = o->name;
    return o->set(o, p->settings + o->at, text, error);
}

/* The first word of `names` that names an option that was given; NULL where none does. */
static const char *find_given(const struct parsed *p, const char *names)
{
    for (const char *name = names; *name; name += strspn(name, " ")) {
        const size_t length = strcspn(name, " ");
        for (int i = 0; i < p->count; i++)
            if (strlen(p->given[i]->name) == length &&
                strncmp(p->given[i]->name, name, length) == 0)
                return p->given[i]->name;
        name += length;
    }
    return NULL;
}

enum status cli_parse(struct cli_line *line, const struct cli_section *sections, void *settings,
                      struct error *error)
{
    struct parsed parsed = {.settings = settings};
    for (const struct cli_section *s = sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            if (o->initial)
                TRY(o->set(o, parsed.settings + o->at, o->initial, error));
    if (cli_each(line, sections, set_option, &parsed, error) != STATUS_OK || parsed.ends)
        return error->status;
    for (int i = 0; i < parsed.count && error->status == STATUS_OK; i++) {
        const struct cli_option *o = parsed.given[i];
        const char *other = o->excludes ? find_given(&parsed, o->excludes) : NULL;
        if (other)
            error_set(error, STATUS_INPUT, "%s and %s: give only one", o->name, other);
        else if (o->needs && !find_given(&parsed, o->needs))
            error_set(error, STATUS_INPUT, "%s needs %s", o->name, o->needs);
    }
    return cli_hint(line, error);
}

enum status cli_single_operand(const struct cli_line *line, const char *what, struct error *error)
{
    if (line->operands < 1)
        error_set(error, STATUS_INPUT, "no %s given", what);
    else if (line->operands > 1)
        error_set(error, STATUS_INPUT, "one %s expected, but '%s' follows '%s'", what,
                  line->operand[1], line->operand[0]);
    else if (!*line->operand[0])
        error_set(error, STATUS_INPUT, "%s: '', expected a name", what);
    return cli_hint(line, error);
}

enum status cli_two_operands(const struct cli_line *line, const char *what, const char *first,
                             const char *second, struct error *error)
{
    if (line->operands != 2)
        error_set(error, STATUS_INPUT, "two %s expected, %s and %s, but %d given", what, first,
                  second, line->operands);
    else if (!*line->operand[0] || !*line->operand[1])
        error_set(error, STATUS_INPUT, "%s: '', expected a name",
                  *line->operand[0] ? second : first);
    return cli_hint(line, error);
}

enum status cli_no_operand(const struct cli_line *line, struct error *error)
{
    if (line->operands > 0)
        error_set(error, STATUS_INPUT, "'%s': no argument expected", line->operand[0]);
    return cli_hint(line, error);
}

bool cli_after_sign(const struct cli_option *o)
{
    return o->argument && strncmp(o->argument, "[=", 2) == 0;
}

const char *cli_help_text(const struct cli_option *o, char text[CLI_HELP_ROOM])
{
    static const char of_default[] = "{default}", of_words[] = "{words}";
    text[0] = '\0';
    for (const char *c = o->help; *c; c++) {
        if (strncmp(c, of_default, sizeof of_default - 1) == 0) {
            words_append(text, CLI_HELP_ROOM, "%s", o->initial);
            c += sizeof of_default - 2;
        } else if (strncmp(c, of_words, sizeof of_words - 1) == 0) {
            words_list(text, CLI_HELP_ROOM, o->words, ", ", " or ");
            c += sizeof of_words - 2;
        } else {
            words_append(text, CLI_HELP_ROOM, "%c", *c);
        }
    }
    return text;
}

static void help_option(FILE *stream, const struct cli_option *o)
{
    const int column = 27;
    char help[CLI_HELP_ROOM];
    int used = o->letter ? fprintf(stream, "  -%c, %s", o->letter, o->name)
                         : fprintf(stream, "      %s", o->name);
    if (o->argument)
        used += fprintf(stream, "%s%s", cli_after_sign(o) ? "" : " ", o->argument);
    fprintf(stream, "%*s", column - used > 1 ? column - used : 1, "");
    for (const char *c = cli_help_text(o, help); *c; c++) {
        fputc(*c, stream);
        if (*c == '\n')
            fprintf(stream, "%*s", column, "");
    }
    fputc('\n', stream);
}

void cli_help(FILE *stream, const struct cli_section *sections, const char *used_most)
{
    if (used_most)
        fprintf(stream, "\n%s:\n", used_most);
    for (; sections->title; sections++) {
        if (!used_most)
            fprintf(stream, "\n%s:\n", sections->title);
        for (const struct cli_option *o = sections->options; o->name; o++)
            if (!used_most || o->used_most)
                help_option(stream, o);
    }
}

/* Levenshtein distance of two short words. */
static int edit_distance(const char *a, const char *b)
{
    int la = (int)strlen(a), lb = (int)strlen(b), row[MOST_NAME + 1];
    if (la > MOST_NAME || lb > MOST_NAME)
        return MOST_NAME;
    for (int j = 0; j <= lb; j++)
        row[j] = j;
    for (int i = 1; i <= la; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

const char *cli_nearest(const char *word, const char *const *names, int count)
{
    const char *nearest = NULL;
    int least = 3; /* up to two slips, as "cdp" for "cpd", count as near */
    for (int i = 0; i < count; i++) {
        int distance = edit_distance(word, names[i]);
        if (distance < least) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
