# bats file_tags=release
# scripts/make-deb: the package of the build under test. scripts/try-deb installs a package in a new
# system; these tests only unpack it.
load ../commands/cli_helpers

# The package is made once.
setup_file() {
    command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || skip "dpkg-dev is not installed"
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    PACKAGE=$(make_package "$BATS_FILE_TMPDIR")
    export PACKAGE
}

# make_package FOLDER: prints the name of the package.
make_package() {
    SOURCE_DATE_EPOCH=1700000000 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        "$ROOT/scripts/make-deb" "$(dirname "$BLCO")" 9.8.7 "$1"
}

# package: unpacks the package into the folder root, and prints its name.
package() {
    dpkg-deb -R "$PACKAGE" root
    echo "$PACKAGE"
}

@test "make-deb: the program of the package runs, and its sums are right" {
    package
    run -0 root/usr/bin/blco --version
    root/usr/bin/blco cpd -q --backend host "$DATA/planted.tns" -r 4 -o planted
    [ -s planted.lambda.mat ]
    (cd root && md5sum --quiet -c DEBIAN/md5sums)
    [ "$(wc -l <root/DEBIAN/md5sums)" -eq "$(find root/usr -type f | wc -l)" ]
    [ "$(find root/usr/share/man -name '*.gz' | wc -l)" -eq "$(find "$ROOT/man" -type f | wc -l)" ]
}

@test "make-deb: the Python module runs the program, and the examples are there" {
    file=$(package)
    cmp "$DATA/events.csv" root/usr/share/doc/blco*/examples/events.csv
    [[ $(dpkg-deb -f "$file" Suggests) == *python3-numpy* ]]
    for python in ${BLCO_TEST_PYTHON-} /usr/bin/python3; do
        "$python" -c 'import numpy' 2>/dev/null || continue
        PATH=$PWD/root/usr/bin:$PATH PYTHONPATH=$PWD/root/usr/lib/python3/dist-packages "$python" -c "
import blco
print(blco.__file__, blco.program(), blco.cpd('$DATA/planted.tns', 4, backend='host').rank)" >found
        [ "$(cat found)" = "$PWD/root/usr/lib/python3/dist-packages/blco/__init__.py $PWD/root/usr/bin/blco 4" ]
        break
    done
    [ -s found ] || skip "no Python has numpy"
}

@test "make-deb: depends on what the program links and loads, and on no driver" {
    file=$(package)
    [ "$(dpkg-deb -f "$file" Version)" = 9.8.7 ]
    depends=$(dpkg-deb -f "$file" Depends)
    echo "$depends"
    [[ $depends == *"libc6 (>= "* && $depends == *libisal2* ]]
    [[ $depends == *libopenblas0* && $depends == *liblapacke* ]]
    [[ $depends != *jansson* ]] && grep -q '^ 2009-.*(Jansson' root/usr/share/doc/blco*/copyright
    [[ $depends != *mpi* && $depends != *nvidia* && $depends != *libcuda1* ]]
    [ ! -e "$(dirname "$BLCO")/blco-mpi.so" ] || [[ $(dpkg-deb -f "$file" Suggests) == *mpi* ]]
}

@test "make-deb: what is loaded for large ranks on GPUs is recommended only" {
    file=$(package)
    [ "$(dpkg-deb -f "$file" Package)" = blco-cuda ] || skip "a build without CUDA"
    [[ $(dpkg-deb -f "$file" Depends) != *libcu* ]]
    [[ $(dpkg-deb -f "$file" Recommends) == *libcublas*libcusolver* ]]
    [[ $(dpkg-deb -f "$file" Suggests) == *libnccl2* ]]
    [ "$(stat -c %s root/usr/bin/blco)" -lt 30000000 ]
}

@test "make-deb: the same build gives the same bytes" {
    cmp "$(make_package "$PWD")" "$PACKAGE"
}

@test "make-deb: lintian finds nothing" {
    command -v lintian >/dev/null || skip "lintian is not installed"
    [ "$(basename "$(dirname "$BLCO")")" = host ] || skip "only a build without CUDA and sanitizers is clean"
    run -0 lintian --allow-root --fail-on error,warning "$(package)"
    [ -z "$output" ]
}

@test "make-deb, try-deb: wrong usage" {
    run -2 "$ROOT/scripts/make-deb"
    run -2 "$ROOT/scripts/try-deb"
    command -v shellcheck >/dev/null || skip "shellcheck is not installed"
    run -0 shellcheck "$ROOT"/scripts/make-deb "$ROOT"/scripts/try-deb
}
