# Runs of blco cpd in which unlisted entries are unknown or weigh less.
# bats file_tags=plain
load cli_helpers
load ../support/mpi

# fits OPTION...: a model of data/planted.tns.
fits() {
    "$BLCO" cpd "$DATA/planted.tns" -r 4 --backend host -q "$@"
}

# Every second nonzero of the tensor, whose cells are those of a model of rank 4.
half() {
    awk '!/^#/ && ++n % 2' "$DATA/planted.tns" >half.tns
}

@test "half of the nonzeros give the model of all" {
    half
    "$BLCO" cpd half.tns -r 4 --backend host -q --unlisted unknown --ridge 1e-6 --starts 5 \
        -i 2000 --tol 1e-9 -o half
    run "$BLCO" compare half "$DATA/planted.ktns"
    [[ $output =~ score\ +0\.99|score\ +1 ]]
    "$BLCO" cpd half.tns -r 4 --backend host -q -o zeros
    run "$BLCO" compare zeros "$DATA/planted.ktns"
    [[ ! $output =~ score\ +0\.99|score\ +1 ]]
}

@test "the bits are the same for any number of threads, and after a checkpoint" {
    fits --unlisted unknown --ridge 0.1 -i 60 --tol 0 -o two
    for threads in 1 3; do
        OMP_NUM_THREADS=$threads fits --unlisted unknown --ridge 0.1 -i 60 --tol 0 -o other
        for n in 1 2 3; do cmp "two.mode$n.mat" "other.mode$n.mat"; done
    done
    for i in 10 45 52; do # while entries fade, and after
        fits --unlisted unknown --ridge 0.1 -i $i --tol 0 --checkpoint c.bck --nowrite
        fits --unlisted unknown --ridge 0.1 -i 60 --tol 0 --resume c.bck -o other
        for n in 1 2 3; do cmp "two.mode$n.mat" "other.mode$n.mat"; done
        rm c.bck
    done
}

@test "a run that ends while zeros fade tells the fit of the known entries" {
    printf '1 1 1 3\n2 1 2 1\n2 2 1 4\n3 3 3 2\n1 2 3 5\n3 1 1 2\n' >a.tns
    for how in "-i 3" "-i 3 --checkpoint c.bck" "-i 3 --resume c.bck" "-i 1000000000 --fade 0.999999 --time-limit 1s" "-i 3 --loss poisson"; do
        cpd a.tns -r 1 --backend host -q --unlisted unknown $how --record r.json -o m
        "$BLCO" predict m a.tns --residuals -q >lines
        if [[ $how == *poisson ]]; then
            found=$(number deviance r.json)
            expected=$(awk '{ d += 2 * ($5 - $4 + $4 * log($4 / $5)) } END { printf "%.12g", d }' \
                <(paste -d ' ' a.tns <(cut -d ' ' -f 4 lines)))
        else
            found=$(number fit r.json)
            expected=$(awk '{ r += $5 * $5; x += ($4 + $5) ^ 2 } END { printf "%.12g", 1 - sqrt(r / x) }' lines)
        fi
        near "$found" "$expected" 1e-9
        rm -f r.json m.*
    done
}

@test "the core consistency takes unknown entries from the model, and says how much that is" {
    awk 'NR % 10 < 7' "$DATA/fluorescence.tns" >gaps.tns
    run -0 "$BLCO" cpd gaps.tns -r 3 --unlisted unknown --backend host --core-consistency --record r.json --nowrite
    grep -qE '^core consistency (100\.0|99\.[5-9]) \([23][0-9](\.[0-9])? % of the tensor taken from the model\): each component is meaningful on its own$' <<<"$output"
    near "$(number core_consistency_imputed r.json)" 0.3 0.02
    run -0 "$BLCO" cpd "$DATA/planted.tns" -r 4 --unlisted unknown --ridge 0.1 --backend host --core-consistency --nowrite
    [[ $output == *"% of the tensor taken from the model): with so little data, nearly every model comes near 100"* ]]
    run -0 "$BLCO" cpd gaps.tns -r 2:4 --unlisted unknown --backend host --holdout 0.1 -q -o m
    [[ ${lines[0]} =~ "held-out error "+core ]]
    [[ ${lines[2]} =~ \ \([0-9.e-]+\)\ +(100\.0|99\.[5-9])\ *$ ]]
    "$BLCO" report -q m
    grep -q 'Held-out error</th><th scope="col" class="n">Core consistency</th>' m.html
}

@test "a weight of 1 is zero, word for word" {
    fits -i 5 --tol 0 -o zero
    fits -i 5 --tol 0 --unlisted 1 -o one
    fits -i 5 --tol 0 --unlisted zero -o word
    for n in 1 2 3; do
        cmp "zero.mode$n.mat" "one.mode$n.mat"
        cmp "zero.mode$n.mat" "word.mode$n.mat"
    done
}

@test "the record says what unlisted entries were" {
    fits -i 3 --unlisted 0.25 --nowrite --record r.json --ridge 1
    grep -q '"unlisted": 0.25' r.json
    grep -q '"fade": 0.8' r.json
    grep -q '"ridge_scale": "balanced"' r.json
    fits -i 3 --unlisted unknown --fade 0 --nowrite --record r.json
    grep -q '"unlisted": "unknown"' r.json
    grep -q '"fade": 0' r.json
    fits -i 3 --nowrite --record r.json
    grep -q '"unlisted": "zero"' r.json
    grep -q '"ridge_scale": "unit"' r.json
}

@test "an entry that is nan is unknown to several processes" {
    needs_mpirun
    awk '/^#/ { print; next } { print $1, $2, $3, ++n % 10 ? $4 : "nan" }' "$DATA/planted.tns" >some.tns
    processes 3 "$BLCO" cpd some.tns -r 4 --backend host -q -i 500 --tol 1e-10 --starts 3 -o some
    run "$BLCO" compare some "$DATA/planted.ktns"
    [[ $output =~ score\ +0\.9999|score\ +1 ]]
}

@test "an entry that is nan is unknown, the entries that are not listed are zeros" {
    awk '/^#/ { print; next } { print $1, $2, $3, ++n % 10 ? $4 : "nan" }' "$DATA/planted.tns" >some.tns
    "$BLCO" cpd some.tns -r 4 --backend host -q -i 500 --tol 1e-10 --starts 3 -o some
    run "$BLCO" compare some "$DATA/planted.ktns"
    [[ $output =~ score\ +0\.9999|score\ +1 ]]
    "$BLCO" convert -q some.tns some.blco
    "$BLCO" cpd some.blco -r 4 --backend host -q -i 50 --tol 0 -o blco
    "$BLCO" cpd some.tns -r 4 --backend host -q -i 50 --tol 0 -o text
    for n in 1 2 3; do cmp "blco.mode$n.mat" "text.mode$n.mat"; done
}

@test "listed zeros count, and a file that lacks them is named" {
    half
    cat >>half.tns <<<"20 25 30 0"
    "$BLCO" convert -q half.tns dropped.blco
    "$BLCO" convert -q --keep-zeros half.tns kept.blco
    "$BLCO" cpd half.tns -r 2 --backend host -q -i 50 --unlisted unknown -o text
    "$BLCO" cpd kept.blco -r 2 --backend host -q -i 50 --unlisted unknown -o kept
    cmp text.mode1.mat kept.mode1.mat
    run "$BLCO" cpd dropped.blco -r 2 --backend host -i 50 --unlisted unknown -o dropped
    [[ $output == *"warning: dropped.blco was made without 1 zero that was listed; blco convert --keep-zeros keeps them"* ]]
    run cmp -s text.mode1.mat dropped.mode1.mat
    [ "$status" -eq 1 ]
}

@test "slices without a known entry are named, and too few entries for the model" {
    awk '!/^#/ && $1 != 3 && $2 % 5 && $3 > 1' "$DATA/planted.tns" >some.tns
    cpd some.tns -r 2 --backend host --nowrite -i 3 --unlisted unknown
    empty() { awk -v mode="$1" '{ rows[$mode]; if ($mode > most) most = $mode } END { for (first = 1; first in rows; first++); n = most - length(rows); print n " of the " most " of mode " mode " (" (n > 1 ? "the first is " : "") first ")" }' some.tns; }
    grep -qxF "some slices have no known entry, and their rows become 0: $(empty 1), $(empty 2), $(empty 3)" messages
    run ! grep "fewer than" messages
    cp messages one
    cpd some.tns -r 2 --backend host --nowrite -i 3 --unlisted 0.1
    run ! grep "no known entry" messages
    awk '{ print $1, $2, $3, $1 == 2 || $1 == 4 ? "nan" : $4 }' some.tns >nan.tns
    local rows=$(sort -n some.tns | tail -n 1 | cut -d ' ' -f 1)
    seq "$rows" | sed 's/^4$/four/; s/^2$/the second/' >nan.mode1.map
    cpd nan.tns -r 2 --backend host --nowrite -i 3
    grep -qxF "some slices have no known entry, and their rows become 0: 2 of the $rows of mode 1 (the first is 'the second')" messages
    head -n 70 some.tns >few.tns
    cpd few.tns -r 4 --backend host --nowrite -i 3 --unlisted unknown --record r.json
    grep -qE "^warning: the known entries \(70\) are fewer than the unknowns of the model \([0-9]+\), which may fit them and mean nothing elsewhere; try a lower rank, or --holdout 0.1 --ridge auto$" messages
    grep -q '"few_entries"' r.json && grep -q '"empty_slices"' r.json
    needs_mpirun
    processes 3 "$BLCO" cpd some.tns -r 2 --backend host --nowrite -i 3 --unlisted unknown 2>messages
    diff <(grep "no known entry" one) <(grep "no known entry" messages)
}

@test "what contradicts --unlisted is refused" {
    check() { # MESSAGE OPTION...
        local message=$1
        shift
        run "$BLCO" cpd "$DATA/planted.tns" -r 4 --nowrite "$@"
        echo "$output"
        [ "$status" -eq 2 ] && [[ $output == "blco cpd: $message"* ]] && [ "${#lines[@]}" -eq 1 ]
    }
    check "--unlisted: '1.5', expected zero, unknown, or a weight from 0 to 1" --unlisted 1.5
    check "--unlisted: '-1', expected zero, unknown, or a weight from 0 to 1" --unlisted=-1
    check "--unlisted: 'nan', expected zero, unknown, or a weight from 0 to 1" --unlisted nan
    check "--fade 1: expected less than 1" --unlisted unknown --fade 1
    check "--ridge-scale counted: only where --unlisted is unknown or a weight" --ridge 1 --ridge-scale counted
    check "--init nvecs and --unlisted unknown: nvecs treats unlisted entries as zeros" \
        --unlisted unknown --init nvecs
    check "--conflict atomic and --unlisted unknown: expected auto or ordered" \
        --unlisted unknown --conflict atomic
}

@test "where weights grow beyond all numbers, a ridge is advised" {
    printf '1 1 1\n2 2 1\n' >x.tns
    printf 'ktensor\n2\n2 2\n1\n1\nmatrix\n2\n2 1\n1e200\n1\nmatrix\n2\n2 1\n1e200\n1\n' >huge.ktns
    fails 4 "; try --ridge 1e-6" cpd x.tns -r 1 --nowrite -q --backend host --init huge --unlisted unknown
    run -4 "$BLCO" cpd x.tns -r 1 --nowrite -q --backend host --init huge
    [[ $output != *"--ridge"* ]]
}

@test "a checkpoint goes on only with the same --unlisted" {
    fits --unlisted unknown -i 3 --checkpoint c.bck --nowrite
    run fits -i 5 --resume c.bck --nowrite --unlisted 0.5
    [ "$output" = "blco cpd: c.bck: a checkpoint with --unlisted unknown, but this run has 0.5" ]
    run fits -i 5 --resume c.bck --nowrite --unlisted unknown --fade 0.5
    [ "$output" = "blco cpd: c.bck: a checkpoint with --fade 0.8, but this run has 0.5" ]
    run fits -i 5 --resume c.bck --nowrite --unlisted unknown --ridge 0 --ridge-scale unit
    [ "$output" = "blco cpd: c.bck: a checkpoint with --ridge-scale balanced, but this run has unit" ]
}

# missing PERCENT SEED KEY: the entries of full.tns without a share of them, or of their fibers: those that agree in the
# columns that KEY names, as '$2" "$3'.
missing() {
    awk -v percent="$1" -v seed="$2" 'BEGIN { srand(seed) } /^#/ { next }
        { k = '"$3"' } !(k in kept) { kept[k] = rand() * 100 >= percent } kept[k]' full.tns >part.tns
}

# fits_part OPTION...: a model of part.tns from random starts, or from a model.
fits_part() {
    "$BLCO" cpd part.tns -r 3 --backend host -q -i 3000 --tol 1e-9 --unlisted unknown "$@" >/dev/null
}

# similar A B LEAST: the columns of both models have a factor match score of LEAST or more.
similar() {
    "$BLCO" compare "$1" "$2" --no-weights >compared
    awk -v least="$3" '$1 == "score" { good = $2 >= least } END { exit !good }' compared || { cat compared && return 1; }
}

@test "spectra with missing readings have the components of all readings" {
    tensor aminoacid
    ln -s "$TENSOR" full.tns
    "$BLCO" cpd full.tns -r 3 --backend host -q -i 3000 --tol 1e-10 -o full
    for percent in 5 20 50 80; do # at random
        missing $percent $percent NR
        fits_part -o part
        similar part full 0.999
    done
    missing 90 1 NR
    fits_part --starts 5 -o part
    similar part full 0.99
    for percent in 20 40; do # of an excitation and emission together, the samples of all
        missing $percent $percent '$2" "$3'
        fits_part -o part
        similar part full 0.999
    done
    missing 20 20 '$1" "$3' # of a sample, the spectrum at an excitation
    fits_part --starts 5 -o part
    similar part full 0.999
    for key in '$1" "$3' '$1" "$2'; do # so many that the readings that are left have another best model, which is found
        missing 40 20 "$key"
        fits_part --starts 3 --tol 1e-12 -o part
        fits_part --tol 1e-12 --init full --fade 0 -o near
        similar part near 0.999
        fits_part --holdout 0.1 --ridge auto -o part # a ridge keeps it near that of all
        similar part full 0.95
    done
}
