# bats file_tags=threads
load cli_helpers

@test "the files of each format, and nothing else" {
    tensor=$DATA/planted.tns
    cpd "$tensor" -r 3 -i 3
    [ "$(ls)" = "$(printf '%s\n' messages planted.lambda.mat planted.mode1.mat planted.mode2.mat planted.mode3.mat planted.model.json results)" ]
    [ "$(awk 'END { print NR, NF }' planted.mode2.mat)" = "25 3" ]
    [ "$(awk 'END { print NR, NF }' planted.lambda.mat)" = "3 1" ]
    for name in lambda mode1 mode2 mode3; do
        grep -qx "wrote planted.$name.mat" messages
    done
    rm -- *
    cpd "$tensor" -r 3 -i 3 -o x --format npy,ktns
    [ "$(ls)" = "$(printf '%s\n' messages results x.ktns x.lambda.npy x.mode1.npy x.mode2.npy x.mode3.npy x.model.json)" ]
    rm -- *
    cpd "$tensor" -r 3 -i 3 --nowrite
    [ "$(ls)" = "$(printf "messages\nresults")" ]
    gzip -c "$tensor" >y.tns.gz
    cpd y.tns.gz -r 3 -i 1
    [ -s y.mode1.mat ]
}

@test "columns have unit length and weights descend" {
    cpd "$DATA/planted.tns" -r 3 -o x
    for n in 1 2 3; do
        awk '{ for (r = 1; r <= NF; r++) s[r] += $r * $r }
             END { for (r = 1; r <= 3; r++) if (s[r] < 1 - 1e-12 || s[r] > 1 + 1e-12) exit 1 }' x.mode$n.mat
    done
    awk 'NR > 1 && $1 > last { exit 1 } $1 < 0 { exit 1 } { last = $1 }' x.lambda.mat
}

@test "known answers: rank one, and a planted model" {
    # 2 x 2 matrix multiplication: the best component is one entry, 1 - sqrt(7/8)
    for seed in 1 2 3; do
        cpd "$DATA/matmul-2x2x2.tns" -r 1 --tol 1e-12 -i 1000 --nowrite --seed $seed
        near "$(fit)" 0.064585653 2e-9
    done
    # a matrix: the strongest singular value, 5, of diag(5, 2)
    printf '1 1 5\n2 2 2\n' >x.tns
    cpd x.tns -r 1 --tol 0 -i 200 -o x
    near "$(cat x.lambda.mat)" 5 1e-9
    near "$(fit)" "$(awk 'BEGIN { print 1 - 2 / sqrt(29) }')" 1e-5
    # the model that the tensor was made from is a fixed point
    cpd "$DATA/planted.tns" -r 4 --init "$DATA/planted" -i 2 -o again
    near "$(fit)" 1 1e-7
    # and is found from a random start
    cpd "$DATA/planted.tns" -r 4 --tol 1e-12 -i 2000 --nowrite
    near "$(fit)" 1 1e-5
}

@test "a seed gives the same model for any number of threads, another seed another model" {
    for threads in 1 2 3; do
        cpd "$DATA/planted.tns" -r 5 -i 20 --tol 0 --seed 42 -t $threads -o t$threads
        fit >fit$threads
        paste t1.lambda.mat t$threads.lambda.mat | while read -r a b; do near "$b" "$a" "1e-9"; done
    done
    [ "$(cat fit1)" = "$(cat fit2)" ]
    [ "$(cat fit1)" = "$(cat fit3)" ]
    cpd "$DATA/planted.tns" -r 5 -i 20 --tol 0 --seed 43 -o other
    run ! cmp -s t1.lambda.mat other.lambda.mat
    cpd "$DATA/planted.tns" -r 5 -i 20 --tol 0 --seed 42 --init normal -o normal
    ! cmp -s t1.lambda.mat normal.lambda.mat
}

@test "threads: -t, else OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK, else the processors allowed" {
    tensor=$DATA/ucb-admissions.tns
    threads() { sed -n 's/.* \([0-9]*\) threads\{0,1\}, rank.*/\1/p' messages; }
    OMP_NUM_THREADS=3 SLURM_CPUS_PER_TASK=5 cpd "$tensor" -r 1 --nowrite -t 2
    [ "$(threads)" = 2 ]
    OMP_NUM_THREADS=3 SLURM_CPUS_PER_TASK=5 cpd "$tensor" -r 1 --nowrite
    [ "$(threads)" = 3 ]
    unset OMP_NUM_THREADS
    SLURM_CPUS_PER_TASK=5 cpd "$tensor" -r 1 --nowrite
    [ "$(threads)" = 5 ]
    cpd "$tensor" -r 1 --nowrite
    [ "$(threads)" = "$(nproc)" ]
}

@test "each way of resolving conflicts gives the same fit" {
    cpd "$DATA/planted.tns" -r 3 -i 20 --tol 0 --nowrite
    expected=$(fit)
    for conflict in ordered hierarchical register atomic; do
        cpd "$DATA/planted.tns" -r 3 -i 20 --tol 0 --nowrite --conflict $conflict
        near "$(fit)" "$expected" 2e-9
    done
}

@test "a start from files: all formats, and the shapes must agree" {
    cpd "$DATA/planted.tns" -r 3 -i 2 -o start --format text,npy,ktns
    mkdir text npy ktns
    cp start.*.mat text && cp start.*.npy npy && cp start.ktns ktns
    for format in text npy ktns; do
        cpd "$DATA/planted.tns" -r 3 -i 2 --init $format/start -o $format/end
        cmp text/end.mode1.mat $format/end.mode1.mat
    done
    fails 2 "--init start: 3 modes, but the tensor has 2" cpd -q - -r 3 --init start --nowrite \
        < <(printf '1 1 1\n')
    fails 2 "--init start: mode 1 has 20 rows, but the tensor's has length 4" \
        cpd -q "$DATA/matmul-2x2x2.tns" -r 3 --init start --nowrite
}

@test "orders from 1 to 16, and modes of length 1" {
    printf '3 4\n1 3\n' | cpd - -r 1 -o v
    near "$(cat v.lambda.mat)" 5 1e-12
    near "$(fit)" 1 1e-9
    grep -q 'warning: a tensor of one mode is a vector' messages
    printf '1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2.5\n' | cpd - -r 1 -o w
    near "$(cat w.lambda.mat)" 2.5 1e-15
    [ -s w.mode16.mat ]
}

@test "warnings: a rank beyond a mode's length, components that vanish" {
    cpd "$DATA/ucb-admissions.tns" -r 3 --nowrite
    grep -qx 'warning: rank 3 is larger than mode 1 (length 2): its columns cannot be independent' messages
    ! grep -q 'mode 3 (length' messages
}

@test "the summary says why the run stopped, where the time went, and what was written" {
    cpd "$DATA/planted.tns" -r 2 -i 2 --tol 0 -o x
    grep -qE '^fit 0\.[0-9]+ \(explains [0-9.]+ % of the squared values\) after 2 iterations, stopped at the limit of iterations \(last change ' messages
    cpd "$DATA/planted.tns" -r 2 --tol 0.5 -o x
    grep -qE '^fit 0\.[0-9]+ \(explains [0-9.]+ % of the squared values\) after 2 iterations, converged \(last change ' messages
    # stages of less than a hundredth of the total are shown with -v only
    grep -qE '^  total +[0-9.]+ s 100\.0 %$' messages
    awk '/^  [a-z]+ +[0-9.]+ s +[0-9.]+ %$/ { rows++; if ($4 < 1.0) exit 1 } END { exit rows < 2 || rows > 11 }' messages
    grep -qE '^peak memory [0-9.]+ [kMG]B$' messages
    run ! grep -q '^    mode 1 ' messages
    cpd "$DATA/planted.tns" -r 2 -i 2 -v --nowrite
    [ "$(grep -cE '^    mode [123] +[0-9.]+ s$' messages)" -eq 6 ]
    for stage in read clean build load mttkrp update fit store write other total; do
        grep -qE "^  $stage +-?[0-9.]+ s +-?[0-9.]+ %$" messages
    done
    [ "$(grep -c ' 0\.[0-9] %$' messages)" -gt 0 ]
    ! grep -q '^wrote' messages
}

@test "cpd prints nothing to standard output, and nothing at all with -q" {
    run -0 --separate-stderr "$BLCO" cpd "$DATA/planted.tns" -r 2 -i 2 -o x
    [ -z "$output" ]
    [ -n "$stderr" ]
    run -0 "$BLCO" cpd "$DATA/planted.tns" -q -r 30 -i 2 -o x
    [ -z "$output" ]
}

@test "too little memory is exit status 3" {
    fails 3 "memory" cpd -q "$DATA/planted.tns" -r 2 --backend host --host-memory 1K -o x
    [ -z "$(ls)" ]
    fails 3 "memory" cpd -q "$DATA/planted.tns" -r 1000000 --backend host --host-memory 1G -o x
    run -3 --separate-stderr "$BLCO" info -q "$DATA/planted.tns" --backend host --host-memory 1K
    [[ $output == *"backend host: does not fit"* ]]
    [[ $output == *"does not fit: factors of "*" do not fit into the 1.00 kB of memory that may be used"* ]]
}

@test "what cannot fit is refused before a .blco file is read, with the rank that would fit" {
    "$BLCO" convert -q "$DATA/planted.tns" x.blco
    fails 3 "rank 1000000: factors of" cpd -q x.blco -r 1000000 --backend host --host-memory 4M -o x
    rank=$(sed -n 's/.*; rank \([0-9]*\) would fit/\1/p' <<<"$stderr")
    [ "$rank" -gt 1 ]
    run -3 --separate-stderr "$BLCO" cpd x.blco -r "$((rank + 1))" --backend host --host-memory 4M -o x
    [[ $stderr != *reading* ]]
    run -0 --separate-stderr "$BLCO" cpd x.blco -r "$rank" -i 1 --nowrite --backend host --host-memory 4M
    [[ $stderr == *"reading x.blco: "* ]]
}

@test "less memory takes another way to the same fit" {
    cpd "$DATA/planted.tns" -r 3 -i 10 --tol 0 --nowrite --backend host
    expected=$(fit)
    cpd "$DATA/planted.tns" -r 3 -i 10 --tol 0 --nowrite --backend host --host-memory 64K
    near "$(fit)" "$expected" 2e-9
}

@test "numerical breakdown is exit status 4 and leaves no files" {
    printf '1 1 1\n2 2 1\n' >x.tns
    printf 'ktensor\n2\n2 2\n1\n1\nmatrix\n2\n2 1\n1e200\n1\nmatrix\n2\n2 1\n1e200\n1\n' >huge.ktns
    run -4 --separate-stderr "$BLCO" cpd -q x.tns -r 1 -o out --init huge
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [ "$(ls)" = "$(printf 'huge.ktns\nx.tns')" ]
}

@test "values whose squares no double holds are scaled: the weights have their size" {
    for power in 200 300 -200 -300; do
        sed "s/\$/e$power/" "$DATA/planted.tns" >huge.tns
        cpd "$DATA/planted.tns" -r 3 -i 20 --tol 0 -o plain --backend host
        expected=$(fit)
        cpd huge.tns -r 3 -i 20 --tol 0 -o huge --backend host
        near "$(fit)" "$expected" 1e-9
        near "$(sed "s/e.*//" huge.lambda.mat | head -1)" \
            "$(awk 'NR == 1 { x = $1; while (x >= 10) x /= 10; while (x < 1) x *= 10; print x }' plain.lambda.mat)" 1e-5
        [[ $(head -1 huge.lambda.mat) == *e* ]]
    done
}

@test "a write that fails is exit status 5, leaves no files and keeps older ones" {
    [[ $BLCO != */tsan/* ]] || skip "the thread sanitizer itself writes larger files"
    echo old >x.lambda.mat
    run -5 --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 8; exec "$BLCO" cpd -q "$1" -r 40 -i 1 -o x' \
        bash "$DATA/planted.tns"
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [ "$(ls -A)" = x.lambda.mat ]
    [ "$(cat x.lambda.mat)" = old ]
}

@test "a file in the place of the folder, a folder in the place of a file" {
    mkdir x.mode2.mat
    run -5 --separate-stderr "$BLCO" cpd -q "$DATA/planted.tns" -r 2 -i 1 -o x
    [[ $stderr == *x.mode2.mat* ]]
    [ "$(ls -A)" = x.mode2.mat ]
}

# start_long_run: an endless run in the background; returns when it iterates.
start_long_run() {
    : >messages # those of an earlier run say nothing about this one
    OPENBLAS_NUM_THREADS=1 env --default-signal=INT,TERM \
        "$BLCO" cpd "$DATA/planted.tns" -r 4 -i 1000000000 --tol 0 -t 1 -v -o long 2>messages &
    pid=$!
    await_building
    sleep 1
}

@test "an interrupted run finishes its iteration, writes its model whole, and exits 130 or 143" {
    for signal in INT:130 TERM:143; do
        rm -f long.*
        start_long_run
        kill -"${signal%:*}" $pid
        code=0
        wait $pid || code=$?
        [ $code -eq "${signal#*:}" ]
        grep -q '^fit .* iterations, interrupted' messages
        [ "$(ls long.*)" = "$(printf '%s\n' long.lambda.mat long.mode1.mat long.mode2.mat long.mode3.mat long.model.json)" ]
        [ "$(awk 'END { print NR, NF }' long.mode3.mat)" = "30 4" ]
    done
}

@test "a second signal ends the run at once, without files" {
    start_long_run
    kill -STOP $pid
    kill -INT $pid
    kill -TERM $pid
    kill -CONT $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 130 ] || [ $code -eq 143 ]
    run ! grep -q '^fit' messages
    [ "$(ls long.*)" = long.lock ] # which the next run takes over
}

@test "one rank moves no rows, and says nothing of that" {
    printf '%s\n' '1 1 1 1' '2 1 2 3' '2 2 1 2' >x.tns
    "$BLCO" cpd x.tns -r 1 -i 3 --nowrite 2>messages
    run ! grep 'moving rows' messages
}
