# Four processes whose model does not fit into the memory that process 0 may use: process 0 writes rows as they come.
# bats file_tags=threads
load cli_helpers

needs_mpi() {
    command -v mpirun >/dev/null || skip "there is no mpirun"
    [ -e "$(dirname "$BLCO")/blco-mpi.so" ] || skip "this blco was built without MPI"
    [ "$(basename "$(dirname "$BLCO")")" != tsan ] || skip "the thread sanitizer does not see into MPI"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}" # MPI itself leaks at its end
    awk 'BEGIN { srand(1); for (i = 1; i <= 200000; i++) print i, 1 + int(9 * rand()), 1 + int(7 * rand()), rand() + 0.1 }' >x.tns
    arguments=("$PWD/x.tns" -r 8 -i 3 --grid 4x1x1 -t 1 --backend host)
    mkdir out
}

# A rank's part takes a quarter of the 12.8 MB of the whole model. This is enough for the part, the arrays of its
# iterations and its nonzeros, but not for the whole model in addition to its part.
small=(--host-memory 14M)
launch=(timeout -k 5 60 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)

# four OPTION...: blco cpd in four processes.
four() { run "${launch[@]}" -n 4 "$BLCO" cpd "${arguments[@]}" "$@"; }

# ends CODE: shows the output if the exit status is another one.
ends() {
    echo "exit $status, expected $1: $output"
    [ "$status" -eq "$1" ]
}

# told MESSAGE: blco printed one line of failure, which begins like this.
told() {
    [ "$(grep -c '^blco cpd: ' <<<"$output")" -eq 1 ] && grep -qF -- "blco cpd: $1" <<<"$output"
}

# same_arrays A B: .npy files with the same header, and numbers that agree to 1e-12.
same_arrays() {
    cmp -n 128 "$1" "$2" && [ "$(stat -c %s "$1")" -eq "$(stat -c %s "$2")" ] && python3 - "$1" "$2" <<'END'
import array, sys
a, b = (array.array("d", open(name, "rb").read()[128:]) for name in sys.argv[1:])
sys.exit(not (len(a) > 0 and all(abs(x - y) <= 1e-12 * max(1, abs(x)) for x, y in zip(a, b))))
END
}

# same_text STEM: the text files of a model have the numbers of the .npy files.
same_text() {
    python3 - "$1" <<'END'
import array, sys
names = "lambda", "mode1", "mode2", "mode3"
for name in names:
    a = array.array("d", open(f"{sys.argv[1]}.{name}.npy", "rb").read()[128:]).tolist()
    assert a == [float(x) for x in open(f"{sys.argv[1]}.{name}.mat").read().split()], name
    rows = open(f"{sys.argv[1]}.{name}.csv").read().splitlines()[1:]
    assert a == [float(x) for row in rows for x in row.split(",")[1:]], name
    if name == "lambda":
        ktns = a
    else:
        assert rows[-1].split(",")[0] == str(len(rows)), name
        ktns = ktns + [2.0, float(len(rows)), 8.0] + a
text = open(f"{sys.argv[1]}.ktns").read().replace("matrix", "").split()[1:]
assert [float(x) for x in text] == [3.0, 200000.0, 9.0, 7.0, 8.0] + ktns
END
}

@test "files that are written as rows come are those of the whole model" {
    needs_mpi
    command -v python3 >/dev/null || skip "no python3"
    formats=text,npy,csv,ktns
    four --format $formats -o whole
    ends 0
    four --format $formats -o out/m "${small[@]}"
    ends 0
    [ "$(grep -c '^wrote out/m\.' <<<"$output")" -eq 14 ]
    [ "$(find out -type f | wc -l)" -eq 14 ]
    for name in mode1 mode2 mode3 lambda; do same_arrays whole.$name.npy out/m.$name.npy; done
    same_text out/m
    four --nowrite "${small[@]}"
    ends 0
}

@test "means of centred values are written as rows come, too" {
    needs_mpi
    command -v python3 >/dev/null || skip "no python3"
    arguments=("$PWD/x.tns" -r 8 -i 1 -t 1 --backend host --unlisted unknown --values center:1,2 --format npy)
    "$BLCO" cpd "${arguments[@]}" -q -o whole
    four -o out/m --host-memory 26M # less than twice the 17.6 MB of a model with means: each process has all rows
    ends 0
    for name in mode1 mode2 mode3 lambda; do same_arrays whole.$name.npy out/m.$name.npy; done
}

@test "what needs the whole model is refused before the first iteration" {
    needs_mpi
    "$BLCO" cpd x.tns -r 8 -i 1 -q --backend host --format npy -o start
    four --init start --format npy -o out/m "${small[@]}"
    ends 3
    told "the model of 12.8 MB does not fit into the 10.8 MB of host memory that rank 0 has besides its part: --init start is impossible"
    [ -z "$(ls -A out)" ]
}

@test "a process that cannot write leaves no files, and only process 0 needs the folder" {
    needs_mpi
    mkdir other
    echo old >out/m.mode2.npy
    # shellcheck disable=SC2016 # the inner shell expands
    # Mode 1 takes more than the 9000 blocks of 1 KiB that a file may have.
    for limit in 9000 unlimited; do
        run "${launch[@]}" -n 1 bash -c 'trap "" XFSZ && ulimit -f '$limit' && exec "$0" "$@"' \
            "$BLCO" cpd "${arguments[@]}" --format npy -o out/m "${small[@]}" : \
            -n 3 -wdir "$PWD/other" "$BLCO" cpd "${arguments[@]}" --format npy -o out/m "${small[@]}"
        [ $limit = unlimited ] && break
        ends 5
        told "rank 0: out/m.mode1.npy: cannot be written: File too large"
        [ "$(ls -A out)" = m.mode2.npy ] && [ "$(<out/m.mode2.npy)" = old ]
    done
    ends 0
    [ "$(find out -type f | wc -l)" -eq 5 ]
    [ -z "$(ls -A other)" ]
}
