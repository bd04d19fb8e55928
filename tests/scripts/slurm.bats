# bats file_tags=release
# scripts/slurm: the templates are whole, and run with a srun that only starts the program.
load ../commands/cli_helpers

templates() { ls "$ROOT"/scripts/slurm/*.sh; }

@test "slurm: the templates are seven, and bash reads them" {
    [ "$(templates | wc -l)" -eq 7 ]
    for script in $(templates); do
        run -0 bash -n "$script"
        # sbatch ignores #SBATCH after the first command
        run -1 awk '/^[^#]/ { command = 1 } /^#SBATCH/ && command { found = 1 } END { exit !found }' "$script"
        [ "$(grep -cE '^# Edit from here|^# \.\.\. to here' "$script")" -eq 2 ]
    done
}

@test "slurm: the options of blco in the templates exist" {
    "$BLCO" cpd --help=all >help
    for script in $(templates); do
        [[ $script != *-compare.sh ]] || continue # which does not run blco cpd
        # with the lines that go on
        sed -n '/blco cpd "/,/[^\\]$/p' "$script" | sed 's/.*blco cpd "/"/' | grep -oE -- ' --?[a-z][a-z-]*' | sort -u >shown
        [ -s shown ]
        while read -r option; do grep -qE -- "(^|[ ,])$option( |,|$)" help; done <shown
    done
}

@test "slurm: shellcheck finds nothing" {
    command -v shellcheck >/dev/null || skip "shellcheck is not installed"
    run -0 shellcheck "$ROOT"/scripts/slurm/*.sh
}

@test "slurm: a template for processors runs" {
    mkdir bin && ln -s "$BLCO" bin/blco
    # shellcheck disable=SC2016 # for the new script
    printf '%s\n' '#!/bin/sh' 'while [ "$1" != blco ]; do shift; done' 'exec "$@"' >bin/srun
    chmod +x bin/srun
    sed "s|^tensor=[^ ]*|tensor=$DATA/ucb-admissions.tns|; s/^rank=.*/rank=2/" \
        "$ROOT/scripts/slurm/cpu-hosts.sh" >job
    SLURM_CPUS_PER_TASK=1 PATH=$PWD/bin:$PATH run -0 bash job
    [ -s x.mode3.mat ] && [ -s x.lambda.mat ]
}

# job SCRIPT NAME=VALUE...: the template with these settings, as the file `job`.
job() {
    local script=$ROOT/scripts/slurm/$1 setting
    shift
    cp "$script" job
    for setting in "$@"; do
        grep -q "^${setting%%=*}=" job || { echo "no setting ${setting%%=*}" && return 1; }
        sed -i "s|^${setting%%=*}=[^ ]*|$setting|" job
    done
}

# stand_ins: scontrol writes down what it is asked, and begins no job.
stand_ins() {
    mkdir bin && ln -s "$BLCO" bin/blco
    # shellcheck disable=SC2016 # for the new script
    printf '%s\n' '#!/bin/sh' 'echo "$*" >>requeued' >bin/scontrol
    chmod +x bin/scontrol
    PATH=$PWD/bin:$PATH
    export SLURM_JOB_ID=77 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
}

@test "slurm: a job that has converged does not begin again" {
    stand_ins
    job requeue.sh tensor="$DATA/ucb-admissions.tns" rank=2
    run -0 bash job
    [[ $output == *"x has converged"* ]]
    [ -s x.mode3.mat ]
    [ -s x.ck ]
    [ ! -e requeued ]
    # nor does one that has reached the limit of iterations; its model is there
    job requeue.sh tensor="$DATA/ucb-admissions.tns" rank=2 iterations=2 stem=y
    run -7 bash job
    [[ $output == *"y has not converged in 2 iterations"* ]]
    [ -s y.mode3.mat ]
    [ -s y.ck ]
    [ ! -e requeued ]
    # an input that is wrong
    job requeue.sh tensor=absent.tns
    run -2 bash job
    [ ! -e requeued ]
}

@test "slurm: a job that the time limit ends begins again from its checkpoint" {
    stand_ins
    job requeue.sh tensor="$DATA/planted.tns" rank=4 iterations=1000000000
    sed -i 's/--require-converged/--tol 0/' job # so that only the signal ends it
    # bash lets a job in the background take no SIGUSR1 otherwise
    env --default-signal=USR1,TERM bash job 2>messages &
    pid=$!
    await_building
    sleep 1
    kill -USR1 $pid
    code=0
    wait $pid || code=$?
    cat messages
    [ $code -eq 143 ]
    [ "$(cat requeued)" = "requeue 77" ]
    [ -s x.mode3.mat ]
    [ -s x.ck ]
    before=$(sed -n 's/^fit .* after \([0-9]*\) iteration.*/\1/p' messages)
    [ "$before" -ge 1 ]
    # the job of the next time goes on, and comes to an end
    job requeue.sh tensor="$DATA/planted.tns" rank=4 iterations=$((before + 3))
    sed -i 's/--require-converged/--tol 0/' job
    bash job 2>messages
    grep -q "^resuming x.ck: $before iteration" messages
    grep -q "^fit .* after $((before + 3)) iterations" messages
    # and a job that was requeued too often does not
    rm requeued x.ck
    job requeue.sh tensor="$DATA/planted.tns" rank=4 iterations=1000000000 most=3
    sed -i 's/--require-converged/--tol 0/' job
    : >messages
    SLURM_RESTART_COUNT=3 env --default-signal=USR1,TERM bash job 2>messages &
    pid=$!
    await_building
    sleep 1
    kill -USR1 $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ]
    [ ! -e requeued ]
    grep -q "the job was requeued 3 times, which is the limit" messages
}

@test "slurm: the models of an array over seeds are compared" {
    stand_ins
    for seed in 1 2 3; do
        job seeds.sh tensor="$DATA/planted.tns" rank=3
        SLURM_ARRAY_TASK_ID=$seed bash job
        [ -s x.seed$seed.mode3.mat ]
    done
    job seeds-compare.sh
    run -0 --separate-stderr bash job
    echo "$output"
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[0]} =~ ^"seed  fit  score with seed "([123])", whose fit is best"$ ]]
    best=${BASH_REMATCH[1]}
    read -r seed fit score <<<"${lines[1]}"
    [ "$seed" = "$best" ] && near "$score" 1 1e-9
    [ "$(printf '%s\n' "${lines[@]:1}" | awk '{ print $2 }' | sort -gr)" = "$(printf '%s\n' "${lines[@]:1}" | awk '{ print $2 }')" ]
    while read -r seed fit score; do
        near "$fit" "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["result"]["fit"])' "x.seed$seed.json")" 1e-15
        [ -n "$score" ]
    done < <(printf '%s\n' "${lines[@]:1}")
    mkdir empty && cd empty && cp ../job .
    run -2 bash job
    [[ $output == *"no job has written a model"* ]]
}
