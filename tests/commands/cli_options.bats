# bats file_tags=plain
load cli_helpers

@test "cpd: operands" {
    fails 2 "blco cpd: no tensor given" cpd -r 2
    fails 2 "one tensor expected, but 'b.tns' follows 'a.tns'" cpd a.tns b.tns -r 2
    fails 2 "no rank given: -r RANK expected" cpd a.tns
    fails 2 "--grid: '2x2x1', expected a product of 1, the number of processes" \
        cpd a.tns -r 2 --backend host --grid 2x2x1
    fails 2 "--grid: '2x1', expected a product of 1, the number of GPUs" \
        bench a.tns -r 2 --backend host --grid 2x1
    fails 2 "blco info: no tensor given" info
    fails 2 "one tensor expected, but 'b.tns' follows 'a.tns'" info a.tns b.tns
}

@test "options that do not exist or lack their argument" {
    fails 2 "unknown option --rnk (did you mean --rank?); try blco cpd --help" cpd a.tns --rnk 2
    fails 2 "unknown option --rnk (did you mean --rank?); try blco cpd --help" cpd a.tns --rnk=2
    fails 2 "unknown option -z; try blco cpd --help" cpd a.tns -z
    fails 2 "unknown option -z; try blco cpd --help" cpd a.tns -qz
    fails 2 "unknown option -z; try blco cpd --help" cpd a.tns --rank=3 -zq
    fails 2 "option --ver is ambiguous: verbose or version; try blco cpd --help" cpd a.tns --ver
    fails 2 "option --check is ambiguous: check-every, checkpoint or checkpoint-every; try" cpd a.tns --check=3
    long=--$(printf 'x%.0s' {1..300})
    fails 2 "unknown option $long; try blco cpd --help" cpd a.tns "$long"
    fails 2 "unknown option --; try blco cpd --help" cpd a.tns --=3
    fails 2 "option -r needs an argument" cpd a.tns -r
    fails 2 "option --rank needs an argument" cpd a.tns --rank
    fails 2 "option --quiet takes no argument" cpd a.tns -r 2 --quiet=3
    fails 2 "unknown option --tol; try blco info --help" info a.tns --tol 1
    fails 2 "unknown option --bakend (did you mean --backend?); try blco selftest --help" selftest --bakend host
    fails 2 "option -t needs an argument" info a.tns -t
}

@test "a message about wrong usage says where to find help" {
    hinted() {
        local command=$1
        fails 2 "" "$@"
        [[ $stderr == "blco $command: "*"; try blco $command --help" ]] || { echo "$stderr" && return 1; }
    }
    for command in cpd info convert generate bench top predict compare report selftest completion version; do
        hinted "$command" --bogus
    done
    hinted cpd
    hinted cpd x.tns y.tns -r 2
    hinted cpd x.tns
    hinted cpd x.tns -r
    hinted cpd x.tns -r 0
    hinted cpd x.tns -r 2 --fix 1
    hinted info x.tns --on gpus
    hinted convert x.tns
    hinted predict a
    hinted compare a b c
    hinted compare a ''
    hinted selftest x
    # what is wrong with a file is no error of usage
    fails 2 "absent.tns" cpd -q absent.tns -r 2
    [[ $stderr != *"try blco"* ]]
}

@test "whole numbers are read whole, within their range" {
    for bad in 0 -1 3x x '' ' 3' 1.5 1e3 1000001 99999999999999999999; do
        fails 2 "--rank: '$bad', expected a whole number from 1 to 1000000" cpd a.tns -r "$bad"
        fails 2 "--rank: '$bad', expected a whole number" info a.tns -r "$bad"
    done
    for bad in 0 -5 5x 1000000001; do
        fails 2 "--iters: '$bad', expected a whole number" cpd a.tns -r 2 -i "$bad"
    done
    for bad in -1 2x 1000000001; do
        fails 2 "--check-every: '$bad', expected a whole number from 0 to 1000000000" \
            cpd a.tns -r 2 --check-every "$bad"
    done
    for bad in 0 4097 2,2; do
        fails 2 "--threads: '$bad', expected a whole number from 1 to 4096" cpd a.tns -r 2 -t "$bad"
    done
    for bad in -1 1.0 18446744073709551615 99999999999999999999; do
        fails 2 "--seed: '$bad', expected a whole number" cpd a.tns -r 2 --seed "$bad"
    done
    for bad in 2 -1 one; do
        fails 2 "--index-base: '$bad', expected a whole number from 0 to 1" \
            cpd a.tns -r 2 --index-base "$bad"
    done
}

@test "numbers that do not fit are refused" {
    huge=99999999999999999999999
    for option in --seed --nnz --planted-rank -t; do
        fails 2 "'$huge', expected a whole number" generate x.tns --dims 4,4 --nnz 3 $option $huge
    done
    fails 2 "--fibers: '$huge:1', expected" generate x.tns --dims 4,4 --nnz 3 --fibers $huge:1
    fails 2 "--fibers: '3:$huge', expected" generate x.tns --dims 4,4 --nnz 3 --fibers 3:$huge
    fails 2 "--dims: '4,$huge', expected" generate x.tns --dims 4,$huge --nnz 3
    fails 2 "'$huge', expected a whole number" cpd a.tns -r 2 --iters $huge
    fails 2 "--gpus: '$huge', expected a number of GPUs" cpd a.tns -r 2 --gpus $huge
    fails 2 "--gpus: '$huge', expected a whole number" cpd a.tns -r 2 --gpus 0,$huge
    fails 2 "--grid: '${huge}x1', expected" cpd a.tns -r 2 --grid ${huge}x1
    fails 2 "'$huge', expected a whole number" info a.tns -r 2 --ranks $huge
    fails 2 "'$huge', expected a whole number" bench a.tns -r 2 --samples $huge
    fails 2 "--noise: '1e999', expected" generate x.tns --dims 4,4 --nnz 3 --planted-rank 1 --noise 1e999
    for tiny in 1e-400 0.00001e-999 3E-99999999999; do
        fails 2 "--tol: '$tiny' is too small" cpd a.tns -r 2 --tol $tiny
        fails 2 "--scale: '$tiny' is too small" generate x.tns --preset uber --scale $tiny
    done
    printf '1 1 1\n' >a.tns
    "$BLCO" cpd a.tns -r 1 -q --nowrite --tol 0e5 --seed 18446744073709551614 --backend host
}

@test "real numbers are finite and not negative" {
    for bad in -1 nan inf 1e999 1e-5x '' x; do
        fails 2 "--tol: '$bad', expected a number of 0 or more" cpd a.tns -r 2 --tol "$bad"
        fails 2 "--ridge: '$bad', expected a number of 0 or more" cpd a.tns -r 2 --ridge "$bad"
    done
}

@test "sizes have one unit at most and are not zero" {
    for bad in 0 4Q 4GB 1.5G -1 G '' 99999999999T 9999999999G; do
        fails 2 "--memory: '$bad', expected bytes" cpd a.tns -r 2 --memory "$bad"
        fails 2 "--host-memory: '$bad', expected bytes" info a.tns --host-memory "$bad"
    done
}

@test "lists of lengths" {
    for bad in '' 4, ,4 4,,5 4x 4x5,y 0 4,0 4294967296 4-5 -4 -,-4 -5 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; do
        fails 2 "--dims: '$bad', expected 1 to 16 lengths" cpd a.tns -r 2 --dims "$bad"
    done
}

@test "what took no time to measure has no rate" {
    printf '1 1 1\n' >a.tns
    for _ in {1..5}; do # a busy machine may take a time that can be measured
        "$BLCO" cpd a.tns -r 1 --nowrite --backend host 2>messages
        ! grep -qx 'reading a.tns: 1 entry, 6 bytes of text' messages || break
    done
    grep -qx 'reading a.tns: 1 entry, 6 bytes of text' messages
    "$BLCO" convert a.tns a.blco 2>messages
    ! grep -qE 'MB/s|0\.00 s' messages
}

@test "names" {
    fails 2 "--conflict: 'none', expected auto, ordered" cpd a.tns -r 2 --conflict none
    fails 2 "--precision: 'half', expected double, single or auto" cpd a.tns -r 2 --precision half
    fails 2 "--backend: 'gpu', expected auto, cuda or host" cpd a.tns -r 2 --backend gpu
    for bad in txt text,,npy text, '' ,text texts; do
        fails 2 "--format: '$bad', expected text, npy, ktns or csv, or several of them" cpd a.tns -r 2 --format "$bad"
    done
    fails 2 "--stem: '', expected the beginning of a file name" cpd a.tns -r 2 -o ''
    fails 2 "--stem: 'folder/', expected" cpd a.tns -r 2 -o folder/
    fails 2 "standard input has no name" cpd - -r 2
    fails 2 "is not the name of a file" cpd "$DATA/" -r 2
}

@test "an output folder that cannot be written is found before the tensor is read" {
    fails 5 "no/such/folder" cpd absent.tns -r 2 -o no/such/folder/x
    fails 5 "/dev/null/x" cpd absent.tns -r 2 -o /dev/null/x
}

@test "a start that cannot be used is found before the tensor is read" {
    fails 2 "no-model" cpd absent.tns -r 2 --init no-model
    fails 2 "a model of rank 4, expected the rank 3 of -r" \
        cpd absent.tns -r 3 --init "$DATA/planted"
    printf 'ktensor\n3\n2 2\n' >broken.ktns
    fails 2 "broken.ktns:3" cpd absent.tns -r 3 --init broken
}
