#!/usr/bin/env bash
# A run that is longer than the time limit of a job: it saves checkpoints, and the job requeues
# itself until the run has converged. One GPU, or none. Submit with: sbatch requeue.sh

# Edit from here ...
#SBATCH --job-name=blco
#SBATCH --time=01:00:00
#SBATCH --gpus=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
# Five minutes before the time limit, this script receives SIGUSR1.
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
# Keep the output of earlier runs.
#SBATCH --open-mode=append
tensor=x.blco
rank=32
stem=x
iterations=10000 # of all jobs together
most=20          # times that the job may be requeued
# ... to here.

# blco goes on from its checkpoint, if there is one, and saves to the same file.
blco cpd "$tensor" -r "$rank" -o "$stem" -i "$iterations" --require-converged \
    --checkpoint "$stem.ck" --resume-if-exists "$stem.ck" &
blco=$!

# blco finishes the iteration and writes the model and the checkpoint. The signal ends the first wait.
asked=
trap 'asked=1 && kill -TERM "$blco"' USR1
wait "$blco"
code=$?
if [ "$asked" ]; then
    wait "$blco"
    code=$?
fi

case $code in
0) echo "$stem has converged" ;;
143) # ended by SIGTERM: the job goes on from the checkpoint
    if [ "${SLURM_RESTART_COUNT:-0}" -ge "$most" ]; then
        echo "$stem: the job was requeued $most times, which is the limit" >&2
        exit 1
    fi
    scontrol requeue "$SLURM_JOB_ID"
    ;;
7) echo "$stem has not converged in $iterations iterations" >&2 ;;
*) echo "$stem: exit status $code, see the table in blco-cluster(7)" >&2 ;;
esac
exit "$code"
