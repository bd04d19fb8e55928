# Ranks that are processes: mpi_comm, started by Open MPI's mpirun.
# bats file_tags=threads
bats_require_minimum_version 1.5.0
load ../support/mpi

# The program looks for the plugin in its own folder: both are put into a folder of the test.
setup() {
    : "${BLCO:?the program to test}"
    build=$(dirname "$BLCO")
    cd "$BATS_TEST_TMPDIR" || return
    [ -x "$build/tests/comm/mpi_comm" ] || skip "no mpi_comm beside $BLCO"
    cp "$build/tests/comm/mpi_comm" .
}

needs_mpi() {
    needs_mpirun
    cp "$build/blco-mpi.so" .
}

# ranks N WORK
ranks() { processes "$1" ./mpi_comm "$2"; }

# told MESSAGE: the processes printed this line and no other.
told() {
    echo "exit $status after $SECONDS s: $output"
    [ "$(grep '^mpi_comm: ' <<<"$output")" = "mpi_comm: $1" ]
}

all_operations() {
    needs_mpi
    run ranks "$1" all
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "every operation on 1 process" { all_operations 1; }
@test "every operation on 2 processes" { all_operations 2; }
@test "every operation on 3 processes" { all_operations 3; }
@test "every operation on 4 processes" { all_operations 4; }
@test "every operation on 7 processes" { all_operations 7; }

@test "a rank that aborts ends all processes and prints why" {
    needs_mpi
    SECONDS=0
    run ranks 4 abort
    told "rank 3: no memory left"
    [ "$status" -eq 3 ] && [ $SECONDS -lt 20 ]
}

@test "a rank that fails without a word to the others ends them" {
    needs_mpi
    for word in leave close; do # without comm_finalize, and with it
        SECONDS=0
        run ranks 3 $word
        told "rank 2: no memory left"
        [ "$status" -eq 3 ]
        [ $SECONDS -lt 25 ]
    done
}

@test "an operation that finds no memory ends all processes" {
    needs_mpi
    for word in sum split; do
        SECONDS=0
        run ranks 4 $word
        echo "exit $status after $SECONDS s: $output"
        [ "$status" -eq 3 ]
        [ $SECONDS -lt 20 ]
        [[ $(grep '^mpi_comm: ' <<<"$output") == "mpi_comm: rank 3: "*memory* ]]
    done
}

@test "a failure that the ranks agree on is printed once, with its exit status" {
    needs_mpi
    run ranks 4 end_phase
    told "rank 3: no room left"
    [ "$status" -eq 5 ]
}

@test "failures before MPI starts are printed once" {
    needs_mpi
    run ranks 4 ""
    told "a work is expected"
    [ "$status" -eq 2 ]
}

@test "processes do not wait for one that never comes" {
    needs_mpi
    SECONDS=0
    run ranks 3 absent
    echo "exit $status after $SECONDS s: $output"
    [ "$status" -ne 0 ]
    [ $SECONDS -lt 20 ]
    # the launcher itself may see it, and tell
    [ "$(grep -c '^mpi_comm: waited 3 s for the other processes' <<<"$output")" -eq 1 ] || [[ $output == *mpirun* ]]
}

@test "a process that is killed ends the others" {
    needs_mpi
    for pause in 0 0.7 1.3; do # from the moment at which all work
        ranks 4 forever >messages 2>&1 &
        launcher=$! SECONDS=0
        until [ "$(grep -c '^process ' messages)" -eq 4 ]; do
            [ $SECONDS -lt 30 ] || return 1
            sleep 0.1
        done
        sleep $pause
        mapfile -t pids < <(sed -n 's/^process //p' messages)
        kill -9 "${pids[2]}"
        code=0 SECONDS=0
        wait "$launcher" || code=$?
        echo "exit $code after $SECONDS s" && cat messages
        [ $code -ne 0 ]
        [ $code -ne 124 ]
        [ $SECONDS -lt 20 ]
        for pid in "${pids[@]}"; do gone "$pid"; done
    done
}

# alone NAME=VALUE...: one process with these variables of a launcher.
alone() { run env "$@" ./mpi_comm maps; }

@test "a single process does not load MPI in any batch job" {
    needs_mpi
    for place in BLCO=1 OMPI_COMM_WORLD_SIZE=1\ OMPI_COMM_WORLD_RANK=0 SLURM_NTASKS=8\ SLURM_PROCID=0 \
        OMPI_COMM_WORLD_SIZE=1\ OMPI_COMM_WORLD_RANK=0\ SLURM_STEP_NUM_TASKS=4\ SLURM_PROCID=1 \
        PMI_SIZE=4 PMI_SIZE=4\ PMI_RANK=4 OMPI_COMM_WORLD_SIZE=x\ OMPI_COMM_WORLD_RANK=0; do
        # shellcheck disable=SC2086 # split at the space
        alone $place
        echo "$place: $output"
        [ "$status" -eq 0 ]
        [ "$output" = 0 ]
    done
    ! ldd "$BLCO" | grep -q libmpi
}

@test "no plugin, and a plugin that is none" {
    mpirun=(OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2)
    alone "${mpirun[@]}" OMPI_COMM_WORLD_LOCAL_RANK=0
    told "rank 2 on host $(hostname): 4 processes were started to work together, but this blco was built without MPI: there is no blco-mpi.so in $PWD/ nor in $PWD/../lib/blco"
    [ "$status" -eq 2 ]
    alone "${mpirun[@]}" OMPI_COMM_WORLD_LOCAL_RANK=1 # another process of this host tells
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    echo "no plugin" >blco-mpi.so
    alone SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0
    told "rank 0 on host $(hostname): MPI cannot be loaded: $PWD/blco-mpi.so: file too short"
    [ "$status" -eq 2 ]
}

@test "a plugin of another version" {
    needs_mpi
    LC_ALL=C sed -i 's/[0-9]\.[0-9]\.[0-9] (/9.9.9 (/' blco-mpi.so
    alone SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0
    [ "$status" -eq 2 ] && [[ $output == *"/blco-mpi.so is of blco 9.9.9 ("*"), but this is blco "* ]]
}

@test "a plugin in ../lib/blco, and a launcher of another MPI" {
    needs_mpi
    mkdir -p bin lib/blco && mv mpi_comm bin && mv blco-mpi.so lib/blco
    run env PMI_SIZE=4 PMI_RANK=0 bin/mpi_comm all
    told "MPI sees 1 process, but the launcher started 4: it is not a launcher of the MPI that blco was built with (with Slurm: srun --mpi=pmix)"
    [ "$status" -eq 2 ]
}

@test "blco: a wrong option is printed by process 0 of a run, and by each process that runs alone" {
    needs_mpirun
    for rank in 0 1; do
        run env PMI_SIZE=2 PMI_RANK=$rank "$BLCO" cpd --no-such-option
        [ "$status" -eq 2 ]
        [ "${#lines[@]}" -eq $((1 - rank)) ]
        run env PMI_SIZE=2 PMI_RANK=$rank "$BLCO" info --no-such-option
        [ "$status" -eq 2 ]
        [ "${#lines[@]}" -eq 1 ]
    done
}
