# Completion in shells, as blco completion prints it.
# bats file_tags=plain
load cli_helpers

# completed WORD...: what bash offers for the last word of this command line, in order, on one line.
completed() {
    PATH=$(dirname "$BLCO"):$PATH bash -c '
        source <("$BLCO" completion bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        [ "$(complete -p blco)" = "complete -o filenames -F _blco blco" ] || exit 1
        _blco
        [ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | LC_ALL=C sort | paste -sd' '
}

# offers EXPECTED WORD...
offers() {
    local expected=$1 got
    shift
    got=$(completed "$@")
    [ "$got" = "$expected" ] || { echo "$*: '$got', expected '$expected'" && return 1; }
}

@test "completion: json has every option of every command" {
    "$BLCO" completion json >table.json
    [ "$(jq -r '.version' table.json)" = "$("$BLCO" --version | sed 's/blco \([^ ]*\).*/\1/')" ]
    for command in $(jq -r '.commands[].name' table.json); do
        jq -r ".commands[] | select(.name == \"$command\").options[] | \"--\" + .name" table.json | sort >options
        "$BLCO" "$command" --help=all | grep -oE '^  (-., |    )--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort | diff options -
    done
    [ "$(jq -r '.commands | length' table.json)" -ge 12 ]
    [ "$(jq -c '.commands[0].options[] | select(.name == "accelerate") | [.kind, .argument, .default, .words]' table.json)" = '["word","HOW","auto",["auto","off","momentum"]]' ]
    [ "$(jq -c '.commands[0].options[] | select(.name == "iters") | [.kind, .letter]' table.json)" = '["integer","i"]' ]
    [ "$(jq -c '.commands[0].options[] | select(.name == "grid") | [.section, .used_most]' table.json)" = '["Several GPUs or processes",false]' ]
    jq -r '.commands[0].options[] | select(.used_most) | "--" + .name' table.json | sort >most
    "$BLCO" cpd --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--[a-z-]+' | sort | diff - most
    [ "$(jq -c '.commands[0].options[] | select(.name == "nonneg") | [.kind, .argument]' table.json)" = '["text","[MODES]"]' ]
}

@test "completion: the scripts are without fault" {
    "$BLCO" completion bash >blco.bash
    "$BLCO" completion zsh >_blco
    "$BLCO" completion fish >blco.fish
    bash -n blco.bash
    if command -v fish >/dev/null; then
        fish -n blco.fish
    fi
    [ "$(head -n 1 _blco)" = "#compdef blco" ]
    if command -v shellcheck >/dev/null; then
        shellcheck -s bash blco.bash
    fi
    command -v zsh >/dev/null || skip "zsh is not installed"
    zsh -n _blco
}

@test "completion: arguments" {
    fails 2 "no shell given" completion
    fails 2 "blco completion: shell: 'csh', expected bash, fish, zsh or json" completion csh
    run -0 "$BLCO" help completion
    [[ $output == "Usage: blco completion bash|fish|zsh|json"* ]]
    run -0 "$BLCO" help
    [[ $output == *$'\n  completion '* ]]
}

@test "completion: bash completes every command" {
    commands=$("$BLCO" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort | paste -sd' ')
    [[ $commands == *cpd* ]]
    [ "$(completed blco '' | tr ' ' '\n' | grep -v '^--' | paste -sd' ')" = "$commands" ]
    offers "cpd" blco cp
    offers "selftest" blco help sel
    offers "bash fish json zsh" blco completion ''
    offers "fish" blco completion f
    offers "--help" blco completion --h
    offers "" blco frobnicate ''
}

@test "completion: bash completes every option of every command" {
    for command in $("$BLCO" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        [ "$command" != help ] || continue
        "$BLCO" "$command" --help=all | grep -oE '^ .{5}--[a-z-]+' | sed 's/.*--/--/' | sort >in_help
        [ -s in_help ]
        completed blco "$command" x -- | tr ' ' '\n' | diff in_help -
    done
    offers "--checkpoint --checkpoint-every" blco cpd x.tns --checkp
}

@test "completion: bash completes the arguments of options" {
    offers "auto cuda host" blco cpd x.tns --backend ''
    offers "host" blco cpd --backend h
    offers "host" blco cpd --backend = h # as bash takes --backend=h apart
    offers "auto cuda host" blco cpd --backend =
    offers "npy" blco cpd --format n
    offers "text,npy" blco cpd --format text,n
    offers "text,npy,csv text,npy,ktns" blco cpd --format text,npy, # a word of a list once
    offers "npy,csv npy,ktns npy,text" blco cpd --format = npy,
    offers "" blco cpd --format npy,npy
    offers "0 1" blco convert --index-base ''
    offers "all" blco selftest --gpus ''
    offers "uber" blco generate --preset ub
    offers "" blco cpd -r ''
    offers "" blco selftest ''
}

@test "completion: bash completes file names by their endings" {
    mkdir folder 'a folder'
    touch x.tns x.tns.gz x.blco x.txt 'a tensor.tns' run.ck
    offers "a folder/ a tensor.tns folder/ x.blco x.tns x.tns.gz" blco cpd ''
    offers "x.blco x.tns x.tns.gz" blco info -q x
    offers "x.tns x.tns.gz" blco convert x.blco x.t
}

@test "completion: bash completes files, folders and stems of options" {
    mkdir folder
    touch x.tns run.ck random.mode1.mat
    offers "folder/ random.mode1.mat run.ck x.tns" blco cpd --resume ''
    offers "run.ck" blco cpd x.tns --checkpoint ru
    offers "folder/" blco cpd x.tns --rescue ''
    offers "random random" blco cpd x.tns --init ra # the word and the stem
    offers "nvecs" blco cpd x.tns --init nv
}

@test "completion: bash completes the files of labels" {
    mkdir folder
    touch one.map two.map
    for command in top predict compare report; do
        [[ $("$BLCO" "$command" --help=all) == *--labels* ]] || continue
        offers "folder/ one.map two.map" blco "$command" a --labels 1 =
        offers "one.map" blco "$command" a --labels 1 = o
        offers "one.map" blco "$command" a --labels = 1 = o # as bash takes --labels=1=o apart
        offers "two.map" blco "$command" a --labels 1 = one.map,2 = t
        offers "" blco "$command" a --labels o # a mode is expected first
    done
    offers "folder/" blco top a --labels 1 = f # and not an option of another word
    offers "--labels" blco top a --labels 1 = one.map --lab
}

# in_fish EXPECTED LINE: what fish offers for the last word of this command line, in order, on one line.
in_fish() {
    local got
    got=$(fish --no-config -c 'source blco.fish; complete -C $argv[1]' "$2" | cut -f1 | LC_ALL=C sort | paste -sd' ')
    [ "$got" = "$1" ] || { echo "$2: '$got', expected '$1'" && return 1; }
}

@test "completion: words, for programs: one each line, with a tab and what they mean" {
    [ "$("$BLCO" completion words cpd --iter)" = "$(printf -- '--iters\tat most N iterations (50; 200 with --unlisted or a --loss other than squares)')" ]
    [ "$("$BLCO" completion words cpd x.tns --backend=c)" = --backend=cuda ]
    [ "$("$BLCO" completion words cpd x.tns --backend = c)" = cuda ]
    [ "$("$BLCO" completion words '' sel | cut -f1)" = selftest ]
    [ "$("$BLCO" completion words | cut -f1)" = "$("$BLCO" completion words '' | cut -f1)" ]
    mkdir home && touch home/x.tns home/.hidden.tns
    [ "$(HOME=$PWD/home "$BLCO" completion words cpd '~/')" = '~/x.tns' ]
    [ "$("$BLCO" completion words cpd home/.)" = home/.hidden.tns ]
    touch $'two\nlines.tns' && [ "$("$BLCO" completion words cpd two)" = "" ]
    [ "$("$BLCO" completion words cpd none/)" = "" ]
    long=$(printf '%9000s' '' | tr ' ' x)
    [ "$("$BLCO" completion words cpd "$long")" = "" ]
}

@test "completion: fish completes commands, options, words and files" {
    command -v fish >/dev/null || skip "fish is not installed"
    "$BLCO" completion fish >blco.fish
    mkdir bin folder && ln -s "$BLCO" bin/blco && PATH=$PWD/bin:$PATH
    touch x.tns x.tns.gz x.blco x.txt one.map two.map folder/y.blco a.mode1.mat a.mode2.mat folder/c.mode1.npy d.ktns run.ck
    commands=$("$BLCO" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort | paste -sd' ')
    in_fish "$commands" "blco "
    in_fish "selftest" "blco help sel"
    in_fish "bash fish json zsh" "blco completion "
    in_fish "" "blco frobnicate "
    for command in $commands; do
        [ "$command" != help ] || continue
        "$BLCO" "$command" --help=all | grep -oE '^ .{5}--[a-z-]+' | sed 's/.*--/--/' | LC_ALL=C sort >in_help
        in_fish "$(paste -sd' ' in_help)" "blco $command --"
    done
    in_fish "auto double single" "blco cpd --precision "
    in_fish "--backend=host" "blco cpd x.tns --backend=h"
    in_fish "text,npy" "blco cpd --format text,n"
    in_fish "--format=text,npy,csv --format=text,npy,ktns" "blco cpd --format=text,npy,"
    in_fish "" "blco cpd --format npy,npy"
    in_fish "x.blco x.tns x.tns.gz" "blco cpd x"
    in_fish "folder/y.blco" "blco info -q folder/"
    in_fish "bin/ folder/" "blco cpd x.tns --rescue "
    in_fish "run.ck" "blco cpd x.tns --checkpoint ru"
    in_fish "a bin/ d.ktns folder/" "blco compare a "
    in_fish "folder/c" "blco compare folder/"
    in_fish "normal nvecs" "blco cpd --init n"
    in_fish "1=one.map" "blco top a --labels 1=o"
    in_fish "a bin/ d.ktns folder/ x.blco x.tns x.tns.gz" "blco predict a "
    in_fish "1=one.map,2=two.map" "blco top a --labels 1=one.map,2=t"
    in_fish "--labels=1=one.map" "blco report a --labels=1=o"
    in_fish "" "blco cpd -r "
    in_fish "" "blco selftest "
}

@test "completion: bash completes the stems of models" {
    mkdir folder
    touch a.mode1.mat a.mode2.mat a.lambda.mat b.r4.mode1.npy folder/c.mode1.mat c.ktns a.tns a.json
    offers "a b.r4 c.ktns folder/" blco compare ''
    offers "a b.r4 c.ktns folder/" blco compare a ''
    offers "a a.tns b.r4 c.ktns folder/" blco predict ''
    offers "a.tns" blco predict b.r4 a.
    offers "b.r4" blco report b
    offers "folder/c" blco report folder/
    offers "" blco report a.mode # the stem does not begin so
    offers "a" blco cpd x.tns -o a
}

@test "completion: the words that are offered are those that options take" {
    choices | grep -vE ' ((out-)?index-base|gpus|preset|ridge|starts|unlisted|values) ' >choices # numbers, names and words
    [ "$(wc -l <choices)" -gt 20 ]
    while read -r command option _ <&3; do
        count=0
        run "$BLCO" "$command" "--$option" none-of-these
        refusal=$output
        [[ $refusal == *"--$option: 'none-of-these', expected "* ]]
        for word in $(completed blco "$command" "--$option" ''); do
            [[ $refusal == *"$word"* ]] || { echo "$word is not in: $refusal" && return 1; }
            run "$BLCO" "$command" "--$option" "$word"
            [[ $output != *"--$option: '"* ]] || { echo "$output" && return 1; }
            count=$((count + 1))
        done
        # and these are all of them
        [ "$count" -eq "$(sed "s/.*expected //; s/;.*//; s/, or several.*//; s/,\\| or /\n/g" <<<"$refusal" | wc -l)" ]
    done 3<choices
}

# in_zsh KEYS EXPECTED: types KEYS on a command line of blco in zsh; EXPECTED is what blco is called with.
in_zsh() {
    rm -f called
    zsh -f -c '
        zmodload zsh/zpty
        zpty shell "PS1= TERM=dumb zsh -f -i"
        zpty -w shell "PATH='$(dirname "$BLCO")':\$PATH; fpath=($PWD \$fpath); autoload -Uz compinit; compinit -u -D; blco() { print -r -- \$* >called; exit }; bindkey \"^I\" complete-word; zstyle \":completion:*\" list-prompt \"\""
        zpty -w -n shell "blco $1"$'"'\\n'"'
        for ((i = 0; i < 100; i++)); do
            zpty -r -t shell output >/dev/null
            [[ -s called ]] && break
            sleep 0.1
        done
        zpty -d shell' zsh "$1"
    [ "$(cat called)" = "$2" ] || { echo "$1: $(cat called), expected $2" && return 1; }
}

@test "completion: zsh completes commands, options, words and files" {
    command -v zsh >/dev/null || skip "zsh is not installed"
    "$BLCO" completion zsh >_blco
    touch tensor.tns tensor.txt
    in_zsh $'selft\t--backend hos\t' "selftest --backend host"
    in_zsh $'cpd ten\t--time\t2h' "cpd tensor.tns --time-limit 2h"
    in_zsh $'cpd --precis\tdou\t -r 3' "cpd --precision double -r 3"
    mkdir models
    touch models/old.mode1.mat models/old.mode2.mat other.mode1.npy
    in_zsh $'report oth\t-q' "report other -q"
    in_zsh $'top models/o\t' "top models/old"
    in_zsh $'predict oth\ttens\t-q' "predict other tensor.tns -q"
    in_zsh $'cpd --init=nv\t -r 3' "cpd --init=nvecs -r 3"
    in_zsh $'completion fi\t' "completion fish"
    in_zsh $'cpd --format=text,np\t -r 3' "cpd --format=text,npy -r 3"
    touch one.map two.map
    in_zsh $'top other --labels 1=on\t' "top other --labels 1=one.map"
    in_zsh $'top other --labels=1=one.map,2=tw\t' "top other --labels=1=one.map,2=two.map"
    in_zsh $'cpd --init=oth\t -r 3' "cpd --init=other -r 3"
}

@test "make install puts completion into folders where shells look for it" {
    make -s -n -C "$ROOT" CUDA=0 install PREFIX=/p DESTDIR=/d >recipe 2>&1 || true
    grep -qF 'build/blco completion' recipe
    grep -qF share/bash-completion/completions/blco recipe
    grep -qF share/zsh/site-functions/_blco recipe
    grep -qF share/fish/vendor_completions.d/blco.fish recipe
}
