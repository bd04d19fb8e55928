load cli_helpers
load ../support/mpi

# validates FILE...: each one is a record by the JSON Schema, without a field that the schema does not name.
validates() {
    python3 -c 'import jsonschema' 2>/dev/null || skip "python3 has no jsonschema (package python3-jsonschema)"
    python3 - "$ROOT/data/schema/record.schema.json" "$@" <<'END'
import json, sys, jsonschema
def closed(schema):
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    whole = schema.get("type") == "object" and "properties" in schema
    return {name: closed(one) for name, one in schema.items()} | ({"unevaluatedProperties": False} if whole else {})
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
for name in "options", "built":  # other objects have these fields and more
    del schema["$defs"][name]["type"]
schema = closed(schema)
for name in "options", "built":
    schema["$defs"]["cpd"]["properties"][name]["unevaluatedProperties"] = False
validator = jsonschema.Draft202012Validator(schema)
faults = [f"{name}: {list(e.path)}: {e.message}" for name in sys.argv[2:]
          for e in validator.iter_errors(json.load(open(name)))]
sys.exit("\n".join(faults) if faults else 0)
END
}

# holds RECORD EXPRESSION...: each Python expression, of the record r, is true.
holds() {
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 - "$@" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
for expression in sys.argv[2:]:
    if not eval(expression):
        sys.exit(f"not so: {expression}")
END
}

@test "a record says what was run and what came of it" {
    cpd "$DATA/planted.tns" -r 3 -i 200 --tol 1e-9 --seed 3 -o 'odd "name"' --record x.json --backend host -t 2 \
        --check-every 5 --format npy,ktns
    grep -qx 'wrote x.json' messages
    holds x.json 'r["record"] == "cpd" and r["command"][:2] == ["blco", "cpd"] and "odd \"name\"" in r["command"]' \
        'r["tensor"]["lengths"] == [20, 25, 30] and r["tensor"]["order"] == 3' \
        'r["options"]["seed"] == 3 and r["options"]["iterations"] == 200 and r["options"]["tolerance"] == 1e-9' \
        'r["options"]["format"] == ["npy", "ktns"] and r["options"]["init"] == "random"' \
        "f'{r[\"result\"][\"fit\"]:.9f}' == '$(fit)' and r['result']['stop'] == 'converged'" \
        'len(r["trace"]["fit"]) == len(r["trace"]["seconds"]) == r["result"]["iterations"]' \
        'r["trace"]["fit"][-1] == r["result"]["fit"] and r["trace"]["seconds"] == sorted(r["trace"]["seconds"])' \
        'r["result"]["fit_from_residual"] and r["result"]["checks"] > 0' \
        'abs(sum(r["seconds"]["stages"].values()) - r["seconds"]["total"]) < 1e-9' \
        'abs(sum(r["seconds"]["modes"]["mttkrp"]) - r["seconds"]["stages"]["mttkrp"]) < 1e-9' \
        'r["seconds"]["stages"]["components"] > 0 and len(r["result"]["explained"]) == len(r["result"]["lost"]) == 3' \
        'all(0 < lost < explained < 1 for lost, explained in zip(r["result"]["lost"], r["result"]["explained"]))' \
        'r["seconds"]["stages"]["write"] > 0 and r["memory"]["peak_bytes"] > 1e6' \
        'len(r["files"]) == 6 and all(__import__("os").path.exists(f) for f in r["files"])' \
        'len(r["built"]["conflict"]) == 3 and r["threads"] == 2 and r["backend"] == "host"'
    validates x.json
}

@test "warnings and advice are in the record, also of a quiet run" {
    cpd "$DATA/ucb-admissions.tns" -r 3 -q --nowrite --record x.json
    holds x.json 'r["findings"][0]["sentence"].startswith("rank 3 is larger than mode 1 (length 2)") and r["files"] == []' \
        'r["options"]["stem"] is None and r["options"]["format"] == []'
    printf '1 1 2 1\n1 2 1 1\n2 1 1 1\n' >border.tns
    cpd border.tns -r 2 -i 200 --tol 0 --nowrite --record x.json
    grep -q '^warning: .* degenerate' messages
    holds x.json 'any("degenerate" in f["sentence"] for f in r["findings"]) and r["result"]["degenerate_pairs"] > 0' \
        'r["result"]["most_degenerate"]["congruence"] < -0.95'
    validates x.json
}

@test "findings: kind, severity, sentence and advice, those of the beginning first" {
    printf '1 1 2 1\n1 2 1 1\n2 1 1 1\n' >border.tns
    cpd border.tns -q -r 3 -i 2 --starts 3 --core-consistency --nowrite --record x.json
    holds x.json '[f["kind"] for f in r["findings"]][:4] == ["short_mode"] * 3 + ["not_converged"]' \
        'r["findings"][0] == {"kind": "short_mode", "severity": "warning", "advice": None, "sentence": "rank 3 is larger than mode 1 (length 2): its columns cannot be independent"}' \
        'any(f["kind"] == "core_consistency_unknown" and f["severity"] == "note" for f in r["findings"])' \
        'any(f["kind"].startswith("starts_") for f in r["findings"])'
    validates x.json
    [ ! -s messages ] && grep -q ', best$' results
}

@test "a range of ranks keeps its table and the suggestion" {
    "$BLCO" generate -q x.tns --dims 20,25,30 --nnz 15000 --planted-rank 3 --seed 4
    mkdir out
    cpd x.tns -q -r 1:5:2 -i 300 --tol 1e-7 --starts 3 -o out/m --format npy,ktns
    [ ! -s messages ]
    suggestion=$(grep suggested results)
    holds out/m.ranks.json 'r["record"] == "ranks" and [k["rank"] for k in r["ranks"]] == [1, 3, 5] and r["complete"]' \
        'r["suggested"] == 3' "r['suggestion'] == '$suggestion'" 'r["tensor"]["lengths"] == [20, 25, 30]' \
        'all(k["other_starts"] == 2 and 0 <= k["agreeing_starts"] <= 2 for k in r["ranks"])' \
        'all(len(k["files"]) == 5 and all(__import__("os").path.exists(f) for f in k["files"]) for k in r["ranks"])' \
        'r["ranks"][0]["core_consistency"] > 99.9 and r["ranks"][1]["stem"] == "out/m.r3"'
    for row in $(seq 3); do
        holds out/m.ranks.json "f'{r[\"ranks\"][$row - 1][\"fit\"]:.6f}' == '$(awk -v n=$((row + 1)) 'NR == n { print $2 }' results)' or '1-' in '$(sed -n "$((row + 1))p" results)'"
    done
    cpd x.tns -q -r 1:3 -i 5 --nowrite
    [ ! -e x.ranks.json ]
    printf '1 1 2 %s\n1 2 1 %s\n2 1 1 %s\n' 6.9e307 6.9e307 6.9e307 >y.tns
    run -4 "$BLCO" cpd -q y.tns -r 1:3 -i 30 --tol 0 --accelerate off -o y
    holds y.ranks.json '"fit" not in r["ranks"][2] and r["ranks"][2]["failure"].startswith("a weight of the model")' \
        'r["suggested"] is None and r["suggestion"].startswith("no rank above 1 is suggested")'
    cpd x.tns -q -r 2:4 --starts 50 -i 1000000000 --tol 0 --time-limit 1s -o t
    holds t.ranks.json 'not r["complete"] and [k["rank"] for k in r["ranks"]] == [2]'
    validates out/m.ranks.json y.ranks.json t.ranks.json
    sed 's/"suggested": .*/"suggested": "3",/' out/m.ranks.json >bad.json
    run -1 validates bad.json
    mkdir d.ranks.json
    fails 5 "d.ranks.json: cannot be written: it is a directory" cpd x.tns -q -r 1:2 -o d
    cp x.tns z.ranks.json
    fails 2 "the table of ranks z.ranks.json is the tensor that is read" cpd z.ranks.json -q -r 1:2 -o z
    cmp x.tns z.ranks.json
}

@test "several processes: rank 0 keeps the table" {
    needs_mpirun
    processes 2 "$BLCO" cpd "$DATA/planted.tns" --backend host -q -r 3:4 -i 100 --starts 2 -o p >results
    [ "$(grep -c 'suggested' results)" -eq 1 ]
    cpd "$DATA/planted.tns" --backend host -q -r 3:4 -i 100 --starts 2 -o a
    holds p.ranks.json 'len(r["ranks"]) == 2' "r['suggestion'] == '$(sed -n 's/^  "suggestion": "\(.*\)",$/\1/p' a.ranks.json)'"
}

@test "the fingerprint is that of the nonzeros, in any order and any kind of file" {
    tac "$DATA/ucb-admissions.tns" >y.tns
    "$BLCO" convert -q "$DATA/ucb-admissions.tns" y.blco
    for tensor in "$DATA/ucb-admissions.tns" y.tns y.blco; do
        cpd "$tensor" -r 1 -q --nowrite --record x.json
        grep -o '"fingerprint": "[0-9a-f]*"' x.json
    done | sort -u >prints
    grep -v '^#' "$DATA/ucb-admissions.tns" | sed '1s/[0-9]*$/7/' >other.tns
    cpd other.tns -r 1 -q --nowrite --record x.json
    [ "$(wc -l <prints)" -eq 1 ]
    grep -q '"fingerprint": "' x.json
    run -1 grep -Ff prints x.json
}

@test "a run that a signal or the time limit has ended has a record" {
    OPENBLAS_NUM_THREADS=1 env --default-signal=TERM "$BLCO" cpd "$DATA/planted.tns" -r 4 -i 1000000000 --tol 0 -t 1 \
        --nowrite --record x.json 2>messages &
    pid=$!
    await_building
    sleep 0.5
    kill -TERM $pid
    code=0 && wait $pid || code=$?
    [ "$code" -eq 143 ]
    holds x.json 'r["result"]["stop"] == "interrupted" and r["result"]["signal"] == 15'
    cpd "$DATA/planted.tns" -r 4 -i 1000000000 --tol 0 -t 1 --nowrite --record y.json --time-limit 1s -q
    holds y.json 'r["result"]["stop"] == "time_limit" and r["options"]["time_limit"] == 1' \
        'len(r["trace"]["fit"]) == -(-r["result"]["iterations"] // r["trace"]["every"]) <= 65536'
    validates x.json y.json
}

@test "a resumed run and one from a model" {
    cpd "$DATA/planted.tns" -r 4 -i 3 --tol 0 -q -o a --checkpoint c
    cpd "$DATA/planted.tns" -r 4 -i 8 --tol 0 -q --nowrite --resume c --record x.json
    holds x.json 'r["trace"]["first_iteration"] == 4 and len(r["trace"]["fit"]) == 5 and r["options"]["init"] is None'
    cpd "$DATA/planted.tns" -r 4 -i 8 --tol 0 -q --nowrite --init a --record y.json
    holds y.json 'r["options"]["init"] == "a" and r["options"]["resume"] is None'
    validates x.json y.json
}

@test "several starts and ranks: the best start's trace, a row for each start, a record for each rank" {
    cpd "$DATA/planted.tns" -r 3:4 --starts 3 -i 300 --tol 1e-8 -q --nowrite --record x.json --backend host
    for rank in 3 4; do
        holds x.r$rank.json "r['options']['rank'] == $rank and [k['seed'] for k in r['starts']] == [1, 2, 3]" \
            'r["result"]["fit"] == max(k["fit"] for k in r["starts"]) == r["trace"]["fit"][-1]' \
            'max(r["starts"], key=lambda k: k["fit"])["iterations"] == len(r["trace"]["fit"])' \
            'all(k["stop"] in ("converged", "iteration_limit") for k in r["starts"])' \
            'r["result"]["core_consistency"] <= 100.000001'
    done
    validates x.r3.json x.r4.json
    [ ! -e x.json ]
}

@test "several processes: rank 0 writes the record" {
    needs_mpirun
    processes 2 "$BLCO" cpd "$DATA/planted.tns" -r 4 -q -o x --record x.json --backend host
    holds x.json 'r["ranks"]["count"] == 2 and len(r["ranks"]["each"]) == 2 and "built" not in r' \
        'sum(k["nonzeros"] for k in r["ranks"]["each"]) == r["tensor"]["nonzeros"]' \
        'len(r["trace"]["fit"]) == r["result"]["iterations"]'
    cpd "$DATA/planted.tns" -r 4 -q --nowrite --record y.json
    [ "$(grep fingerprint x.json)" = "$(grep fingerprint y.json)" ]
    validates x.json y.json
}

@test "records of measurements are valid" {
    "$BLCO" bench "$DATA/planted.tns" -q -r 4 --backend host -t 2 --samples 2 --json x.json >table
    holds x.json 'r["record"] == "bench"'
    validates x.json "$ROOT"/data/bench/*.json
}

@test "the schema refuses what is no record" {
    cpd "$DATA/ucb-admissions.tns" -r 1 -q --nowrite --record x.json
    local count=0 changed=()
    for change in 's/"stop": ".*"/"stop": "bored"/' 's/"fit": \[.*\]/"fit": 3/' 's/"record": "cpd"/"record": "cdp"/' \
        's/"peak_bytes": [0-9]*/"peak_bytes": -1/' 's/"fingerprint"/"footprint"/' 's/"tensor"/"sensor"/' \
        's/"falls": /"fallen": 1, &/' 's/"streamed": /"steamed": 1, &/' 's/"threads": /"treads": 1, &/'; do
        count=$((count + 1))
        sed "$change" x.json >bad$count.json
        changed+=("bad$count.json")
        run -1 cmp -s x.json bad$count.json
    done
    validates x.json
    run -1 validates "${changed[@]}"
    for name in "${changed[@]}"; do
        [[ $output == *"$name: "* ]] || { echo "$name is taken for a record" && return 1; }
    done
}

@test "the manual has the fields of the schema, and the program knows no others" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    run -0 "$ROOT/scripts/record-manual" --check
    mkdir -p copy/man copy/data/schema copy/scripts
    cp "$ROOT/scripts/record-manual" copy/scripts && cp "$ROOT/data/schema/record.schema.json" copy/data/schema
    sed 's/^of the modes$/of all modes/' "$ROOT/man/blco-record.5" >copy/man/blco-record.5
    run -1 copy/scripts/record-manual --check
    [[ $output == *"run scripts/record-manual" ]]
    copy/scripts/record-manual && cmp copy/man/blco-record.5 "$ROOT/man/blco-record.5"
    python3 - "$ROOT/data/schema/record.schema.json" >names <<'END'
import json, sys
def names(schema):
    for name, one in schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ():
        if name == "properties":
            yield from one
        yield from names(one)
print("\n".join(sorted(set(names(json.load(open(sys.argv[1])))))))
END
    [ "$(wc -l <names)" -gt 100 ]
    cat "$ROOT"/src/{record,bench,commands/cpd,problem,tensor,backend}/*.c >sources
    while read -r name; do grep -qF "\"$name\"" sources || { echo "nobody writes $name" && return 1; }; done <names
    cat "$ROOT"/src/record/*.c "$ROOT"/src/commands/cpd/cpd_{record,ranks_file}.c |
        grep -oE '(json_put_[a-z]+|run_record_(texts|modes))\(&?j, "[a-z0-9_]+' | sed 's/.*"//' | sort -u >written
    [ "$(wc -l <written)" -gt 90 ]
    run -1 grep -vxFf names written
    [ -z "$output" ] || { echo "not in the schema: $output" && return 1; }
    cat "$ROOT"/src/als/findings.c "$ROOT"/src/commands/cpd/*.c | tr '\n' ' ' |
        grep -oP 'findings_add\(\s*\w+, "\K\w+' | sort -u >kinds
    sed -n 's/.*{"const": "\([a-z_]*\)", "description.*/\1/p' "$ROOT/data/schema/record.schema.json" | sort | diff kinds -
}

@test "what a record cannot replace" {
    cp "$DATA/ucb-admissions.tns" x.tns
    fails 2 "the record x.tns is the tensor that is read" cpd x.tns -q -r 1 -o y --record x.tns
    fails 2 "the record y.mode1.mat is a file of the model" cpd x.tns -q -r 1 -o y --record y.mode1.mat
    fails 2 "the record c is the checkpoint" cpd x.tns -q -r 1 -o y --checkpoint c --record c
    fails 5 "no/folder/x.json: cannot be written" cpd x.tns -q -r 1 -o y --record no/folder/x.json
    mkdir d
    fails 5 "d: cannot be written: it is a directory" cpd x.tns -q -r 1 -o y --record d
    fails 2 "option --record needs an argument" cpd x.tns -r 1 --record
    fails 2 "absent.tns" cpd absent.tns -q -r 1 -o y --record r.json
    rmdir d
    [ "$(ls -A)" = x.tns ]
}

@test "a run that fails leaves no record, and an older one as it was" {
    echo old >x.json
    printf '1 1 x\n' >x.tns
    fails 2 "x.tns:1" cpd x.tns -q -r 1 --nowrite --record x.json
    [ "$(cat x.json)" = old ]
    cpd "$DATA/planted.tns" -r 2 -q --nowrite --record x.json
    run -1 grep -x old x.json
}

@test "records of runs with held-out entries are valid" {
    for how in "--unlisted unknown --early-stop 3 --ridge 0.01" "--unlisted 0.1 --starts 2" "--ridge auto"; do
        cpd "$DATA/planted.tns" -r 4 --backend host --holdout 0.2:9 $how --nowrite --record x.json
        validates x.json
        holds x.json 'r["options"]["holdout"] == 0.2 and r["options"]["holdout_seed"] == 9' \
            'len(r["trace"]["held_out_rmse"]) == len(r["trace"]["fit"])' \
            'r["result"]["held_out"]["mae"] <= r["result"]["held_out"]["rmse"]' \
            'all(r["result"]["held_out"]["rmse"] <= s["held_out_rmse"] for s in r.get("starts", []))' \
            '"ridge_search" not in r or min(r["ridge_search"]["held_out_rmse"]) == r["result"]["held_out"]["rmse"]'
    done
    cpd "$DATA/planted.tns" -r 4 --backend host --holdout 0.2 --loss poisson --starts 2 --nowrite --record x.json
    validates x.json
    holds x.json 'len(r["trace"]["held_out_deviance"]) == len(r["trace"]["fit"])' \
        'all(r["result"]["held_out"]["mean_deviance"] <= s["held_out_deviance"] for s in r["starts"])' \
        'r["result"]["held_out"]["log_likelihood"] < 0' \
        '"lost" not in r["result"] and abs(sum(r["result"]["explained"]) - 1) < 1e-9'
    cpd "$DATA/planted.tns" -r 4 --backend host --holdout 0.2 --loss binary --values binary --nowrite --record x.json
    validates x.json
    holds x.json 'r["options"]["loss"] == "binary" and r["result"]["held_out"]["log_loss"] > 0' \
        'r["result"]["held_out"]["ranked"] == r["result"]["held_out"]["entries"]' \
        'len(r["result"]["held_out"]["mean_reciprocal_rank"]) == len(r["result"]["held_out"]["hits_at_10"]) == 3'
    for how in "--ridge auto" "--loss poisson"; do
        cpd "$DATA/planted.tns" -r 1:3 --backend host --holdout 0.2 $how -o x
        validates x.ranks.json
    done
}
