# Runs of blco cpd with a Poisson loss.
# bats file_tags=plain
load cli_helpers
load ../support/mpi

# A run on the planted tensor, whose values are counts.
counts() {
    cpd "$DATA/planted.tns" -r 4 --backend host -q --loss poisson "$@"
}

@test "tables have the deviances that loglm and latent class analysis find" {
    # R, MASS::loglm: independence of the admissions has G^2 2097.671
    for row in "1 2097.671" "2 343.6296" "3 66.49"; do
        read -r rank deviance <<<"$row"
        "$BLCO" cpd "$DATA/ucb-admissions.tns" -r "$rank" --backend host -q --loss poisson \
            --starts 10 -i 5000 --tol 1e-11 --nowrite --record r.json >/dev/null
        awk -v a="$(number deviance r.json)" -v b="$deviance" \
            'BEGIN { exit !(a / b - 1 < 1e-4 && a / b - 1 > -1e-4) }'
    done
}

@test "latent classes of published tables have the published likelihoods" {
    # poLCA of R prints the multinomial log-likelihood: that of a perfect model less half of the deviance
    for row in "carcinoma 2 -317.2568" "carcinoma 3 -293.7050" "carcinoma 4 -289.2858" \
        "role-conflict 1 -543.6498" "role-conflict 2 -504.4677" "role-conflict 3 -503.3011"; do
        read -r table rank likelihood <<<"$row"
        perfect=$(awk '!/^#/ { n += $NF; s += $NF * log($NF) } END { printf "%.12g", s - n * log(n) }' "$DATA/$table.tns")
        "$BLCO" cpd "$DATA/$table.tns" -r "$rank" --backend host -q --loss poisson \
            --starts 40 -i 5000 --tol 1e-10 --nowrite --record r.json >/dev/null
        near "$(awk -v d="$(number deviance r.json)" -v p="$perfect" 'BEGIN { printf "%.6f", p - d / 2 }')" "$likelihood" 6e-5
    done
}

@test "both steps find the planted model, with 1-norms of 1 and the counts as weights" {
    for solver in newton mu; do
        counts --solver $solver --starts 3 -i 1000 --tol 1e-9 -o model >/dev/null
        run "$BLCO" compare model "$DATA/planted.ktns"
        [[ $output =~ score\ +0\.999|score\ +1 ]]
        total=$(awk '!/^#/ { s += $4 } END { print s }' "$DATA/planted.tns")
        awk -v t="$total" '{ s += $1 } END { exit !(s / t - 1 < 1e-6 && s / t - 1 > -1e-6) }' \
            model.lambda.mat
        awk '{ for (i = 1; i <= NF; i++) s[i] += $i }
            END { for (i in s) if (s[i] > 1.000001 || s[i] < 0.999999) exit 1 }' model.mode2.mat
    done
}

@test "the bits are the same for any number of threads, and after a checkpoint" {
    for how in "" "--solver mu" "--solver mu --inner 3" "--unlisted unknown" "--precision single" "--accelerate off"; do
        counts $how -i 30 --tol 0 -o two
        OMP_NUM_THREADS=3 counts $how -i 30 --tol 0 -o other
        for n in 1 2 3; do cmp "two.mode$n.mat" "other.mode$n.mat"; done
        for i in 3 12; do
            counts $how -i $i --tol 0 --checkpoint c.bck --nowrite
            counts $how -i 30 --tol 0 --resume c.bck -o other
            for n in 1 2 3; do cmp "two.mode$n.mat" "other.mode$n.mat"; done
            rm c.bck
        done
    done
}

@test "processes find what one does" {
    needs_mpirun
    counts -i 20 --tol 0 --nowrite --record one.json
    processes 3 "$BLCO" cpd "$DATA/planted.tns" -r 4 \
        --backend host -q --loss poisson -i 20 --tol 0 --nowrite --record three.json
    awk -v a="$(number fit one.json)" -v b="$(number fit three.json)" \
        'BEGIN { exit !(a - b < 1e-9 && b - a < 1e-9) }'
}

@test "a checkpoint goes on only with the same loss and the same step" {
    counts -i 3 --checkpoint c.bck --nowrite
    run="$DATA/planted.tns -r 4 --backend host -q -i 5 --resume c.bck --nowrite"
    fails 2 "blco cpd: c.bck: a checkpoint with --loss poisson, but this run has squares" cpd $run
    fails 2 "blco cpd: c.bck: a checkpoint with --solver newton, but this run has mu" cpd $run --loss poisson --solver mu
    rm c.bck
    counts -i 3 --solver mu --inner 4 --checkpoint c.bck --nowrite
    run="$run --loss poisson --solver mu"
    fails 2 "blco cpd: c.bck: a checkpoint with --inner 4, but this run has 1" cpd $run
    cpd $run --inner 4
}

@test "a checkpoint that goes on to nothing has the same likelihood, and no violation" {
    for how in "" "--unlisted unknown --check-every 5"; do # zeros still fade
        counts $how -i 5 --tol 0 --nowrite --checkpoint c.bck --record r.json
        counts $how -i 5 --tol 0 -o m --resume c.bck --record m.json
        near "$(number fit m.json)" "$(number fit r.json)" 1e-12
        near "$(number log_likelihood m.json)" "$(number log_likelihood r.json)" 1e-7
        # while zeros fade, what an iteration violates is another problem
        [ "$(grep -c '"kkt_violation": [0-9]' r.json)" -eq "$([ "$how" ] && echo 0 || echo 1)" ]
        [ "$(grep -c kkt_violation m.json)" -eq 0 ]
        "$BLCO" report m -q
        grep -q 'Log-likelihood' m.html
        rm c.bck m.html
    done
    counts -i 5 --tol 0 --nowrite --checkpoint c.bck
    run "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host --loss poisson -i 5 --tol 0 --nowrite --resume c.bck
    [[ $output =~ "log-likelihood "-[0-9.]+", deviance "[0-9.]+$'\n' ]]
}

@test "the record has the likelihood" {
    counts -i 3 --nowrite --record r.json
    grep -q '"loss": "poisson"' r.json
    grep -q '"solver": "newton"' r.json
    grep -q '"log_likelihood": -' r.json
    grep -q '"kkt_violation": [0-9]' r.json
    grep -q '"inner": 1,' r.json
    counts -i 3 --solver mu --inner 7 --nowrite --record r.json
    grep -q '"inner": 7,' r.json
    "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host -q -i 3 --nowrite --record r.json
    grep -q '"loss": "squares"' r.json
    [ "$(grep -c likelihood r.json)" -eq 0 ]
}

# Steps of the only mode that is not fixed are the same in one iteration as in several.
@test "inner steps of one mode are those of as many iterations" {
    how="--solver mu --accelerate off --tol 0 --precision double"
    counts -i 2 -o start
    counts $how --init start --fix 1,2 -i 1 --inner 6 -o inner
    counts $how --init start --fix 1,2 -i 6 -o outer
    for n in 1 2 3; do cmp inner.mode$n.mat outer.mode$n.mat; done
    counts $how --init start -i 1 -o other
    [ "$(cmp inner.mode3.mat other.mode3.mat)" ]
}

@test "a fixed mode stays as it was" {
    counts -i 50 -o model
    counts -i 50 --init model --fix 1,3 -o again
    cmp model.mode1.mat again.mode1.mat
    cmp model.mode3.mat again.mode3.mat
    run "$BLCO" compare model again
    [[ $output =~ score\ +0\.99|score\ +1 ]]
}

@test "what contradicts --loss poisson is refused" {
    check() { # MESSAGE OPTION...
        local message=$1
        shift
        run "$BLCO" cpd "$DATA/planted.tns" -r 4 --nowrite "$@"
        echo "$output"
        [ "$status" -eq 2 ] && [[ $output == "blco cpd: $message"* ]] && [ "${#lines[@]}" -eq 1 ]
    }
    check "--solver mu: only with another --loss than squares" --solver mu
    check "--inner 2: only with --solver mu" --inner 2
    check "--inner 2: only with --solver mu" --loss poisson --inner 2
    check "--inner: '0', expected" --loss poisson --solver mu --inner 0
    check "--inner: '1001', expected" --loss poisson --solver mu --inner 1001
    check "--ridge and --loss poisson: a ridge is for squares alone" --loss poisson --ridge 1
    check "--init nvecs and --loss poisson: nvecs is for squares" --loss poisson --init nvecs
    check "--conflict atomic and --loss poisson: expected auto or ordered" --loss poisson \
        --conflict atomic
    printf '# counts\n\n\n1 1 1 3\n1 2 1 -1\n2 1 1 -2\n2 2 1 4\n' >negative.tns
    run "$BLCO" cpd negative.tns -r 1 --nowrite --backend host --loss poisson -q
    [ "$status" -eq 2 ]
    [ "$output" = "blco cpd: 2 values are negative; --loss poisson is for counts (first: negative.tns:5)" ]
    "$BLCO" convert -q negative.tns negative.blco
    run "$BLCO" cpd negative.blco -r 1 --nowrite --backend host --loss poisson -q
    [ "$status" -eq 2 ]
    [[ $output =~ ^"blco cpd: 2 values are negative; --loss poisson is for counts (first: at coordinates "("1 2"|"2 1")" 1)"$ ]]
}

@test "processes say which value is negative" {
    needs_mpirun
    printf '# counts\n\n\n1 1 1 3\n1 2 1 -1\n2 1 1 -2\n2 2 1 4\n' >negative.tns
    run processes 2 "$BLCO" cpd negative.tns -r 1 --nowrite --backend host --loss poisson -q
    [[ $output =~ "2 values are negative; --loss poisson is for counts (first: at coordinates "("1 2"|"2 1")" 1)" ]]
}

@test "a matrix, a vector and a tensor of six modes" {
    printf '1 1 5\n2 2 7\n3 1 2\n3 2 2\n' >matrix.tns
    printf '1 5\n2 7\n4 1\n' >vector.tns
    awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { for (n = 0; n < 6; n++)
        printf "%d ", 1 + int(3 * rand()); print 1 + int(4 * rand()) } }' >six.tns
    for t in matrix vector six; do
        "$BLCO" cpd $t.tns -r 2 --backend host -q --loss poisson --nowrite --record r.json
    done
    "$BLCO" cpd vector.tns -r 1 --backend host -q --loss poisson --nowrite --record r.json
    awk -v a="$(number fit r.json)" 'BEGIN { exit !(a > 1 - 1e-12) }'
}

@test "predict shows which counts the rates do not explain" {
    printf '1 1 3\n1 2 3\n2 1 3\n2 2 9\n' >x.tns
    "$BLCO" cpd x.tns -r 1 --backend host -q --loss poisson --tol 1e-12 -o m
    "$BLCO" predict m x.tns --residuals --loss poisson -q >lines
    # the rates are those of independence: 2, 4, 4, 8; p is twice P(X >= 9) = .407453, and twice P(X <= 3) = .433470
    awk 'function off(a, b) { return a - b > 1e-5 || b - a > 1e-5 }
        NR == 2 && (off($3, 4) || off($6, .866940)) { exit 1 }
        NR == 4 { exit off($3, 8) || off($4, .346547) || off($5, .353553) || off($6, .814905) }' lines
    run "$BLCO" predict m x.tns --residuals --loss poisson -q -n 1
    [[ $output == *"value"*"model"*"residual"*"pearson"*"p"* ]]
    run "$BLCO" predict m x.tns --residuals --loss poisson -q -n 1 --json
    [[ $output == *'"pearson": '*'"p": '* ]]
    "$BLCO" predict m x.tns --residuals --loss poisson -q -o x.npy
    grep -aq "'shape': (4, 4)" x.npy
    run "$BLCO" predict m x.tns --loss poisson
    [[ $output == "blco predict: --loss needs --residuals"* ]]
}

@test "predict counts rates of 0 or less as 1e-100, says so, and refuses negative counts" {
    printf '1\n' >m.lambda.mat
    printf '%s\n' 1 0 -1 >m.mode1.mat
    printf '%s\n' 2 2 >m.mode2.mat
    printf '1 1 2\n2 1 0\n2 2 3\n3 1 0\n3 2 3\n1 2 nan\n' >x.tns
    run --separate-stderr "$BLCO" predict m x.tns --residuals --loss poisson
    [[ $output != *-nan* && $(grep -c nan <<<"$output") -eq 1 ]]
    [[ $stderr == *"of 5 residuals; 1 without a value; 4 rates of 0 or less count as 1e-100" ]]
    awk '$3 <= 0 && !($4 ^ 2 < 1e-90 && $6 == 1 || $4 > 36 && $6 < 1e-290) { exit 1 }' <<<"$output"
    printf '1 1 2\n2 2 -3\n' >x.tns
    run "$BLCO" predict -q m x.tns --residuals --loss poisson -o lines
    [ "$status" -eq 2 ] && [ ! -e lines ]
    [ "$output" = "blco predict: x.tns: the value -3 is negative; --loss poisson is for counts (at coordinates 2 2)" ]
}

@test "the log-likelihood of huge counts does not cancel" {
    printf '1 1 1 1e15\n' >x.tns
    "$BLCO" cpd x.tns -r 1 --backend host -q --loss poisson --nowrite --record r.json
    near "$(number log_likelihood r.json)" -18.188326730660015 1e-12
}

@test "generate makes counts of a model that --loss poisson finds" {
    "$BLCO" generate -q counts.tns --dims 20,25,30 --nnz 9000 --planted-rank 3 --poisson 4
    "$BLCO" generate -q model.tns --dims 20,25,30 --nnz 9000 --planted-rank 3
    awk '$4 != int($4) || $4 < 1 { exit 1 }' counts.tns
    cells=$(grep -c . model.tns)
    awk -v n="$cells" '{ s += $4 } END { exit !(s / n > 3.9 && s / n < 4.1) }' counts.tns
    OMP_NUM_THREADS=1 "$BLCO" generate -q one.tns --dims 20,25,30 --nnz 9000 --planted-rank 3 --poisson 4
    cmp counts.tns one.tns
    for t in counts model; do
        "$BLCO" cpd $t.tns -r 3 --backend host -q --loss poisson --starts 3 --tol 1e-8 -i 1000 \
            --dims 20,25,30 -o $t >/dev/null
    done
    run "$BLCO" compare counts model
    echo "$output"
    [[ $output =~ congruence\ +0\.99 ]]
    run "$BLCO" generate x.tns --dims 4,5,6 --nnz 20 --planted-rank 2 --poisson 0
    [[ $output == "blco generate: --poisson: '0', expected a number above 0"* ]]
    run "$BLCO" generate x.tns --dims 4,5,6 --nnz 20 --planted-rank 2 --poisson 2 --noise 1
    [[ $output == "blco generate: --poisson and --noise: give only one"* ]]
    run "$BLCO" generate x.tns --dims 4,5,6 --nnz 20 --poisson 2
    [[ $output == "blco generate: --poisson needs --planted-rank"* ]]
}

@test "the page of a model of counts has its likelihood" {
    cpd "$DATA/planted.tns" -r 4 --backend host --loss poisson -i 20 -o m --record m.json
    grep -q '^fit .* (explains .* of the deviance) after' messages
    "$BLCO" report m -q
    grep -q 'Log-likelihood' m.html
    grep -q 'add up to 1' m.html
    grep -q '>Explained</th><td>[^<]* of the deviance<' m.html
    # a number whose unit nobody can judge stays in the record
    [ "$(cat m.html messages | grep -c KKT)" -eq 0 ]
}

@test "info plans for the loss: momentum keeps the first mode, too, and register will not do" {
    run "$BLCO" info -q "$DATA/planted.tns" -r 4 --backend host
    [[ $output == *"factors 5.89 kB"* ]]
    run "$BLCO" info -q "$DATA/planted.tns" -r 4 --backend host --loss poisson
    [[ $output == *"factors 6.66 kB"* ]] # 20 rows and a Gram more
    [ "$(grep -c 'ordered, its own ordering' <<<"$output")" -eq 3 ]
    fails 2 "--conflict register and --loss poisson: expected auto or ordered" \
        info -q "$DATA/planted.tns" -r 4 --backend host --conflict register --loss poisson
}

@test "the core consistency is that of the counts as squares" {
    run -0 "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host --loss poisson -i 300 --starts 5 --core-consistency --nowrite
    grep -qx 'core consistency 100.0 (of the counts as squares): each component is meaningful on its own' <<<"$output"
    run -0 "$BLCO" cpd "$DATA/planted.tns" -r 3:4 --backend host -q --loss poisson -i 300 --starts 5 --nowrite
    [[ ${lines[3]} == "rank 4 is suggested: at least half of the other starts find its model again, "* ]]
}

@test "where most is unknown, the core consistency suggests no rank, and it is said what does" {
    run "$BLCO" cpd "$DATA/planted.tns" -r 2:3 --backend host -q --loss poisson --unlisted unknown -i 20 --starts 2 -o m
    [[ ${lines[0]} =~ ^" "+"rank "+"fit 0 to 1 "+"starts that agree"$ ]]
    [[ ${lines[1]} =~ ^" "+"2 "+[0-9.]+" "[#.]{20}" "[01]" of 1"$ ]]
    [[ ${lines[3]} == *"suggested: at least half of the other starts find "* || ${lines[3]} == *"none is found again by at least half"* ]]
    run "$BLCO" cpd "$DATA/planted.tns" -r 2:3 --backend host -q --loss poisson --unlisted unknown -i 20 -o m
    [ "${lines[3]}" = "no rank above 1 is suggested: no core consistency is known; --holdout 0.1, --starts 5 or --split-half MODE compares ranks by other means" ]
    "$BLCO" report -q m
    grep -q 'The core consistency is not known, which a suggestion could follow' m.html
    grep -q '<h2>Fit and agreement' m.html
    run "$BLCO" cpd "$DATA/planted.tns" -r 2:3 --backend host -q --loss poisson -i 20 --holdout 0.2 --nowrite
    [[ ${lines[0]} == *"held-out error"* && ${lines[4]} == *"held-out error is within"* ]]
}

@test "advice is what counts can follow" {
    "$BLCO" cpd "$DATA/carcinoma.tns" -r 3 --backend host --loss poisson --nowrite 2>messages
    [ "$(grep -c 'cannot be independent' messages)" -eq 0 ]
    grep -q '^one start was made' messages
    "$BLCO" cpd "$DATA/carcinoma.tns" -r 1 --backend host --loss poisson --nowrite 2>messages
    [ "$(grep -c 'one start was made' messages)" -eq 0 ] # all lead to independent modes
    "$BLCO" cpd "$DATA/carcinoma.tns" -r 5 --backend host --loss poisson --unlisted unknown --nowrite 2>messages
    grep -q '^warning: the known entries.*; try a lower rank, or --holdout 0.1$' messages
}

@test "zero-truncated counts: zeros are refused, listed or not, and so are ones alone" {
    printf '1 1 1\n1 2 3\n2 2 0\n2 1 .5\n' >x.tns
    cpd() { run -2 "$BLCO" cpd "$@" -r 1 --nowrite --backend host --loss zero-truncated -q; }
    for how in zero .1; do
        cpd x.tns --unlisted $how
        [ "$output" = "blco cpd: --loss zero-truncated: no value is 0: expected --unlisted unknown; try blco cpd --help" ]
    done
    cpd x.tns --unlisted unknown
    [ "$output" = "blco cpd: 2 values are below 1; --loss zero-truncated is for counts of 1 or more (first: x.tns:3)" ]
    printf '1 1 1\n1 2 1\n2 2 1\n' >x.tns
    cpd x.tns --unlisted unknown
    [[ $output == "blco cpd: all known values are 1, which any small rates explain: expected some larger counts"* ]]
}

@test "zero-truncated counts: the squares of the residuals add up to the deviance, and means are shown" {
    "$BLCO" generate -q x.tns --dims 9,8,7 --planted-rank 2 --nnz 300 --poisson 1
    "$BLCO" cpd -q x.tns -r 2 --backend host --loss zero-truncated --unlisted unknown -o m --record r.json
    "$BLCO" predict -q m x.tns --residuals >lines # value, residual, Pearson's, p
    awk -v d="$(number deviance r.json)" '{ if ($4 < 1 || $7 > 1) exit 1; sum += $5 * $5 }
        END { exit !(sum / d < 1 + 1e-6 && sum / d > 1 - 1e-6) }' lines
    run -2 "$BLCO" predict m x.tns --residuals -n 1 --unlisted zero
    [[ $output == "blco predict: --unlisted zero and --loss zero-truncated: no value is 0"* ]]
    "$BLCO" top -q m x.tns --unlisted 1=1 -n 3 | awk 'NR > 2 { if ($NF < 1) exit 1 }'
}

@test "binary data: values other than 0 and 1 are refused where they are" {
    printf '1 1 1\n1 2 1\n2 2 2\n2 1 .5\n' >x.tns
    run -2 "$BLCO" cpd x.tns -r 1 --nowrite --backend host --loss binary -q
    [ "$output" = "blco cpd: 2 values are neither 0 nor 1; --loss binary takes no others: expected --values binary, for which each nonzero is 1 (first: x.tns:3)" ]
    run -0 "$BLCO" cpd x.tns -r 1 --nowrite --backend host --loss binary --values binary --dims 3,3 -q
    printf '1 1 1\n1 2 1\n1 1 1\n' >twice.tns # a sum of 2
    run -2 "$BLCO" cpd twice.tns -r 1 --nowrite --backend host --loss binary --dims 2,2 -q
    [[ $output == "blco cpd: 1 value is neither 0 nor 1; "*"(first: at coordinates 1 1)" ]]
    "$BLCO" cpd twice.tns -r 1 --nowrite --backend host --loss binary --dims 2,2 --values binary -q
    needs_mpirun
    run processes 2 "$BLCO" cpd x.tns -r 1 --nowrite --backend host --loss binary -q
    [[ $output =~ "2 values are neither 0 nor 1; --loss binary" ]]
}

@test "binary data: ones alone are refused where no zero is known" {
    printf '1 1 1\n1 2 1\n2 2 1\n' >x.tns
    for how in "--unlisted unknown" "--dims 1,2"; do
        [[ $how == --dims* ]] && sed -i 3d x.tns
        run -2 "$BLCO" cpd x.tns -r 1 --nowrite --backend host --loss binary $how -q
        [[ $output == "blco cpd: all known values are 1, which any large rates explain: expected zeros, listed or unlisted"* ]]
    done
    printf '1 1 1\n1 2 1\n2 2 0\n' >x.tns
    "$BLCO" cpd x.tns -r 1 --nowrite --backend host --loss binary --unlisted unknown -q
}

@test "binary data: the fit is that of one probability, and predict gives probabilities" {
    printf '1 1 1\n2 2 1\n1 2 1\n2 3 1\n' >x.tns
    "$BLCO" cpd x.tns -r 1 --backend host -q --loss binary --dims 4,4 --tol 1e-12 -i 1000 -o m --record r.json
    # 4 ones in 16 cells
    awk -v d="$(number deviance r.json)" -v f="$(number fit r.json)" 'BEGIN {
        null = -2 * (4 * log(.25) + 12 * log(.75)); exit !(f - (1 - d / null) < 1e-9 && f - (1 - d / null) > -1e-9) }'
    printf '1 1\n4 4\n' >at.tns
    "$BLCO" predict -q m at.tns >lines
    awk 'NR == 1 { exit !($3 > .1 && $3 < 1) } NR == 2 && $3 != 0 { exit 1 }' lines
    "$BLCO" predict -q m x.tns --residuals >lines # value, residual, Pearson's, p
    awk '{ p = $3; r = sqrt(-2 * log(p)); e = $4 - r; f = $5 - sqrt((1 - p) / p); g = $6 - (p < .5 ? p : 1)
           if (e * e + f * f + g * g > 1e-20) exit 1 }' lines
    "$BLCO" predict -q m x.tns --residuals -o x.npy
    "$BLCO" predict -q m x.tns -o y.npy
    "$BLCO" predict -q m x.tns --residuals -n 1 --json | grep -q '"model": 0\.'
    run -0 "$BLCO" top -q m x.tns --unlisted 1=1 -n 1
    [[ ${lines[-1]} =~ ^\ +3\ +0\.[0-9]+$ ]]
    printf '1 1 2\n' >bad.tns
    run -2 "$BLCO" predict -q m bad.tns --residuals
    [[ $output == "blco predict: bad.tns: the value 2 is neither 0 nor 1; --loss binary takes no others"* ]]
}

@test "binary data: a planted model is found from its ones" {
    for case in "60,50,40 30000 3" "300,200,250 120000 1"; do
        read -r dims nnz mean <<<"$case"
        "$BLCO" generate -q ones.tns --dims $dims --nnz $nnz --planted-rank 3 --binary $mean --force
        "$BLCO" generate -q model.tns --dims $dims --nnz $nnz --planted-rank 3 --force
        awk '$4 != 1 { exit 1 }' ones.tns
        "$BLCO" cpd ones.tns -r 3 --backend host -q --loss binary --starts 5 --tol 1e-8 -i 1000 --dims $dims -o ones >starts 2>&1
        "$BLCO" cpd model.tns -r 3 --backend host -q --loss poisson --tol 1e-8 -i 1000 --dims $dims -o model
        grep -q "all starts lead to the same components" starts
        run -0 "$BLCO" compare ones model
        [[ $output =~ congruence\ +0\.9(8[5-9]|9) ]]
    done
    run -2 "$BLCO" generate x.tns --dims 4,5,6 --nnz 20 --planted-rank 2 --poisson 2 --binary 1
    [[ $output == "blco generate: --binary and --poisson: give only one"* ]]
}
