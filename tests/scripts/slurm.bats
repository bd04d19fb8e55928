# scripts/slurm: the templates are whole, and run with a srun that only starts the program.
load ../commands/cli_helpers

templates() { ls "$ROOT"/scripts/slurm/*.sh; }

@test "slurm: the templates are four, and bash reads them" {
    [ "$(templates | wc -l)" -eq 4 ]
    for script in $(templates); do
        run -0 bash -n "$script"
        # sbatch reads no #SBATCH behind the first command
        run -1 awk '/^[^#]/ { command = 1 } /^#SBATCH/ && command { found = 1 } END { exit !found }' "$script"
        [ "$(grep -cE '^# Edit from here|^# \.\.\. to here' "$script")" -eq 2 ]
    done
}

@test "slurm: the options of blco in the templates exist" {
    "$BLCO" help cpd >help
    for script in $(templates); do
        sed -n 's/.*blco cpd "/"/p' "$script" | grep -oE -- ' --?[a-z][a-z-]*' | sort -u >shown
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
