# bats file_tags=threads
load cli_helpers
load ../support/mpi

# start_saving ARGUMENT...: an endless run in the background; returns after its first checkpoint.
start_saving() {
    : >messages # those of an earlier run say nothing about this one
    OPENBLAS_NUM_THREADS=1 env --default-signal=INT,TERM,HUP,USR1 \
        "$BLCO" cpd "$DATA/planted.tns" -r 4 -i 1000000000 --tol 0 -t 1 -o long --checkpoint c "$@" 2>messages &
    pid=$!
    await_building
    sleep 1
}

# exits CODE: the run in the background does.
exits() {
    local code=0
    wait "$pid" || code=$?
    [ $code -eq "$1" ] || { echo "exit $code, expected $1" && cat messages && return 1; }
}

# iterations FILE: of the checkpoint.
iterations() { od -A n -t u8 -j 208 -N 8 "$1" | tr -d ' '; }

# On the host to the last bit; a GPU tries its kernels again.
@test "a run that goes on from a checkpoint writes the files of a run that was never stopped" {
    cpd "$DATA/planted.tns" -r 5 -i 12 --tol 0 --backend host -o whole
    for stop in 1 5 11 12; do
        cpd "$DATA/planted.tns" -r 5 -i $stop --tol 0 --backend host --nowrite --checkpoint c -t 1
        grep -qx "wrote c (checkpoint of iteration $stop)" messages
        for threads in 1 3; do
            cpd "$DATA/planted.tns" -r 5 -i 12 --tol 0 --backend host -o end --resume c -t $threads
            grep -q "^resuming c: $stop iteration" messages
            grep -q '^fit .* after 12 iterations' messages
            for file in whole.*.mat; do cmp "$file" "end${file#whole}"; done
        done
    done
}

@test "text, gzip, .blco and standard input are the same tensor" {
    cpd "$DATA/planted.tns" -r 3 -i 4 --tol 0 --nowrite --checkpoint c
    "$BLCO" convert -q "$DATA/planted.tns" x.blco
    gzip -c "$DATA/planted.tns" >x.tns.gz
    sort -R "$DATA/planted.tns" >shuffled.tns
    for tensor in x.blco x.tns.gz shuffled.tns; do
        cpd $tensor -r 3 -i 6 --nowrite --resume c
    done
    cpd - -r 3 -i 6 --nowrite --resume c <"$DATA/planted.tns"
}

@test "checkpoints of another tensor, rank or precision are refused with what differs" {
    tensor=$DATA/planted.tns
    cpd "$tensor" -r 3 -i 4 --nowrite --checkpoint c
    fails 2 "c: a checkpoint of rank 3, but -r is 4" cpd -q "$tensor" -r 4 --resume c
    fails 2 "it has 3 modes, this one 2" cpd -q - -r 3 --resume c --nowrite < <(printf '1 1 1\n')
    fails 2 "its mode 1 has length 20, that of this one 4" cpd -q "$DATA/matmul-2x2x2.tns" -r 3 --resume c
    sed '$d' "$tensor" >fewer.tns
    fails 2 "nonzeros, this one" cpd -q fewer.tns --dims 20,25,30 -r 3 --resume c
    awk 'NR == 7 { $NF *= 2 } 1' "$tensor" >other.tns
    fails 2 "their coordinates or values differ" cpd -q other.tns --dims 20,25,30 -r 3 --resume c
    fails 2 "none: cannot be read: No such file" cpd -q "$tensor" -r 3 --resume none
    fails 2 "not a checkpoint of blco" cpd -q "$tensor" -r 3 --resume "$tensor"
    printf '\001' | dd of=c bs=1 seek=52 conv=notrunc 2>dd.log # the header's precision
    fails 2 "c: damaged: the header's checksum is wrong" cpd -q "$tensor" -r 3 --resume c
    [ -z "$(ls -- *.mat 2>/dev/null)" ]
}

@test "options are checked before the tensor is read" {
    tensor=$DATA/planted.tns
    for start in x random normal nvecs; do
        fails 2 "--resume and --init: give only one" cpd -q "$tensor" -r 3 --resume c --init $start
    done
    for option in --checkpoint --resume --resume-if-exists --record --rescue; do
        fails 2 "$option: '', expected a name" cpd -q "$tensor" -r 3 $option ''
    done
    for option in --checkpoint --resume --resume-if-exists --record; do
        fails 2 "$option: '-', expected the name of a file" cpd -q "$tensor" -r 3 $option -
    done
    fails 2 "--checkpoint-every needs --checkpoint" cpd -q "$tensor" -r 3 --checkpoint-every 5m
    for text in '' 5 m 0m 5x 1m1h 1m1m -5m '5m ' 1.5h 99999999999s; do
        fails 2 "--time-limit: '$text', expected a time as" cpd -q "$tensor" -r 3 --time-limit "$text"
    done
    for text in i 0i 1.5i -1i; do
        fails 2 "--checkpoint-every: '$text', expected a number of iterations" \
            cpd -q "$tensor" -r 3 --checkpoint c --checkpoint-every "$text"
    done
    fails 5 "no/c: cannot be written: there is no such folder" cpd -q "$tensor" -r 3 --checkpoint no/c
    for text in 1s 2m 3h 4d 1d2h3m4s 3h50m; do
        cpd "$tensor" -r 2 -i 1 --nowrite --time-limit $text --checkpoint c --checkpoint-every $text
    done
}

@test "signals end the run with a checkpoint and the model, from which the next run goes on" {
    for signal in HUP:129 INT:130 TERM:143; do
        rm -f long.* c
        start_saving
        kill -"${signal%:*}" $pid
        exits "${signal#*:}"
        grep -q '^fit .* iterations, interrupted' messages
        reached=$(iterations c)
        grep -qx "wrote c (checkpoint of iteration $reached)" messages
        [ "$(find . -name 'long.*' | wc -l)" -eq 5 ]
        cpd "$DATA/planted.tns" -r 4 -i "$reached" --tol 0 -o again --resume c
        for file in long.*.mat; do cmp "$file" "again${file#long}"; done
    done
}

@test "SIGUSR1 asks for a checkpoint, and the run goes on" {
    start_saving
    [ ! -e c ]
    for ((n = 0; n < 2; n++)); do
        rm -f c
        kill -USR1 $pid
        for ((i = 0; i < 100; i++)); do
            [ ! -e c ] || break
            sleep 0.1
        done
        [ -s c ]
    done
    kill -TERM $pid
    exits 143
}

@test "the time limit ends the run with exit status 0, a checkpoint and the model" {
    run -0 --separate-stderr "$BLCO" cpd "$DATA/planted.tns" -r 4 -i 1000000000 --tol 0 -t 1 -o x \
        --checkpoint c --time-limit 1s
    [[ $stderr == *"stopped at the time limit"* ]]
    [ -s c ] && [ -s x.mode1.mat ]
}

@test "a checkpoint that cannot be written: the model is, and the exit status is 5" {
    start_saving
    mkdir c
    kill -TERM $pid
    exits 5
    grep -q '^blco cpd: c: cannot be written: ' messages
    [ "$(find . -name 'long.*' | wc -l)" -eq 5 ]
    rmdir c
}

@test "processes save together, and any number of processes goes on" {
    needs_mpirun
    cpd "$DATA/planted.tns" -r 3 -i 9 --tol 0 --nowrite --checkpoint one
    expected=$(fit)
    cpd "$DATA/planted.tns" -r 3 -i 5 --tol 0 --nowrite --checkpoint c
    for ranks in 2 3; do
        processes $ranks "$BLCO" cpd "$DATA/planted.tns" -r 3 -i 7 --tol 0 --nowrite --resume c \
            --checkpoint d --checkpoint-every 1i -t 1 2>messages || { cat messages && return 1; }
        [ "$(iterations d)" = 7 ]
        cpd "$DATA/planted.tns" -r 3 -i 9 --tol 0 --nowrite --resume d
        near "$(fit)" "$expected" 2e-9
    done
    [ -z "$(find . -name '.blco-*')" ]
    awk 'NR == 7 { $NF *= 2 } 1' "$DATA/planted.tns" >other.tns
    run processes 2 "$BLCO" cpd other.tns --dims 20,25,30 -r 3 --nowrite --resume c -t 1
    [[ $output == *"their coordinates or values differ"* ]]
    run processes 2 "$BLCO" cpd "$DATA/planted.tns" -r 4 --nowrite --resume c -t 1
    [[ $output == *"a checkpoint of rank 3, but -r is 4"* ]]
}

@test "--resume-if-exists: one command starts, goes on, and ends like a run that was never stopped" {
    cpd "$DATA/planted.tns" -r 5 -i 12 --tol 0 --backend host -o whole
    one=("$DATA/planted.tns" -r 5 --tol 0 --backend host -o end --checkpoint c --resume-if-exists c)
    cpd "${one[@]}" -i 5
    grep -qx "c does not exist yet: this is a new run" messages
    cpd "${one[@]}" -i 12
    grep -q "^resuming c: 5 iterations" messages
    for file in whole.*.mat; do cmp "$file" "end${file#whole}"; done
    # the start is that of the first run, even if another one is named
    cpd "${one[@]}" -i 13 --init end
    grep -q "^resuming c: 12 iterations" messages
    rm c
    cpd "${one[@]}" -i 3 --init end --record r.json
    [ "$(python3 -c 'import json; o = json.load(open("r.json"))["options"]; print(o["init"], o["resume"])')" = "end None" ]
    cpd "${one[@]}" -i 4 --init end --record r.json
    [ "$(python3 -c 'import json; o = json.load(open("r.json"))["options"]; print(o["init"], o["resume"])')" = "None c" ]
}

@test "--resume-if-exists: what is refused" {
    t=$DATA/planted.tns
    fails 2 "--resume and --resume-if-exists: give only one" cpd "$t" -r 2 --resume a --resume-if-exists b
    fails 2 "--resume-if-exists and --starts: a checkpoint has the state of one start" \
        cpd "$t" -r 2 --resume-if-exists c --starts 2
    fails 2 "--resume-if-exists and a range of -r: a checkpoint has" cpd "$t" -r 2:3 --resume-if-exists c
    fails 2 "--fix needs --init STEM" cpd "$t" -r 2 --fix 1 --resume-if-exists c
    touch file
    fails 2 "file/c: Not a directory" cpd "$t" -q -r 2 --nowrite --resume-if-exists file/c
    # an existing file is used, even if it is no checkpoint
    fails 2 "file" cpd "$t" -q -r 2 --nowrite --resume-if-exists file
}

@test "--resume-if-exists: what process 0 sees counts for all" {
    needs_mpirun
    one=("$DATA/planted.tns" -r 4 --tol 0 --backend host -t 1 -o end --checkpoint c --resume-if-exists c)
    processes 3 "$BLCO" cpd "${one[@]}" -i 4 2>messages
    [ "$(grep -c "c does not exist yet: this is a new run" messages)" -eq 1 ]
    processes 3 "$BLCO" cpd "${one[@]}" -i 6 2>messages
    grep -q "^resuming c: 4 iterations" messages
    grep -q "^fit .* after 6 iterations" messages
    # each process has its own folder: the checkpoint is only in that of process 0, then only in another one
    for k in 0 1; do
        rm -rf 0 1 && mkdir 0 1 && cp c "$k/c"
        # shellcheck disable=SC2016 # for the new shell
        run processes 2 bash -c 'cd "$OMPI_COMM_WORLD_RANK" && exec "$BLCO" cpd "$@"' bash \
            "$DATA/planted.tns" -r 4 --tol 0 -i 6 --backend host -t 1 --nowrite --resume-if-exists c
        if [ "$k" -eq 0 ]; then
            [ "$status" -eq 2 ]
            [[ $output == *"rank 1: c: cannot be read: No such file or directory"* ]]
        else
            [ "$status" -eq 0 ]
            [[ $output == *"c does not exist yet: this is a new run"* ]]
        fi
    done
}

@test "--require-converged: a run that ends before writes its model and exits with 7" {
    t=$DATA/planted.tns
    cpd "$t" -r 3 --require-converged -o a
    run -7 --separate-stderr "$BLCO" cpd -q "$t" -r 3 -i 2 --require-converged -o b --checkpoint c --record b.json
    [ "$stderr" = "blco cpd: not converged (--require-converged); the model is written" ]
    [ -s b.mode3.mat ]
    [ -s b.json ]
    [ -s c ]
    fails 7 "not converged (--require-converged)" cpd -q "$DATA/matmul-3x3x3.tns" -r 22 --accelerate off \
        --tol 1e-300 -i 1000000000 --time-limit 1s --require-converged --nowrite
    # of several ranks each must have converged, and all are there
    run -7 --separate-stderr "$BLCO" cpd -q "$t" -r 1:3 -i 2 --require-converged -o d
    [ "$stderr" = "blco cpd: not converged (--require-converged); the model is written" ]
    grep -q "^ *3 " <<<"$output"
    [ -s d.r1.mode1.mat ]
    [ -s d.r3.mode1.mat ]
    "$BLCO" cpd -q "$t" -r 1:2 -i 1000 --require-converged --nowrite
    "$BLCO" cpd -q "$t" -r 3 -i 1000 --starts 3 --require-converged --nowrite
    fails 2 "--require-converged and --tol 0: such a run never converges" cpd "$t" -r 3 --tol 0 --require-converged
    # without the option nothing changes
    "$BLCO" cpd -q "$t" -r 3 -i 2 --nowrite
}

@test "--require-converged: a signal counts first" {
    OPENBLAS_NUM_THREADS=1 env --default-signal=INT,TERM \
        "$BLCO" cpd "$DATA/matmul-3x3x3.tns" -r 22 -i 1000000000 --tol 1e-300 -t 1 --accelerate off \
        --nowrite --require-converged 2>messages &
    pid=$!
    await_building
    sleep 1
    kill -TERM $pid
    exits 143
}

@test "--require-converged: one of several processes prints the message, and all exit with 7" {
    needs_mpirun
    run processes 3 "$BLCO" cpd -q "$DATA/planted.tns" -r 3 -i 2 --require-converged --backend host -t 1 -o b
    [ "$status" -eq 7 ]
    [ "$(grep -c 'not converged' <<<"$output")" -eq 1 ]
    [ -s b.mode3.mat ]
    processes 3 "$BLCO" cpd -q "$DATA/planted.tns" -r 3 --require-converged --backend host -t 1 -o b
}
