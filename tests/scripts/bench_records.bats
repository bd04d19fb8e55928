# bats file_tags=release
# scripts/bench-records measures records in the order of their value until time is up.
load ../commands/cli_helpers

needs_python() { command -v python3 >/dev/null || skip "no python3"; }

# records ARGUMENT...: the records go to the folder `to`.
records() { "$ROOT/scripts/bench-records" --to to "$@"; }

# made_up COMMANDS: a blco that notes its arguments, runs these commands and writes a record.
made_up() {
    mkdir -p bin
    cat >bin/blco <<END
#!/bin/bash
[ "\$1" != --version ] || { echo "blco 0.1.0 (abc-dirty)"; exit; }
echo "\$*" >>"$PWD/calls"
[ "\$1" != generate ] || { touch "\$2"; exit; }
$1
while [ "\$1" != --json ]; do shift; done
echo '{"commit": "abc", "device": {"name": "Card"}}' >"\$2"
END
    chmod +x bin/blco
    export BLCO=$PWD/bin/blco
}

@test "bench-records: records are measured once for each commit, and the table is made of them" {
    needs_python
    export BLCO
    mkdir tensors
    "$BLCO" generate -q tensors/nell2.blco --dims 30,20,10 --nnz 500 --planted-rank 2 --poisson 3
    run -0 --separate-stderr records tensors 'rows/nell2-r16-*' nell2-nonneg -- --backend host -t 1
    [ "$(awk '{ print $3 }' <<<"$output" | tr '\n' ' ')" = "rows/nell2-r16-squares rows/nell2-r16-unknown \
rows/nell2-r16-weight rows/nell2-r16-poisson rows/nell2-r16-poisson-mu nell2-nonneg " ]
    [ "$(ls tensors)" = nell2.blco ]
    grep -qF '"nell2.blco",' to/rows/nell2-r16-poisson.json # without a folder
    run -0 "$ROOT/scripts/bench-table" --rows to/rows/*.json
    # shellcheck disable=SC2016 # it is no command
    [ "${lines[1]}" = '| tensor | rank | squares | unknown | zeros of weight .1 | counts | counts, `--solver mu` |' ]
    grep -qE '^\| nell2 \| 16 \| [0-9.]+( \| [0-9.]+ \([0-9.]+\)){4} \|$' <<<"${lines[3]}"
    run -0 "$ROOT/scripts/bench-table" to/nell2-nonneg.json
    [[ $output == *"double precision, nonnegative:"* ]]
    run -0 records tensors 'rows/nell2-r16-*' -- --backend host -t 1
    [ "$output" = "" ]
    run -0 records --again tensors rows/nell2-r16-squares -- --backend host -t 1
    [ "${#lines[@]}" -eq 1 ]
    sed -i 's/"commit": "/&0/' to/rows/nell2-r16-squares.json # of another commit
    run -0 records tensors 'rows/nell2-r16-*' -- --backend host -t 1
    [ "${#lines[@]}" -eq 1 ]
}

@test "bench-records: when time is up, what was not measured is named, and goes on later" {
    needs_python
    # shellcheck disable=SC2016 # the program that is made expands them
    made_up '[ "$2" != enron.blco ] || [ -e done ] || sleep 60'
    mkdir -p to && echo '{"commit": "old"}' >to/enron.json
    run -0 --separate-stderr records --seconds 3 tensors nell2 enron uber
    # shellcheck disable=SC2154 # run sets stderr
    [ "$stderr" = "bench-records: not measured: enron uber" ]
    [ "$(cat to/enron.json)" = '{"commit": "old"}' ]
    [ "$(ls to)" = "$(printf '%s\n' enron.json nell2.json)" ]
    grep -qxF "generate nell2.blco --preset nell2 -q" calls
    touch tensors/done && rm calls
    run -0 records tensors nell2 enron uber -- --samples 3
    [ "$(grep -v generate calls)" = "bench enron.blco -r 32 --json enron.json --samples 3
bench uber.blco -r 32 --json uber.json --samples 3" ] || { cat calls && false; }
}

@test "bench-records: one record takes too long, does not fit or fails, and the others are measured" {
    needs_python
    # shellcheck disable=SC2016
    made_up 'case $2 in enron*) sleep 60 ;; uber*) exit 3 ;; esac'
    run -0 --separate-stderr records --each 1 tensors enron uber nell2
    [ "$stderr" = "bench-records: not measured: enron uber" ]
    [[ $output == *"enron: not done after 1 s"*"uber: does not fit into memory"*" s  nell2" ]]
    # shellcheck disable=SC2016
    made_up 'case $2 in enron*) exit 1 ;; esac'
    run -1 --separate-stderr records tensors enron uber
    [[ $output == *"enron: blco ended with status 1"*" s  uber" ]]
}

@test "bench-records: records of two GPUs do not come into one folder" {
    needs_python
    made_up ''
    mkdir -p to && echo '{"commit": "abc", "device": {"name": "Other"}}' >to/uber.json
    run -1 --separate-stderr records tensors enron
    [ "$stderr" = "bench-records: to has records of Other, and this is one of Card: choose another folder by --to" ]
    [ "$(ls to)" = uber.json ]
}

@test "bench-records: what is measured first, and bad arguments" {
    needs_python
    run -0 records --list tensors
    [ "${lines[0]}" = "nell2: blco bench nell2.blco -r 32" ]
    [ "$(cut -d: -f1 <<<"$output" | sort | uniq -d)" = "" ]
    [ ! -e tensors ]
    run -0 records --list tensors 'uber*' nell2 uber
    [ "$(cut -d: -f1 <<<"$output" | tr '\n' ' ')" = "uber uber-single nell2 " ]
    run -1 records tensors nothing
    [ "$output" = "bench-records: no record is named nothing; --list shows the names" ]
    run -2 records
}
