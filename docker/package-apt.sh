#!/bin/sh
# Makes an apt repository of what docker/package-deb.sh packed: a folder to be served as it is.
#
#   docker/package-apt.sh KEY URL           of the packages in .build, as .build/apt
#   docker/package-apt.sh KEY URL FOLDER    of the packages in FOLDER, as FOLDER/apt
#
# KEY is a secret key that gpg has: its fingerprint or its address. URL is where the folder will be
# served. lupin.sources in it says both to apt; lupin.asc is the public key alone.
# SOURCE_DATE_EPOCH is the time of the repository and of its signatures.
set -eu

key=$1
url=$2
from=${3:-$(cd "$(dirname "$0")/.." && pwd)/.build}
apt=$from/apt
: "${SOURCE_DATE_EPOCH:=$(date +%s)}"
umask 022

rm -rf "$apt"
mkdir -p "$apt"
cp "$from"/lupin[-_]*.* "$from/SHA256SUMS" "$apt"
cd "$apt"
sha256sum --check --quiet SHA256SUMS

for package in *.deb; do
    dpkg-deb --field "$package"
    printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$package" \
        "$(stat --format=%s "$package")" "$(sha256sum "$package" | cut -d ' ' -f 1)"
done >Packages
gzip -9 -n -k Packages

cat >Release <<END
Origin: lupin
Label: lupin
Suite: stable
Codename: stable
Date: $(date -u -R -d "@$SOURCE_DATE_EPOCH")
Architectures: $(sed -n 's/^Architecture: //p' Packages | sort -u | paste -s -d ' ')
SHA256:
$(for file in Packages Packages.gz; do
    printf ' %s %s %s\n' "$(sha256sum "$file" | cut -d ' ' -f 1)" "$(stat --format=%s "$file")" \
        "$file"
done)
END

sign() {
    gpg --batch --yes --quiet --local-user "$key" --digest-algo SHA512 \
        --faked-system-time "$SOURCE_DATE_EPOCH!" "$@"
}
sign --clearsign --output InRelease Release
sign --armor --detach-sign --output Release.gpg Release
sign --armor --detach-sign --output SHA256SUMS.asc SHA256SUMS

gpg --batch --export --armor --export-options export-minimal "$key" >lupin.asc
# apt takes the key from here, so a user fetches this file alone.
{
    printf 'Types: deb\nURIs: %s\nSuites: ./\nSigned-By:\n' "$url"
    sed 's/^$/./; s/^/ /' lupin.asc
} >lupin.sources
echo "$apt"
