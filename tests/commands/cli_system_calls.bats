# The system calls of blco: where it writes, and that it starts no other program.
# bats file_tags=plain
load cli_helpers

needs_strace() {
    command -v strace >/dev/null || skip "there is no strace"
    strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
    [[ $BLCO != */asan/* && $BLCO != */tsan/* ]] || skip "sanitizers write and start programs of their own"
    mkdir -p bin in out tmp rescue
    export TMPDIR=$PWD/tmp
}

# traced ARGUMENT...: blco, with the system calls that name files in the file calls.
traced() {
    strace -f -qq -s 4096 -e trace=%file,%process -o calls "$BLCO" "$@"
}

# The names of files that calls make, rename, remove or open for writing, of calls that succeed.
written() {
    grep -vE ' = -1 E' calls |
        grep -E 'open(at|at2)?\(.*(O_WRONLY|O_RDWR|O_CREAT)|creat\(|mkdir|rename|link|mknod|truncate|chmod|chown|utime|rmdir' |
        grep -oE '"([^"\\]|\\.)*"' | tr -d '"'
}

# only_below FOLDER...: every name that was written is in one of these, or a file of this process in /proc or /dev.
only_below() {
    local name folder found count=0
    while IFS= read -r name; do
        found=
        for folder in "$@" /proc/self/ /proc/"$$" /dev/null /dev/tty; do
            [[ $name != "$folder"* ]] || found=yes
        done
        [ -n "$found" ] || { echo "written: $name" && return 1; }
        count=$((count + 1))
    done < <(written)
    [ $count -gt 0 ]
}

# One program is started: blco itself.
no_program() {
    [ "$(grep -c 'execve(' calls)" -eq 1 ] && grep -q "execve(\"$BLCO\"" calls
}

@test "nothing is written but the files that were asked for" {
    needs_strace
    printf '1 1 1\n2 2 2\n' >in/x.tns
    traced cpd in/x.tns -r 1 -q -o out/m --rescue rescue --backend host
    only_below out/ rescue/
    no_program
    traced convert in/x.tns out/x.blco -q
    only_below out/
    no_program
    traced convert in/x.tns out/y.blco -q --host-memory 1K
    only_below out/
    traced generate out/z.tns -q --dims 4,4 --nnz 3
    only_below out/
    traced predict out/m in/x.tns -q -o out/p.npy
    only_below out/
    no_program
    [ -z "$(ls -A tmp rescue | grep -v ':$')" ]
    [ "$(ls -A in)" = x.tns ]
    for command in "info in/x.tns --backend host" "cpd in/x.tns -r 1 --nowrite --backend host" "top out/m" \
        "compare out/m out/m" "predict out/m in/x.tns" "predict out/m in/x.tns --residuals -n 2"; do
        # shellcheck disable=SC2086 # a command line
        traced $command -q
        [ -z "$(written | grep -v '^/proc/\|^/dev/')" ]
        no_program
    done
}

@test "no name and no variable reaches a shell" {
    needs_strace
    cd in
    evil=('$(touch x).tns' '; touch x.tns' '`touch x`.tns' '-rf' '-q.tns' '| touch x' '&touch x' $'a\ntouch x' '%s%n.tns' '*.tns')
    for variable in OMP_NUM_THREADS TMPDIR SLURM_CPUS_PER_TASK OPENBLAS_NUM_THREADS EDITOR PAGER SHELL; do
        evil+=("$variable")
    done
    for name in "${evil[@]}"; do
        printf '1 1 1\n2 2 2\n' >"./$name"
        stem=${name%.tns}
        strace -f -qq -e trace=%process -o ../calls env TMPDIR='$(touch x)' SHELL='touch x' EDITOR='touch x' \
            SLURM_CPUS_PER_TASK='$(touch x)' "$BLCO" cpd -r 1 -q --backend host -o "../out/$stem" -- "$name"
        [ "$(grep -cE 'execve\(.* = 0' ../calls)" -eq 2 ] # env and blco
        [ -s "../out/$stem.lambda.mat" ]
        "$BLCO" info -q --backend host -- "$name" >/dev/null
    done
    [ ! -e x ] && [ ! -e ../x ] && [ "$(find . -type f -printf x | wc -c)" -eq ${#evil[@]} ]
}
