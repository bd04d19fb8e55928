# Several starts, the core consistency, several ranks.
# bats file_tags=plain
load cli_helpers
load ../support/mpi

# Rank 3 at every start, and more than rank 3 at none.
three() { "$BLCO" generate -q x.tns --dims 20,25,30 --nnz 15000 --planted-rank 3 --seed 4; }

# column SEED COLUMN: of the table of starts.
column() { awk -v seed="$1" -v c="$2" '/ seed iterations /{ on = 1; next } on && $1 == seed { print $c; exit }' results; }

@test "each start is the run of its seed, and the best is written" {
    cpd "$DATA/ucb-admissions.tns" -r 3 -i 30 --starts 4 --seed 7 -o all
    best=$(awk '/, best$/ { print $1 }' results)
    cp results table
    grep -qE '^ +seed iterations +fit +score$' table
    for seed in 7 8 9 10; do
        cp table results
        expected=$(column $seed 3)
        cpd "$DATA/ucb-admissions.tns" -r 3 -i 30 --seed $seed -o one
        near "$(fit)" "$expected" 1e-8
        [ "$seed" != "$best" ] || cat one.*.mat >of_best
    done
    cat all.*.mat | awk '{ for (i = 1; i <= NF; i++) print $i }' >a
    awk '{ for (i = 1; i <= NF; i++) print $i }' of_best >b
    paste a b | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-6) exit 1 }'
}

@test "starts that agree, and that do not" {
    three
    cpd x.tns -r 3 -i 300 --tol 1e-8 --starts 3 --nowrite
    grep -q '^all starts lead to the same components (score 0.95 or more)' results
    cpd x.tns -r 3 --nowrite
    run ! grep -qE 'seed iterations|score|core' messages
    [ ! -s results ]
    cpd "$DATA/matmul-2x2x2.tns" -r 6 -i 3 --tol 0 --starts 3 --nowrite
    grep -qE '^warning: (no other start leads|[12] of 2 other starts fit as well)' results
}

# found: "STARTS FOUND" of --starts auto.
found() { sed -nE 's/^--starts auto made ([0-9]+) starts(, the most)?: ([0-9]+) found the best model$/\1 \3/p' results; }

@test "--starts auto goes on until the best was found three times, or 30 starts, or the end" {
    three
    cpd x.tns -r 3 -i 300 --tol 1e-8 --starts auto -o a --record a.json
    [ "$(found)" = "3 3" ]
    grep -q '^all starts lead to the same components' results
    cpd x.tns -r 3 -i 300 --tol 1e-8 --starts 3 -o b
    for n in 1 2 3; do cmp a.mode$n.mat b.mode$n.mat; done
    grep -q '"starts": "auto"' a.json && grep -q '"kind": "starts_enough"' a.json
    cpd "$DATA/matmul-2x2x2.tns" -r 5 -i 5 --tol 0 --starts auto -o c
    [ "$(found)" = "30 1" ]
    grep -qE '^warning: .*; try a lower rank, or (more iterations|a smaller --tol)$' results
    grep -qE '^ +[0-9]+ +5 +[0-9.]+      -  ' results
    cpd x.tns -r 3 -i 1000000000 --tol 0 -t 1 --starts auto --time-limit 1s --nowrite
    grep -qx 'the run ended after 1 start, before the best model was found 3 times (1 so far)' results
    cpd "$DATA/planted.tns" -r 1 --loss poisson --starts auto --nowrite
    [ "$(found)" = "3 3" ]
}

@test "--starts auto, each rank of a range, halves, a ridge that is chosen, by several processes" {
    three
    cpd x.tns -r 1:4 -i 300 --starts auto --split-half 2 --unlisted unknown --holdout .1 --ridge auto -o m --record r.json
    grep -q '^rank 3 is suggested: other starts and both halves find its model again' results
    grep -q '"found_again": true' m.ranks.json && grep -q '"rule": "held_out"' m.ranks.json
    grep -q '"starts": "auto"' r.r3.json
    needs_mpirun
    cpd x.tns -r 3 -i 300 --tol 1e-8 --starts auto --split-half 1 -o one
    cp results expected
    processes 3 "$BLCO" cpd x.tns -r 3 -i 300 --tol 1e-8 --starts auto --split-half 1 -o two >results 2>messages
    [ "$(found)" = "3 3" ]
    near "$(column 2 3)" "$(awk '$1 == 2 { print $3; exit }' expected)" 1e-8
    grep -q '^both halves of mode 1 lead to the same components' results
    processes 2 "$BLCO" cpd "$DATA/matmul-2x2x2.tns" -r 5 -i 5 --tol 0 --starts auto --nowrite >results 2>messages
    [ "$(found)" = "30 1" ]
}

@test "several processes, and several starts" {
    needs_mpirun
    three
    cpd x.tns -r 3 -i 12 --tol 0 --starts 3 -o one --core-consistency
    expected=$(column 2 3)
    processes 2 "$BLCO" cpd x.tns -r 3 -i 12 --tol 0 --starts 3 -o two --core-consistency >results 2>messages
    grep -q '^core consistency ' messages
    for file in one.*.mat; do
        paste "$file" "two${file#one}" | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d < 0) d = -d; if (d > 1e-5) exit 1 } }'
    done
    near "$(column 2 3)" "$expected" 1e-8
}

core() { sed -nE 's/^(warning: )?core consistency ([^:]*):.*/\2/p' messages; }

@test "the core consistency of a sound model is 100, of too many components not" {
    three
    cpd x.tns -r 3 -i 500 --tol 1e-9 --nowrite --core-consistency
    near "$(core)" 100 0.5
    "$BLCO" generate -q noisy.tns --dims 20,25,30 --nnz 15000 --planted-rank 3 --seed 4 --noise 0.1
    cpd noisy.tns -r 5 -i 500 --nowrite --core-consistency
    core=$(core)
    awk -v core="$core" 'BEGIN { exit !(core != "" && core < 80) }'
    printf '1 1 5\n2 2 4\n2 1 1\n' >y.tns
    cpd y.tns -r 1 --nowrite --core-consistency
    grep -qx 'core consistency not known: it takes three modes or more' messages
    cpd "$DATA/ucb-admissions.tns" -r 3 --nowrite --core-consistency
    grep -qx 'core consistency not known: the columns of mode 1 are dependent' messages
}

@test "a core consistency of many MTTKRPs is estimated, with its standard error" {
    "$BLCO" generate -q x.tns --dims 14,13,12,14,13 --nnz 370000 --planted-rank 11 --seed 4
    cpd x.tns -r 11 -i 200 --tol 1e-9 -o m --record m.json --core-consistency
    grep -qx 'core consistency 100.0 +- 0.0 (estimated, with its standard error): each component is meaningful on its own' messages
    grep -q '"core_consistency_error": ' m.json
    "$BLCO" report -q m
    grep -qE '<td>100.0 &#177; [0-9.e-]+, estimated</td>' m.html
    "$BLCO" generate -q y.tns --dims 14,14,14,14,14 --nnz 4000 --seed 4
    cpd y.tns -r 10:11 -i 3 --nowrite
    grep -qE '^ +10 +[0-9.]+ [#.]{20} +-[0-9.]+(e\+[0-9]+)? ' results
    grep -qE '^ +11 +[0-9.]+ [#.]{20} +-[0-9.e+]+ \+- [0-9.e+]+ ' results
    needs_mpirun
    estimate() { sed -n 's/^warning: core consistency \(.* +- .*\) (estim.*/\1/p' messages; }
    expected=$(estimate)
    processes 2 "$BLCO" cpd y.tns -r 11 -i 3 --nowrite --core-consistency 2>messages
    [ "$(estimate)" = "$expected" ] && [ "$expected" ]
}

@test "several ranks: a model of each, a table, and a suggestion" {
    three
    cpd x.tns --backend host -r 1:5:2 -i 300 --tol 1e-7 --starts 2 -o m --format npy
    for rank in 1 3 5; do
        for file in mode1 mode2 mode3 lambda; do [ -s m.r$rank.$file.npy ]; done
        grep -q "seed 1$" messages
        grep -qE "^ +$rank +[^ ]+ [#.]{20} " results
    done
    [ "$(ls m.* | grep -vc lock)" -eq 16 ]
    [ "$(grep -c '^reading ' messages)" -eq 1 ]
    grep -qx 'rank 3 is suggested: at least half of the other starts find its model again, and it is the largest such rank' results
    grep -qx 'the names of its files begin with m.r3' results
    cpd x.tns -r 1:3 -i 9 --nowrite
    run ! grep -q 'names of its files' results
    cpd x.tns --backend host -r 3 -i 300 --tol 1e-7 --starts 2 -o alone --format npy
    for file in mode1 mode2 mode3 lambda; do cmp m.r3.$file.npy alone.$file.npy; done
}

@test "several ranks from a pipe, from a .blco file and by several processes" {
    three
    cpd x.tns --backend host -r 2:3 -i 5 --tol 0 -o a
    cpd - --backend host -r 2:3 -i 5 --tol 0 -o b <x.tns
    "$BLCO" convert -q x.tns x.blco
    cpd x.blco --backend host -r 2:3 -i 5 --tol 0 -o c
    for rank in 2 3; do
        cmp a.r$rank.mode1.mat b.r$rank.mode1.mat
        [ -s c.r$rank.mode1.mat ]
    done
    needs_mpirun
    processes 2 "$BLCO" cpd x.tns --backend host -r 2:3 -i 5 --tol 0 -o d 2>messages
    [ -s d.r2.mode3.mat ] && [ -s d.r3.mode3.mat ]
}

@test "the time limit and signals end starts and ranks, and the best so far is written" {
    three
    cpd x.tns -r 2:4 --starts 50 -i 1000000000 --tol 0 --time-limit 1s -o t
    [ -s t.r2.lambda.mat ]
    [ ! -e t.r3.lambda.mat ]
    grep -q '^only 1 of 50 starts began before the run ended$' messages
    grep -q '^not all ranks were tried before the end of the run$' results
    : >messages
    OPENBLAS_NUM_THREADS=1 env --default-signal=INT,TERM \
        "$BLCO" cpd x.tns -r 3 --starts 1000 -i 1000000 --tol 0 -t 1 -o s 2>messages &
    pid=$!
    await_building
    sleep 0.5
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 143 ]
    [ -s s.lambda.mat ]
}

# Two components cancel each other. From the seeds 1 to 5 and 7 their weights stay below 2.6 times a
# value, from seed 6 they do not, nor do those of three components from seed 1. A double holds 2.6
# values.
near_overflow() { printf '1 1 2 %s\n1 2 1 %s\n2 1 1 %s\n' 6.9e307 6.9e307 6.9e307 >x.tns; }

@test "a start that breaks down does not lose the others" {
    near_overflow
    cpd x.tns -r 2 -i 30 --tol 0 --accelerate off --seed 5 --starts 3 -o m --record m.json
    [ -s m.lambda.mat ]
    [ "$(grep -c '^start 2 broke down: a weight of the model is more than a double holds' messages)" -eq 1 ]
    grep -qE '^ +6 +30 +- +-  broke down: a weight of' results
    grep -q '^all starts that gave a model lead to the same components' results
    grep -q '"stop": "breakdown"' m.json && grep -q '"breakdown": "a weight of the model' m.json
    "$BLCO" report -q m
    grep -q 'broke down' m.html
    fails 4 "a weight of the model" cpd -q x.tns -r 2 -i 30 --tol 0 --accelerate off --seed 6 -o one
    sed 's/6.9e307/1.38e308/' x.tns >larger.tns
    fails 4 "none of 2 starts gave a model; start 1: a weight of the model" \
        cpd -q larger.tns -r 3 -i 30 --tol 0 --accelerate off --starts 2 -o one
    [ ! -e one.lambda.mat ]
    needs_mpirun
    processes 2 "$BLCO" cpd x.tns -r 2 -i 30 --tol 0 --accelerate off --seed 5 --starts 3 -o two >results 2>messages
    [ -s two.lambda.mat ]
    grep -qE '^ +6 +30 +- +-  broke down: a weight of' results
}

@test "a rank that breaks down is reported, and the others go on" {
    near_overflow
    code=0
    "$BLCO" cpd x.tns -r 1:3 -i 30 --tol 0 --accelerate off -o m >results 2>messages || code=$?
    [ $code -eq 4 ]
    [ -s m.r1.lambda.mat ]
    [ -s m.r2.lambda.mat ]
    [ ! -e m.r3.lambda.mat ]
    grep -qE '^ +2 +0.96[0-9]+ #' results
    grep -qE '^ +3 +- failed: a weight of the model' results
    [ "$(tail -n 1 messages)" = "blco cpd: -r 3: $(sed -n 's/^ *3 *- failed: //p' results)" ]
    cpd x.tns -r 1:2 -i 30 --tol 0 --accelerate off --starts 3 --seed 4 -o n
    [ -s n.r2.lambda.mat ]
    grep -qE '^ +2 +0.96[0-9]+ .* 1 of 1$' results
    needs_mpirun
    code=0
    processes 2 "$BLCO" cpd x.tns -r 1:3:2 -i 30 --tol 0 --accelerate off -o two >results 2>messages || code=$?
    [ $code -eq 4 ]
    [ -s two.r1.lambda.mat ]
    [ ! -e two.r3.lambda.mat ]
    grep -qE '^ +3 +- failed: a weight of the model' results
    [ "$(grep -c '^blco cpd: -r 3: a weight of the model' messages)" -eq 1 ]
}

@test "a start from singular vectors, alone, the first of several, and by several processes" {
    three
    cpd x.tns -r 3 -i 2 --tol 0 --init nvecs -o one
    near "$(fit)" 1 0.3
    expected=$(fit)
    cpd x.tns -r 3 -i 2 --tol 0 --init nvecs --starts 2 --nowrite
    near "$(column 1 3)" "$expected" 1e-8
    cpd x.tns -r 3 -i 2 --tol 0 --init nvecs --nowrite --checkpoint c
    cpd x.tns -r 3 -i 3 --tol 0 --nowrite --resume c
    fails 2 "--resume and --init: give only one" cpd x.tns -r 3 --init nvecs --resume c
    needs_mpirun
    processes 2 "$BLCO" cpd x.tns -r 3 -i 2 --tol 0 --init nvecs -o two 2>messages
    near "$(fit)" "$expected" 1e-8
}

@test "what makes no sense together is refused" {
    three
    cpd x.tns -r 3 -i 1 -o m
    fails 2 "--starts: '0', expected a whole number from 1 to 10000, or auto" cpd x.tns -r 3 --starts 0
    fails 2 "--checkpoint and --starts: a checkpoint has the state of one start" cpd x.tns -r 3 --starts auto --checkpoint c
    fails 2 "--rank: '4:2', expected ranks from 1 to 1000000, as 1:4 or 4:32:4" cpd x.tns -r 4:2
    fails 2 "--rank: '1:2000' are 2000 ranks, expected 1000 at most" cpd x.tns -r 1:2000
    fails 2 "--init m and --starts: --init provides a single start" cpd x.tns -r 3 --starts 2 --init m
    fails 2 "--init m and a range of -r: --init provides a single start" cpd x.tns -r 3:4 --init m
    fails 2 "--checkpoint and --starts: a checkpoint has the state of one start" cpd x.tns -r 3 --starts 2 --checkpoint c
    fails 2 "--resume and a range of -r: a checkpoint has" cpd x.tns -r 3:4 --resume c
    fails 2 "--seed 18446744073709551614: 2 starts need seeds above" cpd x.tns -r 3 --starts 2 --seed 18446744073709551614
    fails 2 "--core-consistency" cpd x.tns -r 3 --core-consistency=1
}
