load cli_helpers

@test "info of the admissions, in full" {
    run -0 --separate-stderr "$BLCO" info -q "$DATA/ucb-admissions.tns" -r 2 -t 2 --backend host --host-memory 1G
    [ -z "$stderr" ]
    sed "s|$DATA/||" <<<"$output" >got
    diff "$TEST_DATA/info_ucb-admissions.golden" got
}

@test "info of order 1, and of lines over 64 and over 128 bits" {
    printf '3 4\n1 3\n' >vector
    run -0 "$BLCO" info -q vector
    [[ $output == *$'\nlengths      3\nnonzeros     2\ndensity      0.667\nline         2 bits = 2\n'* ]]
    [[ $output == *$'\nnorm         5\n'* ]]
    printf '4294967295 1 4294967295 4294967295 1\n' >long
    run -0 "$BLCO" info -q long
    [[ $output == *$'\nline         96 bits = 32 + 0 + 32 + 32\n'* ]]
    printf '4294967295 4294967295 4294967295 4294967295 4294967295 -0.5\n' >longer
    run -0 "$BLCO" info -q longer
    [[ $output == *$'\nline         160 bits = 32 + 32 + 32 + 32 + 32\n'* ]]
    [[ $output == *$'\nvalues       -0.5 to -0.5, not all whole numbers\n'* ]]
    [[ $output == *$'\n   1  4294967295    4294967294                              1\n'* ]]
}

@test "progress goes to standard error and can be silenced" {
    run -0 --separate-stderr "$BLCO" info "$DATA/planted.tns"
    [[ $stderr == "reading $DATA/planted.tns: "* ]]
    [[ $output == "tensor       $DATA/planted.tns"* ]]
}

@test "a .blco file is gone through in the memory that may be used, with the same result" {
    "$BLCO" generate x.blco -q --dims 3000000,2000,5000000 --nnz 3000000 --skew 0.3,1,0.1
    # shellcheck disable=SC2317 # the plan depends on the memory
    findings() { sed '/^memory plan/,$d' "$1"; }
    "$BLCO" info x.blco -t 1 >one 2>messages
    grep -qE '^reading x.blco: 3000000 nonzeros, [0-9.]+ MB in [0-9.]+ s$' messages
    for memory in 1K 20M 50M 1G; do
        "$BLCO" info -q x.blco -t 3 --host-memory $memory >other
        diff <(findings one) <(findings other)
    done
    # as text it is one piece
    "$BLCO" convert -q x.blco x.tns --header dims
    "$BLCO" info -q x.tns >other
    diff <(findings one | tail -n +3) <(findings other | tail -n +3)
    command -v /usr/bin/time >/dev/null || skip "no time(1)"
    [[ $BLCO != *asan* && $BLCO != *tsan* ]] || skip "the sanitizer takes memory of its own"
    run -0 --separate-stderr /usr/bin/time -f %M "$BLCO" --version # what the program and its libraries take
    program=$stderr
    # the nonzeros take 60 MB, the counters 64 MB
    run -0 --separate-stderr /usr/bin/time -f %M "$BLCO" info -q x.blco -t 2
    [ $((stderr - program)) -lt 85000 ]
    run -0 --separate-stderr /usr/bin/time -f %M "$BLCO" info -q x.blco -t 2 --host-memory 1M
    [ $((stderr - program)) -lt 50000 ]
}
