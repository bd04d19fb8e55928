# Single precision, and runs that begin in it and end in double.
load cli_helpers

three() { "$BLCO" generate -q x.tns --dims 20,25,30 --nnz 5000 --planted-rank 3 --seed 4; }

# single: how many iterations the summary says ran in single precision.
single() { sed -nE 's/^([0-9]+) of these iterations ran in single precision$/\1/p' messages; }

@test "--precision auto ends as --precision double does" {
    three
    cpd x.tns -r 3 -i 200 --tol 1e-7 --precision auto --record auto.json --nowrite
    [ "$(single)" -gt 1 ]
    auto=$(fit)
    grep -q "\"single_iterations\": $(single)" auto.json
    grep -q '"precision": "auto"' auto.json
    cpd x.tns -r 3 -i 200 --tol 1e-7 --record double.json --nowrite
    near "$auto" "$(fit)" 1e-6
    [ -z "$(single)" ]
    grep -q '"single_iterations": 0' double.json
}

@test "--precision auto of noisy data" {
    cpd "$DATA/fluorescence.tns" -r 3 -i 2000 --tol 1e-9 --nowrite
    double=$(fit)
    cpd "$DATA/fluorescence.tns" -r 3 -i 2000 --tol 1e-9 --precision auto --nowrite
    near "$(fit)" "$double" 1e-6
    [ "$(single)" -gt 1 ]
}

@test "a checkpoint of --precision auto goes on with --precision auto only" {
    three
    cpd x.tns -r 3 -i 6 --tol 0 --precision auto --checkpoint c --nowrite
    [ "$(single)" -eq 5 ]
    before=$(fit)
    fails 2 "a checkpoint with --precision auto, but this run has double" \
        cpd x.tns -r 3 -i 12 --resume c --nowrite
    cpd x.tns -r 3 -i 12 --tol 0 --precision auto --resume c --nowrite
    [ "$(single)" -eq 5 ]
    near "$(fit)" "$before" 0.1
}

@test "a tolerance that single precision does not resolve" {
    three
    cpd x.tns -r 2 -i 3 --tol 1e-8 --precision single --nowrite
    grep -q '^warning: --tol 1e-08 is below 1e-06' messages
    cpd x.tns -r 2 -i 3 --tol 1e-5 --precision single --nowrite
    ! grep -q '^warning: --tol' messages
}

@test "blco bench measures one precision, of auto the first, in ALS" {
    three
    fails 2 "--precision auto needs --als" bench x.tns -r 2 --precision auto
    "$BLCO" bench x.tns -r 2 --samples 1 --backend host --precision single >table
    grep -q 'single precision' table
    "$BLCO" bench x.tns -q -r 2 --als --samples 2 --backend host --precision auto --json auto.json >table
    grep -qx 'rank         2, auto precision' table
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 - auto.json <<'END'
import json
r = json.load(open("auto.json"))
assert r["options"]["precision"] == "auto"
assert all(1e-12 < m["relative_difference"] < 1e-5 for m in r["als"]["modes"]), "not that of floats"
for m in r["als"]["modes"]:
    assert abs(m["gathered_bytes_per_second"] * m["median"] / (r["tensor"]["nonzeros"] * 2 * 2 * 4) - 1) < 1e-9
END
}
