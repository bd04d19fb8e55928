# bats file_tags=release
# scripts/rank-model computes by formula what blco info says of a tensor whose every row moves.
load ../commands/cli_helpers

@test "rank-model: its formulas are those of the program" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    "$BLCO" generate x.blco -q --dims 3000,2000,1000 --nnz 1000000
    python3 - "$ROOT/scripts/rank-model" x.blco <<'END'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("rank_model", sys.argv[1])
sys.dont_write_bytecode = True
model = importlib.util.module_from_spec(importlib.util.spec_from_loader("rank_model", loader))
loader.exec_module(model)
formula = list(model.by_formula((3000, 2000, 1000), 1000000, model.read_rates()))
program = list(model.by_program(sys.argv[2]))
assert [ranks for ranks, _ in formula] == [ranks for ranks, _ in program] == list(model.GPUS)
for (ranks, a), (_, b) in zip(formula, program):
    assert a["grid"] == b["grid"], (ranks, a, b)
    for what in ("nonzeros", "sent", "mttkrp", "solves", "moving", "iteration"):
        assert abs(a[what] - b[what]) <= 0.03 * b[what] + 1e-9, (ranks, what, a[what], b[what])
END
}

@test "rank-model: tables of a file and by formula" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    run -0 "$ROOT/scripts/rank-model"
    [ "$(grep -c '^| reddit, by formula | ' <<<"$output")" -eq 10 ]
    run -0 "$ROOT/scripts/rank-model" "$DATA/planted.tns"
    [ "$(grep -c '^| planted.tns | ' <<<"$output")" -eq 5 ]
    run -2 --separate-stderr "$ROOT/scripts/rank-model" absent.blco
    # shellcheck disable=SC2154 # run sets stderr
    [[ $stderr == *"absent.blco"* ]]
}
