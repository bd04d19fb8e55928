#!/usr/bin/env bash
# Four GPUs of one host, in one process. Needs no MPI. Submit with: sbatch four-gpus.sh

# Edit from here ...
#SBATCH --job-name=blco
#SBATCH --time=01:00:00
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --mem=256G
# Two minutes before the time limit, blco finishes the iteration and writes the model.
#SBATCH --signal=B:TERM@120
tensor=x.blco
rank=32
stem=x
# export LD_LIBRARY_PATH=FOLDER          # of libnccl.so.2, if the GPUs need it and the system does not find it
# ... to here.

# exec, so that the signal of the batch system reaches blco itself.
exec blco cpd "$tensor" -r "$rank" -o "$stem" --gpus all -v
