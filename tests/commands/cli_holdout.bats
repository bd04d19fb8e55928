# Runs of blco cpd that hold entries out: --holdout, --early-stop, --ridge auto.
# bats file_tags=plain
load cli_helpers
load ../support/mpi

# A run on the planted tensor.
hold() {
    cpd "$DATA/planted.tns" --backend host -q --nowrite "$@"
}

# same A B: two numbers differ by less than a part in 10^9.
same() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a - b < 1e-9 * a && b - a < 1e-9 * a) }'
}

# Cells of a model of three components, a sixth of all, with noise.
noisy() {
    awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
         BEGIN { srand(1); split("40 30 25", d)
             for (n = 1; n <= 3; n++) for (i = 1; i <= d[n]; i++) for (r = 1; r <= 3; r++) a[n, i, r] = normal()
             for (i = 1; i <= d[1]; i++) for (j = 1; j <= d[2]; j++) for (k = 1; k <= d[3]; k++) if (rand() < .17) {
                 x = 0; for (r = 1; r <= 3; r++) x += a[1, i, r] * a[2, j, r] * a[3, k, r]
                 printf "%d %d %d %.6g\n", i, j, k, x + .8 * normal() } }' >noisy.tns
}

@test "the summary, the record and its history say how well held-out entries are predicted" {
    run -0 "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host --nowrite --holdout 0.2:7 --unlisted unknown --ridge 0.1 --record r.json
    [[ $output =~ "held out "([0-9]+)" entries: RMSE "[0-9.e-]+" (standard error "[0-9.e-]+"), MAE "[0-9.e-]+$'\n' ]]
    [ "$(number entries r.json)" = "${BASH_REMATCH[1]}" ]
    [[ $output != *AUC* ]]
    [ "$(number holdout r.json)" = 0.2 ] && [ "$(number holdout_seed r.json)" = 7 ]
    same "$(number rmse r.json)" "$(grep -oE '"held_out_rmse": \[.*\]' r.json | grep -oE '[0-9.e+-]+' | tail -n 1)"
    [ "$(grep -oE '"held_out_rmse": \[.*\]' r.json | grep -oE '[0-9]+[0-9.e+-]*' | wc -l)" = "$(number iterations r.json | sed -n 2p)" ]
    for unlisted in zero 0.1; do
        run -0 "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host --nowrite --holdout 0.2 --unlisted $unlisted --record r.json
        [[ $output == *"AUC 1.0000"* ]]
        [ "$(number auc r.json)" = 1 ]
    done
    hold -r 4 --record r.json
    [ "$(number holdout r.json)" = 0 ]
    run ! grep held_out r.json
}

@test "the same entries for any number of threads, and any order of the file" {
    shuf --random-source=<(yes) <(grep -v '^#' "$DATA/planted.tns") >shuffled.tns
    "$BLCO" convert -q "$DATA/planted.tns" planted.blco
    for unlisted in unknown zero; do
        run="--unlisted $unlisted --ridge 0.1 --holdout 0.3 -i 8 --tol 0 -q --nowrite --record r.json --backend host"
        "$BLCO" cpd "$DATA/planted.tns" -r 3 $run
        entries=$(number entries r.json) rmse=$(number rmse r.json) auc=$(number auc r.json)
        for threads in 1 3; do
            OMP_NUM_THREADS=$threads "$BLCO" cpd "$DATA/planted.tns" -r 3 $run
            [ "$(number rmse r.json)" = "$rmse" ] && [ "$(number auc r.json)" = "$auc" ]
        done
        for file in shuffled.tns planted.blco; do
            "$BLCO" cpd $file -r 3 $run
            [ "$(number entries r.json)" = "$entries" ] && same "$(number rmse r.json)" "$rmse"
        done
    done
}

@test "the same entries for any number of processes" {
    needs_mpirun
    shuf --random-source=<(yes) <(grep -v '^#' "$DATA/planted.tns") >shuffled.tns
    for unlisted in unknown zero; do
        run="--unlisted $unlisted --ridge 0.1 --holdout 0.3 -i 8 --tol 0 -q --nowrite --record r.json --backend host"
        "$BLCO" cpd "$DATA/planted.tns" -r 3 $run
        entries=$(number entries r.json) rmse=$(number rmse r.json) auc=$(number auc r.json)
        for ranks in 2 3 7; do
            processes $ranks "$BLCO" cpd shuffled.tns -r 3 $run
            [ "$(number entries r.json)" = "$entries" ] && same "$(number rmse r.json)" "$rmse"
            [ "$(number auc r.json)" = "$auc" ]
        done
    done
}

@test "a run that stops early has the best model, also after a checkpoint" {
    noisy
    run="--unlisted unknown --ridge 1e-4 --holdout 0.2 --early-stop 20 --backend host -q"
    for accelerate in off momentum; do
        "$BLCO" cpd noisy.tns -r 6 $run -i 300 --accelerate $accelerate -o whole --record whole.json
        grep -q '"stop": "early"' whole.json
        [ "$(number iterations whole.json | sed -n 2p)" = $(($(number best_iteration whole.json) + 20)) ]
        for i in 30 60; do # before the best model and after it, or while it is kept
            rm -f c.bck
            "$BLCO" cpd noisy.tns -r 6 $run -i $i --accelerate $accelerate --checkpoint c.bck --nowrite
            "$BLCO" cpd noisy.tns -r 6 $run -i 300 --resume c.bck -o other --record other.json
            for n in 1 2 3; do cmp "whole.mode$n.mat" "other.mode$n.mat"; done
            [ "$(number rmse other.json)" = "$(number rmse whole.json)" ]
            [ "$(number best_iteration other.json)" = "$(number best_iteration whole.json)" ]
        done
    done
    run="--unlisted unknown --ridge 1e-4 --holdout 0.2 --backend host --nowrite --tol 0"
    run -0 "$BLCO" cpd noisy.tns -r 6 $run -i 300
    warning=$(grep "^warning: the held-out error was .*the model is overfitting" <<<"$output")
    rm c.bck
    "$BLCO" cpd noisy.tns -r 6 $run -i 290 --checkpoint c.bck -q
    run -0 "$BLCO" cpd noisy.tns -r 6 $run -i 300 --resume c.bck
    grep -qxF "$warning" <<<"$output"
}

@test "a checkpoint goes on only with the same held-out entries" {
    hold -r 3 --holdout 0.2 -i 3 --tol 0 --checkpoint c.bck
    for other in "" "--holdout 0.1" "--holdout 0.2:2"; do
        fails 2 "c.bck: a checkpoint of a run with --holdout 0.2:1, but this run is one " \
            cpd "$DATA/planted.tns" --backend host -q --nowrite -r 3 $other --resume c.bck
    done
    hold -r 3 --holdout 0.2:1 -i 5 --tol 0 --resume c.bck
}

@test "a range of -r goes by the held-out error" {
    noisy
    run -0 "$BLCO" cpd noisy.tns -r 1:5 --unlisted unknown --ridge 1 --holdout 0.2 --starts 3 --backend host -q -o n
    [[ $output == *"rank 3 is suggested: other starts find its model again, and it is the smallest such rank whose held-out error is within its standard error of the least"* ]]
    [[ $output == *"held-out error"*"starts that agree"* ]]
    [ "$(number suggested n.ranks.json)" = 3 ]
    grep -q '"rule": "held_out"' n.ranks.json
    [ "$(number held_out_rmse n.ranks.json | wc -l)" = 5 ]
    "$BLCO" report -q n
    grep -q 'Held-out error against rank' n.html
    grep -q 'The suggestion follows the held-out error' n.html
    run ! grep 'Core consistency' n.html
}

# Counts of a model of three components, most cells listed.
counts() {
    "$BLCO" generate -q counts.tns --dims 20,25,30 --nnz 12000 --planted-rank 3 --poisson 20
}

@test "of counts, the summary, the record and the page have the deviance of held-out entries" {
    counts
    for unlisted in zero unknown; do
        run -0 "$BLCO" cpd counts.tns -r 3 --backend host --loss poisson --holdout 0.2 --unlisted $unlisted \
            --tol 1e-9 -i 500 --starts 2 -o c --record c.json
        [[ $output =~ "held out "([0-9]+)" entries: mean deviance "[0-9.]+" (standard error "[0-9.]+"), log-likelihood -"[0-9.e+]+", RMSE "[0-9.]+", MAE " ]]
        [ "$(number entries c.json)" = "${BASH_REMATCH[1]}" ]
        deviance=$(number mean_deviance c.json)
        same "$deviance" "$(grep -oE '"held_out_deviance": \[.*\]' c.json | grep -oE '[0-9.e+-]+' | tail -n 1)"
        run ! grep -q held_out_rmse c.json
    done
    # unlisted entries were unknown: the model is right, and a deviance of counts is then about 1
    near "$deviance" 1.05 0.15
    "$BLCO" report -q c
    grep -q 'Held-out error after each iteration' c.html
    grep -qE '\(mean deviance of [0-9]+ entries\), log-likelihood -' c.html
}

@test "of counts, the range of -r and early stopping go by the deviance" {
    counts
    run="--loss poisson --unlisted unknown --backend host -q"
    run -0 "$BLCO" cpd counts.tns -r 1:5 $run --holdout 0.2 --starts 3 -o n
    [[ $output == *"rank 3 is suggested: other starts find its model again, and it is the smallest such rank whose held-out error is within its standard error of the least"* ]]
    [ "$(number held_out_deviance n.ranks.json | wc -l)" = 5 ]
    [ "$(number held_out_deviance_error n.ranks.json | wc -l)" = 5 ]
    "$BLCO" report -q n
    grep -q 'Held-out error against rank' n.html
    "$BLCO" cpd counts.tns -r 20 $run --holdout 0.5 --early-stop 5 -o whole --record whole.json -i 300 --tol 0
    grep -q '"stop": "early"' whole.json
    "$BLCO" cpd counts.tns -r 20 $run --holdout 0.5 --early-stop 5 --nowrite -i 4 --tol 0 --checkpoint c.bck
    "$BLCO" cpd counts.tns -r 20 $run --holdout 0.5 --early-stop 5 -o other --record other.json -i 300 --tol 0 --resume c.bck
    for n in 1 2 3; do cmp "whole.mode$n.mat" "other.mode$n.mat"; done
    run -0 "$BLCO" cpd counts.tns -r 20 --loss poisson --unlisted unknown --backend host --holdout 0.5 --nowrite -i 60 --tol 0
    [[ $output == *"warning: the held-out error was "*"; try a lower rank, or --early-stop 10"* ]]
    fails 2 "a ridge is for squares alone" cpd counts.tns -r 2 $run --holdout 0.2 --ridge auto
}

@test "--ridge auto chooses the ridge of the least held-out error" {
    noisy
    run="--unlisted unknown --holdout 0.2 --backend host"
    run -0 "$BLCO" cpd noisy.tns -r 6 $run --ridge auto -o auto --record auto.json --checkpoint c.bck
    [[ $output =~ "ridge "([0-9.e-]+)", of "[0-9]+" that were tried" ]]
    ridge=${BASH_REMATCH[1]}
    [[ $output == *"ridge $ridge: held-out error "* ]]
    grep -q "\"ridge\": \[$ridge, $ridge, $ridge\]" auto.json
    grep -q '"ridge_search"' auto.json
    "$BLCO" cpd noisy.tns -r 6 $run --ridge "$ridge" -q -o same --record same.json
    for n in 1 2 3; do cmp "auto.mode$n.mat" "same.mode$n.mat"; done
    [ "$(number rmse auto.json)" = "$(number rmse same.json)" ]
    "$BLCO" cpd noisy.tns -r 6 $run --ridge 1e-4 -q --nowrite --record small.json
    awk -v a="$(number rmse auto.json)" -v b="$(number rmse small.json)" 'BEGIN { exit !(b > 1.1 * a) }'
    # A resumed run takes the ridge that was chosen.
    rm c.bck
    run -0 "$BLCO" cpd noisy.tns -r 6 $run --ridge auto --nowrite -i 20 --tol 0 --checkpoint c.bck
    [[ $output =~ "ridge "([0-9.e-]+)", of "[0-9]+" that were tried" ]]
    ridge=${BASH_REMATCH[1]}
    run -0 "$BLCO" cpd noisy.tns -r 6 $run --ridge auto -i 30 --tol 0 --resume c.bck -o other
    [[ $output != *"that were tried"* ]]
    "$BLCO" cpd noisy.tns -r 6 $run --ridge "$ridge" -q -i 30 --tol 0 -o whole
    for n in 1 2 3; do cmp "other.mode$n.mat" "whole.mode$n.mat"; done
}

@test "held-out entries go with nonnegative and fixed modes, starts and single precision" {
    hold -r 4 --holdout 0.1 --nonneg --starts 3 --accelerate momentum --record r.json
    [ "$(number held_out_rmse r.json | wc -l)" = 3 ]
    hold -r 4 --holdout 0.1 --unlisted unknown --precision single --ridge 0.1 --record r.json
    number rmse r.json
    hold -r 4 --holdout 0.1 --unlisted 0.1 --precision auto --record r.json
    number auc r.json
    "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host -q -o whole
    hold -r 4 --holdout 0.1 --init whole --fix 1,2 --record r.json
    awk -v x="$(number rmse r.json)" 'BEGIN { exit !(x < .1) }'
}

@test "the page of a run has the held-out error" {
    "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host -q -o p --holdout 0.1 --record p.json
    "$BLCO" report -q p
    grep -q 'Held-out error after each iteration' p.html
    grep -qE 'Held-out error</th><td><strong>[0-9.e-]+</strong>.*AUC' p.html
}

@test "beside the error of the model are those of the mean and of the means of slices" {
    noisy
    awk '{ $4 += 20 + $1 / 4 - $2 / 3; print }' noisy.tns >biased.tns
    for options in "--unlisted unknown" "--unlisted .1" "" "--unlisted unknown --ridge auto"; do
        "$BLCO" cpd biased.tns -r 1 --backend host --holdout .1 -i 9 -o b --record b.json $options 2>messages
        mean=$(jq .result.held_out.baseline_mean b.json) slices=$(jq .result.held_out.baseline_slices b.json)
        awk -v m="$mean" -v s="$slices" 'BEGIN { exit !(m > s && s > .5) }'
        grep -qF "without a model: RMSE $(printf %.4g "$mean") of the mean, $(printf %.4g "$slices") of the means of slices" messages
        worse=$(jq '.result.held_out | .rmse > .baseline_slices' b.json)
        [ "$(jq '[.findings[].kind] | contains(["baseline"])' b.json)" = "$worse" ]
        "$BLCO" report -q b
        grep -qE "without a model $(printf %.4g "$mean") of the mean" b.html
    done
    # a planted component that the means cannot have
    hold -r 4 --unlisted unknown --holdout .1 --record p.json
    [ "$(jq '[.findings[].kind] | contains(["baseline"])' p.json)" = false ]
    # of counts the deviance; of one component that is the product of the margins, nearly
    "$BLCO" cpd "$DATA/ucb-admissions.tns" -r 1 --loss poisson --backend host --holdout .2 --nowrite --record c.json 2>messages
    grep -q 'without a model: mean deviance ' messages
    # advice where values could be centred, or were
    cpd biased.tns -r 6 --backend host --holdout .3 --unlisted unknown --nowrite --ridge .001 -i 20
    grep -qF -- '; --values center:1,2,3 takes them off first, and predictions have them' messages
    cpd biased.tns -r 20 --backend host --holdout .8 --unlisted unknown --nowrite --values center:1,2 -i 20
    grep -qF -- 'better than the model: RMSE' messages && grep -qF -- '; try a lower rank, or --ridge auto' messages
}

@test "what contradicts --holdout is refused" {
    refused() {
        local expected=$1 && shift
        fails 2 "blco cpd: $expected" cpd "$DATA/planted.tns" --backend host -q --nowrite -r 2 "$@"
    }
    for bad in 0 1 1.5 -0.1 x "" nan :3; do
        refused "--holdout: '$bad', expected a share between 0 and 1, as 0.1, or a share and a seed, as 0.1:7" --holdout "$bad"
    done
    for bad in "" x -1 18446744073709551615; do
        refused "--holdout: '$bad', expected a whole number from 0 to 18446744073709551614" --holdout "0.1:$bad"
    done
    refused "--early-stop needs --holdout" --early-stop 5
    refused "--ridge auto needs entries that are held out: --holdout 0.1 expected" --ridge auto
    refused "--init nvecs and --holdout 0.1: nvecs treats unlisted entries as zeros" --holdout 0.1 --init nvecs
    refused "--conflict atomic and --holdout 0.1: expected auto or ordered" --holdout 0.1 --conflict atomic
    refused "--holdout 1e-06: none of the 932 entries is held out, expected a larger share" --holdout 0.000001
    printf '1 1 3\n2 2 4\n2 1 nan\n' >few.tns
    fails 2 "blco cpd: --holdout 0.999: all 2 entries are held out, expected a smaller share" \
        cpd few.tns --backend host -q --nowrite -r 1 --holdout 0.999
}
