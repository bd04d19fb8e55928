# --accelerate: how plain ALS and momentum are asked for, and what is told of them.
load cli_helpers

@test "off is the default, and auto means it" {
    for how in off auto; do
        cpd "$DATA/planted.tns" -r 4 --backend host -o $how --accelerate $how --record $how.json
        grep -q '"accelerate": *"off"' $how.json
        run ! grep -q restarts $how.json
    done
    cpd "$DATA/planted.tns" -r 4 --backend host -o default
    for suffix in lambda.mat mode1.mat mode2.mat mode3.mat; do
        cmp off.$suffix auto.$suffix
        cmp off.$suffix default.$suffix
    done
}

@test "momentum is told of, in the record, too" {
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
    cpd "$DATA/planted.tns" -r 4 --backend host -i 12 --tol 0 --nowrite --resume x.ck
    grep -qx 'warning: the iterations before had --accelerate momentum, the next have off' messages
    [ "$(fit)" = "$first" ]
    cpd "$DATA/planted.tns" -r 4 --backend host -i 30 --tol 0 --nowrite --resume x.ck --accelerate momentum
    run ! grep -q 'the iterations before' messages
}
