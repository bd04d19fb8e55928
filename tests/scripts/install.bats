# make install puts everything in place, and make uninstall takes it away again.
load ../commands/cli_helpers
load ../support/mpi

# make_target TARGET VARIABLE=VALUE...: with the program under test, which is not built again. The
# variables of a make that runs the tests are not for this one.
make_target() {
    local built
    built=$(dirname "$BLCO")
    [ -e "$built/blco-mpi.so" ] || set -- "$@" MPI=0
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$ROOT" -o blco CUDA=0 BUILT="$built" "$@"
}

@test "make install: every file is in place, and the program runs" {
    make_target install DESTDIR="$PWD/root" PREFIX=/opt/x
    cd root/opt/x
    run -0 bin/blco --version
    run -0 bin/blco info -q "$DATA/planted.tns"
    bin/blco cpd -q "$DATA/planted.tns" -r 4 -o planted
    [ -s planted.mode3.mat ]
    rm planted.*
    diff <(cd "$ROOT/man" && ls) <(cd share/man && ls man1 man5 man7 | sed '/:$/d; /^$/d' | sort)
    for page in share/man/man?/*; do [ "${page##*.}" = "$(basename "$(dirname "$page")" | tr -d man)" ]; done
    diff -r "$ROOT/scripts/slurm" share/blco/slurm
    diff -r -x __pycache__ "$ROOT/scripts/loaders" share/blco/loaders
    run -0 share/blco/fetch-frostt --list
    cmp "$ROOT/LICENSE" share/doc/blco/LICENSE
    cmp "$ROOT/data/README.md" share/doc/blco/examples/README.md
    # what the examples of the manuals and the notebook use
    grep -ohE '\bdata/[A-Za-z0-9.-]+[A-Za-z0-9]' "$ROOT"/man/*.[157] "$ROOT/README.md" | sort -u >used
    [ "$(wc -l <used)" -ge 10 ]
    while read -r file; do
        [ ! -f "$ROOT/$file" ] || [ "${file##*.}" = png ] || cmp "$ROOT/$file" "share/doc/blco/examples/${file#data/}"
    done <used
    rm used
    ln -s share/doc/blco/examples data
    bin/blco cpd -q data/events.csv --columns user,item,time --bin time=1h -r 1 --nowrite --backend host
    rm data
    if "$BLCO" completion bash >completion 2>/dev/null; then
        cmp completion share/bash-completion/completions/blco
        [ -s share/zsh/site-functions/_blco ]
        [ -s share/fish/vendor_completions.d/blco.fish ]
    fi
    rm completion
    # no file that only its owner may read, and nothing outside these folders
    [ -z "$(find . ! -perm -444)" ]
    [ "$(ls -m)" = "bin, lib, share" ] || [ "$(ls -m)" = "bin, share" ]
}

@test "make install: processes that work together find the plugin" {
    needs_mpirun
    make_target install DESTDIR="$PWD/root" PREFIX=/opt/x
    run -0 processes 2 root/opt/x/bin/blco cpd --backend host "$DATA/planted.tns" -r 4 --nowrite
    [[ $output == *"2 processes"* ]]
}

@test "make uninstall: nothing is left of an installation, and all else stays" {
    mkdir -p "a root/opt/x/share/blco" "a root/opt/x/bin"
    touch "a root/opt/x/bin/other"
    make_target install DESTDIR="$PWD/a root" PREFIX=/opt/x
    mkdir "a root/opt/x/share/blco/loaders/__pycache__"
    touch "a root/opt/x/share/blco/loaders/__pycache__/load_blco.cpython-311.pyc"
    [ "$(find "a root" -type f | wc -l)" -gt 15 ]
    make_target uninstall DESTDIR="$PWD/a root" PREFIX=/opt/x
    [ "$(find "a root" -type f)" = "a root/opt/x/bin/other" ]
    [ -z "$(find "a root" -name '*blco*')" ]
    make_target uninstall DESTDIR="$PWD/a root" PREFIX=/opt/x # once more, of nothing
}
