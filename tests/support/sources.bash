# For tests of what is released.
# shellcheck shell=bash

# sources FOLDER: the sources under test, committed in a repository of their own; make and git then run in it, not as
# parts of the run of the tests.
sources() {
    mkdir "$1"
    tar -C "$BATS_TEST_DIRNAME/../.." --exclude=./build --exclude=./.git --exclude=__pycache__ -c . | tar -C "$1" -x
    unset MAKEFLAGS MFLAGS MAKELEVEL T VARIANT
    git -C "$1" init -q
    git -C "$1" config user.name blco
    git -C "$1" config user.email blco@packages.invalid
    git -C "$1" add -A
    git -C "$1" commit -qm sources
}
