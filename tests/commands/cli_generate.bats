load cli_helpers

@test "presets and their true sizes" {
    run -0 --separate-stderr "$BLCO" generate --list
    [ "${#lines[@]}" -eq 15 ]
    [[ $output == *$'\nuber            3309490  183 x 24 x 1140 x 1717\n'* ]]
    [[ $output == *$'\nreddit       4687474081  8211298 x 176962 x 8116559'* ]]
    local list=$output
    run -0 --separate-stderr "$BLCO" generate --preset list
    [ "$output" = "$list" ]
}

@test "the same file for any number of threads, plain, compressed and on standard output" {
    "$BLCO" generate one.tns -q --force --preset uber --scale 0.03 -t 1
    [ "$(wc -l <one.tns)" -eq 99285 ]
    [ "$(cut -d' ' -f1-4 one.tns | sort -u | wc -l)" -eq 99285 ]
    for t in 2 3; do
        "$BLCO" generate two.tns -q --force --preset uber --scale 0.03 -t $t
        cmp one.tns two.tns
        "$BLCO" generate - -q --preset uber --scale 0.03 -t $t | cmp - one.tns
        "$BLCO" generate two.tns.gz -q --force --preset uber --scale 0.03 -t $t
        gzip -dc two.tns.gz | cmp - one.tns
    done
    "$BLCO" generate two.tns -q --force --preset uber --scale 0.03 --seed 2
    run ! cmp -s one.tns two.tns
    [ "$(wc -l <two.tns)" -eq 99285 ]
}

@test "the same tensor as .blco, for any number of threads and any memory" {
    for args in "--preset vast --scale 0.02" "--dims 60,50,40 --nnz 12000 --planted-rank 3 --noise 0.1"; do
        "$BLCO" generate one.blco -q --force $args -t 1
        "$BLCO" generate two.blco -q --force $args -t 3 --host-memory 64M
        cmp one.blco two.blco
        "$BLCO" generate one.tns -q --force $args --header dims
        "$BLCO" convert one.tns two.blco -q --force
        cmp one.blco two.blco
    done
    run -0 "$BLCO" info -q one.blco
}

@test "a tensor that fits into no memory is made within the limit" {
    "$BLCO" generate x.blco -q --force --preset vast --scale 0.1 -t 2 --host-memory 32M
    command -v /usr/bin/time >/dev/null || skip "no time(1)"
    run -0 --separate-stderr /usr/bin/time -f %M "$BLCO" generate y.blco -q --force --preset vast --scale 0.1 -t 2 --host-memory 32M
    peak=$stderr
    run -0 --separate-stderr /usr/bin/time -f %M "$BLCO" --version # what the program and its libraries take
    [[ $BLCO == *asan* || $BLCO == *tsan* ]] || [ $((peak - stderr)) -lt 42000 ]
    cmp x.blco y.blco
}

@test "headers and index base" {
    "$BLCO" generate x.tns -q --force --dims 2x3 --nnz 6 --header sptensor --index-base 0
    [ "$(head -n 4 x.tns | tr '\n' ';')" = "sptensor;2;2 3;6;" ]
    [ "$(tail -n 6 x.tns | cut -d' ' -f1,2 | tr '\n' ';')" = "0 0;1 0;0 1;1 1;0 2;1 2;" ]
    "$BLCO" generate x.tns -q --force --dims 2x3 --nnz 6 --header dims
    [ "$(head -n 3 x.tns | cut -d' ' -f1,2 | tr '\n' ';')" = "2;2 3;1 1;" ]
}

@test "a generated file reads back without duplicates" {
    "$BLCO" generate x.tns.gz -q --force --dims 70,60,50,40 --nnz 20000 --skew 1,0.5,even,0 \
        --fibers 300:1,2:0.8 --runs 3:0.4:3:scattered --header dims
    run -0 "$BLCO" info -q x.tns.gz
    [[ $output == *$'\nduplicates   0\nzeros        0\nunknown      0\nlengths      70 x 60 x 50 x 40\nnonzeros     20000\n'* ]]
}

@test "planted tensors are found again" {
    for rank in 2 3; do
        "$BLCO" generate x.tns -q --force --dims 60,50,40 --nnz 12000 --planted-rank $rank
        best=0
        for seed in 1 2 3; do
            cpd x.tns -r $rank --seed $seed -i 300 --tol 1e-7 --nowrite
            best=$(printf '%s\n' "$best" "$(fit)" | sort -g | tail -n 1)
        done
        awk -v fit="$best" 'BEGIN { exit !(fit > 0.999) }'
    done
    "$BLCO" generate x.tns -q --force --dims 60,50,40 --nnz 12000 --planted-rank 2 --noise 0.1
    cpd x.tns -r 2 -i 300 --nowrite
    awk -v fit="$(fit)" 'BEGIN { exit !(fit > 0.85 && fit < 0.95) }'
}

@test "planted collinear columns are found again, and meet at the angle that was asked for" {
    "$BLCO" generate x.tns -q --dims 15,12,14 --nnz 2520 --planted-rank 3 --collinearity 0.6 --noise 0.001
    [ "$(wc -l <x.tns)" -eq 2520 ]
    cpd x.tns -r 3 --init normal -i 2000 --tol 1e-10 -o m
    near "$(fit)" 0.999 0.0002
    for mode in 1 2 3; do # the cosines of the columns, which have unit norm
        awk -v mode=$mode 'NF == 3 && ++row > 0 { for (i = 1; i <= 3; i++) for (j = 1; j < i; j++) sum[i, j] += $i * $j }
            END { for (pair in sum) { c = sum[pair] < 0 ? -sum[pair] : sum[pair]; n++
                      if (c < 0.59 || c > 0.61) { print "mode " mode ": cosine " c; exit 1 } }
                  exit !(n == 3) }' m.mode$mode.mat
    done
}

@test "refused arguments" {
    size=(--dims 4,4 --nnz 3)
    fails 2 "no output file given" generate "${size[@]}"
    fails 2 "--dims and --nnz, or --preset, are required" generate x.tns --dims 4,4
    fails 2 "--nnz: '0', expected a whole number from 1" generate x.tns --dims 4,4 --nnz 0
    fails 2 "17 nonzeros, but the tensor has 16 cells only" generate x.tns --dims 4,4 --nnz 17
    fails 2 "did you mean 'uber'?" generate x.tns --preset ubre
    fails 2 "see blco generate --list" generate x.tns --preset something
    fails 2 "--preset and --nnz: give only one" generate x.tns --preset uber --nnz 3
    fails 2 "--scale needs --preset" generate x.tns "${size[@]}" --scale 2
    fails 2 "expected a number above 0" generate x.tns --preset uber --scale 0
    fails 2 "--noise needs --planted-rank" generate x.tns "${size[@]}" --noise 1
    fails 2 "--collinearity needs --planted-rank" generate x.tns "${size[@]}" --collinearity 0.5
    fails 2 "collinearity 1, expected 0 to 0.9999" generate x.tns "${size[@]}" --planted-rank 2 --collinearity 1
    fails 2 "mode 2: a block of 3 nonzeros has 1 of its indices, expected the rank, 2, or more" \
        generate x.tns "${size[@]}" --planted-rank 2 --collinearity 0.5
    fails 2 "--planted-rank and --skew: give only one" generate x.tns "${size[@]}" --planted-rank 2 --skew 1,1
    fails 2 "3 nonzeros of rank 4" generate x.tns "${size[@]}" --planted-rank 4
    for skew in 1 1,2,3 1, ,1 1,x -1,0 1,even, 1e400,1; do
        fails 2 "--skew: '$skew', expected 2 Zipf exponents" generate x.tns "${size[@]}" --skew=$skew
    done
    fails 2 "Zipf exponent 9, expected 0 to 8" generate x.tns "${size[@]}" --skew 9,0
    for fibers in 3 3: 5:1,1 5:1,2,1:2 0:1 3:0 3:3 3:1, 3:1:x 3:1:1:1 x:1; do
        fails 2 "--fibers: '$fibers', expected" generate x.tns "${size[@]}" --fibers $fibers
    done
    for runs in 1 1:0.5 1:0.5: 0:0.5:2 3:0.5:2 1:2:2 1:0.5:0.5 1:0.5:2: 1:0.5:2:x 1:0.5:2:scatteredx; do
        fails 2 "--runs: '$runs', expected" generate x.tns "${size[@]}" --runs $runs
    done
    fails 2 "--header: 'x', expected none, dims or sptensor" generate x.tns "${size[@]}" --header x
    "$BLCO" generate wide.tns -q --dims 1000000000x1000000000x1000000000x1000000000x1000000000 --nnz 3 && [ "$(wc -l <wide.tns)" -eq 3 ]
    fails 3 "TB of memory to make" generate x.tns --dims 4294967295,4294967295 --nnz 100000000000 --planted-rank 2
    fails 3 "of memory to make, 2.00 MB may be used" generate x.tns --dims 60,50,40 --nnz 100000 --planted-rank 3 --host-memory 2M
    fails 3 "MB of memory are needed to make the tensor, 875 kB may be used" generate x.tns --preset chicago --host-memory 1M
    fails 2 "--header is for text, but x.blco is not" generate x.blco "${size[@]}" --header dims
    fails 2 "--index-base is for text, but x.blco is not" generate x.blco "${size[@]}" --index-base 0
    fails 5 "none/x.tns: cannot be written" generate none/x.tns "${size[@]}" -q
    [ ! -e x.tns ]
}

@test "a full disk is an error" {
    [ -w /dev/full ] || skip "/dev/full is missing"
    run -5 bash -c '"$BLCO" generate - -q --preset uber --scale 0.001 >/dev/full'
    [[ $output == *"cannot be written: No space left on device"* ]]
}
