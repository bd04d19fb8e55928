# bats file_tags=release
# Slurm on two hosts of this machine runs scripts/slurm, and mpirun starts processes on both hosts, which speak by TCP.
load ../commands/cli_helpers
load ../support/mpi
load ../support/hosts

setup_hosts() {
    needs_mpirun
    [ "$(id -u)" -eq 0 ] && unshare -n -m true || skip "hosts of this machine need root"
    hosts_start
    # there are more processes than cores
    export OMP_NUM_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp
}

teardown() { [ ! -v CLUSTER ] || hosts_stop; }

# says CODE MESSAGE ARGUMENT...: a process on each host; they end with CODE and one line of blco, MESSAGE.
says() {
    run -"$1" hosts_run 1 "$BLCO" cpd -q -r 4 "${@:3}"
    echo "$output"
    [ "$(grep '^blco cpd: ' <<<"$output")" = "blco cpd: $2" ]
}

@test "cluster: what a host does not see is named in one line, with the host" {
    setup_hosts
    cp "$DATA/planted.tns" cluster/disk1/x.tns
    says 2 "rank 1 on host node2: cluster/local/x.tns: No such file or directory" cluster/local/x.tns
    sed '$d' cluster/disk1/x.tns >cluster/disk2/x.tns
    says 2 "rank 1 on host node2: cluster/local/x.tns: rank 1 finds another file than rank 0 under this name" \
        cluster/local/x.tns
    rm cluster/disk1/x.tns
    says 2 "rank 0 on host node1: cluster/local/x.tns: No such file or directory" cluster/local/x.tns
    cp "$DATA/planted.tns" x.tns
    says 2 "--tol: 'abc', expected a number of 0 or more; try blco cpd --help" x.tns --tol abc # wrong on both
    mkdir cluster/disk2/models
    says 5 "rank 0 on host node1: cluster/local/models/x.mode1.mat: cannot be written: there is no such folder" \
        x.tns -o cluster/local/models/x
    hosts_run 1 "$BLCO" cpd -r 4 -i 3 x.tns -o x --checkpoint cluster/local/x.ck
    for resume in --resume --resume-if-exists; do
        says 2 "rank 1 on host node2: cluster/local/x.ck: cannot be read: No such file or directory" \
            x.tns --nowrite $resume cluster/local/x.ck
    done
    cp "$BLCO" "$(dirname "$BLCO")/blco-mpi.so" cluster/disk1
    cp "$BLCO" cluster/disk2
    run -2 hosts_run 1 cluster/local/blco cpd -q -r 4 x.tns --nowrite
    [ "$(grep -c '^blco cpd: ' <<<"$output")" -eq 1 ]
    [[ $output == *"blco cpd: rank 1 on host node2: 2 processes "*"there is no blco-mpi.so in "* ]]
}

@test "cluster: processes on two hosts have the result of one" {
    setup_hosts
    cpd "$DATA/planted.tns" -r 4 -o one
    one=$(fit)
    hosts_run 2 "$BLCO" cpd "$DATA/planted.tns" -r 4 -o x -v 2>messages
    near "$(fit)" "$one" 1e-9
    [ "$(grep -cE '^ +[0-3] node[12] ' messages)" -eq 4 ]
}

# submit SCRIPT NAME=VALUE... -- OPTION...: the template with these settings; the options of sbatch go first. The id
# of the job is in $job, its output in SCRIPT.out.
submit() {
    local name=$1 script=$ROOT/scripts/slurm/$1
    cp "$script" job
    while [ "$2" != -- ]; do
        grep -q "^${2%%=*}=" job
        sed -i "s|^${2%%=*}=[^ ]*|$2|" job
        shift
    done
    sed -i "${sed_job-}" job
    job=$(on node1 sbatch --parsable --output="$name.out" --mem=100 --cpus-per-task=1 "${@:3}" job)
}

# state JOB: its state and exit status, as COMPLETED 0:0.
state() { on node1 scontrol show job "$1" | sed -nE 's/^ +JobState=([A-Z]+) .*/\1/p; s/.* ExitCode=([0-9:]+)/\1/p' | paste -sd' '; }

# ended JOB STATE: the job comes to this end within three minutes.
ended() {
    until_true 180 is_over "$1" || true
    echo "job $1: $(state "$1"), expected $2"
    [ "$(state "$1")" = "$2" ] || { tail -n 20 ./*.out && return 1; }
}
is_over() { [[ $(state "$1") == *[A-Z]ED\ * || $(state "$1") == TIMEOUT* ]]; }

setup_slurm() {
    setup_hosts
    slurm_start
    mkdir bin && ln -s "$BLCO" bin/blco
    PATH=$PWD/bin:$PATH
    "$BLCO" convert -q "$DATA/planted.tns" x.blco
}

@test "cluster: Slurm runs the templates, and srun starts ranks on both hosts" {
    setup_slurm
    submit one-gpu.sh rank=4 --
    ended "$job" "COMPLETED 0:0"
    [ -s x.mode3.mat ] && rm x.*.mat
    sed_job='s/--gpus all/--backend host/' # this blco may have no CUDA
    submit four-gpus.sh rank=4 --
    ended "$job" "COMPLETED 0:0"
    [ -s x.mode3.mat ] && rm x.*.mat
    for template in cpu-hosts.sh four-hosts.sh; do
        sed_job=
        submit $template rank=4 -- --nodes=2 --ntasks-per-node=2
        ended "$job" "COMPLETED 0:0"
        [ "$(grep -cE '^ +[0-3] node[12] ' $template.out)" -eq 4 ]
        [ -s x.mode3.mat ] && rm x.*.mat
    done
    submit one-gpu.sh tensor=absent.tns --
    ended "$job" "FAILED 2:0"
    submit seeds.sh rank=3 -- --array=1-3
    seeds=$job
    submit seeds-compare.sh -- --dependency="afterany:$seeds"
    ended "$job" "COMPLETED 0:0"
    [ "$(wc -l <seeds-compare.sh.out)" -eq 4 ]
    near "$(awk 'NR == 2 { print $3 }' seeds-compare.sh.out)" 1 1e-9
    cp "$DATA/planted.tns" cluster/disk1/x.tns
    run -2 on node1 srun --mpi=pmix --nodes=2 --mem=100 "$BLCO" cpd -q cluster/local/x.tns -r 4
    [[ $output == *"blco cpd: rank 1 on host node2: cluster/local/x.tns: No such file or directory"* ]]
}

@test "cluster: the time limit stops jobs, which write their models; a requeued job is resumed" {
    setup_slurm
    sed_job="s/ -o / --tol 0 -i 1000000000 -o /"
    submit one-gpu.sh rank=4 stem=one -- --time=1
    one=$job
    submit cpu-hosts.sh rank=4 stem=hosts -- --time=1 --nodes=2
    hosts=$job
    sed_job='s/--require-converged/--tol 0/; s/^iterations=.*/iterations=$(cat limit)/'
    echo 1000000000 >limit
    submit requeue.sh rank=4 stem=long -- --time=1
    long=$job
    ended "$one" "FAILED 143:0"
    grep -q '^fit .* iterations, interrupted' one-gpu.sh.out && [ -s one.mode3.mat ]
    ended "$hosts" "FAILED 143:0"
    grep -q '^fit .* iterations, interrupted' cpu-hosts.sh.out && [ -s hosts.mode3.mat ]
    until_true 90 requeued "$long"
    before=$(sed -n 's/^fit .* after \([0-9]*\) iteration.*/\1/p' requeue.sh.out)
    echo $((before + 3)) >limit
    until_true 60 on node1 scontrol update JobId="$long" StartTime=now # Slurm lets it wait two minutes
    ended "$long" "COMPLETED 0:0"
    grep -q "^resuming long.ck: $before iterations" requeue.sh.out
    grep -q "^fit .* after $((before + 3)) iterations" requeue.sh.out
}
requeued() { on node1 scontrol show job "$1" | grep -q ' Restarts=1 .*'; }
