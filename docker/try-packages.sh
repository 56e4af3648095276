#!/bin/sh
# Installs the packages of lupin in trees of Debian 12 and 13, and uses them there.
#
#   docker/try-packages.sh           those that docker/package-deb.sh packed into .build
#   docker/try-packages.sh FOLDER    those in another folder
#
# It runs as root, or by sudo. debootstrap makes the trees once, from the mirror that apt has here
# or LUPIN_MIRROR, and keeps them in LUPIN_TREES (/var/cache/lupin-trees). A trial has no network
# but a loopback of its own; it ends within five minutes, and with it all that it started.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
packages=$(cd "${1:-$root/.build}" && pwd)
trees=${LUPIN_TREES:-/var/cache/lupin-trees}
mirror=${LUPIN_MIRROR:-}

if [ "$(id -u)" -ne 0 ]; then
    exec sudo LUPIN_TREES="$trees" LUPIN_MIRROR="$mirror" "$root/docker/try-packages.sh" "$packages"
fi
"$root/docker/install-packages.sh" --trial

work=$(mktemp -d)
trap 'umount "$work" && rmdir "$work"' EXIT
# debootstrap writes each file through to the disk, which is slow elsewhere.
mount -t tmpfs -o mode=755 tmpfs "$work"

# make_tree SUITE: a small Debian with what lupin and the trial need, kept as a tar file.
make_tree() {
    if [ -z "$mirror" ]; then
        mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
            sed -n '/^Debian /{s///p;q;}')
    fi
    if [ -z "$mirror" ]; then
        echo "try-packages.sh: apt has no mirror of Debian here; type LUPIN_MIRROR=URL $0" >&2
        exit 1
    fi
    # Which of Debian's packages has libssl depends on the release; openssl wants it.
    needed=$("$root/docker/install-packages.sh" --runtime --list | sed 's/^libssl3$/openssl/' |
        paste -s -d ,)
    debootstrap --variant=minbase --include="$needed,busybox,curl" "$1" "$work/$1" "$mirror" >&2
    rm -rf "$work/$1"/var/cache/apt/archives/*.deb "$work/$1"/var/lib/apt/lists/*
    mkdir -p "$trees"
    tar --create --directory "$work/$1" --file "$trees/$1.part" .
    mv "$trees/$1.part" "$trees/$1.tar"
    rm -rf "${work:?}/$1"
}

# The apt repository, signed with a key that lives as long as the trial.
export GNUPGHOME="$work/gpg"
mkdir -m 700 "$GNUPGHOME" "$work/packages"
cp "$packages"/lupin[-_]*.* "$packages/SHA256SUMS" "$work/packages"
gpg --batch --quiet --passphrase '' --quick-generate-key trial@lupin.invalid ed25519 sign never
"$root/docker/package-apt.sh" trial@lupin.invalid http://127.0.0.1:8001 "$work/packages" >&2
gpgconf --kill gpg-agent

for suite in bookworm trixie; do
    [ -e "$trees/$suite.tar" ] || make_tree "$suite"
    tree=$work/$suite
    mkdir "$tree"
    tar --extract --directory "$tree" --file "$trees/$suite.tar"
    cp -R "$work/packages/apt" "$tree/srv/apt"
    cp "$root/docker/try-in-tree.sh" "$tree/srv"
    echo "== $suite" >&2
    # The tree becomes the root itself: in a mere chroot nobody may make a user namespace.
    timeout --kill-after=5 300 unshare --mount --net --pid --fork --kill-child sh -euc '
        mount --bind "$1" "$1"
        cd "$1"
        mount -t proc proc proc
        mount --rbind /dev dev
        mkdir old
        pivot_root . old
        umount -l /old
        exec env -i PATH=/usr/sbin:/usr/bin HOME=/root sh /srv/try-in-tree.sh
    ' sh "$tree" </dev/null
    rm -rf "$tree"
done
