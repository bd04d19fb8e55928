load cli_helpers

# The disk fills up while something is written: one line, exit code 5, and nothing left behind.

# full COMMAND ARGUMENT...: blco ends so; "out/" in the arguments is the folder that is full.
full() {
    run -5 --separate-stderr "$BLCO" "$@" -q
    echo "blco $*: $stderr; left: $(ls -A out)"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [[ $stderr == "blco $1: out/"*": cannot be written: $why" ]]
    [ "$(ls -A out)" = "$left" ]
}

# Every kind of output, each larger than there is room for; `limit` runs before each.
jobs_that_fill() {
    "$BLCO" generate x.tns -q --preset uber --scale 0.05
    "$BLCO" convert -q x.tns x.blco
    for ending in blco tns tns.gz; do
        ($limit && full generate out/y.$ending --preset uber --scale 0.2)
        ($limit && full generate out/y.$ending --dims 600,500,400 --nnz 500000 --planted-rank 3)
        ($limit && full convert x.tns out/y.$ending)
        ($limit && full convert x.blco out/y.$ending)
    done
    ($limit && full convert x.tns out/y.blco --host-memory 1M) # the runs
    for format in text npy ktns text,npy,ktns; do
        ($limit && full cpd x.tns -r 40 -i 1 -o out/y --format $format)
    done
}

@test "a limit on the size of files" {
    mkdir out
    [[ $BLCO != */tsan/* ]] || skip "the thread sanitizer itself writes larger files"
    limit="ulimit -f 100" why="File too large" left=""
    jobs_that_fill
}

@test "a full file system" {
    mkdir out
    mount -t tmpfs -o size=320k blco-test out 2>/dev/null ||
        skip "only root can mount a small file system"
    limit=true why="No space left on device" left=""
    jobs_that_fill
    # what was there before stays
    echo old >out/y.blco
    left=y.blco
    full convert x.tns out/y.blco
    [ "$(cat out/y.blco)" = old ]
}

teardown() {
    ! mountpoint -q "$BATS_TEST_TMPDIR/work/out" || umount "$BATS_TEST_TMPDIR/work/out"
}
