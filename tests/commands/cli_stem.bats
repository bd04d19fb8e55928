# The files of a stem: one run at a time, one model at a time, and never lost.
load cli_helpers
load ../support/mpi

# A tensor whose decomposition runs until it receives a signal.
endless() {
    awk 'BEGIN { srand(1); for (i = 1; i <= 20000; i++) print 1 + int(40 * rand()), 1 + int(50 * rand()), 1 + int(60 * rand()), rand() + 0.1 }' >x.tns
    endless=(x.tns -r 3 -i 1000000000 --tol 0 --backend host -t 1)
}

# begin ARGUMENT...: an endless blco cpd in the background, which iterates when this returns; $pid is its process.
begin() {
    : >messages # those of an earlier run say nothing about this one
    "$BLCO" cpd "${endless[@]}" "$@" 2>messages &
    pid=$!
    iterates
}

iterates() {
    for _ in {1..300}; do
        grep -q '^building: ' messages && sleep 0.2 && return 0
        sleep 0.1
    done
    cat messages && return 1
}

# ends CODE: process $pid ends with this exit status.
ends() {
    local code=0
    wait $pid || code=$?
    echo "exit $code, expected $1" && cat messages
    [ $code -eq "$1" ]
}

# A failed test leaves no process.
teardown() { [ -z "${pid-}" ] || kill -KILL "$pid" 2>/dev/null || true; }

@test "a second run with the stem of a run is refused, and says who has it" {
    endless
    mkdir out
    begin -o out/m
    fails 5 "out/m.lock: cannot be written: blco, process $pid on host $(hostname) writes files of this stem" \
        cpd absent.tns -r 2 -o out/m --backend host
    "$BLCO" cpd x.tns -r 2 -i 1 -q -o out/m2 --backend host
    kill -TERM $pid
    ends 143
    [ "$(LC_ALL=C && cd out && echo *)" = "m.lambda.mat m.mode1.mat m.mode2.mat m.mode3.mat m.model.json m2.lambda.mat m2.mode1.mat m2.mode2.mat m2.mode3.mat m2.model.json" ]
    "$BLCO" cpd x.tns -r 3 --init out/m -i 1 -q -o out/m --backend host
}

@test "the lock of a killed run is taken over" {
    endless
    begin -o m
    [ -s m.lock ]
    kill -KILL $pid
    ends 137
    [ "$(echo m.*)" = m.lock ]
    "$BLCO" cpd x.tns -r 2 -i 1 -q -o m --backend host
    [ "$(echo m.*)" = "m.lambda.mat m.mode1.mat m.mode2.mat m.mode3.mat m.model.json" ]
}

@test "a file that is no lock is not touched" {
    printf '1 1 1\n' | tee x.tns >m.lock
    fails 5 "m.lock: cannot be written: it exists, and is no lock of blco" cpd x.tns -r 1 -o m --backend host
    cmp x.tns m.lock
}

@test "a model that a killed run was replacing is read whole, and put in order by the next run" {
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 1 -q -o m --backend host
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 9 -q -o new --backend host
    mkdir old && cp m.* old
    # killed after the first rename
    cp new.mode1.mat m.mode1.mat
    cp new.mode2.mat .blco-0000000000000002
    cp new.mode3.mat .blco-0000000000000003
    cp new.lambda.mat .blco-0000000000000004
    cp old/m.mode1.mat .blco-0000000000000001-old
    # of the older model are taken away: a file that still has its name, and one that has another
    printf '1 1\n' >m.mode4.mat
    printf 'ktensor\n' >.blco-0000000000000006-old
    {
        echo "blco, process 1 on host none"
        echo "files 6"
        for n in 1 2 3; do echo "000000000000000$n old mode$n.mat"; done
        echo "0000000000000004 old lambda.mat"
        echo "0000000000000005 gone mode4.mat"
        echo "0000000000000006 gone ktns"
        echo "replace"
    } >m.lock
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 1 -q -o from-m --init m --backend host
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 1 -q -o from-new --init new --backend host
    for name in mode1 mode2 mode3 lambda; do cmp from-m.$name.mat from-new.$name.mat; done
    # the next run of the stem fails for another reason, but has put the files in order
    run -2 "$BLCO" cpd absent.tns -r 2 -o m --backend host
    for name in mode1 mode2 mode3 lambda; do cmp m.$name.mat new.$name.mat; done
    [ ! -e m.mode4.mat ]
    [ ! -e m.ktns ]
    [ ! -e m.lock ] && ! compgen -G '.blco-*'
}

# files: the names of the files here, in one line.
files() { (LC_ALL=C && echo *); }

@test "one stem is one model: a run takes the older one away, and nothing else" {
    printf '1 1 1 1 1\n2 2 2 2 2\n1 2 1 2 3\n' >four.tns
    printf '1 1 1\n2 2 2\n2 1 5\n' >two.tns
    others=(m.html m.json m.mode1.map m.mode3.mat.bak m.mode3.matx m2.mode1.mat m.ranks.json m.mode1.npy.gz)
    for other in "${others[@]}"; do echo mine >"$other"; done
    before=$(files)
    for old in text npy ktns text,npy,ktns; do
        for new in text npy ktns npy,text; do
            "$BLCO" cpd four.tns -r 2 -q -o m --backend host --format $old
            "$BLCO" cpd two.tns -r 2 -q -o m --backend host --format $new
            "$BLCO" cpd two.tns -r 2 -q -o only --backend host --format $new
            for file in only.*; do cmp "$file" "m${file#only}" && rm "m${file#only}" "$file"; done
            [ "$(files)" = "$before" ] || { files && return 1; }
        done
    done
    [ "$(cat "${others[@]}" | sort -u)" = mine ]
}

@test "processes that write together take the older model away, too" {
    needs_mpirun
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 1 -q -o m --backend host --format text,ktns
    for format in npy text; do
        cp "$DATA/planted.tns" m.mode4.npy
        processes 2 "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 1 -q -t 1 -o m --backend host --format $format </dev/null
        extension=${format/text/mat}
        [ "$(files)" = "m.lambda.$extension m.mode1.$extension m.mode2.$extension m.mode3.$extension m.model.json" ]
    done
}

@test "files of two models of one stem are refused, and both named" {
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 2 -q -o m --backend host --format text,npy,ktns --record m.json
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 2 -q -o n --backend host
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 9 -q -o other --backend host
    # refuses LINE: of every command that reads the stem m
    refuses() {
        fails 2 "blco top: $1" top -q m
        fails 2 "blco report: $1" report -q m
        fails 2 "blco compare: $1" compare -q n m
        fails 2 "blco compare: $1" compare -q m n
        fails 2 "$1" cpd -q "$DATA/planted.tns" -r 2 -i 1 --backend host -o new --init m
    }
    # all formats of one run are one model
    "$BLCO" top -q m >top && "$BLCO" report -q m && "$BLCO" compare -q m n --at-least 1 >score
    "$BLCO" cpd -q "$DATA/planted.tns" -r 2 -i 1 --backend host --nowrite --init m
    rm m.html
    # with text files of another run
    cp other.lambda.mat m.lambda.mat
    refuses "m.ktns and m.lambda.mat are files of two models: remove those of one"
    rm m.ktns
    refuses "m.mode1.npy and m.lambda.mat are files of two models: remove those of one"
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 2 -q -o m --backend host
    cp m.mode3.mat m.mode5.mat
    refuses "m.mode5.mat: there is no m.mode4.mat: files of two models are mixed, or some are missing"
    mv m.mode5.mat m.mode2.npy
    refuses "m.mode2.npy: there is no m.mode1.npy: files of two models are mixed, or some are missing"
    rm m.mode2.npy
    "$BLCO" compare -q m n --at-least 1 >score
    # another run with the stem puts it in order
    cp other.lambda.mat m.lambda.npy
    "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 2 -q -o m --backend host
    "$BLCO" compare -q m n --at-least 1 >score
}

@test "a reader finds one model while runs replace it, or says that it is being replaced" {
    printf '1 1 1 1 1\n2 2 2 2 2\n1 2 1 2 3\n' >four.tns
    printf '1 1 1\n2 2 2\n2 1 5\n' >two.tns
    "$BLCO" cpd two.tns -r 2 -q -t 1 -o m --backend host --format npy,ktns
    for _ in {1..8}; do
        "$BLCO" cpd four.tns -r 2 -i 1 -q -t 1 -o m --backend host
        "$BLCO" cpd two.tns -r 2 -i 1 -q -t 1 -o m --backend host --format npy,ktns
    done &
    pid=$!
    reads=0
    while kill -0 $pid 2>/dev/null; do
        "$BLCO" top -q -t 1 m >top 2>>messages || [ $? -eq 2 ]
        reads=$((reads + 1))
    done
    wait $pid
    echo "$reads reads" && cat messages
    [ $reads -gt 8 ] && ! grep -vx 'blco top: m: another run is replacing the files of this model' messages
}

@test "a model that cannot be written at its stem is rescued" {
    endless
    mkdir out tmp rescue "a b"
    export TMPDIR=$PWD/tmp
    for fault in folder gone file; do
        for where in "" rescue "a b"; do
            rm -rf out tmp/* rescue/*
            mkdir out
            begin -o out/m ${where:+--rescue "$where"}
            case $fault in
            folder) mkdir out/m.mode2.mat ;;
            gone) rm -r out ;;
            file) rm -r out && echo mine >out ;;
            esac
            kill -TERM $pid
            ends 5
            [ "$(grep -c '^blco cpd: out/m\..*: cannot be written: .*; the model went to the stem ' messages)" -eq 1 ]
            stem=$(sed -n 's/.*; the model went to the stem //p' messages)
            [[ $stem == "${where:-$PWD/tmp}"/blco-rescue-??????/m ]]
            [ "$(find tmp rescue "a b" -type f | wc -l)" -eq 5 ]
            [ "$(stat -c %a "$(dirname "$stem")")" = 700 ]
            "$BLCO" cpd x.tns -r 3 -i 1 -q --nowrite --init "$stem" --backend host
            case $fault in
            folder) [ "$(ls -A out)" = m.mode2.mat ] ;;
            gone) [ ! -e out ] ;;
            file) [ "$(<out)" = mine ] ;;
            esac
            rm -rf "$(dirname "$stem")"
        done
    done
}

@test "what can be seen before the first iteration is refused" {
    printf '1 1 1\n2 2 2\n' >x.tns
    mkdir out
    for name in mode1.mat lambda.mat mode2.mat mode16.mat ktns; do # of any model
        mkdir out/m.$name
        fails 5 "out/m.$name: cannot be written: it is a directory" cpd -q x.tns -r 1 -o out/m --backend host
        rmdir out/m.$name
    done
    "$BLCO" cpd -q x.tns -r 1 -o out/m --backend host
    fails 5 "--rescue: none/blco-rescue" cpd absent.tns -r 1 -o out/m --rescue none --backend host
    fails 5 "--rescue: x.tns/blco-rescue" cpd absent.tns -r 1 -o out/m --rescue x.tns --backend host
    cp x.tns m.mode1.mat
    fails 2 "the model's file m.mode1.mat is the tensor that is read" cpd -q m.mode1.mat -r 1 -o m --backend host
    cmp x.tns m.mode1.mat
}

@test "a folder without permission is refused before the tensor is read" {
    as_user=()
    [ "$(id -u)" -ne 0 ] || as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups) # root may write anywhere
    mkdir out
    chmod 555 out
    "${as_user[@]}" ls out 2>/dev/null || skip "another user cannot come here"
    for output in "-o out/m" "-o m2 --rescue out"; do
        # shellcheck disable=SC2086 # two or four words
        run -5 --separate-stderr "${as_user[@]}" "$BLCO" cpd absent.tns -r 1 --backend host $output
        [[ $stderr == "blco cpd: "*": cannot be written: Permission denied" ]]
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
    done
    for command in "generate out/x.tns --dims 4,4 --nnz 3" "convert absent.tns out/x.tns"; do
        # shellcheck disable=SC2086 # a command line
        run -5 "${as_user[@]}" "$BLCO" $command
        [[ $output == "blco ${command%% *}: out/x.tns: cannot be written: Permission denied" ]]
    done
}

@test "processes rescue a model, whether process 0 writes it or all do" {
    needs_mpirun
    endless
    awk 'BEGIN { srand(1); for (i = 1; i <= 200000; i++) print i, 1 + int(9 * rand()), 1 + int(7 * rand()), rand() + 0.1 }' >y.tns
    mkdir out tmp
    export TMPDIR=$PWD/tmp
    # shellcheck disable=SC2016 # the inner shell expands
    # A file may have 9000 blocks of 1 KiB, mode 1 of the model has more: so every folder is full. Then only out is.
    limited='trap "" XFSZ && ulimit -f 9000 && exec "$0" "$@"'
    for memory in "" "--host-memory 14M"; do
        # shellcheck disable=SC2086 # --host-memory, or nothing
        run processes 4 bash -c "$limited" "$BLCO" cpd y.tns -r 8 -i 2 -t 1 --backend host --grid 4x1x1 \
            --format npy -o out/m $memory
        [ "$status" -eq 5 ]
        [ "$(grep -c '^blco cpd: .*out/m.mode1.npy: cannot be written: File too large; the model is lost: ' <<<"$output")" -eq 1 ]
        [ -z "$(ls -A out)" ]
        [ -z "$(find tmp -name 'blco-rescue*')" ]
        : >messages
        # shellcheck disable=SC2016,SC2086 # the inner shell expands; --host-memory, or nothing
        processes 4 bash -c 'echo $$ >"pid.$OMPI_COMM_WORLD_RANK"; exec env --default-signal=INT,TERM "$@"' bash \
            "$BLCO" cpd y.tns -r 8 -i 1000000 --tol 0 -t 1 --backend host --grid 4x1x1 \
            --format npy -o out/m $memory </dev/null >messages 2>&1 &
        pid=$!
        iterates && sleep 1 # four processes may share two cores with others
        mkdir out/m.mode2.npy
        kill -TERM "$(<pid.1)"
        ends 5
        grep -q '; the model went to the stem ' messages || { cat messages && return 1; }
        stem=$(sed -n 's/.*; the model went to the stem //p' messages)
        [[ $stem == "$PWD"/tmp/blco-rescue-??????/m ]]
        [ "$(ls -A out)" = m.mode2.npy ]
        rmdir out/m.mode2.npy
        "$BLCO" cpd y.tns -r 8 -i 1 -q --nowrite --init "$stem" --backend host
        rm -r "$(dirname "$stem")"
    done
}
