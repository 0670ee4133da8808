# SPDX-License-Identifier: LGPL-2.1-or-later
# For tests in shell: counts what passes and fails. A test ends in: echo "$passed passed, $failed failed". check() wants a
# folder in `work`.
# shellcheck shell=bash disable=SC2034,SC2154 # who sources this uses the counts and has the folder
passed=0 failed=0

result() { # NAME MESSAGE: no message is a success
    [ -z "$2" ] && passed=$((passed + 1)) && return
    failed=$((failed + 1))
    echo "$1: $2"
}

check() { # NAME COMMAND...: says what the command printed if it fails
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        tail -n 20 "$work/log"
    fi
}
