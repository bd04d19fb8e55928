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
    for path in scripts/demo scripts/check ARCHITECTURE.md data/README.md data/bench/README.md LICENSE; do
        [ -e "$ROOT/$path" ]
        grep -qF "$path" "$ROOT/README.md"
    done
    # every option that it shows is one of cpd
    "$BLCO" help cpd >help
    grep -E '^    .*blco cpd' "$ROOT/README.md" | sed 's/ #.*//' | grep -oE -- ' --?[a-z][a-z-]*' | sort -u >shown
    [ -s shown ]
    while read -r option; do grep -qE -- "(^|[ ,])$option( |,|$)" help; done <shown
}

# in_file FILE: every table line of the standard input stands in FILE, and there are some.
in_file() {
    local line count=0
    while read -r line; do
        grep -qxF -- "$line" "$1" || { echo "not in $1: $line" && return 1; }
        count=$((count + 1))
    done < <(grep '^|')
    [ "$count" -gt 2 ]
}

@test "the files that the pages for readers name exist" {
    for page in README.md ARCHITECTURE.md data/README.md data/bench/README.md; do
        grep -ohE '`[A-Za-z0-9_/.-]+`' "$ROOT/$page"
    done | tr -d '`' | sort -u >quoted
    grep -E '^(scripts|src|kernels|tests|man|data)/' quoted >paths
    grep -E '^[a-z0-9_]+\.(c|h|cu|cuh|bats|[157])$' quoted >names # without their folder
    [ "$(wc -l <paths)" -gt 20 ] && [ "$(wc -l <names)" -gt 5 ]
    while read -r path; do
        [ -e "$ROOT/$path" ] || { echo "no $path" && return 1; }
    done <paths
    while read -r name; do
        [ -n "$(find "$ROOT"/{src,kernels,tests,man} -name "$name")" ] || { echo "no $name" && return 1; }
    done <names
}

@test "the tables of measurements are what the records say" {
    command -v python3 >/dev/null || skip "no python3"
    cd "$ROOT"
    scripts/bench-table | in_file data/bench/README.md
    scripts/bench-table --short | in_file README.md
    # and no tensor stands in the README's table that the records do not have
    [ "$(grep -cE '^\| [a-z0-9-]+ \| [0-9]+ x ' README.md)" -eq "$(scripts/bench-table --short | grep -cE '^\| .* x ')" ]
}
