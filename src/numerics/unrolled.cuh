/* Loops whose steps the compiler writes out one by one, so that arrays stay in registers. */
#pragma once

/* for (int i = 0; i < count; i++), unrolled. */
#define EACH_UNROLLED(i, count) _Pragma("unroll") for (int i = 0; i < (count); i++)
