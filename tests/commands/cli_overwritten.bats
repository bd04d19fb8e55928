load cli_helpers

# Files that another program overwrites in place while blco reads them: blco may read what it finds,
# or refuse it in one line, but never crashes. The numbers of a model or a checkpoint may become any
# numbers after their checksums were checked, NaN included: then the decomposition may break down,
# which is exit status 4 and one line, too.

# overwritten FILE COMMAND: runs the blco command some times while FILE changes.
overwritten() {
    local file=$1 trial trials=20 status writer
    shift
    ! sanitized || trials=6
    "$ROOT/tests/support/overwrite" "$file" >began &
    writer=$!
    until [ -s began ]; do sleep 0.02; done
    for ((trial = 1; trial <= trials; trial++)); do
        status=0
        timeout 60 "$BLCO" "$@" >output 2>messages || status=$?
        case $status in
        0) ;;
        2 | 4) [ "$(wc -l <messages)" -eq 1 ] && grep -q "^blco $1: " messages ;;
        *) false ;;
        esac || {
            echo "trial $trial, blco $*: exit $status: $(cat messages)"
            kill "$writer"
            return 1
        }
    done
    kill "$writer" # which restores the file
    wait "$writer"
}

setup_file() {
    command -v python3 >/dev/null || skip "there is no python3"
}

@test "text that is overwritten while it is read" {
    "$BLCO" generate x.tns -q --dims 3000x2000x1000 --nnz 300000
    overwritten x.tns info x.tns -q
    overwritten x.tns convert x.tns y.blco -q --force
    overwritten x.tns convert x.tns z.blco -q --force --host-memory 4M
    overwritten x.tns cpd x.tns -q -r 2 -i 1 --nowrite --backend host
    "$BLCO" cpd x.tns -q -r 2 -i 1 -o m --backend host
    overwritten x.tns predict m x.tns -q --residuals -n 3
}

@test "a .blco file that is overwritten while it is read" {
    "$BLCO" generate x.blco -q --dims 3000x2000x1000 --nnz 300000
    overwritten x.blco info x.blco -q
    overwritten x.blco convert x.blco y.tns -q --force
    overwritten x.blco cpd x.blco -q -r 2 -i 1 --nowrite --backend host
    "$BLCO" cpd x.blco -q -r 2 -i 1 -o m --backend host
    overwritten x.blco predict m x.blco -q --residuals -n 3
}

@test "gzip that is overwritten while it is read" {
    "$BLCO" generate x.tns.gz -q --dims 3000x2000x1000 --nnz 100000
    overwritten x.tns.gz info x.tns.gz -q
}

@test "models, labels and checkpoints that are overwritten while they are read" {
    "$BLCO" generate x.blco -q --dims 30000x20000x100 --nnz 20000
    "$BLCO" cpd x.blco -q -r 8 -i 2 --backend host -o array --format npy
    overwritten array.mode1.npy compare array array -q
    "$BLCO" cpd x.blco -q -r 8 -i 2 --backend host -o m --format text --checkpoint m.ckpt
    overwritten m.mode1.mat compare m m -q
    seq 30000 >labels
    overwritten labels top m -q --labels 1=labels
    overwritten m.ckpt cpd x.blco -q -r 8 -i 3 --nowrite --backend host --resume m.ckpt
}
