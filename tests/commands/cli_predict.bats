load cli_helpers

# A model of three components as m.mode1.mat, ..., and coordinates c.tns, in no order, some more than once.
model() {
    "$BLCO" generate x.tns -q --dims 30,20,9 --nnz 900 --seed 3
    cpd -q x.tns -r 3 -i 5 -o m --format text,npy,ktns --backend host
    awk 'NR % 3 { print $1, $2, $3 } NR % 50 == 0 { print $1, $2, $3; print 30, 20, 9 }' x.tns | sort -k3,3n -k1,1nr >c.tns
}

# predicted COORDINATES: the text lines that the model of the files m.mode1.mat, ... gives, by awk.
predicted() {
    awk 'FILENAME == "m.lambda.mat" { for (r = 1; r <= 3; r++) w[FNR] = $1; next }
         FILENAME ~ /^m.mode/ { n = substr(FILENAME, 7, 1); for (r = 1; r <= 3; r++) a[n, FNR, r] = $r; next }
         { sum = 0; for (r = 1; r <= 3; r++) sum += w[r] * a[1, $1, r] * a[2, $2, r] * a[3, $3, r]
           printf "%d %d %d %.17g\n", $1, $2, $3, sum }' m.lambda.mat m.mode1.mat m.mode2.mat m.mode3.mat "$1"
}

# same A B: the files have the same text lines but for rounding in the last column.
same() {
    paste -d' ' "$1" "$2" | awk '{ n = NF / 2; for (i = 1; i < n; i++) if ($i != $(n + i)) exit 1
        d = $n - $(2 * n); if (d < 0) d = -d; if (d > 1e-9) exit 1 }' && [ "$(wc -l <"$1")" -eq "$(wc -l <"$2")" ] ||
        { diff "$1" "$2" | head -5 && return 1; }
}

# doubles FILE: the numbers of an array of NumPy, one on each text line.
doubles() { od -A n -v -w8 -t f8 -j 128 "$1" | tr -d ' '; }

@test "predict: every format of model and of coordinates, in the order of the coordinates" {
    model
    predicted c.tns >expected
    [ "$(wc -l <expected)" -gt 600 ] && [ "$(sort c.tns | uniq -d | wc -l)" -gt 0 ]
    "$BLCO" predict m c.tns -q >got
    same got expected
    mkdir npy text ktns
    mv m.mode?.npy m.lambda.npy npy/ && mv m.mode?.mat m.lambda.mat text/ && mv m.ktns ktns/
    for stem in npy/m text/m ktns/m ktns/m.ktns; do
        "$BLCO" predict $stem c.tns -q | diff got -
    done
    gzip -k c.tns
    { echo 3 && echo 30 20 9 && cat c.tns; } >header.tns
    sed 's/$/ 0.25/' c.tns >values.tns
    for coordinates in c.tns.gz header.tns values.tns; do
        "$BLCO" predict npy/m $coordinates -q | diff got -
    done
    "$BLCO" predict npy/m - -q <c.tns | diff got -
    tr ' ' '\n' <c.tns | awk '{ printf "%d%s", $1 - 1, NR % 3 ? "\t" : "\r\n" }' >zero.tns
    "$BLCO" predict npy/m zero.tns -q --index-base 0 | awk '{ print $1 + 1, $2 + 1, $3 + 1, $4 }' | diff got -
    # a .blco file has its own order
    "$BLCO" convert -q x.tns x.blco && "$BLCO" convert -q x.blco order.tns
    "$BLCO" predict npy/m order.tns -q >got
    "$BLCO" predict npy/m x.blco -q | diff got -
}

@test "predict: the output depends neither on threads nor on memory" {
    model
    "$BLCO" predict m x.tns -q --residuals -t 1 >got 2>&1
    for options in "-t 2" "-t 5" "-t 3 --host-memory 1" "-t 2 --host-memory 100K"; do
        # shellcheck disable=SC2086 # several options
        "$BLCO" predict m x.tns -q --residuals $options | diff got -
    done
    "$BLCO" convert -q x.tns x.blco
    for coordinates in x.tns x.blco; do
        "$BLCO" predict m $coordinates -q --residuals -n 7 -t 1 >table
        "$BLCO" predict m $coordinates -q --residuals -n 7 -t 4 --host-memory 1K | diff table -
    done
}

@test "predict: coordinates that are many times larger than memory" {
    model
    for ((i = 0; i < 12; i++)); do cat x.tns x.tns x.tns x.tns x.tns x.tns x.tns x.tns; done >more
    for ((i = 0; i < 30; i++)); do cat more; done >many.tns # 2.6 million entries, of 36 MB with their values
    read -r code small < <(measure "$BLCO" predict m x.tns -q -t 2 --residuals -n 10)
    [ "$code" -eq 0 ]
    read -r code peak < <(measure "$BLCO" predict m many.tns -q -t 2 --host-memory 8M --residuals -n 10)
    echo "$small MB, of many $peak MB"
    [ "$code" -eq 0 ] && [ "$peak" -lt $((small + 20)) ]
    read -r code peak < <(cat many.tns | measure "$BLCO" predict m - -q -t 2 --host-memory 8M -o many.npy)
    echo "$peak MB"
    [ "$code" -eq 0 ] && [ "$peak" -lt $((small + 20)) ] && [ "$(stat -c %s many.npy)" -eq $((128 + 8 * 2592000)) ]
}

@test "predict: residuals beside values, and a sentence about them" {
    model
    "$BLCO" predict m x.tns -q >values
    run -0 --separate-stderr "$BLCO" predict m x.tns --residuals
    echo "$output" | awk '{ print $1, $2, $3, $4 }' | diff values -
    paste -d' ' x.tns <(echo "$output") | awk '{ d = $4 - $8 - $9; if (d > 1e-12 || d < -1e-12) exit 1 }'
    rmse=$(echo "$output" | awk '{ s += $5 * $5; a += $5 < 0 ? -$5 : $5 } END { printf "RMSE %.6g, MAE %.6g of %d residuals", sqrt(s / NR), a / NR, NR }')
    [[ $stderr == *$'\n'"$rmse" ]]
    run -0 --separate-stderr "$BLCO" predict m x.tns --residuals -q
    [ -z "$stderr" ]
}

@test "predict: the strangest entries and slices of the admissions, in full" {
    cpd -q "$DATA/ucb-admissions.tns" -r 2 -o ucb --backend host
    run -0 --separate-stderr "$BLCO" predict ucb "$DATA/ucb-admissions.tns" -q --residuals -n 3 \
        --labels none --labels "1=$DATA/ucb-admissions.mode1.map,3=$DATA/ucb-admissions.mode3.map"
    [ -z "$stderr" ]
    cat >expected <<'END'
RMSE 41.0792, MAE 30.041 of 24 residuals

strangest entries
  mode 1    mode 2  mode 3         value   model  residual
  admitted       2  department F   24.00  121.24   -97.240
  rejected       1  department F  351.00  253.76    97.237
  rejected       1  department C  205.00  278.87   -73.869

strangest slices of mode 1
  mode 1    residuals  squares    RMSE
  admitted         12    20340  41.170
  rejected         12    20160  40.988

strangest slices of mode 2
  mode 2  residuals  squares    RMSE
       1         12    21745  42.568
       2         12    18755  39.534

strangest slices of mode 3
  mode 3        residuals  squares    RMSE
  department F          4    21749  73.737
  department C          4    12190  55.204
  department E          4     3559  29.830
END
    diff expected <(echo "$output")
    # the text lines go to a file beside the tables
    "$BLCO" predict ucb "$DATA/ucb-admissions.tns" -q --residuals -n 1 -o all.tns >table
    "$BLCO" predict ucb "$DATA/ucb-admissions.tns" -q --residuals | diff all.tns -
    [ "$(grep -c '^strangest' table)" -eq 4 ]
}

# A model of 3 modes that is i + j + k in three components.
sum_model() {
    cat >sum.ktns <<'END'
ktensor
3
3 2 2
3
1 1 1
matrix
2
3 3
1 1 1
2 1 1
3 1 1
matrix
2
2 3
1 1 1
1 2 1
matrix
2
2 3
1 1 1
1 1 2
END
}

@test "predict: JSON has whole labels and all digits" {
    command -v jq >/dev/null || skip "there is no jq"
    sum_model
    printf '1 1 1 3\n3 2 2 5\n3 2 2 nan\n2 1 1 4.25\n3 1 1 5\n' >c.tns
    printf '\nsecond\na "third" label that is too long to be shown in a table\n' >1.map
    "$BLCO" predict sum.ktns c.tns -q --residuals -n 10 --json --labels 1=1.map >got
    jq -e '[.model, .coordinates, .lengths, .index_base, .entries, .residuals] ==
        ["sum.ktns", "c.tns", [3,2,2], 1, 5, 4]' got
    jq -e '.mae == 0.5625 and (.rmse - 1.007782218537319 | fabs) < 1e-15' got
    jq -e '.strangest_entries == [
        {indices: [3,2,2], labels: ["a \"third\" label that is too long to be shown in a table", null, null], value: 5, model: 7, residual: -2},
        {indices: [2,1,1], labels: ["second", null, null], value: 4.25, model: 4, residual: 0.25}]' got
    jq -e '.modes[0] == {mode: 1, strangest_slices: [
        {index: 3, label: "a \"third\" label that is too long to be shown in a table", residuals: 2, squares: 4, rmse: 1.4142135623730951},
        {index: 2, label: "second", residuals: 1, squares: 0.0625, rmse: 0.25}]}' got
    jq -e '.modes[1:] | map(.strangest_slices | map([.index, .residuals, .squares])) == [[[2,1,4],[1,3,0.0625]],[[2,1,4],[1,3,0.0625]]]' got
    "$BLCO" predict sum.ktns c.tns -q --residuals -n 1 --json --index-base 1 >got
    jq -e '.strangest_entries == [{indices: [3,2,2], value: 5, model: 7, residual: -2}]' got
}

@test "predict: values that nobody knows have no residual" {
    sum_model
    printf '1 1 1 3\n3 2 2 nan\n2 2 2 NA\n2 1 1 4.5\n' >c.tns
    run -0 --separate-stderr "$BLCO" predict sum.ktns c.tns --residuals
    [ "$output" = $'1 1 1 3 0\n3 2 2 7 nan\n2 2 2 6 nan\n2 1 1 4 0.5' ]
    [[ $stderr == *$'\nRMSE 0.353553, MAE 0.25 of 2 residuals; 2 without a value' ]]
    run -0 "$BLCO" predict sum.ktns c.tns -q
    [ "$output" = $'1 1 1 3\n3 2 2 7\n2 2 2 6\n2 1 1 4' ]
    printf '1 1 1 nan\n' >c.tns
    run -0 "$BLCO" predict sum.ktns c.tns -q --residuals -n 5
    [ "$output" = 'no residuals; 1 without a value' ]
}

@test "predict: labels in place of indices" {
    sum_model
    printf 'one\n\n\033[31mred and blue\n' >1.map
    printf 'x\r\ny\r\n' | gzip >3.map.gz
    printf '3 2 2\n1 1 1\n2 1 2\n' >c.tns
    run -0 "$BLCO" predict sum.ktns c.tns -q --labels 1=1.map --labels 3=3.map.gz
    [ "$output" = $'\\x1b[31mred and blue\t2\ty\t7\none\t1\tx\t3\nindex 2\t1\ty\t5' ]
    # labels as long as they may be
    { head -c 1048576 /dev/zero | tr '\0' '\1' && echo && echo 2 && echo 3; } >1.map
    "$BLCO" predict sum.ktns c.tns -q --labels 1=1.map -o long.txt
    [ "$(wc -c <long.txt)" -eq $((4 * 1048576 + 6 + 3 * 5 + 2)) ]
}

@test "predict: arrays of NumPy and gzip" {
    model
    "$BLCO" predict m x.tns -q --residuals >lines
    "$BLCO" predict m x.tns -q -o v.npy
    "$BLCO" predict m x.tns -q --residuals -o r.npy
    head -c 128 v.npy | grep -aqF "'shape': (900,)" && head -c 128 r.npy | grep -aqF "'shape': (900, 2)"
    doubles v.npy >got && awk '{ print $1, $2, $3, $4 }' lines >four
    paste -d' ' <(awk '{ print $4 }' lines) got | awk '{ if ($1 + 0 != $2 + 0) exit 1 }' && [ "$(wc -l <got)" -eq 900 ]
    doubles r.npy | paste -d' ' - - | paste -d' ' <(awk '{ print $4, $5 }' lines) - |
        awk '{ if ($1 + 0 != $3 + 0 || $2 + 0 != $4 + 0) exit 1 } END { exit NR != 900 }'
    "$BLCO" predict m x.tns -q -o v.tns.gz && gzip -dc v.tns.gz | diff four -
    # what is written without labels and residuals is a tensor again
    "$BLCO" info -q v.tns.gz >/dev/null
}

@test "predict: models of 1 and of 16 modes" {
    printf 'ktensor\n1\n4\n2\n1 2\nmatrix\n2\n4 2\n1 1\n2 2\n3 3\n4 .5\n' >one.ktns
    run -0 "$BLCO" predict one.ktns - -q <<<$'4\n1\n1\n3'
    [ "$output" = $'4 5\n1 3\n1 3\n3 9' ]
    run -0 "$BLCO" predict one.ktns - -q --residuals <<<$'1\n4\n4 7\n1 1'
    [ "$output" = $'4 5 2\n1 3 -2' ]
    { echo ktensor && echo 16 && echo 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2 && echo 1 && echo 3
        for ((n = 0; n < 15; n++)); do printf 'matrix\n2\n1 1\n-2\n'; done
        printf 'matrix\n2\n2 1\n1\n-.5\n'; } >wide.ktns
    run -0 "$BLCO" predict wide.ktns - -q <<<$'1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1'
    [ "$output" = $'1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2 49152\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -98304' ]
}

@test "predict: a file appears whole or not at all" {
    model
    head -c 20000000 /dev/zero | tr '\0' '\n' >blank
    cat x.tns blank x.tns >late.tns && echo '31 1 1 1' >>late.tns # the fault is not in the first piece
    for out in out.tns out.npy out.gz; do
        fails 2 "late.tns:20001801: mode 1: index 31, expected at most 30, as the model says" predict m late.tns -q -o $out
        [ ! -e $out ] && [ -z "$(find . -name '.blco-*')" ]
    done
    echo kept >out.tns
    fails 5 "out.tns: cannot be written: it exists already (--force replaces it)" predict m x.tns -o out.tns
    fails 2 "late.tns:20001801: mode 1" predict m late.tns -q -o out.tns --force
    [ "$(cat out.tns)" = kept ]
    "$BLCO" predict m x.tns -q -o out.tns --force && [ "$(wc -l <out.tns)" -eq 900 ]
    fails 5 "absent/out.tns: cannot be written" predict m x.tns -q -o absent/out.tns
}

@test "predict: standard output that is full or closed" {
    model
    [ -c /dev/full ] || skip "there is no /dev/full"
    for options in "" "--residuals -n 3" "--residuals -n 3 --json"; do
        # shellcheck disable=SC2016,SC2086 # for the new shell; several options
        run -5 bash -c '"$BLCO" predict "$@" >/dev/full' bash m x.tns -q $options
        [[ $output == "blco predict: standard output"* ]] && [ "$(wc -l <<<"$output")" -eq 1 ]
        # shellcheck disable=SC2016,SC2086
        run -5 bash -c '"$BLCO" predict "$@" >&-' bash m x.tns -q $options
        [[ $output == "blco predict: standard output"* ]]
    done
}

@test "predict: options and files that are refused" {
    model
    fails 2 "two names expected, STEM and COORDS, but 1 given; try blco predict --help" predict m
    fails 2 "--count needs --residuals; try blco predict --help" predict m x.tns -n 3
    fails 2 "--json needs --count; try blco predict --help" predict m x.tns --residuals --json
    fails 2 "--output: with --count, standard output has the strangest entries" predict m x.tns --residuals -n 3 -o -
    fails 2 "y.blco: the output is text or an array" predict m x.tns -o y.blco
    fails 2 "--labels: mode 4, expected 1 to 3" predict m x.tns --labels 4=x
    fails 2 "the output x.tns is the tensor that is read" predict m x.tns -o x.tns --force
    fails 2 "the output m.mode1.npy is a file of the model that is read" predict m x.tns -o m.mode1.npy --force
    fails 2 "the output ./c.tns is a file of labels that is read, c.tns" predict m x.tns --labels 1=c.tns -o ./c.tns --force
    "$BLCO" generate -q long.blco --dims 30,21,9 --nnz 50 && "$BLCO" generate -q two.blco --dims 30,20 --nnz 50
    fails 2 "long.blco: mode 2: length 21, expected at most 20, as the model has it" predict m long.blco -q
    fails 2 "two.blco: 2 modes, but the model has 3" predict m two.blco -q
    "$BLCO" generate -q short.blco --dims 30,19,9 --nnz 50 && "$BLCO" predict m short.blco -q >got
    [ "$(wc -l <got)" -eq 50 ]
}

# counts_with_anomalies: counts of a model of constant rates, 12 a cell, but for two cells: k.tns has a count of 45, and
# nothing at 3 4 5, k.ktns is the model.
counts_with_anomalies() {
    awk 'function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
        BEGIN { seed = 5
        for (i = 1; i <= 10; i++) for (j = 1; j <= 10; j++) for (k = 1; k <= 10; k++) {
            x = -1; t = 0
            while (t < 12) { t -= log(uniform()); x++ }
            if (i == 7 && j == 8 && k == 9) x = 45
            if (i == 3 && j == 4 && k == 5) x = 0
            if (x > 0) print i, j, k, x } }' >k.tns
    { printf 'ktensor\n3\n10 10 10\n1\n12000\n'
        for n in 1 2 3; do printf 'matrix\n2\n10 1\n'; yes .1 | head -10; done; } >k.ktns
}

@test "predict: anomalies of counts both ways, with p-values adjusted for all cells" {
    counts_with_anomalies
    "$BLCO" predict k.ktns k.tns -q --residuals --loss poisson -n 2 >got
    sed -n 2p got | diff - <(echo "2 of 1000 cells have an adjusted p of at most 0.05")
    awk '/^strangest entries/ { getline; getline; exit !($1 == 7 && $2 == 8 && $3 == 9 && $4 == "45.000" && $8 < 1e-11 &&
        $9 / $8 > 999 && $9 / $8 < 1001) }' got
    awk '/^strangest unlisted/ { getline; getline; exit !($1 == 3 && $2 == 4 && $3 == 5 && $4 == "12.000" && $5 == "1.23e-05" &&
        $6 == "0.00614") }' got
    # what is unknown is no cell
    echo '3 4 5 nan' >>k.tns
    "$BLCO" predict k.ktns k.tns -q --residuals --loss poisson -n 2 >got
    sed -n 2p got | diff - <(echo "1 of 999 cells has an adjusted p of at most 0.05")
    "$BLCO" predict k.ktns k.tns -q --residuals --loss poisson -n 2 --unlisted unknown >got
    sed -n 2p got | diff - <(echo "1 of $(($(wc -l <k.tns) - 1)) cells has an adjusted p of at most 0.05")
    [ "$(grep -c unlisted got)" -eq 0 ]
}

@test "predict: what unlisted entries are is what the model says" {
    counts_with_anomalies
    for how in zero unknown 0.5; do
        cpd -q k.tns -r 1 --loss poisson --unlisted $how -o m --backend host
        "$BLCO" predict m k.tns -q --residuals -n 1 >got
        # only zeros are looked at: what counts less is not
        [ "$(grep -c 'unlisted entries' got)" -eq "$([ $how = zero ] && echo 1 || echo 0)" ]
        "$BLCO" predict m k.tns -q --residuals -n 1 --unlisted zero | grep -q 'of 1000 cells'
        "$BLCO" predict m k.tns -q --residuals -n 1 --unlisted unknown | grep -q "of $(wc -l <k.tns) cells"
    done
    # a part of the tensor says so
    cpd -q k.tns -r 1 --loss poisson -o m --backend host
    head -100 k.tns >part.tns
    run -0 --separate-stderr "$BLCO" predict m part.tns --residuals -n 1
    [[ $stderr == *"part.tns has 100 entries, the model's tensor $(wc -l <k.tns): those that are not listed count as zeros; --unlisted unknown leaves them out" ]]
    run -0 --separate-stderr "$BLCO" predict m part.tns --residuals -n 1 --unlisted zero
    [[ $stderr != *"leaves them out"* ]]
    fails 2 "--unlisted: only with another --loss than squares" predict m k.tns --residuals -n 1 --loss squares --unlisted zero
    fails 2 "--unlisted needs --count; try blco predict --help" predict m k.tns --residuals --unlisted zero
}

@test "predict: adjusted p-values in JSON, and where too many rates are alike" {
    command -v jq >/dev/null || skip "there is no jq"
    counts_with_anomalies
    "$BLCO" predict k.ktns k.tns -q --residuals --loss poisson -n 3 --json --index-base 1 >got
    jq -e '.cells == 1000 and .alarms == 2 and .adjusted_exact_to == 1' got
    jq -e '.strangest_entries[0] | .indices == [7,8,9] and (.log_p - (.p | log) | fabs) < 1e-12 and
        (.adjusted / .p - 1000 | fabs) < 1e-6' got
    jq -e '.strangest_unlisted[0] | .indices == [3,4,5] and (.model - 12 | fabs) < 1e-9 and (.log_p - (2 | log) + 12 | fabs) < 1e-9 and
        (.adjusted / .p - 500 | fabs) < 1e-6' got
    ! sanitized || return 0 # what follows searches for long; test_unlisted_best has a search that gives up, too
    # 10^9 cells whose rates no bounds tell apart, since all rows are as long: adjusted p-values are upper bounds, without
    # the absent cells
    awk 'BEGIN { print "ktensor\n2\n40000 30000\n2\n.05 .05"
        print "matrix\n2\n40000 2"; for (i = 0; i < 40000; i++) print "1 0"
        print "matrix\n2\n30000 2"; for (i = 0; i < 30000; i++) { x = .6 - i / 1e5; printf "%.9f %.9f\n", x, sqrt(1 - x * x) } }' >long.ktns
    printf '7 8 9\n' >one.tns
    "$BLCO" predict long.ktns one.tns -q --residuals --loss poisson -n 1 >text
    sed -n 2p text | diff - <(echo "at least 1 of 1200000000 cells has an adjusted p of at most 0.05; unlisted entries are not shown: too many have nearly the largest rate")
    "$BLCO" predict long.ktns one.tns -q --residuals --loss poisson -n 1 --json |
        jq -e '.adjusted_exact_to == 0 and (has("strangest_unlisted") | not)'
}

@test "predict: p-values and their adjusted ones are those of SciPy" {
    python3 -c "import scipy.stats; scipy.stats.false_discovery_control" 2>errors || skip "SciPy 1.11 is not installed"
    python3 - <<'EOF'
import json, os, subprocess
import numpy as np
from scipy import stats
rng = np.random.default_rng(5)
rows = [np.exp(rng.normal(0, s, n)) for s, n in ((1.5, 40), (1, 30), (0.5, 20))]
m = 4 * rows[0][:, None, None] * rows[1][:, None] * rows[2]
x = rng.poisson(m)
x[rng.random(x.shape) < 0.002] = 0
x[rng.random(x.shape) < 0.002] += 40
with open("s.ktns", "w") as f:
    print("ktensor\n3\n40 30 20\n1\n4", file=f)
    for row in rows:
        print(f"matrix\n2\n{len(row)} 1", *map(repr, map(float, row)), sep="\n", file=f)
at = np.argwhere(x > 0)
np.savetxt("s.tns", np.column_stack([at + 1, x[x > 0]]), fmt="%d")
def blco(*words):
    return subprocess.run([os.environ["BLCO"], "predict", "s.ktns", "s.tns", "-q", "--residuals", "--loss", "poisson", *words],
                          check=True, capture_output=True, text=True).stdout
p = np.minimum(1, 2 * np.minimum(stats.poisson.cdf(x, m), stats.poisson.sf(x - 1, m)))
lines = np.array([line.split() for line in blco().splitlines()], dtype=float)
np.testing.assert_allclose(lines[:, 3], m[x > 0], rtol=1e-12)
some = p[x > 0] > 1e-290
np.testing.assert_allclose(lines[some, 6], p[x > 0][some], rtol=1e-9)
adjusted = stats.false_discovery_control(p.ravel()).reshape(p.shape)
found = json.loads(blco("-n", "60", "--json"))
assert found["cells"] == x.size and found["adjusted_exact_to"] == 1, found["cells"]
assert found["alarms"] == (adjusted <= 0.05).sum() > 40, (found["alarms"], (adjusted <= 0.05).sum())
for table, where in (("strangest_entries", x > 0), ("strangest_unlisted", x == 0)):
    assert len(found[table]) == 60
    for e in found[table]:
        i = tuple(np.array(e["indices"]) - 1)
        assert where[i]
        np.testing.assert_allclose([e["p"], e["adjusted"]], [p[i], adjusted[i]], rtol=1e-9, atol=1e-290)
    np.testing.assert_allclose([e["p"] for e in found[table]], np.sort(p[where])[:60], rtol=1e-9, atol=1e-290)
EOF
}
