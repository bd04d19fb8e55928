#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digits.h"
#include "base/powers_of_ten.h"
#include "base/uint128.h"

/* So many digits tell on which side of any rounding border a number lies. */
#define MAX_DIGITS 768

/* Larger exponents change nothing more: no address space holds enough digits to make up for this
 * one. */
#define HUGE_EXPONENT INT64_C(100000000000000000)

/* The number mantissa * 10^exponent, whose digits stand in [text, end) with at most one point. */
struct decimal {
    const char *text, *end;
    uint64_t mantissa; /* valid up to 19 significant digits, unused above */
    int64_t exponent;
    int64_t significant; /* digits from the first that is not zero */
};

/* Adds the digits at text to d; returns the first byte after the digits. */
static const char *scan_digits(const char *text, const char *end, struct decimal *d)
{
    const char *p = text;
    if (d->significant == 0)
        while (p < end && *p == '0')
            p++;
    const char *first = p;
    uint64_t mantissa = d->mantissa;
    for (; p < end && is_digit(*p); p++)
        mantissa = mantissa * 10 + (uint64_t)(*p - '0');
    d->mantissa = mantissa;
    d->significant += p - first;
    return p;
}

/* Adds the exponent at text, which begins with an e, to d; returns the first byte after the
 * exponent, or text where no digit follows the e. */
static const char *scan_exponent(const char *text, const char *end, struct decimal *d)
{
    const char *p = text + 1;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return text;
    int64_t exponent = 0;
    for (; p < end && is_digit(*p); p++)
        if (exponent < HUGE_EXPONENT)
            exponent = exponent * 10 + (*p - '0');
    d->exponent += negative ? -exponent : exponent;
    return p;
}

/* Scans the unsigned decimal number at text; returns the first byte after it, or NULL where there
 * is none. */
static const char *scan_decimal(const char *text, const char *end, struct decimal *d)
{
    *d = (struct decimal){.text = text};
    const char *p = scan_digits(text, end, d);
    bool digits = p > text;
    if (p < end && *p == '.') {
        const char *fraction = p + 1;
        p = scan_digits(fraction, end, d);
        d->exponent = fraction - p;
        if (p > fraction)
            digits = true;
        else if (!digits)
            return NULL;
    }
    d->end = p;
    if (!digits)
        return NULL;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = scan_exponent(p, end, d);
    return p;
}

/* One operation on exact operands rounds correctly (Clinger, How to read floating point numbers
 * accurately, 1990). False where mantissa or power of ten is not exact. */
static bool scale_exact(const struct decimal *d, double *value)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->mantissa > UINT64_C(1) << 53 || d->exponent < -22 || d->exponent > 22)
        return false;
    double mantissa = (double)d->mantissa;
    *value = d->exponent < 0 ? mantissa / power[-d->exponent] : mantissa * power[d->exponent];
    return true;
}

/* Multiplies mantissa and power of ten to 192 bits (Lemire, Number parsing at a gigabyte per
 * second, 2021). The product may be too large, by less than one mantissa in the lowest place,
 * because the power is rounded up. Where the least and the most that it can be have the same upper
 * 54 bits, these decide the rounding: there is no tie, since more bits follow. False where they
 * differ, or where the result is not a normal number. */
static bool scale_wide(const struct decimal *d, double *value)
{
    if (d->mantissa == 0 || d->exponent < POWER_MIN || d->exponent > POWER_MAX ||
        (d->exponent >= 0 && d->exponent <= POWER_LAST_EXACT))
        return false;
    int k = (int)d->exponent;
    int zeros = __builtin_clzll(d->mantissa);
    uint64_t mantissa = d->mantissa << zeros;
    struct power_of_ten power = power_of_ten(k);

    uint128 low = (uint128)mantissa * power.lo;
    uint128 most = (uint128)mantissa * power.hi + (uint64_t)(low >> 64);
    uint64_t rest = (uint64_t)low;
    uint128 least = most - (rest < mantissa);
    most -= rest == 0;

    int shift = (most >> 127) ? 74 : 73;
    uint64_t upper = (uint64_t)(most >> shift); /* 53 bits and the one that decides */
    if ((uint64_t)(least >> shift) != upper)
        return false;

    int exponent = shift + 1 + 64 - zeros + power_of_ten_log2(k) - 127;
    if (exponent < -1074 || exponent > 970)
        return false;
    uint64_t rounded = (upper + 1) >> 1; /* 2^52 to 2^53; the latter carries into the exponent */
    uint64_t bits = ((uint64_t)(exponent + 1074) << 52) + rounded;
    memcpy(value, &bits, sizeof bits);
    return true;
}

/* Any number, by strtod on a copy: without a point, so that no locale matters, and cut after
 * MAX_DIGITS digits, where all further digits count only as one last digit that is not zero. */
static double scale_any(const struct decimal *d)
{
    char copy[MAX_DIGITS + 32];
    int count = 0;
    int64_t exponent = d->exponent;
    bool more = false;
    for (const char *p = d->text; p < d->end; p++) {
        if (*p == '.' || (count == 0 && *p == '0'))
            continue;
        if (count < MAX_DIGITS) {
            copy[count++] = *p;
        } else {
            more |= *p != '0';
            exponent++;
        }
    }
    if (count == 0)
        return 0.0;
    if (more) {
        copy[count++] = '1';
        exponent--;
    }
    if (exponent > 9999 || exponent < -9999)
        exponent = exponent < 0 ? -9999 : 9999;
    snprintf(copy + count, sizeof copy - (size_t)count, "e%d", (int)exponent);
    return strtod(copy, NULL);
}

/* Parses inf, infinity and nan in any case; NULL where text begins with none of them. */
static const char *parse_special(const char *text, const char *end, double *value)
{
    static const struct {
        const char *name;
        size_t length;
        double value;
    } special[] = {{"infinity", 8, INFINITY}, {"inf", 3, INFINITY}, {"nan", 3, NAN}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if ((size_t)(end - text) >= special[i].length &&
            strncasecmp(text, special[i].name, special[i].length) == 0) {
            *value = special[i].value;
            return text + special[i].length;
        }
    return NULL;
}

const char *number_parse(const char *text, const char *end, double *value)
{
    const char *p = text;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;

    struct decimal d;
    double magnitude;
    const char *after = scan_decimal(p, end, &d);
    if (!after)
        after = parse_special(p, end, &magnitude);
    else if (d.significant > 19 || (!scale_exact(&d, &magnitude) && !scale_wide(&d, &magnitude)))
        magnitude = scale_any(&d);
    if (after)
        *value = negative ? -magnitude : magnitude;
    return after;
}

const char *number_parse_unknown(const char *text, const char *end)
{
    const char *p = text;
    bool has_sign = p < end && (*p == '-' || *p == '+');
    p += has_sign;
    if (end - p >= 3 && strncasecmp(p, "nan", 3) == 0)
        return p + 3;
    if (!has_sign && end - p >= 2 && strncasecmp(p, "na", 2) == 0)
        return p + 2;
    return NULL;
}

const char *number_parse_unsigned(const char *text, const char *end, uint64_t *value)
{
    const char *p = text;
    uint64_t number = 0;
    bool fits = true;
    for (; p < end && is_digit(*p); p++)
        fits = fits && !__builtin_mul_overflow(number, 10, &number) &&
               !__builtin_add_overflow(number, (uint64_t)(*p - '0'), &number);
    if (p == text)
        return NULL;
    *value = fits ? number : UINT64_MAX;
    return p;
}
