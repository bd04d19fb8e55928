/* Whole numbers of 128 bits: ISO C has none, GCC and Clang do. */
#pragma once

__extension__ typedef unsigned __int128 uint128;
