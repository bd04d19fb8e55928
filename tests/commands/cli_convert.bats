# bats file_tags=threads
load cli_helpers

# The entries of a text file in a fixed order, without its header.
entries() { zcat -f "$1" | awk -v n="$2" 'NF == n' | sort; }

@test "every kind of file comes back from every other" {
    printf '3\n4 5 70\n1 1 1 1.5\n4 3 1 -2\n1 5 70 3e-2\n2 2 2 0.1\n' >x.tns
    "$BLCO" convert -q --force x.tns x.blco
    for base in 0 1; do
        for header in none dims sptensor; do
            for ending in tns tns.gz; do
                # from .blco, and from text through text
                "$BLCO" convert -q --force x.blco y.$ending --header $header --out-index-base $base
                "$BLCO" convert -q --force x.tns z.$ending --header $header --out-index-base $base
                diff <(entries y.$ending 4) <(entries z.$ending 4)
                "$BLCO" convert -q --force z.$ending z.blco --index-base $base
                cmp x.blco z.blco # the entries reach all lengths
                "$BLCO" convert -q --force y.$ending y.blco --index-base $base
                cmp x.blco y.blco
            done
        done
    done
    "$BLCO" convert -q --force x.blco - --header dims >y.tns
    head -n 2 y.tns | diff - <(printf '3\n4 5 70\n')
    "$BLCO" convert -q --force - y.blco <y.tns
    cmp x.blco y.blco
    "$BLCO" convert -q --force y.blco again.blco
    cmp x.blco again.blco
    # text to text: --index-base is that of both, unless said otherwise; entries keep their order
    "$BLCO" convert -q --force x.tns y.tns --out-index-base 0
    diff y.tns <(printf '0 0 0 1.5\n3 2 0 -2\n0 4 69 0.03\n1 1 1 0.1\n')
    "$BLCO" convert -q --force y.tns z.tns --index-base 0
    cmp y.tns z.tns
}

@test "the same file in little memory, with any number of threads, and from .blco" {
    "$BLCO" generate x.tns -q --preset uber --scale 0.05
    # half of the entries again, so that duplicates meet across runs, and some zeros
    awk 'NR % 2 { print $1, $2, $3, $4, 0.1 * (NR % 7) }' x.tns >more
    cat more >>x.tns
    "$BLCO" convert x.tns one.blco -t 1 2>messages
    grep -qE '^7[0-9]{4} duplicate entries added to earlier ones$' messages
    grep -qE '^[0-9]{5} explicit zeros dropped$' messages
    run ! grep -qE ' from [0-9]+ runs' messages
    for memory in 1M 5M 12M; do
        for t in 1 3; do
            "$BLCO" convert --force x.tns two.blco -t $t --host-memory $memory 2>few
            grep -qE ' from [0-9]+ runs' few
            cmp one.blco two.blco
            diff <(grep ' entries added\| zeros dropped' messages) <(grep ' entries added\| zeros dropped' few)
        done
    done
    gzip -c x.tns | "$BLCO" convert -q --force - two.blco --host-memory 2M
    cmp one.blco two.blco
    for t in 1 3; do
        "$BLCO" convert -q --force one.blco two.blco --host-memory 1M -t $t
        cmp one.blco two.blco
    done
    "$BLCO" convert -q --force one.blco a.tns
    "$BLCO" convert -q --force one.blco b.tns --host-memory 1M -t 3
    cmp a.tns b.tns
    fails 3 "x.tns: more than the" convert -q x.tns y.tns --host-memory 1M
    [ "$(ls)" = "$(printf '%s\n' a.tns b.tns few messages more one.blco two.blco x.tns)" ]
}

@test "unknown entries come back from every kind of file, zeros where they are kept" {
    "$BLCO" generate x.tns -q --preset uber --scale 0.02
    awk '{ if (NR % 11 == 0) $NF = "NaN"; if (NR % 5 == 1) $NF = 0; print } NR % 33 == 0 { print }' x.tns >y.tns
    for keep in "" --keep-zeros; do
        # shellcheck disable=SC2086
        "$BLCO" convert -q --force y.tns one.blco $keep
        # shellcheck disable=SC2086
        gzip -c y.tns | "$BLCO" convert -q --force - two.blco --host-memory 1M -t 3 $keep
        cmp one.blco two.blco
        "$BLCO" convert -q --force one.blco two.blco
        cmp one.blco two.blco
        # shellcheck disable=SC2086
        "$BLCO" convert -q --force y.tns z.tns $keep
        "$BLCO" convert -q --force one.blco z.tns.gz
        diff <(entries z.tns 5) <(entries z.tns.gz 5)
        # shellcheck disable=SC2016
        [ "$(grep -c ' nan$' z.tns)" = "$(awk '$NF == "NaN"' y.tns | sort -u | wc -l)" ]
        [ "$(grep -c ' 0$' z.tns)" = "$([ -z "$keep" ] && echo 0 || grep ' 0$' y.tns | sort -u | wc -l)" ]
    done
    # listed zeros change nothing where unlisted entries are zeros
    printf '1 1 1 2\n2 1 1 0\n2 2 2 3\n1 2 2 -1\n3 1 2 4\n' >x.tns
    "$BLCO" convert -q --force x.tns one.blco --keep-zeros
    cpd x.tns -r 2 --nowrite
    expected=$(fit)
    cpd one.blco -r 2 --nowrite
    near "$(fit)" "$expected" 1e-12
}

@test "cpd and info take .blco wherever they take text" {
    "$BLCO" convert -q --force "$DATA/planted.tns" planted.blco
    tail -n +6 <("$BLCO" info -q --backend host --host-memory 1G "$DATA/planted.tns") >expected
    diff expected <("$BLCO" info -q --backend host --host-memory 1G planted.blco | tail -n +6)
    run -0 "$BLCO" info -q --host-memory 1G planted.blco
    [[ $output =~ $'\n'format\ +\.blco,\ [0-9.]+\ [kM]?B[a-z]*,\ [0-9.]+\ bytes\ a\ nonzero$'\n' ]]
    cpd "$DATA/planted.tns" -r 3 --nowrite
    expected=$(fit)
    cpd planted.blco -r 3
    near "$(fit)" "$expected" 1e-9
    [ -s planted.mode1.mat ]
    cp planted.blco no-ending # by content, not by name
    "$BLCO" info -q no-ending --dims "$("$BLCO" info -q --host-memory 1G planted.blco | sed -n 's/^lengths *//p; /^lengths/q' | tr -d ' ')"
    fails 2 "but --dims gives" info -q planted.blco --dims 2,2
    fails 2 "which changes the lengths of text only" info -q planted.blco --dims 1000,1000,1000
    fails 2 "must be given by its name" info -q - <planted.blco
    fails 2 "must be given by its name" convert -q - x.tns <planted.blco
}

@test "damaged files are refused with one line" {
    "$BLCO" convert -q "$DATA/planted.tns" x.blco
    size=$(stat -c %s x.blco)
    for at in 0 9 13 17 40 230 4000 4100 $((size / 2)) $((size - 5)); do
        cp x.blco bad.blco
        printf '\x5a' | dd of=bad.blco bs=1 seek=$at conv=notrunc status=none
        cmp -s x.blco bad.blco && continue
        for command in "info -q bad.blco" "cpd -q bad.blco -r 2 -o out" "convert -q bad.blco out.blco" \
            "convert -q bad.blco out.tns"; do
            # shellcheck disable=SC2086
            fails 2 "bad.blco" $command
        done
    done
    for length in 0 5 8 4095 4096 $((size - 1)); do
        head -c $length x.blco >cut.blco
        fails 2 "cut.blco" info -q cut.blco
        fails 2 "cut.blco" convert -q cut.blco out.tns
    done
    [ -z "$(ls out* 2>/dev/null)" ]
}

@test "no file is left if a file may not grow" {
    [[ $BLCO != */tsan/* ]] || skip "the thread sanitizer itself writes larger files"
    "$BLCO" generate x.tns -q --preset uber --scale 0.05
    "$BLCO" convert -q x.tns x.blco
    mkdir out
    for job in "x.tns out/y.blco" "x.tns out/y.blco --host-memory 1M" "x.blco out/y.blco" "x.tns out/y.tns" \
        "x.blco out/y.tns" "x.blco out/y.tns.gz"; do
        run -5 --separate-stderr bash -c 'ulimit -f 100; "$BLCO" convert -q $1' bash "$job"
        [[ $stderr == "blco convert: out/y."*": cannot be written: File too large" ]]
        [ -z "$(ls -A out)" ]
    done
    [ -w /dev/full ] || skip "/dev/full is missing"
    run -5 bash -c '"$BLCO" convert -q x.blco - >/dev/full'
    [[ $output == *"cannot be written: No space left on device"* ]]
}

@test "a tensor of zeros, and other ends" {
    printf '2 3 0\n1 1 1\n1 1 -1\n' >x.tns
    "$BLCO" convert x.tns x.blco 2>messages
    grep -q '^1 duplicate entries added' messages
    grep -q '^2 explicit zeros dropped' messages
    run -0 "$BLCO" info -q x.blco
    [[ $output == *$'\nlengths      2 x 3\nnonzeros     0\n'* ]]
    fails 2 "x.blco: no nonzeros" cpd -q x.blco -r 1
    "$BLCO" convert -q x.blco y.tns --header sptensor
    diff y.tns <(printf 'sptensor\n2\n2 3\n0\n')
}

@test "refused arguments" {
    printf '1 1 1\n' >x.tns
    "$BLCO" convert -q x.tns x.blco
    fails 2 "two files expected, IN and OUT, but 1 given" convert x.tns
    fails 2 "two files expected, IN and OUT, but 3 given" convert x.tns y.tns z.tns
    fails 2 "y.txt: expected a name that ends in .blco, .tns or .tns.gz" convert x.tns y.txt
    fails 2 "expected a name that ends in" convert x.tns .blco
    fails 2 "--header is for text" convert x.tns y.blco --header dims
    fails 2 "--out-index-base is for text" convert x.tns y.blco --out-index-base 0
    fails 2 "--header: 'x', expected none, dims or sptensor" convert x.tns y.tns --header x
    fails 2 "--out-index-base: '2', expected" convert x.tns y.tns --out-index-base 2
    fails 2 "absent.tns" convert -q absent.tns y.tns
    fails 5 "none/y.blco: cannot be written" convert -q x.tns none/y.blco
    fails 5 "none/y.tns: cannot be written" convert -q x.blco none/y.tns
    fails 2 "did you mean 'convert'?" convrt x.tns y.tns
    [ "$(ls)" = "$(printf '%s\n' x.blco x.tns)" ]
}
