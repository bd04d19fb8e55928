#include "commands/options/cli_modes.h"

#include <string.h>

#include "base/number.h"
#include "commands/options/cli_values.h"
#include "tensor/shape.h"

/* The number of a mode at the beginning of text[0..); NULL where there is none, else its end. */
static const char *take_mode(const char *text, int *mode)
{
    uint64_t number;
    const char *end = number_parse_unsigned(text, text + strcspn(text, ",="), &number);
    if (!end || end == text || number < 1 || number > MAX_ORDER)
        return NULL;
    *mode = (int)number;
    return end;
}

static enum status refuse(const char *option, const char *text, const char *expected,
                          struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: '%s', expected %s", option, text, expected);
}

enum status cli_modes(const char *option, const char *text, bool *flag, int *most,
                      struct error *error)
{
    bool all[MAX_ORDER] = {false};
    int mode = 0, largest = 0;
    for (const char *word = text;; word++) {
        word = take_mode(word, &mode);
        if (!word || (*word != ',' && *word))
            return refuse(option, text, "numbers of modes, from 1 to 16, as 1,3", error);
        all[mode - 1] = true;
        largest = mode > largest ? mode : largest;
        if (!*word)
            break;
    }
    for (int n = 0; n < MAX_ORDER; n++)
        flag[n] = flag[n] || all[n];
    *most = largest > *most ? largest : *most;
    return STATUS_OK;
}

/* *number = the one at the beginning of `text`; *end = where it ends. */
static enum status take_number(const char *option, const char *text, double *number,
                               const char **end, struct error *error)
{
    char word[64];
    size_t length = strcspn(text, ",");
    if (length >= sizeof word)
        return refuse(option, text, "a number of 0 or more", error);
    memcpy(word, text, length);
    word[length] = '\0';
    *end = text + length;
    return cli_nonnegative(option, word, number, error);
}

enum status cli_mode_numbers(const char *option, const char *text, double *value, int *most,
                             struct error *error)
{
    double number, all[MAX_ORDER];
    int mode = 0, largest = 0;
    memcpy(all, value, sizeof all);
    if (!strchr(text, '=')) {
        TRY(cli_nonnegative(option, text, &number, error));
        for (int n = 0; n < MAX_ORDER; n++)
            value[n] = number;
        return STATUS_OK;
    }
    for (const char *word = text;; word++) {
        word = take_mode(word, &mode);
        if (!word || *word != '=')
            return refuse(option, text, "a number of 0 or more, or such of modes as 1=0.5,3=0",
                          error);
        TRY(take_number(option, word + 1, &number, &word, error));
        all[mode - 1] = number;
        largest = mode > largest ? mode : largest;
        if (!*word)
            break;
    }
    memcpy(value, all, sizeof all);
    *most = largest > *most ? largest : *most;
    return STATUS_OK;
}
