# scripts/bench-links compares what blco minimises on links, and shows its records.
# bats file_tags=release
load ../commands/cli_helpers

links() { "$ROOT/scripts/bench-links" "$@"; }

@test "bench-links: each way ranks the links that are held out" {
    command -v python3 >/dev/null || skip "no python3"
    export BLCO
    "$BLCO" generate -q net.tns --dims 30,4,30 --nnz 1500 --planted-rank 3 --binary 1
    run -0 --separate-stderr links --ranks 3,5 --records records net.tns:1,3 -- --backend host -i 5
    [ "$(grep -cE '^\| net \| [35] \| (squares|nonneg|poisson|binary) \| [01]\.[0-9]+ \| [01]\.[0-9]+ \|' <<<"$output")" -eq 8 ]
    [ "$(grep -cE '^\| net \| [35] \| binary .* \| [0-9]\.[0-9]+ \| 5 \| [0-9.]+ \|$' <<<"$output")" -eq 2 ]
    diff <(echo "$output") <(links --summary records/net.json)
    fails() { run -1 links "$@" && [[ $output == "bench-links: "* ]]; }
    fails
    fails net.tns
    fails --records
    fails --rank 3 net.tns:1,3
}
