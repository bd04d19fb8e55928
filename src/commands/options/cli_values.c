#include "commands/options/cli_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "plan/process_grid.h"
#include "tensor/shape.h"

#define MAX_TIME 1000000000 /* of one unit */

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

enum status cli_nonnegative(const char *option, const char *text, double *value,
                            struct error *error)
{
    const char *end = text + strlen(text);
    const char *rest = number_parse(text, end, value);
    if (!rest || rest != end || !isfinite(*value) || *value < 0)
        return error_set(error, STATUS_INPUT, "%s: '%s', expected a number of 0 or more", option,
                         text);
    if (*value == 0 && strcspn(text, "123456789") < strcspn(text, "eE")) /* no zero as written */
        return error_set(error, STATUS_INPUT,
                         "%s: '%s' is too small for a number of double precision", option, text);
    return STATUS_OK;
}

/* Reads 1 to MAX_ORDER numbers from 1 to `most` with commas or x between; whether that is all of
 * the text. Where numbers may be left out, `-` is read as 0. */
static bool read_list(const char *text, uint64_t most, bool may_lack, uint64_t *numbers, int *count)
{
    const char *end = text + strlen(text);
    const char *rest = text;
    for (*count = 0; *count < MAX_ORDER; rest++) {
        const bool lacks = may_lack && *rest == '-';
        numbers[*count] = 0;
        rest = lacks ? rest + 1 : number_parse_unsigned(rest, end, &numbers[*count]);
        if (!rest || numbers[*count] > most || (numbers[*count] == 0 && !lacks))
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
    if (read_list(text, MAX_LENGTH, true, lengths, count))
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "%s: '%s', expected 1 to %d lengths from 1 to %ju, as 4,5,6 or 4x5x6", option,
                     text, MAX_ORDER, (uintmax_t)MAX_LENGTH);
}

enum status cli_grid(const char *option, const char *text, int *parts, int *count,
                     struct error *error)
{
    uint64_t numbers[MAX_ORDER], ranks = 1;
    bool is_list = read_list(text, MAX_RANKS, false, numbers, count);
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

enum status cli_choice(const char *option, const char *text, const struct word *words, int *value,
                       struct error *error)
{
    char expected[256] = "";
    if (word_find(words, text, strlen(text), value))
        return STATUS_OK;
    words_list(expected, sizeof expected, words, ", ", " or ");
    return error_set(error, STATUS_INPUT, "%s: '%s', expected %s", option, text, expected);
}

/* The bits of the words, separated by commas. */
static enum status read_words(const struct cli_option *o, const char *text, unsigned *to,
                              struct error *error)
{
    char expected[256] = "";
    unsigned bits = 0;
    for (const char *word = text;; word++) {
        const size_t length = strcspn(word, ",");
        int bit;
        if (!word_find(o->words, word, length, &bit)) {
            words_list(expected, sizeof expected, o->words, ", ", " or ");
            return error_set(error, STATUS_INPUT,
                             "%s: '%s', expected %s, or several of them separated by commas",
                             o->name, text, expected);
        }
        if (bits & (unsigned)bit)
            return error_set(error, STATUS_INPUT, "%s: '%.*s' twice, expected each word once",
                             o->name, (int)length, word);
        bits |= (unsigned)bit;
        word += length;
        if (!*word)
            break;
    }
    *to = bits;
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

enum status cli_set_kind(const struct cli_option *o, void *to, const char *text,
                         struct error *error)
{
    uint64_t number;
    int value;
    switch (o->kind) {
    case CLI_IS_FLAG:
        *(bool *)to = true;
        return STATUS_OK;
    case CLI_IS_UNSIGNED:
        return cli_unsigned(o->name, text, o->least, o->most, to, error);
    case CLI_IS_INT:
        TRY(cli_unsigned(o->name, text, o->least, o->most, &number, error));
        *(int *)to = (int)number;
        return STATUS_OK;
    case CLI_IS_NUMBER:
        return cli_nonnegative(o->name, text, to, error);
    case CLI_IS_SIZE:
        return cli_size(o->name, text, to, error);
    case CLI_IS_DURATION:
        return cli_duration(o->name, text, to, error);
    case CLI_IS_CHOICE:
        return cli_choice(o->name, text, o->words, to, error);
    case CLI_IS_WORDS:
        return read_words(o, text, to, error);
    case CLI_IS_WORD:
        TRY(cli_choice(o->name, text, o->words, &value, error));
        break;
    case CLI_IS_FILE:
    case CLI_IS_NAME:
        if (o->kind == CLI_IS_FILE && strcmp(text, "-") == 0)
            return error_set(error, STATUS_INPUT, "%s: '-', expected the name of a file", o->name);
        if (!*text)
            return error_set(error, STATUS_INPUT, "%s: '', expected a name", o->name);
        break;
    case CLI_IS_TEXT:
    case CLI_IS_OWN:
        break;
    }
    *(const char **)to = text;
    return STATUS_OK;
}

/* The modes of a list, each once. */
struct list {
    const char *option, *text;
    const char *expected; /* what the text should be  */
    bool has[MAX_ORDER];  /* the modes so far         */
    int mode, largest;    /* the last one, from 1; the largest so far */
};

static enum status refuse(const struct list *l, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: '%s', expected %s", l->option, l->text, l->expected);
}

/* Takes the number of a mode at *at, which one of `separators` or the end of the text follows. */
static enum status take_mode(struct list *l, const char **at, const char *separators,
                             struct error *error)
{
    uint64_t number;
    const char *end = number_parse_unsigned(*at, *at + strlen(*at), &number);
    if (!end || number < 1 || number > MAX_ORDER || !strchr(separators, *end))
        return refuse(l, error);
    if (l->has[number - 1])
        return error_set(error, STATUS_INPUT, "%s: mode %d twice, expected each mode once",
                         l->option, (int)number);
    l->has[number - 1] = true;
    l->mode = (int)number;
    l->largest = l->mode > l->largest ? l->mode : l->largest;
    *at = end;
    return STATUS_OK;
}

enum status cli_modes(const char *option, const char *text, bool *flag, int *most,
                      struct error *error)
{
    struct list l = {
        .option = option, .text = text, .expected = "numbers of modes, from 1 to 16, as 1,3"};
    memcpy(l.has, flag, sizeof l.has);
    for (const char *at = text;; at++) {
        TRY(take_mode(&l, &at, ",", error));
        if (!*at)
            break;
    }
    memcpy(flag, l.has, sizeof l.has);
    *most = l.largest > *most ? l.largest : *most;
    return STATUS_OK;
}

enum status cli_mode_numbers(const char *option, const char *text, double *value, bool *listed,
                             int *most, struct error *error)
{
    struct list l = {.option = option,
                     .text = text,
                     .expected = "a number of 0 or more, or such of modes as 1=0.5,3=0"};
    char word[64];
    double number, all[MAX_ORDER];
    memcpy(all, value, sizeof all);
    if (!strchr(text, '=')) {
        TRY(cli_nonnegative(option, text, &number, error));
        for (int n = 0; n < MAX_ORDER; n++)
            value[n] = number;
        memset(listed, 0, sizeof l.has);
        return STATUS_OK;
    }
    for (const char *at = text;; at++) {
        TRY(take_mode(&l, &at, "=", error));
        if (!*at)
            return refuse(&l, error);
        at++;
        const size_t length = strcspn(at, ",");
        if (length >= sizeof word)
            return refuse(&l, error);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length;
        TRY(cli_nonnegative(option, word, &number, error));
        all[l.mode - 1] = number;
        if (!*at)
            break;
    }
    memcpy(value, all, sizeof all);
    for (int n = 0; n < MAX_ORDER; n++)
        listed[n] = listed[n] || l.has[n];
    *most = l.largest > *most ? l.largest : *most;
    return STATUS_OK;
}
