# blco selftest: what it prints, that it leaves no files, and that it fails when it should.
load cli_helpers
load ../support/mpi

# lines KIND: how many lines of PASS or FAIL the output has.
# shellcheck disable=SC2154 # run sets output
lines() { grep -c "^$1  " <<<"$output"; }

@test "selftest: every check passes on the host, alone and on ranks" {
    mkdir folder
    TMPDIR=$PWD/folder run -0 --separate-stderr "$BLCO" selftest --backend host
    [ -z "$stderr" ]
    [ "$(lines FAIL)" -eq 0 ]
    [ "$(lines PASS)" -eq 26 ]
    for place in "host " "host, 2 ranks" "host, 3 ranks"; do
        grep -q "^PASS  superdiagonal, ranks 1 to 4 *$place" <<<"$output"
    done
    [[ ${lines[-1]} =~ ^26\ checks\ passed,\ 0\ failed,\ in\ [0-9.]+\ s$ ]]
    [ -z "$(ls -A folder)" ]
}

@test "selftest: checks that are left out are named" {
    if "$BLCO" cpd "$DATA/ucb-admissions.tns" -r 1 -i 1 -q --nowrite --backend cuda 2>message; then
        skip "there is a GPU"
    fi
    run -0 "$BLCO" selftest
    [ "$(grep -c '^no GPU: CUDA not tested (' <<<"$output")" -eq 1 ]
    fails 2 "backend cuda: " selftest --backend cuda
    fails 2 "uses no GPU" selftest --gpus 1
}

@test "selftest: processes with a GPU each, which read each other's memory or use NCCL" {
    [ "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" -ge 2 ] || skip "there are no two GPUs"
    needs_mpirun
    unset CUDA_VISIBLE_DEVICES
    for off in 0 1; do
        NCCL_P2P_DISABLE=$off run -0 processes 2 "$BLCO" selftest --backend cuda
        [ "$(lines FAIL)" -eq 0 ]
        [ "$(lines PASS)" -eq 10 ]
        grep -q "GPUs, 2 processes" <<<"$output"
    done
}

@test "selftest: -q prints nothing if all checks pass, -v prints each answer" {
    run -0 --separate-stderr "$BLCO" selftest -q --backend host
    [ -z "$output$stderr" ]
    run -0 "$BLCO" selftest -v --backend host -t 1
    grep -q '^      rank 1: fit: 0\.26145[0-9]*, expected 0\.2614511 within 1e-07$' <<<"$output"
    grep -q '^      order 3, rank 16, atomic, mode 2: relative error: [0-9.e-]*, expected at most 1e-12$' <<<"$output"
}

@test "selftest: a signal leaves no folder" {
    mkdir folder
    for signal in TERM HUP; do
        # a parent may ignore the signal, as nohup does
        TMPDIR=$PWD/folder env --default-signal=$signal "$BLCO" selftest --backend host >/dev/null &
        for _ in {1..200}; do
            [ -z "$(find folder -type f)" ] || break # a file is being written
            sleep .01
        done
        kill -s $signal $!
        status=0
        wait $! || status=$?
        [ "$status" -eq $((128 + $(kill -l $signal))) ]
        [ -z "$(ls -A folder)" ]
    done
}

@test "selftest: a folder in which nothing can be made" {
    TMPDIR=$PWD/none fails 5 "none: no folder can be made there" selftest
}

@test "selftest: checks that fail are printed, and the exit status is 1" {
    # Files of more than 4 blocks of 512 or 1024 bytes cannot be written.
    run bash -c 'ulimit -f 4 && exec "$BLCO" selftest -q --backend host 2>message'
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(lines PASS)" -eq 0 ]
    [ "$(lines FAIL)" -ge 2 ]
    grep -q '^FAIL  tensor files: text, gzip, .blco .* s: .*File too large' <<<"$output"
    grep -qE '^blco selftest: [0-9]+ of 26 checks failed$' message
}

@test "selftest takes no argument" {
    fails 2 "'x.tns': no argument expected" selftest x.tns
}

@test "selftest: in processes that work together" {
    needs_mpirun
    run -0 processes 3 "$BLCO" selftest --backend host
    [ "$(lines FAIL)" -eq 0 ]
    [ "$(lines PASS)" -eq 10 ]
    grep -q '^PASS  resumed from a checkpoint *host, 3 processes' <<<"$output"
    run processes 2 env TMPDIR="$PWD/none" "$BLCO" selftest --backend host # mpirun sets TMPDIR itself
    [ "$status" -eq 5 ] && [ "$(grep -c '^blco selftest: ' <<<"$output")" -eq 1 ]
}
