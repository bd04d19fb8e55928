# Runs of blco cpd that compare two halves of the tensor, or more replicates: --split-half, --replicate.
# bats file_tags=plain
load cli_helpers
load ../support/mpi

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export OMP_NUM_THREADS=2
    data=$BATS_TEST_DIRNAME/../../data
    fluorescence=$data/fluorescence.tns
    schema=$data/schema
}

cpd() {
    "$BLCO" cpd --backend host "$@"
}

# number NAME RECORD: the number of a name that the record has once.
number() {
    grep -oE "\"$1\": [-0-9.e+]+" "$2" | sed 's/.*: //'
}

# Counts of two communities, of users x items x hours.
communities() {
    awk 'BEGIN { srand(3); for (i = 1; i <= 40; i++) for (j = 1; j <= 20; j++) for (k = 1; k <= 12; k++) {
             m = (i % 3 == 0) == (j <= 10) && (j <= 10) == (k <= 5) ? 4 : .05
             x = 0; p = exp(-m); s = p; u = rand(); while (u > s && x < 50) { x++; p *= m / x; s += p }
             if (x > 0) print i, j, k, x } }' >counts.tns
}

# valid FILE: the file is a record by the schema, where Python can tell.
valid() {
    python3 -c 'import jsonschema' 2>/dev/null || return 0
    python3 -c 'import json, sys, jsonschema; jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))' "$schema/record.schema.json" "$1"
}

@test "three components of fluorescence are alike in the halves of each mode, more are not" {
    for mode in 1 2 3; do
        run -0 cpd "$fluorescence" -r 2:4 --starts 4 -i 300 --split-half $mode -q -o f
        [[ $output == *"halves: score, alike"* ]]
        [[ $output =~ " 3  0.927637 "[^$'\n']*" 0.99"[0-9]+", 3 of 3"$'\n' ]]
        [[ $output =~ " 4  0.928432 "[^$'\n']*", "[0-3]" of 4"$'\n' ]]
        [[ $output == *"rank 3 is suggested: other starts and both halves find its model again, and it is the largest such rank"* ]]
        [ "$(number suggested f.ranks.json)" = 3 ]
        [ "$(number split_half_alike f.ranks.json | sed -n 2p)" = 3 ]
        awk -v x="$(number split_half_score f.ranks.json | sed -n 2p)" 'BEGIN { exit !(x > .99) }'
    done
    valid f.ranks.json
    "$BLCO" report -q f
    grep -q 'Score of the halves against rank' f.html
    grep -q 'A model that is not found again, by other starts, in both halves' f.html
    grep -q '<td class="n">0.99[0-9]*, 3 alike</td>' f.html
}

@test "the model is that of a run without halves, and a table has its components" {
    cpd "$fluorescence" -r 3 -q -o whole --starts 3
    run -0 cpd "$fluorescence" -r 3 -q -o split --starts 3 --split-half 2 --record split.json
    for n in 1 2 3; do cmp "whole.mode$n.mat" "split.mode$n.mat"; done
    [[ $output == *"  component     halves     half 1     half 2     mode 1     mode 3"$'\n'* ]]
    [[ $output == *$'\n'"both halves of mode 2 lead to the same components (score 0.99"* ]]
    [ "$(grep -cE '^ +[123]( +0\.99[0-9]+){5}$' <<<"$output")" = 3 ]
    [ "$(number alike split.json)" = 3 ] && [ "$(number mode split.json)" = 2 ]
    [ "$(number nonzeros split.json | sort -n | tr '\n' ' ')" = "1574 1678 3252 " ]
    valid split.json
    "$BLCO" report -q split
    grep -q 'mode 2: score 0.99[0-9]*, 3 of 3 components are alike in both' split.html
    grep -q '<th scope="col" class="n">Halves</th>' split.html
    run -0 cpd "$fluorescence" -r 4 -q --nowrite --starts 3 --split-half 3
    [[ $output =~ "warning: "[1-4]" of 4 components are not found in both halves of mode 3 (score below 0.90): the least alike, component "[1-4]", has 0." ]]
    [[ $output == *"  differs"$'\n'* ]]
}

@test "halves that agree prove nothing for a model that is another one" {
    run -0 cpd "$fluorescence" -r 3 -i 20 -q --nowrite --split-half 1 # its start is still on a plateau
    [ "$(grep -cE '^ +[123] +0\.99' <<<"$output")" = 3 ]
    [[ $output == *"warning: 3 of 3 components are not found in both halves of mode 1 "*"; try --starts auto, or a lower rank" ]]
}

@test "the same halves for any order of the file, any format and any number of processes" {
    grep -v '^#' "$fluorescence" | shuf --random-source=<(yes) >shuffled.tns
    "$BLCO" convert -q "$fluorescence" f.blco
    run="-r 3 --split-half 2:5 --starts 3 -i 300 --tol 1e-9 -q --nowrite --record r.json"
    expected=$(cpd "$fluorescence" $run) halves=$(number nonzeros r.json)
    [[ $expected == *"both halves of mode 2 lead to the same components"* ]]
    for file in shuffled.tns f.blco; do
        [ "$(cpd $file $run | tail -n 1)" = "$(tail -n 1 <<<"$expected")" ]
        [ "$(number nonzeros r.json)" = "$halves" ]
    done
    [ "$(cpd - $run <shuffled.tns | tail -n 1)" = "$(tail -n 1 <<<"$expected")" ]
    needs_mpirun
    for ranks in 2 3; do
        for file in shuffled.tns f.blco; do
            [ "$(processes $ranks "$BLCO" cpd --backend host $file $run | tail -n 1)" = "$(tail -n 1 <<<"$expected")" ]
        done
    done
}

@test "another seed makes other halves, equally large" {
    run="-r 2 -i 5 --tol 0 -q --nowrite --record r.json"
    for seed in 0 1 2 3; do
        cpd "$fluorescence" $run --split-half 2:$seed >"$seed.txt"
        number nonzeros r.json | sort -n | awk '{ n[NR] = $1 } END { exit !(n[1] + n[2] == n[3] && n[1] > .4 * n[3]) }'
    done
    run ! cmp 1.txt 2.txt
    cpd "$fluorescence" $run --split-half 2 | cmp - 0.txt
}

@test "halves go with counts, nonnegative modes, unknown entries and held-out ones" {
    communities
    run -0 cpd counts.tns -r 1:3 --loss poisson --starts 3 --split-half 1 -q --nowrite
    [[ $output == *"rank 2 is suggested: other starts and both halves find its model again, and it is the largest such rank"* ]]
    run -0 cpd counts.tns -r 2 --nonneg --split-half 1 --starts 3 -q --nowrite
    [[ $output == *"both halves of mode 1 lead to the same components"* ]]
    run -0 cpd "$fluorescence" -r 3 --unlisted unknown --holdout .1 --ridge auto --split-half 3 --starts 2 --record r.json --nowrite
    [[ $output == *"both halves of mode 3 lead to the same components"* && $output == *"held out "* ]]
    [ "$(number alike r.json)" = 3 ]
    run -0 cpd "$fluorescence" -r 2:3 --holdout .1 --unlisted unknown --split-half 3 --starts 2 -q --nowrite
    [[ $output == *"held-out error "*" halves: score, alike"*"rank 3 is suggested: other starts and both halves find its model again, and it is the smallest such rank"* ]]
}

@test "a run that ends early says that the halves were not compared" {
    run -0 cpd "$fluorescence" -r 3 --tol 0 -i 1000000000 --time-limit 1s --split-half 1 --record r.json --nowrite
    [[ $output == *"the halves of mode 1 were not compared: the run ended before"* ]]
    grep -q '"score": null' r.json
    valid r.json
}

@test "a signal ends the halves, and the model is that of the whole run" {
    run="-r 3 -i 20000 --tol 0"
    cpd "$fluorescence" $run -q -o whole
    "$BLCO" cpd --backend host "$fluorescence" $run -o split --split-half 1 --record split.json >messages 2>&1 & pid=$!
    until grep -q '^half 1 of mode 1 (slices 1, 3, ...): ' messages; do sleep .1; done
    kill -TERM $pid
    wait $pid && false || [ $? -eq 143 ]
    grep -qx 'the halves of mode 1 were not compared: the run ended before' messages
    for n in 1 2 3; do cmp "whole.mode$n.mat" "split.mode$n.mat"; done
    [ "$(number signal split.json)" = 15 ]
    valid split.json
}

@test "the output of --split-half stays, and --replicate with two parts is the same" {
    run="-r 3 -i 20 --starts 3 --split-half 2:7 -q --nowrite"
    run -0 cpd "$fluorescence" $run
    [ "$output" = "$(cat <<'END'
                seed iterations         fit  score
                   1         20 0.841442046 0.6290  iteration limit
                   2         17 0.927621839 1.0000  converged
                   3         15 0.927637200 1.0000  converged, best
1 of 2 other starts lead to the components of the best (score 0.95 or more), the rest to others that fit less
  component     halves     half 1     half 2     mode 1     mode 3
          1     0.9997     0.9999     0.9999     0.9999     0.9997
          2     0.9993     0.9998     0.9998     0.9999     0.9995
          3     0.9994     0.9998     0.9999     0.9999     0.9995
both halves of mode 2 lead to the same components (score 0.9995; the least, of component 2, 0.9993)
END
)" ]
    cpd "$fluorescence" -r 3 --starts 2 --split-half 2 -q --nowrite --record a.json >a
    cpd "$fluorescence" -r 3 --starts 2 --replicate 2:2 -q --nowrite --record b.json >b
    cmp a b
    for file in a b; do grep -A 22 '"split_half"' $file.json | sed '/ridge_search\|trace/,$d' >$file.halves; done
    grep -q '"components"' a.halves && cmp a.halves b.halves
}

@test "the scores of replicates are those of models of tensors that lack the slices" {
    how="-r 3 --starts 3 -i 500 --tol 1e-9 -q"
    run -0 cpd "$fluorescence" $how --replicate 1:5 -o whole --record whole.json
    [[ $output == *"  component      least     median     mode 2     mode 3"$'\n'* ]]
    [[ $output == *"the 5 replicates of mode 1 lead to the same components (median score 0.9996, least 0.9993; the least of a component, of component 3, 0.9987)"* ]]
    for k in 1 2 3 4 5; do # replicate k lacks the last slice but k - 1
        awk -v without=$((6 - k)) '!/^#/ && $1 != without' "$fluorescence" >"$k.tns"
        cpd "$k.tns" $how -o "$k" >messages
    done
    for a in 1 2 3 4; do
        for ((b = a + 1; b <= 5; b++)); do
            "$BLCO" compare $a $b --modes 2,3 --no-weights --json | grep -m 1 '"score"' | grep -oE '[0-9][0-9.e-]*'
        done
    done >expected
    for k in 1 2 3 4 5; do "$BLCO" compare whole $k --modes 2,3 --no-weights --json | grep '"score"' | sed 1d; done | grep -oE '[0-9][0-9.e-]*' >partners
    python3 - <<'END'
import json
record = json.load(open("whole.json"))["replication"]
expected = [float(line) for line in open("expected")]
assert len(expected) == 10 and max(abs(a - b) for a, b in zip(record["scores"], expected)) < 1e-5
assert abs(record["score"] - sum(sorted(expected)[4:6]) / 2) < 1e-5
partners = [float(line) for line in open("partners")]
found = [score for replicate in record["replicates"] for score in replicate["components"]]
assert len(partners) == 15 and max(abs(a - b) for a, b in zip(found, partners)) < 1e-5
assert record["alike"] == 3 and len(record["components"]) == 3
assert all(score <= min(found[r::3]) + 1e-12 for r, score in enumerate(record["components"]))
assert [r["nonzeros"] for r in record["replicates"]] == [sum(float(line.split()[3]) != 0 for line in open(f"{k}.tns")) for k in range(1, 6)]
END
    valid whole.json
    "$BLCO" report -q whole
    grep -q 'mode 1, 5 parts: median score 0.9996, 3 of 3 components are found again' whole.html
    grep -q '<th scope="col" class="n">Replicates</th>' whole.html
}

@test "the components of a planted tensor are found again up to its rank" {
    "$BLCO" generate -q --dims 30x20x15 --nnz 9000 --planted-rank 3 --noise .1 --seed 4 planted.tns
    for parts in 1:2 1:5 1:4:3; do
        run -0 cpd planted.tns -r 2:4 --starts 4 -i 300 --replicate $parts -q -o p
        [ "$(number suggested p.ranks.json)" = 3 ]
        [ "$parts" = 1:2 ] || [[ $output == *"replicates: median, least, found again"* ]]
        [[ $output =~ $'\n'"      3 "[^$'\n']*" 0.99"[0-9.,\ ]*", 3 of 3"$'\n' ]]
        [[ $output =~ $'\n'"      4 "[^$'\n']*", "[0-3]" of 4"$'\n' ]]
    done
    valid p.ranks.json
    [ "$(number replication_alike p.ranks.json | sed -n 2p)" = 3 ]
    python3 -c 'import json
for rank in json.load(open("p.ranks.json"))["ranks"]:
    scores = sorted(rank["replication_scores"])
    assert len(scores) == 18 and abs(rank["replication_score"] - (scores[8] + scores[9]) / 2) < 1e-12
    assert (min(scores) > .95) == (rank["rank"] < 4), rank'
    "$BLCO" report -q p
    grep -q 'Scores of the replicates against rank' p.html
    grep -q 'where some slices are left out, may be an accident' p.html
    [ "$(grep -o 'class="point"' p.html | wc -l)" -gt 10 ]
    grep -q '<td class="n">0.99[0-9]*, 3 found again</td>' p.html
}

@test "replicates go with counts, unknown entries and a ridge that is chosen, in any number of processes" {
    communities
    run -0 cpd counts.tns -r 1:3 --loss poisson --starts 3 --replicate 1:4 -q --nowrite
    [[ $output == *"rank 2 is suggested: other starts and all replicates find its model again, and it is the largest such rank"* ]]
    run -0 cpd "$fluorescence" -r 3 --unlisted unknown --holdout .1 --ridge auto --replicate 3:3 --starts 2 --record r.json --nowrite
    [[ $output == *"the 3 replicates of mode 3 lead to the same components"* && $output == *"held out "* ]]
    run="-r 3 --replicate 2:3:2 --starts 3 -i 300 --tol 1e-9 -q --nowrite --record r.json"
    expected=$(cpd "$fluorescence" $run | tail -n 1)
    [[ $expected == "the 6 replicates of mode 2 lead to the same components"* ]]
    needs_mpirun
    [ "$(processes 3 "$BLCO" cpd --backend host "$fluorescence" $run | tail -n 1)" = "$expected" ]
}

@test "replicates that were made before a signal are compared" {
    "$BLCO" cpd --backend host "$fluorescence" -r 3 -i 2000 --tol 0 -o cut --starts 2 --replicate 1:5:40 --record cut.json >messages 2>&1 & pid=$!
    until grep -q '^replicate 4 of 200, without part 2 of mode 1 (slices 2, 7, ...): ' messages; do sleep .1; done
    kill -TERM $pid
    wait $pid && false || [ $? -eq 143 ]
    grep -qE '^the replicates of mode 1 were not all compared: the run ended before; in the first [0-9]+, [0-3] of 3 components are found again \(scores from 0\.[0-9]+ to [01]\.[0-9]+\)$' messages
    [ -s cut.mode1.mat ]
    valid cut.json
    run -0 cpd "$fluorescence" -r 3 --tol 0 -i 1000000000 --time-limit 1s --replicate 1:5 --record r.json --nowrite
    [[ $output == *"the replicates of mode 1 were not compared: the run ended before"* ]]
    valid r.json
}

@test "what contradicts --split-half or --replicate is refused" {
    refused() {
        local expected=$1 && shift
        run cpd "$fluorescence" -r 2 --nowrite -q "$@"
        [ "$status" -eq 2 ] && [[ $output == "blco cpd: $expected"* ]] && [ "${#lines[@]}" -eq 1 ]
    }
    for bad in 0 17 x "" :3 -1 1,2; do
        refused "--split-half: '$bad', expected a mode from 1 to 16, as 1, or a mode and a seed, as 1:7" --split-half "$bad"
    done
    for bad in "" x 1:7; do
        refused "--split-half: '$bad', expected a whole number from 0 to 18446744073709551614" --split-half "1:$bad"
    done
    refused "--split-half: mode 4, but the tensor has 3" --split-half 4
    refused "--init s and --split-half: --init provides a single start" --split-half 1 --init s
    refused "--checkpoint and --split-half: a checkpoint has the state of one start" --split-half 1 --checkpoint c
    printf '1 1 1\n3 2 1\n5 1 2\n' >odd.tns
    run cpd odd.tns -r 1 --split-half 1 --nowrite -q
    [ "$status" -eq 2 ]
    [ "$output" = "blco cpd: --split-half 1: one half has no nonzeros, expected some in both; 1:1 divides the slices in another way" ]
    run -0 cpd odd.tns -r 1 --split-half 2 --nowrite -q
    refused "--replicate: mode 4, but the tensor has 3" --replicate 4
    refused "--replicate 1:10: mode 1 has 5 slices, expected at most as many parts" --replicate 1
    refused "--init s and --replicate: --init provides a single start" --replicate 1:5 --init s
    refused "--checkpoint and --replicate: a checkpoint has the state of one start" --replicate 1:5 --checkpoint c
    run cpd odd.tns -r 1 --replicate 1:5 --nowrite -q
    [ "$status" -eq 2 ]
    [ "$output" = "blco cpd: --replicate 1:5: part 2 of division 1 has no nonzeros, expected some in each; fewer parts have more slices each" ]
}
