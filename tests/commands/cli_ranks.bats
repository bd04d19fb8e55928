# blco cpd on several processes, started by Open MPI's mpirun: the results are those of one process,
# messages are printed once, and all processes end when one of them does.
# bats file_tags=threads
load cli_helpers
load ../support/mpi

# ranks N ARGUMENT...: blco cpd on N processes, the messages kept in the file messages; fails with
# them shown.
ranks() {
    local n=$1
    shift
    processes "$n" "$BLCO" cpd "$@" 2>messages || { code=$? && cat messages && return $code; }
}

# generate_small: x.tns, in which three components and noise are.
generate_small() {
    "$BLCO" generate -q x.tns --dims 60x45x50 --nnz 8000 --planted-rank 3 --noise 0.2
}

# As many processes make what is wrong with memory or threads happen.
numbers="1 2 3 4 7"
! sanitized || numbers="2 7"

# What the summary says of the result.
result() { sed -n 's/^\(fit .*\) (last change .*/\1/p' messages; }

# same_models A B: the files of the stems A and B have the same names, headers and numbers, these
# within 1e-8. Components are in the order of lambda, so that the columns correspond.
same_models() {
    python3 - "$1" "$2" <<'END'
import array, glob, sys

def number(word):
    try:
        return float(word)
    except ValueError:
        return word

def read(path):
    data = open(path, "rb").read()
    if data.startswith(b"\x93NUMPY"):
        start = 10 + int.from_bytes(data[8:10], "little")
        return [data[:start]] + list(array.array("d", data[start:]))
    lines = (line for line in data.decode().splitlines() if '"hash"' not in line)  # of runs that have computed it
    return [number(word.strip("[],")) for line in lines for word in line.split()]

def differ(a, b):
    return abs(a - b) > 1e-8 * max(1, abs(a)) if isinstance(a, float) else a != b

one, other = sys.argv[1:]
ends = sorted(p[len(one):] for p in glob.glob(one + ".*") if not p.endswith((".tns", ".gz", ".blco")))
if not ends or len(glob.glob(other + ".*")) != len(ends):
    sys.exit("not the same files: " + " ".join(glob.glob(one + ".*") + glob.glob(other + ".*")))
for end in ends:
    a, b = read(one + end), read(other + end)
    if len(a) < 3 or len(a) != len(b):
        sys.exit(f"{end}: {len(a)} and {len(b)} numbers")
    for i, (left, right) in enumerate(zip(a, b)):
        if differ(left, right):
            sys.exit(f"{end}: place {i}: {left} and {right}")
END
}

@test "fluorescence: the reference run on 1, 2, 3, 4 and 7 processes" {
    needs_mpirun
    reference_start "5 31 21" "0 1 2 0 7 15 0 5 10" >start.ktns
    for n in $numbers; do
        ranks $n "$DATA/fluorescence.tns" -r 3 --init start -i 1000 --accelerate off -o x
        echo "$n processes: $(result)"
        grep -q '^3 explicit zeros dropped' messages
        [ "$(result)" = "fit 0.927583694 (explains 99.5 % of the squared values) after 53 iterations, converged" ]
        printf '%s\n' 8129.6246 7362.1268 6420.4849 | paste - x.lambda.mat |
            while read -r expected got; do near "$got" "$expected" 5e-4; done
    done
}

@test "the fit, the iterations and the files of one process, on 1, 2, 3, 4 and 7" {
    needs_mpirun
    generate_small
    cpd x.tns -r 3 -o one --format text,npy,ktns
    expected=$(result)
    [[ $expected == *" iterations, converged" ]]
    for n in $numbers; do
        ranks $n x.tns -r 3 -o many --format text,npy,ktns
        echo "$n processes: $(result), expected $expected"
        [ "$(result)" = "$expected" ]
        same_models one many
        for file in many.*; do grep -qx "wrote $file" messages; done
    done
}

# alike ARGUMENT...: on four processes as on one.
alike() {
    cpd "$@" -r 3 -o one
    expected=$(result)
    ranks 4 "$@" -r 3 -o many
    echo "$*: $(result), expected $expected"
    [ -n "$expected" ]
    [ "$(result)" = "$expected" ]
    same_models one many
    rm one.* many.*
}

@test "options change the result of several processes as that of one" {
    needs_mpirun
    generate_small
    cpd x.tns -r 3 -i 2 --seed 7 -o start
    alike x.tns --init start
    alike x.tns --init normal --seed 5 -i 7
    alike x.tns --ridge 0.5 -i 9
    alike x.tns -t 2 -i 4 --tol 0
    alike x.tns --host-memory 16M -i 4
    alike x.tns --dims 70x45x55 -i 4
    cpd x.tns -r 3 -o one
    for grid in 2x2x1 1x4x1 1x2x2; do
        ranks 4 x.tns -r 3 --grid $grid -o many
        grep -q "^4 ranks, grid $grid, " messages
        same_models one many
    done
}

@test "rows that have systems of their own are dealt: results, a resumed run, the record" {
    needs_mpirun
    generate_small
    "$BLCO" generate -q counts.tns --dims 60x45x1x50 --nnz 8000 --planted-rank 3 --poisson 5
    alike x.tns --unlisted unknown --ridge 0.1 -i 9
    alike x.tns --unlisted 0.2 --nonneg -i 9
    alike counts.tns --loss poisson -i 9
    alike counts.tns --loss poisson --solver mu --precision single -i 4
    for options in "--unlisted unknown --ridge 0.1" "--loss poisson"; do
        rm -f ./*.mat
        # shellcheck disable=SC2086
        cpd counts.tns -r 3 $options -i 12 -o one
        # shellcheck disable=SC2086
        ranks 7 counts.tns -r 3 $options -i 5 -o many --checkpoint state
        # shellcheck disable=SC2086
        ranks 2 counts.tns -r 3 $options -i 12 -o many --resume state --record many.json
        grep -q "^2 ranks, each with all entries of the rows that it solves$" messages
        python3 -c '
import json
ranks = json.load(open("many.json"))["ranks"]
assert ranks["grid"] == [1, 1, 1, 1] and 0 <= ranks["imbalance"] < 0.1, ranks'
        rm many.json state
        same_models one many
    done
    refused="no mode is cut where each row has a system of its own"
    fail_together 2 "--grid and --loss poisson: $refused" counts.tns -r 3 --grid 3x1x1x1 --loss poisson
    sed '1s/ [^ ]*$/ nan/' x.tns >unknown.tns
    fail_together 2 "--grid and unknown entries (nan): $refused" unknown.tns -r 3 --grid 3x1x1
}

@test "every kind of input is shared out: .blco, gzip, standard input" {
    needs_mpirun
    generate_small
    "$BLCO" convert -q x.tns x.blco
    gzip -k x.tns
    cpd x.tns -r 3 -i 9 -o one
    expected=$(result)
    for input in x.blco x.tns.gz -; do
        feed=/dev/null
        [ "$input" != - ] || feed=x.tns
        # mpirun itself, of Open MPI 4.1, crashes at times in its reader of standard input, orte_iof
        ranks 3 $input -r 3 -i 9 -o many <$feed || { grep -q orte_iof messages && ranks 3 $input -r 3 -i 9 -o many <$feed; }
        echo "$input: $(result), expected $expected"
        [ "$(result)" = "$expected" ]
        same_models one many
    done
    # duplicates that are in the shares of different ranks are summed
    { cat x.tns && cat x.tns; } >twice.tns
    ranks 3 twice.tns -r 3 -i 9 -o twice
    [ "$(result)" = "$expected" ]
    grep -q 'duplicate' messages
    paste one.lambda.mat twice.lambda.mat | while read -r a b; do near "$(awk "BEGIN { print $b / $a }")" 2 1e-5; done
}

@test "rank 0 alone speaks; -v lists every rank; -q is silent" {
    needs_mpirun
    generate_small
    ranks 4 x.tns -r 3 -i 3 -v -o x
    cat messages
    for text_line in 'blco .*, 4 processes, rank 3, seed 1' 'reading x.tns: .*' '4 ranks, grid .*' 'building: .*' \
        'decomposing: .*' 'rank host .*' 'writing: .*' 'fit .*' '  read .*' '  exchange .*' '  total .*' \
        'moving rows .*' 'peak memory .*' 'wrote x.lambda.mat' 'wrote x.mode1.mat'; do
        [ "$(grep -cx "$text_line" messages)" -eq 1 ]
    done
    [ "$(grep -cE '^ +[0-3] .* [0-9.]+ s +[0-9.]+ s +[0-9.]+ s +[0-9.]+ [kMG]B$' messages)" -eq 4 ]
    # their nonzeros are all nonzeros
    [ "$(awk '$1 ~ /^[0-3]$/ && $7 == "s" { sum += $5 } END { print sum }' messages)" = "$(wc -l <x.tns)" ]
    run processes 4 "$BLCO" cpd x.tns -q -r 3 -i 3 -o x
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

# fail_together CODE MESSAGE ARGUMENT...: three processes end with CODE, and one of them prints MESSAGE.
fail_together() {
    local code=$1 message=$2
    shift 2
    run processes 3 "$BLCO" cpd -q "$@" </dev/null
    echo "blco cpd $*: exit $status, expected $code and $message: $output"
    [ "$status" -eq "$code" ]
    [ "$(grep -c '^blco cpd: ' <<<"$output")" -eq 1 ]
    [[ $(grep '^blco cpd: ' <<<"$output") == "blco cpd: "*"$message"* ]]
}

@test "a failure is printed once, with its exit status" {
    needs_mpirun
    generate_small
    fail_together 2 "none.tns: No such file or directory" none.tns -r 3
    fail_together 2 "none.blco: No such file or directory" none.blco -r 3
    fail_together 2 "unknown option --bogus" x.tns --bogus
    fail_together 2 "--grid: '2x2x1', expected a product of 3, the number of processes" x.tns -r 3 --grid 2x2x1
    fail_together 2 "a grid of 2 numbers, expected 3" x.tns -r 3 --grid 3x1
    fail_together 2 "--gpus: backend host uses no GPU" x.tns -r 3 --backend host --gpus 2
    fail_together 5 "none/x.mode1.mat: cannot be written: there is no such folder" x.tns -r 3 -o none/x
    fail_together 3 "memory" x.tns -r 3 --backend host --host-memory 1K
    fail_together 3 "memory" x.tns -r 1000000 --backend host --host-memory 1G
    [ "$(ls)" = x.tns ]
}

@test "wrong text in the share of any rank gives one message, with the text line" {
    needs_mpirun
    generate_small
    last=$(wc -l <x.tns)
    for at in 1 $((last / 2)) "$last"; do
        sed "${at}s/ / x /" x.tns >bad.tns
        fail_together 2 "bad.tns:$at: " bad.tns -r 3
    done
    gzip -k bad.tns
    fail_together 2 "bad.tns.gz:$last: " bad.tns.gz -r 3
    [ "$(ls)" = "$(printf '%s\n' bad.tns bad.tns.gz x.tns)" ]
}

@test "numbers that are too large and files that cannot be written give one message" {
    needs_mpirun
    printf '1 1 1.7e308\n1 2 1.7e308\n2 1 1.7e308\n2 2 1.7e308\n' >huge.tns
    fail_together 4 "a weight of the model is more than a double holds" huge.tns -r 1
    printf '1 1 1e308\n1 2 1\n2 1 1\n2 2 1\n1 1 1e308\n' >sum.tns
    fail_together 2 "sum.tns: the entries with the coordinates 1 1, counted from 1, add up" sum.tns -r 1
    [ "$(ls)" = "$(printf 'huge.tns\nsum.tns')" ]
    generate_small
    mkdir x.mode2.mat
    fail_together 5 "x.mode2.mat" x.tns -r 2 -i 1
    [ "$(ls)" = "$(printf '%s\n' huge.tns sum.tns x.mode2.mat x.tns)" ]
}

# start_job N ARGUMENT...: blco cpd on N processes in the background; their ids are in pids once all
# of them are there.
start_job() {
    local n=$1
    shift
    processes "$n" bash -c 'echo $$ >"pid.$OMPI_COMM_WORLD_RANK"; exec env --default-signal=INT,TERM "$@"' bash \
        "$BLCO" cpd "$@" </dev/null >messages 2>&1 &
    launcher=$!
    pids=()
    for ((i = 0; i < 200 && ${#pids[@]} < n; i++)); do
        sleep 0.05
        mapfile -t pids < <(cat pid.* 2>/dev/null)
    done
    [ ${#pids[@]} -eq "$n" ]
}

# end_job: waits for the launcher; $code is its exit status, $SECONDS how long that took.
end_job() {
    SECONDS=0 code=0
    wait "$launcher" || code=$?
    for pid in "${pids[@]}"; do gone "$pid"; done
    rm pid.*
    echo "exit $code after $SECONDS s" && cat messages
}

# told PATTERN: waits for this message of the job.
told() {
    for ((i = 0; i < 200; i++)); do
        grep -q "$1" messages && return
        sleep 0.05
    done
    return 1
}

@test "SIGTERM to one rank or to all: the iteration ends, the model is written, exit status 143" {
    needs_mpirun
    generate_small
    for which in 0 2 all; do
        rm -f long.*
        start_job 3 x.tns -r 3 -i 1000000000 --tol 0 -o long
        told '^building'
        sleep 0.2
        if [ $which = all ]; then kill -TERM "${pids[@]}"; else kill -TERM "$(cat pid.$which)"; fi
        end_job
        [ $code -eq 143 ]
        [ $SECONDS -lt 10 ]
        [ "$(grep -c '^fit .* iterations, interrupted' messages)" -eq 1 ]
        [ "$(ls long.*)" = "$(printf '%s\n' long.lambda.mat long.mode1.mat long.mode2.mat long.mode3.mat long.model.json)" ]
        [ "$(awk 'END { print NR, NF }' long.mode3.mat)" = "50 3" ]
    done
}

# Once the processes have met: mpirun may wait for ever for a process that is killed while it connects.
@test "a rank that is killed at any moment ends the job, and older files stay as they are" {
    needs_mpirun
    "$BLCO" generate -q x.tns --dims 400x300x500 --nnz 100000 --planted-rank 3
    ranks 3 x.tns -r 3 -i 2 -o kept
    mkdir old && cp kept.* old
    names=$(ls)
    for round in $(seq "$(sanitized && echo 3 || echo 6)"); do
        start_job 3 x.tns -r 3 -i 1000000000 --tol 0 -o kept
        told '^blco '
        sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
        kill -9 "$(cat pid.$((round % 3)))"
        end_job
        [ $code -ne 0 ]
        [ $code -ne 124 ]
        [ $SECONDS -lt 10 ]
        for file in old/*; do cmp "$file" "$(basename "$file")"; done
        rm -f kept.lock # of a process that was killed; the next run takes it over
        [ "$(ls)" = "$names" ]
    done
}

@test "no rank needs the memory of one process" {
    needs_mpirun
    [[ $BLCO != */asan/* ]] || skip "the address sanitizer keeps memory that was freed"
    bytes() { awk '{ printf "%.0f\n", $1 * ($2 == "GB" ? 1e9 : $2 == "MB" ? 1e6 : 1e3) }'; }
    peaks() { grep -E '^ +[0-3] ' messages | awk '{ print $(NF - 1), $NF }' | bytes; }
    "$BLCO" generate -q x.blco --dims 30000x20000x25000 --nnz 4000000
    "$BLCO" generate -q small.tns --dims 4x5x6 --nnz 50
    # what a process takes for any tensor: its libraries, and those of MPI
    ranks 4 small.tns -r 4 -i 2 --nowrite -t 1 -v
    base=$(peaks | sort -n | tail -1)
    cpd small.tns -r 4 -i 2 --nowrite -t 2
    base_of_one=$(sed -n 's/^peak memory //p' messages | bytes)
    cpd x.blco -r 4 -i 2 --nowrite -t 2
    one=$(sed -n 's/^peak memory //p' messages | bytes)
    ranks 4 x.blco -r 4 -i 2 --nowrite -t 1 -v
    peaks >peaks
    echo "one process: $one bytes, of which $base_of_one for any tensor; ranks, of which $base:"
    cat peaks
    [ "$(wc -l <peaks)" -eq 4 ]
    # a process of four: at most half
    awk -v one="$((one - base_of_one))" -v base="$base" '$1 <= base || $1 - base > one / 2 { exit 1 }' peaks
}
