load cli_helpers

pages() { ls "$ROOT"/man/*.[157]; }

@test "the manual pages are without fault" {
    for page in $(pages); do
        run -0 man --warnings -l "$page"
        LC_ALL=C.UTF-8 man --warnings -l "$page" 2>warnings >/dev/null
        [ ! -s warnings ] || { cat warnings && return 1; }
    done
    command -v mandoc >/dev/null || skip "mandoc is not installed"
    for page in $(pages); do
        run -0 mandoc -T lint -W warning "$page"
    done
}

@test "the examples of the manual pages run" {
    mkdir bin && ln -s "$BLCO" bin/blco
    ln -s "$DATA" data
    for page in $(pages); do
        sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$page" |
            awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0 } on' |
            sed 's/^\$ //; s/\\e/\\/g' >examples
        case $page in *-cpd.1 | *-info.1) [ -s examples ] ;; esac
        rm -f ./*.blco ./*.tns # another page may use these names, too
        PATH=$PWD/bin:$PATH run -0 bash -e -o pipefail examples
    done
    [ -s admissions.mode3.mat ] && [ -s other.ktns ] && [ -s other.lambda.npy ] && [ -s better.lambda.mat ]
}

@test "helps and manual pages name the same options" {
    for command in bench cpd info convert generate report; do
        "$BLCO" help $command | grep -oE '^ .{5}--[a-z-]+' | sed 's/.*--//' | sort >in_help
        grep -E '^\.(It )?Fl' "$ROOT/man/blco-$command.1" |
            grep -oE ' -[a-z]{2}[a-z-]*' | sed 's/^ -//' | sort -u >in_page
        # blco-info refers to blco-cpd for "-help and .Fl -version": both are there on lines of their own
        diff in_help in_page
    done
}

@test "the messages that blco-cluster explains are those of the program" {
    # all string literals; neighbours are one
    cat "$ROOT"/src/*/*.c "$ROOT"/src/*/*/*.c | tr -d '\n' | sed 's/" *"//g' >strings
    sed -n '/^\.Sh DIAG/,/^\.Sh SEE/s/^\.It Qq //p' "$ROOT/man/blco-cluster.7" | tr -d '"' >messages
    [ "$(wc -l <messages)" -gt 10 ]
    while read -r message; do
        grep -qF -- "$message" strings || { echo "no message: $message" && return 1; }
    done <messages
}

@test "make install installs every manual page" {
    make -s -n -C "$ROOT" CUDA=0 install PREFIX=/p >recipe 2>&1 || true
    for page in $(pages); do
        grep -qF "man/*.${page##*.} /p/share/man/man${page##*.}" recipe
    done
}
