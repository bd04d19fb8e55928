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
