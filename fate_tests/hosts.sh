#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The recipe for several hosts, over ssh to this machine: two daemons stand for two hosts that share a folder. One dies with
# its job, which runs again on the other. The joined packets are those of one run. As root, with openssh-server.
# Usage: hosts.sh FFMPEG_BUILD    Ends in a line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD fate=$PWD/${1:?usage: hosts.sh FFMPEG_BUILD} work=$PWD/build/check/hosts
for program in /usr/sbin/sshd ssh-keygen parallel; do
    command -v $program >/dev/null || { echo "$program is missing: apt-get install openssh-server openssh-client parallel"; exit 1; }
done
rm -rf "$work"
mkdir -p "$work/bin" /run/sshd
. fate_tests/tally.sh

# ---- the hosts: daemons of their own, that know one key
daemons=()
finish() { [ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null || true; }
trap finish EXIT
ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
port=22371
for host in host1 host2; do
    /usr/sbin/sshd -D -e -f /dev/null -p $port -h "$work/host_key" -o ListenAddress=127.0.0.1 -o PidFile="$work/$host.pid" \
        -o AuthorizedKeysFile="$work/key.pub" -o PermitRootLogin=yes -o StrictModes=no -o UsePAM=no 2>"$work/$host.log" &
    daemons+=($!)
    disown # its death is no news
    printf '%s\n' "Host $host" "    HostName 127.0.0.1" "    Port $port" >>"$work/ssh_config"
    port=$((port + 1))
done
printf '%s\n' 'Host *' "    IdentityFile $work/key" '    StrictHostKeyChecking no' '    UserKnownHostsFile /dev/null' '    LogLevel ERROR' >>"$work/ssh_config"
export PARALLEL_SSH="ssh -F $work/ssh_config"
answers() { for _ in $(seq 100); do $PARALLEL_SSH "$1" true 2>/dev/null && return; read -rt 0.1 <> <(:) || true; done; cat "$work/$1.log"; return 1; }
check "host1 answers" answers host1
check "host2 answers" answers host2

# ---- the clip. On host2 its daemon and the connection die under the first job.
cat >"$work/bin/ffmpeg" <<PROGRAM
#!/bin/bash
if [ "\${SSH_CONNECTION##* }" = 22372 ]; then
    kill -9 "\$(cat "$work/host2.pid")"
    : >"$work/died"
    process=\$\$
    until [ "\$(cat /proc/\$process/comm)" = sshd ]; do process=\$(awk '{ print \$4 }' /proc/\$process/stat); done
    kill -9 \$process
    exec sleep 60
fi
exec "$fate/ffmpeg" "\$@"
PROGRAM
chmod +x "$work/bin/ffmpeg"
export PATH=$work/bin:$fate:$PATH LC_ALL=C
cd "$work"
ln -s "$root/tools" tools
ffmpeg -v error -f lavfi -i testsrc2=s=320x180:r=24 -frames:v 24 -c:v ffv1 in.mkv
recipe=$(awk '/^    seq .*--sshlogin/ { found = 1 } found && !/^    / { exit } found' "$root/docs/recipes.md")
check "the recipe of docs/recipes.md" bash -euo pipefail -c "${recipe:?}"
check "a host died" [ -e died ]
check "all segments" [ "$(ls frames/.segment-* | wc -l)" = 3 ]
packets() { ffmpeg -v error "$@" -c copy -f framemd5 - | grep -v '^#'; }
ffmpeg -v error -i in.mkv -c:v j2k_cuda -device cpu -q:v 90 -format j2k one_run.mxf
ffmpeg -v error -framerate 24 -i frames/%08d.j2c -c copy joined.mxf
check "all frames" [ "$(packets -i joined.mxf | wc -l)" = 24 ]
check "the packets of one run" diff <(packets -i one_run.mxf) <(packets -i joined.mxf)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
