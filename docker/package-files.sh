#!/bin/sh
# Lays out the files that both packages of lupin have, below a prefix such as /usr or ~/.local.
#
#   docker/package-files.sh PROGRAM PREFIX
#
# The man pages come from the program lupin-man beside PROGRAM, which is not packed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
program=$1
prefix=$2
man=$(dirname "$program")/lupin-man
umask 022

for needed in "$program" "$man"; do
    if [ ! -x "$needed" ]; then
        echo "package-files.sh: no program at $needed; first: docker/build-small.sh" >&2
        exit 1
    fi
done

install -D -m 755 "$program" "$prefix/bin/lupin"
strip --strip-all --remove-section=.comment "$prefix/bin/lupin"

pages=$prefix/share/man
install -d "$pages/man1" "$pages/man7"
"$man" "$program" "$root/Sources/lupin/lupin.docc" "$pages"
mv "$pages"/*.1 "$pages/man1"
mv "$pages"/*.7 "$pages/man7"
chmod 644 "$pages"/man?/*
gzip -9 -n "$pages"/man?/*

completion() {
    install -d "$prefix/share/$2"
    "$program" --generate-completion-script "$1" >"$prefix/share/$2/$3"
}
completion bash bash-completion/completions lupin
completion zsh zsh/site-functions _lupin
completion fish fish/vendor_completions.d lupin.fish

install -D -m 644 "$root/config/rules.schema.json" "$prefix/share/lupin/rules.schema.json"
documents=$prefix/share/doc/lupin
install -D -m 644 "$root/config/lupin.yaml" "$documents/examples/settings.yaml"
install -D -m 644 "$root/config/apparmor/lupin" "$documents/examples/apparmor"
{
    sed -n '/^## Licence/,$p' "$root/README.md"
    # Libraries in the program want their notices beside it.
    for package in $(cat "$(dirname "$program")/static-packages" 2>/dev/null); do
        printf '\n## %s\n\n' "$package"
        cat "/usr/share/doc/$package/copyright"
    done
} >"$documents/copyright"
