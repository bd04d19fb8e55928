# --accelerate: choosing plain ALS or momentum, and what is printed about them.
# bats file_tags=plain
load cli_helpers

@test "auto is the default, and means momentum if memory has room for it" {
    for how in off momentum auto; do
        cpd "$DATA/planted.tns" -r 4 --backend host -o $how --accelerate $how --record $how.json
    done
    cpd "$DATA/planted.tns" -r 4 --backend host -o default
    for suffix in lambda.mat mode1.mat mode2.mat mode3.mat; do
        cmp momentum.$suffix auto.$suffix
        cmp momentum.$suffix default.$suffix
    done
    run ! cmp -s off.lambda.mat momentum.lambda.mat
    grep -q '"accelerate": *"off"' off.json
    run ! grep -q restarts off.json
    grep -q '"accelerate": *"momentum"' auto.json
    grep -q '"restarts":' auto.json
}

@test "auto means plain iterations if memory has no room for tensor and momentum" {
    "$BLCO" generate x.tns --dims 30000,20000,10000 --nnz 20000 -q
    for n in 42M 50M; do # factors, M and the model take 38 MB, with momentum 46 MB
        cpd x.tns -r 32 --backend host -i 8 --tol 0 --host-memory $n -o $n
        grep -c 'ran without momentum' messages >told.$n || true
        for how in off momentum; do
            code=0
            "$BLCO" cpd x.tns -r 32 --backend host -i 8 --tol 0 --host-memory $n --accelerate $how -o $n.$how -q || code=$?
            echo $code >code.$n.$how
        done
    done
    [ "$(cat told.42M told.50M | tr '\n' ' ')" = "1 0 " ]
    [ "$(cat code.42M.off code.42M.momentum code.50M.off code.50M.momentum | tr '\n' ' ')" = "0 3 0 0 " ]
    cmp 42M.lambda.mat 42M.off.lambda.mat
    cmp 50M.lambda.mat 50M.momentum.lambda.mat
    fails 3 'factors of 38.4 MB do not fit' cpd -q x.tns -r 32 --backend host -i 8 --host-memory 20M --nowrite
}

@test "momentum is in the summary and in the record" {
    cpd "$DATA/planted.tns" -r 6 --backend host -i 300 --tol 1e-9 --accelerate momentum --record x.json -o x -v
    grep -q '"accelerate": *"momentum"' x.json
    lost=$(sed -n 's/.*"iterations_lost": *\([0-9]*\).*/\1/p' x.json)
    [ -n "$lost" ]
    if [ "$lost" -gt 0 ]; then
        grep -q "^momentum: $lost restart" messages
    fi
}

@test "another word is refused" {
    fails 2 "--accelerate: 'fast'" cpd "$DATA/planted.tns" -r 4 --nowrite --accelerate fast
}

@test "a checkpoint of another acceleration is a warning" {
    cpd "$DATA/planted.tns" -r 4 --backend host -i 12 --tol 0 --nowrite --checkpoint x.ck --accelerate momentum
    first=$(fit)
    cpd "$DATA/planted.tns" -r 4 --backend host -i 12 --tol 0 --nowrite --resume x.ck --accelerate off
    grep -qx 'warning: the checkpoint is from a run with --accelerate momentum, this run has off' messages
    near "$(fit)" "$first" 1e-8 # a checkpoint does not say how many digits rounding has left
    cpd "$DATA/planted.tns" -r 4 --backend host -i 30 --tol 0 --nowrite --resume x.ck --accelerate momentum
    run ! grep -q 'the iterations before' messages
}

@test "a resumed run is accelerated as before the checkpoint, unless an option says otherwise" {
    for how in off momentum; do
        cpd "$DATA/planted.tns" -r 4 --backend host -i 20 --tol 0 -o $how --accelerate $how
        cpd "$DATA/planted.tns" -r 4 --backend host -i 12 --tol 0 --nowrite --checkpoint x.ck --accelerate $how
        cpd "$DATA/planted.tns" -r 4 --backend host -i 20 --tol 0 --resume x.ck -o resumed
        run ! grep -q 'the iterations before' messages
        cmp $how.lambda.mat resumed.lambda.mat
    done
}

# Plain ALS comes to 0.998. Components cancel each other until rounding hides what a sweep gains.
@test "momentum goes no further than rounding lets it see" {
    cpd "$DATA/matmul-2x2x2.tns" -r 7 --seed 2 --tol 1e-12 -i 20000 --nowrite --backend host --accelerate momentum
    awk -v fit="$(fit)" 'BEGIN { exit !(fit > 0.998) }'
}
