# bats file_tags=plain
load cli_helpers
load ../support/mpi

# Values that are changed on the way: --values.

counts() {
    printf 'a,b,n\nx,y,1\nx,z,3\nw,y,8\nx,y,\nw,z,-0.5\n' >counts.csv
    printf '1 1 2\n1 2 3\n2 1 4\n1 1 -1\n3 1 7\n3 2 0\n3 2 5\n' >x.tns
}

@test "values: convert writes the logarithm, ones, or tf-idf, from every kind of file" {
    counts
    "$BLCO" convert -q x.tns x.blco
    for rule in log1p binary tfidf:1 tfidf:2; do
        for from in x.tns x.blco; do
            "$BLCO" convert -q $from to.tns --values $rule --force
            "$BLCO" convert -q $from to.blco --values $rule --force
            "$BLCO" convert -q to.blco again.tns --force
            cmp <(sort to.tns) <(sort again.tns)
            case $rule in
            log1p) awk '{ print $1, $2, log(1 + $3) }' ;;
            binary) awk '{ print $1, $2, 1 }' ;;
            # nonzeros of the slices of mode 1: 2, 1, 2; of mode 2: 3, 2
            tfidf:1) awk '{ print $1, $2, $3 * (1 + log($1 == 2 ? 2 : 1)) }' ;;
            tfidf:2) awk '{ print $1, $2, $3 * (1 + log($2 == 2 ? 1.5 : 1)) }' ;;
            esac <<<"$(printf '1 1 1\n1 2 3\n2 1 4\n3 1 7\n3 2 5')" >expected
            sort to.tns | paste -d' ' - expected |
                awk '{ d = $3 - $6; if ($1 != $4 || $2 != $5 || d > 1e-5 || d < -1e-5) exit 1; n++ } END { exit n != 5 }'
        done
    done
    run -0 --separate-stderr "$BLCO" convert -q counts.csv - --columns a,b --value n --values binary
    [ "$(sort <<<"$output")" = "$(printf '1 1 nan\n1 2 1\n2 1 1\n2 2 1')" ]
    "$BLCO" convert -q x.tns z.blco --values binary
    [ "$("$BLCO" info -q z.blco --json | jq .dropped_zeros)" = 1 ]
}

@test "values: cpd does what convert and cpd do, alone and on several ranks, and records it" {
    counts
    "$BLCO" convert -q "$DATA/ucb-admissions.tns" u.blco
    for rule in log1p tfidf:3; do
        "$BLCO" convert -q u.blco changed.blco --values $rule --force
        cpd -q changed.blco -r 2 -o c --backend host --format npy
        for from in u.blco "$DATA/ucb-admissions.tns"; do
            cpd -q "$from" -r 2 -o d --backend host --format npy --values $rule --record d.json
            [ "$("$BLCO" compare c d --json | jq '.score > 0.999999999')" = true ]
            [ "$(jq -r .options.values d.json)" = $rule ]
        done
    done
    cpd -q u.blco -r 2 --nowrite --backend host --record d.json
    [ "$(jq .options.values d.json)" = null ]
    needs_mpirun
    for from in u.blco "$DATA/ucb-admissions.tns"; do
        processes 2 "$BLCO" cpd "$from" -r 2 -o p -q -t 1 --backend host --format npy --values tfidf:3 </dev/null
        [ "$("$BLCO" compare c p --json | jq '.score > 0.999999999')" = true ]
        run processes 2 "$BLCO" cpd "$from" -r 2 -o q -q -t 1 --backend host --values tfidf:4 </dev/null
        [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
        [[ "$output" == *"--values tfidf:4: expected a mode from 1 to 3"* ]]
    done
}

@test "values: what is wrong is refused, and nothing is written" {
    printf '1 1 2\n2 2 -1\n' >x.tns
    run -2 "$BLCO" convert x.tns y.blco --values log1p
    [[ "$output" == *"x.tns: --values log1p: a value of -1, expected values above -1"* ]]
    run -2 "$BLCO" convert x.tns y.tns --values log1p
    [[ "$output" == *"x.tns: --values log1p: a value of -1"* ]]
    run -2 "$BLCO" cpd x.tns -r 1 -o m --backend host --values log1p
    [[ "$output" == *"--values log1p: a value of -1, expected values above -1"* ]]
    for bad in log tfidf tfidf: tfidf:0 tfidf:17 tfidf:x ''; do
        run -2 "$BLCO" convert x.tns y.tns --values "$bad"
        [[ "$output" == *"--values: '$bad', expected log1p, binary or tfidf:MODE with a mode from 1 to 16"* ]]
    done
    run -2 "$BLCO" convert x.tns y.tns --values tfidf:3
    [[ "$output" == *"--values tfidf:3: expected a mode from 1 to 2"* ]]
    [ -z "$(compgen -G '[ymp].*')" ]
    # a checkpoint is of the changed values
    "$BLCO" cpd -q "$DATA/planted.tns" -r 2 -i 2 --nowrite --backend host --values binary --checkpoint c
    run -2 "$BLCO" cpd -q "$DATA/planted.tns" -r 2 --nowrite --backend host --resume c
    "$BLCO" cpd -q "$DATA/planted.tns" -r 2 -i 3 --nowrite --backend host --values binary --resume c
    # text that does not fit into memory
    awk 'BEGIN { for (i = 0; i < 60000; i++) print i % 997 + 1, i * 31 % 1009 + 1, 1 }' >long.tns
    run -3 "$BLCO" convert long.tns z.blco --values binary --host-memory 1M
    [[ "$output" == *"convert it to .blco without --values, and that with it"* ]]
    [ ! -e z.blco ]
}

# Ratings of users and items in contexts, by names: ratings.csv; by numbers: ratings.tns. The means of users and items
# differ, and there is one component besides.
ratings() {
    awk 'function z(i) { t = 0; for (i = 0; i < 12; i++) t += s = s * 16807 % 2147483647; return t / 2147483647 - 6 }
         BEGIN { s = 1; print "user,item,context,rating" >"ratings.csv"
             for (i = 1; i <= 40; i++) { b[i] = z(); c[i] = z(); p[i] = z(); q[i] = z() }
             for (i = 1; i <= 40; i++) for (j = 1; j <= 30; j++) if (z() > 0) {
                 k = 1 + (7 * i + 3 * j) % 4; x = sprintf("%.4f", 15 + b[i] + c[j] + p[i] * q[j] + .3 * z())
                 print i "," j "," k "," x >"ratings.csv"; print i, j, k, x >"ratings.tns" } }'
}

# means K FILE: mu and the shrunken means of modes 1 and 2 by their definition, as "mode index mean".
means() {
    awk -v k="$1" '{ x[NR] = $4; i[NR, 1] = $1; i[NR, 2] = $2; mu += $4; n[1, $1]++; n[2, $2]++ }
         END { mu /= NR; printf "0 0 %.15g\n", mu
             for (step = 0; step < 4; step++) {
                 m = 1 + step % 2; split("", sum)
                 for (e = 1; e <= NR; e++) sum[i[e, m]] += x[e] - mu - b[3 - m, i[e, 3 - m]]
                 for (at in sum) b[m, at] = sum[at] / (n[m, at] + k) }
             for (key in b) { split(key, place, SUBSEP); if ((place[1], place[2]) in n) printf "%d %d %.15g\n", place[1], place[2], b[key] } }' "$2" | sort
}

# near A B: lines of two integers and a number, equal to a part in 10^12.
near() {
    [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ]
    paste -d' ' "$1" "$2" | awk '{ d = $3 - $6; if ($1 != $4 || $2 != $5 || d > 1e-12 || d < -1e-12) { print; exit 1 } }'
}

@test "center: means as defined, as components of the files; predictions are of the ratings as they were" {
    ratings
    cpd -q ratings.tns -r 2 --unlisted unknown --ridge 1 --backend host --values center:1,2:3 -o m --record m.json
    {
        sed -n '3s/^/0 0 /p' m.lambda.mat
        awk '{ print 1, NR, $4 }' m.mode1.mat
        awk '{ print 2, NR, $5 }' m.mode2.mat
    } | sort >found
    means 3 ratings.tns >expected
    near found expected
    [ "$(sed 1,3d m.lambda.mat | tr '\n' ' ')" = "1 1 " ]
    [ "$(cut -d' ' -f3- m.mode3.mat | sort -u)" = "1 1 1" ]
    [ "$(jq -c '[.rank, .center, .shrinkage, (.explained | length)]' m.model.json)" = '[5,[1,2],3,5]' ]
    [ "$(jq -c '[.options.values, .options.center, .options.shrinkage, (.result.explained | length)]' m.json)" = '[null,[1,2],3,2]' ]
    # the model, by its definition
    "$BLCO" predict -q m ratings.tns >p
    awk 'FILENAME ~ /lambda/ { w[FNR] = $1; next } FILENAME ~ /mode/ { n = substr(FILENAME, 7, 1); for (r = 1; r <= NF; r++) a[n, FNR, r] = $r; next }
         { x = 0; for (r = 1; r <= 5; r++) x += w[r] * a[1, $1, r] * a[2, $2, r] * a[3, $3, r]; d = x - $4; if (d > 1e-12 || d < -1e-12) exit 1; n++ }
         END { exit n < 500 }' m.lambda.mat m.mode1.mat m.mode2.mat m.mode3.mat p
    # the fit is that of the centred values
    "$BLCO" predict -q m ratings.tns --residuals | awk 'NR == FNR { m[$1, $2] = $3; next } { c = $4 + $5 - m[0, 0] - m[1, $1] - m[2, $2]; s += c * c; q += $5 * $5 }
         END { printf "%.9f\n", 1 - sqrt(q / s) }' expected - >fit
    jq .result.fit m.json | awk -v f="$(cat fit)" '{ d = $1 - f; exit d > 1e-8 || d < -1e-8 }'
    # the best unlisted entries are those of the whole model
    "$BLCO" top -q m ratings.tns --unlisted 1=3 --unlisted 3=2 -n 1 --json >top
    for j in $(seq 30); do grep -q "^3 $j 2 " ratings.tns || echo "3 $j 2"; done >absent
    [ "$("$BLCO" predict -q m absent | sort -k4gr | head -n 1 | cut -d' ' -f2)" = "$(jq '.unlisted[0].indices[1]' top)" ]
    # what looks at components does without the means
    [ "$("$BLCO" top -q m --json | jq .rank)" = 2 ]
    [ "$("$BLCO" compare m m --json | jq -c '[.a.rank, .score > 0.999999, (.pairs | length)]')" = '[2,true,2]' ]
    "$BLCO" report -q m -o m.html
    grep -q 'Components</th><td[^>]*>2<' m.html
    grep -q 'Means taken off first, of modes</th><td[^>]*>1, 2; shrinkage 3<' m.html
}

@test "center: by names, with log1p, on several ranks and threads, resumed, for a range of -r, in all formats" {
    ratings
    run="--unlisted unknown --ridge 1 --backend host -q"
    cpd ratings.tns -r 2 $run --values center:1,2 -o m
    [ "$(jq .shrinkage m.model.json)" = 10 ]
    cpd ratings.csv --columns user,item,context --value rating -r 2 $run --values center:item,user -o n --format ktns,npy
    "$BLCO" predict -q m ratings.tns -o a && "$BLCO" predict -q n ratings.csv -o b
    paste -d' ' <(cut -d' ' -f4 a) <(sed 's/.*[ ,\t]//' b) | awk '{ d = $1 - $2; if (d > 1e-6 || d < -1e-6) exit 1; n++ } END { exit n < 500 }'
    cpd ratings.tns -r 2 $run --values log1p+center:1 -o l --record l.json
    [ "$(jq -c '[.options.values, .options.center]' l.json)" = '["log1p",[1]]' ]
    [ "$(jq -c '[.values, .center]' l.model.json)" = '["log1p",[1]]' ]
    cpd ratings.tns -r 2 -t 1 $run --values center:1,2 -o t && cmp m.mode1.mat t.mode1.mat
    cpd ratings.tns -r 1:2 $run --values center:1,2 -o r --holdout .1 --ridge auto
    [[ "$(cat results)" == *"without a model: RMSE "*" of the mean, "*" of the means of slices"* ]]
    [ "$(jq -c '[.rank, .center]' r.r1.model.json)" = '[4,[1,2]]' ] && [ "$(jq -c '[.rank, .center]' r.r2.model.json)" = '[5,[1,2]]' ]
    [ "$(jq '.baseline_slices < .baseline_mean' r.ranks.json)" = true ]
    "$BLCO" report -q r && grep -q "Without a model, the held-out error is [0-9.]* of the mean" r.html
    # a checkpoint is of the centred values
    cpd ratings.tns -r 2 $run --values center:1,2 -i 3 --nowrite --checkpoint c
    cpd ratings.tns -r 2 $run --values center:1,2 -i 9 --resume c -o k
    cpd ratings.tns -r 2 $run --values center:1,2 -i 9 -o w && cmp k.mode2.mat w.mode2.mat
    for other in "" "--values center:1" "--values center:1,2:4"; do
        run -2 "$BLCO" cpd ratings.tns -r 2 $run -i 9 --resume c $other --nowrite
        [[ "$output" == *"a checkpoint of another tensor"* ]]
    done
    needs_mpirun
    for ranks in 2 3; do
        processes $ranks "$BLCO" cpd ratings.tns -r 2 $run -t 1 --values center:1,2 -o p </dev/null
        [ "$("$BLCO" compare m p --json | jq '.score > 0.99999999')" = true ]
        "$BLCO" predict -q p ratings.tns | paste -d' ' a - | awk '{ d = $4 - $8; if (d > 1e-6 || d < -1e-6) exit 1 }'
    done
}

@test "center: new users in an old model have its means; other means are refused" {
    ratings
    run="--unlisted unknown --ridge 1 --backend host -q"
    awk '$1 <= 35' ratings.tns >old.tns && awk '$1 > 35 { $1 -= 35; print }' ratings.tns >new.tns
    cpd old.tns -r 1 $run --values center:1,2:3 -o old
    cpd new.tns -r 1 $run --values center:1,2 --init old --fix 2,3 --fade 0 -o new
    cmp old.mode2.mat new.mode2.mat && [ "$(jq -c '[.center, .shrinkage]' new.model.json)" = '[[1,2],3]' ]
    cmp <(sed -n 2p old.lambda.mat) <(sed -n 2p new.lambda.mat)
    mu=$(sed -n 2p old.lambda.mat)
    awk -v mu="$mu" 'NR == FNR { b[NR] = $4; next } { s[$1] += $4 - mu - b[$2]; n[$1]++ } END { for (i = 1; i <= 5; i++) printf "1 %d %.15g\n", i, s[i] / (n[i] + 3) }' old.mode2.mat new.tns >expected
    awk '{ print 1, NR, $3 }' new.mode1.mat >found
    near found expected
    run -2 "$BLCO" cpd new.tns -r 1 $run --init old --fix 2,3 -o x
    [[ "$output" == *"--fix: the values of the model of --init old were centred in mode 1: expected --values with that"* ]]
    run -2 "$BLCO" cpd new.tns -r 1 $run --values center:1,2,3 --init old --fix 2,3 -o x
    [[ "$output" == *"--fix: the values of the model of --init old were not centred in mode 3: expected --values without that"* ]]
    cpd old.tns -r 1 $run --init old -o y # a start alone may be of other values
    [ "$(jq .rank y.model.json)" = 1 ]
    cpd new.tns -r 1 $run --values center:1,2 --init old --fix 2,3 -i 2 --nowrite --checkpoint c
    run -2 "$BLCO" cpd new.tns -r 1 $run --values center:1,2 --resume c --fix 2,3 --fade 0 -o x
    [[ "$output" == *"the checkpoint lacks the means of the model"* ]]
    [ -z "$(compgen -G 'x.*')" ]
}

@test "center: what is wrong or means nothing is refused" {
    ratings
    run="-r 2 --backend host -o x"
    while IFS='|' read -r options message; do
        run -2 "$BLCO" cpd ratings.tns $run $options
        [[ "$output" == *"$message"* ]] || { echo "$options: $output" && return 1; }
    done <<'END'
--values center:1|--values center:1: entries that are not listed would not stay zeros: expected --unlisted unknown
--values center:1 --unlisted .1|expected --unlisted unknown
--values center:1 --loss poisson --unlisted unknown|--values center:1 and --loss poisson: centred values are no counts
--values center:1 --nonneg --unlisted unknown|--values center:1 and --nonneg: no component could be negative
--values center: --unlisted unknown|expected modes to centre, as center:1,2
--values center:4 --unlisted unknown|no mode is named '4', expected a name or a number from 1 to 3
--values center:1, --unlisted unknown|no mode is named ''
--values center:user --unlisted unknown|no mode is named 'user'
--values center:1,1 --unlisted unknown|mode 1 twice
--values center:1:-2 --unlisted unknown|expected a shrinkage of 0 or more
--values log+center:1 --unlisted unknown|--values: 'log', expected log1p, binary or tfidf:MODE
END
    run -2 "$BLCO" convert ratings.tns x.blco --values center:1
    [ -z "$(compgen -G 'x.*')" ]
    cpd ratings.tns -r 2 --backend host -q --nonneg 3 --unlisted unknown --values center:1 --nowrite # signs of other modes
    # a damaged description
    cpd ratings.tns -r 2 --backend host -q --unlisted unknown --values center:1 -o m
    cp m.model.json whole
    for bad in '"center": [1, 1]' '"center": [4]' '"center": ["a"]' '"center": "1"' '"center": []' '"center": [1, 2, 3]' '"center": [1], "shrinkage": -1'; do
        jq "del(.center, .shrinkage) + {\"shrinkage\": 1} + {$bad}" whole >m.model.json
        run -2 "$BLCO" predict m ratings.tns
        [[ "$output" == *'m.model.json: "center"'* ]]
    done
}
