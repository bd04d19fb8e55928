load cli_helpers

@test "info of the admissions, in full" {
    run -0 --separate-stderr "$BLCO" info -q "$DATA/ucb-admissions.tns" -r 2 -t 2 --backend host --host-memory 1G
    [ -z "$stderr" ]
    sed "s|$DATA/||g" <<<"$output" >got
    diff "$TEST_DATA/info_ucb-admissions.golden" got
}

@test "info of order 1, and of lines over 64 and over 128 bits" {
    printf '3 4\n1 3\n' >vector
    run -0 "$BLCO" info -q vector
    [[ $output == *$'\nlengths      3\nnonzeros     2\ndensity      0.667\nline         2 bits = 2\n'* ]]
    [[ $output == *$'\nnorm         5\n'* ]]
    printf '4294967295 1 4294967295 4294967295 1\n' >long
    run -3 --separate-stderr "$BLCO" info -q long # whose factor matrices do not fit
    [[ $output == *$'\nline         96 bits = 32 + 0 + 32 + 32\n'* ]]
    printf '4294967295 4294967295 4294967295 4294967295 4294967295 -0.5\n' >longer
    run -3 --separate-stderr "$BLCO" info -q longer
    [[ $output == *$'\nline         160 bits = 32 + 32 + 32 + 32 + 32\n'* ]]
    [[ $output == *$'\nvalues       -0.5 to -0.5, not all whole numbers\n'* ]]
    [[ $output == *$'\n   1  4294967295    4294967294                              1\n'* ]]
}

@test "info says that a tensor does not fit, and exits with 3" {
    run -0 --separate-stderr "$BLCO" info -q "$DATA/planted.tns" -r 4 --backend host --host-memory 1M
    [[ $output != *"does not fit"* ]]
    run -3 --separate-stderr "$BLCO" info -q "$DATA/planted.tns" -r 4 --backend host --host-memory 1K
    [[ $output == *$'\nmemory plan for 4 components, backend host: does not fit\n'* ]]
    [[ $stderr == "blco info: $DATA/planted.tns: does not fit: factors of "*" do not fit into the 1.00 kB of memory that may be used" ]]
    run -3 --separate-stderr "$BLCO" info -q "$DATA/planted.tns" -r 4 --backend host --host-memory 1K --ranks 2
    [[ $output == *$'\nmemory plan of a rank for 4 components, backend host: does not fit\n'* ]]
    run -3 --separate-stderr "$BLCO" info -q "$DATA/planted.tns" -r 4 --backend host --host-memory 1K --json
    [ "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["plan"]["fits"])' <<<"$output")" = False ]
}

@test "info --json says what the text says" {
    "$BLCO" convert -q "$DATA/ucb-admissions.tns" x.blco
    for tensor in "$DATA/ucb-admissions.tns" x.blco; do
        "$BLCO" info -q "$tensor" -r 3 --ranks 2 --json --backend host >found
        "$BLCO" info -q "$tensor" -r 3 --ranks 2 --backend host >told
        python3 - "$tensor" <<'PYTHON'
import json, sys
found, told = json.load(open("found")), open("told").read()
fact = lambda name: [l.split(None, 1)[1] for l in told.splitlines() if l.startswith(name + " ")][0]
assert found["tensor"] == sys.argv[1] and fact("tensor") == sys.argv[1]
assert found["format"] == ("blco" if sys.argv[1].endswith(".blco") else "text")
assert found["order"] == int(fact("order")) == len(found["lengths"])
assert " x ".join(map(str, found["lengths"])) == fact("lengths")
assert found["nonzeros"] == int(fact("nonzeros")) == 24
assert (found["entries"], found["duplicates"], found["zeros"], found["unknown"]) == (24, 0, 0, 0)
assert found.get("dropped_zeros") == (0 if sys.argv[1].endswith(".blco") else None)
assert (found["least"], found["largest"], found["whole_numbers"]) == (8, 512, True)
assert repr(found["norm"]) == fact("norm")
assert found["empty_slices"] == [0, 0, 0] and found["fullest_slice"] == [12, 12, 4]
assert found["ranks"]["count"] == 2 and "x".join(map(str, found["ranks"]["grid"])) == fact("grid").split(",")[0]
plan = found["plan"]
assert plan["backend"] == "host" and plan["rank"] == 3 and plan["fits"] is True and plan["orderings"] == 3
assert 0 < plan["ordering_bytes"] < plan["total_bytes"] <= plan["budget_bytes"]
PYTHON
    done
    printf '# nothing\n1 1 0\n' >zero.tns
    "$BLCO" info -q zero.tns --json | python3 -c 'import json, sys; x = json.load(sys.stdin); assert x["nonzeros"] == 0 and "plan" not in x'
}

@test "unknown entries and listed zeros are counted apart from nonzeros" {
    printf '1 1 5\n1 2 nan\n2 1 0\n2 3 2\n2 3 -2\n2 2 NA\n1 3 1\n' >x.tns
    "$BLCO" convert -q x.tns x.blco
    "$BLCO" convert -q x.tns all.blco --keep-zeros
    run -0 "$BLCO" info -q x.tns
    [[ $output == *$'\nentries      7\nduplicates   1\nzeros        2\nunknown      2\nlengths      2 x 3\nnonzeros     2\n'* ]]
    [[ $output == *$'\nvalues       1 to 5, all whole numbers\n'* ]]
    run -0 "$BLCO" info -q x.blco
    [[ $output == *$'\nentries      4\nduplicates   0\nzeros        0, and 2 dropped when the file was written\nunknown      2\n'* ]]
    run -0 "$BLCO" info -q all.blco
    [[ $output == *$'\nentries      6\nduplicates   0\nzeros        2\nunknown      2\nlengths      2 x 3\nnonzeros     2\n'* ]]
    for file in x.tns x.blco all.blco; do
        "$BLCO" info -q $file --json
    done | python3 -c 'import json, sys
found = [json.loads(x + "}") for x in sys.stdin.read().split("\n}\n")[:-1]]
keys = "entries", "zeros", "dropped_zeros", "unknown", "nonzeros"
assert [[x.get(k) for k in keys] for x in found] == [[7, 2, None, 2, 2], [4, 0, 2, 2, 2], [6, 2, 0, 2, 2]], found'
    printf '1 1 nan\n' | "$BLCO" info -q - >none
    grep -q '^values       none is known$' none
}

@test "progress goes to standard error and can be silenced" {
    run -0 --separate-stderr "$BLCO" info "$DATA/planted.tns"
    [[ $stderr == "reading $DATA/planted.tns: "* ]]
    [[ $output == "tensor       $DATA/planted.tns"* ]]
}

@test "a .blco file is gone through in the memory that may be used, with the same result" {
    "$BLCO" generate x.blco -q --dims 3000000,2000,5000000 --nnz 3000000 --skew 0.3,1,0.1
    # shellcheck disable=SC2317 # the plan depends on the memory
    findings() { sed '/^memory plan/,$d' "$1"; }
    "$BLCO" info x.blco -t 1 >one 2>messages
    grep -qE '^reading x.blco: [0-9]{7} nonzeros, [0-9.]+ MB in [0-9.]+ s$' messages
    for memory in 1K 20M 50M 1G; do
        "$BLCO" info -q x.blco -t 3 --host-memory $memory >other 2>/dev/null || [ $? -eq 3 ] # the plan may not fit
        diff <(findings one) <(findings other)
    done
    # as text it is one piece
    "$BLCO" convert -q x.blco x.tns --header dims
    "$BLCO" info -q x.tns >other
    diff <(findings one | tail -n +3) <(findings other | tail -n +3)
    command -v /usr/bin/time >/dev/null || skip "no time(1)"
    [[ $BLCO != *asan* && $BLCO != *tsan* ]] || skip "the sanitizer takes memory of its own"
    run -0 --separate-stderr /usr/bin/time -f %M "$BLCO" --version # what the program and its libraries take
    program=$stderr
    # the nonzeros take 60 MB, the counters 64 MB
    run -0 --separate-stderr /usr/bin/time -f %M "$BLCO" info -q x.blco -t 2 --backend host
    [ $((stderr - program)) -lt 85000 ]
    run -3 --separate-stderr /usr/bin/time -f %M "$BLCO" info -q x.blco -t 2 --backend host --host-memory 1M
    [ $(($(tail -n 1 <<<"$stderr") - program)) -lt 50000 ] # the lines before: it does not fit, and is exit 3
}

# factors HOW [OPTION]...: the bytes of factors in the memory plan that blco info shows.
factors() {
    "$BLCO" info -q x.tns --backend host -r 1000 --accelerate "$@" | sed -n 's/.* + factors \([0-9.]* [A-Za-z]*\) + .*/\1/p'
}

@test "the memory plan of momentum has a second factor matrix of each mode but the first" {
    printf '30000 20000 10000 1\n' >x.tns
    # 8 bytes for each entry of the factor matrices and the longest M, and of 4 or 6 Grams
    [ "$(factors off)" = "752 MB" ]
    [ "$(factors auto)" = "1.01 GB" ]
    [ "$(factors momentum)" = "1.01 GB" ]
    [ "$(factors momentum --precision auto)" = "1.01 GB" ]
    fails 2 "--accelerate: 'fast', expected auto, off or momentum" info -q x.tns --accelerate fast
}

# shellcheck disable=SC2031 # run sets output
# of LABEL: what blco info --ranks printed after the label, in $output.
of() { sed -n "s/^$1 *//p" <<<"$output"; }

# parts: the numbers of the grid that was chosen or given.
parts() { of grid | sed 's/,.*//; s/x/ /g'; }

@test "ranks: a grid is chosen, and its cost follows from the nonzeros" {
    "$BLCO" generate x.tns -q --dims 300,20,5000 --nnz 20000 --skew 0.5,0.5,0
    run -0 --separate-stderr "$BLCO" info -q x.tns --ranks 4 -t 2 --backend host -r 8
    [ -z "$stderr" ]
    ranks=$output
    [[ $(of ranks) == "4 processes of 2 threads on "* ]]
    # only the long mode is cut, so its rows do not move
    [ "$(of grid)" = "1x1x4, the cheapest by the model" ]
    [[ $(of rows) =~ ^"300 x 20 x "([0-9]+)" in a rank at most"$ ]]
    # 64 bytes a row of 320 rows, to 3 of 4 ranks, there and back
    [ "$(of moves)" = "30.7 kB sent by a rank in an iteration, and as much received" ]
    [[ $(of iteration) =~ ^about\ [0-9.e-]+\ s\ of\ MTTKRP\ \+\ [0-9.e-]+\ s\ of\ solves\ \+\ [0-9.e-]+\ s\ of\ moving\ rows\ =\ [0-9.e-]+\ s$ ]]
    # the percentage is that of the number, of which the mean is 5000
    [[ $(of "fullest rank") =~ ^([0-9]+)" nonzeros, "([0-9.]+)" % above the mean"$ ]]
    near "${BASH_REMATCH[1]}" "$(awk "BEGIN { print 5000 * (1 + ${BASH_REMATCH[2]} / 100) }")" 3
    [[ $output == *$'\nmemory plan of a rank for 8 components, backend host\nmode 1: length 300, '* ]]
    # nothing else changes
    run -0 "$BLCO" info -q x.tns -t 2 --backend host -r 8
    diff <(sed '/^ranks /,$d' <<<"$ranks") <(sed '/^memory plan/,$d' <<<"$output")
}

@test "ranks: a .blco file and text give the same answer" {
    "$BLCO" generate x.blco -q --dims 3000,70,40,500 --nnz 200000 --skew 0.9,0.2,0,0.5
    "$BLCO" convert -q x.blco x.tns --header dims
    for wanted in "--ranks 24" "--grid 2x3x1x2" "--ranks 6 --grid 1x1x1x6" "--ranks 1"; do
        # shellcheck disable=SC2086 # the words of $wanted are options
        "$BLCO" info -q x.blco $wanted -t 1 --host-memory 1G | sed -n '/^ranks/,/^memory plan/p' >one
        # shellcheck disable=SC2086
        "$BLCO" info -q x.tns $wanted -t 2 --host-memory 1G | sed -n '/^ranks/,/^memory plan/p' >other
        [ "$(wc -l <one)" -eq 8 ]
        diff <(grep -E '^(grid|fullest|rows|moves|memory)' one) <(grep -E '^(grid|fullest|rows|moves|memory)' other)
    done
}

@test "ranks: where each row has a system, rows are dealt and no mode is cut" {
    printf '%s\n' '1 1 1' '1 2 1' '2 1 1' '2 2 1' '3 1 1' '3 2 1' '4 1 1' '4 2 nan' >x.tns
    run -0 "$BLCO" info -q x.tns --ranks 2 -r 4 --backend host
    [ "$(of grid)" = "none: each rank has all entries of the rows that it solves" ]
    [ "$(of "fullest rank")" = "4 nonzeros, 0.0 % above the mean" ]
    [ "$(of rows)" = "4 x 2 in a rank at most" ]
    [ "$(of moves)" = "96 bytes sent by a rank in an iteration, and as much received" ] # 2 + 1 rows of 4 doubles
    ! of iteration | grep .
    "$BLCO" info -q x.tns --ranks 2 -r 4 --backend host --json >x.json
    python3 -c '
import json
ranks = json.load(open("x.json"))["ranks"]
assert ranks["grid"] == [1, 1] and ranks["mttkrp_seconds"] is None, ranks'
    fails 2 "--grid and unknown entries (nan): no mode is cut where each row has a system of its own" \
        info -q x.tns --grid 2x1
}

@test "ranks: the fullest rank is the one that has most nonzeros" {
    printf '%s\n' '1 1 1' '1 2 1' '2 1 1' '2 2 1' '3 1 1' '3 2 1' '4 1 1' >x.tns
    run -0 "$BLCO" info -q x.tns --grid 2x2
    [ "$(of grid)" = "2x2, as given" ]
    [ "$(of "fullest rank")" = "2 nonzeros, 14.3 % above the mean" ]
    [ "$(of rows)" = "2 x 1 in a rank at most" ]
    run -0 "$BLCO" info -q x.tns --grid 4x1
    [ "$(of "fullest rank")" = "2 nonzeros, 14.3 % above the mean" ]
    run -0 "$BLCO" info -q x.tns --ranks 1
    [ "$(of grid)" = "1x1, the cheapest by the model" ]
    [ "$(of "fullest rank")" = "7 nonzeros, 0.0 % above the mean" ]
    [ "$(of moves)" = "0 bytes sent by a rank in an iteration, and as much received" ]
}

@test "ranks: more of them than rows, modes of length 1, prime numbers" {
    printf '%s\n' '1 1 1 5' '2 1 1 5' '2 1 3 5' >x.tns
    for ranks in 2 7 64 4096; do
        run -0 "$BLCO" info -q x.tns --ranks $ranks
        product=1
        for p in $(parts); do product=$((product * p)); done
        [ $product -eq $ranks ]
        [[ $(of "fullest rank") =~ ^[123]" nonzeros, " ]]
        [[ $(of rows) =~ ^[12]" x 1 x "[123]" in a rank" ]]
    done
    # a prime number cuts one mode
    "$BLCO" generate y.tns -q --dims 400,1,300 --nnz 5000
    run -0 "$BLCO" info -q y.tns --ranks 13
    [[ $(of grid) == 13x1x1,* || $(of grid) == 1x1x13,* ]]
    printf '1 1\n' >vector
    run -0 "$BLCO" info -q vector --ranks 3
    [ "$(of grid)" = "3, the cheapest by the model" ]
}

@test "ranks: if a row has more nonzeros than a rank may have, another mode is cut" {
    # nine tenths of the nonzeros are in row 5 of mode 1
    awk 'BEGIN { for (i = 0; i < 4000; i++) print (i % 10 ? 5 : 1 + i % 900), 1 + i, 1 }' >x.tns
    run -0 "$BLCO" info -q x.tns --ranks 4
    [ "$(of grid)" = "1x4, the cheapest by the model" ]
    [ "$(of "fullest rank")" = "1000 nonzeros, 0.0 % above the mean" ]
    run -0 "$BLCO" info -q x.tns --grid 4x1
    [ "$(of "fullest rank")" = "3600 nonzeros, 260.0 % above the mean" ]
}

@test "ranks: large tensors are estimated from a sample" {
    "$BLCO" generate x.blco -q --dims 3000000,2000,50000 --nnz 3000000 --skew 0.3,1,0.1
    run -0 --separate-stderr "$BLCO" info x.blco --ranks 8 --host-memory 200M
    [[ $stderr == *$'\ncounting the nonzeros of each row: '* ]]
    [[ $(of "fullest rank") =~ ^"about "([0-9]+)" nonzeros, " ]]
    near "${BASH_REMATCH[1]}" 375000 20000
    fails 3 "--ranks: counters of 24.4 MB, 8 bytes for each row of each mode, do not fit into" \
        info -q x.blco --ranks 8 --host-memory 20M
}

@test "ranks: GPUs that this machine does not have" {
    "$BLCO" generate x.tns -q --dims 3000,200,500 --nnz 50000
    run -0 "$BLCO" info -q x.tns --ranks 8 --on gpus -t 1 --backend host
    [ "$(of ranks)" = "8 GPUs on one host" ]
    on_one=$(of iteration)
    run -0 "$BLCO" info -q x.tns --ranks 16 --on gpus
    [ "$(of ranks)" = "16 GPUs on several hosts" ]
    run -0 "$BLCO" info -q x.tns --ranks 8 --on processors -t 1
    [[ $(of ranks) == "8 processes of 1 thread on "* ]]
    [ "$(of iteration)" != "$on_one" ]
    [ "$(of iteration)" = "$("$BLCO" info -q x.tns --ranks 8 -t 1 --backend host | sed -n 's/^iteration *//p')" ]
    fails 2 "--on needs --ranks or --grid" info -q x.tns --on gpus
    fails 2 "--on: 'cards'" info -q x.tns --ranks 2 --on cards
}

@test "ranks and grids that are refused" {
    x=$DATA/ucb-admissions.tns
    for bad in 0 -1 4097 x 2x2 ''; do
        fails 2 "--ranks: '$bad', expected a whole number from 1 to 4096" info -q "$x" --ranks "$bad"
    done
    for bad in '' 0x2x2 2xx2 2x 2x-1x2 a 4097 64x65x1 4096x4096x4096 2x2y2 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; do
        fails 2 "--grid: '$bad', expected 1 to 16 numbers of ranges, as 2x2x1, whose product is 4096 at most" \
            info -q "$x" --grid "$bad"
    done
    fails 2 "--grid: '2x2x2', expected a product of 4, the number of --ranks" info absent.tns --ranks 4 --grid 2x2x2
    fails 2 "--grid: '2x2', expected 3 numbers, one for each mode of the tensor" info -q "$x" --grid 2x2
    fails 2 "--grid: '4', expected 3 numbers, one for each mode of the tensor" info -q "$x" --ranks 4 --grid 4
    "$BLCO" convert -q "$x" x.blco
    fails 2 "--grid: '2x2', expected 3 numbers, one for each mode of the tensor" info -q x.blco --grid 2x2
}

@test "info: the plan of a run with --unlisted has the ordering of every mode, or says that they do not fit" {
    "$BLCO" generate x.tns -q --dims 300,200,100 --nnz 200000
    run -0 "$BLCO" info -q x.tns -r 32 --backend host --host-memory 12M
    [[ $output == *"the shared alto ordering"* ]]
    run -3 "$BLCO" info -q x.tns -r 32 --backend host --host-memory 12M --unlisted unknown
    [[ $output == *"blco info: x.tns: does not fit: "* && $output != *"alto"* ]]
    # an unknown entry among zeros asks for the same
    sed '$s/[^ ]*$/nan/' x.tns >nan.tns
    "$BLCO" convert -q nan.tns nan.blco
    for file in nan.tns nan.blco; do
        run -3 "$BLCO" info -q $file -r 32 --backend host --host-memory 12M
    done
    fails 2 "--unlisted: 'some', expected zero, unknown, or a weight from 0 to 1" info x.tns --unlisted some
}
