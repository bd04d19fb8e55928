# bats file_tags=release
# scripts/bench-counts measures models of counts and sums up the records.
load ../commands/cli_helpers

@test "bench-counts: the table of a record" {
    cat >x.json <<'JSON'
[{"tensor": "t", "options": "", "rank": 2, "nonzeros": 1000, "backend": "host", "threads": "2", "seconds": 2, "runs": {
  "blco newton": [[[0.1, -50], [0.2, -10.05], [0.3, -10]], [[0.1, -30], [0.5, -20]]],
  "pyttb cp_apr": [[[1, -100], [2, -40]], [[1, -25], [2, -20.5]]]}}]
JSON
    run -0 "$ROOT/scripts/bench-counts" --summary x.json
    # within 1 nat and .1 of the best of each start, -10 and -20, and of the program's own ends: medians
    [[ $output == *"| t | 1000 | 2 | blco newton | 0.4 | 0 | 0.35 | 0.35 | 0.35 | 0.35 |"* ]]
    [[ $output == *"| t | 1000 | 2 | pyttb cp_apr | 2 (cut off) | 0.015 | never | never | 2 | 2 |"* ]]
    # another machine has a table of its own
    sed 's/"backend": "host", "threads": "2"/"machine": "Card"/; s/1000/9999/' x.json >y.json
    run -0 "$ROOT/scripts/bench-counts" --summary x.json y.json
    [[ $output == "Card:"*"| 9999 |"*"host, 2 threads:"*"| 1000 |"* ]]
}

@test "bench-counts: a tensor of its own" {
    run -1 "$ROOT/scripts/bench-counts" nothing
    [[ $output == *"'nothing', expected one of matrix, "* ]]
    python3 -c 'import numpy' || skip "there is no NumPy"
    export BLCO
    run -0 --separate-stderr "$ROOT/scripts/bench-counts" --seconds 1 --starts 1 --record x.json three-small -- \
        --backend host -t 1
    [ "$(grep -c '^| three-small .* blco ' <<<"$output")" -eq 3 ]
    grep -qF ', 1 threads"' x.json
    run -0 "$ROOT/scripts/bench-counts" --summary x.json
    [ "$(grep -c '^| three-small .* blco ' <<<"$output")" -eq 3 ]
    run -1 "$ROOT/scripts/bench-counts" --record x.json three-small
    [ "$output" = "bench-counts: x.json exists" ]
}
