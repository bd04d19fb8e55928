# bats file_tags=release
# scripts/bench-to-fit measures tensors and sums up the records.
load ../commands/cli_helpers

# made_up NAME RANK: a record of two ways, NAME.json. From four starts the first way takes 10, 30, 60 and 100
# iterations to 1e-4, a second each; the other half as many, but never comes there from the last start.
made_up() {
    cat >"$1.json" <<END
{"tensor": {"name": "/a/$1.blco"}, "options": {"rank": $2}, "processor": "Chip", "threads": 3,
 "to_fit": {"levels": [0.001, 0.0001, 1e-6], "gaps": [0.001, 0.0001], "best": [0.5, 0.5, 0.5, 0.5], "ways": [
  {"name": "plain, double", "runs": [
   {"fit": 0.5, "reached_iterations": [5, 10, 20], "reached_seconds": [5, 10, 20]},
   {"fit": 0.5, "reached_iterations": [15, 30, 40], "reached_seconds": [15, 30, 40]},
   {"fit": 0.5, "reached_iterations": [30, 60, null], "reached_seconds": [30, 60, null]},
   {"fit": 0.5, "reached_iterations": [50, 100, 200], "reached_seconds": [50, 100, 200]}]},
  {"name": "quick, double", "runs": [
   {"fit": 0.5, "reached_iterations": [5, 5, 40], "reached_seconds": [6, 12, 40]},
   {"fit": 0.502, "reached_iterations": [5, 15, 20], "reached_seconds": [5, 15, 20]},
   {"fit": 0.5, "reached_iterations": [10, 30, null], "reached_seconds": [10, 30, null]},
   {"fit": 0.4995, "reached_iterations": [25, null, null], "reached_seconds": [25, null, null]}]}]}}
END
}

@test "bench-to-fit: runs of few and of many iterations apart" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    made_up x 4
    run -0 "$ROOT/scripts/bench-to-fit" --summary x.json
    diff - <(echo "$output") <<'END'
Chip, 3 threads, medians over the starts of a tensor:

| tensor | rank | way | iterations to 1e-3 / 1e-4 / 1e-6 | seconds to 1e-3 / 1e-4 / 1e-6 | never |
|---|---:|---:|---:|---:|---:|
| x | 4 | plain, double | 22.5 / 45 / 120 | 22.5 / 45 / 120 | 0 / 0 / 1 |
| x | 4 | quick, double | 7.5 / 22.5 / never | 8 / 22.5 / never | 0 / 1 / 2 |

Chip, 3 threads, all runs, compared with plain, double (medians; runs with more than 1.1 times as many; to 1e-3 / 1e-4 / 1e-6):

| way | iterations | runs | times fewer seconds | times fewer iterations | more seconds | more iterations | never | worse | better |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| quick, double | all | 4 | 2.50 / 1.42 / 0.50 | 2.50 / 2.00 / 0.50 | 1 / 2 / 2 | 0 / 1 / 2 | 0 / 1 / 2 | 0 / 1 | 1 / 1 |
| quick, double | few | 1 | 0.83 / 0.83 / 0.50 | 1.00 / 2.00 / 0.50 | 1 / 1 / 1 | 0 / 0 / 1 | 0 / 0 / 0 | 0 / 0 | 0 / 0 |
| quick, double | some | 1 | 3.00 / 2.00 / 2.00 | 3.00 / 2.00 / 2.00 | 0 / 0 / 0 | 0 / 0 / 0 | 0 / 0 / 0 | 0 / 0 | 1 / 1 |
| quick, double | many | 2 | 2.50 / 1.00 / 0.00 | 2.50 / 1.00 / 0.00 | 0 / 1 / 1 | 0 / 1 / 1 | 0 / 1 / 2 | 0 / 1 | 0 / 0 |
END
}

@test "bench-to-fit: one way alone" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    made_up x 4
    python3 -c 'import json; r = json.load(open("x.json")); del r["to_fit"]["ways"][1]; json.dump(r, open("x.json", "w"))'
    run -0 "$ROOT/scripts/bench-to-fit" --summary x.json
    [ "$(grep -c '^| x | 4 | ' <<<"$output")" -eq 1 ]
    [ "${lines[-1]}" = 'Only one way was gone: plain, double.' ]
}

@test "bench-to-fit: several records are summed up, machines apart" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    made_up x 4
    made_up y 3
    made_up z 2
    sed -i 's/"processor"/"device": {"name": "Card"}, "ranks": {"count": 2}, "processor"/' z.json
    run -0 "$ROOT/scripts/bench-to-fit" --summary y.json z.json x.json
    [ "$(grep -c '^| quick, double | all | 8 | ' <<<"$output")" -eq 1 ]
    [ "$(grep -c '^| quick, double | many | 4 | ' <<<"$output")" -eq 1 ]
    grep -q '^2 x Card, all runs, ' <<<"$output"
    [ "$(grep -c '^| quick, double | all | 4 | ' <<<"$output")" -eq 1 ]
}

@test "bench-to-fit: files and made tensors are measured" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    run -0 --separate-stderr "$ROOT/scripts/bench-to-fit" -r 3 --starts 1 --records records "$DATA/planted.tns" collinear-50 \
        -- --backend host -t 1 -i 4 --tol 0
    [ "$(ls records)" = $'collinear-50-r5.json\ncollinear-50-r6.json\nplanted-r3.json' ]
    [ "$(grep -cE '^\| planted \| 3 \| plain, double \| ' <<<"$output")" -eq 1 ]
    [ "$(grep -cE '^\| collinear-50 \| [56] \| momentum, double \| ' <<<"$output")" -eq 2 ]
    run -0 "$ROOT/scripts/bench-to-fit" --summary records/planted-r3.json
    grep -qF '| planted | 3 | plain, double | ' <<<"$output"
}

@test "bench-to-fit: a run is what blco cpd makes from the same seed" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    "$ROOT/scripts/bench-to-fit" -r 4 --starts 2 --records records "$DATA/planted.tns" -- -i 60 --tol 0 --backend host -t 2
    for seed in 1 2; do
        cpd "$DATA/planted.tns" -r 4 -i 60 --tol 0 --accelerate off --seed "$seed" --check-every 1000 --nowrite --backend host -t 2 \
            --record cpd.json
        python3 - records/planted-r4.json cpd.json "$seed" <<'END'
import json, sys
r, cpd, seed = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), int(sys.argv[3])
way = r["to_fit"]["ways"][0]
run = next(run for run in way["runs"] if run["seed"] == seed)
best = r["to_fit"]["best"][seed - 1]
assert way["name"] == "plain, double" and run["fit"] == cpd["result"]["fit"] and run["iterations"] == 60
assert best == max(run["fit"] for way in r["to_fit"]["ways"] for run in way["runs"] if run["seed"] == seed)
for level, iterations, seconds in zip(r["to_fit"]["levels"], run["reached_iterations"], run["reached_seconds"]):
    fits = cpd["trace"]["fit"]
    expected = next((i for i, fit in enumerate(fits, 1) if fit >= best - level), None)
    assert iterations == expected, (run, expected)
    assert seconds is None if expected is None else 0 < seconds <= run["seconds"], run
END
    done
}

@test "bench-to-fit: a run whose last fit was off by more than a level never reaches it" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    mkdir bin
    # shellcheck disable=SC2016 # the program that is made expands them
    printf '%s\n' '#!/bin/bash' 'case "$*" in *auto*|*single*) exit 2 ;; esac' \
        'while [ "$1" != --record ]; do shift; done; cp "$RECORD" "$2"' >bin/blco
    chmod +x bin/blco
    echo '{"record": "cpd", "tensor": {"name": "x.tns"}, "options": {"rank": 2}, "processor": "Chip", "threads": 1,
        "result": {"fit": 0.9, "iterations": 3, "checks": 1, "checks_off_by": 5e-4, "stop": "converged"},
        "trace": {"fit": [0.5, 0.8995, 0.9], "seconds": [1, 2, 3]}}' >x.json
    touch x.tns
    BLCO=$PWD/bin/blco RECORD=$PWD/x.json "$ROOT/scripts/bench-to-fit" -r 2 --starts 1 --records records x.tns
    [ "$(jq -c '.to_fit.ways[].runs[] | [.reached_iterations, .reached_seconds, .off_by]' records/x-r2.json)" = \
        $'[[2,null,null],[2,null,null],0.0005]\n[[2,null,null],[2,null,null],0.0005]' ]
}

@test "bench-to-fit: all tensors of the list; one that does not fit is left out" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    mkdir bin
    # shellcheck disable=SC2016 # the program that is made expands them
    printf '%s\n' '#!/bin/bash' 'echo "$*" >>"$CALLS"' \
        'case "$*" in cpd*sparse-8*) exit 3 ;; generate*) exit 0 ;; esac' \
        'while [ "$1" != --record ]; do shift; done; cp "$RECORD" "$2"' >bin/blco
    chmod +x bin/blco
    echo '{"record": "cpd", "tensor": {"name": "x.tns"}, "options": {"rank": 2}, "processor": "Chip", "threads": 1,
        "result": {"fit": 0.9, "iterations": 2, "checks": 0, "stop": "converged"},
        "trace": {"fit": [0.5, 0.9], "seconds": [1, 2]}}' >x.json
    export CALLS=$PWD/calls RECORD=$PWD/x.json
    BLCO=$PWD/bin/blco run -0 --separate-stderr "$ROOT/scripts/bench-to-fit" --starts 2 -- --sharing off
    [ "$(grep -c '^generate ' calls)" -eq 7 ]
    [ "$(grep -c '^cpd .* --precision double --accelerate momentum .* --sharing off$' calls)" -eq 20 ]
    # shellcheck disable=SC2154 # run sets stderr
    [ "$(grep -c '^bench-to-fit: does not fit into memory, no record: sparse-8, rank ' <<<"$stderr")" -eq 2 ]
    grep -q '^| momentum, double | all | 20 | ' <<<"$output"
}

@test "bench-to-fit: bad arguments" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    echo '{' >broken.json
    for arguments in "--summary" "--summary absent.json" "--summary broken.json" "--other" "-r" "no-such-preset" "--starts 0"; do
        # shellcheck disable=SC2086 # words
        run -1 --separate-stderr "$ROOT/scripts/bench-to-fit" $arguments
        [ -z "$output" ]
        [ "$(grep -c '^bench-to-fit: ' <<<"$stderr")" -eq 1 ]
    done
}
