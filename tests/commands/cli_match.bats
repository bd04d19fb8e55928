load cli_helpers
load ../support/mpi

# Where a tensor meets a model, or a model a model, names decide which row is which: whatever the order of
# rows, columns and modes, the answer is the same, or a line says why there is none.

# all.csv: 10 users, 8 items and 12 hours, of a model of two components; its rows, permuted in two ways, and
# with columns in another order; some.csv: half of them; few.csv: those of three users and five items.
tables() {
    awk 'BEGIN {
        srand(3); print "user,item,hour,rating"
        for (u = 0; u < 10; u++) for (i = 0; i < 8; i++) for (h = 0; h < 12; h++)
            if ((7 * u + 5 * i + 3 * h) % 4 > 0)
                printf "u%d,i%c,%d,%.6f\n", u, 97 + i, h, (1 + u % 3) * (1 + i % 2) * (1 + h % 4) + (u % 4) * (i % 3) * (h % 5)
    }' >all.csv
    { head -n 1 all.csv && tail -n +2 all.csv | sort -t, -k4,4n -k2,2r -k1,1; } >permuted.csv
    awk -F, -v OFS=, '{ print $4, $2, $3, $1 }' permuted.csv >columns.csv
    awk -F, 'NR == 1 || NR % 2' permuted.csv >some.csv
    awk -F, 'NR == 1 || ($1 < "u3" && $2 < "if")' permuted.csv >few.csv
    COLUMNS=(--columns user,item,hour --value rating)
    cpd -q all.csv "${COLUMNS[@]}" --order user=appearance --unlisted unknown -r 2 -i 30 --tol 0 -o m --backend host
    "$BLCO" convert -q permuted.csv permuted.blco "${COLUMNS[@]}" --order user=appearance --order hour=appearance
    "$BLCO" convert -q permuted.csv modes.tns --columns hour,user,item --value rating --order item=appearance
    "$BLCO" convert -q permuted.csv swapped.blco --columns hour,user,item --value rating
}

# sorted ARGUMENT...: the lines that blco prints, sorted
sorted() { "$BLCO" "$@" | sort; }

@test "match: predict finds rows by names, whatever their order" {
    tables
    sorted predict -q m all.csv --residuals >expected
    [ "$(wc -l <expected)" -eq 720 ]
    for x in permuted.csv columns.csv permuted.blco; do
        sorted predict -q m $x --residuals >found
        cmp expected found
    done
    for x in modes.tns swapped.blco; do # another order of modes: hour, user, item
        sorted predict -q m $x --residuals | awk -F'\t' -v OFS='\t' '{ print $2, $3, $1, $4, $5 }' | sort >found
        cmp expected found
    done
    # labels are shown, and not matched; they are refused where the file's own names are written
    seq -f 'user %g' 0 9 >users
    "$BLCO" convert -q all.csv same.blco "${COLUMNS[@]}" --order user=m.mode1.map
    sorted predict -q m same.blco --residuals --labels 1=users | sed 's/^user /u/' | cmp expected -
    fails 2 "--labels 1=users: permuted.blco has names of its own" predict -q m permuted.blco --labels 1=users
    "$BLCO" predict -q m permuted.blco --labels 1=users --residuals -n 1 >found
    grep -q 'user [0-9]' found
    # names alone; names that the model lacks
    cut -d, -f1-3 all.csv >names.csv
    sorted predict -q m names.csv | cmp <(cut -f1-4 expected) -
    { cat few.csv && echo 'nobody,ia,3,1'; } >new.csv
    run -0 --separate-stderr "$BLCO" predict m new.csv --residuals
    [[ "$stderr" == *"mode 1 (user): 1 name of new.csv that m lacks"* && "$stderr" == *"1 entry has a name"*": nan"* ]]
    [ "$(tail -n 1 <<<"$output")" = "$(printf 'nobody\tia\t3\tnan\tnan')" ]
    fails 2 "new.csv:$(wc -l <new.csv): column 1 (user): 'nobody', expected a name" predict -q m new.csv --match all
    "$BLCO" convert -q new.csv new.blco "${COLUMNS[@]}"
    [ "$("$BLCO" predict -q m new.blco --residuals | grep -c nan)" -eq 1 ]
    fails 2 "new.blco: mode 1: the name 'nobody', expected one that m has" predict -q m new.blco --match all
}

@test "match: top --unlisted finds the slice by names" {
    tables
    for x in all.csv permuted.csv columns.csv permuted.blco modes.tns swapped.blco; do
        "$BLCO" top m $x --unlisted user=u7 --json -n 5 2>messages | jq -c 'del(.tensor)' >found.$x
        cmp found.all.csv found.$x
    done
    grep -q '"labels":\["u7"' found.all.csv
}

@test "match: compare pairs rows by names, those that both models have" {
    tables
    cpd -q permuted.blco --unlisted unknown -r 2 -i 1 --init m -o p --backend host
    cpd -q modes.tns --unlisted unknown -r 2 -i 1 --init m -o q --backend host
    cpd -q all.csv "${COLUMNS[@]}" --unlisted unknown -r 2 -i 1 --init m -o r --backend host
    "$BLCO" compare m p --at-least .99
    "$BLCO" compare p r --at-least .999999
    "$BLCO" compare p q --at-least .998 # sweeps go through the modes in another order
    cpd -q few.csv --unlisted unknown -r 2 -i 5 --init m -o f --backend host
    run -0 "$BLCO" compare m f
    [[ "$output" == *"mode 1: 3 in both, of 10 and 3"*"mode 2: 5 in both, of 8 and 5"* ]]
    "$BLCO" generate -q z.tns --dims 10x8x12 --nnz 300
    cpd -q z.tns -r 2 -i 2 -o z --backend host
    fails 2 "z: no names of the indices of mode 1, which m has" compare m z
    "$BLCO" compare m z --match index
}

@test "match: a model as start, and fixed modes, on one process and on three" {
    tables
    cpd -q all.csv "${COLUMNS[@]}" --unlisted unknown -r 2 -i 3 --init m -o one --backend host
    cpd -q columns.csv --unlisted unknown -r 2 -i 3 --init m -o two --backend host
    cpd -q modes.tns --unlisted unknown -r 2 -i 3 --init m -o three --backend host
    "$BLCO" compare one two --at-least .999999
    "$BLCO" compare one three --at-least .998 # sweeps go through the modes in another order
    # rows of new users beside fixed items and hours; CSV has the model's rows
    cpd -q few.csv --unlisted unknown -r 2 -i 5 --init m --fix 2,3 -o fold --backend host
    cmp m.mode2.map fold.mode2.map
    "$BLCO" compare m fold --at-least .999 --no-weights
    "$BLCO" convert -q few.csv few.tns "${COLUMNS[@]}"
    fails 2 "--fix 2: few.tns lacks 3 names that --init m has" cpd -q few.tns --unlisted unknown -r 2 --init m --fix 2,3 -o x
    for file in m.*; do cp "$file" "last${file#m}"; done
    rm last.mode3.mat # of a mode that is not fixed
    cpd -q permuted.csv --unlisted unknown -r 2 -i 5 --init last --fix 1,2 -o found --backend host
    "$BLCO" compare m found --at-least .99 --no-weights
    { cat few.csv && echo 'u1,new,3,1'; } >new.csv
    fails 2 "new.csv:$(wc -l <new.csv): column 2 (item): 'new', expected a name" cpd -q new.csv -r 2 --init m --fix 2,3 -o x
    cpd new.csv --unlisted unknown -r 2 -i 3 --init m -o new --backend host
    grep -q 'mode 2 (item): 1 name of new.csv that m lacks' messages
    needs_mpirun
    for x in "columns.csv -o two3" "modes.tns -o three3" "few.csv --fix 2,3 -o fold3"; do
        # shellcheck disable=SC2086
        processes 3 "$BLCO" cpd -q $x --unlisted unknown -r 2 -i 3 --init m --backend host 2>messages || { cat messages && false; }
    done
    "$BLCO" compare two two3 --at-least .999999
    "$BLCO" compare three three3 --at-least .999999
    "$BLCO" compare fold fold3 --at-least .999 --no-weights
}

@test "match: names beside none, and other modes, are refused" {
    tables
    "$BLCO" convert -q all.csv bare.tns "${COLUMNS[@]}"
    rm bare.*.map
    fails 2 "bare.tns: no names of the indices of mode 1, which m has" predict -q m bare.tns
    "$BLCO" predict -q m bare.tns --match index -o values.npy
    fails 2 "bare.tns: no names of the indices of mode 1, which m has" top m bare.tns --unlisted 1=u1
    fails 2 "bare.tns: no names of the indices of mode 1, which m has" cpd -q bare.tns -r 2 --init m -o x
    sed '1s/item/thing/' all.csv >other.csv
    "$BLCO" convert -q other.csv other.blco --columns user,thing,hour --value rating
    fails 2 "other.blco: no mode is named 'item', as mode 2 of m is" predict -q m other.blco
    fails 2 "other.csv: a column of the model: no column 'item'" predict -q m other.csv
}

@test "match: bins and changed values of the model are those of its tables" {
    printf 'who,when,n\na,2026-11-23T10:20,3\nb,2026-11-23T11:50,5\na,2026-11-23T12:10,7\nb,2026-11-23T10:00,2\n' >t.csv
    cpd -q t.csv --columns who,when --value n --bin when=1h --values log1p -r 2 -o m --backend host
    [ "$(jq -c '[.modes[1].bin, .value, .values]' m.model.json)" = '["1h","n","log1p"]' ]
    printf 'n,when,who\n3,2026-11-23T10:59,a\n1,2026-11-24T10:59,a\n' >new.csv
    run -0 --separate-stderr "$BLCO" predict -q m new.csv --residuals
    [[ "${lines[0]}" == $'a\t2026-11-23T10:00\t'* && "${lines[1]}" == $'a\t2026-11-24T10:00\tnan\tnan' ]]
    near "$(cut -f4 <<<"${lines[0]}")" 0 1e-8 # ln(1 + 3) is what the model has
    "$BLCO" convert -q t.csv t.blco --columns who,when --value n --bin when=1h --values log1p
    "$BLCO" convert -q t.blco again.blco
    [[ "$("$BLCO" info -q again.blco)" == *"table        values of n, log1p, when in bins of 1h"* ]]
    [ "$("$BLCO" info -q again.blco --json | jq -c .table)" = \
        '{"value":"n","values":"log1p","modes":[{"order":"value","bin":null},{"order":"sorted","bin":"1h"}]}' ]
    cpd -q again.blco -r 2 -o b --backend host
    cmp m.model.json b.model.json
    run -0 --separate-stderr "$BLCO" predict m again.blco --residuals -o x.txt
    [[ "$stderr" == *"RMSE "*"e-"* ]]
    echo 'n,when,who' >bad.csv && echo '3,soon,a' >>bad.csv
    fails 2 "bad.csv:2: column 2 (when): 'soon', expected" predict -q m bad.csv
}
