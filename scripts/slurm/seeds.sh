#!/usr/bin/env bash
# Eight jobs, each with a start from another seed, and then one job that compares their models.
# Submit both with: sbatch --dependency="afterany:$(sbatch --parsable seeds.sh)" seeds-compare.sh

# Edit from here, and in seeds-compare.sh likewise ...
#SBATCH --job-name=blco-seeds
#SBATCH --array=1-8
#SBATCH --time=01:00:00
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
# Two minutes before the time limit, blco finishes the iteration and writes the model.
#SBATCH --signal=B:TERM@120
tensor=x.blco
rank=32
stem=x # the models are x.seed1, x.seed2, ...
# ... to here.

# exec, so that the signal of the batch system reaches blco itself.
exec blco cpd "$tensor" -r "$rank" --seed "$SLURM_ARRAY_TASK_ID" -o "$stem.seed$SLURM_ARRAY_TASK_ID" \
    --record "$stem.seed$SLURM_ARRAY_TASK_ID.json"
