load cli_helpers

# The disk becomes full during writing: one line, exit status 5, and no file is left.

# full COMMAND ARGUMENT...: blco ends so; "out/" in the arguments is the folder that is full.
full() {
    run -5 --separate-stderr "$BLCO" "$@" -q
    echo "blco $*: $stderr; left: $(ls -A out)"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    # shellcheck disable=SC2053 # a pattern
    [[ $stderr == "blco $1: out/"*": cannot be written: $why"$then ]]
    [ "$(ls -A out)" = "$left" ]
}

# Every kind of output, each larger than there is room for; `limit` runs before each.
jobs_that_fill() {
    "$BLCO" generate x.tns -q --preset uber --scale 0.05
    "$BLCO" convert -q x.tns x.blco
    for ending in blco tns tns.gz; do
        ($limit && full generate out/y.$ending --preset uber --scale 0.05)
        ($limit && full generate out/y.$ending --dims 600,500,400 --nnz 100000 --planted-rank 3)
        ($limit && full convert x.tns out/y.$ending)
        ($limit && full convert x.blco out/y.$ending)
    done
    ($limit && full convert x.tns out/y.blco --host-memory 1M) # the runs
    printf '1 1 1\n2 2 2\n' >small.tns
    ($limit && full bench small.tns -r 1 --samples 20000 --backend host --json out/y.json)
    "$BLCO" cpd small.tns -q -r 2 -i 20000 --tol 0 -o long --record long.json --backend host
    "$BLCO" generate many.tns -q --dims 9,9,9 --nnz 600
    "$BLCO" cpd many.tns -q -r 200 -i 2 -o many
    ($limit && full report many -o out/y.html)
    ($limit && full cpd small.tns -r 2 -i 20000 --tol 0 --nowrite --record out/y.json)
    for format in text npy ktns text,npy,ktns; do
        (then=$rescue && $limit && full cpd x.tns -r 40 -i 1 -o out/y --format $format --backend host)
    done
}

# Nothing of it belongs to the messages of commands other than cpd.
then="" rescue=""

@test "a limit on the size of files" {
    mkdir out
    rescue="; the model is lost: /tmp/blco-rescue-??????/y.*: cannot be written: File too large"
    [[ $BLCO != */tsan/* ]] || skip "the thread sanitizer itself writes larger files"
    limit="ulimit -f 100" why="File too large" left=""
    jobs_that_fill
}

@test "a full file system" {
    mkdir out
    mount -t tmpfs -o size=320k blco-test out 2>/dev/null ||
        skip "only root can mount a small file system"
    limit=true why="No space left on device" left=""
    mkdir tmp
    export TMPDIR=$PWD/tmp
    rescue="; the model went to the stem $TMPDIR/blco-rescue-??????/y"
    jobs_that_fill
    # four models: 5 files of text and of npy, ktns, and all of these; and what each is of
    [ "$(find tmp -name 'y.*' | wc -l)" -eq 26 ]
    "$BLCO" cpd x.tns -r 40 -i 1 -o y -q --format text --backend host
    text=$(dirname "$(find tmp -name y.mode1.mat | head -n 1)")
    for name in mode1 mode2 mode3 mode4 lambda; do cmp "y.$name.mat" "$text/y.$name.mat"; done
    # there is room for the sorted parts, but not for the file as well
    awk 'BEGIN { for (i = 0; i < 12000; i++)
                     printf "%d %d %d %.17g\n", i * 7919 % 12000 + 1, i % 89 + 1, i % 97 + 1, 1 / (i + 3) }' >runs.tns
    full convert runs.tns out/y.blco --host-memory 100K
    "$BLCO" convert runs.tns y.blco --host-memory 100K 2>messages
    grep -qE ' from [0-9]+ runs' messages
    size=$(stat -c %s y.blco) # the runs have 20 bytes an entry
    [ "$size" -lt 320000 ]
    [ $((size + 12000 * 20)) -gt 330000 ]
    # what was there before stays
    echo old >out/y.blco
    left=y.blco
    full convert x.tns out/y.blco --force
    [ "$(cat out/y.blco)" = old ]
    echo old >out/y.json
    rm out/y.blco
    left=y.json
    full bench small.tns -r 1 --samples 20000 --backend host --json out/y.json
    [ "$(cat out/y.json)" = old ]
}

@test "a record to a device that is full" {
    [ -e /dev/full ] || skip "/dev/full is missing"
    fails 5 "/dev/full: cannot be written: it is not a regular file" bench -q "$DATA/planted.tns" -r 1 \
        --backend host --json /dev/full
    run -5 --separate-stderr bash -c '"$BLCO" bench -q "$1" -r 1 --samples 1 --backend host >/dev/full' bash "$DATA/planted.tns"
    [ "$stderr" = "blco bench: standard output cannot be written" ]
}

teardown() {
    ! mountpoint -q "$BATS_TEST_TMPDIR/work/out" || umount "$BATS_TEST_TMPDIR/work/out"
}
