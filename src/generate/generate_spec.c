/* What a skewed tensor is to be: the options that say it, presets, and what is refused. */
#include "generate/generate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
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
static enum status parse_skew(const char *text, struct generate_spec *spec, struct error *error)
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

static enum status parse_fibers(const char *text, struct generate_spec *spec, struct error *error)
{
    if (!take_fibers(text, (uint64_t)spec->shape.order, &spec->skew))
        return error_set(
            error, STATUS_INPUT,
            "--fibers: '%s', expected the number of combinations, different modes from 1 to %d "
            "and perhaps a Zipf exponent, as 100000:1,2:0.5",
            text, spec->shape.order);
    return STATUS_OK;
}

static enum status parse_runs(const char *text, struct generate_spec *spec, struct error *error)
{
    struct generate_skew *s = &spec->skew;
    const char *rest = text;
    uint64_t mode = 0;
    const bool numbers =
        take_count(&rest, ":", &mode) && mode >= 1 && mode <= (uint64_t)spec->shape.order &&
        take_number(&rest, ':', &s->run_fraction) && take_number(&rest, ':', &s->run_length) &&
        s->run_fraction >= 0 && s->run_fraction <= 1 && s->run_length >= 1;
    s->run_mode = (int)mode - 1;
    s->run_scattered = numbers && strcmp(rest, "scattered") == 0;
    if (numbers && (s->run_scattered || (*rest == '\0' && rest[-1] != ':')))
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "--runs: '%s', expected a mode from 1 to %d, a fraction from 0 to 1, a mean "
                     "length of 1 or more and perhaps `scattered`, as 2:0.5:4",
                     text, spec->shape.order);
}

enum status generate_read(struct generate_spec *spec, const struct generate_recipe *recipe,
                          struct error *error)
{
    *spec = (struct generate_spec){.shape = recipe->shape, .nnz = recipe->nnz};
    if (recipe->skew)
        TRY(parse_skew(recipe->skew, spec, error));
    if (recipe->fibers)
        TRY(parse_fibers(recipe->fibers, spec, error));
    if (recipe->runs)
        TRY(parse_runs(recipe->runs, spec, error));
    return STATUS_OK;
}

enum status generate_check(const struct generate_spec *spec, struct error *error)
{
    const struct generate_skew *s = &spec->skew;
    if (spec->nnz < 1 || spec->nnz > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, expected 1 to %ju",
                         (uintmax_t)spec->nnz, (uintmax_t)MAX_NNZ);
    TRY(place_check(&spec->shape, spec->nnz, error));
    for (int n = 0; n < spec->shape.order; n++)
        if (s->exponent[n] != GENERATE_EVEN &&
            !(s->exponent[n] >= 0 && s->exponent[n] <= GENERATE_MOST_SKEW))
            return error_set(error, STATUS_INPUT, "skew: Zipf exponent %g, expected 0 to %g",
                             s->exponent[n], GENERATE_MOST_SKEW);
    if (s->pool > MAX_NNZ)
        return error_set(error, STATUS_INPUT,
                         "fibers: expected up to %ju combinations of some of the %d modes",
                         (uintmax_t)MAX_NNZ, spec->shape.order);
    if (!(s->pool_exponent >= 0 && s->pool_exponent <= GENERATE_MOST_SKEW))
        return error_set(error, STATUS_INPUT, "fibers: Zipf exponent %g, expected 0 to %g",
                         s->pool_exponent, GENERATE_MOST_SKEW);
    return STATUS_OK;
}

/* Lengths and numbers of nonzeros are the published ones. The exponents were fitted to the
 * published numbers of nonempty fibers and slices; those of the last three are guesses. */
const struct generate_recipe generate_presets[] = {
    {"nips", {4, {2482, 2862, 14036, 17}}, 3101609, "0.1,0.65,1.0,0.2", "5600:1,2,4:0.4", NULL},
    {"uber", {4, {183, 24, 1140, 1717}}, 3309490, "0.1,0.35,0.85,0.85", "100000:3,4:1", "1:0.2:2"},
    {"chicago", {4, {6186, 24, 77, 32}}, 5330673, "0.05,0.25,0.4,0.9", NULL, "1:0.1:2"},
    {"vast", {3, {165427, 11374, 2}}, 26021945, "0.42,0.3,4", NULL, "1:0.6:6"},
    {"darpa", {3, {22476, 22476, 23776223}}, 28436033, "1,1,even", "400000:1,2:0.9", "3:0.5:4"},
    {"enron",
     {4, {6066, 5699, 244268, 1176}},
     54202099,
     "0.75,0.6,0.95,0.2",
     "4300000:1,3:0.6",
     "2:0.5:3:scattered"},
    {"nell2", {3, {12092, 9184, 28818}}, 76879419, "0.45,0.85,0.48", "32000000:1,3:0.65", NULL},
    {"fb-m", {3, {23344784, 23344784, 166}}, 99546551, "0.3,0.75,0.9", NULL, "2:0.7:4:scattered"},
    {"flickr",
     {4, {319686, 28153045, 1607191, 731}},
     112890310,
     "0.7,even,0.85,0.3",
     "28153045:1,2,4:0.42",
     NULL},
    {"delicious",
     {4, {532924, 17262471, 2480308, 1443}},
     140126181,
     "0.5,0.6,0.85,0.3",
     "50000000:1,2,4:0.2",
     NULL},
    {"nell1",
     {3, {2902330, 2143368, 25495389}},
     143599552,
     "0.6,0.6,0.6",
     "40000000:1,2:0.5",
     NULL},
    /* reviewer, product, word: a review's words come together */
    {"amazon",
     {3, {4821207, 1774269, 1805187}},
     1741809018,
     "0.5,0.6,0.9",
     "34000000:1,2:0.3",
     NULL},
    /* year, term, term: half of a year's pairs of terms occur in other years, too */
    {"patents", {3, {46, 239172, 239172}}, 3596640708, "0.1,0.5,0.5", NULL, "1:0.5:4"},
    /* user, forum, word: a user's words in one forum */
    {"reddit",
     {3, {8211298, 176962, 8116559}},
     4687474081,
     "0.6,0.9,0.95",
     "60000000:1,2:0.5",
     NULL},
    {0},
};

enum status place_sort(struct coo *x, const struct ordering *o, struct error *error)
{
    uint64_t *position = ordering_positions(x->nnz, error);
    uint64_t *key = position ? memory_array(x->nnz, sizeof *key, error) : NULL;
    if (!key)
        goto done;
    TRY_OR(done, ordering_sort(o, x, position, x->nnz, key, error));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < x->nnz; i++) /* drops places that repeat the one before them */
        if (kept == 0 || coo_compare(x, position[i], position[kept - 1]) != 0)
            position[kept++] = position[i];
    TRY_OR(done, coo_permute(x, position, kept, error));
    x->nnz = kept;
done:
    memory_free(key, position);
    return error->status;
}

enum status place_check(const struct shape *shape, uint64_t nnz, struct error *error)
{
    uint64_t places = 1;
    for (int n = 0; n < shape->order; n++)
        if (__builtin_mul_overflow(places, shape->dims[n], &places))
            return STATUS_OK;
    if (places < nnz)
        return error_set(error, STATUS_INPUT, "%ju nonzeros, but the tensor has %ju cells only",
                         (uintmax_t)nnz, (uintmax_t)places);
    return STATUS_OK;
}
