#!/bin/sh
# Packs the files of docker/package-files.sh as lupin-VERSION-ARCH.tar.gz, with the install.sh that
# puts them into ~/.local. docker/package-deb.sh calls it.
#
#   docker/package-tarball.sh FILES FOLDER
#
# SOURCE_DATE_EPOCH is the time of the files.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
files=$1
out=$2
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022

# lupin 0.1.0 (…, linux x86_64): the name that `uname -m` has for the machine
says=$("$files/bin/lupin" version)
machine=${says##* }
version=${says#* }
name=lupin-${version%% *}-${machine%)}

cp -R "$files" "$stage/$name"
for unit in lupin.service lupin.socket; do
    install -D -m 644 "$root/config/systemd/user/$unit" "$stage/$name/share/systemd/user/$unit"
done
install -m 755 "$root/config/package/install.sh" "$stage/$name/install.sh"
install -m 644 "$root/docker/libraries.txt" "$stage/$name/share/lupin/libraries.txt"
tar --create --directory "$stage" --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner "$name" | gzip -9 -n >"$out/$name.tar.gz"
