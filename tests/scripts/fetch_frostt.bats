# scripts/fetch-frostt, from a server of this host and from a folder.
load ../commands/cli_helpers

setup_file() {
    command -v curl >/dev/null || skip "curl is not installed"
    command -v python3 >/dev/null || skip "python3 is not installed"
}

teardown() { [ -z "${server-}" ] || kill "$server"; }

# Files under the paths that FROSTT gives them.
files() {
    mkdir -p served/matrix-multiplication served/FB-M served/uber-pickups
    gzip -c "$DATA/matmul-2x2x2.tns" >served/matrix-multiplication/matmul_2-2-2.tns.gz
}

# serve [OPTION]: starts the server, whose requests go into the file log.
serve() {
    : >log
    "$ROOT/tests/support/range_server" "$PWD/served" "$PWD/log" "$@" 3>&- &
    server=$!
    for _ in {1..100}; do
        [ -s log ] && break
        sleep 0.1
    done
    FROSTT_URL=http://127.0.0.1:$(head -n 1 log)
    export FROSTT_URL
}

fetch() {
    run "$ROOT/scripts/fetch-frostt" "$@"
    echo "$output"
}

@test "fetch-frostt: the list has every tensor once, with as many lengths as modes" {
    fetch --list
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 28 ]
    [ "$(printf '%s\n' "${lines[@]}" | awk '{ print $1 }' | sort | uniq -d | wc -l)" -eq 0 ]
    printf '%s\n' "${lines[@]:1}" | awk '{ n = (NF - 2) / 2; if ($4 != "-" && n != $2) exit 1 }'
}

@test "fetch-frostt: the figures are those of the presets of blco generate" {
    "$ROOT/scripts/fetch-frostt" --list >list
    "$BLCO" generate --list | sed 1d | while read -r name nnz lengths; do
        grep -qE "^[a-z0-9-]+ +[0-9] +$nnz  $lengths\$" list || { echo "$name $nnz $lengths" && exit 1; }
    done
}

@test "fetch-frostt: a download from a server says how much it is, and is read by blco" {
    files
    serve
    fetch matmul_2-2-2
    [ "$status" -eq 0 ]
    bytes=$(stat -c %s served/matrix-multiplication/matmul_2-2-2.tns.gz)
    [[ ${lines[0]} == "matmul_2-2-2: $bytes bytes, $FROSTT_URL/matrix-multiplication/matmul_2-2-2.tns.gz" ]]
    [[ ${lines[1]} == "to download: $bytes bytes, free in .: "* ]]
    [ "${lines[2]}" = ./matmul_2-2-2.tns.gz ]
    "$BLCO" info -q matmul_2-2-2.tns.gz
    fetch matmul_2-2-2
    [ "$status" -eq 0 ]
    [ "$output" = "./matmul_2-2-2.tns.gz is there already" ]
    [ "$(grep -c GET log)" -eq 1 ]
}

@test "fetch-frostt: a download that was cut off is continued" {
    files
    serve
    head -c 50 served/matrix-multiplication/matmul_2-2-2.tns.gz >matmul_2-2-2.tns.gz.part
    fetch matmul_2-2-2
    [ "$status" -eq 0 ]
    [[ $output == *"going on after 50 bytes"* ]]
    grep -qx "GET /matrix-multiplication/matmul_2-2-2.tns.gz 50" log
    cmp matmul_2-2-2.tns.gz served/matrix-multiplication/matmul_2-2-2.tns.gz
    # all bytes came, but the name was not given yet
    mv matmul_2-2-2.tns.gz matmul_2-2-2.tns.gz.part
    fetch matmul_2-2-2
    [ "$status" -eq 0 ]
    [ -e matmul_2-2-2.tns.gz ]
    [ ! -e matmul_2-2-2.tns.gz.part ]
    [ "$(grep -c GET log)" -eq 1 ]
}

@test "fetch-frostt: a connection that ends early leaves what came, and each run goes on from there" {
    files
    serve --cut
    bytes=$(stat -c %s served/matrix-multiplication/matmul_2-2-2.tns.gz)
    for ((came = 40; came < bytes; came += 40)); do
        fetch matmul_2-2-2
        [ "$status" -eq 1 ]
        [[ $output == *"the download failed; start the same command again to go on"* ]]
        [ "$(stat -c %s matmul_2-2-2.tns.gz.part)" -eq "$came" ]
    done
    fetch matmul_2-2-2
    [ "$status" -eq 0 ]
    cmp matmul_2-2-2.tns.gz served/matrix-multiplication/matmul_2-2-2.tns.gz
    sed -n 's/^GET .* //p' log >from
    seq 0 40 $((bytes - 1)) | cmp - from
}

@test "fetch-frostt: a server that sends whole files only" {
    files
    serve --whole
    head -c 50 served/matrix-multiplication/matmul_2-2-2.tns.gz >matmul_2-2-2.tns.gz.part
    fetch matmul_2-2-2
    [ "$status" -eq 0 ]
    cmp matmul_2-2-2.tns.gz served/matrix-multiplication/matmul_2-2-2.tns.gz
}

@test "fetch-frostt: a length from a server is a number or is refused, and never a command" {
    files
    local length
    # shellcheck disable=SC2016 # what a shell would run
    for length in '0+PATH[$(touch${IFS}touched)]' 12bytes 1e3 9999999999999999999; do
        serve "--length=$length"
        fetch matmul_2-2-2
        [ "$status" -eq 1 ]
        [[ $output == "fetch-frostt: $FROSTT_URL/"*": the server gives a length of $length, expected a number of bytes" ]]
        [ ! -e touched ]
        kill "$server"
    done
    # Zeros in front do not make a number octal.
    serve --length=00"$(stat -c %s served/matrix-multiplication/matmul_2-2-2.tns.gz)"
    fetch matmul_2-2-2
    [ "$status" -eq 0 ]
}

@test "fetch-frostt: a damaged file, one of another order, one that is not there" {
    files
    export FROSTT_URL=file://$PWD/served
    gzip -c "$DATA/planted.tns" >served/uber-pickups/uber.tns.gz
    fetch uber
    [ "$status" -eq 1 ]
    [[ $output == *"uber.tns.gz.part: the first entry has 3 indices, expected 4"* ]]
    head -c 200 served/matrix-multiplication/matmul_2-2-2.tns.gz >cut &&
        cp cut served/matrix-multiplication/matmul_2-2-2.tns.gz
    printf 'x' | dd of=served/matrix-multiplication/matmul_2-2-2.tns.gz bs=1 seek=60 conv=notrunc status=none
    fetch matmul_2-2-2
    [ "$status" -eq 1 ]
    [[ $output == *"the file that came is damaged (gzip -t) and was removed"* ]]
    [ ! -e matmul_2-2-2.tns.gz ]
    [ ! -e matmul_2-2-2.tns.gz.part ]
    fetch nips
    [ "$status" -eq 1 ]
    [[ $output == *"nips.tns.gz: the server does not answer, or has no such file"* ]]
}

@test "fetch-frostt: a tar archive becomes the text that is in it" {
    files
    export FROSTT_URL=file://$PWD/served
    mkdir fb-m
    cp "$DATA/planted.tns" fb-m/fb-m.tns
    echo "of macOS" >fb-m/._fb-m.tns
    tar -czf served/FB-M/fb-m.tns.gz fb-m
    mkdir into
    fetch -o into fb-m
    [ "$status" -eq 0 ]
    [ "$(ls into)" = fb-m.tns.gz ]
    gzip -dc into/fb-m.tns.gz | cmp - "$DATA/planted.tns"
}

@test "fetch-frostt: wrong usage; nothing is downloaded when one name is unknown" {
    files
    serve
    fetch matmul_2-2-2 enrom
    [ "$status" -eq 2 ]
    [ "$output" = "fetch-frostt: no tensor enrom; the nearest name is enron; --list shows all" ]
    [ "$(wc -l <log)" -eq 1 ]
    fetch flickr
    [ "$status" -eq 2 ]
    [[ $output == *"nearest name is flickr-3d;"* ]]
    fetch -o absent nips
    [ "$status" -eq 2 ]
    [ "$output" = "fetch-frostt: absent: no such folder" ]
    fetch
    [ "$status" -eq 2 ]
    [[ $output == "Usage: "* ]]
}

@test "fetch-frostt: shellcheck finds nothing" {
    command -v shellcheck >/dev/null || skip "shellcheck is not installed"
    run -0 shellcheck "$ROOT/scripts/fetch-frostt"
}
