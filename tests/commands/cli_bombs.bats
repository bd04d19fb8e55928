load cli_helpers

# Inputs with false sizes, or that unpack to far more than they have: they must not exhaust memory,
# whether they are refused or read.

# peak MOST CODE ARGUMENT...: blco ends with CODE, and with one line unless CODE is 0, and never had
# more than MOST megabytes of memory in addition to what every start takes (much with CUDA's libraries).
peak() {
    local most=$1 code=$2 megabytes start
    shift 2
    [[ $BLCO != */[at]san/* ]] || skip "sanitizers take memory themselves"
    start=$(measure "$BLCO" --version)
    run --separate-stderr measure "$BLCO" "$@" -q
    megabytes=$((${output#* } - ${start#* }))
    echo "blco $*: exit ${output% *}, expected $code; $megabytes MB; $stderr"
    [ "${output% *}" -eq "$code" ] && [ "$megabytes" -le "$most" ] &&
        { [ "$code" -eq 0 ] || [ "$(wc -l <<<"$stderr")" -eq 1 ]; }
}

# The kilobytes of addresses, in steps of 100 MB, with which blco starts.
addresses() {
    local limit=100000
    until (ulimit -v "$limit" && "$BLCO" --version) >/dev/null 2>&1; do
        limit=$((limit + 100000))
    done
    echo "$limit"
}

# One coordinate, 20 million times: 160 MB of text.
bomb() {
    python3 -c '
import gzip
with gzip.open("bomb.tns.gz", "wb") as file:
    for _ in range(20):
        file.write(b"1 2 3 4\n" * 1000000)'
}

@test "gzip that repeats one coordinate keeps within the memory that may be used" {
    bomb
    [ "$(wc -c <bomb.tns.gz)" -lt 300000 ]
    peak 90 0 convert bomb.tns.gz x.blco --host-memory 64M
    [ "$("$BLCO" convert -q x.blco -)" = "1 2 3 80000000" ]
    peak 90 3 convert bomb.tns.gz x.tns --host-memory 64M
    yes '1 2 3 1e305' | head -3000000 >large.tns
    peak 90 2 convert large.tns y.blco --host-memory 64M
    [[ $stderr == *": large.tns: the entries with the coordinates 1 2 3, counted from 1, add up to more than a double holds" ]]
    [ ! -e y.blco ]
}

@test "gzip that memory does not hold ends with exit status 3" {
    [[ $BLCO != */[at]san/* ]] || skip "sanitizers take memory themselves"
    bomb
    limit=$(($(addresses) + 300000))
    for command in info "cpd -r 2 --nowrite --backend host" "bench -r 2 --backend host"; do
        # shellcheck disable=SC2086 # the command is split
        run -3 --separate-stderr bash -c 'ulimit -v "$0"; exec "$@"' "$limit" "$BLCO" $command -q bomb.tns.gz
        echo "$stderr"
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
        [ -z "$output" ]
    done
}

@test "a .blco file that promises more nonzeros than its bytes can hold" {
    printf '1 1 1\n2 2 2\n' >x.tns
    "$BLCO" convert -q x.tns x.blco
    patch_blco=$ROOT/tests/support/patch_blco
    "$patch_blco" x.blco promise=268435456
    for arguments in "info x.blco --backend host" "convert x.blco y.blco" "cpd x.blco -r 2 --nowrite --backend host"; do
        # shellcheck disable=SC2086 # the arguments are split
        peak 60 2 $arguments
        [[ $stderr == *"x.blco: damaged: entry 1 of the directory contradicts the header" ]]
    done
}

@test "headers of text and models that promise much" {
    printf 'sptensor\n3\n4294967295 4294967295 4294967295\n1099511627776\n1 1 1 1\n' >x.tns
    peak 60 2 info x.tns --backend host
    printf '3\n4294967295 4294967295 4294967295\n1 1 1 1\n' >x.tns
    peak 120 3 info x.tns --backend host
    peak 120 3 cpd x.tns -r 16 --nowrite --backend host --host-memory 1G
    printf '1 1 1\n2 2 2\n' >x.tns
    printf 'ktensor\n2\n4294967295 4294967295\n1000000\n1\n' >m.ktns
    peak 60 2 cpd x.tns -r 1 --nowrite --backend host --init m
    "$ROOT/tests/support/make_npy" n.mode1.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 1), }" 1 1
    peak 60 2 cpd x.tns -r 1 --nowrite --backend host --init n
}
