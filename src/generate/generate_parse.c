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

/* "100000:3,4:1.5" */
enum status generate_parse_fibers(const char *text, struct generate_spec *spec, struct error *error)
{
    const char *rest = text;
    struct generate_skew *skew = &spec->skew;
    bool good = take_count(&rest, ":", &skew->pool) && skew->pool > 0;
    uint32_t modes = 0;
    for (bool more = good; more;) {
        uint64_t mode = 0;
        const char *end = number_parse_unsigned(rest, rest + strlen(rest), &mode);
        good =
            end && mode >= 1 && mode <= (uint64_t)spec->shape.order && !(modes >> (mode - 1) & 1);
        if (!good)
            break;
        modes |= UINT32_C(1) << (mode - 1);
        more = *end == ',';
        rest = more ? end + 1 : end;
    }
    if (good && *rest == ':') {
        rest++;
        good = take_number(&rest, '\0', &skew->pool_exponent);
    }
    skew->pool_modes = modes;
    if (!good || *rest)
        return error_set(error, STATUS_INPUT,
                         "--fibers: '%s', expected the number of combinations, different modes "
                         "from 1 to %d and perhaps a Zipf exponent, as 100000:1,2:0.5",
                         text, spec->shape.order);
    return STATUS_OK;
}

/* "2:0.5:4" or "2:0.5:4:scattered" */
enum status generate_parse_runs(const char *text, struct generate_spec *spec, struct error *error)
{
    const char *rest = text;
    struct generate_skew *skew = &spec->skew;
    uint64_t mode = 0;
    bool good = take_count(&rest, ":", &mode) && mode >= 1 && mode <= (uint64_t)spec->shape.order &&
                take_number(&rest, ':', &skew->run_fraction) && skew->run_fraction >= 0 &&
                skew->run_fraction <= 1 && take_number(&rest, ':', &skew->run_length) &&
                skew->run_length >= 1;
    skew->run_mode = (int)mode - 1;
    skew->run_scattered = good && strcmp(rest, "scattered") == 0;
    if (!good || (*rest && !skew->run_scattered) || (!*rest && rest[-1] == ':'))
        return error_set(error, STATUS_INPUT,
                         "--runs: '%s', expected a mode from 1 to %d, a fraction from 0 to 1, a "
                         "mean length of 1 or more and perhaps `scattered`, as 2:0.5:4",
                         text, spec->shape.order);
    return STATUS_OK;
}
