# bats file_tags=plain
load cli_helpers

commands() { "$BLCO" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -vx help; }

@test "blco version, --version and -V print name, version and commit" {
    for option in --version -V; do
        run -0 --separate-stderr "$BLCO" $option
        [[ $output =~ ^blco\ [0-9]+\.[0-9]+\.[0-9]+\ \([0-9a-zA-Z.-]+\)$ ]]
        [ -z "$stderr" ]
    done
    version=$output
    [ "$("$BLCO" version)" = "$version" ]
    fails 2 "blco version: 'x': no argument expected; try blco version --help" version x
    [ "$(commands | wc -l)" -ge 7 ]
    for command in $(commands); do
        [ "$("$BLCO" "$command" --version)" = "$version" ]
        [ "$("$BLCO" "$command" -V)" = "$version" ]
    done
}

@test "blco without arguments shows its usage on standard error and exits with 2" {
    run -2 --separate-stderr "$BLCO"
    [ -z "$output" ]
    [[ $stderr == *"Usage: blco COMMAND"* ]]
}

@test "help names every command, in each of its forms" {
    run -0 --separate-stderr "$BLCO" --help
    general=$output
    [[ $general == *"  cpd "* && $general == *"  info "* ]]
    [ "$("$BLCO" -h)" = "$general" ]
    [ "$("$BLCO" help)" = "$general" ]
    for command in $(commands); do
        run -0 --separate-stderr "$BLCO" help "$command"
        [[ $output == "Usage: blco $command "* ]]
        [ -z "$stderr" ]
        [ "$("$BLCO" "$command" --help)" = "$output" ]
        [ "$("$BLCO" "$command" -h)" = "$output" ]
        [ "$("$BLCO" "$command" nothing.tns -h --no-such-option)" = "$output" ]
        [ "$("$BLCO" "$command" --help=all)" = "$output" ] || [ "$command" = cpd ]
        [ "$("$BLCO" "$command" --help 3)" = "$output" ] # 3 is no argument of --help
        fails 2 "blco $command: --help: 'more', expected all; try blco $command --help" "$command" --help=more
    done
}

@test "the help of cpd is one screen, and --help=all has the rest" {
    "$BLCO" cpd --help >short
    "$BLCO" cpd --help=all >all
    options() { grep -oE '^ .{5}--[a-z-]+' "$1" | sed 's/.*--//' | sort; }
    [ "$(wc -l <short)" -le 30 ]
    [ "$(options short | wc -l)" -ge 12 ]
    [ "$(options all | wc -l)" -ge 30 ]
    [ -z "$(comm -23 <(options short) <(options all))" ]
    [[ $(cat short) == *"blco cpd --help=all shows every option"* ]]
    # shellcheck disable=SC2013 # names of options have no spaces
    for option in $(sed -n '/used_most\[\]/,/NULL/p' "$ROOT/src/commands/cpd/cpd_settings.c" | grep -oE '"[a-z-]+"' | tr -d '"'); do
        grep -qE -- "--$option( |\[|\$)" short || { echo "no option --$option" && return 1; }
    done
}

@test "no line of a help is wider than a terminal" {
    for command in "" $(commands); do
        # shellcheck disable=SC2086
        run "$BLCO" help $command
        [ "$(awk 'length > 80' <<<"$output")" = "" ]
    done
}

@test "an unknown command is refused, with a suggestion if a similar one exists" {
    fails 2 "unknown command 'cdp' (did you mean 'cpd'?); try blco --help" cdp x.tns
    fails 2 "(did you mean 'cpd'?); try blco --help" cpdd
    fails 2 "(did you mean 'help'?); try blco --help" hepl
    fails 2 "(did you mean 'version'?); try blco --help" versoin
    fails 2 "did you mean 'info'?" inof
    fails 2 "did you mean 'selftest'?" self-test
    fails 2 "did you mean 'completion'?" help completions
    fails 2 "unknown command 'frobnicate'; try blco --help" frobnicate
    fails 2 "did you mean 'cpd'?" help cpf
    fails 2 "a command is expected before option --rank; try blco --help" --rank 3
}

@test "a reader that goes ends blco as it ends other programs, without a word" {
    # what is printed is longer than what a pipe holds
    "$BLCO" generate -q x.tns --dims 20000,30 --nnz 30000
    "$BLCO" cpd -q x.tns -r 3 -i 1 -o m --backend host
    printf '1 1 1\n2 2 2\n' >small.tns
    for command in "top m -n 20000" "top m -n 20000 --json" "convert -q x.tns -" "predict -q m x.tns" \
        "cpd -q small.tns -r 2 -i 20000 --tol 0 --nowrite --backend host --json"; do
        # shellcheck disable=SC2016,SC2086 # for the new shell; the words of $command
        run -141 --separate-stderr bash -c '"$BLCO" "$@" | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}' bash $command
        [ -z "$stderr" ] || { echo "$stderr" && return 1; }
    done
    # a failure is still printed
    run -2 --separate-stderr bash -c '"$BLCO" top absent | head -c 0; exit ${PIPESTATUS[0]}'
    [[ $stderr == "blco top: "* ]]
    # and so is an output file that cannot be written
    # shellcheck disable=SC2016
    run -5 --separate-stderr bash -c '"$BLCO" convert -q x.tns no/such/folder.tns | true; exit ${PIPESTATUS[0]}'
    [[ $stderr == "blco convert: no/such/folder.tns"* ]]
}

@test "output that cannot be written is an error" {
    [ -e /dev/full ] || skip "no /dev/full here"
    run -5 sh -c '"$BLCO" --help 2>message >/dev/full'
    [ "$(cat message)" = "blco: standard output cannot be written" ]
    run -5 sh -c '"$BLCO" info -q "$1" 2>message >/dev/full' sh "$DATA/ucb-admissions.tns"
    [ "$(cat message)" = "blco info: standard output cannot be written" ]
}
