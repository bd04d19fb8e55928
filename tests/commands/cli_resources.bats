# bats file_tags=plain
load cli_helpers

# If memory, threads or addresses are short, blco ends with one line and never hangs.

# starts KIND LIMIT: whether the program with its libraries can be loaded under ulimit KIND LIMIT; if
# not, the loader may print a message or crash.
starts() {
    (ulimit "$1" "$2" && exec "$BLCO" --version) >/dev/null 2>&1
}

# within KIND LIMIT ARGUMENT...: under ulimit KIND LIMIT, blco works, or ends within seconds with one line
# and exit status 3 (with a limit of files also 2 or 5, the self-test 1), or cannot even be loaded. The
# temporary folder is empty afterwards. Sets status; the file messages has what blco printed.
within() {
    local kind=$1 limit=$2
    shift 2
    if ! starts "$kind" "$limit"; then
        status=127
        return
    fi
    status=0
    rm -rf scratch && mkdir scratch
    # shellcheck disable=SC2016 # expanded by the inner bash
    TMPDIR=$PWD/scratch timeout -k 1 20 bash -c 'ulimit "$1" "$2" && shift 2 && exec "$@"' bash "$kind" "$limit" "$BLCO" \
        "$@" >output 2>messages || status=$?
    echo "ulimit $kind $limit, blco $*: exit $status: $(cat messages)"
    [ -z "$(ls scratch)" ]
    case $kind$status in
    -?0) ;;
    -[nf]1) grep -qE '^blco selftest: [0-9]+ of 26 checks failed$' messages ;;
    -?3 | -[nf][25]) [ "$(wc -l <messages)" -eq 1 ] && grep -q "^blco $1: " messages ;;
    *) false ;;
    esac
}

# every_command KIND LIMIT...: each command within each limit; under a sanitizer, which finds faults on the
# way out of a failure rather than limits that nobody thought of, within the first and the last.
every_command() {
    local kind=$1 limit
    shift
    ! sanitized || set -- "$1" "${@: -1}"
    "$BLCO" generate x.tns -q --dims 300x200x100 --nnz 20000
    "$BLCO" cpd -q x.tns --backend host -r 4 -i 2 -o m --format text,npy,ktns
    for limit; do
        within "$kind" "$limit" cpd -q x.tns --backend host -r 4 -i 3 -o o --format text,npy,ktns \
            --checkpoint o.blck --record o.json
        [ "$status" -eq 0 ] || [ -z "$(ls | grep -E '^o[.](mode|lambda|ktns|blck|json)')" ]
        rm -f o.*
        within "$kind" "$limit" info -q x.tns -r 4
        within "$kind" "$limit" convert -q --force x.tns x.blco
        within "$kind" "$limit" convert -q --force x.tns x.tns.gz
        within "$kind" "$limit" generate -q --force y.blco --dims 30x20x10 --nnz 2000
        within "$kind" "$limit" top -q m
        within "$kind" "$limit" predict -q m x.tns --residuals -n 3 -o p.npy --force
        within "$kind" "$limit" compare -q m m
        within "$kind" "$limit" report -q m -o m.html
        within "$kind" "$limit" bench -q x.tns --backend host -r 4 --samples 1
        case $limit in # those that leave little, a bit more, and enough: a self-test takes as long as all others
        "$1" | "${3-}" | "${@: -1}") within "$kind" "$limit" selftest -q --backend host -t 3 ;;
        esac
    done
}

@test "every command within limits of addresses" { every_command -v 60000 120000 200000 300000 600000; }
@test "every command within limits of open files" { every_command -n 4 5 6 7 8 10 14 20; }
@test "every command within limits of the size of a file" { every_command -f 1 4 16 64 1000; }
@test "every command within limits of the stack" { every_command -s 64 128 256 1024 unlimited; }

@test "every command within limits of threads" {
    id nobody >/dev/null && command -v setpriv >/dev/null || skip "there is no other user"
    [ "$(id -u)" -eq 0 ] || skip "another user is needed, whose threads are counted"
    chmod 777 . && "$BLCO" generate x.tns -q --dims 30x20x10 --nnz 2000
    "$BLCO" cpd -q x.tns --backend host -r 4 -i 2 -o m
    setpriv --reuid nobody --clear-groups bash -c 'exec "$0" --version' "$BLCO" || skip "another user cannot start this blco"
    # looking for leaks takes a thread of its own
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    for limit in 1 3; do
        for command in "cpd x.tns --backend host -r 4 --nowrite" "info x.tns" "report m -o m.html" "top m" "predict m x.tns" \
            "bench x.tns --backend host -r 4" "selftest --backend host"; do
            status=0
            # shellcheck disable=SC2016,SC2086 # expanded by the inner bash; a command and its options
            OMP_NUM_THREADS=8 TMPDIR=$PWD setpriv --reuid nobody --clear-groups bash -c \
                'ulimit -u "$1" && shift && exec "$@"' bash $limit "$BLCO" $command -q >output 2>messages || status=$?
            echo "$limit threads, $command: exit $status: $(cat messages)"
            [ "$status" -eq 3 ]
            [ "$(wc -l <messages)" -eq 1 ]
            grep -q "^blco ${command%% *}: 8 threads cannot be started" messages
        done
    done
}

@test "a model that needs more open files than there are is refused before the work" {
    "$BLCO" generate x.tns -q --dims 300x200x100 --nnz 20000
    within -n 8 cpd -q x.tns --backend host -r 4 -i 3 -o o --format text,npy --checkpoint o.blck
    [ "$status" -eq 5 ]
    grep -q "o[.].* cannot be written: Too many open files" messages
    [ ! -e o.blck ]
}

@test "what OpenMP cannot read in the environment is one line, and exit 2" {
    "$BLCO" generate x.tns -q --dims 30x20x10 --nnz 2000
    "$BLCO" cpd -q x.tns --backend host -r 4 -i 2 -o m
    ldd "$BLCO" | grep -q libgomp && skip "libgomp is not linked into the program"
    OMP_DISPLAY_ENV=verbose "$BLCO" --version 2>&1 | grep -q SPINCOUNT || skip "not built with libgomp"
    for setting in OMP_NUM_THREADS=abc OMP_NUM_THREADS=0 OMP_NUM_THREADS=-1 OMP_NUM_THREADS=2, \
        OMP_NUM_THREADS=99999999999 OMP_THREAD_LIMIT=0 OMP_STACKSIZE=abc OMP_STACKSIZE=1k OMP_SCHEDULE=x \
        OMP_PROC_BIND=x OMP_PLACES=x OMP_DYNAMIC=x OMP_WAIT_POLICY=x GOMP_SPINCOUNT=x GOMP_CPU_AFFINITY=x; do
        for command in "cpd x.tns -r 2 --nowrite" "info x.tns" "top m" "selftest"; do
            # shellcheck disable=SC2086 # a command and its options
            run --separate-stderr env $setting "$BLCO" $command -q
            echo "$setting, $command: exit $status: $stderr"
            [ "$status" -eq 2 ]
            [ -z "$output" ]
            [ "$(wc -l <<<"$stderr")" -eq 1 ]
            [[ $stderr == "blco ${command%% *}: "*${setting%%=*}* ]] || [[ $stderr == *"OpenMP: Stack size"* ]]
        done
        env "$setting" "$BLCO" --version
    done
    OMP_NUM_THREADS=abc fails 2 "OMP_NUM_THREADS=abc: expected a number of threads from 1 to" info x.tns
    for setting in OMP_NUM_THREADS= OMP_NUM_THREADS=2 OMP_NUM_THREADS=2,1; do
        run --separate-stderr env "$setting" "$BLCO" info -q x.tns
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
    done
    OMP_STACKSIZE=99999G fails 3 "OpenMP: Thread creation failed" info -q x.tns -t 2
    OMP_STACKSIZE=64k fails 3 "a thread has a stack of 64 kB" info -q x.tns -t 2
}

# needs LIMIT: skips the test if the program with its libraries needs more addresses to start.
needs() {
    starts -v "$1" || skip "this build takes more than $1 kB of addresses to start"
}

@test "every limit of addresses gives one line at most" {
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

@test "every limit of data gives one line at most" {
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

@test "BLAS has one thread in any environment" {
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
