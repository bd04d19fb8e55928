# scripts/bench-rank-choice makes tensors of known ranks, asks for a rank, and shows how often the answer is right.
# bats file_tags=release
load ../commands/cli_helpers

needs_python() { command -v python3 >/dev/null || skip "no python3"; }

@test "bench-rank-choice: a tensor is made and asked for, and the record gives the same table" {
    needs_python
    export BLCO
    run -0 "$ROOT/scripts/bench-rank-choice" rank2 --records r.json --tensors . -- --backend host -t 1
    [ "$(wc -l <rank2.tns)" -eq 5760 ]
    grep -qx 'together                7     0    0       7     0    0' <<<"$output"
    diff <(echo "$output") <("$ROOT/scripts/bench-rank-choice" --summary r.json)
    run -1 "$ROOT/scripts/bench-rank-choice" none
    [[ $output == "bench-rank-choice: 'none': expected --records FILE, "* ]]
}

@test "bench-rank-choice: the table of the manual is that of the record" {
    needs_python
    run -0 "$ROOT/scripts/bench-rank-choice" --summary "$ROOT/data/bench/rank-choice/answers.json"
    awk '/^46 tensors/ { on = 1 } /^\.Ed/ { on = 0 } on' "$ROOT/man/blco-cpd.1" | diff - <(grep -v ^core <<<"$output")
}
