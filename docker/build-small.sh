#!/bin/sh
# Builds the lupin of the Debian package and of the image, and prints the path of the program. It
# does what that of `swift build -c release` does, as fast, and is 10 MB smaller.
#
# The build has a folder of its own: .build/small, or what LUPIN_SCRATCH names.
set -eu

# It has 19.4 million. With more than this, something large has come back.
bytes_max=20000000

root=$(cd "$(dirname "$0")/.." && pwd)
scratch=${LUPIN_SCRATCH:-$root/.build/small}
parts=$scratch/parts
mkdir -p "$parts"

# A module for swift-argument-parser in the place of Foundation's, which is 5 MB.
swiftc -O -wmo -parse-as-library -swift-version 6 -module-name FoundationEssentials \
    -emit-module -emit-module-path "$parts/FoundationEssentials.swiftmodule" \
    -c -o "$parts/FoundationEssentials.o" "$root/docker/small/FoundationEssentials.swift"

# Linked statically, since a small machine has no libyaml: what it reads is the user's own. What
# reads bytes of the network stays shared, so that the system's security updates reach it.
library=$(clang -print-file-name=libyaml.a)
ln -s -f "$library" "$parts"
# Whose notices and versions the packages tell.
dpkg-query --search "*/${library##*/}" | cut -d : -f 1 >"$scratch/static-packages"

# Package.swift has the rest. A use of Swift's regular expressions, or of its search for texts in
# texts, does not compile; LupinCore has its own (TextSearch).
build() {
    LUPIN_SMALL=$parts swift build --package-path "$root" --scratch-path "$scratch" -c release \
        --product "$1" -Xswiftc -I -Xswiftc "$parts" \
        -Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import >&2
}
build lupin
# It makes the man pages of the package.
build lupin-man
cp "$scratch/release/lupin-man" "$scratch/lupin-man"

program=$scratch/lupin
strip --strip-all --remove-section=.comment -o "$program" "$scratch/release/lupin"
bytes=$(stat --format=%s "$program")
if [ "$bytes" -gt "$bytes_max" ]; then
    echo "build-small.sh: $program has $bytes bytes, which is more than $bytes_max" >&2
    exit 1
fi
"$root/docker/check-needs.sh" "$program"
echo "$program"
