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

/* Reads 1 to MAX_ORDER numbers from 1 to `most` with one of `separators` between; whether that is
 * all of the text. Where numbers may be left out, `-` is read as 0. */
static bool read_list(const char *text, const char *separators, uint64_t most, bool may_lack,
                      uint64_t *numbers, int *count)
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
        if (!strchr(separators, *rest))
            return false;
    }
    return false;
}

enum status cli_lengths(const char *option, const char *text, uint64_t *lengths, int *count,
                        struct error *error)
{
    if (read_list(text, ",x", MAX_LENGTH, true, lengths, count))
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "%s: '%s', expected 1 to %d lengths from 1 to %ju, as 4,5,6 or 4x5x6", option,
                     text, MAX_ORDER, (uintmax_t)MAX_LENGTH);
}

enum status cli_grid(const char *option, const char *text, int *parts, int *count,
                     struct error *error)
{
    uint64_t numbers[MAX_ORDER], ranks = 1;
    bool is_list = read_list(text, ",x", MAX_RANKS, false, numbers, count);
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

/* Adds mode `number`, from 1, to the modes that a list names, each once. */
static enum status add_mode(const char *option, uint64_t number, bool *listed, int *most,
                            struct error *error)
{
    if (listed[number - 1])
        return error_set(error, STATUS_INPUT, "%s: mode %d twice, expected each mode once", option,
                         (int)number);
    listed[number - 1] = true;
    *most = (int)number > *most ? (int)number : *most;
    return STATUS_OK;
}

enum status cli_modes(const char *option, const char *text, bool *flag, int *most,
                      struct error *error)
{
    uint64_t number[MAX_ORDER];
    int count;
    if (!read_list(text, ",", MAX_ORDER, false, number, &count))
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected numbers of modes, from 1 to %d, as 1,3", option, text,
                         MAX_ORDER);
    for (int i = 0; i < count; i++)
        TRY(add_mode(option, number[i], flag, most, error));
    return STATUS_OK;
}

enum status cli_mode_numbers(const char *option, const char *text, double *value, bool *listed,
                             int *most, struct error *error)
{
    bool has[MAX_ORDER] = {false}; /* the modes of this list */
    char word[64];
    if (!strchr(text, '=')) {
        TRY(cli_nonnegative(option, text, &value[0], error));
        for (int n = 1; n < MAX_ORDER; n++)
            value[n] = value[0];
        memset(listed, 0, sizeof has);
        return STATUS_OK;
    }
    for (const char *at = text;; at++) {
        uint64_t mode = 0;
        const char *sign = number_parse_unsigned(at, at + strlen(at), &mode);
        const size_t length = sign && *sign ? strcspn(sign + 1, ",") : sizeof word;
        if (mode < 1 || mode > MAX_ORDER || *sign != '=' || length >= sizeof word)
            return error_set(error, STATUS_INPUT,
                             "%s: '%s', expected a number of 0 or more, or such of modes as "
                             "1=0.5,3=0",
                             option, text);
        snprintf(word, sizeof word, "%.*s", (int)length, sign + 1);
        TRY(add_mode(option, mode, has, most, error));
        TRY(cli_nonnegative(option, word, &value[mode - 1], error));
        listed[mode - 1] = true;
        at = sign + 1 + length;
        if (!*at)
            return STATUS_OK;
    }
}
