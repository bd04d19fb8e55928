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

# runs: the commands of `session` print what stands below them.
runs() {
    sed -n 's/^\$ \(blco .*\)/\1/p' session | sed '/^blco cpd/s/$/ --backend host/' >commands
    [ -s commands ]
    PATH=$PWD/bin:$PATH bash -e commands >got
    [ -s got ]
    diff <(grep -v '^\$' session | grep .) <(grep . got)
}

@test "the session at the top of the README is what a run gives" {
    mkdir build && ln -s "$DATA" data
    cpd data/ucb-admissions.tns -r 2 -o build/ucb --backend host
    shows README.md "blco cpd data.ucb-admissions"
}

@test "the models that the pages show are what runs give" {
    mkdir bin build && ln -s "$BLCO" bin/blco && ln -s "$DATA" data
    cpd -q data/ucb-admissions.tns -r 2 -o build/ucb --backend host
    sed -n '/^    \$ blco top build.ucb/,/^## /p' "$ROOT/README.md" | sed '/^## /d; s/^    //' >session
    runs
    sed -n '/^    \$ blco cpd -q data.ucb.* --loss poisson/,/^$/s/^    //p' "$ROOT/README.md" >session
    runs
    sed -n '/^\$ blco cpd -q data.ucb/,/^\./{/^\./d;p}' "$ROOT/man/blco-compare.1" >session
    runs
}

@test "the sessions of blco-gaps are what runs give" {
    mkdir bin && ln -s "$DATA" data
    printf '#!/bin/bash\n[ "$1" != cpd ] || set -- "$@" --backend host\nexec "$BLCO" "$@"\n' >bin/blco
    chmod +x bin/blco
    sed -n '/^\.Bd/,/^\.Ed/{/^\./d;p}' "$ROOT/man/blco-gaps.7" | sed 's/\\e/\\/g' >session
    awk '/^\$ / || more { sub(/^\$ /, ""); print; more = /\\$/ }' session >commands
    [ "$(grep -c '^blco' commands)" -gt 10 ]
    PATH=$PWD/bin:$PATH bash -e commands >got
    diff <(awk '/^\$ / || more { more = /\\$/; next } 1' session) got
    # the README shows some of that
    sed -n '/^\*\*Fit data with gaps/,/^\*\*Make a page/s/^    //p' "$ROOT/README.md" | grep -v '^\$' >shown
    [ "$(wc -l <shown)" -gt 5 ]
    while IFS= read -r line; do grep -qxF -- "$line" got; done <shown
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

@test "the README leads from a table with names to a page with names" {
    mkdir bin && ln -s "$BLCO" bin/blco && ln -s "$DATA" data
    sed -n '/^\*\*Make a page/,/^\*\*Use it/s/^    \(blco .*\)/\1/p' "$ROOT/README.md" >commands
    [ "$(wc -l <commands)" -eq 3 ]
    PATH=$PWD/bin:$PATH bash -e commands 2>messages
    grep -q '<caption><bdi>item</bdi>' events.html
    grep -q '<bdi[^>]*>coffee</bdi>' events.html
}

@test "what the README calls exists" {
    for path in scripts/demo scripts/check scripts/loaders scripts/fetch-frostt scripts/slurm ARCHITECTURE.md CONTRIBUTING.md \
        data/README.md data/bench/README.md LICENSE; do
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
    for page in README.md ARCHITECTURE.md CONTRIBUTING.md data/README.md data/bench/README.md; do
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

@test "the tables of measurements are what the records say" {
    command -v python3 >/dev/null || skip "no python3"
    cd "$ROOT"
    scripts/bench-table | in_file data/bench/README.md
    ! compgen -G 'data/bench/rows/*.json' >/dev/null || scripts/bench-table --rows | in_file data/bench/README.md
    scripts/bench-table --short | in_file README.md
    scripts/bench-names --table data/bench/names/*.json | in_file data/bench/README.md
    # and the README's table has no other tensors
    [ "$(grep -cE '^\| [a-z0-9-]+ \| [0-9]+ x ' README.md)" -eq "$(scripts/bench-table --short | grep -cE '^\| .* x ')" ]
}
