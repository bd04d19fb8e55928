#!/usr/bin/env bash
# Four hosts with four GPUs each, a process for each GPU. Needs NCCL, and a blco that was built with MPI.
# Submit with: sbatch four-hosts.sh

# Edit from here ...
#SBATCH --job-name=blco
#SBATCH --time=01:00:00
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --mem=0
# Two minutes before the time limit, blco finishes the iteration and writes the model.
#SBATCH --signal=TERM@120
tensor=x.blco # on a file system that all hosts see
rank=32
stem=x
mpi=pmix # one of `srun --mpi=list` that the MPI of blco knows
# module load MODULE                     # the MPI that blco was built with
# export LD_LIBRARY_PATH=FOLDER          # of libnccl.so.2, if the system does not find it
# ... to here.

# Every process sees the four GPUs of its host and takes the one with its own number on that host.
exec srun --mpi="$mpi" --cpus-per-task="$SLURM_CPUS_PER_TASK" --gpu-bind=none \
    blco cpd "$tensor" -r "$rank" -o "$stem" -v
