# bats file_tags=release
# The loaders of scripts/loaders, and the examples of blco-formats(5). BLCO_TEST_PYTHON names a Python
# that has packages which the others have not.
load ../commands/cli_helpers

# python_with MODULE: PYTHON is a Python that has the module.
python_with() {
    for PYTHON in ${BLCO_TEST_PYTHON-} python3 /usr/bin/python3; do
        ! "$PYTHON" -c "import $1" 2>/dev/null || return 0
    done
    skip "no Python has $1"
}

octave_is_there() { command -v octave >/dev/null || skip "octave is not installed"; }

loaded_by_python() { "$PYTHON" -W error "$ROOT/tests/support/loaded.py" "$ROOT/scripts/loaders" "$@"; }

r_is_there() { command -v Rscript >/dev/null || skip "R is not installed"; }

loaded_by_r() { Rscript --vanilla "$ROOT/tests/support/loaded.R" "$ROOT/scripts/loaders" "$@" 2>r-messages; }

loaded_by_octave() { octave --no-gui -qf "$ROOT/tests/support/loaded.m" "$ROOT/scripts/loaders" "$@" 2>octave-messages; }

# Values of every form, in lines of up to 150 bits: the places of neighbours differ in few or all bits.
wide_tensor() {
    awk 'BEGIN {
        split("2.37 -3 0.1 1e300 5e-324 0.3333333333333333 1 12345.678 -1e-7 4503599627370497", value)
        srand(7)
        for (i = 0; i < 70000; i++) {
            if (i % 3 == 0)
                for (n = 1; n <= 6; n++) index_of[n] = 1 + int(rand() * 33000000)
            else
                index_of[6]++
            for (n = 1; n <= 6; n++) printf "%d ", index_of[n]
            print value[1 + (i < 30000 ? i % 10 : i < 50000 ? 3 : int(i / 256) % 10)]
        }
    }'
}

# Tensors as NAME.blco and NAME.tns, the text in the order of the .blco file.
tensors() {
    wide_tensor >wide.tns
    "$BLCO" generate -q skewed.blco --dims 300,200,100 --nnz 100000
    # doubles with all bits: read as floats, some of them would be signalling NaN
    "$BLCO" generate -q noise.blco --dims 60,50,40 --nnz 12000 --planted-rank 3 --noise 0.1
    printf '7 -2\n9 3\n' >vector.tns
    # thirds and sevenths in single precision, which no decimal number of few digits is
    awk 'BEGIN { for (i = 1; i <= 700; i++) print 3 * i, i % 2 ? "0.3333333432674408" : "-0.1428571492433548" }' >floats.tns
    # places of 38 bits, the lowest 25 or so in fields: sums carry beyond bit 32
    awk 'BEGIN { srand(5); for (i = 0; i < 5000; i++) print 1 + int(rand() * 5e5), 1 + int(rand() * 5e5), i % 7 + 1 }' >carries.tns
    cp "$DATA/planted.tns" "$DATA/ucb-admissions.tns" "$DATA/matmul-3x3x3.tns" .
    local file
    for file in wide carries vector floats planted ucb-admissions matmul-3x3x3; do
        "$BLCO" convert -q $file.tns $file.blco
    done
    for file in *.blco; do "$BLCO" convert -q --force "$file" "${file%.blco}.tns"; done
}

models() {
    "$BLCO" cpd -q --backend host "$DATA/ucb-admissions.tns" -r 2 -o ucb --format text,npy,ktns,csv
    "$BLCO" cpd -q --backend host "$DATA/planted.tns" -r 1 -o planted --format text,npy,ktns,csv
}

@test "load_blco.py: every format of a model has the same bits" {
    python_with numpy
    models
    loaded_by_python models ucb
    [ "$(stat -c %s loaded.bin)" -eq $((8 * (2 + 2 * 10))) ]
    loaded_by_python models planted
}

@test "load_blco.py: .blco files have the nonzeros of the text" {
    python_with numpy
    tensors
    for file in *.blco; do loaded_by_python tensor "$file" "${file%.blco}.tns"; done
    [ "$(find . -name '*.blco' | wc -l)" -eq 9 ]
}

# Tensors and a model with names, and a model without any.
named_files() {
    "$BLCO" convert -q "$DATA/events.csv" events.blco --columns user,item,time --bin time=1d --order user=sorted
    "$BLCO" convert -q events.blco text.tns
    "$BLCO" cpd -q --backend host events.blco -r 1 -o m --format csv
    "$BLCO" cpd -q --backend host "$DATA/planted.tns" -r 1 -o planted
    printf 'user item time\nann|bob|cem|dora\ntea, green|coffee|cake\n2026-11-23|2026-11-24\n' >expected
    # a mark of UTF-8 that begins a name, line ends inside names, and what looks like one that is escaped
    printf 'user,"it\nem"\n"\xef\xbb\xbfann","C:\\x0a"\n"b\nc\rd",\\\nann,\\x5cx0d\n' >hostile.csv
    "$BLCO" convert -q hostile.csv hostile.tns --columns $'user,"it\nem"'
    printf 'user it\nem\n\xef\xbb\xbfann|b\nc\rd|ann\nC:\\x0a|\\|\\x5cx0d\n' >hostile
}

@test "load_blco.py and load_blco.m: names of models and of tensors" {
    python_with numpy
    named_files
    for name in events.blco text.tns m; do
        loaded_by_python names $name | diff expected -
    done
    loaded_by_python names hostile.tns | diff hostile -
    [ -z "$(loaded_by_python names planted)" ]
    octave_is_there
    loaded_by_octave names hostile.tns | diff hostile -
    for name in text.tns m; do
        loaded_by_octave names $name | diff expected -
    done
}

@test "load_blco.R: names of models and of tensors" {
    r_is_there
    named_files
    for name in text.tns m; do
        loaded_by_r names $name | diff expected -
    done
    loaded_by_r names hostile.tns | diff hostile -
    [ -z "$(loaded_by_r names planted)" ]
    "$BLCO" cpd -q --backend host events.blco -r 2 -o m --format text,npy,ktns,csv
    loaded_by_r models m | sed 's/[ |]*$//' | diff expected -
    echo ann >m.mode2.map
    run -1 loaded_by_r refuse m
    [[ $output == "m.mode2.map: 1 names, expected 3"* ]]
}

@test "load_blco.R: every format of a model, as by load_blco.py" {
    r_is_there
    python_with numpy
    models
    for stem in ucb planted; do
        loaded_by_r models $stem
        mv loaded.bin by-r
        loaded_by_python models $stem
        cmp loaded.bin by-r
    done
}

@test "load_blco.m: every format of a model, as by load_blco.py" {
    octave_is_there
    python_with numpy
    models
    for stem in ucb planted; do
        loaded_by_octave models $stem
        mv loaded.bin by-octave
        loaded_by_python models $stem
        cmp loaded.bin by-octave
    done
}

# Files that are refused, with a part of the message of the loaders.
refused_files() {
    tensors
    models
    sed 's/BLCO/BLCX/' vector.blco >magic.blco
    cp vector.blco header.blco
    printf '\3' | dd of=header.blco bs=1 seek=88 conv=notrunc status=none
    cp vector.blco version.blco
    printf '\1' | dd of=version.blco bs=1 seek=12 conv=notrunc status=none
    head -c -8 vector.blco >cut.blco
    cp vector.blco directory.blco
    printf '\1' | dd of=directory.blco bs=1 seek=8200 conv=notrunc status=none
    # the bit vector of a group, without its checksum: 24 bytes of an entry, 8 of its line, then the words
    cp vector.blco bits.blco
    printf '\377\377' | dd of=bits.blco bs=1 seek=4132 conv=notrunc status=none
    cp ucb.ktns locked.ktns
    printf 'blco, process 1 on host h\nfiles 1\n0 new ktns\nreplace\n' >locked.lock
    head -n 9 ucb.ktns >short.ktns
    cp ucb.mode1.mat odd.mode1.mat
    echo 1 >odd.lambda.mat
}

# refuses LOADER [KIND]: each file, or those of a model, with the message that belongs to it.
refuses() {
    local name message
    while read -r name message; do
        [[ $name != *.blco || ${2-} != models ]] || continue
        run "$1" refuse "$name"
        echo "$name: $output"
        [ "$status" -eq 1 ]
        [[ $output == *"$message"* ]]
    done <<'END'
magic.blco is no .blco file
header.blco the header is damaged
version.blco version 1, expected 3
cut.blco bytes, expected
directory.blco the directory is damaged
bits.blco damaged
absent.blco absent.blco
locked the files of this model are being replaced
short ends where
odd weights
absent no model
END
    run "$1" refuse ucb odf
    [[ $output == *"format "*"odf"*", expected "* ]]
}

@test "load_blco.py: what is damaged, of another kind or being replaced is refused" {
    python_with numpy
    refused_files
    refuses loaded_by_python
}

@test "load_blco.m: what is damaged, of another kind or being replaced is refused" {
    octave_is_there
    refused_files
    refuses loaded_by_octave models
    run -1 loaded_by_octave refuse vector.blco
    [[ $output == "vector.blco: make text of it first: blco convert vector.blco vector.tns" ]]
}

@test "load_blco.R: what is damaged, of another kind or being replaced is refused" {
    r_is_there
    refused_files
    refuses loaded_by_r models
    run -1 loaded_by_r names vector.blco
    [[ $(cat r-messages) == *"vector.blco: make text of it first: blco convert vector.blco vector.tns"* ]]
}

# example HEADING...: what blco-formats(5) shows under these headings.
example() {
    local heading
    for heading in "$@"; do
        awk -v heading="$heading" '/^\.S[sh] / { here = substr($0, 5) == heading }
            here && /^\.Ed/ { on = 0 } here && on { print; found = 1 } here && /^\.Bd/ { on = 1 }
            END { exit !found }' "$ROOT/man/blco-formats.5"
    done | sed "s|/usr/local/share/blco/loaders|$ROOT/scripts/loaders|"
}

# The files of the examples: a model with the stem x, and x.blco.
example_files() {
    "$BLCO" convert -q "$DATA/planted.tns" x.blco
    "$BLCO" cpd -q --backend host x.blco -r 4 -i 500 --tol 1e-9 -o x --format text,npy,ktns,csv
}

@test "blco-formats: the examples of Python and NumPy run" {
    python_with numpy
    example_files
    {
        echo "import sys; sys.dont_write_bytecode = True"
        example "Python" "NumPy without the loader"
        echo "model = numpy.einsum('r,ir,jr,kr->ijk', weights, *factors)"
        echo "assert abs(model[tuple(subs.T)] - vals).max() < 1e-3 and model.shape == shape"
    } >example.py
    "$PYTHON" example.py
}

@test "blco-formats: the examples of pyttb run" {
    python_with pyttb
    example_files
    {
        echo "import sys; sys.dont_write_bytecode = True"
        example "Python" "pyttb"
        echo "assert K.shape == X.shape == shape and X.nnz == len(vals)"
        echo "assert abs(K.full().data[tuple(subs.T)] - vals).max() < 1e-3"
    } >example.py
    "$PYTHON" example.py
}

@test "blco-formats: the examples of TensorLy run" {
    python_with tensorly
    example_files
    {
        echo "import sys; sys.dont_write_bytecode = True"
        example "Python" "TensorLy"
        echo "assert abs(K.to_tensor()[tuple(subs.T)] - vals).max() < 1e-3"
    } >example.py
    "$PYTHON" example.py
}

@test "blco-formats: the examples of Octave run" {
    octave_is_there
    example_files
    "$BLCO" convert -q x.blco x.tns
    {
        example "MATLAB and Octave" "MATLAB and Octave without the loader"
        echo "assert(isequal(A1, U{1}) && isequal(size(subs), [numel(vals), numel(U)]));"
        echo "model = (U{1}(subs(:, 1), :) .* U{2}(subs(:, 2), :) .* U{3}(subs(:, 3), :)) * lambda;"
        echo "assert(max(abs(model - vals)) < 1e-3);"
    } >example.m
    octave --no-gui -qf example.m
}

@test "blco-formats: the examples of R run" {
    r_is_there
    example_files
    printf 'a\nb\nc\n' >x.modes.map
    seq -f 'item %g' 25 >x.mode2.map
    {
        example "R" "R without the loader"
        echo 'stopifnot(identical(dim(model$U[[1]]), dim(A[[1]])), all.equal(unname(model$U[[2]]), unname(A[[2]]), tolerance = 1e-15))'
        echo 'stopifnot(identical(found$modes, c("a", "b", "c")), is.null(found$names[[1]]), identical(found$names[[2]], rownames(model$U[[2]])))'
        echo 'stopifnot(length(lambda) == 4, all(dim(A[[1]]) == c(20, 4)), all(dim(A[[3]]) == c(30, 4)))'
        echo 'stopifnot(all(abs(colSums(A[[2]]^2) - 1) < 1e-12), A[[2]][2, 3] == scan("x.mode2.mat", quiet = TRUE)[4 + 3])'
    } >example.R
    Rscript example.R
}
