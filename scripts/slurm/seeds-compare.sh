#!/usr/bin/env bash
# Compares the models that the jobs of seeds.sh wrote: the fit of each, and its similarity to the
# best one. seeds.sh says how to submit both.

# Edit from here, as in seeds.sh ...
#SBATCH --job-name=blco-compare
#SBATCH --time=00:10:00
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
stem=x
# ... to here.

# fit RECORD: the fit of the result.
fit() { sed -n '/^ *"result": {/,/^ *}/s/^ *"fit": \([^,]*\),*$/\1/p' "$1"; }

# The seeds that have a model, the best fit first.
for record in "$stem".seed*[0-9].json; do # but not x.seed1.model.json
    [ -e "$record" ] || continue
    seed=${record#"$stem.seed"}
    printf '%s %s\n' "${seed%.json}" "$(fit "$record")"
done | sort -k2,2gr >"$stem.seeds"
if [ ! -s "$stem.seeds" ]; then
    echo "$stem.seed*.json: no job has written a model" >&2
    exit 2
fi

read -r best _ <"$stem.seeds"
echo "seed  fit  score with seed $best, whose fit is best"
while read -r seed fit; do
    score=$(blco compare -q --json "$stem.seed$best" "$stem.seed$seed" | sed -n 's/^  "score": \([^,]*\),*$/\1/p')
    printf '%4s  %s  %s\n' "$seed" "$fit" "$score"
done <"$stem.seeds"
rm "$stem.seeds"
