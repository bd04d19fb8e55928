load cli_helpers

# model NAME RANK NUMBERS: NAME.ktns, of two modes of lengths 3 and 2; the numbers are the weights, then
# the rows of each factor matrix.
model() {
    awk -v rank="$2" -v numbers="$3" 'BEGIN {
        split(numbers, x)
        at = 1
        print "ktensor\n2\n3 2\n" rank
        for (r = 0; r < rank; r++) printf "%s ", x[at++]
        for (n = 1; n <= 2; n++) {
            printf "\nmatrix\n2\n%d %d\n", 4 - n, rank
            for (i = 1; i <= 4 - n; i++) {
                for (r = 0; r < rank; r++) printf "%s ", x[at++]
                print ""
            }
        }
    }' >"$1.ktns"
}

# Two models by hand: component 1 of a is component 2 of b, with two signs changed and half of the
# weight; component 2 of a is turned by 60 degrees in mode 1, and opposite.
by_hand() {
    model a 2 "4 3  1 0  0 1  0 0  1 0  0 1"
    model b 2 "-3 2  0 -1  0.5 0  0.8660254037844386 0  0 -1  1 0"
}

@test "compare: two models by hand, in full" {
    by_hand
    run -0 --separate-stderr "$BLCO" compare a b.ktns
    [ -z "$stderr" ]
    cat >expected <<'END'
model A      a, 2 components
model B      b.ktns, 2 components
lengths      3 x 2
score        0.500000, mean of 2 pairs
congruence   0.750000, mean of the magnitudes

     A      B     score  congruence    weight A    weight B    mode 1    mode 2
     1      2  0.500000    1.000000     4.00000     2.00000 -1.000000 -1.000000
     2      1  0.500000   -0.500000     3.00000    -3.00000  0.500000  1.000000
END
    diff expected <(echo "$output")
    run -0 "$BLCO" compare a b --no-weights
    sed 's/^score .*/score        0.750000, mean of 2 pairs, without weights/
         s/     1      2  0.500000/     1      2  1.000000/; s/b.ktns/b/' expected | diff - <(echo "$output")
}

@test "compare: numbers stand below each other, and zero has no sign" {
    model a 2 "4000 0.5  1 0  0 1  0 0  1 0  0 1"
    model b 2 "4000 0.5  -1e-9 0  1 0  0 1  1 0  0 1"
    run -0 --separate-stderr "$BLCO" compare a b
    run -1 grep -E -- '-0\.0+( |$)' <<<"$output"
    [ "$("$BLCO" compare a b | awk '$1 == $2 && NF == 8 { print $5, $6 }')" = $'4000.00 4000.00\n0.50 0.50' ]
}

@test "compare: JSON" {
    command -v jq >/dev/null || skip "there is no jq"
    by_hand
    model c 3 "1 3 4  5 0 1  0 1 0  0 0 0  1 0 1  -1 1 0"
    "$BLCO" compare a c --json >got
    [ "$(jq -c '[.a, .b, .lengths, .weights, .score, .congruence]' got)" = \
        '[{"model":"a","rank":2},{"model":"c","rank":3},[3,2],true,1,1]' ]
    [ "$(jq -c '.pairs[0]' got)" = \
        '{"a":1,"b":3,"score":1,"congruence":1,"weight_a":4,"weight_b":4,"cosines":[1,1]}' ]
    [ "$(jq -c '.without_partner' got)" = '{"a":[],"b":[1]}' ]
    "$BLCO" compare c a --json --no-weights >got
    [ "$(jq -c '[.weights, .without_partner, [.pairs[] | [.a, .b]]]' got)" = \
        '[false,{"a":[1],"b":[]},[[2,2],[3,1]]]' ]
}

@test "compare: some modes of models whose other modes have other lengths" {
    by_hand
    printf 'ktensor\n2\n4 2\n2\n2 3\nmatrix\n2\n4 2\n0 1\n2 0\n0 0\n0 0\nmatrix\n2\n2 2\n0 1\n1 0\n' >c.ktns
    fails 2 'mode 1: a length of 3 and one of 4 cannot be compared; --modes 2 compares those of equal lengths' compare a c
    run -0 "$BLCO" compare a c --modes 2
    cat >expected <<'END'
model A      a, 2 components
model B      c, 2 components
modes        2
lengths      2
score        0.750000, mean of 2 pairs
congruence   1.000000, mean of the magnitudes

     A      B     score  congruence    weight A    weight B    mode 2
     1      2  0.750000    1.000000     4.00000     3.00000  1.000000
     2      1  0.750000    1.000000     3.00000     4.00000  1.000000
END
    diff expected <(echo "$output")
    [ "$("$BLCO" compare a c --modes 2 --json | jq -c '[.compared, .lengths, .score, .pairs[0].cosines]')" = '[[2],[2],0.75,[1]]' ]
    [ "$("$BLCO" compare a b --json | jq -c .compared)" = '[1,2]' ]
    run -0 "$BLCO" compare a b --modes 1,2
    [ "$(grep -v ^modes <<<"$output")" = "$("$BLCO" compare a b)" ]
    fails 2 '--modes: mode 3, but a has 2 modes' compare a c --modes 2,3
    fails 2 "--modes: '0'" compare a c --modes 0
}

@test "compare: the assignment is the best one, not the greedy one" {
    # the cosines in mode 1: 1 and .5 of a's first component, .9 and .07 of a's second one
    model a 2 "1 1  1 0.9  0 0.4358898943540674  0 0  1 1  0 0"
    model b 2 "1 1  1 0.5  0 -0.8660254037844386  0 0  1 1  0 0"
    run -0 "$BLCO" compare a b
    [[ $output == *$'\nscore        0.700000, mean of 2 pairs\n'* ]]
    [[ $output == *$'\n     1      2  0.500000 '* && $output == *$'\n     2      1  0.900000 '* ]]
}

@test "compare: runs from different starts, in every format, on any number of threads" {
    for seed in 1 2; do
        cpd -q "$DATA/planted.tns" -r 4 --tol 1e-10 -i 1000 --seed $seed -o s$seed \
            --format text,npy,ktns --backend host
    done
    run -0 "$BLCO" compare s1 s2 --at-least 0.9999
    first=$output
    run -0 "$BLCO" compare s1 "$DATA/planted.ktns" --at-least 0.9999
    mkdir text npy && cp s2.*.mat text && cp s2.*.npy npy
    for other in text/s2 npy/s2 s2.ktns; do
        "$BLCO" compare s1 $other -t 3 >got
        diff <(tail -n +3 <<<"$first") <(tail -n +3 got)
    done
    "$BLCO" compare s1 s1 --at-least 0.9999999999999 >got
    [ "$(awk 'NR > 7 && $1 != $2' got)" = "" ]
}

@test "compare: models of different ranks" {
    model a 3 "1 3 4  5 0 1  0 1 0  0 0 0  1 0 1  -1 1 0"
    model b 1 "2  0  0  1  1  1"
    run -0 "$BLCO" compare a b
    [[ $output == *$'\nmodel B      b, 1 component\n'* ]]
    [[ $output == *", mean of 1 pair"$'\n'* ]]
    [[ $output == *$'\ncomponents of A without a partner: '[123]", "[123] ]]
    run -0 "$BLCO" compare b a
    [[ $output == *$'\ncomponents of B without a partner: '[123]", "[123] ]]
    run -0 "$BLCO" compare b b
    [[ $output != *partner* ]]
}

@test "compare: --at-least exits with 6 for a lower score, and prints the same" {
    by_hand
    "$BLCO" compare a b >expected
    run -6 --separate-stderr "$BLCO" compare a b --at-least 0.51
    diff expected <(echo "$output")
    [ "$stderr" = "blco compare: score 0.5, expected 0.51 or more" ]
    run -0 --separate-stderr "$BLCO" compare a b --at-least 0.49
    diff expected <(echo "$output")
    run -6 --separate-stderr "$BLCO" compare a b --at-least 1 --json
    [[ $output == "{"* && $output == *"}" ]]
    run -0 "$BLCO" compare a b --at-least 0.74 --no-weights
    run -5 sh -c '"$BLCO" compare a b >/dev/full 2>message'
    [ "$(cat message)" = "blco compare: standard output cannot be written" ]
}

@test "compare: entries whose squares no double holds" {
    model a 2 "1 1  1e200 1  2e200 0  0 1  1e-200 1  1e-200 -1"
    model b 2 "1 1  1 1  0 2  1 0  1 1  -1 1"
    run -0 "$BLCO" compare a b --at-least 0.99999 --no-weights
    run -0 "$BLCO" compare a a --at-least 0.99999
}

@test "compare: operands and options that are refused" {
    by_hand
    fails 2 "two models expected, A and B, but 0 given" compare
    fails 2 "two models expected, A and B, but 1 given" compare a
    fails 2 "two models expected, A and B, but 3 given" compare a b a
    fails 2 "A: '', expected a name" compare '' a
    fails 2 "B: '', expected a name" compare a ''
    for bad in -0.1 x '' nan 0.5x; do
        fails 2 "--at-least: '$bad', expected a number of 0 or more" compare a b --at-least="$bad"
    done
    fails 2 "--at-least: '1.01', expected a number from 0 to 1" compare a b --at-least 1.01
    fails 2 "c: no model of that name" compare a c
    printf 'ktensor\n2\n3 3\n1\n1\nmatrix\n2\n3 1\n1\n1\n1\nmatrix\n2\n3 1\n1\n1\n1\n' >d.ktns
    fails 2 "mode 2: a length of 2 and one of 3 cannot be compared" compare a d
    printf 'ktensor\n1\n3\n1\n1\nmatrix\n2\n3 1\n1\n1\n1\n' >e.ktns
    fails 2 "a model of 2 modes and one of 1 cannot be compared" compare a e
}
