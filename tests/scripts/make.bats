# The Makefile: whose flags count, when warnings are errors, and what it tells editors.
load ../commands/cli_helpers

# make_says ARGUMENT...: the commands that make would run.
make_says() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T -u CFLAGS -u LDFLAGS -u WERROR make -n -B -C "$ROOT" CUDA=0 V=1 "$@"; }

# of_program: of these commands those that compile or link the program, the plugin and the tests.
of_program() { grep -E '^(OMPI_CC|[^ ]*(gcc|cc|mpicc)) '; }

# stub NAME: a program that runs the shell commands of standard input.
stub() { { echo '#!/bin/sh' && cat; } >"$1" && chmod +x "$1"; }

@test "make: a packager's flags come after blco's own, and stand on every link" {
    make_says CFLAGS=-Othis CPPFLAGS=-Dthat LDFLAGS=-Wl,-z,now blco tests | of_program >commands
    grep -E ' -c -o ' commands >compile
    grep -vE ' -c -o ' commands >link
    [ "$(wc -l <compile)" -gt 100 ]
    [ "$(wc -l <link)" -gt 20 ]
    run -1 grep -vE ' -O3 .* -Isrc .* -Dthat -Othis -MMD ' compile
    run -1 grep -vE ' -O3 .* -Othis -Wl,-z,now ' link
}

@test "make CC: a packager's compiler compiles all, the plugin by the wrapper of MPI" {
    stub mpicc <<<'exit 0'
    make_says CC=cc-of-conda MPI=1 MPICC="$PWD/mpicc" blco | grep -E ' -c -o ' >commands
    run -1 grep -vE "^(OMPI_CC=\"cc-of-conda\" MPICH_CC=\"cc-of-conda\" $PWD/mpicc|cc-of-conda) " commands
    grep -q '^OMPI_CC=.* src/comm/mpi/comm_mpi.c' commands
}

@test "make: flags in the environment count as well" {
    # shellcheck disable=SC2031
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T CFLAGS=-Othis LDFLAGS=-Wl,-z,now \
        make -n -B -C "$ROOT" CUDA=0 V=1 blco | of_program >commands
    run -1 grep -vE ' -Othis ' commands
    [ "$(grep -c -- ' -Othis -Wl,-z,now ' commands)" -ge 1 ]
}

@test "make: warnings are errors for developers, and not for those who only build or install" {
    for goal in blco install; do
        make_says $goal | of_program >commands
        run -1 grep -e '-Werror' commands
    done
    for goal in check tests 'test T=test_plan' build/host/src/main.o; do
        # shellcheck disable=SC2086 # a goal and its variable
        make_says $goal | grep -E ' -c -o ' >commands
        run -1 grep -v -e '-Werror' commands
    done
}

@test "make: a compiler without its header leaves its part out, and make says so at its end" {
    stub mpicc <<<'exec gcc -nostdinc "$@"'
    stub nvcc <<<'exit 1'
    run -0 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T -u MPI -u CUDA make --no-print-directory -n -B -C "$ROOT" MPICC="$PWD/mpicc" NVCC="$PWD/nvcc" blco
    [[ $output != *"-o build/host/blco-mpi.so"* ]]
    [[ ${lines[-2]} == "echo 'left out: GPUs ($PWD/nvcc does not compile a file with cuda_runtime.h)'" ]]
    [[ ${lines[-1]} == "echo 'left out: MPI ($PWD/mpicc does not compile a file with mpi.h, which libopenmpi-dev or libmpich-dev has)'" ]]
    make_says MPI=1 MPICC="$PWD/mpicc" blco >commands
    grep -q -- '-o build/host/blco-mpi.so' commands
}

@test "make HERE=1: code for the GPU of this machine, and none without one" {
    stub nvcc <<<'case $* in *--list-gpu-code*) printf "sm_75\nsm_90\n" ;; esac'
    stub nvidia-smi <<<'echo "No devices were found"'
    here() { PATH=$PWD:$PATH env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T -u CUDA -u ARCH make -n -B -C "$ROOT" MPI=0 V=1 HERE=1 blco >commands; }
    here
    run -1 grep -E '^[^ ]*nvcc ' commands
    grep -qF "left out: GPUs (nvidia-smi shows none in this machine)" commands
    grep -q 'for all GPUs: make' commands
    stub nvidia-smi <<<'echo "GPU 0: a card (UUID: 1)"'
    here
    grep -q '^[^ ]*nvcc .* -arch=native ' commands
    run -1 grep -qF "left out: GPUs" commands
}

# machines ARCH: the code that nvcc would make of a kernel, CAPABILITY of each machine, then +CAPABILITY of PTX.
machines() {
    local kernel=build/cuda/kernels/dense/dense_inverse.o
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T -u CUDA -u HERE make -n -B -C "$ROOT" MPI=0 V=1 NVCC="$PWD/nvcc" ARCH="$1" $kernel |
        grep -- "-o $kernel" | grep -oE 'code=[a-z0-9_]+' | sed 's/code=sm_//; s/code=compute_/+/' | xargs
}

@test "make ARCH: a list of compute capabilities reaches nvcc, with PTX for the newest" {
    stub nvcc <<<'case $* in *--list-gpu-code*) printf "sm_75\nsm_80\nsm_86\nsm_90\nsm_100\n" ;; esac'
    for list in 80,86,90 "90 80 86" sm_80,sm_86,sm_90 "8.6 8.0,9.0,9.0"; do
        [ "$(machines "$list")" = "80 86 90 +90" ]
    done
    [ "$(machines sm_90)" = "90 +90" ]
    [ "$(machines 90,100)" = "90 100 +100" ]
    [ "$(machines '')" = "75 80 90 100 +100" ]
    [ "$(machines newest)" = "+100" ]
    for word in x86_64 60,80; do
        run -2 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T -u CUDA make -n -C "$ROOT" NVCC="$PWD/nvcc" ARCH=$word blco
        [[ $output == *"ARCH=$word: expected compute capabilities from 7.0 on, as ARCH=80,86,90, or native"* ]]
    done
}

@test "make dist: each clone of a commit makes the same bytes, which need no git" {
    unset MAKEFLAGS MFLAGS MAKELEVEL T
    git init -q one
    mkdir -p one/src/base one/.ci
    cp "$ROOT/Makefile" "$ROOT/.gitattributes" one
    cp "$ROOT/src/base/version.c" one/src/base
    touch one/.ci/run
    printf '7.8.9\n$Format:%%h$\n' >one/VERSION
    git -C one add -A
    git -C one -c user.name=b -c user.email=b@blco.invalid commit -qm one
    (umask 077 && git clone -q one two)
    for clone in one two; do
        run --separate-stderr -0 make -s -C $clone CUDA=0 MPI=0 dist
        echo "$output $stderr"
        (cd $clone/build && [ "$output" = "$(sha256sum blco-7.8.9.tar.gz)" ] && sha256sum -c --quiet blco-7.8.9.tar.gz.sha256)
    done
    cmp one/build/blco-7.8.9.tar.gz two/build/blco-7.8.9.tar.gz
    tar -tvzf one/build/blco-7.8.9.tar.gz >files
    run -1 grep -vE '^(-rw-r--r--|drwxr-xr-x) root/root .* blco-7\.8\.9/' files
    run -1 grep -F .ci files
    # unpacked in another repository, whose commit is not that of the tarball
    mkdir three && git init -q three && tar -xzf one/build/blco-7.8.9.tar.gz -C three
    cd three/blco-7.8.9
    make -n CUDA=0 MPI=0 V=1 build/host/src/base/version.o >commands
    grep -qF "VERSION='\"7.8.9\"' -DBLCO_COMMIT='\"$(git -C "$OLDPWD/one" log -1 --abbrev=12 --format=%h)\"'" commands
    run -2 make -s CUDA=0 MPI=0 dist
    [[ $output == *"make dist needs a clone of the repository"* ]]
}

@test "make test: NAME is the name of a test" {
    run -2 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T make -C "$ROOT" CUDA=0 test
    [[ $output == *"T=NAME is missing"* ]]
    run -2 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T make -C "$ROOT" CUDA=0 test T=nothing
    [[ $output == *"there is no tests/*/nothing.c"* ]]
    make_says test T=test_plan >commands
    grep -q 'scripts/run-tests build/host build/host/tests/plan/test_plan' commands
    make_says test T=cli_cpd >commands
    grep -q 'scripts/run-tests build/host tests/commands/cli_cpd.bats' commands
}

@test "make compile_commands.json: a command for each file, as JSON" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    make_says compile_commands.json >/dev/null
    cp -r "$ROOT"/{Makefile,src,kernels,tests} .
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T make -s CUDA=0 compile_commands.json
    python3 - <<'END'
import json, os, shlex
commands = json.load(open("compile_commands.json"))
files = {c["file"] for c in commands}
assert {"src/main.c", "src/base/version.c", "tests/plan/test_plan.c"} <= files
for c in commands:
    words = shlex.split(c["command"])
    assert c["directory"] == os.getcwd() and words[-1] == c["file"] and "-std=c11" in words
END
}

@test "make help: every target has a line" {
    run -0 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u T make -s -C "$ROOT" CUDA=0 help
    for target in check test debug coverage tidy check-format check-layers compile_commands.json asan tsan fuzz kill \
        table check-gpu check-release install uninstall deb wheel dist recipes format clean; do
        grep -qE "(^|[ ;])(make )?$target( |\$)" <<<"$output" || { echo "$target is missing" && return 1; }
    done
}
