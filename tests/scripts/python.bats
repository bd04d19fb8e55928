# scripts/make-wheel and the module blco: the wheel of the build under test, installed into a new virtual
# environment. Other packages come from the Python that has them (build/python, Debian's).
load ../commands/cli_helpers

setup_file() {
    local tree built python
    tree=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    built=$(dirname "$BLCO")
    case $(basename "$built") in host | cuda) ;; *) skip "a wheel is made of the builds host and cuda only" ;; esac
    for python in ${BLCO_TEST_PYTHON-} python3 /usr/bin/python3 none; do
        ! "$python" -c 'import numpy, venv, ensurepip' 2>/dev/null || break
    done
    [ "$python" != none ] || skip "no Python has numpy and makes virtual environments (packages python3-numpy, python3-venv)"
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$tree" -o blco "VARIANT=$(basename "$built")" "${built#"$tree"/}/wheel/blco" >&2
    WHEEL=$("$tree/scripts/make-wheel" "$built" 9.8.7 "$BATS_FILE_TMPDIR")
    "$python" -m venv "$BATS_FILE_TMPDIR/venv"
    VENV=$BATS_FILE_TMPDIR/venv/bin
    "$python" -c 'import sys; print(*[p for p in sys.path if p.endswith("-packages")], sep="\n")' \
        >"$("$VENV/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth"
    "$VENV/python" -m pip install -q --disable-pip-version-check --no-index --no-deps "$WHEEL" >&2
    export WHEEL VENV
}

has() { "$VENV/python" -c "import $1" 2>/dev/null || skip "no Python has $1"; }

passes() { DATA=$DATA "$VENV/python" -W error::DeprecationWarning:blco "$ROOT/tests/python/test_module.py" "$@"; }

# bats test_tags=release
@test "wheel: its program runs, in any folder and without other libraries" {
    [ "$("$VENV/blco" --version | cut -d' ' -f1-2)" = "$("$BLCO" --version | cut -d' ' -f1-2)" ]
    "$VENV/blco" cpd -q --backend host "$DATA/planted.tns" -r 4 -o planted
    [ -s planted.lambda.mat ]
    cp -r "$("$VENV/python" -c 'import blco, os; print(os.path.dirname(blco.__file__))')" moved
    LD_DEBUG=files moved/bin/blco cpd -q --backend host "$DATA/planted.tns" -r 40 -i 2 --nowrite 2>libraries
    grep -oE 'calling init: .*(blas|isal|gfortran).*' libraries | sort -u >own
    cat own
    [ "$(grep -c "/moved/bin/../lib/" own)" -eq 2 ] && ! grep -v "/moved/" own
    run ! "$VENV/blco" cpd absent.tns -r 2
}

# bats test_tags=release
@test "wheel: libraries are found where the wheels of NVIDIA have them" {
    mkdir site
    cp -r "$("$VENV/python" -c 'import blco, os; print(os.path.dirname(blco.__file__))')" site/blco
    library=site/blco/lib/libopenblas.so.0 # as one of theirs, which need a GPU
    for folder in cu13 cublas cusolver nccl; do
        mkdir -p site/nvidia/$folder/lib
        mv "$library" site/nvidia/$folder/lib
        library=site/nvidia/$folder/lib/libopenblas.so.0
        LD_DEBUG=files site/blco/bin/blco cpd -q --backend host "$DATA/planted.tns" -r 40 -i 2 --nowrite 2>libraries
        grep -q "calling init: .*/nvidia/$folder/lib/libopenblas" libraries
    done
}

# bats test_tags=release
@test "wheel: named as what it has, and every file is in its record" {
    [[ $WHEEL =~ /blco-9.8.7-py3-none-manylinux_2_([0-9]+)_$(uname -m).whl$ ]]
    [ "${BASH_REMATCH[1]}" -le 34 ] # the glibc of Red Hat Enterprise Linux 9
    [ "$(stat -c %s "$WHEEL")" -lt 21000000 ] # 11 MB are code of five generations of GPUs, 7 MB OpenBLAS
    "$VENV/python" -m zipfile -l "$WHEEL" >files
    for file in blco/py.typed blco/_cpd.py blco/_load.py blco/bin/blco share/man/man1/blco-cpd.1 bash-completion/completions/blco \
        share/doc/blco/examples/tutorial.ipynb; do
        grep -qF "$file" files
    done
    "$VENV/python" -m pip show -q --disable-pip-version-check blco
    run "$VENV/python" -m pip check --disable-pip-version-check # also of what else is on the machine
    [[ $output != *blco* ]]
}

# bats test_tags=release
@test "wheel: auditwheel finds its tag right" {
    local auditwheel
    auditwheel=$(command -v auditwheel) || skip "auditwheel is not installed"
    run -0 "$auditwheel" show "$WHEEL"
    tag=${WHEEL##*-none-}
    [[ $output == *"\"${tag%.whl}\""* ]]
}

# bats test_tags=release
@test "module: what README shows leads from a DataFrame to a page with names" {
    has pandas
    cp "$ROOT/tests/data/babynames.csv" .
    sed -n '/^The same in Python/,/^## /s/^    //p' "$ROOT/README.md" >shown.py
    [ "$(wc -l <shown.py)" -eq 3 ]
    "$VENV/python" shown.py
    for name in year sex name; do grep -q "<caption><bdi>$name</bdi>" names.html; done
    for name in Jennifer F; do grep -q "<bdi[^>]*>$name</bdi>" names.html; done
}

# bats test_tags=release
@test "module: the notebook of data runs, and shows what it has shown" {
    has nbclient && has ipykernel && has pandas && has matplotlib
    cp "$DATA"/*.{csv,map,tns} "$DATA/tutorial.ipynb" .
    export IPYTHONDIR=$PWD/i JUPYTER_DATA_DIR=$PWD/j JUPYTER_RUNTIME_DIR=$PWD/r MPLCONFIGDIR=$PWD/m
    "$VENV/python" -m ipykernel install --user >installed # the kernel is that of this environment
    "$VENV/python" "$ROOT/tests/python/run_notebook.py" tutorial.ipynb
    [ "$(stat -c %s tutorial.ipynb)" -lt 100000 ]
    sed 's/zero 0\.[0-9]*/zero 1/' tutorial.ipynb >other.ipynb # other outputs are seen
    run -1 "$VENV/python" "$ROOT/tests/python/run_notebook.py" other.ipynb
}

@test "module: models, options, errors, files and signals" { passes TestModel; }

# bats test_tags=release
@test "module: progress in a notebook, by tqdm" { has tqdm && passes TestTqdm; }

# bats test_tags=release
@test "module: DataFrames of pandas" { has pandas && passes TestPandas; }

# bats test_tags=release
@test "module: SciPy" { has scipy && passes TestScipy; }

# bats test_tags=release
@test "module: pydata/sparse" { has sparse && passes TestSparse; }

# bats test_tags=release
@test "module: pyttb" { has pyttb && passes TestPyttb; }

# bats test_tags=release
@test "module: TensorLy" { has tensorly && passes TestTensorly; }

# bats test_tags=release
@test "module: its types are right" {
    local mypy
    mypy=$(command -v mypy) || skip "mypy is not installed"
    "$mypy" --strict --python-executable "$VENV/python" -p blco --disable-error-code=import-untyped \
        --disable-error-code=import-not-found --disable-error-code=attr-defined --disable-error-code=no-untyped-call
}

# bats test_tags=release
@test "module: takes at most 50 ms and 5 % more than the command line" { passes TestOverhead; }
