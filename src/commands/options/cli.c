#include "commands/options/cli.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "plan/process_grid.h"
#include "tensor/shape.h"

#define MAX_OPTIONS 64
#define MAX_TIME    1000000000 /* of one unit */
#define MOST_NAME   32         /* characters of a word that may be meant for a name */

/* The options of all sections in the form that getopt_long takes. */
struct getopt_tables {
    struct option longs[MAX_OPTIONS + 1];
    char shorts[3 * MAX_OPTIONS + 2];
};

static int argument_kind(const struct cli_option *o)
{
    return !o->argument            ? no_argument
           : o->argument[0] == '[' ? optional_argument
                                   : required_argument;
}

static void fill_tables(struct getopt_tables *t, const struct cli_section *sections)
{
    memset(t, 0, sizeof *t);
    int count = 0;
    char *s = t->shorts;
    *s++ = ':'; /* a missing argument is told apart from an unknown option */
    for (; sections->title; sections++)
        for (const struct cli_option *o = sections->options; o->name && count < MAX_OPTIONS; o++) {
            t->longs[count++] = (struct option){o->name, argument_kind(o), NULL, o->key};
            if (o->key <= UCHAR_MAX) {
                *s++ = (char)o->key;
                if (argument_kind(o) == required_argument)
                    *s++ = ':';
            }
        }
}

/* getopt takes an argument that may be left out only after "=". The next word, too, is one if it
 * is a list of whole numbers; not of --help, whose argument is a word. */
static const char *optional_list(const struct option *o, int argc, char **argv)
{
    if (o->has_arg != optional_argument || o->val == CLI_KEY_HELP || optarg || optind >= argc ||
        !*argv[optind] || argv[optind][strspn(argv[optind], "0123456789,")])
        return optarg;
    return argv[optind++];
}

/* Appends `word` to list[0..size), cut where the list is full. */
static void append(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s", word);
}

/* Appends word i of a list: "a, b or c". */
static void append_word(char *list, size_t size, int i, bool is_last, const char *word)
{
    append(list, size, i == 0 ? "" : is_last ? " or " : ", ");
    append(list, size, word);
}

/* Refuses an option --word: either several names begin so, or none is near, or one is. */
static enum status refuse_name(const struct getopt_tables *t, const char *word, struct error *error)
{
    const char *names[MAX_OPTIONS], *begun[MAX_OPTIONS];
    char list[256] = "";
    int count = 0, several = 0;
    for (; count < MAX_OPTIONS && t->longs[count].name; count++) {
        names[count] = t->longs[count].name;
        if (*word && strncmp(names[count], word, strlen(word)) == 0)
            begun[several++] = names[count];
    }
    for (int i = 0; i < several; i++)
        append_word(list, sizeof list, i, i == several - 1, begun[i]);
    if (several > 0)
        return error_set(error, STATUS_INPUT, "option --%s is ambiguous: %s", word, list);
    const char *nearest = cli_nearest(word, names, count);
    if (!nearest || nearest[0] != word[0])
        return error_set(error, STATUS_INPUT, "unknown option --%s", word);
    return error_set(error, STATUS_INPUT, "unknown option --%s (did you mean --%s?)", word,
                     nearest);
}

static enum status refuse_option(const struct getopt_tables *tables, int answer, const char *given,
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
    return refuse_name(tables, word, error);
}

enum status cli_hint(char *const *argv, struct error *error)
{
    if (error->status == STATUS_INPUT)
        error_append(error, "; try blco %s --help", argv[0]);
    return error->status;
}

enum status cli_parse(int argc, char **argv, const struct cli_section *sections, cli_setter set,
                      void *settings, int *first, struct error *error)
{
    struct getopt_tables tables;
    fill_tables(&tables, sections);
    opterr = 0;
    optind = 0;      /* getopt begins anew, whatever it parsed before */
    int key, i = -1; /* i: which long option it is; -1: none */
    while ((key = getopt_long(argc, argv, tables.shorts, tables.longs, &i)) != -1) {
        const bool is_refused = key == '?' || key == ':';
        const char *text = i < 0 ? optarg : optional_list(&tables.longs[i], argc, argv);
        i = -1;
        if ((is_refused ? refuse_option(&tables, key, argv[optind - 1], error)
                        : set(settings, key, text, error)) != STATUS_OK)
            return cli_hint(argv, error);
        if (key == CLI_KEY_HELP || key == CLI_KEY_VERSION)
            break;
    }
    *first = optind;
    return STATUS_OK;
}

enum status cli_single_operand(int argc, char **argv, int first, const char *what,
                               const char **operand, struct error *error)
{
    if (first >= argc)
        error_set(error, STATUS_INPUT, "no %s given", what);
    else if (first + 1 < argc)
        error_set(error, STATUS_INPUT, "one %s expected, but '%s' follows '%s'", what,
                  argv[first + 1], argv[first]);
    else if (!*argv[first])
        error_set(error, STATUS_INPUT, "%s: '', expected a name", what);
    else
        *operand = argv[first];
    return cli_hint(argv, error);
}

enum status cli_two_operands(int argc, char **argv, int first, const char *what,
                             const char *const name[2], const char *operand[2], struct error *error)
{
    if (argc - first != 2)
        error_set(error, STATUS_INPUT, "two %s expected, %s and %s, but %d given", what, name[0],
                  name[1], argc - first);
    for (int i = 0; i < 2 && error->status == STATUS_OK; i++) {
        operand[i] = argv[first + i];
        if (!*operand[i])
            error_set(error, STATUS_INPUT, "%s: '', expected a name", name[i]);
    }
    return cli_hint(argv, error);
}

enum status cli_no_operand(int argc, char **argv, int first, struct error *error)
{
    if (first < argc)
        error_set(error, STATUS_INPUT, "'%s': no argument expected", argv[first]);
    return cli_hint(argv, error);
}

bool cli_after_sign(const struct cli_option *option)
{
    return option->argument && strncmp(option->argument, "[=", 2) == 0;
}

static void help_option(FILE *stream, const struct cli_option *o)
{
    const int column = 27;
    int used = o->key <= UCHAR_MAX ? fprintf(stream, "  -%c, --%s", o->key, o->name)
                                   : fprintf(stream, "      --%s", o->name);
    if (o->argument)
        used += fprintf(stream, "%s%s", cli_after_sign(o) ? "" : " ", o->argument);
    fprintf(stream, "%*s", column - used > 1 ? column - used : 1, "");
    for (const char *c = o->help; *c; c++) {
        fputc(*c, stream);
        if (*c == '\n')
            fprintf(stream, "%*s", column, "");
    }
    fputc('\n', stream);
}

void cli_help(FILE *stream, const struct cli_section *sections)
{
    for (; sections->title; sections++) {
        fprintf(stream, "\n%s:\n", sections->title);
        for (const struct cli_option *o = sections->options; o->name; o++)
            help_option(stream, o);
    }
}

void cli_help_some(FILE *stream, const char *title, const struct cli_section *sections,
                   const char *const *names)
{
    fprintf(stream, "\n%s:\n", title);
    for (; *names; names++)
        for (const struct cli_section *s = sections; s->title; s++)
            for (const struct cli_option *o = s->options; o->name; o++)
                if (strcmp(o->name, *names) == 0)
                    help_option(stream, o);
}

enum status cli_unsigned(const char *option, const char *text, uint64_t least, uint64_t most,
                         uint64_t *value, struct error *error)
{
    const char *end = text + strlen(text);
    const char *rest = number_parse_unsigned(text, end, value);
    if (!rest || rest != end || *value < least || *value > most)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a whole number from %ju to %ju",
                         option, text, (uintmax_t)least, (uintmax_t)most);
    return STATUS_OK;
}

/* Whether the number at `text` has a digit other than 0 before its exponent. */
static bool has_nonzero_digit(const char *text)
{
    size_t before = strcspn(text, "eE");
    return strcspn(text, "123456789") < before;
}

enum status cli_name(const char *option, const char *text, const char **name, struct error *error)
{
    *name = text;
    return *text ? STATUS_OK : error_set(error, STATUS_INPUT, "%s: '', expected a name", option);
}

enum status cli_file(const char *option, const char *text, const char **name, struct error *error)
{
    if (strcmp(text, "-") == 0)
        return error_set(error, STATUS_INPUT, "%s: '-', expected the name of a file", option);
    return cli_name(option, text, name, error);
}

enum status cli_nonnegative(const char *option, const char *text, double *value,
                            struct error *error)
{
    const char *end = text + strlen(text);
    const char *rest = number_parse(text, end, value);
    if (!rest || rest != end || !isfinite(*value) || *value < 0)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a number of 0 or more", option,
                         text);
    if (*value == 0 && has_nonzero_digit(text))
        return error_set(error, STATUS_INPUT,
                         "%s: '%s' is too small for a number of double precision", option, text);
    return STATUS_OK;
}

enum status cli_size(const char *option, const char *text, uint64_t *bytes, struct error *error)
{
    static const char units[] = "KMGT";
    const char *end = text + strlen(text);
    uint64_t number = 0, factor = 1;
    const char *rest = number_parse_unsigned(text, end, &number);
    const char *unit = rest && *rest ? strchr(units, *rest) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        factor *= 1000;
    if (unit)
        rest++;
    if (!rest || *rest || number == 0 || number > (UINT64_MAX >> 1) / factor)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected bytes as 800000000, 500M or 16G (K, M, G, T: powers "
                         "of 1000)",
                         option, text);
    *bytes = number * factor;
    return STATUS_OK;
}

enum status cli_duration(const char *option, const char *text, double *seconds, struct error *error)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    const char *end = text + strlen(text), *rest = text;
    double sum = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units && rest && rest < end; i++) {
        uint64_t number;
        const char *unit = number_parse_unsigned(rest, end, &number);
        if (!unit || unit == rest || unit == end || number > MAX_TIME) {
            rest = NULL;
        } else if (*unit == units[i].letter) {
            sum += (double)number * units[i].seconds;
            rest = unit + 1;
        }
    }
    if (rest != end || !(sum > 0))
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a time as 90s, 10m or 3h50m",
                         option, text);
    *seconds = sum;
    return STATUS_OK;
}

/* Reads 1 to MAX_ORDER numbers from 1 to `most` with commas or x between; whether that is all of
 * the text. */
static bool read_list(const char *text, uint64_t most, uint64_t *numbers, int *count)
{
    const char *end = text + strlen(text);
    const char *rest = text;
    for (*count = 0; *count < MAX_ORDER; rest++) {
        rest = number_parse_unsigned(rest, end, &numbers[*count]);
        if (!rest || numbers[*count] == 0 || numbers[*count] > most)
            return false;
        ++*count;
        if (rest == end)
            return true;
        if (*rest != ',' && *rest != 'x')
            return false;
    }
    return false;
}

enum status cli_lengths(const char *option, const char *text, uint64_t *lengths, int *count,
                        struct error *error)
{
    if (read_list(text, MAX_LENGTH, lengths, count))
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "%s: '%s', expected 1 to %d lengths from 1 to %ju, as 4,5,6 or 4x5x6", option,
                     text, MAX_ORDER, (uintmax_t)MAX_LENGTH);
}

enum status cli_grid(const char *option, const char *text, int *parts, int *count,
                     struct error *error)
{
    uint64_t numbers[MAX_ORDER], ranks = 1;
    bool is_list = read_list(text, MAX_RANKS, numbers, count);
    for (int n = 0; is_list && n < *count && ranks <= MAX_RANKS; n++) {
        parts[n] = (int)numbers[n];
        ranks *= numbers[n];
    }
    if (is_list && ranks <= MAX_RANKS)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "%s: '%s', expected 1 to %d numbers of ranges, as 2x2x1, whose product is %d "
                     "at most",
                     option, text, MAX_ORDER, MAX_RANKS);
}

enum status cli_choice(const char *option, const char *text, const char *const *names, int *choice,
                       struct error *error)
{
    char expected[256] = "";
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *choice = i;
            return STATUS_OK;
        }
        append_word(expected, sizeof expected, i, !names[i + 1], names[i]);
    }
    return error_set(error, STATUS_INPUT, "%s: '%s', expected %s", option, text, expected);
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
