#include "commands/options/rank_range.h"

#include <string.h>

#include "base/number.h"
#include "commands/options/cmd_common.h"

/* Numbers with colons between them, at most three; returns how many, or 0 where `text` is anything
 * else. */
static int parse_numbers(const char *text, uint64_t number[3])
{
    const char *end = text + strlen(text);
    for (int count = 0; count < 3; text++) {
        text = number_parse_unsigned(text, end, &number[count++]);
        if (text == end)
            return count;
        if (!text || *text != ':')
            break;
    }
    return 0;
}

enum status rank_range_set(const struct cli_option *o, void *to, const char *text,
                           struct error *error)
{
    struct rank_range *range = to;
    uint64_t number[3] = {0, 0, 1};
    if (!strchr(text, ':')) {
        TRY(cli_unsigned(o->name, text, 1, CMD_MAX_RANK, &number[0], error));
        *range = (struct rank_range){number[0], number[0], 1};
        return STATUS_OK;
    }
    if (parse_numbers(text, number) == 0 || number[0] < 1 || number[1] < number[0] ||
        number[1] > CMD_MAX_RANK || number[2] < 1 || number[2] > CMD_MAX_RANK)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected ranks from 1 to %d, as 1:4 or 4:32:4", o->name, text,
                         CMD_MAX_RANK);
    uint64_t steps = (number[1] - number[0]) / number[2];
    if (steps >= RANK_RANGE_MOST)
        return error_set(error, STATUS_INPUT, "%s: '%s' are %ju ranks, expected %d at most",
                         o->name, text, (uintmax_t)steps + 1, RANK_RANGE_MOST);
    *range = (struct rank_range){number[0], number[0] + steps * number[2], number[2]};
    return STATUS_OK;
}

int rank_range_count(const struct rank_range *range)
{
    return (int)((range->last - range->first) / range->step) + 1;
}
