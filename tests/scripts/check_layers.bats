# scripts/check-layers on small trees: what is as it should be passes, and every fault is found.
load ../commands/cli_helpers

setup_file() { command -v python3 >/dev/null || skip "no python3"; }

# A tree of two layers, low and high, and a program.
tree() {
    mkdir -p src/low src/high kernels
    printf 'low\nhigh low\nmain high\n' >src/LAYERS
    printf '#include "low/low.h"\n' >src/low/low.c
    printf 'int low(void);\n' >src/low/low.h
    printf '#include "low/low.h"\nint high(void);\n' >src/high/high.h
    printf '#include "high/high.h"\n' >src/main.c
    printf '| `src/low` | low |\n| `src/high` | high |\n' >ARCHITECTURE.md
}

# A test that includes these headers.
tested() {
    mkdir -p tests/low
    printf '#include "%s"\n' "$@" >tests/low/test_low.c
}

check() { run "$ROOT/scripts/check-layers" .; }

@test "check-layers: this project" {
    run -0 "$ROOT/scripts/check-layers"
}

@test "check-layers: a tree without a fault" {
    tree
    check
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "check-layers: an include that goes upwards" {
    tree
    printf '\n#include "high/high.h"\n' >>src/low/low.c
    check
    [ "$status" -eq 1 ]
    [ "$output" = "src/low/low.c:3: low may not include high (src/LAYERS)" ]
}

@test "check-layers: an include that skips a layer, or does not name its folder" {
    tree
    printf '#include "low/low.h"\n#include "high.h"\n' >src/main.c
    check
    [ "$status" -eq 1 ]
    [[ $output == *"src/main.c:1: main may not include low"* ]]
    [[ $output == *'src/main.c:2: "high.h" is no file of the project, named with its folder'* ]]
}

@test "check-layers: a circle of modules" {
    tree
    printf '#include "low/b.h"\n' >src/low/a.h
    printf '#include "low/c.h"\n' >src/low/b.c
    printf 'int b(void);\n' >src/low/b.h
    printf '#include "low/a.h"\n' >src/low/c.h
    tested low/a.h low/b.h low/c.h
    check
    [ "$status" -eq 1 ]
    [ "$output" = "circle of includes: src/low/a -> src/low/b -> src/low/c -> src/low/a" ]
}

# a.c, b.c and c.c of the folder low, which one header declares. a calls b, and c stands in a table of b.
three_files() {
    tree
    printf '/* Implemented in a.c, b.c and c.c. */\nint a(int x);\nint b(void);\nint c(void);\n' >src/low/abc.h
    printf '#include "low/abc.h"\n\nint a(int x)\n{\n    return x + b();\n}\n' >src/low/a.c
    printf 'static int (*const table[])(void) = {c};\n\nint b(void)\n{\n    return table[0]();\n}\n' >src/low/b.c
    printf 'int c(void)\n{\n    return %b;\n}\n' "$1" >src/low/c.c
    tested low/abc.h
}

@test "check-layers: a circle of calls" {
    three_files 'a(1)'
    check
    [ "$status" -eq 1 ]
    [ "$output" = "circle of calls: src/low/a -> src/low/b -> src/low/c -> src/low/a" ]
}

@test "check-layers: a circle of calls that a table closes, in GPU code too" {
    three_files 2
    printf 'extern "C" int c(void)\n{\n    return b();\n}\n' >src/low/c.cu
    rm src/low/c.c
    sed -i 's/ c.c/ c.cu/' src/low/abc.h
    check
    [ "$status" -eq 1 ]
    [ "$output" = "circle of calls: src/low/b -> src/low/c -> src/low/b" ]
}

@test "check-layers: names that are no calls" {
    three_files '/* a(1) */ where->a + there.a + sizeof "a" + sizeof(struct a) // a(1)'
    check
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    three_files '0;\n#pragma omp critical(a)\n    return 1' # the name of a critical section
    check
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    three_files '0;\n#pragma omp critical(c)\n    return a(1)'
    check
    [ "$status" -eq 1 ]
    [ "$output" = "circle of calls: src/low/a -> src/low/b -> src/low/c -> src/low/a" ]
    three_files 'a(1);\n}\n\nstatic int a(int x)\n{\n    return x' # another function of that name
    check
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "check-layers: folders, lines and files out of place" {
    tree
    mkdir src/other src/high/more
    touch src/stray.c src/other/low.h
    printf 'gone low\nlow\nhigh later\n' >>src/LAYERS
    check
    [ "$status" -eq 1 ]
    for fault in "src/stray.c: only main.c lies directly in src/" \
        "src/other/low.h: src/low/low.h has the same name" \
        "src/LAYERS: other has no line" "src/LAYERS: gone has a line, but no files" \
        "src/LAYERS:5: low has a line already" \
        "src/LAYERS:6: high names later, which does not stand above" \
        "ARCHITECTURE.md: src/gone is missing from the table of folders"; do
        [[ $output == *"$fault"* ]] || { echo "not found: $fault" && false; }
    done
}

@test "check-layers: a map with a folder that is gone" {
    tree
    printf '| `src/gone` | gone |\n' >>ARCHITECTURE.md
    check
    [ "$status" -eq 1 ]
    [ "$output" = "ARCHITECTURE.md: src/gone is in the table of folders, but not in src/LAYERS" ]
}

@test "check-layers: files without a face" {
    tree
    touch src/low/low_a.c src/low/alone.c src/low/more_1.c src/low/more_2.c kernels/k.cu
    printf '/* As in alone.c. Implemented in low.c, low_a.c\n * and more_*.c, not in alone.h. */\n' \
        >src/low/low.h
    mkdir src/low/inner
    printf '#pragma once\n' >src/low/inner/inner.h
    touch src/low/inner/inner.c
    printf 'low/inner\n' | cat - src/LAYERS >with && mv with src/LAYERS
    printf '| `src/low/inner` | inner |\n' >>ARCHITECTURE.md
    check
    [ "$status" -eq 1 ]
    [[ $output == *'src/low/alone.c: no header of its name, and none that says "Implemented in alone.c"'* ]]
    [[ $output == *'kernels/k.cu: no header of its name, and none that says "Implemented in k.cu"'* ]]
    [[ $output != *low_a.c* && $output != *more_* && $output != *inner* ]]
}

@test "check-layers: a header of its name counts in the folder above, but not elsewhere" {
    tree
    mkdir src/low/inner
    touch src/low/inner/one.c
    printf 'low/inner\n' | cat - src/LAYERS >with && mv with src/LAYERS
    printf '| `src/low/inner` | inner |\n' >>ARCHITECTURE.md
    printf '/* Implemented\n * in one.c. */\n' >src/low/low.h
    check
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    printf 'int low(void);\n' >src/low/low.h
    printf '/* Implemented in one.c. */\n#include "low/low.h"\n' >src/high/high.h
    check
    [ "$status" -eq 1 ]
    [[ $output == *"src/high/high.h: says \"Implemented in one.c\", but there is no such file"* ]]
    [[ $output == *'src/low/inner/one.c: no header of its name'* ]]
}

@test "check-layers: a header that only a module of its own folder includes" {
    tree
    printf 'int part(void);\n' >src/low/part.h
    printf '#include "low/part.h"\n' | tee src/low/part.c >>src/low/low.c
    check
    [ "$status" -eq 1 ]
    [ "$output" = "src/low/part.h: only src/low/low includes it, and no test does: make it part of that" ]
    tested low/part.h
    check
    [ "$status" -eq 0 ]
    rm -r tests
    printf '#include "low/part.h"\n' >>src/high/high.h # another folder needs it
    check
    [ "$status" -eq 0 ]
    printf '#include "low/low.h"\n' >src/low/low.c
    check
    [ "$status" -eq 0 ]
    printf '#include "low/low.h"\n' >src/high/high.h
    mkdir kernels/k
    sed -i '1i kernels/k' src/LAYERS
    printf '| `kernels/k` | kernels |\n' >>ARCHITECTURE.md
    touch kernels/k/part_of.cuh
    printf '#include "kernels/k/part_of.cuh"\n' >kernels/k/k.cu
    touch kernels/k/k.h
    check
    [ "$status" -eq 0 ] # a part of one kernel
}
