# No output of a command replaces an input or another output, even under another name.
# shellcheck disable=SC2094,SC2154 # files that are read and would be written; run sets stderr
# bats file_tags=plain
load cli_helpers
load ../support/mpi

# The inputs, in the folder in, with other names of each: name.SUFFIX for each way to name a file.
inputs() {
    mkdir in
    cp "$DATA/ucb-admissions.tns" in/x.tns
    "$BLCO" cpd in/x.tns -r 2 -i 2 -q --backend host -o in/s --format text --checkpoint in/c --record in/s.json
    yes label | head -2 >in/l.map
    for file in in/*; do
        ln "$file" "in/hard-${file#in/}"
        ln -s "${file#in/}" "in/soft-${file#in/}"
    done
    ln -s in folder
    sha256sum in/* >before
}

# names NAME: the names of the file in/NAME.
names() { printf '%s\n' "in/$1" "./in/$1" "in//$1" "in/../in/$1" "folder/$1" "in/hard-$1" "in/soft-$1" "$PWD/in/$1"; }

# What each option that names an output would make of each input: option, input, the words of both roles.
# %s is the name as given.
cpd_pairs() {
    cat <<'END'
--checkpoint x.tns the checkpoint %s is the tensor that is read
--record x.tns the record %s is the tensor that is read
--checkpoint s.mode1.mat the checkpoint %s is a file of the start
--record s.lambda.mat the record %s is a file of the start
--record c the record %s is the checkpoint that is read
END
}

# refused_cpd LAUNCHER...: each pair is refused with one line that begins with the words, and exit status 2.
refused_cpd() {
    local option input words name start said
    while read -r option input words; do
        for name in $(names "$input"); do
            start=(--init in/s)
            [ "$input" != c ] || start=(--resume in/c)
            # shellcheck disable=SC2059 # the table has the format
            printf -v said "blco cpd: $words" "$name"
            run --separate-stderr "$@" "$BLCO" cpd in/x.tns -r 2 -i 1 -q --backend host -o m "${start[@]}" "$option" "$name" </dev/null
            echo "$option $name: exit $status: $stderr (expected: $said)"
            [ "$status" -eq 2 ] && [ "$(grep -c '^blco cpd: ' <<<"$stderr")" -eq 1 ] || return 1
            # if the input has another name, that name follows; processes name the one that prints
            grep '^blco cpd: ' <<<"${stderr/rank 0: /}" | grep -qxF -e "$said" -e "$said, in/$input" || return 1
            [ -z "$output" ] && sha256sum --quiet -c before && [ "$(echo m*)" = 'm*' ] || return 1
        done
    done < <(cpd_pairs)
}

@test "cpd: neither checkpoint nor record is the tensor, the start or the checkpoint that is read" {
    inputs
    refused_cpd
}

@test "processes refuse alike, by the decision of process 0" {
    needs_mpirun
    inputs
    names() { printf '%s\n' "in/$1" "in/soft-$1"; }
    refused_cpd processes 2
}

@test "cpd: no file of the model is an input or another output" {
    cp "$DATA/ucb-admissions.tns" x.tns
    "$BLCO" cpd x.tns -r 2 -i 2 -q --backend host --nowrite --checkpoint c
    # every format and number of modes, also those that the run does not write: an older file of that name would be removed
    for name in m.mode1.mat m.mode16.mat m.lambda.npy m.mode2.npy m.ktns m.lock; do
        what="a file of the model"
        [ $name != m.lock ] || what="the lock of the model's files"
        for given in $name ./$name; do
            fails 2 "the checkpoint $given is $what" cpd -q x.tns -r 2 -i 1 --backend host -o m --checkpoint "$given"
            fails 2 "the record $given is $what" cpd -q x.tns -r 2 -i 1 --backend host -o m --record "$given"
        done
        cp x.tns $name
        cp c c2
        what="the model's file"
        [ $name != m.lock ] || what="the lock"
        fails 2 "$what m.${name#m.} is the tensor that is read" cpd -q $name -r 2 -i 1 --backend host -o m
        fails 2 "$what ./$name is the tensor that is read, standard input" cpd -q - -r 2 -i 1 --backend host -o ./m <$name
        cmp x.tns $name
        mv c2 $name
        fails 2 "$what $name is the checkpoint that is read" cpd -q x.tns -r 2 -i 1 --backend host -o m --resume $name
        cmp c $name
        rm $name
    done
    fails 2 "the record r is the checkpoint" cpd -q x.tns -r 2 -i 1 --backend host -o m --checkpoint r --record r
    mkdir d
    fails 2 "the record d/../r is the checkpoint, r" cpd -q x.tns -r 2 -i 1 --backend host -o m --checkpoint r --record d/../r
    [ "$(LC_ALL=C && echo *)" = "c d x.tns" ]
}

@test "the tensor may come from standard input: its file is not replaced" {
    cp "$DATA/ucb-admissions.tns" x.tns
    for option in --checkpoint --record; do
        what="the ${option#--}"
        fails 2 "$what x.tns is the tensor that is read, standard input" cpd -q - -r 2 --backend host -o m $option x.tns <x.tns
        fails 2 "$what x.tns is the tensor that is read, /dev/stdin" cpd -q /dev/stdin -r 2 --backend host -o m $option x.tns <x.tns
    done
    fails 2 "the output x.tns is the tensor that is read, standard input" convert -q --force - x.tns <x.tns
    fails 2 "the record x.tns is the tensor that is read, standard input" bench -q - -r 2 --backend host --json x.tns <x.tns
    cmp x.tns "$DATA/ucb-admissions.tns"
    # a file to which standard output is appended
    # shellcheck disable=SC2016 # the inner shell expands
    run -2 --separate-stderr bash -c '"$BLCO" convert -q x.tns - >>x.tns'
    [ "$stderr" = "blco convert: the output on standard output is the tensor that is read, x.tns" ]
    cmp x.tns "$DATA/ucb-admissions.tns"
    # shellcheck disable=SC2016 # the inner shell expands
    run -5 --separate-stderr bash -c '"$BLCO" cpd -q x.tns -r 2 -i 1 --backend host --nowrite --record /dev/stdout >y'
    [ "$stderr" = "blco cpd: /dev/stdout: cannot be written: it is not a regular file" ]
    [ ! -s y ]
    [ -L /dev/stdout ]
    <x.tns "$BLCO" convert -q - - | cat >y
    [ -s y ]
}

@test "report and bench: neither page nor record is an input" {
    inputs
    for name in $(names s.mode2.mat); do
        fails 2 "the page $name is a file of the model that is read" report in/s -o "$name"
    done
    for name in $(names s.json); do
        fails 2 "the page $name is the record that is read" report in/s -o "$name"
        fails 2 "the page $name is the record that is read" report in/s --record in/s.json -o "$name"
    done
    for name in $(names l.map); do
        fails 2 "the page $name is a file of labels that is read" report in/s --labels 1=in/l.map -o "$name"
    done
    for name in $(names x.tns); do
        fails 2 "the record $name is the tensor that is read" bench -q in/x.tns -r 1 --backend host --json "$name"
        fails 2 "the output $name is the tensor that is read" convert -q --force in/x.tns "$name"
    done
    sha256sum --quiet -c before
}

@test "files of --order, and maps beside the tensor, are inputs" {
    printf 'a,b\nx,y\nx,z\n' >x.csv
    printf 'z\ny\n' >m.mode2.map
    ln -s m.mode2.map soft
    cp m.mode2.map before
    csv=(x.csv --columns "a,b" --order a=sorted --order b=m.mode2.map)
    fails 2 "the model's file ./m.mode2.map is a file of --order, m.mode2.map" cpd -q "${csv[@]}" -r 1 --backend host -o ./m
    fails 2 "the output m.mode2.map is a file of --order" convert -q "${csv[@]}" m.blco --force
    ln m.mode2.map o.tns
    fails 2 "the output o.tns is a file of --order, m.mode2.map" convert -q "${csv[@]}" o.tns --force
    for option in --record --checkpoint; do
        fails 2 "the ${option#--} soft is a file of --order, m.mode2.map" cpd -q "${csv[@]}" -r 1 --backend host --nowrite $option soft
    done
    fails 2 "the record m.mode2.map is a file of --order" bench -q "${csv[@]}" -r 1 --backend host --json m.mode2.map
    cmp before m.mode2.map
    "$BLCO" convert -q "${csv[@]}" n.tns
    for map in n.mode1.map n.modes.map; do
        cp $map before
        fails 2 "the record $map is a file of labels that is read" cpd -q n.tns -r 1 --backend host -o m --record $map
        fails 2 "the record $map is a file of labels that is read" bench -q n.tns -r 1 --backend host --json $map
        ln -f $map o.tns
        fails 2 "the output o.tns is a file of labels that is read, $map" convert -q n.tns o.tns --force
        cmp before $map
    done
    # the maps of the model and of a copy have the same names: they may stay
    "$BLCO" cpd -q n.tns -r 1 --backend host
    "$BLCO" convert -q n.tns ./n.blco --force
    cmp before n.modes.map
}

@test "a run may replace the model that it starts from and the checkpoint that it resumes" {
    cp "$DATA/ucb-admissions.tns" x.tns
    args=(x.tns -r 2 -q --backend host --tol 0)
    "$BLCO" cpd "${args[@]}" -i 2 -o m --format npy --checkpoint c
    "$BLCO" cpd "${args[@]}" -i 4 -o m --format ktns --resume c --checkpoint ./c
    [ "$(echo m.*)" = "m.ktns m.model.json" ]
    "$BLCO" cpd "${args[@]}" -i 4 -o m --init m
    [ "$(echo m.*)" = "m.lambda.mat m.mode1.mat m.mode2.mat m.mode3.mat m.model.json" ]
    "$BLCO" cpd "${args[@]}" -i 4 -o m --init m.lambda.mat --nowrite 2>messages && return 1
    "$BLCO" cpd "${args[@]}" -i 5 --nowrite --resume c --checkpoint c --record r.json
    [ -s r.json ]
    [ -s c ]
    # without a model, its names are free
    "$BLCO" cpd "${args[@]}" -i 5 --nowrite --checkpoint x.ktns
}
