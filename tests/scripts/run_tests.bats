# scripts/run-tests on build folders whose test programs only print: which tests are counted as passed,
# failed and skipped.
load ../commands/cli_helpers

# program NAME STATUS: a test program that prints its standard input.
program() {
    mkdir -p "$(dirname "build/tests/$1")"
    { echo '#!/bin/sh' && echo "cat <<'END'" && cat && echo END && echo "exit $2"; } >"build/tests/$1"
    chmod +x "build/tests/$1"
}

counts() { run "$ROOT/scripts/run-tests" "$PWD/build" gpu && echo "$output" && [ "${lines[-1]}" = "$1" ]; }

@test "run-tests gpu: a test without its data is skipped, and nothing has failed" {
    program als/test_cpals 0 <<'E2'
[       OK ] test_superdiagonal_backend_cuda
[  SKIPPED ] test_amino_acids_backend_cuda
E2
    counts "1 passed, 0 failed, 1 skipped"
    [ "$status" -eq 0 ]
}

@test "run-tests gpu: a test that fails, a program that crashes, none at all" {
    program backend/test_backend 1 <<'E2'
[       OK ] test_update_backend_host
[  FAILED  ] test_update_backend_cuda
E2
    counts "1 passed, 1 failed, 0 skipped"
    [ "$status" -ne 0 ]
    program backend/cuda/gpu_any 139 <<'E2'
[       OK ] test_first
E2
    counts "2 passed, 2 failed, 0 skipped"
    rm -r build/tests/*
    counts "0 passed, 1 failed, 0 skipped"
    [ "$status" -ne 0 ]
}

@test "run-tests: what is skipped is named, unless it needs a GPU" {
    program backend/test_backend 0 <<'E2'
[       OK ] test_update_backend_host
[  SKIPPED ] test_data_backend_host
[  SKIPPED ] test_update_backend_cuda
E2
    counts "1 passed, 0 failed, 2 skipped"
    [ "${lines[-2]}" = "1 of the skipped tests need a GPU" ]
    grep -qx '\[  SKIPPED \] test_data_backend_host' <<<"$output"
    ! grep 'test_update_backend_cuda' <<<"$output"
}

@test "run-tests FILE: one program, one bats file, and all that they print" {
    program plan/test_plan 3 <<<'said by the program'
    printf '@test "says" { [ "$BLCO" = "%s/build/blco" ]; }\n' "$PWD" >one.bats
    run "$ROOT/scripts/run-tests" "$PWD/build" "$PWD/build/tests/plan/test_plan" "$PWD/one.bats"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"said by the program"* && $output == *"says"* ]]
    run -0 "$ROOT/scripts/run-tests" "$PWD/build" "$PWD/one.bats"
}

@test "run-tests gpu: without a GPU, every test that needs one fails" {
    ! "$BLCO" info -q --backend cuda "$DATA/planted.tns" 2>/dev/null || skip "there is a GPU"
    build=$(dirname "$BLCO")
    [ -x "$build/tests/backend/test_backend" ] || skip "no test programs beside $BLCO"
    mkdir -p build/tests
    ln -s "$build/tests/backend" build/tests/backend
    cp "$build/tests/backend/test_backend" build/tests/
    run "$ROOT/scripts/run-tests" "$PWD/build" gpu
    echo "$output"
    [ "$status" -ne 0 ]
    [[ ${lines[-1]} == *" failed, 0 skipped" && ${lines[-1]} != *" 0 failed"* ]]
}

@test "run-tests: tests of releases run with release, and only then" {
    cp -r "$ROOT/scripts" .
    mkdir -p build/tests tests/scripts tests/support
    printf '# bats file_tags=release\n@test "packages" { true; }\n@test "fonts" { true; }\n' >tests/scripts/all.bats
    printf '# bats test_tags=release\n@test "wheel" { true; }\n@test "module" { true; }\n' >tests/scripts/some.bats
    printf '@test "plain" { true; }\n' >tests/scripts/none.bats
    run -0 scripts/run-tests build
    [ "${lines[-1]}" = "2 passed, 0 failed, 0 skipped" ]
    run -0 scripts/run-tests build release
    [ "${lines[-1]}" = "3 passed, 0 failed, 0 skipped" ]
}
