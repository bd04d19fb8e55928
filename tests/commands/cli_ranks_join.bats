# The processes of one run compare, at the start, what each of them was asked for: the first thing that
# differs is named once, and no process waits.
# bats file_tags=threads
load cli_helpers
load ../support/mpi

# rank_script: the program `rank`, which runs "$BLCO $ONE", on the last process "$BLCO $OTHER".
rank_script() {
    cat >rank <<'END'
#!/bin/bash
words=$ONE
[ "$OMPI_COMM_WORLD_RANK" -ne $((OMPI_COMM_WORLD_SIZE - 1)) ] || words=$OTHER
exec "$BLCO" $words
END
    chmod +x rank
}

begin() {
    needs_mpirun
    rank_script
    "$BLCO" generate -q x.tns --dims 20x15x10 --nnz 800 --planted-rank 3 --noise 0.2
}

# differ N ONE OTHER: N processes, of which the last has other words; sets status and output.
differ() {
    ONE=$2 OTHER=$3 run processes "$1" env ONE="$2" OTHER="$3" ./rank </dev/null
    echo "$1 processes, $2 | $3: exit $status: $output"
}

# refused MESSAGE: exit 2, and one line, which has the message.
refused() {
    [ "$status" -eq 2 ]
    [ "$(grep -c '^blco [a-z]*: ' <<<"$output")" -eq 1 ]
    [[ $(grep '^blco [a-z]*: ' <<<"$output") == *"$1"* ]]
}

# Every option of blco cpd: whether all processes must have the same, its value on all processes but the
# last, and its value there; of an option without a value only the last process has it.
table() {
    cat <<'END'
same rank 3 4
same iters 5 6
same tol 1e-5 1e-3
same require-converged
same check-every 1 2
same accelerate off momentum
same seed 1 2
same starts 2 3
same init random normal
same match index all
same core-consistency
same ridge 0 1e-3
same ridge-scale balanced counted
same unlisted unknown 0.5
same fade 0.5 0.7
same holdout 0.1 0.2
same early-stop 5 6
same split-half 1 2
same replicate 1:2 1:3
same loss squares poisson
same solver newton mu
same inner 2 3
same nonneg 1 2
same fix 1 2
same stem a b
same format text npy
same nowrite
same rescue . ..
same record a.json b.json
same json
same checkpoint a.blck b.blck
same checkpoint-every 1i 2i
same resume a.blck b.blck
same resume-if-exists a.blck b.blck
same time-limit 1h 2h
same index-base 1 0
same dims 20x15x10 21x15x10
same columns a,b a,c
same value n m
same order a=sorted a=number
same bin a=1 a=2
same values log1p binary
same backend host auto
same conflict auto ordered
same precision double single
same sharing auto off
same grid 2x1x1 1x2x1
free threads 1 2
left gpus
left memory
free host-memory 1G 500M
free quiet
free verbose
free progress lines never
left help
left version
END
}

@test "the table has every option" {
    grep -E '^\.(It )?Fl' "$ROOT/man/blco-cpd.1" | grep -oE ' -[a-z]{2}[a-z-]*' | sed 's/^ -//' |
        sort -u >in_page
    [ "$(wc -l <in_page)" -gt 25 ]
    table | cut -d' ' -f2 | sort >in_table
    [ -z "$(comm -23 in_page in_table)" ] || { comm -23 in_page in_table && return 1; }
}

# All rows; under a sanitizer every sixth: what each says is no matter of memory.
some_rows() { awk -v step="$(sanitized && echo 6 || echo 1)" 'NR % step == 0'; }

@test "an option that one process has otherwise, or alone, is named by all, with exit 2" {
    begin
    while read -r name one other; do
        if [ "$one" ]; then
            told="--$name $other, but on rank 0 --$name $one" one="--$name $one" other="--$name $other"
        else
            told="--$name given, but on rank 0 --$name not given" other=--$name
        fi
        base="cpd x.tns -q -i 3 -r 3"
        case $name in
        rank) base="cpd x.tns -q -i 3" ;;
        iters) base="cpd x.tns -q -r 3" ;;
        fix | match) base="$base --init data" ;;
        value | order | bin) base="$base --columns a,b" ;;
        fade) base="$base --unlisted unknown" ;;
        ridge-scale) base="$base --unlisted unknown --ridge 1" ;;
        early-stop) base="$base --holdout 0.1" ;;
        solver) base="$base --loss poisson" ;;
        inner) base="$base --loss poisson --solver mu" ;;
        checkpoint-every) base="$base --checkpoint a.blck" ;;
        esac
        n=$((5 - ${n:-2})) # 3 and 2 processes in turn
        differ $n "$base $one" "$base $other"
        refused "rank $((n - 1)): $told"
    done < <(table | sed -n 's/^same //p' | some_rows)
    differ 3 "cpd x.tns -q -r 3 --starts 2" "cpd x.tns -q -r 3"
    refused "rank 2: --starts not given, but on rank 0 --starts 2"
    differ 2 "cpd x.tns -q -r 3" "cpd x.tns -q -r 3 --tol abc"
    refused "rank 1: --tol: 'abc', expected a number of 0 or more"
    differ 3 "cpd x.tns -q -r 3 --tol abc" "cpd x.tns -q -r 3"
    refused "--tol: 'abc', expected a number of 0 or more"
    [ "$(ls)" = "$(printf 'rank\nx.tns')" ]
}

@test "the tensor's name without its folder, and the command, are the same on all processes" {
    begin
    cp x.tns y.tns
    mkdir other && cp x.tns other
    differ 2 "cpd x.tns -q -r 3 --nowrite" "cpd y.tns -q -r 3 --nowrite"
    refused "rank 1: file y.tns, but on rank 0 file x.tns"
    differ 3 "cpd x.tns -q -r 3 --nowrite" "cpd - -q -r 3 --nowrite"
    refused "rank 2: file -, but on rank 0 file x.tns"
    differ 2 "cpd x.tns -q -r 3 --nowrite" "cpd other/x.tns -q -r 3 --nowrite"
    [ "$status" -eq 0 ]
    differ 2 "cpd x.tns -q -r 3 --nowrite" "selftest -q"
    refused "rank 1: blco selftest, but on rank 0 blco cpd"
    differ 3 "selftest -q --backend host" "selftest -q"
    refused "rank 2: --backend not given, but on rank 0 --backend host"
}

@test "a model to start from, and a checkpoint, have the same content on all processes" {
    begin
    cat >rank <<'END'
#!/bin/bash
cd "on.$OMPI_COMM_WORLD_RANK" && exec "$BLCO" $ONE
END
    mkdir on.0 on.1
    for at in 0 1; do
        (cd on.$at && ln -s ../x.tns && "$BLCO" cpd -q x.tns -r 3 -i 2 --seed $at -o start --format ktns --checkpoint a.blck)
    done
    differ 2 "cpd x.tns -q -r 3 --nowrite --init start" ""
    refused "rank 1: --init start: not the model that rank 0 reads"
    differ 2 "cpd x.tns -q -r 3 --nowrite --resume a.blck" ""
    refused "a.blck: not the checkpoint that rank 0 reads"
}

@test "threads, host memory and what is printed may differ" {
    begin
    "$BLCO" cpd x.tns -r 3 -q -o one
    while read -r name one other; do
        [ -z "$one" ] || one="--$name $one"
        differ 2 "cpd x.tns -r 3 $one -o two" "cpd x.tns -r 3 --$name $other -o two"
        [ "$status" -eq 0 ]
        [[ $output != *"blco cpd: "* ]]
    done < <(table | sed -n 's/^free //p')
}
