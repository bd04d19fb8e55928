# bats file_tags=release
# scripts/bench-table makes tables of records: systems of rows, the newest record, two folders. The other tables are
# tested with blco bench.
load ../commands/cli_helpers

needs_python() { command -v python3 >/dev/null || skip "no python3"; }

# iteration FILE DATE SECONDS: a record of blco bench.
iteration() {
    cat >"$1" <<END
{"tensor": {"name": "x.blco", "order": 2, "lengths": [9, 8], "nonzeros": 60}, "date": "$2",
 "options": {"rank": 32, "precision": "double"}, "device": {"name": "Card"},
 "als": {"median": $3, "modes": [{"median": 0.003}, {"median": 0.005}]}}
END
}

# sweeps FILE OPTIONS SECONDS: a record of blco cpd: two slow sweeps, nine of SECONDS, a slow one.
sweeps() {
    python3 - "$@" >"$1" <<'END'
import itertools, json, sys
options = {"rank": 16, "precision": "double", "loss": "squares", "solver": "newton", "unlisted": "zero", "nonneg": []}
options.update(json.loads(sys.argv[2]))
each = [7, 5] + 9 * [float(sys.argv[3])] + [9]
print(json.dumps({"tensor": {"name": "x.blco", "nonzeros": 60}, "device": {"name": "Card"}, "options": options,
                  "trace": {"every": 1, "seconds": list(itertools.accumulate(each))}}))
END
}

@test "bench-table: systems of rows beside squares, each rank" {
    needs_python
    mkdir rows
    sweeps rows/squares.json '{}' 0.002
    sweeps rows/counts.json '{"loss": "poisson", "nonneg": [1, 2]}' 0.005
    sweeps rows/ones.json '{"loss": "binary", "solver": "mu", "nonneg": [1, 2]}' 0.004
    sweeps rows/nonneg.json '{"unlisted": "unknown", "nonneg": [1, 2]}' 0.007
    sweeps rows/more.json '{"unlisted": 0.1, "rank": 64}' 0.2
    run -0 "$ROOT/scripts/bench-table" --rows rows/*.json
    diff - <(echo "$output") <<'END'
Card, double precision, ms of a sweep with its fit (times that of squares):

| tensor | rank | squares | unknown, nonnegative | zeros of weight .1 | counts | ones, `--solver mu` |
|---|---:|---:|---:|---:|---:|---:|
| x | 16 | 2.00 | 7.00 (3.5) | - | 5.00 (2.5) | 4.00 (2.0) |
| x | 64 | - | - | 200 | - | - |
END
    # another GPU has another table, and a run of few sweeps none
    sed 's/"Card"/"Other"/' rows/counts.json >rows/other.json
    run -0 "$ROOT/scripts/bench-table" --rows rows/*.json
    [ "$(grep -c '^[CO].*:$' <<<"$output")" -eq 2 ]
    sed 's/"seconds": \[/&1], "x": [/' rows/counts.json >few.json
    run -1 "$ROOT/scripts/bench-table" --rows few.json
    [ "$output" = "bench-table: few.json: ValueError: not the times of more than 10 sweeps" ]
}

@test "bench-table: the short table is of the newest records" {
    needs_python
    iteration x-gpus1.json 2026-01-02T00:00:00Z 0.009
    iteration x.json 2026-01-03T00:00:00Z 0.006
    for order in "x-gpus1.json x.json" "x.json x-gpus1.json"; do
        # shellcheck disable=SC2086 # words
        run -0 "$ROOT/scripts/bench-table" --short $order
        [ "${lines[3]}" = "| x | 9 x 8 | 0.0 | 6.00 |" ]
    done
    iteration x-gpus1.json 2026-01-04T00:00:00Z 0.009
    run -0 "$ROOT/scripts/bench-table" --short x-gpus1.json x.json
    [ "${lines[3]}" = "| x | 9 x 8 | 0.0 | 9.00 |" ]
}

@test "bench-table: the records of two folders beside each other" {
    needs_python
    mkdir -p old/rows new/rows
    iteration old/x.json 2026-01-02 0.010 && iteration new/x.json 2026-01-03 0.008
    iteration old/y.json 2026-01-02 0.010
    iteration old/z.json 2026-01-02 0.010 && sed 's/"Card"/"Other"/' old/z.json >new/z.json
    sweeps old/rows/x.json '{}' 0.002 && sweeps new/rows/x.json '{}' 0.003
    run -0 "$ROOT/scripts/bench-table" --beside old new
    diff - <(echo "$output") <<'END'
Card, ms of an iteration:

| record | old | new | times |
|---|---:|---:|---:|
| rows/x | 2.00 | 3.00 | 1.50 |
| x | 10.0 | 8.00 | 0.80 |
END
    run -1 "$ROOT/scripts/bench-table" --beside old
    [ "$output" = "bench-table: --beside takes two folders" ]
}
