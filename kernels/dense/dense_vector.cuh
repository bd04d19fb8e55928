/* 16 bytes of a row of a factor matrix, as an array that loops can index. */
#pragma once

template <typename Real> struct alignas(16) vector {
    static constexpr int LENGTH = 16 / sizeof(Real);
    Real x[LENGTH];
};
