# bats file_tags=release
# scripts/release: what it refuses, and what it makes.
load ../commands/cli_helpers
load ../support/sources

setup_file() {
    sources "$BATS_FILE_TMPDIR/made"
    VERSION=$(sed 1q "$BATS_FILE_TMPDIR/made/VERSION")
    export MADE=$BATS_FILE_TMPDIR/made VERSION
}

# refused MESSAGE: in the clone `clone`, with one line.
refused() {
    run --separate-stderr clone/scripts/release CUDA=0
    echo "$status: $stderr (expected: $1)"
    # shellcheck disable=SC2154 # run sets stderr
    [ "$status" -eq 1 ] && [ "$stderr" = "scripts/release: $1" ] && [ -z "$output" ] && [ ! -e clone/build ]
}

# change FILE COMMAND: changes FILE by a command of sed, in a fresh clone, and commits that.
change() {
    rm -rf clone
    git clone -q "$MADE" clone
    sed -i "$2" "clone/$1"
    git -C clone -c user.name=blco -c user.email=blco@packages.invalid commit -qam change
}

@test "release: refuses what is not committed, not named or not the same everywhere" {
    git clone -q "$MADE" clone
    echo more >>clone/README.md
    refused "files are not committed: README.md, ..."
    change CHANGELOG.md "s/^## \[$VERSION\]/## [Unreleased]/"
    refused "CHANGELOG.md has no section [$VERSION]"
    change CHANGELOG.md "s/^## \[$VERSION\]/## [Unreleased]\n\n- one\n\n&/"
    refused "CHANGELOG.md has a section [Unreleased]: expected [$VERSION] in its place"
    change VERSION 1s/.*/next/
    refused "VERSION: expected a number as 1.2.3 in the first line, found next"
    change man/blco-cluster.7 "s/^blco $VERSION/blco 0.0.9/"
    [[ $(grep -n 'blco 0.0.9' clone/man/blco-cluster.7) =~ ^([0-9]+): ]]
    refused "man/blco-cluster.7:${BASH_REMATCH[1]}:blco 0.0.9: expected version $VERSION"
    change README.md '$s/$/ /'
    git -C clone tag "v$VERSION" HEAD~1
    refused "the tag v$VERSION is of another commit"
}

@test "release: wrong usage" {
    run -2 "$ROOT/scripts/release" all
    [ "$output" = "usage: scripts/release [VARIABLE=VALUE...]" ]
    command -v shellcheck >/dev/null || skip "shellcheck is not installed"
    run -0 shellcheck "$ROOT/scripts/release" "$ROOT/scripts/new-debian" "$ROOT/scripts/packaging/conda/build.sh"
}

@test "release: a tarball, a wheel, a package, recipes, notes and their sums" {
    git clone -q "$MADE" clone
    clone/scripts/release CUDA=0 URL=https://blco.invalid/files >said 2>&1 || { cat said && return 1; }
    cd clone/build/release
    [ "$(ls | sed 's/py3-none-.*/TAG.whl/')" = "NOTES.md
SHA256SUMS
blco-$VERSION-TAG.whl
blco-$VERSION.tar.gz
blco_${VERSION}_$(dpkg --print-architecture).deb
recipes" ]
    sha256sum -c --quiet SHA256SUMS
    [ "$(wc -l <SHA256SUMS)" -eq 3 ]
    sum=$(sha256sum "blco-$VERSION.tar.gz" | cut -c -64)
    grep -qF "version(\"$VERSION\", sha256=\"$sum\")" recipes/spack/spack_repo/blco/packages/blco/package.py
    grep -qF "url: \"https://blco.invalid/files/blco-" recipes/conda/recipe.yaml
    run -1 grep -rE '@(VERSION|SHA256|URL)@' recipes --exclude README.md
    [ "$(dpkg-deb -f ./*.deb Version)" = "$VERSION" ]
    diff <(sed -n "/^## \[$VERSION\]/,/^## \[0.1.0\]/p" "$ROOT/CHANGELOG.md" | grep '^- ') <(grep '^- ' NOTES.md)
    tail -n 1 "$OLDPWD/said"
    [ "$(tail -n 1 "$OLDPWD/said")" = "then: git tag -a v$VERSION -m 'blco $VERSION' $(git -C "$MADE" rev-parse --short HEAD)" ]
    git -C "$OLDPWD/clone" diff --quiet
}
