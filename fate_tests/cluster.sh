#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Slurm on this machine alone: segments of a clip as an array of jobs, one of which is killed and runs again. The joined
# packets are those of one run. As root, with Debian's slurm-wlm and munge; its daemons end with the test.
# Usage: cluster.sh FFMPEG_BUILD    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
fate=$PWD/${1:?usage: cluster.sh FFMPEG_BUILD}
work=$PWD/build/check/cluster
export PATH=$fate:$PATH LC_ALL=C
for program in munged slurmctld slurmd sbatch; do
    command -v $program >/dev/null || { echo "$program is missing: apt-get install slurm-wlm munge"; exit 1; }
done
rm -rf "$work"
mkdir -p "$work"/{state,spool,run}
. fate_tests/tally.sh

# ---- the cluster: a controller and a node, with a key of their own
host=$(hostname -s)
dd if=/dev/urandom of="$work/key" bs=1024 count=1 status=none
chmod 600 "$work/key"
cat >"$work/slurm.conf" <<CONF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/run/munge.socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/run/slurmctld.pid
SlurmdPidFile=$work/run/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
JobRequeue=1
MinJobAge=600
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
daemons=()
finish() {
    [ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
}
trap finish EXIT
munged --foreground --force --key-file="$work/key" --socket="$work/run/munge.socket" --pid-file="$work/run/munge.pid" \
    --log-file="$work/munge.log" --seed-file="$work/seed" >"$work/munged.out" 2>&1 &
daemons+=($!)
until [ -S "$work/run/munge.socket" ] || ! kill -0 "${daemons[0]}" 2>/dev/null; do read -rt 0.2 <> <(:) || true; done
slurmctld -D -c >"$work/slurmctld.out" 2>&1 &
daemons+=($!)
slurmd -D -c >"$work/slurmd.out" 2>&1 &
daemons+=($!)
idle() { for _ in $(seq 100); do sinfo -h -o %T 2>/dev/null | grep -qE 'idle|mixed' && return; read -rt 0.3 <> <(:) || true; done; sinfo; return 1; }
check "a node that is idle" idle

# ---- the clip, in segments
cd "$work"
ln -s ../../../tools tools
ffmpeg -v error -f lavfi -i testsrc2=s=320x180:r=24 -frames:v 24 -c:v ffv1 in.mkv
# The second job dies the first time it runs, as with its node.
cat >job.sh <<'JOB'
#!/bin/bash
if [ "$SLURM_ARRAY_TASK_ID" = 1 ] && [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
    mkdir -p frames && : >frames/.work-8-dead
    scontrol requeue "$SLURM_JOB_ID"
    exec sleep 60
fi
exec tools/encode_segment.sh in.mkv $((SLURM_ARRAY_TASK_ID * 8)) 8 frames j2c -c:v j2k_cuda -device cpu -q:v 90 -format j2k
JOB
sbatch --parsable --array=0-2 --requeue --export=ALL --output="job-%a.log" job.sh >job 2>job.err || true
check "an array of jobs" grep -qE '^[0-9]+$' job
done_all() { for _ in $(seq 400); do [ "$(ls frames/.segment-* 2>/dev/null | wc -l)" = 3 ] && return; read -rt 0.5 <> <(:) || true; done; squeue; cat job-*.log; return 1; }
check "all segments" done_all
check "one of them ran twice" bash -c "scontrol show job $(cat job)_1 | grep -q 'Restarts=1'"
check "all frames" [ "$(ls frames/*.j2c | wc -l)" = 24 ]
ffmpeg -v error -framerate 24 -i frames/%08d.j2c -c copy joined.mxf
ffmpeg -v error -i in.mkv -c:v j2k_cuda -device cpu -q:v 90 -format j2k one_run.mxf
packets() { ffmpeg -v error -i "$1" -c copy -f framemd5 - | grep -v '^#'; }
check "the packets of one run" diff <(packets one_run.mxf) <(packets joined.mxf)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
