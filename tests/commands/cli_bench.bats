load cli_helpers

# bench ARGUMENT...: on the host, few samples; the table goes to the file table, messages to messages.
bench() {
    "$BLCO" bench "$@" --backend host -t 2 --samples 2 >table 2>messages || { cat messages && return 1; }
}

# Modes that are shorter than a 64th of the nonzeros, and therefore hierarchical on the host.
setup_file() {
    "$BLCO" generate "$BATS_FILE_TMPDIR/short.tns" -q --dims 20,25,30 --nnz 3000
}

@test "a row for every mode and resolution, within 100 columns" {
    bench "$BATS_FILE_TMPDIR/short.tns" -r 4
    for mode in 1 2 3; do
        for conflict in ordered hierarchical register atomic "in ALS"; do
            [ "$(grep -cE "^ +$mode $conflict +([0-9.]+ +){6}[0-9]+ % " table)" -eq 1 ]
        done
        [ "$(grep -cE "^ +$mode +[0-9]+ +([0-9.]+ *){3} (cache|memory)$" table)" -eq 1 ]
    done
    grep -qx 'lengths      20 x 25 x 30' table
    grep -qx 'rank         4, double precision' table
    grep -qx 'verified by  sampled rows on the host' table
    grep -qE '^ALS iteration: median [0-9.]+ ms .*2 iterations' table
    grep -qE '^  sum  +([0-9.]+ *){5}$' table
    [ "$(tail -n +10 table | awk 'length > 100')" = "" ]
    grep -qx 'measuring: done' messages
}

@test "one resolution alone" {
    bench "$DATA/planted.tns" -r 4 --conflict register
    [ "$(grep -c ' register ' table)" -eq 4 ] # three modes, and the heading of the building times
    run -1 grep -E 'ordered|hierarchical' table
    bench "$DATA/planted.tns" -r 4 --conflict atomic
    grep -qx 'verified by  sampled rows on the host' table
}

@test "modes that are too long for private copies, and memory for one copy only" {
    printf '50000 1 2\n1 1 3\n' >long.tns
    bench long.tns -r 2
    [ "$(grep -cE '^ +[12] ordered' table)" -eq 2 ]
    [ "$(grep -cE '^ +1 hierarchical' table)" -eq 0 ]
    "$BLCO" generate x.tns -q --dims 200,200,200 --nnz 100000
    bench x.tns -r 2 --host-memory 6M
    grep -q '^ordered: memory has room for one copy only' table
    [ "$(grep -cE '^ +[123] register' table)" -eq 3 ]
}

@test "order 1, and standard input" {
    printf '3 4\n1 3\n' | "$BLCO" bench - -q -r 1 --backend host --samples 1 >table
    grep -qx 'tensor       standard input' table
    grep -qE '^ +1 ordered' table
}

@test "the record has every sample and what the table shows" {
    bench "$BATS_FILE_TMPDIR/short.tns" -r 4 --json 'odd "name".json'
    for part in '"command": \[' '"commit": ' '"compiler": "' '"processor": "' '"threads": 2' \
        '"lengths": \[20, 25, 30\]' '"rank": 4' '"precision": "double"' '"copy_bytes_per_second": [0-9]'; do
        grep -qE "$part" 'odd "name".json'
    done
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 - 'odd "name".json' <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["command"][:2] == ["blco", "bench"] and r["command"][-1] == "2", r["command"]
assert r["command"][6] == 'odd "name".json', r["command"]
assert [c["conflict"] for c in r["mttkrp"]] == ["ordered", "hierarchical", "register", "atomic"]
for c in r["mttkrp"]:
    assert [m["mode"] for m in c["modes"]] == [1, 2, 3]
    for m in c["modes"]:
        assert len(m["samples"]) == 2 and min(m["samples"]) == m["least"] and m["kernel"] is None
        assert abs(m["median"] - sum(m["samples"]) / 2) < 1e-12 and m["relative_difference"] < 1e-12
assert len(r["als"]["samples"]) == 2 and [m["mode"] for m in r["als"]["modes"]] == [1, 2, 3]
assert len(r["als"]["operations"]["mttkrp"]) == 3
assert "PATH" not in r["environment"]
END
}

@test "tables of measurements are made of records" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    bench "$DATA/planted.tns" -r 4 --json planted.json
    bench "$DATA/planted.tns" -r 4 --conflict atomic --json atomic.json
    run -0 "$ROOT/scripts/bench-table" planted.json atomic.json
    [ "${#lines[@]}" -ge 4 ]
    [ "$(grep -c '^| planted |' <<<"$output")" -eq 2 ]
    echo '{' >broken.json
    run -1 --separate-stderr "$ROOT/scripts/bench-table" broken.json
    [[ $stderr == *"broken.json"* ]]
}

# made_up GPUS SECONDS: a record of NAME.blco, x-gpusGPUS.json, in which an iteration takes so long.
made_up() {
    local ranks=''
    if [ "$1" -gt 1 ]; then
        ranks=', "ranks": {"count": 2, "grid": [2, 1], "imbalance": 0.0125, "mttkrp_seconds": 0.004,
            "model": {"mttkrp_seconds": 0.005, "move_seconds": 0.001, "solve_seconds": 0.0005},
            "each": [{"update": [0.0005, 0.002], "communication": 0.0020},
                     {"update": [0.0005, 0.001], "communication": 0.0008}]}'
    fi
    cat >"x-gpus$1.json" <<END
{"tensor": {"name": "/a/x.blco", "order": 2, "lengths": [9, 8], "nonzeros": 60},
 "options": {"rank": 32, "precision": "double"}, "device": {"name": "Card"},
 "als": {"streamed": false, "median": $2, "modes": [{"median": 0.003}, {"median": 0.005}],
  "operations": {"update": [0.0004, 0.0006]}}$ranks}
END
}

@test "tables of several GPUs are made of their records" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    made_up 1 0.0090 && made_up 2 0.0060
    run -0 "$ROOT/scripts/bench-table" --ranks x-gpus2.json x-gpus1.json
    diff - <(echo "$output") <<'END'
Card, rank 32, double precision, several GPUs:

| tensor | GPUs | grid | imbalance | MTTKRPs, ms | ALS iteration, ms | moving, ms | MTTKRPs, times faster | iteration, times faster |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
| x | 1 | 1x1 | 0.00 % | 8.00 | 9.00 | 0.000 | 1.00 | 1.00 |
| x | 2 | 2x1 | 1.25 % | 4.00 | 6.00 | 0.800 | 2.00 | 1.50 |

Card, rank 32, double precision, several GPUs, the model / what was measured:

| tensor | GPUs | MTTKRPs, ms | solves, ms | moving, ms | ALS iteration, ms |
|---|---:|---:|---:|---:|---:|
| x | 2 | 5.00 / 4.00 = 1.25 | 0.500 / 0.700 = 0.71 | 1.00 / 0.800 = 1.25 | 6.50 / 6.00 = 1.08 |
END
    run -0 "$ROOT/scripts/bench-table" --ranks x-gpus2.json
    grep -qxF '| x | 2 | 2x1 | 1.25 % | 4.00 | 6.00 | 0.800 | - | - |' <<<"$output"
    # the table of the README, into a page: of y there is a record of four GPUs only, and z is streamed
    sed 's/x.blco/y.blco/; s/"count": 2/"count": 4/; s/0.0060/0.0030/' x-gpus2.json >y-gpus4.json
    sed 's/x.blco/z.blco/; s/"median": 0.003/&, "bus_bytes": 8/' x-gpus1.json >z.json
    printf '%s\n' text 'Card, rank 32, double precision, ms of an ALS iteration:' '' '| old |' '|---|' '| row |' 'more' >page
    run -0 "$ROOT/scripts/bench-table" --short --in page x-gpus1.json x-gpus2.json y-gpus4.json z.json
    diff - page <<'END'
text
Card, rank 32, double precision, ms of an ALS iteration:

| tensor | lengths | nonzeros, M | 1 GPU | 2 GPUs | 4 GPUs |
|---|---:|---:|---:|---:|---:|
| x | 9 x 8 | 0.0 | 9.00 | 6.00 | - |
| y | 9 x 8 | 0.0 | - | - | 3.00 |
more
END
    # a record of several GPUs is in no other table
    run -1 "$ROOT/scripts/bench-table" x-gpus2.json
    run -1 --separate-stderr "$ROOT/scripts/bench-table" --ranks --in page x-gpus2.json
    [[ $stderr == *"page has no table below: Card, rank 32"* ]]
}

@test "bench-ranks skips a tensor that does not fit" {
    mkdir -p bin top/scripts && cp "$ROOT/scripts/bench-ranks" top/scripts/
    # shellcheck disable=SC2016 # the program that is made expands them
    printf '%s\n' '#!/bin/sh' 'echo "$*" >>"$CALLS"' \
        'case "$*" in *a.blco*"--gpus 1 "*) exit 3 ;; *c.blco*--gpus*) exit 2 ;; esac' >bin/blco
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'for gpu in 0 1 2 3 4; do echo "GPU $gpu: Card"; done' >bin/nvidia-smi
    chmod +x bin/blco bin/nvidia-smi
    mkdir tensors && touch tensors/b.blco
    export CALLS=$PWD/calls
    PRESETS="a b" BLCO=$PWD/bin/blco PATH=$PWD/bin:$PATH run -0 --separate-stderr \
        top/scripts/bench-ranks tensors --samples 3
    # shellcheck disable=SC2154 # run sets stderr
    [ "$stderr" = "bench-ranks: does not fit into memory, no record: a on 1 GPU(s)" ]
    [ "$(grep -c '^generate' calls)" -eq 1 ]
    [ "$(grep -c '^bench' calls)" -eq 6 ] # 1, 2 and 4 GPUs
    grep -qxF "bench $PWD/tensors/b.blco -r 32 --als --gpus 4 --json data/bench/b-gpus4.json --samples 3" calls
    PRESETS=c GPUS=2 BLCO=$PWD/bin/blco run -2 top/scripts/bench-ranks tensors
}

@test "iterations of ALS only" {
    bench "$DATA/planted.tns" -r 4 --als --json als.json
    [ "$(grep -cE '^ +[123] in ALS ' table)" -eq 3 ]
    run -1 grep -E '^ +1 (ordered|hierarchical|register|atomic) ' table
    grep -q '^ALS iteration: median' table
    grep -qF '"mttkrp": []' als.json
    run -1 grep -F '"ranks"' als.json
}

@test "iterations that keep factor matrices nonnegative" {
    printf '%s\n' '1 1 1 5' '1 2 1 -4' '2 1 2 3' '2 2 2 -6' '1 1 2 1' >x.tns
    bench x.tns -r 2 --als --json any.json
    grep -qx 'rank         2, double precision' table
    bench x.tns -r 2 --als --nonneg --json nonneg.json
    grep -qx 'rank         2, double precision, nonnegative' table
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 - <<'END'
import json
any_sign, nonneg = json.load(open("any.json")), json.load(open("nonneg.json"))
assert any_sign["options"]["nonneg"] == [] and nonneg["options"]["nonneg"] == [1, 2, 3]
assert nonneg["als"]["fit"] < any_sign["als"]["fit"] - 0.1, "negative entries are not left out"
END
    # they have a table of their own
    run -0 "$ROOT/scripts/bench-table" any.json nonneg.json
    [ "$(grep -c 'rank 2, double precision:$' <<<"$output")" -eq 1 ]
    [ "$(grep -c 'rank 2, double precision, nonnegative:$' <<<"$output")" -eq 1 ]
    python3 -c 'import jsonschema' 2>/dev/null || skip "python3 has no jsonschema (package python3-jsonschema)"
    python3 - "$ROOT/data/schema/record.schema.json" <<'END'
import json, sys, jsonschema
validator = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
r = json.load(open("nonneg.json"))
validator.validate(r)
r["options"]["nonneg"] = [0]
assert not validator.is_valid(r)
END
}

@test "several GPUs on a backend without any" {
    fails 2 "blco bench: --gpus: backend host uses no GPU" bench "$DATA/planted.tns" -q -r 2 \
        --backend host --gpus 2 --json x.json
    fails 2 "--gpus: '0'" bench "$DATA/planted.tns" -r 2 --gpus 0
    [ ! -e x.json ]
}

@test "bad arguments" {
    fails 2 "blco bench: no tensor given" bench -r 2
    fails 2 "no rank given: -r RANK expected" bench a.tns
    fails 2 "--samples: '0', expected a whole number from 1 to 1000000" bench a.tns -r 2 --samples 0
    fails 2 "--samples: 'x'" bench a.tns -r 2 --samples x
    fails 2 "--conflict: 'none'" bench a.tns -r 2 --conflict none
    fails 2 "unknown option --init" bench a.tns -r 2 --init normal
    fails 2 "one tensor expected" bench a.tns b.tns -r 2
    fails 5 "no/folder/x.json" bench absent.tns -r 2 --backend host --json no/folder/x.json
    fails 2 "absent.tns" bench absent.tns -r 2 -q --backend host --json x.json
    [ ! -e x.json ]
}

@test "too little memory ends with 3, and leaves no record" {
    fails 3 "that may be used" bench "$DATA/planted.tns" -q -r 4 --backend host --host-memory 1K --json x.json
    [ ! -e x.json ]
}
