# What the summary says of the result beside its fit.
load cli_helpers
load ../support/mpi

# A tensor with no best model of rank 2.
border_rank() { printf '1 1 2 1\n1 2 1 1\n2 1 1 1\n' >x.tns; }

@test "a sound result needs no advice" {
    cpd "$DATA/planted.tns" -r 2 -i 5 -o x
    [ "$(tail -n 1 messages)" = "wrote x.lambda.mat" ] || { cat messages && return 1; }
    ! grep -qE 'residual|degenerate|fell|zero|rounding' messages
}

@test "--check-every: the fit from the residual, and how far the other one can be trusted" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -i 7 --tol 0 --nowrite
    expected=$(fit)
    cpd "$DATA/ucb-admissions.tns" -r 2 -i 7 --tol 0 --nowrite --check-every 3 -v
    near "$(fit)" "$expected" 1e-9
    grep -qE '^the residual gave the fit of 3 iterations: 1[2-5] digits .* \(off by [0-9.e-]+ at most\)$' messages
    grep -qE '^  residual +[0-9.]+ s +[0-9.]+ %$' messages
    cpd "$DATA/ucb-admissions.tns" -r 2 -i 7 --tol 0 --nowrite --check-every 0
    ! grep -q residual messages
}

@test "a fit near 1: rounding is told of, and --check-every gives the digits" {
    cpd "$DATA/planted.tns" -r 4 --init "$DATA/planted" -i 3 --tol 0 --nowrite
    grep -qE '^warning: rounding leaves [78] digits of this fit: --check-every 1 gives all$' messages
    cpd "$DATA/planted.tns" -r 4 --init "$DATA/planted" -i 3 --tol 0 --nowrite --check-every 3
    ! grep -q 'rounding leaves' messages
    grep -q '^the residual gave the fit of 1 iteration: ' messages
}

@test "--tol does not stop on rounding noise" {
    cpd "$DATA/matmul-2x2x2.tns" -r 7 --seed 3 --tol 1e-12 -i 20000 --nowrite --accelerate off
    grep -q ', converged (last change ' messages
    near "$(fit)" 1 2e-9
    grep -q '^the residual gave the fit of [0-9]* iterations: [5-8] digits ' messages
}

@test "components that degenerate, and the ridge that helps" {
    border_rank
    cpd x.tns -r 2 -i 4000 --tol 0 --nowrite
    grep -qE '^warning: 1 pair of components degenerates: components 1 and 2 cancel each other \(congruence -0\.9[5-9][0-9]*\), and the product of their weights grew by a factor of 1\.[0-9]+ since iteration 2048; try --ridge 2e-05, or a lower rank$' messages
    cpd x.tns -r 2 -i 20000 --tol 1e-10 --ridge 2e-05 -o x
    grep -q ', converged (last change ' messages
    ! grep -q 'degenerate' messages
    awk '$1 > 4.5 { exit 1 }' x.lambda.mat
}

@test "a fit that falls under a ridge is told of, and is no fault" {
    border_rank
    cpd x.tns -r 2 -i 200 --tol 0 -o start
    cpd x.tns -r 2 -i 20 --tol 0 --init start --ridge 0.01 --nowrite
    grep -qE '^the fit fell in [0-9]+ iterations?, by [0-9.e-]+ at most: --ridge keeps weights small at the cost of fit$' messages
}

@test "components that became zero" {
    border_rank
    printf 'ktensor\n3\n2 2 2\n2\n1 1\nmatrix\n2\n2 2\n.5 1\n.7 1\nmatrix\n2\n2 2\n.4 0\n.8 0\nmatrix\n2\n2 2\n.9 0\n.2 0\n' >s.ktns
    cpd x.tns -r 2 -i 5 --init s --nowrite
    grep -qx 'warning: 1 of 2 components became zero: a lower rank gives the same fit' messages
}

@test "several processes say the same" {
    needs_mpirun
    border_rank
    told() { grep -E '^fit|^warning: 1 pair|^the residual' messages | sed 's/ (last change.*//; s/ (off by.*//'; }
    cpd x.tns -r 2 -i 4000 --tol 0 --check-every 1000 --nowrite --backend host
    told >one
    [ "$(wc -l <one)" -eq 3 ]
    processes 2 "$BLCO" cpd x.tns -r 2 -i 4000 --tol 0 --check-every 1000 --nowrite --backend host 2>messages
    told >two
    diff one two
}

@test "the messages that blco-cpd explains are those of the program" {
    # numbers and plurals are left out on both sides, and with them what printf puts in
    plain() { sed -E 's/%(\.[0-9])?[a-z]+/#/g; s/-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?/#/g'; }
    cat "$ROOT"/src/commands/cpd_{advice,summary}.c | tr -d '\n' | sed 's/" *"//g; s/%s//g' | plain | tr -s '#' >strings
    sed -n '/^\.Ss What the summary says of the result/,/^\.Ss Tensors/s/^\.It Qq //p' "$ROOT/man/blco-cpd.1" >explained
    [ "$(wc -l <explained)" -eq 8 ]
    while read -r message; do
        plain <<<"$message" | tr '#:;(),' '\n' | while read -r part; do
            part=${part%s}
            [ ${#part} -lt 12 ] || grep -qF -- "$part" strings || { echo "$message: no '$part'" && return 1; }
        done
    done <explained
}
