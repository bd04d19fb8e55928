#include "commands/options/cli_modes.h"

#include <string.h>

#include "base/number.h"
#include "commands/options/cli_values.h"
#include "tensor/shape.h"

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

/* *number = the one at *at, which a comma or the end of the text follows. */
static enum status take_number(const struct list *l, const char **at, double *number,
                               struct error *error)
{
    char word[64];
    size_t length = strcspn(*at, ",");
    if (length >= sizeof word)
        return refuse(l, error);
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return cli_nonnegative(l->option, word, number, error);
}

enum status cli_mode_numbers(const char *option, const char *text, double *value, bool *listed,
                             int *most, struct error *error)
{
    struct list l = {.option = option,
                     .text = text,
                     .expected = "a number of 0 or more, or such of modes as 1=0.5,3=0"};
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
        TRY(take_number(&l, &at, &number, error));
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
