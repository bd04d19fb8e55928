#!/usr/bin/env bash
# shellcheck disable=SC2154 # conda sets the variants
set -euo pipefail

# The variable ARCH of make names GPUs; some tools of conda set one that names the processor.
unset ARCH
options=(PREFIX="$PREFIX" CC="$CC" CXX="${CXX-g++}" MPI=0 CUDA=0)
[ "$mpi" = nompi ] || options+=(MPI=1 MPICC="$PREFIX/bin/mpicc")
if [ "$cuda_compiler_version" != None ]; then
    cuda=$PREFIX/targets/x86_64-linux
    [ "$target_platform" != linux-aarch64 ] || cuda=$PREFIX/targets/sbsa-linux
    options+=(CUDA=1 NVCC="$(command -v nvcc)" CUDA_HOME="$cuda")
    export LDFLAGS="${LDFLAGS-} -L$cuda/lib"
fi

# A variable that stands twice has its last value. CFLAGS, CPPFLAGS and LDFLAGS of conda come after those of blco.
make -j"${CPU_COUNT:-2}" "${options[@]}" blco
make "${options[@]}" install
