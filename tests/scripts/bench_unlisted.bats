# scripts/bench-unlisted makes tensors and splits, measures blco and others, and shows records.
# bats file_tags=release
load ../commands/cli_helpers

# unlisted ARGUMENT...: without the packages of other programs.
unlisted() { "$ROOT/scripts/bench-unlisted" "$@"; }

needs_python() { command -v python3 >/dev/null || skip "no python3"; }

@test "bench-unlisted: a tensor is made, split and measured" {
    needs_python
    export BLCO
    printf 'raise ImportError\n' | tee tensorly.py pyttb.py >implicit.py
    PYTHONPATH=$PWD run -0 --separate-stderr unlisted small --records records --tensors tensors -- --backend host -t 2
    [[ $stderr == *"left out, no tensorly here: small"* && $stderr == *"left out, no pyttb here: small"* ]]
    [ "$(wc -l <tensors/small.train.tns)" -eq 2400 ]
    [ "$(wc -l <tensors/small.valid.tns)" -eq 300 ]
    [ "$(wc -l <tensors/small.test.tns)" -eq 300 ]
    [ "$(cut -d' ' -f1-3 tensors/small.{train,valid,test}.tns | sort -u | wc -l)" -eq 3000 ]
    # noise of a tenth is what no model predicts
    grep -qE '^\| small \| 30x25x20 \| 3000 \| 2 \| blco \| [0-9.e-]+ \| 0\.1[45][0-9]+ \| [0-9.e-]+ \| [0-9.e-]+ \| - \|$' <<<"$output"
    diff <(echo "$output") <(unlisted --summary records/small.json)
    cp tensors/small.train.tns first.tns # the same tensor each time
    PYTHONPATH=$PWD unlisted small --limit 0 --records records --tensors tensors -- --backend host -t 1 -q 2>/dev/null
    cmp first.tns tensors/small.train.tns
    grep -qE '"blco": \[\[5, [^]]*\]\]' records/small.json # when time is up, blco is not run again
}

@test "bench-unlisted: a tensor of many entries is made by NumPy" {
    needs_python
    python3 -c 'import numpy' 2>/dev/null || skip "no NumPy"
    export BLCO
    run -0 --separate-stderr unlisted small-many --tensors tensors -- --backend host -t 2
    [ "$(wc -l <tensors/small-many.train.tns)" -eq 2400 ]
    [ "$(cut -d' ' -f1-3 tensors/small-many.{train,valid,test}.tns | sort -u | wc -l)" -eq 3000 ]
    [ "$(cut -d' ' -f4 tensors/small-many.*.tns | sort -u | tr '\n' ' ')" = "1 2 3 4 5 " ]
    # the noise, .6, and that of rounding to whole stars, .29, are what no model predicts
    grep -qE '^\| small-many \| 30x25x20 \| 3000 \| 2 \| blco \| [0-9.e-]+ \| 0\.[67][0-9]+ \|' <<<"$output"
    compgen -G 'tensors/*-indices.npy' && return 1
    cp tensors/small-many.train.tns first.tns
    unlisted small-many --tensors tensors -- --backend host -t 1 -q 2>/dev/null
    cmp first.tns tensors/small-many.train.tns
}

@test "bench-unlisted: programs are compared at the same error" {
    needs_python
    cat >x.json <<'END'
{"name": "x", "lengths": [4, 5], "entries": 9, "rank": 2, "options": [], "machine": "M", "programs":
 {"blco": [[5, 0.5, 2.0], [10, 1.0, 1.01], [15, 1.5, 1.0]], "other": [[1, 7, 3.0], [2, 100, 2.0]], "best": [[1, 3, 0.5]]}}
END
    run -0 unlisted --summary x.json
    [ "${lines[0]%%;*}" = M ]
    [ "${lines[3]}" = "| x | 4x5 | 9 | 2 | blco | never | 1.0000 | 1 | 1 | - |" ]
    [ "${lines[4]}" = "| x | 4x5 | 9 | 2 | other | never | 2.0000 | 100 | 0.5 | 200 |" ]
    [ "${lines[5]}" = "| x | 4x5 | 9 | 2 | best | 3 | 0.5000 | 3 | never | - |" ]
    # another machine has a table of its own
    sed 's/"M"/"A"/; s/"x"/"y"/' x.json >y.json
    run -0 unlisted --summary x.json y.json
    [[ $output == "A;"*"| y |"*"M;"*"| x |"* ]]
}

@test "bench-unlisted: the table of the measurements is what the records say" {
    needs_python
    cd "$ROOT"
    while read -r line; do
        grep -qxF -- "$line" data/bench/README.md || { echo "not there: $line" && return 1; }
    done < <(unlisted --summary data/bench/unlisted/*.json | grep '^|')
}

@test "bench-unlisted: what is refused" {
    needs_python
    refused() { # MESSAGE ARGUMENT...
        run unlisted "${@:2}"
        [ "$status" -eq 1 ] && [ "$output" = "bench-unlisted: $1" ]
    }
    refused "absent: expected one of planted, ratings, ratings-large, clicks, small, small-many, nell2-like, amazon-like" absent
    refused "unknown option --absent, or its argument is missing" --absent
    refused "unknown option --limit, or its argument is missing" --limit
    refused "--summary: no records given" --summary
    echo "{" >bad.json
    run unlisted --summary bad.json
    [ "$status" -eq 1 ] && [[ $output == "bench-unlisted: bad.json: "* ]]
}
