#include "generate/generate_parse.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

/* Parses the number at *text, which `separator` or the end must follow, and moves *text past the
 * separator. False if there is no such number. */
static bool take_number(const char **text, char separator, double *value)
{
    const char *rest = number_parse(*text, *text + strlen(*text), value);
    if (!rest || (*rest && *rest != separator) || !isfinite(*value))
        return false;
    *text = *rest ? rest + 1 : rest;
    return true;
}

static bool take_count(const char **text, const char *separators, uint64_t *value)
{
    const char *rest = number_parse_unsigned(*text, *text + strlen(*text), value);
    if (!rest || !*rest || !strchr(separators, *rest) || *value == UINT64_MAX)
        return false; /* UINT64_MAX stands for all larger numbers */
    *text = rest + 1;
    return true;
}

/* "0.5,even,1" */
enum status generate_parse_skew(const char *text, struct generate_spec *spec, struct error *error)
{
    const char *rest = text;
    for (int n = 0; n < spec->shape.order; n++) {
        size_t word = strcspn(rest, ",");
        bool last = n == spec->shape.order - 1;
        if (word == 4 && strncmp(rest, "even", word) == 0) {
            spec->skew.exponent[n] = GENERATE_EVEN;
            rest += rest[word] ? word + 1 : word;
        } else if (!take_number(&rest, ',', &spec->skew.exponent[n]) ||
                   spec->skew.exponent[n] < 0) {
            break;
        }
        bool more = rest[0] || rest[-1] == ',';
        if (more == last)
            break;
        if (last)
            return STATUS_OK;
    }
    return error_set(error, STATUS_INPUT,
                     "--skew: '%s', expected %d Zipf exponents of 0 or more, or `even`, as "
                     "0.5,even,1",
                     text, spec->shape.order);
}

/* Parses "100000:3,4:1.5" into the members of *skew; false if the text is nothing such. */
static bool take_fibers(const char *rest, uint64_t order, struct generate_skew *skew)
{
    skew->pool_modes = 0;
    if (!take_count(&rest, ":", &skew->pool) || skew->pool == 0)
        return false;
    for (bool more = true; more;) {
        uint64_t mode = 0;
        const char *end = number_parse_unsigned(rest, rest + strlen(rest), &mode);
        if (!end || mode < 1 || mode > order || skew->pool_modes >> (mode - 1) & 1)
            return false;
        skew->pool_modes |= UINT32_C(1) << (mode - 1);
        more = *end == ',';
        rest = more ? end + 1 : end;
    }
    if (*rest != ':')
        return *rest == '\0';
    rest++;
    return take_number(&rest, '\0', &skew->pool_exponent);
}

enum status generate_parse_fibers(const char *text, struct generate_spec *spec, struct error *error)
{
    if (!take_fibers(text, (uint64_t)spec->shape.order, &spec->skew))
        return error_set(
            error, STATUS_INPUT,
            "--fibers: '%s', expected the number of combinations, different modes from 1 to %d "
            "and perhaps a Zipf exponent, as 100000:1,2:0.5",
            text, spec->shape.order);
    return STATUS_OK;
}

/* Likewise "2:0.5:4" or "2:0.5:4:scattered". */
static bool take_runs(const char *rest, uint64_t order, struct generate_skew *skew)
{
    uint64_t mode = 0;
    if (!take_count(&rest, ":", &mode) || mode < 1 || mode > order)
        return false;
    skew->run_mode = (int)mode - 1;
    if (!take_number(&rest, ':', &skew->run_fraction))
        return false;
    if (!take_number(&rest, ':', &skew->run_length))
        return false;
    if (skew->run_fraction < 0 || skew->run_fraction > 1 || skew->run_length < 1)
        return false;
    skew->run_scattered = strcmp(rest, "scattered") == 0;
    return skew->run_scattered || (*rest == '\0' && rest[-1] != ':');
}

enum status generate_parse_runs(const char *text, struct generate_spec *spec, struct error *error)
{
    if (!take_runs(text, (uint64_t)spec->shape.order, &spec->skew))
        return error_set(error, STATUS_INPUT,
                         "--runs: '%s', expected a mode from 1 to %d, a fraction from 0 to 1, a "
                         "mean length of 1 or more and perhaps `scattered`, as 2:0.5:4",
                         text, spec->shape.order);
    return STATUS_OK;
}
