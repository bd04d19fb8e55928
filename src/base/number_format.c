#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/powers_of_ten.h"
#include "base/uint128.h"

/* The number digits * 10^exponent. */
struct shortest {
    uint64_t digits;
    int exponent;
};

/* Numbers whose leading digit has an exponent in this range are written without an e. */
#define PLAIN_MIN (-5)
#define PLAIN_MAX 16

static int floor_log10_pow2(int e)
{
    return (e * 1262611) >> 22;
}

/* floor(log10(3/4 * 2^e)) */
static int floor_log10_three_quarters_pow2(int e)
{
    return (e * 1262611 - 524031) >> 22;
}

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
    int k = lower_is_nearer ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
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

static char *write_zeros(int count, char *text)
{
    if (count > 0) {
        memset(text, '0', (size_t)count);
        text += count;
    }
    return text;
}

/* Writes the digits with a point after the first `whole` (1 or more) digits; zeros fill up to the
 * point where there are fewer digits. */
static char *write_with_point(uint64_t digits, int count, int whole, char *text)
{
    if (count <= whole)
        return write_zeros(whole - count, write_digits(digits, count, text));
    write_digits(digits, count, text + 1);
    memmove(text, text + 1, (size_t)whole);
    text[whole] = '.';
    return text + count + 1;
}

/* Removes the trailing zeros (at most 16), in few steps because short numbers have many. */
static void strip_zeros(struct shortest *decimal)
{
    static const struct {
        uint64_t power;
        int zeros;
    } step[] = {{100000000, 8}, {100000000, 8}, {10000, 4}, {100, 2}, {10, 1}};
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++)
        if (decimal->digits % step[i].power == 0) {
            decimal->digits /= step[i].power;
            decimal->exponent += step[i].zeros;
        }
}

static char *write_decimal(struct shortest decimal, char *text)
{
    strip_zeros(&decimal);
    int count = count_digits(decimal.digits);
    int leading = decimal.exponent + count - 1; /* exponent of the first digit */
    if (leading >= 0 && leading <= PLAIN_MAX)
        return write_with_point(decimal.digits, count, leading + 1, text);
    if (leading < 0 && leading >= PLAIN_MIN) {
        memcpy(text, "0.", 2);
        text = write_zeros(-leading - 1, text + 2);
        return write_digits(decimal.digits, count, text);
    }
    text = write_with_point(decimal.digits, count, 1, text);
    *text++ = 'e';
    if (leading < 0)
        *text++ = '-';
    return number_format_unsigned((uint64_t)(leading < 0 ? -leading : leading), text);
}

char *number_format(double value, char *text)
{
    if (isnan(value)) {
        memcpy(text, "nan", 3);
        return text + 3;
    }
    if (signbit(value))
        *text++ = '-';
    double magnitude = fabs(value);
    if (isinf(magnitude)) {
        memcpy(text, "inf", 3);
        return text + 3;
    }
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
    snprintf(text, NUMBER_SIZE_TEXT, "%.*f %s",
             amount < 9.995   ? 2
             : amount < 99.95 ? 1
                              : 0,
             amount, units[unit]);
    return text;
}

uint64_t number_whole(double bytes)
{
    return bytes < 0x1p64 ? (uint64_t)bytes : UINT64_MAX;
}
