#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# slurm_test.sh quantscope-cli [with-mpi]: starts Slurm's own daemons on this machine, without systemd and for this test alone, and runs the job templates:
# an array whose second task dies, the merge that names what is missing, the second task once more, and the merge, which equals a single
# run; and a job of two MPI ranks. Exit code 77: cannot run here.
set -eu
. "$(dirname "$0")/compare.sh"
for program in slurmctld slurmd sbatch scontrol; do
  command -v "$program" > /dev/null || PATH=$PATH:/usr/sbin
  command -v "$program" > /dev/null || { echo "skipped: $program is not installed (package slurm-wlm)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: Slurm's daemons start jobs of other users, so this test runs as root only"; exit 77; }

# Two ports that nobody listens on.
ports=$(python3 -c '
import socket
free = [socket.socket() for _ in range(2)]
for one in free: one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in free))')
host=$(hostname -s)
mkdir -p "$work/state" "$work/spool" "$work/jobs"
export SLURM_CONF="$work/slurm.conf"
cat > "$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
MinJobAge=300
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
slurmctld -D -f "$SLURM_CONF" > "$work/slurmctld.log" 2>&1 &
controller=$!
slurmd -D -N "$host" -f "$SLURM_CONF" > "$work/slurmd.log" 2>&1 &
node=$!
finish() {
  scancel --user="$(id -un)" 2> /dev/null || true # of these daemons alone
  kill "$node" "$controller" 2> /dev/null || true
  wait "$node" "$controller" 2> /dev/null || true
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
soon "the node is ready" 'sinfo -h -o %t 2> /dev/null | grep -q idle' || {
  echo "skipped: the daemons of this Slurm do not start with this configuration:"
  tail -n 3 "$work"/slurm*d.log
  exit 77
}

# The program, but the second task is killed once, as by a machine that fails.
cat > "$work/program" <<END
#!/bin/sh
if [ "\${SLURM_ARRAY_TASK_ID:-}" = 2 ] && [ ! -e "$work/failed" ]; then
  touch "$work/failed"
  kill -KILL \$\$
fi
exec "$cli" "\$@"
END
chmod +x "$work/program"
cd "$work/jobs"
# run WHAT STATE [NAME=VALUE]: submits the analysis and waits for the merge, which must end in this state.
run() {
  jobs=$(env QS_CLI="$work/program" QS_SHARDS=3 QS_RECORDS="$work/records" "${3:-QS_NONE=}" \
    "$root/resources/slurm/submit" analyze $analysis --json "$work/merged.json")
  echo "$1: $jobs"
  merge=${jobs##* }
  ends "$1" "$merge" "$2"
}
# ends WHAT JOB STATE: waits for the end of a job.
ends() {
  soon "$1: job $2 ends" "case \$(state $2) in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) ;; *) false ;; esac" || fail "$1: $(squeue -h)"
  [ "$(state "$2")" = "$3" ] || fail "$1: job $2 is $(state "$2"), not $3: $(cat quantscope-*-"$2".log)"
}
state() { scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'; }

run "the second of three tasks dies" FAILED
[ -e "$work/failed" ] || fail "no task has died"
[ ! -e "$work/merged.json" ] || fail "a merge without all records wrote a result"
scontrol show job "$merge" | grep -q 'ExitCode=1:0' || fail "the exit code of a merge without all records is not 1"
grep -q missing quantscope-merge-"$merge".log || fail "the merge does not say what is missing: $(cat quantscope-merge-"$merge".log)"
cat quantscope-merge-"$merge".log

run "the second task once more" COMPLETED QS_ARRAY=2
equal "$work/merged.json" "the merge of three tasks"
grep -h '^Shard' quantscope-*_*.log

if [ "${2:-}" = with-mpi ] && command -v mpirun > /dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  job=$(QS_CLI="$cli" QS_RECORDS="$work/ranks" sbatch --parsable "$root/resources/slurm/mpi.sbatch" analyze $analysis --json "$work/ranks.json")
  ends "two MPI ranks" "$job" COMPLETED
  equal "$work/ranks.json" "a job of two MPI ranks"
fi
