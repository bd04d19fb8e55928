# --json on standard output: of selftest and cpd. (Of info: cli_info.bats; top and compare have theirs.)
load cli_helpers
load ../support/mpi

@test "selftest --json has every check" {
    run -0 --separate-stderr "$BLCO" selftest --backend host -t 2
    text=$output
    run -0 --separate-stderr "$BLCO" selftest --backend host -t 2 --json
    [ -z "$stderr" ]
    printf '%s\n' "$text" >text && printf '%s\n' "$output" >json
    python3 - <<'PYTHON'
import json
text, found = open("text").read().splitlines(), json.load(open("json"))
passed = [l for l in text if l.startswith("PASS")]
assert text[0] == "blco " + found["version"]
assert len(found["checks"]) == len(passed) == found["passed"] and found["failed"] == 0
assert all(c["outcome"] == "passed" and c["seconds"] >= 0 and "why" not in c for c in found["checks"])
assert all(c["check"] in l and c["where"] in l for c, l in zip(found["checks"], passed))
PYTHON
    fails 2 "--verbose and --json: give only one; try blco selftest --help" selftest -v --json
}

# without SECONDS: a record without what differs from run to run.
without_times() {
    python3 -c '
import json, sys
record = json.load(open(sys.argv[1]))
for name in ("date", "command", "seconds", "memory"):
    del record[name]
del record["trace"]["seconds"]
print(json.dumps(record))' "$1"
}

@test "cpd --json prints the record" {
    "$BLCO" cpd -q "$DATA/ucb-admissions.tns" -r 2 --nowrite --backend host --json >printed
    "$BLCO" cpd -q "$DATA/ucb-admissions.tns" -r 2 --nowrite --backend host --record written.json >nothing
    [ ! -s nothing ]
    diff <(without_times printed) <(without_times written.json)
    "$BLCO" cpd -q "$DATA/ucb-admissions.tns" -r 2 -o m --backend host --json --record both.json >printed
    diff printed both.json
    python3 -c '
import json, sys
import jsonschema
jsonschema.validate(json.load(open("printed")), json.load(open(sys.argv[1])))' "$ROOT/data/schema/record.schema.json"
    # messages stay on standard error, and standard output has only the record
    "$BLCO" cpd "$DATA/ucb-admissions.tns" -r 2 --nowrite --backend host --json 2>messages | python3 -m json.tool >/dev/null
    grep -q '^fit ' messages
    # tables make room for it
    "$BLCO" cpd "$DATA/ucb-admissions.tns" -r 2 --starts 2 --nowrite --backend host --json 2>messages | python3 -m json.tool >/dev/null
}

@test "cpd --json of several ranks prints a record of each, one after the other" {
    "$BLCO" cpd -q "$DATA/ucb-admissions.tns" -r 1:3 --nowrite --backend host --json >printed
    python3 - <<'PYTHON'
import json
decoder, text, at, ranks = json.JSONDecoder(), open("printed").read(), 0, []
while at < len(text):
    record, at = decoder.raw_decode(text, at)
    ranks.append(record["options"]["rank"])
    at += 1
assert ranks == [1, 2, 3], ranks
PYTHON
}

@test "cpd --json: processes that work together print one record" {
    needs_mpirun
    processes 3 "$BLCO" cpd -q "$DATA/ucb-admissions.tns" -r 2 --nowrite --backend host -t 1 --json >printed
    [ "$(python3 -c 'import json; print(json.load(open("printed"))["ranks"]["count"])')" = 3 ]
}
