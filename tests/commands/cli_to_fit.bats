# blco bench --to-fit
load cli_helpers

# to_fit ARGUMENT...: on the host; the table goes to the file table, messages to messages.
to_fit() {
    "$BLCO" bench "$@" --to-fit --backend host -t 2 >table 2>messages || { cat messages && return 1; }
}

@test "to-fit: seconds and iterations of each way, within 100 columns" {
    to_fit "$DATA/planted.tns" -r 4 --starts 3 --seed 5 -i 300 --tol 1e-8
    cat table
    grep -qx 'lengths      20 x 25 x 30' table
    grep -qx 'rank         4' table
    grep -qx 'runs         at most 300 iterations, tolerance 1e-08, seeds from 5' table
    grep -q '^Medians of 3 starts until ' table
    [ "$(grep -cE '^plain, double( +([0-9.]+|never)){6}( +[0-9]+){3}$' table)" -eq 1 ]
    [ "$(awk 'length > 100 && !/^(tensor|processor)/' table)" = "" ]
    grep -qE '^plain, double: 3 runs, [0-9.]+ s$' messages
}

@test "to-fit: a run is what blco cpd makes from the same seed" {
    to_fit "$DATA/planted.tns" -r 4 --starts 2 --seed 3 -i 60 --tol 0 --json x.json
    command -v python3 >/dev/null || skip "python3 is not installed"
    for seed in 3 4; do
        cpd "$DATA/planted.tns" -r 4 -i 60 --tol 0 --accelerate off --seed "$seed" --check-every 1000 --nowrite --backend host -t 2 \
            --record cpd.json
        python3 - x.json cpd.json "$seed" <<'END'
import json, sys
r, cpd, seed = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), int(sys.argv[3])
way = r["to_fit"]["ways"][0]
run = next(run for run in way["runs"] if run["seed"] == seed)
best = r["to_fit"]["best"][seed - 3]
assert way["name"] == "plain, double" and run["fit"] == cpd["result"]["fit"] and run["iterations"] == 60
assert best == max(run["fit"] for way in r["to_fit"]["ways"] for run in way["runs"] if run["seed"] == seed)
for level, iterations, seconds in zip(r["to_fit"]["levels"], run["reached_iterations"], run["reached_seconds"]):
    fits = cpd["trace"]["fit"]
    expected = next((i for i, fit in enumerate(fits, 1) if fit >= best - level), None)
    assert iterations == expected, (run, expected)
    assert seconds is None if expected is None else 0 < seconds <= run["seconds"], run
END
    done
}

@test "to-fit: the record is one by the schema" {
    to_fit "$DATA/planted.tns" -r 6 --starts 2 -i 5 --json x.json
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 -c 'import jsonschema' 2>/dev/null || skip "python3 has no jsonschema (package python3-jsonschema)"
    python3 - "$ROOT/data/schema/record.schema.json" x.json <<'END'
import json, sys, jsonschema
schema, r = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
validator = jsonschema.Draft202012Validator(schema)
validator.validate(r)
assert r["options"]["starts"] == 2 and r["options"]["iterations"] == 5 and r["options"]["tolerance"] == 1e-9
del r["to_fit"]["ways"][0]["runs"][0]["reached_seconds"]
assert not validator.is_valid(r)
END
}

@test "to-fit: nonnegative models" {
    to_fit "$DATA/planted.tns" -r 4 --starts 1 -i 20 --nonneg --json x.json
    grep -qx 'rank         4, nonnegative' table
    grep -qF '"nonneg": [1, 2, 3]' x.json
}

@test "to-fit: a .blco file, and standard input" {
    "$BLCO" convert -q "$DATA/planted.tns" x.blco
    to_fit x.blco -r 2 --starts 1 -i 3
    grep -q '^Medians of 1 start until ' table
    to_fit - -r 2 --starts 1 -i 3 <"$DATA/planted.tns"
    grep -qx 'tensor       standard input' table
}

@test "to-fit: bad arguments" {
    for option in "--starts 2" "--seed 4" "-i 3" "--tol 0"; do
        # shellcheck disable=SC2086 # words
        fails 2 " needs --to-fit" bench a.tns -r 2 $option
    done
    fails 2 "--iters needs --to-fit" bench a.tns -r 2 -i 3
    fails 2 "--to-fit and --als: one of them expected" bench a.tns -r 2 --to-fit --als
    fails 2 "--to-fit and --samples: one of them expected" bench a.tns -r 2 --to-fit --samples 3
    fails 2 "--to-fit and --cache-tiles: one of them expected" bench a.tns -r 2 --to-fit --cache-tiles 0
    fails 2 "--to-fit and --precision: one of them expected" bench a.tns -r 2 --to-fit --precision single
    fails 2 "--iters: '65537', expected a whole number from 1 to 65536" bench a.tns -r 2 --to-fit -i 65537
    fails 2 "--starts: '0'" bench a.tns -r 2 --to-fit --starts 0
    fails 2 "--tol: '-1'" bench a.tns -r 2 --to-fit --tol -1
    fails 2 "no rank given" bench a.tns --to-fit
    fails 2 "absent.tns" bench absent.tns -r 2 -q --to-fit --backend host --json x.json
    fails 3 "that may be used" bench "$DATA/planted.tns" -q -r 4 --to-fit --backend host --host-memory 1K --json x.json
    [ ! -e x.json ]
}
