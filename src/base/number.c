#include "base/number.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digits.h"
#include "base/uint128.h"

/* --- Powers of ten to 128 bits, for correctly rounded conversions between decimal and binary. ---
 */

#define POWER_MIN (-342)
#define POWER_MAX 324

/* 10^k scaled by a power of two to [2^127, 2^128) and rounded up: hi * 2^64 + lo. Exact for k from
 * 0 to POWER_LAST_EXACT, too large by less than one elsewhere. */
struct power_of_ten {
    uint64_t hi, lo;
};

#define POWER_LAST_EXACT 55

/* floor(log2(10^k)) for k in [POWER_MIN, POWER_MAX]. */
static inline int power_of_ten_log2(int k)
{
    return (k * 1741647) >> 19;
}

static struct power_of_ten table[POWER_MAX - POWER_MIN + 1];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* 10^k and 5^k differ by a power of two, so the table holds the upper bits of 5^k. From k = 0 on up
 * and down, 256 bits of 5^k, in two halves of which the upper begins with a one, are multiplied by
 * 5 / 8 or divided by 5, cut off, and moved up. What is cut off in all steps is less than 2^13 in
 * the lowest place. Only if the lower half had ones everywhere but there would the upper half, plus
 * one where the lower is not zero, be wrong; no power is so. */
static void fill_table(void)
{
    for (int step = -1; step <= 1; step += 2) {
        uint128 upper = (uint128)1 << 127, lower = 0;
        for (int k = 0; k >= POWER_MIN && k <= POWER_MAX; k += step) {
            const uint128 rounded = upper + (lower != 0);
            table[k - POWER_MIN] =
                (struct power_of_ten){(uint64_t)(rounded >> 64), (uint64_t)rounded};
            if (step > 0) { /* a half and an eighth */
                const uint128 half = lower >> 1 | upper << 127, eighth = lower >> 3 | upper << 125;
                lower = half + eighth;
                upper = (upper >> 1) + (upper >> 3) + (lower < half);
            } else { /* 2^128 is 1 more than a multiple of 5 */
                const uint128 rest = upper % 5, fifth = ~(uint128)0 / 5;
                lower = rest * fifth + lower / 5 + (lower % 5 + rest) / 5;
                upper /= 5;
            }
            for (; !(upper >> 127); lower <<= 1)
                upper = upper << 1 | lower >> 127;
        }
    }
}

/* The power for k in [POWER_MIN, POWER_MAX]. The first call computes the table; any thread may
 * call. */
static struct power_of_ten power_of_ten(int k)
{
    pthread_once(&table_once, fill_table);
    return table[k - POWER_MIN];
}

/* --- From text, then to text. --- */

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
        digits |= p > fraction;
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
    const double mantissa = (double)d->mantissa;
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
    const bool nan = end - text >= 3 && strncasecmp(text, "nan", 3) == 0;
    if (!nan && (end - text < 3 || strncasecmp(text, "inf", 3) != 0))
        return NULL;
    *value = nan ? NAN : INFINITY;
    return text + (end - text >= 8 && strncasecmp(text, "infinity", 8) == 0 ? 8 : 3);
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

/* The number digits * 10^exponent. */
struct shortest {
    uint64_t digits;
    int exponent;
};

/* Numbers whose leading digit has an exponent in this range are written without an e. */
#define PLAIN_MIN (-5)
#define PLAIN_MAX 16

/* n * power / 2^128; the lowest bit is set where bits were cut off. */
static uint64_t multiply_round_to_odd(uint64_t n, struct power_of_ten power)
{
    uint128 product = (uint128)n * power.hi + (uint64_t)(((uint128)n * power.lo) >> 64);
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* The shortest decimal in the interval that rounds to c * 2^q; of several, the nearest. The
 * interval is wider than 10^k and narrower than 10^(k+1), so it holds at least one multiple of 10^k
 * and at most one of 10^(k+1) (Giulietti, The Schubfach way to render doubles, 2020). All
 * quantities are in quarters of 10^k, so that the ends of the interval are whole numbers. */
static struct shortest shortest_decimal(uint64_t c, int q, bool lower_is_nearer)
{
    /* floor(log10(3/4 * 2^q)) or floor(log10(2^q)) */
    int k = (q * 1262611 - (lower_is_nearer ? 524031 : 0)) >> 22;
    struct power_of_ten power = power_of_ten(-k);
    int h = q + power_of_ten_log2(-k) + 1;
    uint64_t lower = multiply_round_to_odd((4 * c - (lower_is_nearer ? 1 : 2)) << h, power);
    uint64_t value = multiply_round_to_odd((4 * c) << h, power);
    uint64_t upper = multiply_round_to_odd((4 * c + 2) << h, power);
    if (c % 2) { /* the ends are ties, which would be read as the even neighbour */
        lower++;
        upper--;
    }

    uint64_t s = value / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above)
            return (struct shortest){tens + above, k + 1};
    }
    bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above)
        return (struct shortest){s + above, k};
    uint64_t middle = 4 * s + 2;
    return (struct shortest){s + (value > middle || (value == middle && s % 2)), k};
}

static int count_digits(uint64_t value)
{
    int count = 1;
    for (; value >= 10000; value /= 10000)
        count += 4;
    return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* Writes the last `count` digits of value, with leading zeros. */
static char *write_digits(uint64_t value, int count, char *text)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    int left = count;
    for (; left >= 2; left -= 2, value /= 100)
        memcpy(text + left - 2, pairs + 2 * (value % 100), 2);
    if (left)
        text[0] = (char)('0' + value % 10);
    return text + count;
}

char *number_format_unsigned(uint64_t value, char *text)
{
    return write_digits(value, count_digits(value), text);
}

static char *write_decimal(struct shortest decimal, char *text)
{
    /* Trailing zeros (at most 16) go in few steps, because short numbers have many. */
    static const struct {
        uint64_t power;
        int zeros;
    } step[] = {{100000000, 8}, {100000000, 8}, {10000, 4}, {100, 2}, {10, 1}};
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++)
        if (decimal.digits % step[i].power == 0) {
            decimal.digits /= step[i].power;
            decimal.exponent += step[i].zeros;
        }
    const int count = count_digits(decimal.digits);
    const int leading = decimal.exponent + count - 1; /* exponent of the first digit */
    if (leading < 0 && leading >= PLAIN_MIN) {
        text = mempcpy(text, "0.0000", (size_t)(1 - leading));
        return write_digits(decimal.digits, count, text);
    }
    const bool plain = leading >= 0 && leading <= PLAIN_MAX;
    const int whole = plain ? leading + 1 : 1; /* digits before the point */
    if (count <= whole) {
        text = write_digits(decimal.digits, count, text);
        memset(text, '0', (size_t)(whole - count));
        text += whole - count;
    } else {
        write_digits(decimal.digits, count, text + 1);
        memmove(text, text + 1, (size_t)whole);
        text[whole] = '.';
        text += count + 1;
    }
    if (plain)
        return text;
    *text++ = 'e';
    if (leading < 0)
        *text++ = '-';
    return number_format_unsigned((uint64_t)abs(leading), text);
}

char *number_format(double value, char *text)
{
    if (isnan(value))
        return mempcpy(text, "nan", 3);
    if (signbit(value))
        *text++ = '-';
    double magnitude = fabs(value);
    if (isinf(magnitude))
        return mempcpy(text, "inf", 3);
    /* Whole numbers below 2^53 need all their digits: their neighbours are at most 1 away. */
    if (magnitude < 0x1p53 && magnitude == (double)(uint64_t)magnitude)
        return number_format_unsigned((uint64_t)magnitude, text);

    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52);
    uint64_t c = biased ? fraction | UINT64_C(1) << 52 : fraction;
    int q = (biased ? biased : 1) - 1075;
    return write_decimal(shortest_decimal(c, q, fraction == 0 && biased > 1), text);
}

const char *number_size(uint64_t bytes, char *text)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        snprintf(text, NUMBER_SIZE_TEXT, "%d byte%s", (int)bytes, bytes == 1 ? "" : "s");
        return text;
    }
    double amount = (double)bytes / 1000;
    int unit = 0;
    for (; amount >= 999.5 && unit < 5; unit++) /* 999.5 would be written as 1000 */
        amount /= 1000;
    const int decimals = (amount < 9.995) + (amount < 99.95);
    snprintf(text, NUMBER_SIZE_TEXT, "%.*f %s", decimals, amount, units[unit]);
    return text;
}

uint64_t number_whole(double bytes)
{
    return bytes < 0x1p64 ? (uint64_t)bytes : UINT64_MAX;
}
