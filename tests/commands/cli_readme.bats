load cli_helpers

@test "the session at the top of the README is what a run gives" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -o ucb
    line=$(grep -o '^fit .* converged' messages)
    grep -qF -- "    $line" "$ROOT/README.md"
    for r in 1 2; do
        weight=$(sed -n ${r}p ucb.lambda.mat | xargs printf '%.0f')
        grep -qF -- "component $r, weight $weight" "$ROOT/README.md"
    done
}

@test "what the README calls exists" {
    for path in scripts/demo scripts/check LICENSE; do
        [ -e "$ROOT/$path" ]
        grep -qF "$path" "$ROOT/README.md"
    done
    # every option that it shows is one of cpd
    "$BLCO" help cpd >help
    grep -E '^    .*blco cpd' "$ROOT/README.md" | sed 's/ #.*//' | grep -oE -- ' --?[a-z][a-z-]*' | sort -u >shown
    [ -s shown ]
    while read -r option; do grep -qE -- "(^|[ ,])$option( |,|$)" help; done <shown
}

@test "the table of figures is what the records say" {
    command -v python3 >/dev/null || skip "no python3"
    cd "$ROOT"
    while read -r line; do
        grep -qxF -- "$line" README.md
    done < <(scripts/bench-table | grep '^|')
    [ "$(scripts/bench-table | grep -c '^|')" -gt 2 ]
}
