#!/usr/bin/env bash
# Four hosts without GPUs, a process on each host. Needs a blco that was built with MPI.
# Submit with: sbatch cpu-hosts.sh

# Edit from here ...
#SBATCH --job-name=blco
#SBATCH --time=01:00:00
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=64
#SBATCH --mem=0
# Two minutes before the time limit, blco finishes the iteration and writes the model.
#SBATCH --signal=TERM@120
tensor=x.blco # on a file system that all hosts see
rank=32
stem=x
mpi=pmix # one of `srun --mpi=list` that the MPI of blco knows
# module load MODULE                     # the MPI that blco was built with
# ... to here.

# For a process on each socket of hosts with two sockets: --ntasks-per-node=2 and half the cores.
exec srun --mpi="$mpi" --cpus-per-task="$SLURM_CPUS_PER_TASK" \
    blco cpd "$tensor" -r "$rank" -o "$stem" --backend host -t "$SLURM_CPUS_PER_TASK" -v
