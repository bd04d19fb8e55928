# bats file_tags=plain
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

# examples PAGE: the commands of the page's EXAMPLES, a command with its continuation lines on one line, without
# what it prints.
examples() {
    awk '/^\.Sh/ { on = ($2 == "EXAMPLES"); next }
         on && /^(\.Dl )?\$ / { sub(/^(\.Dl )?\$ /, ""); command = 1 }
         !on || /^\./ { command = 0 }
         command { if (sub(/\\e$/, "")) printf "%s", $0; else { print; command = 0 } }' "$1" | sed 's/\\e/\\/g'
}

# What this machine need not have.
elsewhere='^(mpirun|srun|sbatch|ssh|scp|rsync|curl|wget) |--gpus|--backend cuda'

@test "the examples of the manual pages run" {
    mkdir bin && ln -s "$BLCO" bin/blco
    ran=0 left=0
    for page in $(pages); do
        examples "$page" >examples
        if grep -q '^\.Sh EXAMPLES' "$page"; then
            [ "$(wc -l <examples)" -ge "$(awk '/^\.Sh/ { on = /EXAMPLES/ } on && /^(\.Dl )?\$ /' "$page" | wc -l)" ]
            [ -s examples ] || { echo "$page has EXAMPLES without a command" && return 1; }
        fi
        rm -rf "${page##*/}.d" && mkdir "${page##*/}.d" && ln -s "$DATA" "${page##*/}.d/data"
        grep -vE "$elsewhere" examples >"${page##*/}.d/here" || true
        left=$((left + $(grep -cE "$elsewhere" examples || true)))
        ran=$((ran + $(wc -l <"${page##*/}.d/here")))
        echo "$page" && cat "${page##*/}.d/here"
        (cd "${page##*/}.d" && PATH=$OLDPWD/bin:$PATH bash -e -o pipefail here) || { echo "$page failed" && return 1; }
    done
    echo "$ran examples ran, $left were left out"
    [ "$ran" -gt 25 ]
    cd blco-cpd.1.d && [ -s admissions.mode3.mat ] && [ -s other.ktns ] && [ -s other.lambda.npy ] && [ -s better.lambda.mat ]
}

@test "no example is lost on the way from a page to the shell" {
    printf '%s\n' .Sh\ OTHER '$ not this' .Sh\ EXAMPLES text '.Bd -literal' '$ one \e' '    more' output '$ printf "\en" | two' .Ed \
        '.Dl $ three' .Sh\ SEE '$ not this' >page
    [ "$(examples page)" = $'one     more\nprintf "\\n" | two\nthree' ]
}

@test "helps and manual pages name the same options" {
    for page in "$ROOT"/man/blco-*.1; do
        command=${page##*/blco-} && command=${command%.1}
        "$BLCO" "$command" --help=all | grep -oE '^ .{5}--[a-z-]+' | sed 's/.*--//' | sort >in_help
        grep -E '^\.(It )?Fl' "$ROOT/man/blco-$command.1" |
            grep -oE ' -[a-z]{2}[a-z-]*' | sed 's/^ -//' | sort -u >in_page
        # blco-info refers to blco-cpd for "-help and .Fl -version": both are there on lines of their own
        diff in_help in_page
    done
}

commands() { "$BLCO" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

# item COMMAND OPTION: what the manual page of the command says of the option.
item() {
    [ ! -f "$ROOT/man/blco-$1.1" ] ||
        awk -v option="Fl (. , )?-$2( |\$)" '/^\.It Fl/ { on = $0 ~ option } on' "$ROOT/man/blco-$1.1"
}

# helped COMMAND OPTION: what the help of the command says of the option.
helped() {
    "$BLCO" "$1" --help=all | awk -v option="--$2" '/^ +-/ { on = index($0, option " ") || index($0, option "[") } on'
}

@test "helps and manual pages have the words that options take" {
    choices | grep -v ' preset ' >choices
    [ "$(wc -l <choices)" -gt 20 ]
    while read -r command option words; do
        for word in $words; do # what several commands take is explained in blco-cpd
            { item "$command" "$option"; item cpd "$option"; } | grep -qw -- "$word" ||
                { echo "blco-$command: --$option: no word $word" && return 1; }
            helped "$command" "$option" | grep -qw -- "$word" ||
                { echo "blco $command --help: --$option: no word $word" && return 1; }
        done
    done <choices
    ! item cpd precision | grep -qw none-of-these
    ! helped cpd precision | grep -qw atomic
}

@test "helps fit into 80 columns" {
    "$BLCO" --help >helps
    for command in $(commands | grep -vx help); do "$BLCO" "$command" --help=all; done >>helps
    [ "$(wc -l <helps)" -gt 200 ]
    ! grep -E '^.{81}' helps
}

@test "blco(1) names every command, and a command with a page of its own has it" {
    commands >commands
    [ "$(wc -l <commands)" -gt 10 ]
    while read -r command; do
        grep -qx "\.It Cm $command" "$ROOT/man/blco.1" || { echo "blco.1 does not name $command" && return 1; }
    done <commands
    sed -n 's/^\.Xr blco-\([a-z]*\) 1.*/\1/p' "$ROOT/man/blco.1" | sort -u >pages
    while read -r page; do [ -e "$ROOT/man/blco-$page.1" ] && grep -qx "$page" commands; done <pages
}

@test "the messages that blco-cluster explains are those of the program" {
    # all string literals; neighbours are one
    find "$ROOT/src" -name "*.c" -exec cat {} + | tr -d '\n' | sed 's/" *"//g' >strings
    sed -n '/^\.Sh DIAG/,/^\.Sh SEE/s/^\.It Qq //p' "$ROOT/man/blco-cluster.7" | tr -d '"' >messages
    [ "$(wc -l <messages)" -gt 10 ]
    while read -r message; do
        grep -qF -- "$message" strings || { echo "no message: $message" && return 1; }
    done <messages
}
