#!/bin/sh
# Writes what a built lupin is made of, and what it loads, as lupin-VERSION-ARCH.spdx.json (SPDX
# 2.3). docker/package-deb.sh calls it.
#
#   docker/package-sbom.sh PROGRAM FOLDER
#
# Swift packages are those that the build resolved, libraries those of the build's machine.
# SOURCE_DATE_EPOCH is the time of the list.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
program=$1
out=$2

# lupin 0.1.0 (Swift 6.3, OpenSSL …, linux x86_64)
says=$("$program" version)
version=$(printf '%s\n' "$says" | cut -d ' ' -f 2)
machine=${says##* }
machine=${machine%)}
sum=$(sha256sum "$program" | cut -d ' ' -f 1)
packages=
relations=

# package ID NAME VERSION PURL RELATION: one more of the list, and how lupin stands to it.
package() {
    packages="$packages,
    {
      \"SPDXID\": \"SPDXRef-$1\", \"name\": \"$2\", \"versionInfo\": \"$3\",
      \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false,
      \"externalRefs\": [{
        \"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\",
        \"referenceLocator\": \"$4\"
      }]
    }"
    relations="$relations,
    {
      \"spdxElementId\": \"SPDXRef-lupin\", \"relationshipType\": \"$5\",
      \"relatedSpdxElement\": \"SPDXRef-$1\"
    }"
}

# debian PACKAGE RELATION: a package of the build's machine, with the version that it has there.
debian() {
    installed=$(dpkg-query --show --showformat='${Version} ${Architecture}\n' "$1" | head -n 1)
    version_in_url=$(printf '%s' "${installed% *}" | sed 's/+/%2B/g; s/:/%3A/g; s/~/%7E/g')
    id=$(printf '%s' "$1" | tr -c 'A-Za-z0-9.-' -)
    package "$id" "$1" "${installed% *}" \
        "pkg:deb/debian/$(printf '%s' "$1" | sed 's/+/%2B/g')@$version_in_url?arch=${installed#* }" "$2"
}

swift=$(swiftc --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p')
package swift-runtime swift-runtime "$swift" "pkg:generic/swift-runtime@$swift" STATIC_LINK
# A pin of Package.resolved: identity, location and version come in this order.
pins=$(sed -n 's/.*"\(identity\|location\|version\)" : "\(.*\)".*/\2/p' "$root/Package.resolved" |
    paste -d ' ' - - -)
while read -r identity location pinned; do
    place=${location#*://}
    package "$identity" "$identity" "$pinned" "pkg:swift/${place%.git}@$pinned" STATIC_LINK
done <<END
$pins
END

for name in $(cat "$(dirname "$program")/static-packages" 2>/dev/null); do
    debian "$name" STATIC_LINK
done
libraries=$(readelf --dynamic "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $(for library in $libraries; do
    dpkg-query --search "*/$(uname -m)-linux-gnu/$library" | cut -d : -f 1
done | sort -u); do
    debian "$name" DYNAMIC_LINK
done

cat >"$out/lupin-$version-$machine.spdx.json" <<END
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "lupin-$version-$machine",
  "documentNamespace": "urn:lupin:$version:$machine:sha256:$sum",
  "creationInfo": {
    "created": "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)",
    "creators": ["Tool: lupin-package-sbom.sh"]
  },
  "packages": [
    {
      "SPDXID": "SPDXRef-lupin", "name": "lupin", "versionInfo": "$version",
      "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
      "licenseDeclared": "Apache-2.0", "primaryPackagePurpose": "APPLICATION",
      "checksums": [{"algorithm": "SHA256", "checksumValue": "$sum"}]
    }${packages}
  ],
  "relationships": [
    {
      "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
      "relatedSpdxElement": "SPDXRef-lupin"
    }${relations}
  ]
}
END
