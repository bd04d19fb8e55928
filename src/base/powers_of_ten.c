#include "base/powers_of_ten.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/uint128.h"

/* A natural number of 960 bits, least significant word first. */
#define WORDS 15

static struct power_of_ten table[POWER_MAX - POWER_MIN + 1];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void times_five(uint64_t *n)
{
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        uint128 product = (uint128)n[i] * 5 + carry;
        n[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
}

static void divide_by_five(uint64_t *n)
{
    uint64_t remainder = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        uint128 dividend = (uint128)remainder << 64 | n[i];
        n[i] = (uint64_t)(dividend / 5);
        remainder = (uint64_t)(dividend % 5);
    }
}

/* The 64 bits from bit `position` (0 or more) upwards. */
static uint64_t bits_from(const uint64_t *n, int position)
{
    int word = position / 64, shift = position % 64;
    uint64_t bits = n[word] >> shift;
    if (shift && word + 1 < WORDS)
        bits |= n[word + 1] << (64 - shift);
    return bits;
}

static bool any_bit_below(const uint64_t *n, int position)
{
    for (int i = 0; i < position / 64; i++)
        if (n[i])
            return true;
    return (n[position / 64] & ((UINT64_C(1) << position % 64) - 1)) != 0;
}

/* The uppermost 128 bits of n, which has more than 128 bits, plus one where bits follow: further
 * bits of n, or, where n is not exact, of the number that was cut off to n. */
static struct power_of_ten upper_bits(const uint64_t *n, bool exact)
{
    int word = WORDS - 1;
    while (!n[word])
        word--;
    int lowest = 64 * word + 63 - __builtin_clzll(n[word]) - 127;
    struct power_of_ten power = {bits_from(n, lowest + 64), bits_from(n, lowest)};
    if (!exact || any_bit_below(n, lowest))
        power.hi += ++power.lo == 0;
    return power;
}

/* 10^k and 5^k differ by a power of two, so the table holds the upper bits of 5^k. For k >= 0 these
 * come from 2^128 * 5^k, which is exact. For k < 0 they come from floor(2^959 / 5^-k), which
 * repeated division finds, since floor(floor(x / 5) / 5) = floor(x / 25); a remainder is always cut
 * off. */
static void fill_table(void)
{
    uint64_t n[WORDS] = {[2] = 1};
    for (int k = 0; k <= POWER_MAX; k++) {
        table[k - POWER_MIN] = upper_bits(n, true);
        times_five(n);
    }
    for (int i = 0; i < WORDS; i++)
        n[i] = i == WORDS - 1 ? UINT64_C(1) << 63 : 0;
    for (int k = -1; k >= POWER_MIN; k--) {
        divide_by_five(n);
        table[k - POWER_MIN] = upper_bits(n, false);
    }
}

struct power_of_ten power_of_ten(int k)
{
    pthread_once(&table_once, fill_table);
    return table[k - POWER_MIN];
}
