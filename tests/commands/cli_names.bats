load cli_helpers
load ../support/mpi

# Names travel from CSV to all commands.

events() {
    cp "$DATA/events.csv" events.csv
    "$BLCO" convert -q events.csv events.blco --columns user,item,time --bin time=1h
}

@test "names: a model keeps those of its tensor, and every command finds them" {
    events
    cpd -q events.blco -r 2 -o m --backend host --record m.json
    for mode in 1 2 3; do cmp events.mode$mode.map m.mode$mode.map; done
    [ "$(cat m.modes.map)" = "$(printf 'user\nitem\ntime')" ]
    [ "$(jq -c '.tensor.modes, .files[-4:]' m.json)" = '["user","item","time"]
["m.mode1.map","m.mode2.map","m.mode3.map","m.modes.map"]' ]
    run -0 "$BLCO" top m -n 1
    [[ "$output" == *"  user "*" item "*" time"* ]]
    [[ "$output" == *"tea, green"* ]]
    [ "$("$BLCO" top m --json | jq -c '[.components[0].modes[1].name, (.components[0].modes[1].entries[0] | has("label") and has("index"))]')" = '["item",true]' ]
    "$BLCO" report -q m
    grep -q '<caption><bdi>item</bdi>' m.html
    grep -q '<bdi[^>]*>tea, green</bdi>' m.html
    run -0 "$BLCO" compare m m
    [[ "$output" == *" user "*" item "*" time"* ]]
    [ "$("$BLCO" compare m m --json | jq -c .modes)" = '["user","item","time"]' ]
    run -0 --separate-stderr "$BLCO" predict -q m events.blco --residuals -n 1
    [[ "$output" == *"strangest slices of item"* ]]
    run -0 --separate-stderr "$BLCO" predict -q m events.blco
    [[ "$output" == *$'ann\ttea, green\t2026-11-23T14:00\t'* ]]
    [ "$("$BLCO" info -q events.blco --json | jq -c '[.modes, .maps]')" = \
        '[["user","item","time"],["events.mode1.map","events.mode2.map","events.mode3.map"]]' ]
    [[ "$("$BLCO" info -q events.blco)" == *"names        events.mode1.map"*"names        events.mode3.map"* ]]
}

@test "names: CSV, its .blco and its text give one model with the same names" {
    events
    "$BLCO" convert -q events.blco text.tns
    cpd -q events.blco -r 2 -o b --backend host
    cpd -q text.tns -r 2 -o t --backend host
    cpd -q events.csv --columns user,item,time --bin time=1h -r 2 -o c --backend host
    for file in b.*; do cmp "$file" "c${file#b}"; done
    for file in b.*.map; do cmp "$file" "t${file#b}"; done
    # the stem of CSV is its name
    cpd -q events.csv --columns user,item,time --bin time=1h -r 2 --backend host
    cmp events.mode1.mat b.mode1.mat
}

@test "names: --labels overrides, none leaves them out; .ktns finds them, too" {
    events
    cpd -q events.blco -r 1 -o m --backend host --format ktns
    printf 'A\nB\nC\nD\n' >own.map
    run -0 "$BLCO" top m.ktns --labels 1=own.map --mode 1
    [[ "$output" == *" user"*" A "* ]]
    run -0 "$BLCO" top m.ktns --labels none --mode 1
    [[ "$output" == *"  mode 1"* && "$output" != *ann* ]]
    run -0 "$BLCO" top m.ktns --labels none --labels 1=own.map
    [[ "$output" == *"mode 1"*" A "* && "$output" != *coffee* ]]
}

@test "names: too few, too many, hostile or missing maps" {
    events
    cpd -q events.blco -r 1 -o m --backend host
    sed -i 1d m.mode1.map
    for command in "top m" "report m -o -" "predict m events.blco"; do
        run -2 "$BLCO" $command
        [[ "$output" == *"m.mode1.map: 3 labels, expected 4, one for each index of mode 1"* ]]
    done
    "$BLCO" top m --labels none
    printf '\e]0;x\a\n<b>"&amp\n\xff\xfe\n\n' >m.mode1.map
    "$BLCO" top m --mode 1 | { ! grep -q $'\e'; }
    "$BLCO" report -q m && ! grep -q '<b>"' m.html
    xmllint --noout m.html
    printf 'a\0b\nb\nc\nd\n' >m.mode1.map
    run -2 "$BLCO" top m
    [[ "$output" == *"m.mode1.map:1: a byte of value 0"* ]]
    rm m.mode1.map
    run -2 "$BLCO" top m
    [[ "$output" == *"m.model.json: mode 1: the names of its indices, mode1.map, are not beside the model"* ]]
    rm m.model.json
    run -0 "$BLCO" top m
    [[ "$output" == *" user"*" item"* ]]
    printf 'a\nb\n' >m.modes.map
    run -2 "$BLCO" top m
    [[ "$output" == *"m.modes.map: 2 labels, expected 3, one for each mode"* ]]
    printf '\e[31muser\n<i>item\n\n' >m.modes.map
    "$BLCO" top m | { ! grep -q $'\e'; }
    "$BLCO" report -q m && ! grep -q '<i>' m.html
    xmllint --noout m.html
    # of a tensor: before anything is computed
    sed -i 1d events.mode2.map
    run -2 "$BLCO" cpd events.blco -r 1 -o new --backend host
    [[ "$output" == *"events.mode2.map: 2 labels, expected 3, one for each index of mode 2"* ]]
    [ -z "$(compgen -G 'new*')" ]
}

@test "names: nothing is lost where stems meet" {
    events
    before=$(cat events.mode[123].map | md5sum)
    printf '1 1 1 1\n2 2 2 2\n' >other.tns
    # a model without names, and one with others, beside a tensor with names
    run -5 "$BLCO" cpd other.tns -r 1 -o events --backend host
    [[ "$output" == *"events.mode1.map: is for the names of events.blco, which are not those of the tensor that is read: name other files with -o"* ]]
    run -5 "$BLCO" cpd events.csv --columns user,item,time --order user=sorted -r 1 --backend host
    [[ "$output" == *"events.mode3.map: is for the names of events.blco"* ]]
    # its own model does no harm
    cpd -q events.blco -r 1 --backend host
    cpd -q events.blco -r 2 --backend host
    [ "$(cat events.mode[123].map | md5sum)" = "$before" ]
    # an older model's names go with it; the user's own stay
    cpd -q events.blco -r 1 -o m --backend host
    cpd -q other.tns -r 1 -o m --backend host
    [ -z "$(compgen -G 'm.*.map')" ]
    echo mine >m.mode2.map
    cpd -q other.tns -r 1 -o m --backend host
    [ "$(cat m.mode2.map)" = mine ]
    run -5 "$BLCO" cpd events.blco -r 1 -o m --backend host
    [[ "$output" == *"m.mode2.map: exists and is not of a model: move it away, or name other files with -o"* ]]
    # a page, a record or a checkpoint is no map
    run -2 "$BLCO" cpd other.tns -r 1 -o n --record n.mode1.map --backend host
    run -2 "$BLCO" report events -o events.mode1.map
    [ "$(cat events.mode[123].map | md5sum)" = "$before" ]
    # convert
    run -5 "$BLCO" convert other.tns m.blco
    [[ "$output" == *"m.mode2.map: would be picked up as the names of m.blco: move it away"* ]]
    [ ! -e m.blco ]
    run -5 "$BLCO" convert events.blco m.tns
    [[ "$output" == *"m.mode2.map: cannot be written: it exists already (--force replaces it)"* ]]
    "$BLCO" convert -q events.blco m.tns --force
    cmp events.mode2.map m.mode2.map
    "$BLCO" convert -q m.tns m.blco
    [ "$("$BLCO" info -q m.blco --json | jq -c .modes)" = '["user","item","time"]' ]
    [ "$(cat events.mode[123].map | md5sum)" = "$before" ]
}

@test "names: a range of ranks, and ranks that are threads or processes, keep them" {
    events
    cpd -q events.blco -r 1:2 -o m --backend host
    for rank in 1 2; do cmp events.mode2.map m.r$rank.mode2.map; done
    [ "$(jq -c .tensor.modes m.ranks.json)" = '["user","item","time"]' ]
    needs_mpirun
    for input in events.blco "events.csv --columns user,item,time --bin time=1h"; do
        processes 2 "$BLCO" cpd $input -r 2 -o p -q -t 1 --backend host </dev/null
        for mode in 1 2 3; do cmp events.mode$mode.map p.mode$mode.map; done
        [ "$(cat p.modes.map)" = "$(printf 'user\nitem\ntime')" ]
        rm p.*
    done
    sed -i 1d events.mode2.map
    run processes 2 "$BLCO" cpd events.blco -r 2 -o p -q -t 1 --backend host </dev/null
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
    [[ "$output" == *"events.mode2.map: 2 labels, expected 3"* ]]
    [ -z "$(compgen -G 'p*')" ]
}

@test "names: --format csv is read back, and by Python's reader" {
    events
    cpd -q events.blco -r 2 -o m --backend host --format csv
    cpd -q events.blco -r 2 -o t --backend host
    [ "$("$BLCO" compare m t --json | jq .score)" = 1 ]
    python3 - <<'END2'
import csv
for n, name in (1, "user"), (2, "item"), (3, "time"):
    rows = list(csv.reader(open(f"m.mode{n}.csv", newline="", encoding="utf-8")))
    assert rows[0] == [name, "component1", "component2"], rows[0]
    assert [r[0] for r in rows[1:]] == open(f"m.mode{n}.map", encoding="utf-8").read().splitlines()
    assert [" ".join(r[1:]) for r in rows[1:]] == open(f"t.mode{n}.mat").read().splitlines()
END2
}

@test "names: text has a header of lengths where its largest indices are not the last names" {
    cp "$DATA/events.csv" events.csv
    "$BLCO" convert -q events.csv week.blco --columns user,time --bin time=hour-of-week
    "$BLCO" convert -q events.csv week.tns --columns user,time --bin time=hour-of-week --force
    [ "$(head -n 2 week.tns)" = "$(printf '2\n4 168')" ]
    "$BLCO" convert -q week.blco again.tns
    cmp <(sort week.tns) <(sort again.tns)
    cpd -q week.tns -r 1 -o m --backend host
    [ "$(wc -l <m.mode2.map)" -eq 168 ]
    run -0 "$BLCO" convert -q week.blco plain.tns --header none
    run -2 "$BLCO" cpd plain.tns -r 1 -o n --backend host
    [[ "$output" == *"plain.mode2.map: 168 labels, expected "*"one for each index of mode 2"* ]]
    "$BLCO" cpd -q plain.tns -r 1 -o n --backend host --dims -,168
    # all names used: no header
    "$BLCO" convert -q events.csv used.tns --columns user,item
    [ "$(head -n 1 used.tns | wc -w)" -eq 3 ]
}

@test "names: the line of the page keeps a spreadsheet from computing names" {
    printf 'a,b\n=cmd|x,1\n"@y, z",1\nplain=,1\n-3,1\n' >x.csv
    "$BLCO" cpd -q x.csv --columns a,b -r 1 -i 1 --backend host -o STEM --format csv
    eval "$(mandoc -T utf8 "$ROOT/man/blco-cpd.1" | grep -o 'sed -E .*')"
    [ "$(cut -d, -f1 sheet.csv)" = "$(printf "a\n'=cmd|x\n\"'@y\nplain=\n'-3")" ]
    [ "$(cut -d, -f1 STEM.mode1.csv | sed -n '2p;5p')" = "$(printf '=cmd|x\n-3')" ]
}
