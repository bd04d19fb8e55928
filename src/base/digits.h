/* Decimal digits eight at a time, in one 64-bit word. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "digits.h takes the first character to be the lowest byte of a word"
#endif

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Number of digits at text before the first other byte, among eight readable bytes: 0 to 8. *value
 * receives the number that these digits write; where there is none, *value stays as it is. */
static inline int digits_upto_eight(const char *text, uint64_t *value)
{
    const uint64_t every = UINT64_C(0x0101010101010101);
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word ^= every * '0'; /* digits become 0 to 9 */

    /* The top bit of a byte above 9 is set. A carry spoils only later bytes. */
    uint64_t others = ((word + every * 0x76) | word) & every * 0x80;
    int count = others ? __builtin_ctzll(others) / 8 : 8;
    if (count == 0)
        return 0;

    word <<= 64 - 8 * count; /* zeros in front, up to eight digits */
    word = (word * (10 << 8 | 1)) >> 8 & UINT64_C(0x00ff00ff00ff00ff);
    word = (word * (100 << 16 | 1)) >> 16 & UINT64_C(0x0000ffff0000ffff);
    word = (word * (UINT64_C(10000) << 32 | 1)) >> 32;
    *value = word;
    return count;
}
