load cli_helpers

# The admissions in two components: ucb.mode1.mat, ...
berkeley() { cpd -q "$DATA/ucb-admissions.tns" -r 2 -o ucb --backend host; }

# Arguments that give the admissions their labels.
LABELS="1=ucb.1.map,2=ucb.2.map,3=ucb.3.map"
berkeley_labels() {
    for mode in 1 2 3; do cp "$DATA/ucb-admissions.mode$mode.map" ucb.$mode.map; done
}

# A model of 4 modes with zeros, large and small values, and both signs.
mixed() {
    cat >mixed.ktns <<'END'
ktensor
4
3 2 2 1
2
1 1e-7
matrix
2
3 2
1e-9 0
3e-9 5
0 -123456
matrix
2
2 2
1 0
12345678 0
matrix
2
2 2
0.001 999999
-0.0005 999.999999
matrix
2
1 2
1 1
END
}

@test "top of the admissions, with labels, in full" {
    berkeley && berkeley_labels
    run -0 --separate-stderr "$BLCO" top ucb --labels "$LABELS" -n 3
    [ -z "$stderr" ]
    cat >expected <<'END'
component 1, weight 863.775, explains 49.6 %, 57.2 % lost without it
  admission          gender           department
  rejected  0.9399   female  0.7847   department C  0.5820
  admitted  0.3416   male    0.6199   department F  0.5485
                                      department E  0.4360

component 2, weight 785.543, explains 39.7 %, 47.3 % lost without it
  admission          gender           department
  admitted  0.8315   male    0.9855   department A  0.8115
  rejected  0.5555   female  0.1695   department B  0.5613
                                      department D  0.1258
END
    diff expected <(echo "$output")
    # the same from each format, and with one thread
    for format in npy ktns; do
        cpd -q "$DATA/ucb-admissions.tns" -r 2 -o $format --format $format --backend host
        diff expected <("$BLCO" top $format --labels "$LABELS" -n 3 -t 1)
    done
    diff expected <("$BLCO" top ktns.ktns --labels "$LABELS" -n 3)
}

@test "top without labels shows indices, the strongest first, as sort(1) does" {
    "$BLCO" generate x.tns -q --dims 300,20,90 --nnz 4000 --seed 3
    cpd -q x.tns -r 3 -i 5 -o x --backend host
    "$BLCO" top x --json -n 7 >x.json
    for r in 1 2 3; do
        for mode in 1 2 3; do
            awk -v r=$r '{ x = $r + 0; printf "%.17g %d\n", (x < 0 ? -x : x), NR }' x.mode$mode.mat |
                sort -k1,1gr -k2,2n | head -n 7 | awk '{ print $2 }' >expected
            "$BLCO" top x --component $r --mode $mode -n 7 >got
            [ "$(wc -l <got)" -eq 9 ]
            diff expected <(tail -n 7 got | awk '{ print $1 }')
            command -v jq >/dev/null || continue
            diff expected <(jq ".components[$r - 1].modes[$mode - 1].entries[].index" x.json)
        done
    done
}

@test "top: values, zeros and modes that do not fit side by side" {
    mixed
    printf '\346\235\261\344\272\254\nM\303\274nchen, a label that is too long to be shown\n\033[31mred\n' >1.map
    printf '\nx\n' >2.map
    run -0 "$BLCO" top mixed.ktns --labels 1=1.map --labels 2=2.map
    cat >expected <<'END'
component 1, weight 1
  mode 1                                        mode 2
  München, a label that is too ...  3.000e-09   x        1.235e+07
  東京                              1.000e-09   index 1  1.000e+00
  mode 3         mode 4
  1   0.001000   1  1.000
  2  -0.000500

component 2, weight 1e-07
  mode 1                                      mode 2       mode 3      mode 4
  \x1b[31mred                       -123456   all zero     1  999999   1  1.000
  München, a label that is too ...        5                2    1000
END
    diff expected <(echo "$output")
    [ -z "$(awk 'length > 80' expected)" ]
    run -0 "$BLCO" top mixed.ktns --component 2 --mode 3 --index-base 0 -n 1
    [ "$output" = $'component 2, weight 1e-07\n  mode 3\n  0  999999' ]
    run -0 "$BLCO" top mixed.ktns --component 2 --mode 2
    [ "$output" = $'component 2, weight 1e-07\n  mode 2\n  all zero' ]
    run ! grep -q ' $' expected
}

@test "top: JSON has whole labels and all digits" {
    command -v jq >/dev/null || skip "there is no jq"
    mixed
    printf '"quoted\\"\nbeyond \377 UTF-8, a label that is too long to be shown\n\033[31mred\n' >1.map
    printf '\nx\n' >2.map
    "$BLCO" top mixed.ktns --labels 1=1.map,2=2.map --json >got
    [ "$(jq -c '[.model, .rank, .lengths, .index_base]' got)" = '["mixed.ktns",2,[3,2,2,1],1]' ]
    # jq has more than one way to print small numbers
    jq -e '[.components[] | [.component, .weight, (.modes | length)]] == [[1,1,4],[2,1e-7,4]]' got
    jq -c '.components[].modes[].entries[]' got >entries
    jq -s -e '.[0] == {index: 2, label: "beyond \ufffd UTF-8, a label that is too long to be shown", value: 3e-9} and
        .[1] == {index: 1, label: "\"quoted\\\"", value: 1e-9} and
        .[2] == {index: 2, label: "x", value: 12345678} and .[3] == {index: 1, label: null, value: 1}' entries
    grep -qxF '{"index":3,"label":"\u001b[31mred","value":-123456}' entries
    grep -qxF '{"index":2,"value":999.999999}' entries
    [ "$(jq -c '.components[1].modes[1]' got)" = '{"mode":2,"entries":[]}' ]
    "$BLCO" top mixed.ktns --json --index-base 0 --component 2 --mode 4 >got
    jq -e '.components == [{component: 2, weight: 1e-7, modes: [{mode: 4, entries: [{index: 0, value: 1}]}]}]' got
}

@test "top: characters that command a reader are escaped, as text and as JSON" {
    berkeley
    printf 'a\xe2\x80\xaeb\n\xef\xbf\xbe\xc2\x9b31m\n' >1.map
    run -0 "$BLCO" top ucb --mode 1 --labels 1=1.map
    grep -qF 'a\xe2\x80\xaeb' <<<"$output"
    grep -qF '\xef\xbf\xbe\xc2\x9b31m' <<<"$output"
    "$BLCO" top ucb --mode 1 --labels 1=1.map --json >got
    grep -qF '"label": "a\u202eb"' got
    grep -qF '"label": "\ufffe\u009b31m"' got
}

@test "top: labels as gzip, from standard input, with other line ends" {
    berkeley && berkeley_labels
    "$BLCO" top ucb --labels "$LABELS" >expected
    gzip -c ucb.3.map >ucb.3.map.gz
    sed 's/$/\r/' ucb.1.map >'a,b=c.map'
    { printf '\357\273\277' && cat ucb.2.map; } | head -c -1 >marked.map
    diff expected <("$BLCO" top ucb --labels '3=ucb.3.map.gz,1=a,b=c.map' --labels 2=marked.map)
    diff expected <("$BLCO" top ucb --labels 1=ucb.1.map,2=ucb.2.map,3=- <ucb.3.map.gz)
}

@test "top of 64 components of a long mode" {
    "$BLCO" generate x.tns -q --dims 200000,50,60 --nnz 20000
    cpd -q x.tns -r 64 -i 1 -o x --format npy --backend host
    run -0 "$BLCO" top x
    [ "$(grep -c '^component' <<<"$output")" -eq 64 ]
    [ "$(awk 'length > 80' <<<"$output")" = "" ]
    [ "$(wc -l <<<"$output")" -eq $((64 * 13 - 1)) ]
    diff <(echo "$output") <("$BLCO" top x -t 1)
}

@test "top --unlisted: the largest values of a model at entries that are not listed" {
    command -v jq >/dev/null || skip "there is no jq"
    "$BLCO" generate x.tns -q --dims 12,20,30 --nnz 700 --seed 3
    cpd -q x.tns -r 4 -o x --backend host
    "$BLCO" convert -q x.tns x.blco
    for j in {1..20}; do for k in {1..30}; do echo 5 "$j" "$k"; done; done |
        grep -vxF -f <(cut -d' ' -f1-3 x.tns) | "$BLCO" predict x - | sort -k4,4gr >all
    "$BLCO" top x x.tns --unlisted 1=5 -n 40 --json >got
    diff <(head -n 40 all | cut -d' ' -f1-3) <(jq -r '.unlisted[].indices | join(" ")' got)
    paste <(head -n 40 all | cut -d' ' -f4) <(jq '.unlisted[].model' got) |
        awk '{ d = $1 - $2 } d * d > 1e-24 * $1 * $1 { exit 1 }'
    [ "$(jq .listed got)" = "$(grep -c '^5 ' x.tns)" ]
    for how in "x.blco" "x.tns -t 1" "x.tns --host-memory 1M"; do
        diff <(jq .unlisted got) <("$BLCO" top x $how --unlisted 1=5 -n 40 --json | jq .unlisted)
    done
    diff <(jq .unlisted got) <("$BLCO" top x - --unlisted 1=5 -n 40 --json <x.tns | jq .unlisted)
    # several modes, from 0
    "$BLCO" top x x.tns --unlisted 1=5 --unlisted 3=7 -n 3 --json >got
    diff <(awk '$3 == 7' all | head -n 3 | cut -d' ' -f1-3) <(jq -r '.unlisted[].indices | join(" ")' got)
    awk '!/^#/ { print $1 - 1, $2 - 1, $3 - 1 }' x.tns >zero.tns # without values
    "$BLCO" top x zero.tns --unlisted 1=4 --unlisted 3=6 -n 3 --json --index-base 0 >zero
    diff <(jq -c '[.unlisted[].indices[] - 1]' got) <(jq -c '[.unlisted[].indices[]]' zero)
}

@test "top --unlisted with names, in full" {
    "$BLCO" convert -q "$DATA/events.csv" events.blco --columns user,item,time --bin time=1h
    cpd -q events.blco -r 2 -o events --backend host
    cat >events.ktns <<'END'
ktensor
3
4 3 5
1
2
matrix
2
4 1
1
.5
0
2
matrix
2
3 1
1
-3
2
matrix
2
5 1
1
.25
0
0
1
END
    for n in 1 2 3; do cp events.mode$n.map x.mode$n.map; done
    cp events.modes.map x.modes.map && cp events.ktns x.ktns
    run -0 --separate-stderr "$BLCO" top x events.blco --unlisted user=bob -n 3
    cat >expected <<'END'
user bob: 2 entries in events.blco; of the others, the model is largest at
  item        time               model
  cake        2026-11-23T14:00  2.0000
  cake        2026-11-24T15:00  2.0000
  tea, green  2026-11-23T14:00  1.0000
END
    diff expected <(echo "$output")
    run -0 --separate-stderr "$BLCO" top x events.blco --unlisted 1=cem
    [[ $output == "user cem: "*" in events.blco; the model is 0 at all others" ]]
    "$BLCO" top x events.blco --unlisted user=2 --unlisted 'item=tea, green' --json >got
    jq -e '.given == [{mode: 1, name: "user", index: 2, label: "bob"}, {mode: 2, name: "item", index: 1, label: "tea, green"}]' got
    jq -e '.unlisted[0].labels == ["bob", "tea, green", "2026-11-23T14:00"]' got
}

@test "top --unlisted: what is refused" {
    berkeley
    tensor=$DATA/ucb-admissions.tns
    refuses() { fails 2 "$1" top ucb "${@:2}"; }
    refuses "two names expected, STEM and TENSOR, but 1 given" --unlisted 1=1
    refuses "one model expected, but '$tensor' follows 'ucb'" "$tensor"
    refuses "--unlisted and --mode: give only one" "$tensor" --unlisted 1=1 --mode 2
    refuses "--unlisted and --component: give only one" "$tensor" --unlisted 1=1 --component 2
    for bad in 1 =1 1= ''; do
        refuses "--unlisted: '$bad', expected MODE=NAME, MODE=all or all" "$tensor" --unlisted "$bad"
    done
    refuses "--unlisted: no mode is named 'sex', expected a name or a number from 1 to 3" "$tensor" --unlisted sex=1
    refuses "--unlisted: no mode is named '4', expected" "$tensor" --unlisted 4=1
    refuses "--unlisted: 'drowned' is no index of mode 1, expected a label or a number from 1 to 2" "$tensor" --unlisted 1=drowned
    refuses "--unlisted: '2' is no index of mode 1, expected a number from 0 to 1" "$tensor" --unlisted 1=2 --index-base 0 --labels none
    refuses "--unlisted: mode 3 twice, expected one index of it" "$tensor" --unlisted 3=1 --unlisted "department=department B"
    refuses "--unlisted: an index of each mode, expected a mode without one" "$tensor" --unlisted 1=1 --unlisted 2=1 --unlisted 3=1
    refuses "$DATA/events.csv: is CSV, but the model does not say which columns are its modes" "$DATA/events.csv" --unlisted 1=1
    refuses "data/planted.tns:" "$DATA/planted.tns" --unlisted 1=1
    refuses "absent.tns: No such file or directory" absent.tns --unlisted 1=1
    refuses "--unlisted: mode 3 twice, expected one index of it" "$tensor" --unlisted 3=all --unlisted 3=1
    refuses "--unlisted: each index of mode 1 and of mode 3, expected one of them" "$tensor" --unlisted 1=all --unlisted 3=all
    refuses "--unlisted: an index of each mode, expected a mode without one" "$tensor" --unlisted 1=1 --unlisted 2=1 --unlisted 3=all
    refuses "--output needs --unlisted" -o out
    refuses "--output and --json: give only one" "$tensor" --unlisted all -o out --json
    refuses "out.blco: the output is text or an array, expected another name than of a .blco file" "$tensor" --unlisted all -o out.blco
    cp "$tensor" x.tns
    fails 2 "the output x.tns is the tensor that is read" top ucb x.tns --unlisted all -o x.tns --force
    fails 5 "x.tns: cannot be written: it exists already (--force replaces it)" top ucb "$tensor" --unlisted all -o x.tns
    cmp "$tensor" x.tns
}

@test "top --unlisted of the whole tensor and of each index of a mode" {
    "$BLCO" generate x.tns -q --dims 12,20,30 --nnz 700 --seed 3
    cpd -q x.tns -r 4 -o x --backend host
    for i in {1..12}; do for j in {1..20}; do for k in {1..30}; do echo $i $j $k; done; done; done |
        grep -vxF -f <(cut -d' ' -f1-3 x.tns) | "$BLCO" predict x - | sort -k4,4gr >all
    "$BLCO" top x x.tns --unlisted all -n 40 -o best
    diff <(head -n 40 all) best # the values of predict, to the last digit
    run -0 --separate-stderr "$BLCO" top x x.tns --unlisted all -n 2
    [ "${lines[0]}" = "700 entries in x.tns; of the others, the model is largest at" ]
    [ "$(awk '{ print $1, $2, $3 }' <<<"${lines[3]}")" = "$(sed -n 2p best | cut -d' ' -f1-3)" ]
    # each index: text lines in its order
    for j in {1..20}; do awk -v j=$j '$2 == j' all | head -n 3; done >expected
    for how in "" "-t 1" "--host-memory 1M"; do
        diff expected <("$BLCO" top x x.tns --unlisted 2=all -n 3 $how)
    done
    "$BLCO" top x x.tns --unlisted 2=all -n 3 -o best.gz
    diff expected <(gzip -dc best.gz)
    for j in {1..20}; do awk -v j=$j '$2 == j && $3 == 7' all | head -n 3; done >expected
    diff expected <("$BLCO" top x x.tns --unlisted 2=all --unlisted 3=7 -n 3)
    awk '!/^#/ { print $1 - 1, $2 - 1, $3 - 1 }' x.tns >zero.tns
    "$BLCO" top x zero.tns --unlisted 3=6 --unlisted 2=all -n 3 --index-base 0 |
        diff <(awk '{ print $1 - 1, $2 - 1, $3 - 1, $4 }' expected) -
    command -v jq >/dev/null || skip "there is no jq"
    "$BLCO" top x x.tns --unlisted 3=7 --unlisted 2=all -n 3 --json >got
    diff expected <(jq -r '.unlisted[] | "\(.indices | join(" ")) \(.model)"' got |
        awk 'NR == FNR { a[FNR] = $0; next } { split(a[FNR], e); $4 = e[4] } 1' expected -)
    [ "$(jq -c '[.each, .given, .listed]' got)" = "$(printf '[{"mode":2},[{"mode":3,"index":7}],%d]' "$(grep -c '^[0-9]* [0-9]* 7 ' x.tns)")" ]
}

@test "top --unlisted of each index: names, arrays and counts" {
    "$BLCO" convert -q "$DATA/events.csv" events.blco --columns user,item,time --bin time=1h
    cpd -q events.blco -r 2 --loss poisson -o events --backend host
    for user in $(cut -d, -f1 "$DATA/events.csv" | tail -n +2 | awk '!seen[$0]++'); do
        "$BLCO" top events events.blco --unlisted user=$user -n 2 -o one --force
        cat one
    done >expected
    diff expected <("$BLCO" top events events.blco --unlisted user=all -n 2)
    grep -q $'^cem\t' expected
    "$BLCO" top events "$DATA/events.csv" --unlisted user=all -n 2 | diff expected -
    "$BLCO" top events events.blco --unlisted 1=all -n 2 --labels none >numbers
    "$BLCO" top events events.blco --unlisted user=all -n 2 -o best.npy
    # arrays count from 0
    od -A n -t f8 -v -w32 -j 128 best.npy | awk '{ print $1 + 1, $2 + 1, $3 + 1, $4 }' >array
    [ "$(wc -l <array)" -eq "$(wc -l <numbers)" ]
    diff <(cut -d' ' -f1-3 numbers) <(cut -d' ' -f1-3 array)
    run -0 --separate-stderr "$BLCO" top events events.blco --unlisted 1=all -n 2 -o best.npy --force
    [ -z "$output" ]
}

@test "top: options that are refused" {
    berkeley
    fails 2 "no model given" top
    fails 2 "one model expected, but 'b' follows 'a'" top a b
    for bad in 0 -1 x '' 4294967296; do
        fails 2 "--count: '$bad', expected a whole number from 1 to 4294967295" top ucb -n "$bad"
    done
    fails 2 "--component: 3, expected 1 to 2" top ucb --component 3
    fails 2 "--component: '0', expected a whole number" top ucb --component 0
    fails 2 "--mode: 4, expected 1 to 3" top ucb --mode 4
    fails 2 "--mode: '17', expected a whole number from 1 to 16" top ucb --mode 17
    fails 2 "--labels: mode 4, expected 1 to 3" top ucb --labels 4=x.map
    fails 2 "--labels: mode 1 twice, expected one file for each mode" top ucb --labels 1=x,1=y
    fails 2 "--labels: 'x.map', expected MODE=FILE" top ucb --labels x.map
}
