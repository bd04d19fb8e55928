# bats file_tags=release
# make dist and scripts/packaging: the tarball builds without git, and each recipe, filled in for this tarball, is read
# by its tool and builds a blco whose self-test passes. The tools of Apptainer and Spack cannot be had from Debian or
# PyPI: the container's commands run in a new system (new_machine.bats), the recipe of Spack with stand-ins (spack.bats).
load ../commands/cli_helpers
load ../support/sources

# The tarball of these sources, in a repository of their own, and its recipes. Nothing here needs fast code.
setup_file() {
    export MADE=$BATS_FILE_TMPDIR/made CFLAGS=-O0
    sources "$MADE"
    make -s -C "$MADE" CUDA=0 URL="file://$MADE/build" recipes
    VERSION=$(sed 1q "$MADE/VERSION")
    export VERSION TARBALL=$MADE/build/blco-$VERSION.tar.gz RECIPES=$MADE/build/recipes
}

# has PROGRAM: skips the test where it could not be installed (scripts/packages).
has() { command -v "$1" >/dev/null || skip "there is no $1"; }

@test "make dist: the tarball builds, tests and installs without git" {
    (cd "$(dirname "$TARBALL")" && sha256sum -c --quiet "$TARBALL.sha256")
    tar -xzf "$TARBALL"
    cd "blco-$VERSION"
    commit=$(git -C "$MADE" log -1 --abbrev=12 --format=%h)
    stub=$PWD/no-git && mkdir "$stub" && printf '#!/bin/sh\nexit 127\n' >"$stub/git" && chmod +x "$stub/git"
    PATH=$stub:$PATH make -s -j"$(nproc)" CUDA=0 blco
    [ "$(build/blco --version | sed 1q)" = "blco $VERSION ($commit)" ]
    PATH=$stub:$PATH make -s CUDA=0 test T=test_shape
    PATH=$stub:$PATH make -s CUDA=0 install DESTDIR="$PWD/root" PREFIX=/usr
    root/usr/bin/blco selftest >said
    [ ! -e .ci ]
}

@test "EasyBuild: the recipes are in its style, and one builds with the compiler of the system" {
    has eb
    # shellcheck disable=SC1091
    [ -n "${MODULESHOME-}" ] || . /etc/profile.d/modules.sh
    cp "$RECIPES"/easybuild/*.eb .
    [ "$(ls)" = "blco-$VERSION-foss-2025b-CUDA-12.9.1.eb
blco-$VERSION-foss-2025b.eb" ]
    build() {
        EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES=1 eb "$@" \
            --prefix="$PWD/easybuild" --sourcepath="$(dirname "$TARBALL")" \
            --modules-tool=EnvironmentModules --module-syntax=Tcl --parallel="$(nproc)" >log 2>&1 || { cat log && return 1; }
    }
    for recipe in blco-*.eb; do
        build "$PWD/$recipe" --check-contrib
        grep -q 'All contribution checks PASSed' log
    done
    build "$PWD/blco-$VERSION-foss-2025b.eb" --try-toolchain=system,system --disable-map-toolchains \
        --filter-deps=ISA-L,Jansson,pkgconf
    grep -q 'COMPLETED: Installation ended successfully' log
    grep -q 'blco selftest' easybuild/software/blco/"$VERSION"/easybuild/*.log
    easybuild/software/blco/"$VERSION"/bin/blco --version
}

@test "conda: rattler-build reads all variants, builds one, and runs its self-test" {
    python3 -c 'import rattler_build' 2>/dev/null || skip "no Python has rattler_build"
    python3 "$ROOT/tests/support/conda_build.py" "$RECIPES/conda" "$PWD/output" >said 2>log || { cat said log && return 1; }
    [ "$(cut -d _ -f 1,2 said | sort | xargs)" = "built $(tail -n 1 said | cut -d ' ' -f 2 | cut -d _ -f 1,2) cpu_nompi cpu_openmpi cuda129_nompi cuda129_openmpi" ]
    [ "$(grep -c 'openblas.* libopenblas >=0.3.10,<1' said)" -eq 4 ]
    [ "$(grep -c 'libcublas libcusolver nccl >=2.18$' said)" -eq 2 ]
    ls output/linux-64/blco-"$VERSION"-cpu_openmpi_*.conda
}

# section NAME: that of the container's definition, without its indentation.
section() { sed -n "/^%$1\$/,/^%/{/^%/d;s/^    //p}" "$RECIPES/apptainer/blco.def"; }

@test "Apptainer: the definition has the sections of a definition, and its commands are those of a shell" {
    [ "$(grep -oE '^%[a-z]+' "$RECIPES/apptainer/blco.def" | xargs)" = "%arguments %files %post %runscript %test %labels %help" ]
    grep -qx 'Bootstrap: docker' "$RECIPES/apptainer/blco.def"
    [ "$(grep -oE '\{\{ [a-z]+ \}\}' "$RECIPES/apptainer/blco.def" | tr -d '{} ' | sort -u)" = "$(section arguments | sed -n 's/=.*//p' | sort -u)" ]
    [ "$(section files | xargs)" = "$(basename "$TARBALL") /opt/blco.tar.gz" ]
    has shellcheck
    for part in post runscript test; do section $part | shellcheck -s sh -; done
}
