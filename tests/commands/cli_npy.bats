# Tensors in NumPy arrays: every command reads them as it reads the same tensor in text.
load cli_helpers

# arrays TEXT: c.npy and v.npy have the entries of text lines of three indices and a value.
arrays() {
    local entries
    entries=$(wc -l <"$1")
    PATH=$ROOT/tests/support:$PATH
    # shellcheck disable=SC2046 # words
    make_npy c.npy "{'descr': '<i8', 'fortran_order': False, 'shape': ($entries, 3), }" \
        $(awk '{ print $1 - 1, $2 - 1, $3 - 1 }' "$1")
    # shellcheck disable=SC2046
    make_npy v.npy "{'descr': '<f8', 'fortran_order': False, 'shape': ($entries,), }" \
        $(awk '{ print $4 }' "$1")
}

# Duplicates, zeros and an unknown entry.
text() {
    awk 'BEGIN { srand(3)
        for (i = 0; i < 2000; i++)
            print 1 + int(30 * rand()), 1 + int(20 * rand()), 1 + int(10 * rand()), \
                i == 7 ? "nan" : i % 99 ? rand() : 0 }' >x.tns
    arrays x.tns
}

@test "npy: info, convert and cpd, as of text" {
    text
    "$BLCO" info -q x.tns --backend host | tail -n +3 | grep -v '^memory:' >text
    "$BLCO" info -q c.npy,v.npy --backend host >arrays
    grep -Fx 'format       NumPy arrays, 64.0 kB, 32.00 bytes an entry' arrays
    tail -n +3 arrays | grep -v '^memory:' | diff text -
    "$BLCO" info -q c.npy,v.npy --backend host --json | jq -e '.format == "npy" and .file_bytes == 64000'
    "$BLCO" convert -q x.tns x.blco && "$BLCO" convert -q c.npy,v.npy y.blco && cmp x.blco y.blco
    "$BLCO" convert -q --keep-zeros x.tns - | diff - <("$BLCO" convert -q --keep-zeros c.npy,v.npy -)
    "$BLCO" convert -q c.npy,v.npy - --out-index-base 0 | head -n 1 | grep -x "$(awk 'NR == 2 { print $1 - 1 }' <("$BLCO" convert -q x.tns -)) .*"
    for file in x.tns c.npy,v.npy; do
        "$BLCO" cpd -q --backend host $file -r 2 -i 9 -o "${file%%.*}" --unlisted unknown
    done
    cmp x.mode1.mat c.mode1.mat && cmp x.lambda.mat c.lambda.mat
}

@test "npy: names are beside the coordinates, after which the model is named" {
    text
    mkdir a b && mv c.npy a && mv v.npy b
    printf 'user\nitem\nhour\n' >a/c.modes.map
    seq -f item%g 20 >a/c.mode2.map
    [ "$("$BLCO" info -q a/c.npy,b/v.npy --json | jq -c '[.modes, .maps]')" = '[["user","item","hour"],[null,"a/c.mode2.map",null]]' ]
    "$BLCO" cpd -q --backend host a/c.npy,b/v.npy -r 2 -i 2 --unlisted unknown
    [ -s c.mode1.mat ] && cmp a/c.modes.map c.modes.map && cmp a/c.mode2.map c.mode2.map
    [[ "$("$BLCO" top c)" == *" user "*" item "*" hour"*item* ]]
    "$BLCO" convert -q a/c.npy,b/v.npy y.blco
    cmp a/c.mode2.map y.mode2.map && [ "$("$BLCO" info -q y.blco --json | jq -c .modes)" = '["user","item","hour"]' ]
    (cd a && "$BLCO" cpd -q --backend host c.npy -r 1 -i 2 && [ -s c.mode1.mat ] && [ "$(cat c.mode2.map | wc -l)" -eq 20 ])
}

@test "npy: more entries than memory holds are converted in pieces" {
    PATH=$ROOT/tests/support:$PATH
    python3 - <<'END'
import array, random
random.seed(1)
n = 5000000
def save(name, kind, shape, numbers):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\1\0\x76\0" + header.ljust(117).encode() + b"\n" + numbers.tobytes())
save("c.npy", "u2", (n, 2), array.array("H", random.randbytes(4 * n)))
save("v.npy", "u1", (n,), array.array("B", b"\1" * n))
END
    sed -i "1s/<u1/|u1/" v.npy
    "$BLCO" convert -q c.npy,v.npy all.blco
    "$BLCO" convert c.npy,v.npy pieces.blco --host-memory 64M 2>messages
    grep -E ' from [2-9] runs' messages
    cmp all.blco pieces.blco
    fails 3 "c.npy,v.npy: more than " cpd -q c.npy,v.npy -r 1 --nowrite --host-memory 64M
}

@test "npy: coordinates alone are counted; predict needs no values" {
    printf '1 1 1 1\n2 2 2 1\n1 1 1 1\n' >x.tns
    arrays x.tns
    run -0 "$BLCO" convert -q c.npy -
    [ "$output" = $'1 1 1 2\n2 2 2 1' ]
    printf 'ktensor\n3\n2 2 2\n1\n3\nmatrix\n2\n2 1\n1\n2\nmatrix\n2\n2 1\n1\n2\nmatrix\n2\n2 1\n1\n2\n' >m.ktns
    run -0 "$BLCO" predict -q m.ktns c.npy
    [ "$output" = $'0 0 0 3\n1 1 1 24\n0 0 0 3' ]
    run -0 "$BLCO" predict -q m.ktns c.npy,v.npy --residuals
    [ "$output" = $'0 0 0 3 -2\n1 1 1 24 -23\n0 0 0 3 -2' ]
    fails 2 'c.npy: no values, which --residuals needs' predict -q m.ktns c.npy --residuals
    fails 2 'c.npy: entry [0, 0] is 0, expected 1 or more' predict -q m.ktns c.npy --index-base 1
    printf '1 1 3 1\n' >x.tns
    arrays x.tns
    fails 2 'c.npy: entry [0, 2] is 2, expected at most 1, as the model says' predict -q m.ktns c.npy
}
