# What the program takes to start, with CUDA and without.
# bats file_tags=plain
load cli_helpers

# without_sanitizers: skips under a sanitizer, which takes terabytes of addresses and more libraries.
without_sanitizers() {
    case $(basename "$(dirname "$BLCO")") in asan | tsan) skip "a sanitizer takes more" ;; esac
}

with_cuda() {
    command -v readelf >/dev/null || skip "there is no readelf"
    readelf -SW "$BLCO" | grep -q '\.nv_fatbin' || skip "a build without CUDA"
}

@test "the program is linked with no library of CUDA" {
    with_cuda
    readelf -dW "$BLCO" | grep '(NEEDED)' >needed
    grep -q 'libc\.so' needed
    run -1 grep -E '\[lib(cu|nv|nccl)' needed
}

# Commands that compute nothing on a GPU: each line is one.
on_host() {
    echo "--version"
    echo "info -q --backend host -t 1 $DATA/planted.tns"
}

@test "no library of CUDA is opened before a GPU is asked for" {
    without_sanitizers
    command -v strace >/dev/null || skip "there is no strace"
    strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
    while read -r command; do
        # shellcheck disable=SC2086 # a command and its options
        strace -f -qq -s 4096 -e trace=%file -o calls "$BLCO" $command
        grep -q 'open.*libc\.so' calls
        run -1 grep -E 'open.*/lib(cu|nv|nccl)[^/]*\.so.* = [0-9]' calls
    done < <(on_host && echo "cpd -q --backend host -r 2 -i 2 --nowrite $DATA/planted.tns")
}

@test "the program starts in 60 MB of addresses, whatever folders it must search for libraries" {
    without_sanitizers
    for path in "" /no/such/folder; do
        while read -r command; do
            # shellcheck disable=SC2016,SC2086 # expanded by the inner bash; a command and its options
            run -0 env LD_LIBRARY_PATH="$path" bash -c 'ulimit -v 60000 && exec "$@"' bash "$BLCO" $command
        done < <(on_host)
    done
}

@test "without a GPU the host works, and the reason is printed" {
    with_cuda
    CUDA_VISIBLE_DEVICES='' cpd "$DATA/planted.tns" -r 2 -i 2 --nowrite
    grep -q 'backend host (no ' messages
    CUDA_VISIBLE_DEVICES='' fails 2 "backend cuda: no " cpd -q --backend cuda --nowrite -r 2 "$DATA/planted.tns"
}
