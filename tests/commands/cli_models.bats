# Kinds of models: nonnegative modes, a ridge of single modes, fixed modes.
load cli_helpers
load ../support/mpi

# Four components of sparse nonnegative factors, all cells: x.tns.
planted() {
    awk 'BEGIN {
        split("9 8 10", length_of); s = 7
        for (n = 1; n <= 3; n++)
            for (i = 1; i <= length_of[n]; i++)
                for (r = 1; r <= 3; r++) {
                    s = (s * 16807) % 2147483647
                    a[n, i, r] = s % 3 ? s % 97 / 97 : 0
                }
        for (i = 1; i <= 9; i++) for (j = 1; j <= 8; j++) for (k = 1; k <= 10; k++) {
            x = 0
            for (r = 1; r <= 3; r++) x += a[1, i, r] * a[2, j, r] * a[3, k, r]
            if (x != 0) printf "%d %d %d %.17g\n", i, j, k, x
        }
    }' >x.tns
}

# no_minus FILE...: no number of the files is negative.
no_minus() { ! grep -qE '(^| )-' "$@"; }

@test "--nonneg: nothing is negative, of all modes or of some" {
    planted
    cpd x.tns -r 3 -i 1000 --tol 1e-12 --nonneg -o a
    no_minus a.mode1.mat a.mode2.mat a.mode3.mat
    near "$(fit)" 1 1e-4
    grep -qw 0 a.mode1.mat
    cpd x.tns -r 3 -i 9 --nonneg=1,3 --init normal -o b --backend host
    no_minus b.mode1.mat b.mode3.mat
    cpd --nonneg 1,3 x.tns -r 3 -i 9 --init normal -o c --backend host
    cmp b.mode2.mat c.mode2.mat
    cpd x.tns -r 3 -i 9 --init normal --nowrite
    other=$(fit)
    cpd x.tns -r 3 -i 9 --init normal --nonneg 2 --nowrite
    ! near "$(fit)" "$other" 1e-12
}

@test "--nonneg with a list after an operand and before one" {
    planted
    cpd x.tns --nonneg 2 -r 2 -i 3 -o a --backend host
    cpd -r 2 -i 3 --backend host -o b --nonneg 2 x.tns
    cmp a.mode1.mat b.mode1.mat
    cpd -r 2 -i 3 -o b --nonneg x.tns
    no_minus b.mode1.mat b.mode2.mat b.mode3.mat
}

@test "--ridge of single modes" {
    planted
    cpd x.tns -r 3 -i 9 --ridge 0.5 -o a --backend host
    cpd x.tns -r 3 -i 9 --ridge 1=0.5,2=0.5,3=0.5 -o b --backend host
    cmp a.mode2.mat b.mode2.mat && cmp a.lambda.mat b.lambda.mat
    cpd x.tns -r 3 -i 9 --ridge 0.5 --ridge 3=0 -o c --backend host
    cpd x.tns -r 3 -i 9 --ridge 2=0.5,1=0.5 -o d --backend host
    cmp c.mode2.mat d.mode2.mat
    ! cmp -s a.mode2.mat c.mode2.mat
}

@test "--fix: new rows from an old model" {
    planted
    cpd x.tns -r 3 -i 2000 --tol 1e-13 --seed 2 --nonneg -o old
    awk '$1 <= 4' x.tns >new.tns
    cpd new.tns -r 3 -i 300 --tol 1e-13 --nonneg --init old --fix 2,3 -o new
    cmp old.mode2.mat new.mode2.mat && cmp old.mode3.mat new.mode3.mat
    [ "$(wc -l <new.mode1.mat)" -eq 4 ]
    near "$(fit)" 1 1e-3
}

# rows_agree OLD NEW: row i of the matrix NEW is row 2 (i = 1) or 12 (i = 2) of the matrix OLD.
rows_agree() {
    paste <(sed -n '2p;12p' "$1") "$2" | awk '{ for (r = 1; r <= NF / 2; r++) if (($r - $(r + NF / 2)) ^ 2 > 1e-18) exit 1 }
        END { if (NR != 2) exit 1 }'
}

@test "--fix: rows of old data come out as in the old model, whatever the new data reach" {
    cpd "$DATA/planted.tns" -r 4 -i 500 --tol 1e-14 -o old --backend host
    awk '$1 == 2 || $1 == 12 { print ($1 == 2 ? 1 : 2), $2, $3, $4 }' "$DATA/planted.tns" >new.tns
    (printf '3\n2 24 30\n' && cat new.tns) >headed.tns # shorter than the model's 20 x 25 x 30
    for new in new headed; do
        cpd $new.tns -r 4 -i 3 --init old --fix 2,3 -o new --backend host
        rows_agree old.mode1.mat new.mode1.mat
        cmp old.lambda.mat new.lambda.mat && cmp old.mode2.mat new.mode2.mat && cmp old.mode3.mat new.mode3.mat
    done
    near "$(fit)" 1 1e-9
    # in any mode, and with what --dims says of the free one
    awk '$3 == 2 || $3 == 12 { print $1, $2, ($3 == 2 ? 1 : 2), $4 }' "$DATA/planted.tns" >third.tns
    cpd third.tns -r 4 -i 3 --init old --fix 1,2 --dims -,-,5 -o new --backend host
    [ "$(wc -l <new.mode3.mat)" -eq 5 ]
    rows_agree old.mode3.mat <(head -2 new.mode3.mat)
    # two free modes have columns of unit length
    cpd new.tns -r 4 -i 3 --init old --fix 2 -o two --backend host
    awk '{ s += $1 ^ 2 } END { exit (s - 1) ^ 2 > 1e-18 }' two.mode1.mat
    # a checkpoint has the lengths too
    cpd new.tns -r 4 -i 2 --tol 0 --init old --fix 2,3 --nowrite --checkpoint c --backend host
    cpd new.tns -r 4 -i 3 --fix 2,3 --resume c -o again --backend host
    cmp old.mode2.mat again.mode2.mat
    "$BLCO" convert -q new.tns new.blco
    fails 2 "new.blco: mode 2: length 24, but the model of --init gives 25, which changes the lengths of text only" \
        cpd -q new.blco -r 4 --init old --fix 2,3 --nowrite
    needs_mpirun
    processes 2 "$BLCO" cpd new.tns -r 4 -i 3 --init old --fix 2,3 -o both --backend host 2>messages || cat messages
    rows_agree old.mode1.mat both.mode1.mat
    cmp old.lambda.mat both.lambda.mat
}

# project STEM MODE: computing only mode MODE of the planted tensor again gives the same fit.
project() {
    local fixed=1,2,3
    fixed=${fixed//$2,/}
    cpd x.tns -r 3 -i 300 --tol 1e-13 --nonneg --init "$1" --fix "${fixed//,$2/}" -o "new$2" --record new.json
    grep -qx "mode $2 starts at random (seed 1): --init $1 has no file of this mode" messages
    grep -q "\"mode $2 starts at random (seed 1): --init $1 has no file of this mode\"" new.json
    near "$(fit)" 1 1e-3
    [ "$(wc -l <"new$2.mode$2.mat")" -eq "$(wc -l <"old.mode$2.mat")" ]
}

@test "--fix: modes that are not fixed may have no file, or another length" {
    planted
    cpd x.tns -r 3 -i 2000 --tol 1e-13 --seed 2 --nonneg -o old --format text,npy
    for mode in 1 2 3; do
        for file in old.*; do cp "$file" "a${file#old}"; done
        rm a.mode$mode.npy
        project a $mode
        rm a.*.npy a.mode$mode.mat
        project a $mode
    done
    awk '$1 <= 4' x.tns >few.tns
    cpd few.tns -r 3 -i 300 --nonneg --init old --fix 2,3 --seed 5 --nowrite
    grep -qx 'mode 1 starts at random (seed 5): --init old has 9 rows, the tensor 4' messages
    cp old.mode3.mat a.mode3.mat && rm a.mode2.mat
    fails 2 "a: no file of mode 2: a.mode2.mat expected" cpd x.tns -r 3 --init a --fix 1,2 --nowrite
    cp old.mode2.mat a.mode2.mat && mv a.mode3.mat a3
    fails 2 "--init a: no file of mode 3, which --fix names" cpd -q x.tns -r 3 --init a --fix 1,3 --nowrite
    rm a.mode2.mat && mv a3 a.mode3.mat
    fails 2 "a.mode3.mat: there is no a.mode2.mat: files of two models are mixed, or some are missing" cpd -q x.tns -r 3 --init a --nowrite
    cpd x.tns -r 3 -i 300 --nonneg --init a --fix 1 --nowrite
    [ "$(grep -c 'starts at random' messages)" -eq 1 ]
    cp old.mode3.mat a.mode4.mat
    fails 2 "a.model.json: of another model: expected rank 3 and 4 modes" cpd -q x.tns -r 3 --init a --fix 1 --nowrite
    rm a.mode[1-4].mat
    fails 2 "a: no model of that name" cpd -q x.tns -r 3 --init a --fix 1 --nowrite
    needs_mpirun
    rm old.mode2.*
    processes 2 "$BLCO" cpd x.tns -r 3 -i 300 --tol 1e-13 --nonneg --init old --fix 1,3 --nowrite 2>messages || cat messages
    near "$(fit)" 1 1e-3
    grep -qx 'mode 2 starts at random (seed 1): --init old has no file of this mode' messages
}

@test "--fix with checkpoints: the same modes go on" {
    planted
    cpd x.tns -r 3 -i 4 --nonneg -o start
    cpd x.tns -r 3 -i 8 --tol 0 --init start --fix 1 --nonneg 2 -o whole --backend host
    cpd x.tns -r 3 -i 5 --tol 0 --init start --fix 1 --nonneg 2 --nowrite --checkpoint c --backend host
    cpd x.tns -r 3 -i 8 --tol 0 --fix 1 --nonneg 2 --resume c -o rest --backend host
    for file in mode1 mode2 mode3 lambda; do cmp "whole.$file.mat" "rest.$file.mat"; done
    cmp start.mode1.mat rest.mode1.mat
    fails 2 "c: a checkpoint of a run with other modes in --nonneg: 2, but this run has none" \
        cpd x.tns -r 3 --nowrite --fix 1 --resume c
    fails 2 "c: a checkpoint of a run with other modes in --fix: 1, but this run has none" \
        cpd x.tns -r 3 --nowrite --nonneg 2 --resume c
    cpd x.tns -r 3 -i 9 --fix 1 --nonneg 2 --ridge 3=0.5 --resume c --nowrite
    grep -q '^warning: mode 3: the checkpoint is from a run with --ridge 0, this run has 0.5$' messages
}

@test "lists of modes that make no sense" {
    planted
    for bad in '' , 1, ,1 0 17 1,x 1-3 -1; do
        fails 2 "--nonneg: '$bad', expected numbers of modes, from 1 to 16, as 1,3" cpd x.tns -r 2 "--nonneg=$bad"
        fails 2 "--fix: '$bad', expected numbers of modes" cpd x.tns -r 2 --fix "$bad" --init x
    done
    for bad in 1= 1=x 1=-1 =1 1=1, 0=1 17=1 1=1,2 1,2=1 1=nan; do
        fails 2 "--ridge: " cpd x.tns -r 2 "--ridge=$bad"
    done
}

@test "modes that the tensor does not have, and models that do not fit" {
    planted
    fails 2 "--nonneg: mode 4, but the tensor has 3" cpd -q x.tns -r 2 --nowrite --nonneg 4
    fails 2 "--ridge: mode 5, but the tensor has 3" cpd -q x.tns -r 2 --nowrite --ridge 1=1,5=1
    fails 2 "--fix needs --init STEM" cpd -q x.tns -r 2 --nowrite --fix 1
    cpd x.tns -r 2 -i 3 --init normal -o m
    fails 2 "--fix: mode 4, but the tensor has 3" cpd -q x.tns -r 2 --nowrite --fix 4 --init m
    fails 2 "--fix: all 3 modes are fixed, expected at least one that is not" cpd -q x.tns -r 2 --nowrite --fix 1,2,3 --init m
    sed -i '3s/^[^ ]* [^ ]*/0.5 -0.25/' m.mode2.mat
    fails 2 "--init m: mode 2, row 3, column 2: -0.25, but --nonneg expects 0 or more" \
        cpd -q x.tns -r 2 --nowrite --nonneg 2 --init m
    awk '$2 <= 5' x.tns >y.tns
    fails 2 "--init m: mode 2 has 8 rows, but the tensor's has length 5: --dims can lengthen it" cpd -q y.tns -r 2 --nowrite --init m
    "$BLCO" cpd -q y.tns -r 2 --nowrite --init m --fix 2
    fails 2 "--init m: mode 2 has 8 rows, but the tensor's has length 6: --dims can lengthen it" \
        cpd -q y.tns -r 2 --nowrite --init m --fix 2 --dims -,6,-
}

@test "processes find the same nonnegative model" {
    needs_mpirun
    planted
    cpd x.tns -r 3 -i 9 --tol 0 --nonneg 1,2 --ridge 3=0.1 -o alone --backend host
    expected=$(fit)
    processes 3 "$BLCO" cpd x.tns -r 3 -i 9 --tol 0 --nonneg 1,2 --ridge 3=0.1 -o three --backend host 2>messages
    near "$(fit)" "$expected" 1e-9
    no_minus three.mode1.mat three.mode2.mat
}
