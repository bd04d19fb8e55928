# Loaded by the *.bats that run several processes with MPI.
# shellcheck shell=bash

# needs_mpirun: skips the test if several processes cannot work together here.
needs_mpirun() {
    local build
    build=$(dirname "${BLCO:?the program to test}")
    command -v mpirun >/dev/null || skip "there is no mpirun"
    [ -e "$build/blco-mpi.so" ] || skip "this blco was built without MPI"
    [ "$(basename "$build")" != tsan ] || skip "the thread sanitizer does not see into MPI"
    # Open MPI refuses to run as root, as containers do.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # Each process needs a GPU, and tests start up to 7: with fewer GPUs, all work on the host.
    [ "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" -ge 7 ] || export CUDA_VISIBLE_DEVICES=
    # Of its own, because mpirun fails where another one that ends removes the folder of sessions meanwhile.
    export OMPI_MCA_orte_tmpdir_base=$BATS_FILE_TMPDIR
    # MPI itself leaks at its end.
    export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
}

# processes N PROGRAM ARGUMENT...: runs them for at most 60 seconds. There may be more processes than
# cores, so waiting processes yield their core, which is not the default.
processes() {
    timeout -k 5 60 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$@"
}

# gone PID: the process ends within 5 seconds. A zombie, which has no program any more, counts as ended.
gone() {
    for _ in {1..50}; do
        readlink "/proc/$1/exe" >/dev/null || return 0
        sleep 0.1
    done
    echo "process $1 is still there" && return 1
}
