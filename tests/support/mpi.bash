# Loaded by the *.bats that start processes which work together.
# shellcheck shell=bash

# needs_mpirun: skips the test where processes cannot work together.
needs_mpirun() {
    local build
    build=$(dirname "${BLCO:?the program to test}")
    command -v mpirun >/dev/null || skip "there is no mpirun"
    [ -e "$build/blco-mpi.so" ] || skip "this blco was built without MPI"
    [ "$(basename "$build")" != tsan ] || skip "the thread sanitizer does not see into MPI"
    # Open MPI refuses root, whom containers run as.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # A GPU serves one process, and tests start up to 7: with fewer GPUs all work on processors.
    [ "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" -ge 7 ] || export CUDA_VISIBLE_DEVICES=
    # MPI itself leaks at its end.
    export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
}

# processes N PROGRAM ARGUMENT...: at most 60 seconds. There may be more processes than cores: a
# process that waits gives its core to the others, which is not so by default.
processes() {
    timeout -k 5 60 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$@"
}

# gone PID: the process ends within 5 seconds. One that nobody has waited for yet has no program any more.
gone() {
    for _ in {1..50}; do
        readlink "/proc/$1/exe" >/dev/null || return 0
        sleep 0.1
    done
    echo "process $1 is still there" && return 1
}
