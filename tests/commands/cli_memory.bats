# bats file_tags=plain
load cli_helpers

# What --host-memory promises: a command has never more than the limit and 16 MB, or says in one line
# what does not fit.

# keeps LIMIT ARGUMENT...: sets code to 0 or 3.
keeps() {
    local limit=$1 result
    shift
    result=$(measure "$BLCO" "$@" -q -t 2 --host-memory "${limit}M" 2>messages)
    code=${result% *}
    echo "blco $* within $limit MB: exit $code, ${result#* } MB: $(cat messages)"
    case $code in
    0) [ ! -s messages ] ;;
    3) [ "$(wc -l <messages)" -eq 1 ] ;;
    *) false ;;
    esac && [ "${result#* }" -le $((limit + 16)) ]
}

# table COMMAND...: the command over all limits; the last one has room.
table() {
    for limit in 20 40 80 150 400; do
        keeps "$limit" "$@"
    done
    [ "$code" -eq 0 ]
}

setup() {
    bats_require_minimum_version 1.5.0
    [[ ${BLCO:?the program to test} != */[at]san/* && $BLCO != */cuda/* ]] ||
        skip "sanitizers and CUDA take memory themselves"
    cd "$BATS_FILE_TMPDIR" || return
}

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    "$BLCO" generate three.tns -q --dims 60000x40000x20000 --nnz 3000000
    "$BLCO" generate skewed.tns -q --dims 300x100000x50000 --nnz 3000000 --skew 0.2,1.1,0.8
    "$BLCO" generate five.tns -q --dims 900000x900000x900000x500000x30000 --nnz 1500000
    "$BLCO" convert -q three.tns three.blco
    gzip -1 -k three.tns
    { cat five.tns && head -500000 five.tns; } >twice.tns
}

@test "cpd stays within its limit for every tensor" {
    for tensor in three.tns three.tns.gz three.blco skewed.tns five.tns twice.tns; do
        table cpd "$tensor" -r 4 -i 2 --nowrite --backend host
    done
    for limit in 60 150 400; do
        keeps "$limit" cpd - -r 4 -i 2 --nowrite --backend host <three.tns
    done
}

@test "cpd builds fewer orderings if memory is short, or says what takes the memory" {
    keeps 140 cpd three.tns -r 4 -i 2 --nowrite --backend host
    [ "$code" -eq 0 ]
    keeps 60 cpd three.tns -r 4 -i 2 --nowrite --backend host
    [ "$code" -eq 3 ]
    grep -q "not enough memory: convert it to .blco, which takes less, or allow more with --host-memory" messages
}

@test "info keeps within its limit" {
    for tensor in three.tns three.tns.gz three.blco twice.tns; do
        table info "$tensor" -r 4 --backend host
    done
}

@test "convert keeps within its limit" {
    for tensor in three.tns three.tns.gz three.blco twice.tns; do
        table convert "$tensor" x.blco --force
    done
    table convert three.blco x.tns --force
    table convert three.tns x.tns --force
}

@test "generate keeps within its limit" {
    table generate x.tns --dims 60000x40000x20000 --nnz 3000000 --force
    table generate x.blco --dims 60000x40000x20000 --nnz 3000000 --force
    table generate x.blco --dims 2000x1000x500 --nnz 1000000 --planted-rank 3 --force
}
