#!/usr/bin/env bash
# One GPU. Submit with: sbatch one-gpu.sh

# Edit from here ...
#SBATCH --job-name=blco
#SBATCH --time=01:00:00
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
# Two minutes before the time limit, blco finishes the iteration and writes the model.
#SBATCH --signal=B:TERM@120
tensor=x.blco
rank=32
stem=x
# ... to here.

# exec, so that the signal of the batch system reaches blco itself.
exec blco cpd "$tensor" -r "$rank" -o "$stem"
