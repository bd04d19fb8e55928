# Loaded by the *.bats that need a small cluster: node1 and node2, two hosts of this machine. Each is a namespace of
# network, host name and mounts; they see one file system, but each has a folder `local` of its own. Needs root.
# shellcheck shell=bash

# hosts_start: both hosts, in the folder $CLUSTER, where the file of a host's name has the id of its first process.
hosts_start() {
    CLUSTER=$PWD/cluster
    mkdir -p "$CLUSTER"/{disk1,disk2,local}
    local n
    for n in 1 2; do
        # shellcheck disable=SC2016 # for the new shell
        unshare -n -m -u bash -c 'hostname "node$2" && mount --bind "$1/disk$2" "$1/local" && ip link set lo up &&
            echo $$ >"$1/node$2" && exec sleep 3600' bash "$CLUSTER" $n </dev/null >/dev/null 2>&1 3>&- &
        until_true 20 test -s "$CLUSTER/node$n"
    done
    ip link add link1 netns "$(<"$CLUSTER/node1")" type veth peer name link2 netns "$(<"$CLUSTER/node2")"
    for n in 1 2; do
        on node$n ip addr add 10.77.0.$n/24 dev link$n
        on node$n ip link set link$n up
    done
    # what mpirun calls in place of ssh: HOST COMMAND
    # shellcheck disable=SC2016 # for the new script
    {
        declare -f on
        printf '%s\n' "CLUSTER=$CLUSTER" 'host=$1' shift 'on "$host" bash -c "$*"'
    } >"$CLUSTER/agent"
}

# on HOST COMMAND...: runs it there, in the same folder.
on() {
    nsenter -t "$(<"$CLUSTER/$1")" -n -m -u --wd="$PWD" "${@:2}"
}

# hosts_run N PROGRAM ARGUMENT...: N processes on each host, started by mpirun on node1.
hosts_run() {
    on node1 timeout -k 5 60 mpirun --mca plm_rsh_agent "bash $CLUSTER/agent" --host "node1:$1,node2:$1" \
        --bind-to none "${@:2}"
}

# slurm_start: Slurm, its controller on node1 and a daemon on each host. `on node1 sbatch ...` submits a job. GPUs are
# four files, so that jobs can ask for them.
slurm_start() {
    export SLURM_CONF=$CLUSTER/slurm.conf
    mkdir -m 700 "$CLUSTER/munge"
    mkdir "$CLUSTER"/{state,tmp-node1,tmp-node2}
    chmod 755 "$CLUSTER"
    head -c 128 /dev/urandom >"$CLUSTER/munge/key" && chmod 400 "$CLUSTER/munge/key"
    local n
    for n in 0 1 2 3; do mknod "$CLUSTER/gpu$n" c 1 3; done
    echo "NodeName=node[1-2] Name=gpu File=$CLUSTER/gpu[0-3]" >"$CLUSTER/gres.conf"
    cat >"$SLURM_CONF" <<END
ClusterName=small
SlurmctldHost=node1(10.77.0.1)
SlurmUser=root
StateSaveLocation=$CLUSTER/state
SlurmdSpoolDir=$CLUSTER/spool-%n
TmpFS=$CLUSTER/tmp-%n
SlurmctldPidFile=$CLUSTER/slurmctld.pid
SlurmdPidFile=$CLUSTER/slurmd-%n.pid
SlurmctldLogFile=$CLUSTER/slurmctld.log
SlurmdLogFile=$CLUSTER/slurmd-%n.log
AuthInfo=socket=$CLUSTER/munge/socket
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=2
KillWait=5
GresTypes=gpu
NodeName=node1 NodeAddr=10.77.0.1 CPUs=4 RealMemory=4000 Gres=gpu:4
NodeName=node2 NodeAddr=10.77.0.2 CPUs=4 RealMemory=4000 Gres=gpu:4
PartitionName=all Nodes=ALL Default=YES
END
    on node1 munged --force --origin=10.77.0.1 --key-file="$CLUSTER/munge/key" --socket="$CLUSTER/munge/socket" \
        --pid-file="$CLUSTER/munge/pid" --log-file="$CLUSTER/munge/log" --seed-file="$CLUSTER/munge/seed" 3>&-
    on node1 slurmctld -c 3>&-
    for n in 1 2; do on node$n slurmd -N node$n 3>&-; done
    until_true 30 slurm_idle || { tail "$CLUSTER"/*.log && return 1; }
}

slurm_idle() { [ "$(on node1 sinfo -h -t idle -o %D)" = 2 ]; }

# until_true SECONDS COMMAND...: waits until the command succeeds, at most so long.
until_true() {
    local end=$((SECONDS + $1))
    while ! "${@:2}"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

# hosts_stop: ends what runs on the hosts, which are then gone.
hosts_stop() {
    local host process
    for host in "$CLUSTER"/node?; do
        host=$(readlink "/proc/$(<"$host")/ns/net")
        for process in /proc/[0-9]*; do
            [ "$(readlink "$process/ns/net")" != "$host" ] || kill -KILL "${process#/proc/}"
        done
    done
} 2>&-
