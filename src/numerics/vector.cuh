/* 16-byte vectors of double or float: the unit in which rows of factor matrices are moved. */
#pragma once

#include <cuda_runtime.h>

template <typename T> struct vector_of;
template <> struct vector_of<double> {
    using type = double2;
};
template <> struct vector_of<float> {
    using type = float4;
};
template <typename T> using vector = typename vector_of<T>::type;

template <typename V> __device__ __forceinline__ V splat(double x);
template <> __device__ __forceinline__ double2 splat<double2>(double x)
{
    return make_double2(x, x);
}
template <> __device__ __forceinline__ float4 splat<float4>(double x)
{
    float f = static_cast<float>(x);
    return make_float4(f, f, f, f);
}

__device__ __forceinline__ double2 operator*(double2 a, double2 b)
{
    return make_double2(a.x * b.x, a.y * b.y);
}
__device__ __forceinline__ float4 operator*(float4 a, float4 b)
{
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ __forceinline__ double2 operator+(double2 a, double2 b)
{
    return make_double2(a.x + b.x, a.y + b.y);
}
__device__ __forceinline__ float4 operator+(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* sum + scale * a */
__device__ __forceinline__ double2 multiply_add(double scale, double2 a, double2 sum)
{
    return make_double2(fma(scale, a.x, sum.x), fma(scale, a.y, sum.y));
}
__device__ __forceinline__ float4 multiply_add(float scale, float4 a, float4 sum)
{
    return make_float4(fmaf(scale, a.x, sum.x), fmaf(scale, a.y, sum.y), fmaf(scale, a.z, sum.z),
                       fmaf(scale, a.w, sum.w));
}

__device__ __forceinline__ void atomic_add(double2 *to, double2 a)
{
    atomicAdd(&to->x, a.x);
    atomicAdd(&to->y, a.y);
}
__device__ __forceinline__ void atomic_add(float4 *to, float4 a)
{
#if __CUDA_ARCH__ >= 900
    atomicAdd(to, a); /* one 16-byte reduction */
#else
    atomicAdd(&to->x, a.x);
    atomicAdd(&to->y, a.y);
    atomicAdd(&to->z, a.z);
    atomicAdd(&to->w, a.w);
#endif
}
