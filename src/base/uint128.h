/* Whole numbers of 128 bits: ISO C has none, GCC and Clang do. */
#ifndef BLCO_UINT128_H
#define BLCO_UINT128_H

__extension__ typedef unsigned __int128 uint128;

#endif
