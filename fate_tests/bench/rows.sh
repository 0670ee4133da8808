# SPDX-License-Identifier: LGPL-2.1-or-later
# To be sourced: results of scripts as JSON, a line each, for report.py.
# shellcheck shell=bash

# row FILE KEY VALUE...: appends an object to FILE, with numbers as numbers; nothing where FILE is empty.
row() {
    local file=$1 text='' value
    shift
    [ -n "$file" ] || return 0
    while [ $# -gt 0 ]; do
        value=${2//\\/\\\\}
        value=${value//\"/\\\"}
        [[ $2 =~ ^-?(0|[1-9][0-9]*)(\.[0-9]+)?$ ]] || value=\"$value\"
        text+=", \"$1\": $value"
        shift 2
    done
    echo "{${text:2}}" >>"$file"
}
