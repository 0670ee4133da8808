#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes FFmpeg source trees that have the codecs.
#
#   patches/prepare.sh BRANCH
#       Lays into build/src: ffmpeg-BRANCH, which sees our sources through links, and ffnvcodec, the headers of NVIDIA's
#       driver that it needs. Nothing else is written to.
#   patches/prepare.sh --headers
#       The headers only, which the library is built with: those of NVCODEC_SRC, a tree or a tarball of nv-codec-headers,
#       else installed ones, else of the distribution's source package.
#   FFMPEG_SRC=/your/tree patches/prepare.sh [--dry-run | --undo] [--codecs-only] [BRANCH]
#       The same with your tree, which gets files that you can commit. Its branch is recognised. --codecs-only leaves
#       libavformat, libavutil and FFmpeg's own decoders as they are. Where a tree has no place for what goes there, it is
#       left out with a warning. --undo keeps files that you edited.
#
# Without FFMPEG_SRC the tree comes from the first of these that has it:
#   build/cache             what an earlier run fetched
#   FFMPEG_URL              an upstream release; default: ffmpeg.org
#   the distribution        its source package, through the package mirror that this machine already uses
# A second run changes nothing, and what changed here since then replaces its old form.
set -eu
unset MAKEFLAGS MAKELEVEL # the make that calls this shares no jobs with ours

root=$(cd "$(dirname "$0")/.." && pwd)
hooks=$root/patches/hooks.py
table=$root/patches/sources.txt
cache=$root/build/cache

say() { echo "prepare: $*" >&2; }
die() {
    say "$*"
    exit 1
}

action=
extras=
while :; do
    case ${1-} in
    --dry-run | --undo) action=$1 ;;
    --codecs-only) extras=$1 ;;
    *) break ;;
    esac
    [ -n "${FFMPEG_SRC-}" ] || die "$1 is for a tree of yours: FFMPEG_SRC=/your/tree"
    shift
done
if [ "${1-}" = --headers ]; then
    branch=
elif [ -n "${FFMPEG_SRC-}" ]; then
    source=$(cd "$FFMPEG_SRC" && pwd) || exit 1
    branch=$("$hooks" --branch "$source") || exit 1
    [ "$branch" = "${1-$branch}" ] || die "FFMPEG_SRC=$FFMPEG_SRC is FFmpeg $branch, not $1"
    # shellcheck disable=SC2086 # nothing or a word
    [ -z "$action" ] || exec "$hooks" $action $extras "$source"
    [ ! -f "$source/config.h" ] || die "FFMPEG_SRC=$FFMPEG_SRC was built in place; run 'make distclean' there first"
else
    branch=${1:?usage: patches/prepare.sh BRANCH}
    grep -q "^suite $branch " "$table" || die "FFmpeg $branch: there are $(awk '$1 == "suite" { print $2 }' "$table" | sort -u | tr '\n' ' ')"
fi
tree=$root/build/src/ffmpeg-$branch
state=$root/build/src/state-$branch # what make looks at
headers=$root/build/src/ffnvcodec

# The newest version of a package in the table; of FFmpeg: of this branch.
pinned_version() {
    awk -v package="$1" -v branch="$branch" \
        '$1 == package && (package != "ffmpeg" || index($2 ".", branch ".") == 1) { print $2; exit }' "$table"
}

# accept FILE PACKAGE VERSION [signed]: moves a tarball into the cache if the table has its hash, or if somebody signed it.
accept() {
    sum=$(sha256sum <"$1" | cut -d' ' -f1)
    known=$(awk -v package="$2" -v sum="$sum" '$1 == package && $3 == sum { print $2 }' "$table")
    if [ "$2" = ffmpeg ] && [ -n "$known" ]; then
        case $known. in "$branch".*) ;; *) known= ;; esac
    fi
    if [ -z "$known" ] && [ "${4-}" = signed ]; then
        known=$3
        say "$2 $known, sha256 $sum, is not in patches/sources.txt, but in the distribution's signed index"
    fi
    if [ -z "$known" ]; then
        say "refused: sha256 $sum is none of $2's in patches/sources.txt"
        rm -f "$1"
        return 1
    fi
    mkdir -p "$cache"
    mv "$1" "$cache/$2-$known.tar.xz"
    echo "$sum  $2-$known.tar.xz" >"$cache/$2-$known.tar.xz.sha256"
}

# Prints the tarball of a package that is in the cache and as it was when it was accepted.
cached() {
    pattern="$1-*.tar.xz"
    [ "$1" != ffmpeg ] || pattern="$1-$branch*.tar.xz"
    # shellcheck disable=SC2086 # the pattern is one
    for file in "$cache"/$pattern; do
        if [ -f "$file.sha256" ] && (cd "$cache" && sha256sum --status -c "$file.sha256"); then
            echo "$file"
            return
        fi
    done
    return 1
}

from_upstream() {
    version=$(pinned_version ffmpeg)
    url=${FFMPEG_URL:-https://ffmpeg.org/releases/ffmpeg-$version.tar.xz}
    say "asking $url"
    mkdir -p "$cache"
    curl --silent --show-error --fail --location --connect-timeout 3 --speed-limit 20000 --speed-time 5 \
        --output "$cache/download" "$url" && accept "$cache/download" ffmpeg "$version"
}

# The address from which this machine installs its distribution's packages: "URI keyring".
distribution_mirror() {
    for keyring in "/usr/share/keyrings/$ID-archive-keyring.gpg" /dev/null; do [ -f "$keyring" ] && break; done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$file" ] && sed -n 's/^deb  *\(\[[^]]*\]\)\{0,1\} *//p' "$file"
    done | awk -v suite="$VERSION_CODENAME" '$2 == suite { print $1 }' >"$cache/apt/mirrors"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] && awk -v suite="$VERSION_CODENAME" 'BEGIN { RS = ""; FS = "\n" } {
            uri = found = 0
            for (i = 1; i <= NF; i++) {
                n = split($i, word, /[ \t]+/)
                if (word[1] == "URIs:") uri = word[2]
                for (k = 2; k <= n && word[1] == "Suites:"; k++) if (word[k] == suite) found = 1
            }
            if (uri && found) print uri
        }' "$file"
    done >>"$cache/apt/mirrors"
    [ -s "$cache/apt/mirrors" ] || return 1
    echo "$(head -n 1 "$cache/apt/mirrors") $keyring"
}

# from_distribution PACKAGE: the tarball of its source package, with an apt configuration of our own. What apt lets through
# has the hash that the suite's signed index gives it.
from_distribution() {
    command -v apt-get >/dev/null || return 1
    # shellcheck source=/dev/null
    . /etc/os-release
    apt=$cache/apt
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    mirror=$(distribution_mirror) || return 1
    keyring=${mirror#* }
    options=
    [ "$keyring" = /dev/null ] || options="[signed-by=$keyring]"
    components=main
    [ "$ID" != ubuntu ] || components="main universe"
    suites=$(awk -v branch="$branch" -v id="$ID" '$1 == "suite" && (branch == "" || $2 == branch) && $3 == id { $1 = $2 = $3 = ""; print }' "$table")
    for suite in $suites; do
        say "asking the distribution's mirror for the source package $1 of $suite"
        echo "deb-src $options ${mirror% *} $suite $components" >"$apt/sources.list"
        rm -f "$apt/$1"_*
        private_apt "$suite" "$1" >&2 || continue
        for file in "$apt/$1"_*.orig.tar.xz; do
            version=${file##*_}
            version=${version%.orig.tar.xz}
            case $1-$version. in ffmpeg-"$branch".* | nv-codec-headers-*) ;; *) continue ;; esac
            accept "$file" "$1" "$version" "signed" && return
        done
    done
    return 1
}

private_apt() ( # SUITE PACKAGE
    cd "$apt"
    set -- "$1" "$2" -q=2 -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$apt/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt"
    suite=$1
    package=$2
    shift 2
    if [ ! -f "lists/$suite" ]; then
        apt-get "$@" update || return
        touch "lists/$suite"
    fi
    version=
    [ "$package" != ffmpeg ] || version=$(apt-cache "$@" showsrc ffmpeg | sed -n 's/^Version: //p' | # a suite may have several
        awk -v branch="$branch" '{ release = $0; sub(/^[0-9]*:/, "", release) } index(release, branch ".") == 1 { print; exit }')
    apt-get "$@" source --download-only --tar-only "$package${version:+=$version}"
)

# fetch PACKAGE: prints its tarball.
fetch() {
    if ! cached "$1"; then
        { [ "$1" = ffmpeg ] && from_upstream; } || from_distribution "$1" ||
            die "no source of $1${branch:+ for FFmpeg $branch} answered; FFMPEG_SRC=/your/tree, FFMPEG_URL=... or NVCODEC_SRC=... name others"
        cached "$1"
    fi
}

lay_tree() {
    if [ -n "${source-}" ]; then
        [ "$(readlink "$tree")" = "$source" ] || {
            rm -rf "$tree"
            ln -s "$source" "$tree"
        }
    elif [ ! -f "$tree/.cudaenc" ] || [ -L "$tree" ]; then
        tarball=$(fetch ffmpeg)
        say "unpacking ${tarball##*/}"
        rm -rf "$tree" "$tree.new"
        mkdir "$tree.new"
        tar --no-same-owner --strip-components=1 -xf "$tarball" -C "$tree.new"
        mv "$tree.new" "$tree"
    fi
}

# Our sources are seen in a tree of ours through links, so that there is one copy to edit.
hook_in() {
    mkdir -p "$state"
    link=--link
    [ -z "${source-}" ] || link=
    # shellcheck disable=SC2086 # nothing or a word
    "$hooks" $link $extras "$tree/" >&2 || exit 1
    cmp -s "$tree/.cudaenc" "$state/hooks" || cp "$tree/.cudaenc" "$state/hooks" # later than what was configured before
}

# Headers that every FFmpeg of the table accepts.
least_headers=12.1.14.0

lay_headers() {
    # What is there stays, since all objects are newer than it.
    if [ "$(cat "$headers/from" 2>/dev/null)" = "from ${NVCODEC_SRC-}" ] &&
        PKG_CONFIG_LIBDIR=$headers/lib/pkgconfig pkg-config --exists "ffnvcodec >= $least_headers"; then
        return
    fi
    rm -rf "$headers"
    mkdir -p "$headers"
    echo "from ${NVCODEC_SRC-}" >"$headers/from"
    if [ -z "${NVCODEC_SRC-}" ] && pkg-config --exists "ffnvcodec >= $least_headers"; then
        say "nv-codec-headers $(pkg-config --modversion ffnvcodec) are installed"
        mkdir -p "$headers/include" "$headers/lib/pkgconfig"
        ln -s "$(pkg-config --variable=includedir ffnvcodec)/ffnvcodec" "$headers/include/ffnvcodec"
        ln -s "$(pkg-config --variable=pcfiledir ffnvcodec)/ffnvcodec.pc" "$headers/lib/pkgconfig/ffnvcodec.pc"
        return
    fi
    from=${NVCODEC_SRC-}
    [ -n "$from" ] || from=$(fetch nv-codec-headers)
    say "taking ${from##*/}"
    if [ -d "$from" ]; then
        cp -r "$from" "$headers/source"
    else
        mkdir "$headers/source"
        tar --no-same-owner --strip-components=1 -xf "$from" -C "$headers/source"
    fi
    make --silent -C "$headers/source" install PREFIX="$headers" DESTDIR= >/dev/null
    PKG_CONFIG_LIBDIR=$headers/lib/pkgconfig pkg-config --exists "ffnvcodec >= $least_headers" ||
        die "nv-codec-headers in ${from##*/} are older than $least_headers; NVCODEC_SRC=tree or tarball names others"
}

# Whether this FFmpeg's configure will accept them.
check_headers() {
    sed -n 's/.*check_pkg_config ffnvcodec "\(ffnvcodec[^"]*\)".*/\1/p' "$tree/configure" | while read -r wanted; do
        ! PKG_CONFIG_LIBDIR=$headers/lib/pkgconfig pkg-config --exists "$wanted" || echo yes
    done | grep -q yes || die "FFmpeg $branch does not accept the nv-codec-headers in build/src/ffnvcodec; NVCODEC_SRC names others"
}

mkdir -p "$root/build/src"
trap 'rm -rf "$cache/apt"' EXIT
if [ -z "$branch" ]; then
    lay_headers
    touch "$root/build/src/headers"
    exit
fi
lay_tree
lay_headers
hook_in
check_headers
touch "$state/prepared"
