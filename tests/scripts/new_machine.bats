# bats file_tags=release
# New Debian systems in a folder, on which nothing of this machine is: by the README's commands they get from a wheel, or
# from a clone, to the page of names, and by the commands of the container's definition to a blco whose test passes.
load ../commands/cli_helpers
load ../support/sources

setup_file() {
    [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || skip "new systems need root and debootstrap"
    export MADE=$BATS_FILE_TMPDIR/made SYSTEM=$BATS_FILE_TMPDIR/system
    sources "$MADE"
    "$MADE/scripts/new-debian" "$SYSTEM"
}

# new_system PACKAGE...: $root is one, with these packages.
new_system() {
    root=$BATS_TEST_TMPDIR/root
    cp -a "$SYSTEM" "$root"
    inside "apt-get update && apt-get install -y --no-install-recommends $*"
}

# inside COMMANDS: as a user's shell; what they print is in the file `log`.
inside() {
    echo "$1" >"$root/root/commands"
    # shellcheck disable=SC2016 # for the new shell
    unshare -m sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$root" env -i HOME=/root \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        bash -euo pipefail -c 'cd; . ./commands' >log 2>&1 || { tail -n 40 log && return 1; }
}

# begin WORD: the command at the beginning of the README that has this word.
begin() { sed -n "1,/^## /{/^    .*$1/{s/^ *//; s/  *#.*//; p}}" "$ROOT/README.md"; }

# example: the commands of the README's session.
example() { awk '/^    \$ / || more { sub(/^    (\$ )?/, ""); print; more = /\\$/ }' "$ROOT/README.md"; }

# leads_to_page COMMANDS: and says how long they took.
leads_to_page() {
    inside "TIMEFORMAT='%0R seconds, %0U and %0S of processors'
time {
$1
$(example)
}"
    tail -n 1 log
    page=$(find "$root/root" -name names.html)
    for name in Jennifer Christopher; do grep -q "<bdi[^>]*>$name</bdi>" "$page"; done
}

@test "a new machine with Python alone: from the wheel to the page of names" {
    built=$(dirname "$BLCO")
    case $(basename "$built") in host | cuda) ;; *) skip "a wheel is made of the builds host and cuda only" ;; esac
    make -s -C "$ROOT" -o blco "VARIANT=$(basename "$built")" "${built#"$ROOT"/}/wheel/blco"
    new_system python3 python3-venv
    "$ROOT/scripts/make-wheel" "$built" 9.8.7 "$root/root"
    leads_to_page "$(begin pip)"
    tail -n 1 log | awk '{ exit !($3 + $5 < 240) }' # which two cores do in two minutes
    # the tutorial's data
    inside '. env/bin/activate; ln -s "$VIRTUAL_ENV/share/doc/blco/examples" data; blco info -q data/fluorescence.tns'
}

@test "a new machine with a compiler: from a clone to the page of names" {
    new_system git python3 python3-venv
    git clone -q --bare "$MADE" "$root/blco.git"
    venv=$(begin pip)
    leads_to_page "git clone -q /blco.git blco; cd blco; ${venv%% && pip*}; $(begin demo)"
}

@test "a container of Apptainer: its commands build blco, and its test passes" {
    make -s -C "$MADE" recipes
    root=$BATS_TEST_TMPDIR/root
    cp -a "$SYSTEM" "$root"
    cp "$MADE"/build/blco-*.tar.gz "$root/opt/blco.tar.gz"
    # section NAME: that of the definition, without its indentation
    section() { sed -n "/^%$1\$/,/^%/{/^%/d;s/^    //p}" "$MADE/build/recipes/apptainer/blco.def"; }
    inside "export CFLAGS=-O0; $(section post | sed 's/{{ arch }}//')" # nothing here needs fast code
    inside "set -e; $(section test)"
    [ ! -e "$root/opt/blco" ] && [ ! -e "$root/opt/blco.tar.gz" ]
}
