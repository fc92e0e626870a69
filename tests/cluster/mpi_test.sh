#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# mpi_test.sh quantscope-cli with-mpi: the same analysis with 1, 2 and 4 ranks, and with a rank that is killed; a second start does the rest.
# Exit code 77: cannot run here.
set -eu
. "$(dirname "$0")/compare.sh"
[ "${2:-}" = with-mpi ] || { echo "skipped: the program was built without MPI (package libopenmpi-dev)"; exit 77; }
command -v mpirun > /dev/null || { echo "skipped: mpirun is not installed (package openmpi-bin)"; exit 77; }
mpirun=mpirun
if mpirun --version | grep -q 'Open MPI'; then
  mpirun="mpirun --oversubscribe"
  [ "$(id -u)" -ne 0 ] || mpirun="$mpirun --allow-run-as-root"
  command -v ssh > /dev/null || mpirun="$mpirun --mca plm isolated"
fi
$mpirun -n 1 true 2> "$work/why" || { echo "skipped: mpirun does not start here: $(head -n 1 "$work/why")"; exit 77; }

for ranks in 1 2 4; do
  $mpirun -n "$ranks" "$cli" analyze $analysis --records "$work/records-$ranks" --json "$work/$ranks.json" > "$work/out" 2>&1 ||
    fail "$ranks ranks: $(tail -n 3 "$work/out")"
  equal "$work/$ranks.json" "$ranks ranks"
done

# The second of two ranks is killed before it has computed anything.
cat > "$work/program" <<END
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-}}" != 1 ] || kill -KILL \$\$
exec "$cli" "\$@"
END
chmod +x "$work/program"
if $mpirun -n 2 "$work/program" analyze $analysis --records "$work/killed" --json "$work/killed.json" > "$work/out" 2>&1; then
  fail "a killed rank is no failure of the job"
fi
[ ! -e "$work/killed.json" ] || fail "a job with a killed rank wrote a result"
$mpirun -n 2 "$cli" analyze $analysis --records "$work/killed" --json "$work/killed.json" > "$work/out" 2>&1 || fail "the second start: $(tail -n 3 "$work/out")"
equal "$work/killed.json" "the second start after a killed rank"
