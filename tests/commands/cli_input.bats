# bats file_tags=threads
load cli_helpers

# Everything that info says of a tensor itself, without its name, format and count of entries, and
# without the plan.
contents() { "$BLCO" info -q "$@" | sed -n '/^lengths/,/^memory plan/p' | sed '/^memory plan/d'; }

@test "every bad file is refused with one line that names the file and, if there is one, the text line" {
    count=0
    for file in "$TEST_DATA"/bad_*; do
        count=$((count + 1))
        cp "$file" .
        name=$(basename "$file")
        fails 2 "blco info: $name" info -q "$name"
        case $name in
        bad_empty* | bad_comments_only* | bad_gzip_[!l]* | bad_header_only* | bad_header_cut_off* | \
            bad_sptensor_count*)
            [[ $stderr == "blco info: $name: "* ]]
            ;;
        *) [[ $stderr =~ ^blco\ info:\ $name:[0-9]+:\  ]] ;;
        esac
        # cpd prints the same and leaves no file
        message="blco cpd${stderr#blco info}"
        fails 2 "$message" cpd -q "$name" -r 2 -o out
        [ -z "$(ls out* 2>/dev/null)" ]
    done
    [ $count -ge 20 ]
}

@test "the line of an error is right far into a file, with any number of threads" {
    awk 'BEGIN { for (i = 1; i <= 200000; i++) print i % 100 + 1, i % 77 + 1, (i == 123456 ? "x" : i) }' >x.tns
    for threads in 1 2 5; do
        fails 2 "blco info: x.tns:123456: value 'x', expected a number" info -q x.tns -t $threads
    done
}

@test "files that cannot be read" {
    fails 2 "No such file or directory" info -q absent.tns
    [[ $stderr == "blco info: absent.tns: "* ]]
    mkdir folder
    fails 2 "folder" info -q folder
    if [ "$(id -u)" -ne 0 ]; then
        touch locked.tns && chmod 0 locked.tns
        fails 2 "Permission denied" info -q locked.tns
    fi
}

@test "standard input, a pipe and gzip give what the file gives" {
    expected=$(contents "$DATA/planted.tns")
    [ -n "$expected" ]
    [ "$(contents - <"$DATA/planted.tns")" = "$expected" ]
    # shellcheck disable=SC2002
    [ "$(cat "$DATA/planted.tns" | contents -)" = "$expected" ]
    gzip -c "$DATA/planted.tns" >planted.tns.gz
    [ "$(contents planted.tns.gz)" = "$expected" ]
    [ "$(contents - <planted.tns.gz)" = "$expected" ]
    cp planted.tns.gz no-ending
    [ "$(contents no-ending)" = "$expected" ]
    mkfifo pipe
    for i in 1 2 3 4 5 6 7 8; do # who comes first, reader or writer, must not matter
        cat planted.tns.gz >pipe &
        [ "$(contents pipe)" = "$expected" ]
    done
}

# Of a file of three.
per_entry() { awk -v b="$(wc -c <"$1")" 'BEGIN { printf "%.2f", b / 3 }'; }

@test "headers, line ends, blanks and comments do not change the tensor" {
    printf '1 1 1 1.5\n2 3 1 -2\n1 2 4 3e-2\n' >plain
    expected=$(contents plain)
    printf '3\n2 3 4\n1 1 1 1.5\n2 3 1 -2\n1 2 4 3e-2\n' >dims
    printf 'sptensor\n3\n2 3 4\n3\n1 1 1 1.5\n2 3 1 -2\n1 2 4 3e-2\n' >sptensor
    printf '# a comment\r\n\r\n1 1 1 1.5\r\n2\t3  1 -2 \r\n 1 2 4 +3e-2 # another' >odd
    for file in plain dims sptensor odd; do # the mark of UTF-8, which some editors write
        (printf '\xef\xbb\xbf' && cat $file) >$file.mark
        gzip -k $file.mark
    done
    for file in dims sptensor odd ./*.mark ./*.mark.gz; do
        [ "$(contents $file)" = "$expected" ]
    done
    [ "$("$BLCO" info -q sptensor | grep ^format)" = "format       sptensor header, $(wc -c <sptensor) bytes of text, $(per_entry sptensor) bytes an entry" ]
    [ "$("$BLCO" info -q dims | grep ^format)" = "format       header of order and lengths, $(wc -c <dims) bytes of text, $(per_entry dims) bytes an entry" ]
    # zero-based
    printf '0 0 0 1.5\n1 2 0 -2\n0 1 3 3e-2\n' >zero
    [ "$(contents zero --index-base 0)" = "$expected" ]
    fails 2 "zero:1: mode 1: index 0, expected 1 or more" info -q zero
    # longer by --dims
    [[ $(contents plain --dims 2x5x4) == *"lengths      2 x 5 x 4"* ]]
    fails 2 "plain:2: mode 2: index 3, expected at most 2" info -q plain --dims 2,2,4
    fails 2 "--dims gives 2" info -q plain --dims 2,3
}

@test "duplicates are summed, zeros dropped, and both counted" {
    printf '1 1 1\n2 2 3\n1 1 2\n3 1 0\n4 4 5\n4 4 -5\n' >x.tns
    run -0 "$BLCO" info -q x.tns
    [[ $output == *$'\nentries      6\nduplicates   2\nzeros        2\nunknown      0\nlengths      4 x 4\nnonzeros     2\n'* ]]
    [[ $output == *$'\nvalues       3 to 3, all whole numbers\n'* ]]
    cpd x.tns -r 1 --nowrite
    grep -q '2 duplicate entries' messages
    grep -q '2 explicit zeros dropped' messages
}

@test "a tensor of zeros has nothing to decompose" {
    printf '1 1 0\n2 2 0\n' >x.tns
    fails 2 "blco cpd: x.tns: no nonzeros: all 2 entries are zero or add up to zero" cpd -q x.tns -r 1
    run -0 --separate-stderr "$BLCO" info -q x.tns
    [[ $output == *"nonzeros     0"* ]]
}
