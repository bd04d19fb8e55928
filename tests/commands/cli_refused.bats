# Every bad input of tests/data/refused_inputs.tsv is refused as the table says: with its exit status and
# its one line, nothing on standard output, and no other files than those of the recipe.
load cli_helpers

# small_blco: x.blco, of four nonzeros, whose one group has doubles. Recipes of the table call it.
small_blco() {
    printf '1 1 1 0.12345678901234567\n2 40 1 -1.2345678901234567\n1 2 2 7\n2 3 3 8\n' >x.tns
    "$BLCO" convert -q x.tns x.blco
    rm x.tns
}

blco() { "$BLCO" "$@"; }

# refuse RECIPE ARGUMENTS CODE LINE: prints the differences, if there are any.
refuse() {
    local code=0 before after
    mkdir row && cd row || return
    eval "$1"
    before=$(ls -A)
    eval "blco $2" >../output 2>../line </dev/null || code=$?
    after=$(ls -A)
    if [ "$code" != "$3" ] || [ "$(cat ../line)" != "$4" ] || [ -s ../output ] || [ "$after" != "$before" ]; then
        printf '%s; blco %s: exit %s, expected %s\n  %s\n  %s\n' "$1" "$2" "$code" "$3" "$(cat ../line)" "$4"
        [ "$after" = "$before" ] || printf '  files: %s\n' "$after"
        head -3 ../output
    fi
    cd .. && rm -r row output line
}

@test "every input of the table is refused with its exit status and its line" {
    export -n BATS_TEST_TMPDIR
    PATH=$ROOT/tests/support:$PATH
    rows=0
    while IFS=$'\t' read -r recipe arguments code line; do
        [[ $recipe != '#'* ]] || continue
        rows=$((rows + 1))
        refuse "$recipe" "$arguments" "$code" "$line" </dev/null >>differences
    done <"$TEST_DATA/refused_inputs.tsv"
    cat differences
    echo "$rows rows"
    [ ! -s differences ] && [ "$rows" -ge 300 ]
}
