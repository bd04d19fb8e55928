# Each option of cpd, predict, top, compare and report acts, or is refused, as tests/data/composition.tsv says.
# bats file_tags=plain
load cli_helpers
load ../support/mpi

@test "every option acts or is refused in every circumstance, as the table says" {
    needs_mpirun
    python3 "$ROOT/tests/support/composition.py" "$TEST_DATA/composition.tsv" "$BLCO" "$DATA"
}
