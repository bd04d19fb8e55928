# The result has the same bits for any number of threads.
# bats file_tags=plain,threads
load cli_helpers

# same_bits NAME OPTION...: files of the same bits from 1, 2, 3 and 5 threads, under a sanitizer from 1 and 3.
same_bits() {
    local name=$1 numbers="1 2 3 5"
    ! sanitized || numbers="1 3"
    shift
    for t in $numbers; do
        cpd "$name" -r 5 -i 4 --tol 0 --backend host -o "of$t" -t "$t" "$@"
        for f in of1.*.mat; do
            cmp "$f" "of$t.${f#of1.}" || {
                echo "$name -t $t $*: $f"
                return 1
            }
        done
    done
    rm -f of*
}

# tensors NNZ: of two to five modes.
tensors() {
    "$BLCO" generate 2.blco --dims 3000,700 --nnz "$1" --skew 0.5,0.5 -q
    "$BLCO" generate 3.blco --dims 9000,400,7 --nnz "$1" --skew 0.3,0.5,0 -q
    "$BLCO" generate 4.blco --dims 500,20000,30,9 --nnz "$1" --skew 0.5,0,0,0.3 -q
    "$BLCO" generate 5.blco --dims 60,50,7000,3,20 --nnz "$1" --skew 0.3,0.3,0.5,0,0 -q
}

# least_memory NAME: the least --host-memory, in steps of 100 kB, in which a run ends.
least_memory() {
    local low=2 high=90 middle # a run ends in 100 * high kB, and does not in 100 * low
    while ((high - low > 1)); do
        middle=$(((low + high) / 2))
        if "$BLCO" cpd "$1" -r 5 -i 1 --nowrite -q --backend host --host-memory ${middle}00K 2>/dev/null; then
            high=$middle
        else
            low=$middle
        fi
    done
    echo ${high}00K
}

@test "the same bits from any number of threads, however additions are kept apart" {
    tensors 30000
    for order in 2 3 4 5; do
        for conflict in auto ordered hierarchical register; do
            same_bits $order.blco --conflict $conflict
        done
        same_bits $order.blco --conflict register --nonneg --check-every 2
        same_bits $order.blco --conflict hierarchical --precision single
        same_bits $order.blco --conflict register --precision auto
    done
}

@test "the same bits from any number of threads if memory has room for one ordering only" {
    tensors 120000
    for order in 2 3 4 5; do
        memory=$(least_memory $order.blco)
        run "$BLCO" cpd $order.blco -r 5 -i 1 --nowrite --backend host -v --host-memory "$memory"
        [[ $output == *"the shared alto ordering"* ]]
        same_bits $order.blco --host-memory "$memory"
        same_bits $order.blco --host-memory "$memory" --nonneg --core-consistency
    done
}
