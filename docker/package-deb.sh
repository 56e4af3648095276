#!/bin/sh
# Packs a built lupin as lupin_VERSION_ARCH.deb, by dpkg-deb alone, and prints the package's path.
# Beside it come lupin-VERSION-ARCH.tar.gz for other systems, a list of what is inside
# (lupin-VERSION-ARCH.spdx.json) and the checksums of all (SHA256SUMS).
#
#   docker/package-deb.sh                  packs what docker/build-small.sh built into .build
#   docker/package-deb.sh BINARY FOLDER    packs another binary into another folder
#
# SOURCE_DATE_EPOCH is the time of the files, so that the same input gives the same packages. For a
# repository that apt installs from: docker/package-apt.sh
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
binary=${1:-$root/.build/small/lupin}
out=${2:-$root/.build}
config=$root/config

"$root/docker/check-needs.sh" "$binary"
: "${SOURCE_DATE_EPOCH:=$(date +%s)}"
export SOURCE_DATE_EPOCH
version=$("$binary" version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tree=$stage/tree
umask 022
mkdir -p "$out"

"$root/docker/package-files.sh" "$binary" "$stage/files"
"$root/docker/package-tarball.sh" "$stage/files" "$out"
"$root/docker/package-sbom.sh" "$binary" "$out"

install -d "$tree/usr"
cp -R "$stage/files/." "$tree/usr"
# Debian has other packages' completions there.
mv "$tree/usr/share/zsh/site-functions" "$tree/usr/share/zsh/vendor-completions"
for unit in lupin.service lupin.socket; do
    install -D -m 644 "$config/systemd/system/$unit" "$tree/lib/systemd/system/$unit"
    install -D -m 644 "$config/systemd/user/$unit" "$tree/usr/lib/systemd/user/$unit"
done
install -D -m 644 "$config/package/sysusers.conf" "$tree/usr/lib/sysusers.d/lupin.conf"
install -D -m 644 "$config/package/logrotate" "$tree/etc/logrotate.d/lupin"
# It may name secrets; the group is set when the user exists.
install -D -m 640 "$config/package/lupin.yaml" "$tree/etc/lupin/lupin.yaml"

control=$tree/DEBIAN
install -d "$control"
depends=$("$root/docker/install-packages.sh" --runtime --list | sed 's/^libc6$/& (>= 2.36)/' |
    paste -s -d , | sed 's/,/, /g')
# As dpkg counts, and not as this machine's file system does.
kilobytes=$(find "$tree" -type f -printf '%s\n' |
    awk '{sum += int(($1 + 1023) / 1024)} END {print sum}')
cat >"$control/control" <<END
Package: lupin
Version: $version
Architecture: $architecture
Maintainer: the lupin authors <lupin@localhost>
Installed-Size: $kilobytes
Depends: $depends
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
package=$out/lupin_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null
(cd "$out" && sha256sum "lupin_$version"_*.deb "lupin-$version"-*.tar.gz \
    "lupin-$version"-*.spdx.json >SHA256SUMS)
echo "$package"
