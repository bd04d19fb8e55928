# What blco writes to is closed, is there already, or has a name that commands a terminal.
# bats file_tags=threads
load cli_helpers

@test "a closed standard output is an error if there is something to print" {
    printf '1 1 1\n2 2 2\n' >x.tns
    for command in "info x.tns" "--version" "help cpd" "generate --list" "convert x.tns -"; do
        run -5 --separate-stderr bash -c '"$BLCO" $1 -q >&-' bash "$command"
        [ "$(grep -c 'standard output.*cannot be written' <<<"$stderr")" -eq 1 ]
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done
    "$BLCO" cpd x.tns -r 1 -q --backend host >&-
    [ -s x.lambda.mat ]
}

@test "messages do not go into a file if standard error is closed" {
    printf '1 1 1\n2 2 2\n' >x.tns
    "$BLCO" cpd x.tns -r 1 -o open --backend host 2>messages
    "$BLCO" cpd x.tns -r 1 -o closed --backend host <&- >&- 2>&-
    for name in mode1 mode2 lambda; do cmp open.$name.mat closed.$name.mat; done
    "$BLCO" convert x.tns open.tns
    "$BLCO" convert x.tns closed.tns <&- >&- 2>&-
    cmp open.tns closed.tns
    run -2 bash -c '"$BLCO" info - 0<&-'
    [[ $output == *"standard input"* ]]
}

@test "a pipe that nobody reads any more ends the program as it ends others" {
    "$BLCO" generate x.tns -q --dims 300,300 --nnz 60000
    for command in "generate - --dims 300,300 --nnz 60000" "convert x.tns -"; do
        run -141 --separate-stderr bash -c 'set -o pipefail; "$BLCO" $1 -q | head -n 1' bash "$command"
        [ -z "$stderr" ]
    done
    run -0 bash -c 'set -o pipefail; { "$BLCO" cpd x.tns -r 2 -o m --backend host && [ -s m.lambda.mat ]; } 2>&1 | true'
}

@test "an existing file is replaced with --force only" {
    printf '1 1 1\n2 2 2\n' >x.tns
    "$BLCO" convert -q x.tns x.blco
    for out in y.tns y.tns.gz y.blco; do
        echo mine >$out
        for in in x.tns x.blco; do
            fails 5 "$out: cannot be written: it exists already (--force replaces it)" convert -q $in $out
        done
        fails 5 "$out: cannot be written: it exists already (--force replaces it)" \
            generate -q $out --dims 4,4 --nnz 3
        [ "$(<$out)" = mine ]
        "$BLCO" convert -q x.tns $out --force
        "$BLCO" info -q $out | grep -q '^nonzeros     2$'
        "$BLCO" generate -q $out --force --dims 4,4 --nnz 3
        "$BLCO" info -q $out | grep -q '^nonzeros     3$'
    done
    ln -s nothing link.tns
    fails 5 "link.tns: cannot be written: it exists already" convert -q x.tns link.tns
}

@test "the file that is read is never replaced" {
    printf '1 1 1\n2 2 2\n' >x.tns
    cp x.tns before
    ln x.tns hard.tns
    ln -s x.tns soft.tns
    for out in x.tns ./x.tns hard.tns soft.tns; do
        for force in "" --force; do
            # shellcheck disable=SC2086 # --force, or nothing
            fails 2 "the output $out is the tensor that is read" convert -q x.tns $out $force
        done
    done
    fails 2 "the record x.tns is the tensor that is read" bench -q x.tns -r 1 --backend host --json x.tns
    cmp x.tns before
}

@test "control characters in names are shown escaped" {
    name=$'a\n\e[31m\xff\xc2\x9bö.tns'
    shown='a\x0a\x1b[31m\xff\xc2\x9bö.tns'
    fails 2 "blco info: $shown: " info -q "$name"
    fails 2 "unknown command '\\x1b[2J'" $'\e[2J'
    fails 2 "unknown command 'a\\xe2\\x80\\xaeb\\xef\\xbf\\xbe'" $'a\xe2\x80\xaeb\xef\xbf\xbe' # reversed; no character
    fails 2 "unknown option --\\x07" cpd x.tns $'--\a'
    fails 5 "none\\x0a/x.lambda" cpd x.tns -r 1 -o $'none\n/x.lambda'
    fails 5 "none\\x0a/x.tns: cannot be written" generate $'none\n/x.tns' --dims 4,4 --nnz 3
    printf '1 1 1\n2 2 2\n' >"$name"
    run -0 --separate-stderr "$BLCO" info "$name" --backend host
    [ "${lines[0]}" = "tensor       $shown" ]
    [[ $stderr == "reading $shown: 2 entries,"* ]]
    "$BLCO" cpd "$name" -r 1 --backend host 2>messages
    grep -qxF "wrote ${shown%.tns}.lambda.mat" messages
    [ -s "${name%.tns}.lambda.mat" ]
    run ! env LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f\xff]' messages
    run -0 bash -c '"$BLCO" bench "$1" -r 1 --samples 1 --backend host 2>&1' bash "$name"
    ! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f\xff]' <<<"$output"
}
