load cli_helpers

@test "blco --version and -V print name, version and commit" {
    for option in --version -V; do
        run -0 --separate-stderr "$BLCO" $option
        [[ $output =~ ^blco\ [0-9]+\.[0-9]+\.[0-9]+\ \([0-9a-zA-Z.-]+\)$ ]]
        [ -z "$stderr" ]
    done
    version=$output
    for command in bench compare convert cpd info top; do
        [ "$("$BLCO" $command --version)" = "$version" ]
        [ "$("$BLCO" $command -V)" = "$version" ]
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
    for command in bench compare convert cpd info top; do
        run -0 --separate-stderr "$BLCO" help $command
        [[ $output == "Usage: blco $command "* ]]
        [ -z "$stderr" ]
        [ "$("$BLCO" $command --help)" = "$output" ]
        [ "$("$BLCO" $command -h)" = "$output" ]
        [ "$("$BLCO" $command nothing.tns -h --rank)" = "$output" ]
    done
}

@test "no line of a help is wider than a terminal" {
    for command in "" bench compare convert cpd generate info top; do
        # shellcheck disable=SC2086
        run "$BLCO" help $command
        [ "$(awk 'length > 80' <<<"$output")" = "" ]
    done
}

@test "an unknown command is refused, with a suggestion where one is near" {
    fails 2 "unknown command 'cdp'; did you mean 'cpd'?" cdp x.tns
    fails 2 "did you mean 'info'?" inof
    fails 2 "unknown command 'frobnicate' (see blco --help)" frobnicate
    fails 2 "did you mean 'cpd'?" help cpf
    fails 2 "a command is expected before option --rank" --rank 3
}

@test "output that cannot be written is an error" {
    [ -e /dev/full ] || skip "no /dev/full here"
    run -5 sh -c '"$BLCO" --help 2>message >/dev/full'
    [ "$(cat message)" = "blco: standard output cannot be written" ]
    run -5 sh -c '"$BLCO" info -q "$1" 2>message >/dev/full' sh "$DATA/ucb-admissions.tns"
    [ "$(cat message)" = "blco info: standard output cannot be written" ]
}
