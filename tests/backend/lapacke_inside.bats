# Where LAPACKE comes from: an OpenBLAS that has LAPACKE inside needs no other library.
load ../commands/cli_helpers

# A stub of OpenBLAS, whose LAPACKE says that no matrix can be factorised.
openblas_with_lapacke() {
    printf 'int LAPACKE_%s(void) { return 1; }\n' dpotrf dpocon_work dtrtri dsyevd_work >stub.c
    gcc -shared -fPIC -Wl,-soname,libopenblas.so.0 -o libopenblas.so.0 stub.c
}

@test "LAPACKE inside OpenBLAS is preferred to a separate LAPACKE" {
    case $(basename "$(dirname "$BLCO")") in asan | tsan) skip "sanitizers have rules of their own for libraries" ;; esac
    openblas_with_lapacke
    export LD_LIBRARY_PATH=$PWD
    fails 1 "LAPACK does not factorise the unit matrix" cpd -q --backend host --nowrite -r 2 "$DATA/planted.tns"
}

@test "with an OpenBLAS without LAPACKE, the LAPACKE in the same folder is used" {
    command -v ldconfig >/dev/null || PATH=$PATH:/sbin:/usr/sbin
    ldconfig -p | grep -q 'liblapacke\.so\.3' || skip "this system has no liblapacke.so.3"
    run -0 "$BLCO" cpd -q --backend host --nowrite -r 2 "$DATA/planted.tns"
}
