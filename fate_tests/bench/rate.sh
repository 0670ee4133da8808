# SPDX-License-Identifier: LGPL-2.1-or-later
# To be sourced: the rate at which an ffmpeg command runs once it runs.
# shellcheck shell=bash disable=SC2034
export LC_ALL=C # EPOCHREALTIME has a point
rate_log=$(mktemp)
rate_pid=

# Of whoever sources this, when it ends.
rate_stop() {
    [ -z "$rate_pid" ] || kill -KILL "$rate_pid" 2>/dev/null || true
    rm -f "$rate_log"
}

# rate SECONDS FFMPEG ARGUMENTS...: sets fps (of what leaves the command, from half a second after the first frame on, and of
# at least 12 frames where five times as long is enough for them) and bytes (of a frame, 0 where the muxer counts none). The
# input shall last; the command is killed: some end only with their input.
# Returns 1, and says why, where nothing comes out.
rate() {
    local seconds=$1 ffmpeg=$2 key value now n=0 size=0 begin='' first='' first_n=0 last='' last_n=0 progress
    shift 2
    exec {progress}< <(exec "$ffmpeg" -hide_banner -nostdin -v error -stats_period 0.05 -progress pipe:1 -y "$@" 2>"$rate_log")
    rate_pid=$!
    while IFS='=' read -r -t 60 -u "$progress" key value; do
        case $key in
        frame) n=$value ;;
        total_size) size=$value ;;
        progress)
            now=$EPOCHREALTIME
            [ "$n" -gt 0 ] || continue
            : "${begin:=$now}"
            if [ "$n" != "$last_n" ]; then
                last=$now last_n=$n
                if [ -z "$first" ] && awk "BEGIN { exit !($now - $begin >= 0.5) }"; then first=$now first_n=$n; fi
            fi
            ! awk "BEGIN { t = $now - $begin - 0.5
                exit !(t >= $seconds && ($last_n >= $first_n + 12 || t >= 5 * $seconds)) }" || break
            ;;
        esac
    done
    kill -KILL "$rate_pid" 2>/dev/null || true
    exec {progress}<&-
    wait "$rate_pid" 2>/dev/null || true
    rate_pid=
    [[ $size =~ ^[0-9]+$ ]] || size=0
    bytes=$((n > 0 ? size / n : 0))
    fps=$(awk "BEGIN { if (\"$first\" && $last_n > $first_n) printf \"%.1f\", ($last_n - $first_n) / (${last:-0} - ${first:-0}) }")
    [ -n "$fps" ] || { echo "no rate: $* : $(head -n 4 "$rate_log" | tr '\n' ' ')" >&2; fps=0; return 1; }
}
