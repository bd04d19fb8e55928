load cli_helpers

# What ends in one line where memory, threads or addresses are short, and never waits.

# starts KIND LIMIT: whether the program with its libraries is loaded under ulimit KIND LIMIT; where it
# is not, the loader may say so or crash.
starts() {
    (ulimit "$1" "$2" && "$BLCO" --version >/dev/null 2>&1)
}

# within KIND LIMIT ARGUMENT...: blco under ulimit KIND LIMIT works, or ends in seconds with exit 3 and
# one line, or is not even loaded. Sets status; messages is what it said.
within() {
    local kind=$1 limit=$2
    shift 2
    if ! starts "$kind" "$limit"; then
        status=127
        return
    fi
    status=0
    # shellcheck disable=SC2016 # expanded by the inner bash
    timeout -k 1 20 bash -c 'ulimit "$1" "$2" && shift 2 && exec "$@"' bash "$kind" "$limit" "$BLCO" \
        "$@" >output 2>messages || status=$?
    echo "ulimit $kind $limit, blco $*: exit $status: $(cat messages)"
    case $status in
    0) ;;
    3) [ "$(wc -l <messages)" -eq 1 ] && grep -q "^blco $1: " messages ;;
    *) false ;;
    esac
}

# needs LIMIT: skips where the program with its libraries takes more addresses even to start.
needs() {
    starts -v "$1" || skip "this build takes more than $1 kB of addresses to start"
}

@test "a limit of addresses ends in one line, whatever it is" {
    needs 4000000
    "$BLCO" generate x.tns -q --dims 300x200x100 --nnz 20000
    for limit in 5000 10000 20000 30000 50000 80000 120000 200000 300000 400000 600000 1000000 \
        1900000 4000000; do
        within -v "$limit" --version
        within -v "$limit" info -q x.tns
        within -v "$limit" convert -q --force x.tns x.blco
        for threads in 2 32; do
            within -v "$limit" cpd -q x.tns --backend host -r 16 -i 2 --nowrite -t "$threads"
        done
    done
    [ "$status" -eq 0 ]
    needs 120000
    within -v 120000 cpd -q x.tns --backend host -r 16 -i 2 --nowrite
    [ "$status" -eq 3 ]
}

@test "a limit of data ends in one line, whatever it is" {
    needs 4000000
    "$BLCO" generate x.tns -q --dims 300x200x100 --nnz 20000
    for limit in 2000 10000 50000 120000 200000 400000 1900000; do
        within -d "$limit" cpd -q x.tns --backend host -r 16 -i 2 --nowrite
    done
    [ "$status" -eq 0 ]
    starts -d 120000 || skip "this build takes more than 120000 kB of data to start"
    within -d 120000 cpd -q x.tns --backend host -r 16 -i 2 --nowrite
    [ "$status" -eq 3 ]
}

@test "the plan keeps below a limit of addresses" {
    "$BLCO" generate x.tns -q --dims 300x200x100 --nnz 20000
    needs 300000
    within -v 500000 cpd -q x.tns --backend host -r 60000 -i 1 --nowrite
    [ "$status" -eq 3 ]
    grep -q "do not fit into the .* MB of memory" messages
}

@test "threads that the system refuses end in one line" {
    "$BLCO" generate x.tns -q --dims 30x20x10 --nnz 2000
    needs 300000
    for command in "info" "cpd --backend host -r 2 -i 1 --nowrite" "bench --backend host -r 2"; do
        # shellcheck disable=SC2086 # a command and its options
        within -v 300000 $command x.tns -q -t 200
        [ "$status" -eq 3 ]
        grep -q "200 threads cannot be started" messages
    done
}

@test "BLAS has one thread, whatever the environment says" {
    needs 300000
    "$BLCO" generate x.tns -q --dims 30x20x10 --nnz 2000
    OPENBLAS_NUM_THREADS=64 within -v 600000 cpd -q x.tns --backend host -r 2 -i 2 --nowrite -t 1
    [ "$status" -eq 0 ]
}

@test "idle threads sleep soon, unless the environment says otherwise" {
    settings() { env "$@" OMP_DISPLAY_ENV=verbose "$BLCO" --version 2>&1 | grep SPINCOUNT; }
    OMP_DISPLAY_ENV=verbose "$BLCO" --version 2>&1 | grep -q SPINCOUNT || skip "not built with libgomp"
    ldd "$BLCO" | grep -q libgomp && skip "libgomp is not linked into the program"
    [[ $(settings -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT) == *"'3000'"* ]]
    [[ $(settings -u OMP_WAIT_POLICY GOMP_SPINCOUNT=77) == *"'77'"* ]]
    [[ $(settings OMP_WAIT_POLICY=passive) == *"'0'"* ]]
    [[ $(settings OMP_WAIT_POLICY=active) == *"'30000000000'"* ]]
}
