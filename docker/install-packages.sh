#!/bin/sh
# Installs the system packages that lupin needs, on Debian or Ubuntu: those that are missing.
#
#   docker/install-packages.sh             to build and test lupin (Swift itself is not among them)
#   docker/install-packages.sh --runtime   to run a finished binary
#   docker/install-packages.sh --trial     to try its packages, with docker/try-packages.sh
#   docker/install-packages.sh [--runtime] --list   only names them
#
# This is the one list, with docker/libraries.txt: the README, .ci/run and docker/Dockerfile use it.
set -eu

build='ca-certificates git libbrotli-dev libcrypt-dev libnghttp2-dev libsqlite3-dev libssl-dev libyaml-dev libzstd-dev pkg-config redis-tools zlib1g-dev'
trial='debootstrap gnupg'
# libcrypt is opened at need.
runtime="ca-certificates libcrypt1 $(awk '!/^#/ {print $2}' "$(dirname "$0")/libraries.txt" |
    sort -u | paste -s -d ' ')"

wanted=$build
list=no
for argument in "$@"; do
    case $argument in
        --runtime) wanted=$runtime ;;
        --trial) wanted=$trial ;;
        --list) list=yes ;;
        *)
            echo "install-packages.sh: unknown argument \"$argument\";" \
                "try --runtime, --trial or --list" >&2
            exit 64
            ;;
    esac
done

if [ "$list" = yes ]; then
    printf '%s\n' $wanted
    exit 0
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "install-packages.sh: no apt-get here; install the equivalents of: $wanted" >&2
    exit 1
fi

# Provided names count: libssl3t64 provides libssl3 and pkgconf provides pkg-config on newer releases.
present=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}, ${Provides}\n' |
    sed -n 's/^installed //p' | sed 's/([^)]*)//g' | tr -s ', ' '\n\n')
missing=
for package in $wanted; do
    printf '%s\n' "$present" | grep -xF "$package" >/dev/null || missing="$missing $package"
done

if [ -z "$missing" ]; then
    echo "system packages: nothing to install"
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install-packages.sh: run as root or install sudo; missing:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "system packages: installing$missing"
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $missing
