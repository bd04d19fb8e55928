load cli_helpers

@test "info of the admissions, in full" {
    run -0 --separate-stderr "$BLCO" info -q "$DATA/ucb-admissions.tns" -r 2 -t 2 --backend host --host-memory 1G
    [ -z "$stderr" ]
    sed "s|$DATA/||" <<<"$output" >got
    diff "$BATS_TEST_DIRNAME/data/info_ucb-admissions.golden" got
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
