load cli_helpers

# bench ARGUMENT...: on the host, few samples; the table goes to the file table, messages to messages.
bench() {
    "$BLCO" bench "$@" --backend host -t 2 --samples 2 >table 2>messages || { cat messages && return 1; }
}

@test "a row for every mode and resolution, within 100 columns" {
    bench "$DATA/planted.tns" -r 4
    for mode in 1 2 3; do
        for conflict in ordered hierarchical register atomic "in ALS"; do
            [ "$(grep -cE "^ +$mode $conflict +([0-9.]+ +){6}[0-9]+ % " table)" -eq 1 ]
        done
        [ "$(grep -cE "^ +$mode +[0-9]+ +([0-9.]+ *){3}$" table)" -eq 1 ]
    done
    grep -qx 'lengths      20 x 25 x 30' table
    grep -qx 'rank         4, double precision' table
    grep -qx 'verified by  atomic on host' table
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
    grep -qx 'verified by  register on host' table
}

@test "modes that are too long for private copies, and memory for one copy only" {
    printf '50000 1 2\n1 1 3\n' >long.tns
    bench long.tns -r 2
    [ "$(grep -cE '^ +[12] ordered' table)" -eq 2 ]
    [ "$(grep -cE '^ +1 hierarchical' table)" -eq 0 ]
    "$BLCO" generate x.tns -q --dims 200,200,200 --nnz 100000
    bench x.tns -r 2 --host-memory 2M
    grep -q '^ordered: memory has room for one copy only' table
    [ "$(grep -cE '^ +[123] register' table)" -eq 3 ]
}

@test "order 1, and standard input" {
    printf '3 4\n1 3\n' | "$BLCO" bench - -q -r 1 --backend host --samples 1 >table
    grep -qx 'tensor       standard input' table
    grep -qE '^ +1 ordered' table
}

@test "the record has every sample and what the table shows" {
    bench "$DATA/planted.tns" -r 4 --json 'odd "name".json'
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

@test "bad arguments" {
    fails 2 "blco bench: no tensor given" bench -r 2
    fails 2 "no rank given: -r RANK expected" bench a.tns
    fails 2 "--samples: '0', expected a whole number from 1 to 1000000" bench a.tns -r 2 --samples 0
    fails 2 "--samples: 'x'" bench a.tns -r 2 --samples x
    fails 2 "--conflict: 'none'" bench a.tns -r 2 --conflict none
    fails 2 "unknown or ambiguous option --iters" bench a.tns -r 2 --iters 3
    fails 2 "double precision only" bench a.tns -r 2 --backend host --precision single
    fails 2 "one tensor expected" bench a.tns b.tns -r 2
    fails 5 "no/folder/x.json" bench absent.tns -r 2 --backend host --json no/folder/x.json
    fails 2 "absent.tns" bench absent.tns -r 2 -q --backend host --json x.json
    [ ! -e x.json ]
}

@test "too little memory ends with 3, and leaves no record" {
    fails 3 "that may be used" bench "$DATA/planted.tns" -q -r 4 --backend host --host-memory 1K --json x.json
    [ ! -e x.json ]
}
