# What the summary says about the result besides its fit.
# bats file_tags=plain
load cli_helpers
load ../support/mpi

# A tensor with no best model of rank 2.
border_rank() { printf '1 1 2 1\n1 2 1 1\n2 1 1 1\n' >x.tns; }

@test "a sound result needs no advice but that one start was made" {
    cpd "$DATA/planted.tns" -r 2 -i 500 -o x
    one='one start was made, and another may lead to a better fit or to other components; --starts 5 tells whether the result depends on the start'
    [ "$(tail -n 1 messages)" = "$one" ]
    [ "$(tail -n 2 messages | head -n 1)" = "wrote x.model.json" ] || { cat messages && return 1; }
    run ! grep -qE 'residual|degenerate|fell|zero|rounding|converged:' messages
    cpd "$DATA/planted.tns" -r 2 -i 500 --init x --nowrite
    run ! grep -q 'one start' messages
    cpd "$DATA/planted.tns" -r 2 -i 500 --starts 2 --nowrite
    run ! grep -q 'one start' messages results
}

@test "a run that has not converged says so, unless no tolerance was asked for" {
    cpd "$DATA/planted.tns" -r 4 -i 3 --checkpoint c --nowrite
    grep -qE '^warning: the run has not converged: it stopped at the limit, after 3 iterations, the last of which changed the fit by [0-9.e-]+; -i allows more iterations$' messages
    cpd "$DATA/planted.tns" -r 4 -i 3 --tol 0 --nowrite
    run ! grep -q 'not converged' messages
    cpd "$DATA/planted.tns" -r 4 -i 1000000000 --tol 0 -t 1 --nowrite --time-limit 1s
    grep -qE '^warning: the run has not converged: the time limit ended it, after [0-9]+ iterations, .*; --resume goes on from a --checkpoint$' messages
    cpd "$DATA/planted.tns" -r 4 -i 3 --resume c --ridge 1e-5 --nowrite
    grep -qx 'warning: mode 1: the checkpoint is from a run with --ridge 0, this run has 1e-05' messages
    run ! grep -q 'one start' messages
}

@test "terminal, record and page say the same, and in words what a core consistency means" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    "$BLCO" generate -q x.tns --dims 20,25,30 --nnz 15000 --planted-rank 3 --seed 4 --noise 0.1
    for arguments in "x.tns -r 5 -i 20 --core-consistency" "x.tns -r 3 -i 50 --starts 3 --core-consistency" \
        "$DATA/ucb-admissions.tns -r 3 -i 30 --seed 7 --starts 4 --core-consistency" \
        "$DATA/planted.tns -r 6 -i 5 --tol 0 --starts 3"; do
        # shellcheck disable=SC2086 # arguments are several words
        cpd $arguments -o m --record m.json
        cat messages results >told
        "$BLCO" report -q m
        python3 - m.json told m.html <<'END' || return 1
import html, json, re, sys
record = json.load(open(sys.argv[1]))
told = open(sys.argv[2]).read().splitlines()
page = html.unescape(re.sub("<[^>]*>", "", open(sys.argv[3]).read()))
lines = [("warning: " if f["severity"] == "warning" else "") + f["sentence"] +
         ("; " + f["advice"] if f["advice"] else "") for f in record["findings"]]
assert lines
for line in lines:
    assert told.count(line) == 1, line
    assert re.sub("^warning: ", "Warning: ", line) in page, line
warned = [line for line in told if line.startswith("warning: ")]
assert set(warned) <= set(lines), warned
END
    done
    cpd x.tns -r 3 -i 500 --nowrite --core-consistency
    grep -qE '^core consistency (100.0|9[0-9]\.[0-9]): each component is meaningful on its own$' messages
    cpd x.tns -r 6 -i 500 --nowrite --core-consistency
    grep -qE '^warning: core consistency -[0-9.e+]+: the components only describe the tensor together, and a single one means little; (let the run converge, or )?try a lower rank$' messages
}

@test "a fit near 1 is printed by its distance, or as far as it is known" {
    cpd "$DATA/planted.tns" -r 4 -i 400 --tol 1e-13 -o m --record m.json
    grep -qE '^decomposing: [0-9]+ iterations, fit 1-[0-9.]+e-1[0-9], ' messages
    grep -qE '^fit 1-[0-9.]+e-1[0-9] \(explains all of the squared values\) after ' messages
    expected=$(fit)
    "$BLCO" report -q m
    grep -qF "<strong>$expected</strong>" m.html
    grep -qE '"fit": 0.99999999999' m.json
    cpd "$DATA/planted.tns" -r 4 --init m -i 3 --tol 0 --nowrite
    # one rounding more or less of another processor's fused operations makes the share 1 or the number below
    grep -qE '^fit 1\+-[1-9]e-0[789] \(explains all (but [1-9.]+e-16 )?of the squared values\) after 3 iterations' messages
    cpd "$DATA/planted.tns" -r 4 -i 400 --tol 1e-13 --starts 2 -o m --record m.json
    grep -qE '^ +1 +[0-9]+ +1-[0-9.]+e-1[0-9] ' results
    "$BLCO" report -q m
    [ "$(grep -cE '<td class="n">1-[0-9.]+e-1[0-9]</td>' m.html)" -eq 2 ]
}

@test "--check-every: the fit from the residual, and how far the other one can be trusted" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -i 7 --tol 0 --nowrite
    expected=$(fit)
    cpd "$DATA/ucb-admissions.tns" -r 2 -i 7 --tol 0 --nowrite --check-every 3 -v
    near "$(fit)" "$expected" 1e-9
    grep -qE '^the residual gave the fit of 3 iterations; the usual formula gave 1[2-5] correct digits there \(off by [0-9.e-]+ at most\)$' messages
    grep -qE '^  residual +[0-9.]+ s +[0-9.]+ %$' messages
    cpd "$DATA/ucb-admissions.tns" -r 2 -i 7 --tol 0 --nowrite --check-every 0
    ! grep -q residual messages
}

@test "a fit near 1: a warning about rounding, and --check-every gives the digits" {
    cpd "$DATA/planted.tns" -r 4 --init "$DATA/planted" -i 3 --tol 0 --nowrite
    grep -qE '^warning: rounding leaves [78] digits of this fit; --check-every 1 gives all$' messages
    cpd "$DATA/planted.tns" -r 4 --init "$DATA/planted" -i 3 --tol 0 --nowrite --check-every 3
    run ! grep -q 'rounding leaves' messages
    grep -q '^the residual gave the fit of 1 iteration; ' messages
}

@test "--tol does not stop on rounding noise" {
    cpd "$DATA/matmul-2x2x2.tns" -r 7 --seed 3 --tol 1e-12 -i 20000 --nowrite --accelerate off
    grep -q ', converged (last change ' messages
    near "$(fit)" 1 2e-9
    grep -q '^the residual gave the fit of [0-9]* iterations; the usual formula gave [5-8] correct digits ' messages
}

@test "components that degenerate, and the ridge that helps" {
    border_rank
    cpd x.tns -r 2 -i 200 --tol 0 --nowrite
    grep -qE '^warning: 1 pair of components degenerates: components 1 and 2 cancel each other \(congruence -0\.9[5-9][0-9]*\), and the product of their weights grew by a factor of [23]\.[0-9]+ since iteration 128; try --ridge 2e-05, or a lower rank$' messages
    cpd x.tns -r 2 -i 20000 --tol 1e-10 --ridge 2e-05 -o x
    grep -q ', converged (last change ' messages
    run ! grep -q 'degenerate' messages
    awk '$1 > 4.5 { exit 1 }' x.lambda.mat
}

@test "a fit that falls because of a ridge is a note, not a warning" {
    border_rank
    cpd x.tns -r 2 -i 200 --tol 0 -o start
    cpd x.tns -r 2 -i 20 --tol 0 --init start --ridge 0.01 --nowrite
    grep -qE '^the fit fell in [0-9]+ iterations?, by [0-9.e-]+ at most: --ridge keeps weights small at the cost of fit$' messages
}

@test "components that became zero" {
    border_rank
    printf 'ktensor\n3\n2 2 2\n2\n1 1\nmatrix\n2\n2 2\n.5 1\n.7 1\nmatrix\n2\n2 2\n.4 0\n.8 0\nmatrix\n2\n2 2\n.9 0\n.2 0\n' >s.ktns
    cpd x.tns -r 2 -i 5 --init s --nowrite
    grep -qx 'warning: 1 of 2 components became zero; a lower rank gives the same fit' messages
}

@test "several processes say the same" {
    needs_mpirun
    border_rank
    told() { grep -E '^fit|^warning: 1 pair|^the residual' messages | sed 's/ (last change.*//; s/ (off by.*//'; }
    cpd x.tns -r 2 -i 200 --tol 0 --check-every 50 --nowrite --backend host
    told >one
    [ "$(wc -l <one)" -eq 3 ]
    processes 2 "$BLCO" cpd x.tns -r 2 -i 200 --tol 0 --check-every 50 --nowrite --backend host 2>messages
    told >two
    diff one two
}

@test "the messages that blco-cpd explains are those of the program" {
    # numbers, plurals and the name of a column are left out on both sides, and with them what printf puts in
    plain() { sed -E 's/%(\.[0-9])?[a-z]+/#/g; s/-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?/#/g; s/(column .|value )amount/\1#/g'; }
    cat "$ROOT"/src/als/findings.c "$ROOT/src/commands/cpd/cpd_summary.c" | tr -d '\n' | sed 's/" *"//g; s/(column .|value )%s/\1#/g; s/%s//g' -E | plain | tr -s '#' >strings
    sed -n '/^\.Ss What the summary says about the result/,/^\.Ss Tensors/s/^\.It Qq //p' "$ROOT/man/blco-cpd.1" >explained
    [ "$(wc -l <explained)" -eq 23 ]
    while read -r message; do
        plain <<<"$message" | tr '#:;(),' '\n' | while read -r part; do
            part=${part%s}
            [ ${#part} -lt 12 ] || grep -qF -- "$part" strings || { echo "$message: no '$part'" && return 1; }
        done
    done <explained
}
