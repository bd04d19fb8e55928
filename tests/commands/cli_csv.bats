load cli_helpers

# Events with names: quotes, a separator and a line end inside names, and rows that repeat.
events() {
    cat >events.csv <<'END'
user,item,hour,n
ann,"tea, green",2026-11-23T14:05,1
bob,coffee,2026-11-23T15:10,2
ann,"tea, green",2026-11-23T14:59,4
"c
d",coffee,2026-11-22T23:00,1
END
}

COLUMNS_OF=(--columns "user,item,hour")

@test "csv: rows are counted, or a column of values is summed; names go to .map files" {
    events
    run -0 "$BLCO" convert -q events.csv events.tns --columns user,item
    [ "$(cat events.tns)" = "$(printf '1 1 2\n2 2 1\n3 2 1')" ]
    [ "$(cat events.mode1.map)" = "$(printf 'ann\nbob\nc\\x0ad')" ]
    [ "$(cat events.mode2.map)" = "$(printf 'tea, green\ncoffee')" ]
    [ ! -e events.mode3.map ]
    run -0 --separate-stderr "$BLCO" convert -q events.csv - --columns user,item --value n
    [ "$output" = "$(printf '1 1 5\n2 2 2\n3 2 1')" ]
}

@test "csv: order, bins, gzip, standard input and .blco give the same tensor" {
    events
    "$BLCO" convert -q events.csv a.tns "${COLUMNS_OF[@]}" --bin hour=1h --order user=sorted
    [ "$(cat a.mode3.map)" = "$(printf '2026-11-22T23:00\n2026-11-23T14:00\n2026-11-23T15:00')" ]
    gzip -k events.csv
    "$BLCO" convert -q events.csv.gz b.tns "${COLUMNS_OF[@]}" --bin hour=1h --order user=a.mode1.map
    "$BLCO" convert -q - c.blco "${COLUMNS_OF[@]}" --bin hour=1h <events.csv
    "$BLCO" convert -q c.blco c.tns
    cmp a.tns b.tns
    cmp <(sort a.tns) <(sort c.tns)
    cmp a.mode2.map c.mode2.map
    printf '=a,=\n2,x=1\n10,x=0\n' >signs.csv
    "$BLCO" convert -q signs.csv signs.tns --columns "=a,=" --order "=a=number" --order "==sorted"
    [ "$(cat signs.mode1.map signs.mode2.map)" = "$(printf '2\n10\nx=0\nx=1')" ]
    printf 't\n20261123\n60\n' >seconds.csv # not all are dates
    run -0 --separate-stderr "$BLCO" convert -q seconds.csv - --columns t --bin t=1d
    [ "$output" = "$(printf '2 1\n1 1')" ]
    "$BLCO" convert -q events.csv w.tns --columns user,hour --bin hour=hour-of-week
    [ "$(wc -l <w.mode2.map)" -eq 168 ]
    [ "$(sed -n '15p;16p;168p' w.mode2.map | tr '\n' ';')" = "Mon 14;Mon 15;Sun 23;" ]
    [ "$(cut -d' ' -f2 w.tns | tr '\n' ' ')" = "15 16 168 " ]
}

@test "csv: the suggested command does in a shell what it says, whatever the names are" {
    # shellcheck disable=SC2016 # nothing is to expand
    path='$(touch u) '\''; touch v #.csv'
    printf 'a'\''; touch w;'\'',"b,""c""","d\ne"\n1,2,3\n' >"$path"
    ln "$path" $'line\nend.csv'
    blco() { "$BLCO" "$@"; }
    for name in "$path" $'line\nend.csv'; do
        run -2 --separate-stderr "$BLCO" info "$name"
        # shellcheck disable=SC2154 # run sets stderr
        eval "${stderr##*as in: } -q"
        [ "$("$BLCO" info OUT.blco --json | jq -c .modes)" = '["a'\''; touch w;'\''","b,\"c\"","d\ne"]' ]
        rm OUT.*
        [ "$(find . -type f -printf x)" = xx ]
    done
}

@test "csv: a tensor that is larger than memory is sorted part by part" {
    awk 'BEGIN { print "a,b"; for (i = 0; i < 60000; i++) printf "u%d,i%d\n", i * 7919 % 997, i * 104729 % 1009 }' >x.csv
    "$BLCO" convert -q x.csv x.tns --columns a,b
    run -0 "$BLCO" convert x.csv y.blco --columns a,b --host-memory 2M
    [[ "$output" == *" runs"* ]]
    "$BLCO" convert -q y.blco y.tns --force
    cmp <(sort x.tns) <(sort y.tns)
    cmp x.mode1.map y.mode1.map
    "$BLCO" convert -q x.csv s.tns --columns a,b --order a=sorted
    run -0 "$BLCO" convert x.csv s.blco --columns a,b --host-memory 2M --order a=sorted --force
    [[ "$output" == *"reading x.csv again"*" runs"* ]]
    "$BLCO" convert -q s.blco z.tns
    cmp <(sort s.tns) <(sort z.tns)
    [ "$(sed -n 1p s.mode1.map)" = u0 ] && [ "$(sed -n 2p s.mode1.map)" = u1 ]
    run -3 "$BLCO" convert - w.blco --columns a,b --host-memory 2M --order a=sorted <x.csv
    [[ "$output" == *"while names wait to be sorted"* ]]
    [ ! -e w.blco ] && [ ! -e w.mode1.map ]
}

@test "csv: numbers and dates are in their order, of a file larger than memory and of a pipe, too" {
    awk 'BEGIN { print "a,b,t"; for (i = 0; i < 60000; i++) printf "%d,i%d,2026-%02d-%02d\n",
        i * 7919 % 997, i * 104729 % 1009, i * 7 % 12 + 1, i % 28 + 1 }' >x.csv
    "$BLCO" convert -q x.csv x.tns --columns a,b,t
    cmp x.mode1.map <(seq 0 996)
    sort -c x.mode3.map
    [ "$(head -n 2 x.mode2.map | tr '\n' ' ')" = "i0 i802 " ]
    "$BLCO" convert -q - p.tns --columns a,b,t <x.csv
    cmp x.tns p.tns && cmp x.mode1.map p.mode1.map && cmp x.mode3.map p.mode3.map
    run -0 "$BLCO" convert x.csv y.blco --columns a,b,t --host-memory 2M
    [[ "$output" == *"reading x.csv again"*" runs"* ]]
    "$BLCO" convert -q y.blco y.tns --force
    cmp <(sort x.tns) <(sort y.tns) && cmp x.mode1.map y.mode1.map && cmp x.mode3.map y.mode3.map
    run -3 "$BLCO" convert - w.blco --columns a,b,t --host-memory 2M <x.csv
    [[ "$output" == *"or leave names as they appear with --order COLUMN=appearance" && ! -e w.blco ]]
    "$BLCO" convert -q - w.blco --columns a,b,t --host-memory 2M --order a=appearance --order t=appearance <x.csv
    [ "$(head -n 2 w.mode1.map | tr '\n' ' ')$(head -n 2 w.mode3.map | tr '\n' ' ')" = "0 940 2026-01-01 2026-08-02 " ]
}

@test "csv: a column of numbers that is not used is named, with the option that would use it" {
    events
    says="events.csv: column 'n' is a number and not used: rows are counted; --value n makes it the value of a row"
    run -0 "$BLCO" convert events.csv x.tns --columns user,item
    [ "$(grep -cxF "$says" <<<"$output")" -eq 1 ]
    run -0 "$BLCO" cpd events.csv --columns user,item -r 1:2 --backend host --nowrite
    [ "$(grep -cxF "$says" <<<"$output")" -eq 1 ]
    "$BLCO" cpd -q events.csv --columns user,item -r 1 --backend host --record x.json --nowrite
    jq -e '.findings[0] | .kind == "unused_column" and .severity == "note" and .advice == "--value n makes it the value of a row"' x.json
    for options in "--columns user,item --value n" "--columns user,item,n" "--columns user,item -q"; do
        run -0 "$BLCO" convert events.csv x.tns --force $options
        [[ $output != *"not used"* ]]
        run -0 "$BLCO" cpd events.csv -r 1 --nowrite --backend host $options
        [[ $output != *"not used"* ]]
    done
    # a column that is named like a value goes before others, empty fields do not count, a word does
    printf 'id,who,"my score",Rating,year\n1,a,2,,5\n2,b,3,4,x\n' >rows.csv
    run -0 "$BLCO" convert rows.csv x.tns --force --columns who
    [ "$(grep -c "not used" <<<"$output")" -eq 1 ]
    [[ $output == *"--value Rating makes"* ]]
    run -0 "$BLCO" convert - x.tns --force --columns who <<<$'id,who,my score\n1,a,2'
    [[ $output == *"standard input: column 'my score' is a number and not used: rows are counted; --value 'my score' makes"* ]]
}

@test "csv: without columns, the error has the columns and the command" {
    events
    for command in "cpd -r 2 --nowrite" info; do
        run -2 "$BLCO" $command events.csv
        [[ "$output" == *"events.csv: is CSV with the columns user, item, hour, n, expected --columns"*"blco convert events.csv OUT.blco --columns user,item,hour" ]]
    done
    cp events.csv events.txt
    run -2 "$BLCO" convert events.txt x.tns
    [[ "$output" == *"is CSV with the columns"* ]]
    run -2 "$BLCO" convert events.csv x.tns --columns user,place
    [[ "$output" == *"--columns: no column 'place', expected one of user, item, hour, n" ]]
    run -2 "$BLCO" convert events.csv x.tns --value n
    [[ "$output" == *"--value needs --columns; try blco convert --help" ]]
    run -2 "$BLCO" convert events.csv x.tns --columns user,item --order user
    [[ "$output" == *"--order: 'user', expected COLUMN=HOW"* ]]
    run -2 "$BLCO" convert events.csv x.tns --columns user,hour --bin hour=1w
    [[ "$output" == *"--bin: 'hour=1w', expected COLUMN=WIDTH with a width"* ]]
    [ ! -e x.tns ]
}

@test "csv: existing maps are replaced only with --force" {
    events
    echo mine >x.mode2.map
    run -5 "$BLCO" convert events.csv x.tns --columns user,item
    [[ "$output" == *"x.mode2.map: cannot be written: it exists already"* ]]
    [ ! -e x.tns ] && [ "$(cat x.mode2.map)" = mine ]
    "$BLCO" convert -q events.csv x.tns --columns user,item --force
    [ "$(wc -l <x.mode2.map)" -eq 2 ]
}

@test "csv: a .blco file keeps the names of the modes" {
    events
    "$BLCO" convert -q events.csv x.blco "${COLUMNS_OF[@]}"
    "$BLCO" convert -q x.blco y.blco
    for file in x.blco y.blco; do
        [ "$("$BLCO" info -q $file --json | jq -c .modes)" = '["user","item","hour"]' ]
        [[ "$("$BLCO" info -q $file)" == *"fullest slice  name"*" user"*" hour"* ]]
    done
    "$BLCO" convert -q y.blco y.tns
    "$BLCO" convert -q y.tns z.blco
    [ "$("$BLCO" info -q z.blco --json | jq -c .modes)" = '["user","item","hour"]' ]
    cut -d' ' -f1-4 y.tns >alone.tns
    [ "$("$BLCO" info -q alone.tns --json | jq -c .modes)" = null ]
    long=$(printf 'é%.0s' {1..100})
    sed "1s/user/$long/" events.csv >long.csv
    fails 2 "long.csv: the name of mode 1 has 200 bytes, expected 127 at most" convert -q long.csv long.blco --columns "$long,item"
    "$BLCO" cpd -q x.blco -r 1 --nowrite --backend host
}

@test "csv: info, bench and cpd read it, as they read all formats" {
    events
    gzip -k events.csv
    csv="${COLUMNS_OF[*]} --value n"
    "$BLCO" convert -q events.csv a.blco $csv
    "$BLCO" convert -q events.csv a.tns $csv --force
    PATH=$ROOT/tests/support:$PATH
    make_npy c.npy "{'descr': '<i8', 'fortran_order': False, 'shape': (4, 3), }" 0 0 1 1 1 3 0 0 2 2 1 0
    make_npy v.npy "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }" 1 2 4 1
    for tensor in "events.csv $csv" "events.csv.gz $csv" "- $csv" a.tns a.blco c.npy,v.npy; do
        [ "$("$BLCO" info -q --json $tensor <events.csv | jq -c '[.lengths, .nonzeros, .norm]')" = '[[3,2,4],4,4.69041575982343]' ]
        "$BLCO" bench -q --backend host -r 1 --als --samples 1 --json b.json $tensor <events.csv
        [ "$(jq -c '[.tensor.lengths, .tensor.nonzeros]' b.json)" = '[[3,2,4],4]' ]
        [[ "$("$BLCO" cpd -q --json --backend host -r 1 --nowrite $tensor <events.csv | jq -c .tensor.lengths)" == '[3,2,4]' ]]
        rm b.json
    done
    run -0 "$BLCO" info -q events.csv "${COLUMNS_OF[@]}" --value n
    [[ "$output" == *"format       CSV"* ]]
    [[ "$output" == *"nonzeros     4"* ]]
    run -0 "$BLCO" info -q events.csv "${COLUMNS_OF[@]}" --json
    [ "$(jq -c '[.format, .modes, .lengths]' <<<"$output")" = '["csv",["user","item","hour"],[3,2,4]]' ]
    "$BLCO" convert -q events.csv events.tns --columns user,item --value n
    cpd -q events.tns -r 2 -o t --backend host --seed 3
    cpd -q events.csv --columns user,item --value n -r 2 -o c --backend host --seed 3
    cmp t.mode1.mat c.mode1.mat
    cmp t.lambda.mat c.lambda.mat
}

@test "csv: empty values and nan are unknown entries, zeros stay with --keep-zeros" {
    printf 'a,b,n\nx,y,1\nx,z,\nw,y,NaN\nw,z,0\nw,v,2\n' >gaps.csv
    run -0 --separate-stderr "$BLCO" convert -q gaps.csv - --columns a,b --value n
    [ "$output" = "$(printf '1 1 1\n1 2 nan\n2 1 nan\n2 3 2')" ]
    run -0 --separate-stderr "$BLCO" convert -q gaps.csv - --columns a,b --value n --keep-zeros
    [ "$output" = "$(printf '1 1 1\n1 2 nan\n2 1 nan\n2 2 0\n2 3 2')" ]
    "$BLCO" convert -q gaps.csv gaps.blco --columns a,b --value n
    [ "$("$BLCO" info -q gaps.blco --json | jq -c '[.unknown, .dropped_zeros, .modes]')" = '[2,1,["a","b"]]' ]
    [ "$("$BLCO" info -q gaps.csv --columns a,b --value n --json | jq -c '[.unknown, .zeros]')" = '[2,1]' ]
    printf 'a,b,n\nx,y, \n' >bad.csv
    run -2 "$BLCO" info bad.csv --columns a,b --value n
    [[ "$output" == *"bad.csv:2: column 3 (n): ' ', expected a number, or nothing for an unknown entry"* ]]
    run -2 "$BLCO" predict "$DATA/planted.ktns" gaps.csv
    [[ "$output" == *"gaps.csv: is CSV, but the model does not say which columns are its modes: convert it with blco convert --columns"* ]]
}
