# What a long run shows in a log.
# bats file_tags=threads
load cli_helpers

@test "a log has a line after 10 seconds, unless --progress never asks for none" {
    "$BLCO" generate -q x.tns --dims 30x20x10 --nnz 2000
    local -a options=(x.tns -r 4 -i 1000000000 --tol 0 --backend host --nowrite --time-limit 11s)
    "$BLCO" cpd "${options[@]}" 2>messages >&2 &
    local with=$!
    "$BLCO" cpd "${options[@]}" --progress never 2>without >&2 &
    local never=$!
    # Meanwhile the clock goes on, but no processor works.
    sleep 1 && kill -STOP $with $never && sleep 9.3 && kill -CONT $with $never
    wait $with && wait $never
    cat messages
    [ "$(grep -cE '^decomposing: iteration [0-9]+ of 1000000000, fit 0\.[0-9]{6}, change -?[0-9.e+-]+, [0-9.]+ h left$' messages)" -eq 1 ]
    [ "$(grep -c 'decomposing: iteration ' without)" -eq 0 ]
}

@test "--progress takes three words, by every command that shows progress" {
    "$BLCO" generate x.tns --dims 30x20x10 --nnz 2000 --progress lines
    for kind in auto lines never; do
        "$BLCO" convert x.tns x.blco --force --progress $kind
        "$BLCO" info x.tns --progress $kind >/dev/null
        "$BLCO" cpd x.tns -r 2 -o x --progress $kind
        "$BLCO" top x --progress $kind >/dev/null
        "$BLCO" compare x x --progress $kind >/dev/null
        "$BLCO" report x --progress $kind >/dev/null
        "$BLCO" bench x.tns -r 2 --progress $kind >/dev/null
    done
    fails 2 "--progress: 'much', expected auto, lines or never" cpd x.tns -r 2 --progress much
}

@test "a terminal gets a line that changes; a dumb one, and --progress lines, text lines" {
    command -v script >/dev/null || skip "there is no script"
    "$BLCO" generate -q x.tns --dims 30x20x10 --nnz 2000
    for kind in xterm dumb ""; do
        TERM=$kind script -qec "'$BLCO' cpd x.tns -r 2 --nowrite" /dev/null </dev/null >shown
        [ "$(grep -c $'\033\[K' shown)" -gt 0 ] && changes=yes || changes=no
        [ "$kind $changes" = "xterm yes" ] || [ "$changes" = no ]
    done
    TERM=xterm script -qec "'$BLCO' cpd x.tns -r 2 --nowrite --progress lines" /dev/null </dev/null >shown
    [ "$(grep -c $'\033' shown)" -eq 0 ]
}
