#!/bin/sh
# Packs a built lupin as lupin_VERSION_ARCH.deb, by dpkg-deb alone.
#
#   docker/package-deb.sh                  packs what docker/build-small.sh built into .build
#   docker/package-deb.sh BINARY FOLDER    packs another binary into another folder
#
# The man pages come from the program lupin-man beside the binary, which is not packed.
# SOURCE_DATE_EPOCH is the time of the files, so that the same input gives the same package.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:-$root/.build/small/lupin}
out=${2:-$root/.build}
man=$(dirname "$binary")/lupin-man
config=$root/config

for needed in "$binary" "$man"; do
    if [ ! -x "$needed" ]; then
        echo "package-deb.sh: no program at $needed; first: docker/build-small.sh" >&2
        exit 1
    fi
done
: "${SOURCE_DATE_EPOCH:=$(date +%s)}"
export SOURCE_DATE_EPOCH
version=$("$binary" version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage/tree
umask 022

install -D -m 755 "$binary" "$tree/usr/bin/lupin"
strip --strip-all --remove-section=.comment "$tree/usr/bin/lupin"

install -d "$tree/usr/share/man/man1" "$tree/usr/share/man/man7" "$stage/man"
"$man" "$binary" "$root/Sources/lupin/lupin.docc" "$stage/man"
mv "$stage"/man/*.1 "$tree/usr/share/man/man1"
mv "$stage"/man/*.7 "$tree/usr/share/man/man7"
chmod 644 "$tree"/usr/share/man/man?/*
gzip -9 -n "$tree"/usr/share/man/man?/*

completion() {
    install -d "$tree/usr/share/$2"
    "$binary" --generate-completion-script "$1" >"$tree/usr/share/$2/$3"
}
completion bash bash-completion/completions lupin
completion zsh zsh/vendor-completions _lupin
completion fish fish/vendor_completions.d lupin.fish

for unit in lupin.service lupin.socket; do
    install -D -m 644 "$config/systemd/system/$unit" "$tree/lib/systemd/system/$unit"
    install -D -m 644 "$config/systemd/user/$unit" "$tree/usr/lib/systemd/user/$unit"
done
install -D -m 644 "$config/package/sysusers.conf" "$tree/usr/lib/sysusers.d/lupin.conf"
install -D -m 644 "$config/package/logrotate" "$tree/etc/logrotate.d/lupin"
# It may name secrets; the group is set when the user exists.
install -D -m 640 "$config/package/lupin.yaml" "$tree/etc/lupin/lupin.yaml"
install -D -m 644 "$config/lupin.yaml" "$tree/usr/share/doc/lupin/examples/settings.yaml"
install -D -m 644 "$config/apparmor/lupin" "$tree/usr/share/doc/lupin/examples/apparmor"
install -D -m 644 "$config/rules.schema.json" "$tree/usr/share/lupin/rules.schema.json"
sed -n '/^## Licence/,$p' "$root/README.md" >"$tree/usr/share/doc/lupin/copyright"

control=$tree/DEBIAN
install -d "$control"
depends=$("$root/docker/install-packages.sh" --runtime --list | paste -s -d , | sed 's/,/, /g')
cat >"$control/control" <<END
Package: lupin
Version: $version
Architecture: $architecture
Maintainer: the lupin authors <lupin@localhost>
Installed-Size: $(du -k -s --exclude=DEBIAN "$tree" | cut -f 1)
Depends: libc6 (>= 2.36), libgcc-s1, libstdc++6, $depends
Suggests: systemd, logrotate
Section: net
Priority: optional
Description: local forward proxy that applies rules to requests
 The tools of a machine send their requests through lupin. A rules file says
 what it does with them: attach and renew tokens, change or redirect requests,
 retry, cache, answer or block.
END
printf '%s\n' /etc/lupin/lupin.yaml /etc/logrotate.d/lupin >"$control/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "$config/package/$script" "$control/$script"
done
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -print | sort | sed 's|^\./||' |
    xargs md5sum >DEBIAN/md5sums)

find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$out"
package=$out/lupin_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
echo "$package"
