# Tensors of real data, if BLCO_TEST_DATA names a folder that has them.
# bats file_tags=plain
load cli_helpers

decomposes() {
    tensor "$1"
    cpd "$TENSOR" -r 16 -i 10 -o x
    awk -v f="$(fit)" -v least="$2" 'BEGIN { exit !(f > least && f < 1) }' || { cat messages && return 1; }
    [ -s x.mode3.mat ] && [ "$(wc -l <x.lambda.mat)" -eq 16 ]
}

@test "kinship at rank 16" { decomposes kinship 0.2; }
@test "umls at rank 16" { decomposes umls 0.2; }
@test "nations at rank 16" { decomposes nations 0.2; }
@test "wn18rr at rank 16" { decomposes wn18rr 0.005; }

# Fluorescence of five samples of amino acids (61305 entries, 23 of them zero).
@test "amino acids at rank 3: the reference run" {
    tensor aminoacid
    reference_start "5 201 61" "0 1 2 0 49 89 0 14 29" >start.ktns
    iterations=(1 2 5) fits=(0.6852687163 0.8347811591 0.8832388313)
    for i in 0 1 2; do
        cpd "$TENSOR" -r 3 --init start -i "${iterations[i]}" --accelerate off --nowrite
        near "$(fit)" "${fits[i]}" 1e-9
    done
    cpd "$TENSOR" -r 3 --init start -i 1000 --accelerate off -o x
    grep -q '^23 explicit zeros dropped' messages
    grep -q '^fit .* after 74 iterations, converged' messages
    near "$(fit)" 0.974895804114 1e-9
    printf '%s\n' 33588.1024 23381.6020 21188.3014 | paste - x.lambda.mat |
        while read -r expected got; do near "$got" "$expected" 5e-2; done
}

# 8 x 3 x 3 x 7 values near a model of rank 10: late iterations may fall, though no fit is blind.
@test "the model is that of the best iteration" {
    tensor momentum_fall2
    for i in 390 540 547; do
        for accelerate in momentum off; do
            "$BLCO" cpd "$TENSOR" --dims 8,3,3,7 -r 10 --seed 394887 -i $i --tol 0 --nowrite -q \
                --accelerate $accelerate --check-every 1 --record r.json
            python3 -c 'import json, sys
r = json.load(open("r.json"))
sys.exit(r["result"]["fit"] < max(r["trace"]["fit"]) - 1e-8)'
            rm r.json
        done
    done
}
