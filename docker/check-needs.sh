#!/bin/sh
# Fails if a program needs more of a machine than lupin may: a library that is not in
# docker/libraries.txt, or a glibc that is newer than Debian 12's.
#
#   docker/check-needs.sh PROGRAM
set -eu

glibc_max=2.36

program=$1
known=$(sed -n '/^#/!s/ .*//p' "$(dirname "$0")/libraries.txt")
result=0

for library in $(readelf --dynamic "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $library in ld-linux*) continue ;; esac
    printf '%s\n' "$known" | grep -xF "$library" >/dev/null && continue
    echo "check-needs.sh: $program loads $library, which docker/libraries.txt does not have;" \
        "link it statically (docker/build-small.sh), open it at need, or list it if every Linux" \
        "calls it so" >&2
    result=1
done

newest=$(readelf --version-info "$program" | grep -o 'GLIBC_[0-9.]*' | sort -u -V | tail -n 1)
newest=${newest#GLIBC_}
if [ "$(printf '%s\n' "$newest" "$glibc_max" | sort -V | tail -n 1)" != "$glibc_max" ]; then
    echo "check-needs.sh: $program needs glibc $newest, which is newer than $glibc_max" >&2
    result=1
fi
exit $result
