# Loaded by every cli_*.bats. $BLCO is the program (scripts/run-tests exports it).
# shellcheck shell=bash
bats_require_minimum_version 1.5.0

setup() {
    : "${BLCO:?the program to test}"
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    # shellcheck disable=SC2034 # the tests use it
    TEST_DATA=$ROOT/tests/data
    DATA=$ROOT/data
    mkdir "$BATS_TEST_TMPDIR/work" && cd "$BATS_TEST_TMPDIR/work" || return
}

# fails CODE MESSAGE ARGUMENT...: blco ARGUMENT... exits with CODE, prints nothing to standard output,
# and one line to standard error that contains MESSAGE.
fails() {
    local code=$1 message=$2
    shift 2
    run --separate-stderr "$BLCO" "$@"
    # shellcheck disable=SC2154 # run sets stderr
    echo "blco $*: exit $status, expected $code: $stderr (expected: $message)"
    [ "$status" -eq "$code" ] && [ -z "$output" ] && [[ $stderr == *"$message"* ]] &&
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

# choices: "COMMAND OPTION WORD...", a text line for each option whose argument is one of some words or a
# list of them, as the option tables say.
choices() {
    local command option words
    "$BLCO" completion json | jq -r '.commands[] | .name as $c | .options[] |
        select(.argument and (.argument | test("^(STEM|START|FILE|DIR|MODE=FILE|\\[.*)$") | not)) | "\($c) \(.name)"' |
        while read -r command option; do
            words=$("$BLCO" completion words "$command" "--$option" '' | paste -sd' ')
            [ -z "$words" ] || echo "$command $option $words"
        done
}

# cpd ARGUMENT...: blco cpd, its messages kept in the file messages, what it prints to standard output in
# the file results; fails with the messages shown.
cpd() {
    "$BLCO" cpd "$@" >results 2>messages || { code=$? && cat messages && return $code; }
}

# The fit in the closing summary.
fit() { sed -n 's/^fit \([^ ]*\) (explains .*) after.*/\1/p' messages; }

# number NAME RECORD: the numbers of this name in a record, one a text line.
number() {
    grep -oE "\"$1\": [-0-9.e+]+" "$2" | sed 's/.*: //'
}

# Whether the program has a sanitizer, and takes ten times as long.
sanitized() { [[ $BLCO == */[at]san/blco ]]; }

# near A B TOLERANCE
near() {
    awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a != "" && b != "" && d <= t) }' ||
        { echo "$1 is not within $3 of $2" && return 1; }
}

# tensor NAME: TENSOR is a tensor of other people's data.
tensor() {
    [ -e "${BLCO_TEST_DATA-}/$1.tns" ] || skip "no $1.tns: BLCO_TEST_DATA names no folder that has it"
    # shellcheck disable=SC2034 # the tests use it
    TENSOR=$BLCO_TEST_DATA/$1.tns
}

# Waits until the run in the background, whose standard error goes to `messages`, builds its tensor.
await_building() {
    for ((i = 0; i < 600; i++)); do
        grep -q '^building' messages && break
        sleep 0.1
    done
}

# reference_start LENGTHS OFFSETS: the start of a reference run of three modes at rank 3, as a .ktns file:
# A_n(i,r) = 1 + ((i + offset) mod length).
reference_start() {
    awk -v lengths="$1" -v offsets="$2" 'BEGIN {
        split(lengths, length_of); split(offsets, offset)
        print "ktensor\n3\n" lengths "\n3\n1 1 1"
        for (n = 1; n <= 3; n++) {
            printf "matrix\n2\n%d 3\n", length_of[n]
            for (i = 0; i < length_of[n]; i++) {
                for (r = 0; r < 3; r++)
                    printf "%s%d", (r ? " " : ""), 1 + (i + offset[3 * (n - 1) + r + 1]) % length_of[n]
                print ""
            }
        }
    }'
}

# measure COMMAND...: the exit status of a command, and the most megabytes of memory that it had. Standard input is given on.
measure() {
    python3 -c '
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 // 1000000)' "$@"
}
