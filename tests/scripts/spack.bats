# bats file_tags=release
# The Spack recipe, with stand-ins for Spack: what it asks of the Makefile is what the Makefile does.
# Spack itself does not take part.
load ../commands/cli_helpers

setup_file() { command -v python3 >/dev/null || skip "no python3"; }

recipe() {
    python3 "$ROOT/tests/support/spack_stub.py" \
        "$ROOT/scripts/packaging/spack/spack_repo/blco/packages/blco/package.py" "$1" /p >said
    cat said
}

# make_says ARGUMENT...: what make would do.
make_says() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -n -B -C "$ROOT" "$@"; }

@test "spack: dependencies and variants, a tarball as the source, and lists of compute capabilities" {
    recipe "+cuda+mpi cuda_arch=80,90"
    grep -q '^variant mpi ' said
    for package in isa-l jansson openblas mpi nccl; do grep -qE "^depends_on $package(@| |\$)" said; done
    grep -qx 'version @VERSION@ sha256=@SHA256@' said # make recipes fills these in
    grep -qx 'url @URL@/blco-@VERSION@.tar.gz' said
    grep -qx 'build CUDA=1 MPI=1 NVCC=/cuda/bin/nvcc ARCH=80,90 MPICC=/mpi/bin/mpicc blco' said
    grep -qx 'run /p/bin/blco selftest' said
    [ "$(grep -c '^conflicts cuda_arch=' said)" -eq 1 ] && grep -q '^conflicts cuda_arch=60 ' said
    recipe "+cuda~mpi"
    grep -qx 'build CUDA=1 MPI=0 NVCC=/cuda/bin/nvcc blco' said
}

@test "spack: the Makefile builds and installs as the recipe says" {
    recipe "~cuda~mpi"
    grep -qx 'build CUDA=0 MPI=0 blco' said
    # shellcheck disable=SC2046 # words
    make_says $(sed -n 's/^build //p' said) >build
    grep -q 'gcc .*src/main.c' build
    run -1 grep -E 'nvcc|mpicc' build
    # shellcheck disable=SC2046
    make_says $(sed -n 's/^install //p' said) >install
    grep -qE "install -D -s -m 755 -t '?/p/bin'? build/blco" install
    recipe "~cuda+mpi"
    # shellcheck disable=SC2046
    make_says $(sed -n 's/^build //p' said) >build
    grep -q '/mpi/bin/mpicc .*src/comm/mpi/comm_mpi.c' build
}

@test "spack: the repository has the layout of Spack 1.0" {
    cd "$ROOT/scripts/packaging/spack/spack_repo/blco"
    grep -qx '  namespace: blco' repo.yaml
    grep -qx '  api: v2.0' repo.yaml
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' packages/blco/package.py
}
